"""The nearest random utility model to given choice probabilities.

    minimise  1/2 sum over cells (D, x) of  w(D, x) (rho(D, x) - rho_hat(D, x))^2   over all RUMs rho

with w >= 0, and w = 0 on cells that were not observed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_number, check_option, check_seconds, check_seed, check_threads
from rumflow.core.arrays import Array
from rumflow.core.certificate import Certifier
from rumflow.core.compile import clock
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.lattice import Lattice
from rumflow.core.paths import paths_from_orders
from rumflow.core.problem import Problem, Stop
from rumflow.core.seeds import Seed, entropy
from rumflow.core.transforms import moebius
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError, NotConvergedError
from rumflow.models.budgets import model_of_budgets
from rumflow.models.model import Model
from rumflow.output.progress import Reporter
from rumflow.projection.graph import choose_route, project_graph
from rumflow.projection.inputs import as_floats, check_tol, items_from_shape, prepare
from rumflow.projection.lattice_results import LatticeProjection
from rumflow.projection.results import Projection, Rankings, Status, rankings_of, status_of
from rumflow.solvers.active_set.solve import Progress
from rumflow.solvers.dispatch import LATTICE_ITEMS, METHODS, solve


def project_lattice(
    data: ChoiceData | ArrayLike,
    weights: str | ArrayLike | None = None,
    method: str = "auto",
    tol: float = 1e-9,
    max_seconds: float | None = None,
    throw: bool = True,
    progress: bool | Callable[[Progress], None] = False,
    *,
    start: Rankings | Projection | None = None,
    threads: int | None = None,
) -> LatticeProjection:
    """`project` on the lattice of all menus."""
    begin = time.perf_counter()
    problem = prepare(data, weights)
    begin_at = None
    if start is not None:
        orders, shares = rankings_of(start, problem.lattice.n)
        begin_at = paths_from_orders(orders), shares
    certifier = Certifier(problem.lattice.n, problem.weights, threads=threads)
    with Reporter(progress, tol) as report:
        solved = solve(
            Problem(problem.target, problem.weights),
            Stop(tol),
            method=method,
            start=begin_at,
            certifier=certifier,
            deadline=None if max_seconds is None else clock() + max_seconds,
            report=report,
            threads=threads,
        )
    fit = LatticeProjection(
        certificate=solved.certificate,
        status=status_of(solved.certificate, tol, solved.reason),
        method=solved.method,
        iterations=solved.iterations,
        seconds=time.perf_counter() - begin,
        tol=tol,
        items=problem.items,
        inside=solved.rho is not None or solved.certificate.is_rum,
        problem=problem,
        _mixture=solved.mixture,
        _given_flow=solved.given_flow,
        _rho=solved.rho,
        interior=solved.interior,
    )
    _throw_unless_optimal(fit, throw)
    return fit


def project(
    data: ChoiceData | BudgetData | ArrayLike,
    weights: str | ArrayLike | None = None,
    method: str = "auto",
    tol: float = 1e-9,
    max_seconds: float | None = None,
    throw: bool = True,
    progress: bool | Callable[[Progress], None] = False,
    *,
    start: Rankings | Projection | None = None,
    threads: int | None = None,
    model: Model | None = None,
    route: str | None = None,
    seed: Seed = 0,
) -> Projection:
    """Project choice probabilities onto the random utility models.

    data      ChoiceData, or a (2^n, n) array of probabilities: row = menu bit mask, NaN = not observed. BudgetData: the nearest
              rational demand; its menus are the budgets, its items their patches.
    weights   None: 1 on every observed cell. "counts": the menu's sample size. An array like the data: any weights >= 0,
              0 = not observed.
    method    "rankings": exact active set, best where the optimal face is small (data far from RUM, small samples).
              "ipm": interior point method with tree-preconditioned conjugate gradients, for large faces (large samples).
              "auto": the first, and the second where the active set outgrows it.
    tol       stop when gap <= tol * objective (or when the gap is rounding: 64 units in the last place of 1/2 sum w rho_hat^2).
    max_seconds, Ctrl-C   end with the best point so far; with throw=True as a NotConvergedError that holds it as `fit`.
    progress  True for a line on the terminal, or a function called after every round.
    start     an earlier fit to begin from, or its rankings.
    threads   for the passes over lattice or graph; the result is the same for any number.
    model     which types of choosers there are: None for all rankings (`RandomUtility()`), or another model.
    route     None chooses by cost. "lattice": all menus, up to 24 items; needed for `method`. "graph": at the cost of what was
              observed, for any number of items. "bounded": for random utility where the graph is too large (many small menus over
              many items); rankings are found by search, and the gap is a bound that need not come within `tol`. Then the status
              is "bounded" (or "max_seconds"), which throw=True raises like any other that is not "optimal". A later call with
              start=fit goes on from there. Without max_seconds the last kind of bound is given half a minute.
    seed      of the search on the route "bounded".

    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> fit = rf.project(data)
    >>> round(fit.distance, 4), fit.gap <= 1e-9 * fit.objective
    (0.1852, True)
    >>> {item: round(share, 2) for item, share in fit.probabilities(["a", "b"]).items()}
    {'a': 0.39, 'b': 0.61}
    """
    _check_options(method, max_seconds, threads)
    check_seed(seed)
    tol = check_tol(tol)
    if isinstance(data, BudgetData):
        model, data = model_of_budgets(data, model), data.choices
    chosen = choose_route(data, model, route, method)
    if chosen is None:
        return project_lattice(data, weights, method, tol, max_seconds, throw, progress, start=start, threads=threads)
    fit = project_graph(*chosen, weights, tol, max_seconds, progress, start, threads, entropy(seed))
    _throw_unless_optimal(fit, throw)
    return fit


def project_exact(
    data: ChoiceData | ArrayLike,
    weights: str | ArrayLike | None = None,
    tol: float = 1e-9,
    *,
    model: Model | None = None,
    route: str | None = None,
) -> Projection:
    """`project` for what needs the optimum itself: an error where the graph is too large, none where the gap is."""
    try:
        chosen = choose_route(data, model, route, exact=True)
    except GraphTooLargeError as error:
        text = f"{error}. The answer needs the whole graph: leave out menus or items, such as rare ones"
        raise GraphTooLargeError(text, error.nodes, error.arcs, error.bytes, error.done) from None
    if chosen is None:
        return project_lattice(data, weights, tol=tol, throw=False)
    return project_graph(*chosen, weights, tol, None, False, None, None)


def _check_options(method: str, max_seconds: float | None, threads: int | None) -> None:
    check_option(method, "method", METHODS)
    check_seconds(max_seconds)
    check_threads(threads)


def _throw_unless_optimal(fit: Projection, throw: bool) -> None:
    if throw and fit.status is not Status.OPTIMAL:
        raise NotConvergedError(
            f"{fit.status.explanation} (gap {fit.gap:.2g}, objective {fit.objective:.6g}, after {fit.seconds:.1f} s); "
            "the best point so far is the attribute `fit` of this error, or pass throw=False",
            fit,
        )


def block_marschak(rho: ChoiceData | ArrayLike) -> Array:
    """(2^n, n) Block-Marschak polynomials K rho of complete choice probabilities; RUM exactly when none is negative.

    rho    a (2^n, n) array, or ChoiceData.

    >>> rho = [[0, 0], [1, 0], [0, 1], [0.3, 0.7]]
    >>> block_marschak(rho).tolist()
    [[0.0, 0.0], [0.7, 0.0], [0.0, 0.30000000000000004], [0.3, 0.7]]
    """
    if isinstance(rho, ChoiceData):
        problem = prepare(rho, None)
        lattice, rows, complete = problem.lattice, problem.target, problem.complete
    else:
        array = as_floats(rho, "rho")
        lattice = Lattice(items_from_shape(array.shape))
        rows = lattice.to_internal(array)
        complete = not np.isnan(rows).any()
    if not complete:
        raise InputError("the Block-Marschak polynomials need every menu; some cells were not observed")
    return lattice.from_internal(moebius(rows))


def is_rum(rho: ChoiceData | ArrayLike, tol: float = 1e-9) -> bool:
    """Are these probabilities consistent with random utility?

    Complete: no Block-Marschak polynomial below -tol. Incomplete: within a distance tol of a RUM.

    >>> import rumflow as rf
    >>> rf.is_rum(rf.simulate.rankings_mixture(4, seed=0)), rf.is_rum(rf.simulate.dirichlet(4, seed=0))
    (True, False)
    """
    check_number(tol, "tol", 0, np.inf, "[)")
    if not isinstance(rho, ChoiceData) or rho.n <= LATTICE_ITEMS:
        problem = prepare(rho, None)
        if problem.complete:
            return bool(moebius(problem.target).min() >= -tol)
    fit = project(rho, throw=False)
    if fit.distance > tol and 2 * (fit.objective - fit.gap) <= tol * tol and fit.status is not Status.OPTIMAL:
        raise NotConvergedError(
            f"is_rum: the distance is at most {fit.distance:.3g}, and nothing says that it is above tol={tol:g}: "
            f"{fit.status.explanation}",
            fit,
        )
    return fit.distance <= tol
