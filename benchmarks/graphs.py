"""Projections of incomplete data onto choice graphs: nodes, arcs, memory, and seconds to build and to solve.

`python benchmarks/graphs.py` prints the cases and how cost grows with menus and items; with the name of a case, that one only.
Every case: 100 draws per menu from 50 rankings, relative gap 1e-9, the best of three runs.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked
from rumflow.solvers.graphs import ModelProjector

CASES = {
    "20x50x8": lambda: rf.simulate.random_menus(20, 50, 8, seed=0),
    "20x100x10": lambda: rf.simulate.random_menus(20, 100, 10, seed=0),
    "30x100x15": lambda: rf.simulate.random_menus(30, 100, 15, seed=0),
    "50x50x25": lambda: rf.simulate.random_menus(50, 50, 25, seed=0),
    "100x30x50": lambda: rf.simulate.random_menus(100, 30, 50, seed=0),
    "stock-outs 100x100": lambda: rf.simulate.stock_outs(100, 100, 0.1, seed=0),
    "stock-outs 300x300": lambda: rf.simulate.stock_outs(300, 300, 0.05, seed=0),
    "single-peaked 200x200": lambda: rf.simulate.random_menus(200, 200, 20, seed=0),
}
GROWTH = {f"20x{m}x8": (20, m, 8) for m in (25, 50, 100, 200)} | {
    f"{n}x50x{n // 2}": (n, 50, n // 2) for n in (15, 20, 30, 40)
}


def measure(name, data, threads, repeats=3):
    model = SinglePeaked(data.items) if name.startswith("single") else RandomUtility()
    cells = Cells(data.membership, ~np.isnan(data.counts), data.items)
    target, weights = cells.to_table(data.frequencies), cells.to_table(np.ones(data.counts.shape))
    build = solve = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        projector = ModelProjector(model, cells)
        middle = time.perf_counter()
        fit = projector.solve(target, weights, tol=1e-9, threads=threads)
        build, solve = min(build, middle - begin), min(solve, time.perf_counter() - middle)
    found = fit.certificate
    print(
        f"{name:22} {projector.n_nodes:8,} {projector.n_arcs:10,} {projector.n_bytes / 2**20:8.1f} {build:8.3f} {solve:8.3f} "
        f"{fit.rounds:6} {len(fit.weights):6} {np.sqrt(2 * found.objective):10.6f} {found.gap / found.objective:9.1e}",
        flush=True,
    )


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("case", nargs="*", choices=[[], *CASES], help="which cases (default: all)")
    options.add_argument("--threads", type=int)
    given = options.parse_args()
    for warm in ("20x50x8", "single-peaked 200x200"):  # compiled and loaded before the clock starts
        data = rf.simulate.random_menus(6, 5, 3, seed=0)
        model = SinglePeaked(data.items) if warm.startswith("single") else RandomUtility()
        cells = Cells(data.membership)
        ModelProjector(model, cells).solve(cells.to_table(data.frequencies), cells.to_table(np.ones(data.counts.shape)))
    widths = {
        "case": -22,
        "nodes": 8,
        "arcs": 10,
        "MiB": 8,
        "build s": 8,
        "solve s": 8,
        "rounds": 6,
        "types": 6,
        "distance": 10,
        "gap": 9,
    }
    print(" ".join(name.ljust(-width) if width < 0 else name.rjust(width) for name, width in widths.items()))
    for name in given.case or CASES:
        measure(name, CASES[name](), given.threads)
    if not given.case:
        print("\nhow cost grows with menus and with items")
        for name, (n, m, size) in GROWTH.items():
            measure(name, rf.simulate.random_menus(n, m, size, seed=0), given.threads, 1)


if __name__ == "__main__":
    main()
