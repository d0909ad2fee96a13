"""Which solver runs on the lattice, and what it falls back to: the only place that chooses.

    few items    the active set in one kernel, with the inverse of its matrix: `rumflow.solvers.lattice` runs it first
    rankings     the active set with a Cholesky factor: more stable, and for any number of items (`rumflow.solvers.active_set`)
    ipm          the interior point method (`rumflow.solvers.interior`)

The active set is exact, and fast while the optimal face is small; its cost grows with the cube of the active rankings. The
interior point method does not mind large faces; its cost grows with the lattice. `auto` starts with the first and hands over
where the work that the active set has still ahead, as far as can be seen, is more than the second would cost.

Each attempt ends with a certificate that no solver has a hand in. An attempt that is not certified is followed by the next,
which goes on from there; what comes back is the first certified one, or the one with the smallest gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rumflow.core.arrays import Array, Mixture
from rumflow.core.certificate import Certificate, Certifier
from rumflow.core.membership import rum_membership
from rumflow.core.memory import fits, interior_bytes, require_memory
from rumflow.core.paths import flow_from_paths
from rumflow.core.problem import SOLVER_FLOOR, Problem, Stop, data_size, least_weight, rounding_floor
from rumflow.solvers.active_set.solve import Goal, Outcome, Workspace, make_problem, solve_rankings
from rumflow.solvers.active_set.state import KernelProblem
from rumflow.solvers.geometry import ENDED
from rumflow.solvers.interior.ipm import IpmResult, solve_ipm
from rumflow.solvers.resources import ONE_THREAD, Resources

METHODS = ("auto", "rankings", "ipm")
#: The active set alone, up to where another method is cheaper; for callers that have that other method.
BEGUN = "begun"

# That other method, the smoothed projection, takes about as long as the interior point method with this tolerance.
_SMOOTHED_TOL = 1e-3

# Weights so many times apart are not for the interior point method: it took 10 to 30 times as long as the active set.
_WIDE = 1e4

# What setting it up costs, in cells.
_SET_UP = 1200

#: Conjugate gradient steps after which the interior point method does not save what rounding has stopped elsewhere.
LAST_RESORT = 20_000


@dataclass
class Solved:
    """Where the solvers left off: a mixture, or a flow, or both."""

    mixture: Mixture | None  # from an active set
    interior: IpmResult | None  # from the interior point method
    certificate: Certificate
    method: str  # "rankings", "ipm", or "moebius" where the data are RUM and needed no solver
    iterations: int  # lattice passes, or interior point steps
    reason: str  # "done", "stalled", "too_large", or one of `ENDED`
    given_flow: Array | None = None
    rho: Array | None = None  # the data with menus that add up to 1, where they are RUM

    @cached_property
    def flow(self) -> Array:
        """The flow in the internal layout; made when it is first asked for."""
        if self.given_flow is not None:
            return self.given_flow
        assert self.mixture is not None
        return flow_from_paths(*self.mixture)


def most_work(problem: Problem, tol: float) -> float | None:
    """Multiplications that the active set may have ahead before the interior point method is cheaper; None: any number.

    For 9 to 12 items (relative gaps 1e-6 and 1e-9, twelve families, with and without weights) the two took the same
    time where the active set did 0.5e5 to 1.5e5 multiplications per cell, more with weights or without some of the menus. The
    interior point method needs more and more conjugate gradient steps with more items, and with weights far apart; its steps
    grow with the digits asked for, of which the active set has the last ones for nothing. Its set-up costs as much as a
    thousand cells, which matters for 9 items.
    """
    n, weights = problem.n, problem.weights
    if len(weights) and weights.max() > _WIDE * weights[weights > 0].min():
        return None
    digits = min(max(-np.log10(max(tol, 1e-300)), 3.0), 12.0)
    cells = _SET_UP + (n << (n - 1))
    return float((1.7e4 if len(weights) else 0.85e4) * (digits + 1.0) * cells * 1.5 ** max(n - 12, 0))


class Dispatcher:
    """The solvers for problems with the same weights, one after the other until one is certified.

    kernel   a problem with these weights in the form of the kernels, whatever its target.
    """

    def __init__(self, kernel: KernelProblem, certifier: Certifier) -> None:
        self._kernel, self._certifier = kernel, certifier

    def solve(
        self,
        target: Array,
        stop: Stop,
        *,
        method: str = "auto",
        start: Mixture | None = None,
        first: Solved | None = None,
        workspace: Workspace | None = None,
        resources: Resources = ONE_THREAD,
    ) -> Solved:
        """Run a method of `METHODS` until the certificate is within `stop`, or there is nothing left to try.

        start   a mixture to begin from.
        first   what another solver has left, not good enough: it counts among the attempts.
        """
        certify = self._certifier
        problem = Problem(target, certify.weights, certify.cone)
        if not problem.cone:
            target, flow = rum_membership(problem, resources.threads)
            if flow is not None:
                return Solved(None, None, certify(flow, problem.target), "moebius", 0, "done", flow, target)
        inner = Problem(target, problem.weights, problem.cone)
        size = data_size(target, problem.weights)
        floor = SOLVER_FLOOR * size if stop.floor is None else stop.floor
        # Half of what the certificate takes for rounding, which it computes for itself.
        enough = 0.5 * rounding_floor(size, least_weight(problem.weights)) if stop.floor is None else 0.0
        goal = Goal(stop.tol, floor, enough)
        kernel = self._kernel._replace(target=target)
        run = Attempts(inner, kernel, problem.target, stop, goal, certify, workspace, resources)
        best = first
        for found in run.each(method, start):
            if (
                best is None or not best.certificate.gap <= found.certificate.gap
            ):  # a gap that is not a number is the worst
                best = found
            if found.reason in ENDED:
                best = replace(best, reason=found.reason)
                break
            if found.certificate.is_optimal(stop):
                break
        assert best is not None
        return best


@dataclass
class Attempts:
    """The solvers, on one problem."""

    problem: Problem  # menus add up to 1
    kernel: KernelProblem  # the same in the form of the kernels
    data: Array  # as they were given: what the certificate is about
    stop: Stop
    goal: Goal
    certify: Certifier
    workspace: Workspace | None
    resources: Resources

    def each(self, method: str, start: Mixture | None) -> Iterator[Solved]:
        """One solver after the other, each going on from what the one before has found."""
        needed = interior_bytes(self.problem.n, len(self.problem.weights) > 0)
        if method == "ipm":
            require_memory(
                needed, f"method='ipm' for n = {self.problem.n} items", "method='rankings' takes a tenth of it"
            )
            yield self.interior(start, None)
            return
        if method == BEGUN:
            yield self.rankings(start, most_work(self.problem, _SMOOTHED_TOL))
            return
        auto = method == "auto" and not self.problem.cone and fits(needed)
        found = self.rankings(start, most_work(self.problem, self.stop.tol) if auto else None)
        yield found
        if found.reason == "stalled" and len(self.problem.weights):
            milder = self.milder()
            if milder.reason in ENDED:
                yield replace(found, reason=milder.reason)
            found = self.rankings((milder.paths, milder.weights), None)
            yield found
        if auto:
            # From the mixture it would take a fifth longer than from the uniform rankings.
            large = found.reason == "too_large"
            yield self.interior(None, None if large else LAST_RESORT)
            if large:
                yield self.rankings(found.mixture, None)

    def milder(self) -> Outcome:
        """The optimum for the square roots of the weights, with half as many powers of ten between them: a start from which
        the problem itself can be solved where rounding has stopped it from another."""
        roots = np.sqrt(self.problem.weights / self.problem.weights.max())
        floor = SOLVER_FLOOR * float(data_size(self.problem.target, roots))
        kernel = make_problem(self.problem._replace(weights=roots))
        return self._active_set(kernel, Goal(self.stop.tol, floor), None, None)

    def rankings(self, start: Mixture | None, limit: float | None) -> Solved:
        """The active set with its factor, until its work goes beyond `limit`."""
        outcome = self._active_set(self.kernel, self.goal, start, limit)
        mixture = outcome.paths, outcome.weights
        certificate = self.certify.mixture(mixture, self.data)
        return Solved(mixture, None, certificate, "rankings", outcome.rounds, outcome.reason)

    def _active_set(self, kernel: KernelProblem, goal: Goal, start: Mixture | None, limit: float | None) -> Outcome:
        workspace = self.workspace or Workspace(self.problem.n)
        return solve_rankings(kernel, workspace, goal, start=start, most_work=limit, resources=self.resources)

    def interior(self, start: Mixture | None, most_cg: int | None) -> Solved:
        """The interior point method, with so many conjugate gradient steps at most."""
        result = solve_ipm(
            self.problem,
            self.stop,
            most_cg=most_cg,
            start_flow=None if start is None else flow_from_paths(*start),
            resources=self.resources,
        )
        certificate = self.certify(result.flow, self.data)
        return Solved(None, result, certificate, "ipm", result.iterations, result.status, result.flow)
