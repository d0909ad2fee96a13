"""General solvers, each in the form in which it is fastest on this problem, with its matrices made beforehand.

    rho     minimise 1/2 ||rho - rho_hat||^2,       C rho = 1, K rho >= 0             Clarabel, OSQP, SCS, PIQP, ProxQP, quadprog
    flow    minimise 1/2 ||Z flow - rho_hat||^2,    flow conserved, flow >= 0         HiGHS
    types   minimise 1/2 ||M lam - rho_hat||^2,     lam >= 0, its sum 1 (a heavy row)  SciPy's NNLS over all n! rankings

OSQP, PIQP and ProxQP factor their matrices once, beforehand, too. None starts from an earlier answer (SCS is made anew for each
call: otherwise it goes on from the last one even with warm_start=False), and each has one thread. Tolerances are 1e-9, for the
first-order methods (OSQP, SCS) 1e-6: they hardly get further.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

import rumflow as rf

TOL, TOL_FIRST_ORDER = 1e-9, 1e-6


class Answer(NamedTuple):
    """Cells, and whether the solver says that they are the solution."""

    cells: np.ndarray | None
    solved: bool
    says: str


Solve = Callable[[np.ndarray], Answer]


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
    menu = rf.Lattice(n).cells[:, 0]
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


def rumflow(n, _limit) -> Solve:
    lattice = rf.Lattice(n)

    def solve(target):
        if target.min() < 0:  # what are not probabilities is for `project_many`, as it is
            batch = rf.project_many([target], threads=1)
            return Answer(batch.rho[0], batch.status[0] is rf.Status.OPTIMAL, "certified")
        fit = rf.project(lattice.from_internal(lattice.cells_to_internal(target)), threads=1)
        return Answer(fit.rho[lattice.membership], fit.status is rf.Status.OPTIMAL, "certified")

    return solve


def clarabel(n, limit) -> Solve:
    import clarabel as tool

    count, menus = n << (n - 1), (1 << n) - 1
    a = sparse.vstack([menu_sums(n), -sparse_transform(n, -1.0)]).tocsc()
    cones = [tool.ZeroConeT(menus), tool.NonnegativeConeT(count)]
    b = np.concatenate([np.ones(menus), np.zeros(count)])
    p = sparse.identity(count, format="csc")
    settings = tool.DefaultSettings()
    settings.verbose, settings.time_limit, settings.max_threads = False, limit, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOL

    def solve(target):
        found = tool.DefaultSolver(p, -target, a, b, cones, settings).solve()
        return Answer(np.array(found.x), str(found.status) == "Solved", str(found.status))

    return solve


def osqp(n, limit) -> Solve:
    import osqp as tool

    count, menus = n << (n - 1), (1 << n) - 1
    a = sparse.vstack([menu_sums(n), sparse_transform(n, -1.0)]).tocsc()
    low = np.concatenate([np.ones(menus), np.zeros(count)])
    high = np.concatenate([np.ones(menus), np.full(count, np.inf)])
    solver = tool.OSQP()
    eps = {"eps_abs": TOL_FIRST_ORDER, "eps_rel": TOL_FIRST_ORDER}
    most = {"max_iter": 200_000, "time_limit": limit, "warm_starting": False, "verbose": False}
    solver.setup(sparse.identity(count, format="csc"), np.zeros(count), a, low, high, **eps, **most)

    def solve(target):
        solver.update(q=-target)
        found = solver.solve()
        return Answer(np.array(found.x), found.info.status == "solved", found.info.status)

    return solve


def scs(n, limit) -> Solve:
    import scs as tool

    count, menus = n << (n - 1), (1 << n) - 1
    a = sparse.vstack([menu_sums(n), -sparse_transform(n, -1.0)]).tocsc()
    b = np.concatenate([np.ones(menus), np.zeros(count)])
    p = sparse.identity(count, format="csc")
    eps = {"eps_abs": TOL_FIRST_ORDER, "eps_rel": TOL_FIRST_ORDER}
    most = {"max_iters": 500_000, "time_limit_secs": limit, "verbose": False}

    def solve(target):
        found = tool.SCS({"P": p, "A": a, "b": b, "c": -target}, {"z": menus, "l": count}, **eps, **most).solve()
        return Answer(found["x"], found["info"]["status"] == "solved", found["info"]["status"])

    return solve


def highs(n, limit) -> Solve:
    import highspy as tool

    z = sparse_transform(n, 1.0)
    hessian = sparse.tril(z.T @ z, format="csc")
    a, right = conservation(n)
    a = a.tocsc()
    count = n << (n - 1)

    def solve(target):
        model = tool.HighsModel()
        model.lp_.num_col_, model.lp_.num_row_ = count, len(right)
        model.lp_.col_cost_ = -(z.T @ target)
        model.lp_.col_lower_, model.lp_.col_upper_ = np.zeros(count), np.full(count, tool.kHighsInf)
        model.lp_.row_lower_ = model.lp_.row_upper_ = right
        model.lp_.a_matrix_.format_ = tool.MatrixFormat.kColwise
        model.lp_.a_matrix_.start_, model.lp_.a_matrix_.index_, model.lp_.a_matrix_.value_ = a.indptr, a.indices, a.data
        model.hessian_.dim_ = count
        model.hessian_.start_, model.hessian_.index_ = hessian.indptr, hessian.indices
        model.hessian_.value_ = hessian.data
        solver = tool.Highs()
        solver.silent()
        solver.setOptionValue("time_limit", float(limit))
        solver.setOptionValue("threads", 1)
        solver.passModel(model)
        solver.run()
        says = solver.modelStatusToString(solver.getModelStatus())
        flow = np.array(solver.getSolution().col_value)
        return Answer(z @ flow if len(flow) else None, says == "Optimal", says)

    return solve


def piqp(n, _limit) -> Solve:
    import piqp as tool

    count, menus = n << (n - 1), (1 << n) - 1
    dense = n <= 6
    solver = tool.DenseSolver() if dense else tool.SparseSolver()
    form = (lambda m: np.asfortranarray(m.toarray())) if dense else (lambda m: m.tocsc())
    solver.settings.eps_abs = solver.settings.eps_rel = TOL
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = TOL
    p, c, k = sparse.identity(count, format="csr"), menu_sums(n), sparse_transform(n, -1.0)
    solver.setup(form(p), np.zeros(count), form(c), np.ones(menus), form(k), np.zeros(count), None)

    def solve(target):
        solver.update(c=-target)
        status = solver.solve()
        return Answer(np.array(solver.result.x), status == tool.PIQP_SOLVED, str(status).rsplit(".", 1)[-1])

    return solve


def proxqp(n, _limit) -> Solve:
    import proxsuite

    tool = proxsuite.proxqp
    count, menus = n << (n - 1), (1 << n) - 1
    solver = tool.dense.QP(count, menus, count)
    solver.settings.eps_abs, solver.settings.eps_rel = TOL, 0.0
    solver.settings.initial_guess = tool.InitialGuess.NO_INITIAL_GUESS
    none = np.full(count, 1e20)
    solver.init(
        np.eye(count),
        np.zeros(count),
        menu_sums(n).toarray(),
        np.ones(menus),
        sparse_transform(n, -1.0).toarray(),
        np.zeros(count),
        none,
    )

    def solve(target):
        solver.update(g=-target)
        solver.solve()
        status = solver.results.info.status
        says = str(status).rsplit(".", 1)[-1]
        return Answer(np.array(solver.results.x), status == tool.QPSolverOutput.PROXQP_SOLVED, says)

    return solve


def quadprog(n, _limit) -> Solve:
    import quadprog as tool

    count, menus = n << (n - 1), (1 << n) - 1
    rows = np.ascontiguousarray(sparse.vstack([menu_sums(n), sparse_transform(n, -1.0)]).toarray().T)
    right, unit = np.concatenate([np.ones(menus), np.zeros(count)]), np.eye(count)

    def solve(target):
        try:
            return Answer(tool.solve_qp(unit, target, rows, right, menus)[0], True, "solved")
        except ValueError as error:
            return Answer(None, False, str(error))

    return solve


def types(n, _limit) -> Solve:
    lattice = rf.Lattice(n)
    orders = np.array(list(permutations(range(n))))
    menu, item = lattice.cells.T
    place = np.argsort(orders, axis=1)
    inside = menu[:, None] >> np.arange(n) & 1
    best = np.where(inside[None], place[:, None, :], n).argmin(axis=2) == item
    heavy = 1e4
    matrix = np.vstack([best.T.astype(float), np.full((1, len(orders)), heavy)])

    def solve(target):
        try:
            weights = nnls(matrix, np.append(target, heavy))[0]
        except RuntimeError as error:
            return Answer(None, False, str(error))
        return Answer(matrix[:-1] @ (weights / weights.sum()), True, "solved")

    return solve


#: By name: how the solver is prepared, up to how many items it is tried (beyond, its dense matrices do not fit or its time is
#: without a limit), and the packages whose version counts.
RIVALS = {
    "rumflow": (rumflow, 24, ()),
    "HiGHS": (highs, 10, ("highspy",)),
    "Clarabel": (clarabel, 10, ("clarabel",)),
    "OSQP": (osqp, 10, ("osqp",)),
    "SCS": (scs, 10, ("scs",)),
    "PIQP": (piqp, 8, ("piqp",)),
    "ProxQP": (proxqp, 8, ("proxsuite",)),
    "quadprog": (quadprog, 8, ("quadprog",)),
    "NNLS over all rankings": (types, 6, ()),
}
