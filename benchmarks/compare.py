"""rumflow against general quadratic programming solvers, on the same data in one process, one thread each.

Run with `python benchmarks/compare.py [--items 6 8 10] [--limit 300]`. Each rival gets the formulation it is fastest in, its
matrices built before the clock starts, and a tolerance of 1e-9 (first-order methods: 1e-6, they hardly get further):

    rho form    minimise 1/2 ||rho - rho_hat||^2,       C rho = 1, K rho >= 0          Clarabel, OSQP, SCS
    flow form   minimise 1/2 ||Z flow - rho_hat||^2,    flow conserved, flow >= 0      HiGHS

Errors are measured against an answer none of them computed where the family is `known` (the problem is built backwards from
its projection), else against rumflow at tol 1e-13, whose gap is certified. `violation` is the most negative Block-Marschak
polynomial of the answer.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "RUMFLOW_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

import rumflow as rf  # noqa: E402


def sparse_transform(n, sign):
    """Z (sign 1) or K (sign -1) on cell vectors, by tensor products bit by bit."""
    lattice = rf.Lattice(n)
    pair = sparse.csr_matrix([[1.0, sign], [0.0, 1.0]])
    block = sparse.identity(1, format="csr")
    for _ in range(n - 1):
        block = sparse.kron(pair, block, format="csr")
    whole = sparse.block_diag([block] * n, format="csr")
    return whole[lattice.cell_index][:, lattice.cell_index]


def menu_sums(n):
    """C: one row per menu."""
    lattice = rf.Lattice(n)
    menu = lattice.cells[:, 0]
    return sparse.csr_matrix((np.ones(len(menu)), (menu - 1, np.arange(len(menu)))))


def conservation(n):
    """What leaves each menu minus what arrives, the empty menu left out; 1 for the full menu, else 0."""
    menu, item = rf.Lattice(n).cells.T
    edges = np.arange(len(menu))
    below = menu ^ (1 << item)
    out = sparse.csr_matrix((np.ones(len(menu)), (menu, edges)), (1 << n, len(menu)))
    into = sparse.csr_matrix((np.ones(len(menu)), (below, edges)), (1 << n, len(menu)))
    right = np.zeros((1 << n) - 1)
    right[-1] = 1.0
    return (out - into)[1:], right


def run_rumflow(n, _limit):
    def solve(target):
        if target.ndim == 1:
            return rf.project_many([target], threads=1).rho[0]
        return rf.project(target, threads=1).rho

    return solve


def run_clarabel(n, limit):
    import clarabel

    count = n << (n - 1)
    a = sparse.vstack([menu_sums(n), -sparse_transform(n, -1.0)]).tocsc()
    menus = (1 << n) - 1
    cones = [clarabel.ZeroConeT(menus), clarabel.NonnegativeConeT(count)]
    b = np.concatenate([np.ones(menus), np.zeros(count)])
    p = sparse.identity(count, format="csc")

    def solve(target):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.time_limit = limit
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
        return np.array(clarabel.DefaultSolver(p, -target, a, b, cones, settings).solve().x)

    return solve


def run_osqp(n, limit):
    import osqp

    count = n << (n - 1)
    a = sparse.vstack([menu_sums(n), sparse_transform(n, -1.0)]).tocsc()
    menus = (1 << n) - 1
    low = np.concatenate([np.ones(menus), np.zeros(count)])
    high = np.concatenate([np.ones(menus), np.full(count, np.inf)])
    p = sparse.identity(count, format="csc")

    def solve(target):
        solver = osqp.OSQP()
        solver.setup(
            p, -target, a, low, high, verbose=False, eps_abs=1e-6, eps_rel=1e-6, max_iter=200_000, time_limit=limit
        )
        return solver.solve().x

    return solve


def run_scs(n, limit):
    import scs

    count = n << (n - 1)
    a = sparse.vstack([menu_sums(n), -sparse_transform(n, -1.0)]).tocsc()
    menus = (1 << n) - 1
    b = np.concatenate([np.ones(menus), np.zeros(count)])
    p = sparse.identity(count, format="csc")

    def solve(target):
        solver = scs.SCS(
            {"P": p, "A": a, "b": b, "c": -target},
            {"z": menus, "l": count},
            verbose=False,
            eps_abs=1e-6,
            eps_rel=1e-6,
            max_iters=500_000,
            time_limit_secs=limit,
        )
        return solver.solve()["x"]

    return solve


def run_highs(n, limit):
    import highspy

    z = sparse_transform(n, 1.0)
    hessian = sparse.tril(z.T @ z, format="csc")
    a, right = conservation(n)
    a = a.tocsc()
    count = n << (n - 1)

    def solve(target):
        model = highspy.HighsModel()
        model.lp_.num_col_, model.lp_.num_row_ = count, len(right)
        model.lp_.col_cost_ = -(z.T @ target)
        model.lp_.col_lower_, model.lp_.col_upper_ = np.zeros(count), np.full(count, highspy.kHighsInf)
        model.lp_.row_lower_ = model.lp_.row_upper_ = right
        model.lp_.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.lp_.a_matrix_.start_, model.lp_.a_matrix_.index_, model.lp_.a_matrix_.value_ = a.indptr, a.indices, a.data
        model.hessian_.dim_ = count
        model.hessian_.start_, model.hessian_.index_ = hessian.indptr, hessian.indices
        model.hessian_.value_ = hessian.data
        solver = highspy.Highs()
        solver.silent()
        solver.setOptionValue("time_limit", float(limit))
        solver.setOptionValue("threads", 1)
        solver.passModel(model)
        solver.run()
        return z @ np.array(solver.getSolution().col_value)

    return solve


RIVALS = {
    "rumflow": run_rumflow,
    "HiGHS": run_highs,
    "Clarabel": run_clarabel,
    "OSQP": run_osqp,
    "SCS": run_scs,
}


def problem(family, n, seed):
    """Data as cells, and the reference answer."""
    inside = rf.Lattice(n).membership
    if family == "known":
        known = rf.simulate.known_projection(n, seed, distance=1.0)
        return known.data[inside], known.answer[inside]
    make = rf.simulate.dirichlet if family == "dirichlet" else rf.simulate.noisy_rankings
    data = make(n, seed=seed)[inside]
    return data, rf.project_many([data], tol=1e-13, throw=False).rho[0]


def to_rumflow(n, cells):
    """What `project` takes: an array over menus and items. What are not probabilities is for `project_many`, as it is."""
    lattice = rf.Lattice(n)
    return cells if cells.min() < 0 else lattice.from_internal(lattice.cells_to_internal(cells))


def measure(solvers, data, repeats, turns=3, patience=2.0):
    """Best time and answer of each. Calls follow one another, in turns: a busy moment of the machine falls on all of them.

    A turn ends early after `patience` seconds, and who takes ten seconds for one call gets no second turn.
    """
    best, answers = dict.fromkeys(solvers, np.inf), {}
    for _ in range(turns):
        for name, solve in solvers.items():
            if name in answers and best[name] > 10:
                continue
            end = time.perf_counter() + patience
            for _ in range(repeats):
                begin = time.perf_counter()
                answers[name] = np.asarray(solve(data[name]))
                best[name] = min(best[name], time.perf_counter() - begin)
                if begin + best[name] > end:
                    break
    return best, answers


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--items", type=int, nargs="+", default=[6, 8, 10])
    options.add_argument("--families", nargs="+", default=["known", "dirichlet", "noisy"])
    options.add_argument("--limit", type=float, default=300.0, help="seconds a solver may take")
    options.add_argument("--repeats", type=int, default=20, help="calls in each of three turns; the best counts")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", help="a CSV file to write")
    given = options.parse_args()
    rows = []
    print(
        f"{'n':>3} {'family':10} {'solver':9} {'seconds':>10} {'times rumflow':>14} {'max error':>10} {'violation':>10}"
    )
    for n in given.items:
        solvers = {}
        for name, make in RIVALS.items():
            try:
                solvers[name] = make(n, given.limit)
            except ImportError as error:
                print(f"{name}: not installed ({error})", file=sys.stderr)
        for family in given.families:
            data, reference = problem(family, n, given.seed)
            forms = dict.fromkeys(solvers, data) | {"rumflow": to_rumflow(n, data)}
            solvers["rumflow"](forms["rumflow"])  # compiled and loaded before the clock starts
            times, answers = measure(solvers, forms, given.repeats)
            if answers["rumflow"].ndim == 2:
                answers["rumflow"] = answers["rumflow"][rf.Lattice(n).membership]
            for name, seconds in times.items():
                base, answer = times["rumflow"], answers[name]
                error = np.abs(answer - reference).max()
                lattice = rf.Lattice(n)
                array = lattice.from_internal(lattice.cells_to_internal(answer))
                violation = max(0.0, -rf.block_marschak(array).min())
                rows.append([n, family, name, seconds, seconds / base, error, violation])
                print(
                    f"{n:3} {family:10} {name:9} {seconds:10.5f} {seconds / base:14.1f} {error:10.1e} {violation:10.1e}",
                    flush=True,
                )
    if given.out:
        with open(given.out, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["n", "family", "solver", "seconds", "times_rumflow", "max_error", "violation"])
            writer.writerows(rows)


if __name__ == "__main__":
    main()
