"""Which solver runs, and when one hands over to the other.

The rankings solver is exact and fast while the optimal face is small: its cost grows with the cube of the active rankings. The
interior point method does not mind large faces: its cost grows with the lattice. `auto` starts with the first and hands over
where the active set has outgrown what the second would cost; the flow reached so far is the new start.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Mixture
from rumflow.core.certificate import NO_WEIGHTS, SOLVER_FLOOR, certify, weighted_norm
from rumflow.core.paths import flow_from_paths
from rumflow.projection.inputs import Prepared
from rumflow.solvers.active_set.solve import Outcome, Progress, Workspace, make_problem, solve_rankings, solve_whole
from rumflow.solvers.interior.ipm import IpmRecord, IpmResult, solve_ipm
from rumflow.solvers.small.workspace import is_small

METHODS = ("auto", "rankings", "ipm")


class Solved(NamedTuple):
    """Where the solvers left off."""

    flow: Array
    mixture: Mixture | None  # from the rankings solver
    interior: IpmResult | None  # from the interior point method
    method: str
    iterations: int  # lattice passes, or interior point steps
    reason: str


def most_rankings(n_cells: int) -> int:
    """Active rankings at which the interior point method would have been cheaper.

    Measured on one kind of machine: 5e-10 s times the cube of the rankings on one side, 3,000 conjugate gradient steps of 4e-8 s
    per cell on the other.
    """
    return int((3000 * 4e-8 * n_cells / 5e-10) ** (1 / 3))


def solve(
    problem: Prepared,
    method: str,
    *,
    tol: float,
    deadline: float | None,
    start: Mixture | None,
    report: Callable[[Progress], None] | None,
    threads: int | None,
) -> Solved:
    """Run a method of `METHODS` until the gap is within tol * objective, or it stops for another reason."""
    if method == "ipm":
        return _interior(problem, tol, deadline, None if start is None else flow_from_paths(*start), report, threads)
    budget = most_rankings(problem.lattice.n_cells) if method == "auto" else None
    outcome = _rankings(problem, tol, deadline, start, report, threads, budget)
    if outcome.reason == "too_large":
        found = _interior(problem, tol, deadline, outcome.flow, report, threads)
        if found.reason not in ("stalled", "max_iterations"):
            return found
        outcome = _rankings(problem, tol, deadline, (outcome.paths, outcome.weights), report, threads, None)
    if method == "auto" and outcome.reason == "stalled" and not _certified(outcome, problem, tol):
        found = _interior(problem, tol, deadline, None, report, threads)
        if (
            found.interior is not None
            and found.interior.gap < certify(outcome.flow, problem.target, problem.weights).gap
        ):
            return found
    return Solved(outcome.flow, (outcome.paths, outcome.weights), None, "rankings", outcome.rounds, outcome.reason)


def _rankings(
    problem: Prepared,
    tol: float,
    deadline: float | None,
    start: Mixture | None,
    report: Callable[[Progress], None] | None,
    threads: int | None,
    budget: int | None,
) -> Outcome:
    target, weights, n = problem.target, problem.weights, problem.lattice.n
    floor = SOLVER_FLOOR * weighted_norm(target, NO_WEIGHTS if weights is None else weights)
    if is_small(n, weights):
        outcome = solve_whole(target, weights, tol=tol, floor=floor, start=start)
        if outcome.reason == "done" or _certified(outcome, problem, tol):
            return outcome
        if len(outcome.weights) and np.isfinite(outcome.weights).all():
            start = (outcome.paths, outcome.weights)  # worn out by rounding: the factor lasts longer than the inverse
    return solve_rankings(
        make_problem(target, weights),
        Workspace(n),
        tol=tol,
        floor=floor,
        start=start,
        deadline=deadline,
        most_rankings=budget,
        report=report,
        threads=threads,
    )


def _certified(outcome: Outcome, problem: Prepared, tol: float) -> bool:
    here = certify(outcome.flow, problem.target, problem.weights)
    return here.gap <= max(tol * here.objective, here.floor)


def _interior(
    problem: Prepared,
    tol: float,
    deadline: float | None,
    start_flow: Array | None,
    report: Callable[[Progress], None] | None,
    threads: int | None,
) -> Solved:
    def callback(now: IpmRecord) -> None:
        if report is not None:
            report(Progress(now.iteration, now.objective, now.gap, 0, now.seconds))

    result = solve_ipm(
        problem.target,
        problem.weights,
        tol=tol,
        max_seconds=None if deadline is None else max(deadline - time.perf_counter(), 1e-3),
        start_flow=start_flow,
        threads=threads,
        callback=callback,
    )
    return Solved(result.flow, None, result, "ipm", result.iterations, result.status)
