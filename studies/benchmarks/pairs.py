"""Pairs among thousands of items: projections onto the triangle inequalities, and random utility from both sides.

    python -m studies.benchmarks.pairs               all designs (pairs.csv)
    python -m studies.benchmarks.pairs --quick       up to 5,000 items, without random utility

A population of Bradley and Terry with normal worths, some pairs drawn at random, and so many draws from each. `general` is the
distance by non-negative least squares with every triangle, where all pairs of few items were compared. CPU seconds are the
least of three runs, with the certificate and without what is compiled; the peak is that of the whole process, so far.
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import combinations

import numpy as np
from scipy.optimize import nnls

import rumflow as rf
from rumflow.core.menus import Menus
from studies.benchmarks.record import RESULTS, save, show, stamp

#: Items, pairs, draws from a pair: those up to 5,000 items are quick.
DESIGNS = (
    (12, 66, 5),
    (30, 200, 5),
    (100, 1_000, 5),
    (100, 4_950, 5),
    (300, 2_000, 5),
    (300, 5_000, 5),
    (1_000, 5_000, 5),
    (1_000, 20_000, 10),
    (5_000, 20_000, 5),
    (20_000, 100_000, 5),
)

#: Of random utility: items, pairs, draws (two numbers: from 10 to the one to 10 to the other, in logarithms), seconds.
TWO_SIDED = ((30, 200, 5, None), (100, 500, 20, 20.0), (129, 2_624, (1.7, 4.3), 60.0))

GIB = 2**30


def draw(n: int, m: int, draws: object, seed: int = 0) -> rf.ChoiceData:
    """Draws from m of the pairs of n items."""
    rng = np.random.default_rng(seed)
    number = np.empty(0, np.int64)
    while len(number) < m:  # pairs as numbers a n + b
        a, b = np.sort(rng.integers(0, n, (2, 2 * m)), axis=0)
        number = np.unique(np.concatenate([number, (a * n + b)[a < b]]))
        number = rng.permutation(number)[:m] if len(number) >= m else number
    a, b = np.divmod(np.sort(number), n)
    order = np.lexsort((a, b))  # menus in the order of their bit masks
    a, b = a[order], b[order]
    worth = rng.normal(size=n)
    totals = (10 ** rng.uniform(*draws, m)).astype(int) if isinstance(draws, tuple) else np.full(m, draws)
    wins = rng.binomial(totals, 1 / (1 + np.exp(worth[b] - worth[a])))
    menus = Menus(2 * np.arange(m + 1), np.stack([a, b], axis=1).reshape(-1).astype(np.int32), n)
    counts = np.stack([wins, totals - wins], axis=1).reshape(-1).astype(np.float64)
    return rf.ChoiceData.from_cells(tuple(range(n)), menus, counts, totals.astype(np.float64))


def general(data: rf.ChoiceData) -> float:
    """The distance by a general solver, where all pairs were compared."""
    place = {pair: e for e, pair in enumerate(data.menus)}
    p = data.shares.reshape(-1, 2)[:, 0]
    rows, right = [], []
    for a, b, c in combinations(range(data.n), 3):
        for signs, bound in (((1, 1, -1), 0.0), ((-1, -1, 1), -1.0)):
            row = np.zeros(len(p))
            row[[place[a, b], place[b, c], place[a, c]]] = signs
            rows.append(row)
            right.append(bound)
    lack = np.array(right) - np.array(rows) @ p
    matrix = np.vstack([np.array(rows).T / np.sqrt(2.0), lack])
    goal = np.append(np.zeros(len(p)), 1.0)
    rest = matrix @ nnls(matrix, goal, maxiter=100_000)[0] - goal
    return float(np.linalg.norm(rest[:-1]) / abs(rest[-1]))


def measure(n: int, m: int, draws: int) -> dict[str, object]:
    """One design, onto the inequalities."""
    data, seconds = draw(n, m, draws), np.inf
    for _ in range(3):
        used = time.process_time()
        fit = rf.project(data, model=rf.TriangleInequalities(), threads=1)
        seconds = min(seconds, time.process_time() - used)
    found = fit.fits.found[0]  # type: ignore[attr-defined]
    every = m == n * (n - 1) // 2 and n <= 12
    return {
        "model": "inequalities",
        "items": n,
        "pairs": m,
        "draws": draws,
        "lower": fit.lower_distance,
        "distance": fit.distance,
        "general": general(data) if every else "",
        "status": str(fit.status),
        "cycles": int((found.multipliers > 0).sum()),
        "rounds": fit.iterations,
        "cpu_seconds": seconds,
        "seconds": fit.seconds,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB,
    }


def measure_random_utility(n: int, m: int, draws: object, limit: float | None) -> dict[str, object]:
    """One design, random utility from both sides."""
    data = draw(n, m, draws)
    used = time.process_time()
    fit = rf.project(data, route="bounded", max_seconds=limit, throw=False)
    return {
        "model": "random utility",
        "items": n,
        "pairs": m,
        "draws": "50 to 20,000" if isinstance(draws, tuple) else draws,
        "lower": fit.lower_distance,
        "distance": fit.distance,
        "general": "",
        "status": str(fit.status),
        "cycles": "",
        "rounds": fit.iterations,
        "cpu_seconds": time.process_time() - used,
        "seconds": fit.seconds,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB,
    }


def main() -> None:
    """Measure and store."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    given = options.parse_args()
    rf.project(draw(10, 30, 5), model=rf.TriangleInequalities())  # compiled and loaded before the clock starts
    rf.project(draw(10, 30, 5), route="bounded")
    for design in DESIGNS[: -1 if given.quick else None]:
        row = measure(*design)
        show(row)
        save(RESULTS / "pairs.csv", [row | stamp(1)], ["model", "items", "pairs"])
    for n, m, draws, limit in () if given.quick else TWO_SIDED:
        row = measure_random_utility(n, m, draws, limit)
        show(row)
        save(RESULTS / "pairs.csv", [row | stamp(2)], ["model", "items", "pairs"])


if __name__ == "__main__":
    main()
