"""The interior point solver: predictor and corrector in flow space, systems by tree-preconditioned conjugate gradients.

Minimise f(k) = 1/2 || Z k - rho_hat ||_w^2 over unit flows k >= 0. On the *central path*, k(mu) = argmin f(k) - mu sum log k,

    <h, grad f(k) - lam> = 0  for every zero-flow h,      k lam = mu  edge by edge,

a Newton step (dk, dlam) towards mu = s solves, with D = lam / k and Q = Z^T diag(w) Z,

    <h, (Q + D) dk> = <h, -grad f(k) + e> for every zero-flow h,     e = (s - dk' dlam') / k,     dlam = e - lam - D dk,

where dk' dlam' is Mehrotra's second-order term. An iteration is

 1. the *predictor*, s = 0 and no second-order term, solved to 0.05; its longest steps would leave mu' = <k, lam> / N;
 2. sigma = (mu' / mu)^3, s = sigma mu;
 3. the *corrector*, started from the predictor, solved to 0.05, or until the residual is below sqrt(mu) in the norm of
    M^-1: sqrt(mu) is the radius of the region where Newton's model is good;
 4. the longest steps that keep 0.005 of every flow and of every multiplier.

Flows stay conserved and positive: the step is a zero-flow by construction. What counts in the end is the certificate:
the shortest-path gap of the flow (`rumflow.core.certificate`), which does not use the multipliers.

Departures from the paper: (1) no slack variables, the flow is its own slack; (2) steps of different length for flows
and multipliers: the right side does not contain the multipliers, so they need not be dual feasible and only shape D;
(3) the start is centred, lam = mu / k at the uniform flow, with mu = 3 gap / N; (4) inexact solves as above; (5) the tree
is kept while few edges have moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.compile import clock, kernel, reduction
from rumflow.core.paths import cheapest_below, conserve, uniform_flow
from rumflow.core.problem import Problem, Stop, data_size, least_weight, rounding_floor
from rumflow.core.residual import residual_row
from rumflow.core.threads import run_threads, thread_count
from rumflow.core.transforms import zeta, zeta_adjoint
from rumflow.core.tree import Tree, row_parts
from rumflow.solvers.interior.cg import CgResult, System, build_system, diagonal_table, dot, pcg, restart
from rumflow.solvers.resources import ONE_THREAD, Progress, Resources

_ACCURACY = 0.05  # of the solves
_STEP = 0.995
_MOVED = 0.5  # mean change of log(D + T) that calls for a new tree,
_SLOWER = 1.3  # and growth of the iterations that does
_CARE = 5  # iterations without a gap lower by a tenth that call for more accurate solves,
_PATIENCE = 25  # and that end the run


class IpmResult(NamedTuple):
    """The flow reached and what is known of it; also the state from which `solve_newton` goes on."""

    flow: Array  # (n, 2^(n-1)), >= 0, conserved, total 1
    objective: float  # of `flow`
    gap: float  # shortest-path certificate of `flow`: objective - optimum <= gap
    iterations: int
    cg_iterations: int
    status: str  # "optimal", "max_iterations", "max_seconds", "interrupted", "stalled"
    system: System  # Q + D with its preconditioner


@kernel
def residual_rows(cost, target, weights, partial, first, last):
    """cost <- w (cost - rho_hat) in place, given Z k; 1/2 w (rho - rho_hat)^2 of each row into `partial`."""
    for x in range(first, last):
        partial[0, x] = residual_row(cost[x], target[x], weights[x] if weights.shape[0] else cost[x, :0])


@reduction
def measure_row(k, dual, dk, e, corrected):
    """`measure_rows` for one row."""
    most_flow = most_lam = down = up = both = 0.0
    for j in range(k.shape[0]):
        relative = dk[j] / k[j]
        change = (e[j] / dual[j] if corrected else 0.0) - 1.0 - relative
        product = k[j] * dual[j]
        most_flow = max(most_flow, -relative)
        most_lam = max(most_lam, -change)
        down += relative * product
        up += change * product
        both += relative * change * product
    return most_flow, most_lam, down, up, both


@kernel
def measure_rows(flow, lam, step, extra, corrected, partial, first, last):
    """Of dk = step and dlam = extra - lam - (lam / k) dk (extra taken as 0 unless `corrected`), for each row: the
    largest of -dk / k and of -dlam / lam, whose inverses are the longest steps, and the sums of dk lam, k dlam and dk
    dlam.
    """
    for x in range(first, last):
        row = measure_row(flow[x], lam[x], step[x], extra[x], corrected)
        for i in range(5):
            partial[i, x] = row[i]


@kernel
def correct_rows(flow, lam, step, goal, extra, first, last):
    """e = (goal - dk' dlam') / k for the predictor dk' = step, dlam' = -lam - (lam / k) dk'."""
    for x in range(first, last):
        k, dual, dk, e = flow[x], lam[x], step[x], extra[x]
        for j in range(k.shape[0]):
            e[j] = (goal + dk[j] * dual[j] * (1.0 + dk[j] / k[j])) / k[j]


