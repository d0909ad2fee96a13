"""Menus of three among 30 and 40 items: the first bound, and both bounds after 10 and 40 seconds (triples.csv).

    python -m studies.benchmarks.triples
    python -m studies.benchmarks.triples --version before    in a checkout of an older version, with this file

The menus are drawn at random. Their shares are random (uniform on the simplex), or those of 5 or 10 choices from each in a
population of Luce with normal worths.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import rumflow as rf
from studies.benchmarks.record import RESULTS, save, show, stamp

#: Items, menus, choices from each (None: random shares).
DESIGNS = ((40, 150, None), (30, 300, 5), (40, 150, 10))
SECONDS = (0.2, 10.0, 40.0)


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


def main() -> None:
    """Measure and store."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--version", default="now", help="what to call it")
    options.add_argument("--seconds", type=float, nargs="+", default=SECONDS)
    given = options.parse_args()
    rf.project(triples(10, 20, 5), route="bounded", max_seconds=3, throw=False)  # compiled before the clock starts
    rf.project(triples(40, 60, None), route="bounded", max_seconds=4, throw=False)
    for limit in given.seconds:
        for n, m, draws in DESIGNS:
            data, used = triples(n, m, draws), time.process_time()
            fit = rf.project(data, route="bounded", max_seconds=limit, throw=False, threads=1)
            row = {
                "version": given.version,
                "items": n,
                "menus": m,
                "choices": "random shares" if draws is None else draws,
                "limit": limit,
                "lower": fit.lower_distance,
                "distance": fit.distance,
                "cpu_seconds": time.process_time() - used,
            }
            show(row)
            save(RESULTS / "triples.csv", [row | stamp(1)], ["version", "items", "menus", "choices", "limit"])


if __name__ == "__main__":
    main()
