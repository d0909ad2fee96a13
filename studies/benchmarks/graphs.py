"""Projections of incomplete data onto choice graphs: nodes, arcs, memory, and seconds to build and to solve.

`python -m studies.benchmarks.graphs [CASE]` measures all cases, or the one named, into studies/results/graphs.csv. Every case:
100 draws per menu from 50 rankings, relative gap 1e-9, the best of three runs. (How cost grows is in `scaling.py`.)

`--bounded` measures, into bounded.csv, the cases whose graph is too large, on the route "bounded", with what is certified after
`--seconds` (60 and 300): samples as above, smaller samples, and shares that are no sample of anything (Dirichlet(1) for every
menu).

`--budgets` measures, into budgets_random.csv, households that spend at random on random budgets.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.core.problem import Stop
from rumflow.models.budgets import model_of_budgets
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked
from rumflow.solvers.geometry import Keep, SolveOptions
from rumflow.solvers.graph import GraphGeometry
from rumflow.solvers.resources import Resources
from studies.benchmarks.record import RESULTS, save, show, stamp

_OPTIONS = SolveOptions(keep=Keep.MIXTURES)

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
BOUNDED = {
    "27x79x2": (27, 79, 2, 100),
    "40x150x3": (40, 150, 3, 100),
    "27x200x2, 10 draws": (27, 200, 2, 10),
    "40x150x3, 10 draws": (40, 150, 3, 10),
    "30x300x3, 5 draws": (30, 300, 3, 5),
    "40x150x3, no sample": (40, 150, 3, None),
}


def random_shares(data, seed=1):
    share = np.random.default_rng(seed).exponential(size=data.membership.shape) * data.membership
    share = np.where(data.membership, share / share.sum(axis=1, keepdims=True), np.nan)
    return rf.ChoiceData(data.items, data.membership, share, np.ones(len(share)))


def measure_bounded(name, limits, threads):
    n, m, size, draws = BOUNDED[name]
    data = rf.simulate.random_menus(n, m, size, draws=draws or 100, seed=0)
    data = data if draws else random_shares(data)
    for limit in limits:
        begin = time.process_time()
        fit = rf.project(data, route="bounded", max_seconds=limit, throw=False, threads=threads)
        relative = fit.gap / fit.objective if fit.objective > fit.certificate.floor else 0.0
        row = {"case": name, "limit": limit, "seconds": fit.seconds, "cpu_seconds": time.process_time() - begin}
        row |= {"rounds": fit.iterations, "types": len(fit.rankings.weights), "objective": fit.objective}
        row |= {"relative_gap": relative, "status": str(fit.status)}
        show(row)
        save(RESULTS / "bounded.csv", [row | stamp(threads)], ["case", "limit"])
        if fit.status is rf.Status.OPTIMAL:
            break


def measure(name, data, threads, repeats=3):
    model = SinglePeaked(data.items) if name.startswith("single") else RandomUtility()
    cells = Cells(data.membership, ~np.isnan(data.counts), data.items)
    target = cells.to_table(data.frequencies)  # every recorded cell counts 1, as in a geometry without other weights
    build = solve = cpu = np.inf
    for _ in range(repeats):
        begin, used = time.perf_counter(), time.process_time()
        geometry = GraphGeometry(model, cells)
        middle = time.perf_counter()
        fits = geometry.solve(target[None], Stop(1e-9), options=_OPTIONS, resources=Resources(threads))
        build, solve = min(build, middle - begin), min(solve, time.perf_counter() - middle)
        cpu = min(cpu, time.process_time() - used)
    found = fits.certificates[0]
    row = {
        "case": name,
        "items": data.n,
        "menus": len(data.totals),
        "nodes": geometry.n_nodes,
        "arcs": geometry.n_arcs,
    }
    row |= {"bytes": geometry.n_bytes, "build_seconds": build, "solve_seconds": solve, "cpu_seconds": cpu}
    row |= {
        "rounds": int(fits.rounds[0]),
        "types": len(fits.mixtures[0][1]),
        "distance": float(np.sqrt(2 * found.objective)),
    }
    row |= {"relative_gap": found.gap / found.objective}
    show(row)
    save(RESULTS / "graphs.csv", [row | stamp(threads)], ["case"])


def random_budgets(budgets, goods, each, seed=0):
    rng = np.random.default_rng(seed)
    prices = np.exp(rng.normal(0, 0.5, (budgets, goods)))
    shares = rng.dirichlet(np.ones(goods), budgets * each)
    return rf.BudgetData.from_shares(prices, np.repeat(np.arange(budgets), each), shares)


def measure_budgets(budgets, goods, each, threads):
    rf.project(random_budgets(4, goods, 20))  # compiled and loaded before the clock starts
    begin = time.process_time()
    data = random_budgets(budgets, goods, each)
    cut = time.process_time()
    cost = rf.estimate_cost(data)  # builds the graph
    middle = time.process_time()
    fit = rf.project(data, threads=threads)
    end = time.process_time()
    row = {"budgets": budgets, "goods": goods, "households": budgets * each, "patches": len(data.patches)}
    row |= {"nodes": cost.nodes, "arcs": cost.arcs, "types": model_of_budgets(data).types.number}
    row |= {"patches_seconds": cut - begin, "graph_seconds": middle - cut, "project_seconds": end - middle}
    row |= {"distance": fit.distance, "gap": fit.gap}
    show(row)
    save(RESULTS / "budgets_random.csv", [row | stamp(threads)], ["budgets", "goods", "households"])


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("case", nargs="*", help="which cases (default: all)")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--bounded", action="store_true", help="the cases whose graph is too large")
    options.add_argument("--budgets", action="store_true", help="16 random budgets with four goods, 8,000 households")
    options.add_argument("--seconds", type=float, nargs="+", default=[60.0, 300.0], help="time limits of --bounded")
    given = options.parse_args()
    if given.budgets:
        measure_budgets(16, 4, 500, given.threads)
        return
    known = BOUNDED if given.bounded else CASES
    for name in given.case:
        if name not in known:
            options.error(f"case {name!r} is unknown; there are {', '.join(map(repr, known))}")
    if given.bounded:
        rf.project(rf.simulate.random_menus(10, 20, 3, draws=5, seed=0), route="bounded", throw=False)
        for name in given.case or BOUNDED:
            measure_bounded(name, given.seconds, given.threads)
        return
    for warm in ("20x50x8", "single-peaked 200x200"):  # compiled and loaded before the clock starts
        data = rf.simulate.random_menus(6, 5, 3, seed=0)
        model = SinglePeaked(data.items) if warm.startswith("single") else RandomUtility()
        cells = Cells(data.membership)
        GraphGeometry(model, cells).solve(cells.to_table(data.frequencies)[None], Stop(1e-9))
    for name in given.case or CASES:
        measure(name, CASES[name](), given.threads)


if __name__ == "__main__":
    main()