@kernel
def move_rows(flow, lam, step, extra, flow_step, lam_step, partial, first, last):
    """k += flow_step dk, lam += lam_step dlam; the sum of k lam of each row."""
    for x in range(first, last):
        k, dual, dk, e = flow[x], lam[x], step[x], extra[x]
        for j in range(k.shape[0]):
            change = e[j] - dual[j] - dual[j] / k[j] * dk[j]
            k[j] += flow_step * dk[j]
            dual[j] += lam_step * change
        partial[0, x] = dot(k, dual)


class _Iterate:
    """Flow, multipliers, and the passes over them."""

    def __init__(self, problem: Problem, flow: Array, threads: int) -> None:
        self.target, self.weights, self.flow, self.threads = problem.target, problem.weights, flow, threads
        self.n, half = flow.shape
        self.cost, self.lam = np.empty_like(flow), np.empty_like(flow)
        self.below = np.empty(2 * half)
        self.partial = np.empty((5, self.n))
        self.rows = row_parts(self.n, threads)

    def _each(self, task: Callable[[tuple[int, int]], object]) -> None:
        run_threads(task, self.rows, self.threads)

    def certify(self) -> tuple[float, float]:
        """Fill the gradient; the objective and the gap."""
        np.copyto(self.cost, self.flow)
        zeta(self.cost, self.threads)
        self._each(lambda part: residual_rows(self.cost, self.target, self.weights, self.partial, *part))
        zeta_adjoint(self.cost, self.threads)
        objective = float(self.partial[0].sum())
        inner = sum(float(dot(row, own)) for row, own in zip(self.cost, self.flow, strict=True))
        return objective, max(inner - float(cheapest_below(self.cost, self.threads, self.below)[-1]), 0.0)

    def measure(self, step: Array, extra: Array | None = None) -> tuple[float, float, float, float, float]:
        """The largest shares of a flow and of a multiplier that the step takes; sums of dk lam, k dlam and dk dlam."""
        e, corrected = (step, False) if extra is None else (extra, True)
        self._each(lambda part: measure_rows(self.flow, self.lam, step, e, corrected, self.partial, *part))
        p = self.partial
        return float(p[0].max()), float(p[1].max()), float(p[2].sum()), float(p[3].sum()), float(p[4].sum())

    def correct(self, step: Array, goal: float) -> Array:
        """The right side's barrier term e, with the second-order term of the predictor."""
        extra = np.empty_like(self.flow)
        self._each(lambda part: correct_rows(self.flow, self.lam, step, goal, extra, *part))
        return extra

    def move(self, step: Array, extra: Array, flow_step: float, lam_step: float) -> float:
        """Take the step; the new mu."""
        self._each(lambda part: move_rows(self.flow, self.lam, step, extra, flow_step, lam_step, self.partial, *part))
        return float(self.partial[0].sum()) / self.flow.size


class _Trees:
    """Keeps a tree until D + T has moved by a factor, or the solves with it take long."""

    def __init__(self, problem: _Iterate) -> None:
        self.problem = problem
        self.table = diagonal_table(problem.weights, problem.n, problem.threads)
        self.stride = max(1, self.table.shape[1] >> 12)
        self.tree: Tree | None = None
        self.built: Array | None = None  # log(D + T) when the tree was built, on a sample of edges
        self.first = self.last = 0  # iterations of the first and of the latest solves with this tree

    def system(self) -> System:
        """The system at the current point."""
        it = self.problem
        scaling = it.lam / it.flow
        now = np.log(scaling[:, :: self.stride] + self.table[:, :: self.stride])
        moved = math.inf if self.built is None else float(np.abs(now - self.built).mean())
        if moved > _MOVED or self.last > _SLOWER * self.first:
            self.tree, self.built, self.first = None, now, 0
        system = build_system(scaling, it.weights, table=self.table, tree=self.tree, threads=it.threads)
        self.tree = system.tree
        return system

    def used(self, iterations: int) -> None:
        """Take note of what the solves cost."""
        self.first = self.first or iterations
        self.last = iterations


