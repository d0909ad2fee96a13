"""Menus of three among 30 and 40 items: the first bound, and lower bound and distance after 10 and 40 seconds (triples.csv).

    python -m studies.benchmarks.triples
    python -m studies.benchmarks.triples --version before    in a checkout of an older version, with this file

The menus are drawn at random. Their shares are random (uniform on the simplex), or those of 5 or 10 choices from each in a
population of Luce with normal worths. The first bound is that of `rumflow.solvers.bounded.tables` by itself, in CPU seconds, the
least of three runs.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.solvers.bounded.tables import PairTables
from studies.benchmarks.record import RESULTS, save, show, stamp

#: Items, menus, choices from each (None: random shares).
DESIGNS = ((40, 150, None), (30, 300, 5), (40, 150, 10))
SECONDS = (10.0, 40.0)


def triples(n: int, m: int, draws: int | None, seed: int = 0) -> rf.ChoiceData:
    """Choices from m menus of three."""
    rng = np.random.default_rng(seed)
    menus: set[tuple[int, ...]] = set()
    while len(menus) < m:
        menus.add(tuple(sorted(rng.choice(n, 3, replace=False).tolist())))
    worth = rng.normal(size=n)
    counts = {}
    for menu in sorted(menus):
        share = np.exp(worth[list(menu)])
        own = 1000 * rng.dirichlet(np.ones(3)) if draws is None else rng.multinomial(draws, share / share.sum())
        counts[menu] = dict(zip(menu, own.tolist(), strict=True))
    return rf.ChoiceData.from_counts(counts)


def first_bound(data: rf.ChoiceData) -> tuple[float, float]:
    """The first bound of the distance, and the CPU seconds that it takes."""
    cells = Cells.of_menus(data.offered, None, data.items)
    table, weights = cells.to_table(data.frequencies), np.where(cells.filled, 1.0, 0.0)
    seconds = np.inf
    for _ in range(3):
        used = time.process_time()
        bound = PairTables(cells).project(table, weights).bound
        seconds = min(seconds, time.process_time() - used)
    return float(np.sqrt(2.0 * bound)), seconds


def main() -> None:
    """Measure and store."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--version", default="now", help="what to call it")
    options.add_argument("--seconds", type=float, nargs="*", default=SECONDS)
    given = options.parse_args()
    rf.project(triples(10, 20, 5), route="bounded", max_seconds=3, throw=False)  # compiled before the clock starts
    rf.project(triples(40, 60, None), route="bounded", max_seconds=4, throw=False)
    for limit, (n, m, draws) in product(("first bound", *given.seconds), DESIGNS):
        data, used = triples(n, m, draws), time.process_time()
        row = {
            "version": given.version,
            "items": n,
            "menus": m,
            "choices": "random shares" if draws is None else draws,
            "limit": limit,
        }
        if isinstance(limit, str):
            if given.version != "now":
                continue  # older versions may have none
            lower, seconds = first_bound(data)
            row |= {"lower": lower, "distance": "", "cpu_seconds": seconds}
        else:
            fit = rf.project(data, route="bounded", max_seconds=limit, throw=False, threads=1)
            row |= {"lower": fit.lower_distance, "distance": fit.distance}
            row["cpu_seconds"] = time.process_time() - used
        show(row)
        save(RESULTS / "triples.csv", [row | stamp(1)], ["version", "items", "menus", "choices", "limit"])


if __name__ == "__main__":
    main()