def solve_ipm(
    problem: Problem,
    stop: Stop,
    *,
    max_iterations: int = 200,
    most_cg: int | None = None,
    start_flow: Array | None = None,
    resources: Resources = ONE_THREAD,
) -> IpmResult:
    """Project onto RUM.

    Ends as `stop` says, or after `most_cg` conjugate gradient steps in all. `start_flow`: a unit flow to start from; a tenth of
    the uniform flow is mixed in. An interrupt (KeyboardInterrupt) ends the run, not the program: the flow with the least gap so
    far is returned.
    """
    begin = clock()
    deadline = resources.until
    flow = uniform_flow(problem.n)
    if start_flow is not None:
        flow *= 0.1
        flow += 0.9 * start_flow
    it = _Iterate(problem, flow, thread_count(resources.threads))
    floor = stop.floor
    if floor is None:
        floor = rounding_floor(float(data_size(problem.target, problem.weights)), least_weight(problem.weights))
    trees = _Trees(it)
    objective, gap = it.certify()
    mu = max(3.0 * gap / flow.size, 1e-300)
    np.divide(mu, flow, out=it.lam)
    best = flow.copy()
    best_objective, best_gap, patience, reference = objective, gap, 0, gap
    system: System | None = None
    care, iterations, cg = 1.0, 0, 0
    most = 100_000 if most_cg is None else max(most_cg // 8, 1)  # in one solve
    status = "max_iterations"
    try:
        while True:
            if gap <= max(stop.tol * objective, floor):
                status = "optimal"
                break
            if iterations >= max_iterations or (most_cg is not None and cg > most_cg):
                break
            if patience >= _PATIENCE:
                status = "stalled"
                break
            if clock() > deadline:
                status = "max_seconds"
                break
            if patience and patience % _CARE == 0:
                # The multipliers have run ahead of the flow: begin again from a centred point, with more accurate solves.
                care *= 0.1
                mu = gap / flow.size
                np.divide(mu, flow, out=it.lam)
            system = trees.system()
            step = _direction(it, system, mu, care, deadline, most)
            if not step.usable:
                status = "max_seconds" if clock() > deadline else "stalled"
                break
            shrink, shrink_lam, *_ = it.measure(step.flow, step.extra)
            flow_step = min(1.0, _STEP / shrink) if shrink > 0.0 else 1.0
            lam_step = min(1.0, _STEP / shrink_lam) if shrink_lam > 0.0 else 1.0
            now = iterations, objective, gap
            mu = it.move(step.flow, step.extra, flow_step, lam_step)
            trees.used(step.cg)
            objective, gap = it.certify()
            iterations, cg = iterations + 1, cg + step.cg
            if gap < best_gap:
                np.copyto(best, flow)
                best_objective, best_gap = objective, gap
            patience = 0 if gap < 0.9 * reference else patience + 1
            reference = min(reference, gap) if patience == 0 else reference
            if resources.report is not None:
                resources.report(Progress(*now, 0, clock() - begin))
    except KeyboardInterrupt:
        status = "interrupted"
    if system is None:
        system = trees.system()
    return IpmResult(conserve(best), best_objective, best_gap, iterations, cg, status, system)


class _Step(NamedTuple):
    """A direction: dk, the barrier term e, and how it was found."""

    flow: Array
    extra: Array
    cg: int
    usable: bool


def _direction(it: _Iterate, system: System, mu: float, care: float, deadline: float, most: int) -> _Step:
    """Predictor and corrector."""
    rhs = -it.cost
    predictor = pcg(system, rhs, Stop(care * _ACCURACY), verify=False, deadline=deadline, max_iterations=most)
    shrink, shrink_lam, down, up, both = it.measure(predictor.flow)
    a, b = 1.0 / max(shrink, 1.0), 1.0 / max(shrink_lam, 1.0)
    left = mu + (a * down + b * up + a * b * both) / it.flow.size
    goal = min(max(left / mu, 0.0), 1.0) ** 3 * mu
    extra = it.correct(predictor.flow, goal)
    rhs += extra
    start = restart(system, predictor, extra)
    result = pcg(
        system,
        rhs,
        Stop(care * _ACCURACY, care * math.sqrt(mu)),
        start=start,
        verify=False,
        deadline=deadline,
        max_iterations=most,
    )
    used = predictor.iterations + result.iterations
    return _Step(result.flow, extra, used, _usable(predictor) and _usable(result))


def _usable(result: CgResult) -> bool:
    """Any step of conjugate gradients gives a descent direction; only a solve that was cut short or broke down does not count."""
    return result.status in ("converged", "max_iterations", "stalled") or (
        result.status == "breakdown" and result.iterations > 0
    )


def solve_newton(state: IpmResult, rhs: Array, tol: float = 1e-8) -> Array:
    """The zero-flow dk with <h, (Q + D) dk> = <h, rhs> for every zero-flow h, at the point of a finished run.

    At a point k(mu) of the central path the derivative of the flow along a change dt of the target is
    `solve_newton(state, Z^T (w dt))`, and the operator is symmetric: the same solve serves the backward pass. Accurate
    to tol in the norm of the preconditioner.
    """
    return pcg(state.system, np.ascontiguousarray(rhs, np.float64), Stop(tol)).flow
