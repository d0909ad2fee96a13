"""Which solver runs, and what it falls back to: the only place that chooses.

    few items    the active set in one kernel, with the inverse of its matrix (`rumflow.solvers.small`)
    rankings     the active set with a Cholesky factor: more stable, and for any number of items (`rumflow.solvers.active_set`)
    ipm          the interior point method (`rumflow.solvers.interior`)

The active set is exact, and fast while the optimal face is small; its cost grows with the cube of the active rankings. The
interior point method does not mind large faces; its cost grows with the lattice. `auto` starts with the first and hands over
where the work that the active set has still ahead, as far as can be seen, is more than the second would cost.

Each attempt ends with a certificate that no solver has a hand in. An attempt that is not certified is followed by the next,
which goes on from there; what comes back is the first certified one, or the one with the smallest gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Mixture
from rumflow.core.certificate import Certificate, Certifier
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.core.membership import rum_membership
from rumflow.core.memory import fits, interior_bytes, projection_bytes, require_memory
from rumflow.core.paths import flow_from_paths
from rumflow.core.problem import SOLVER_FLOOR, Problem, Stop, data_size, least_weight, rounding_floor
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.models.open_menus import DEFAULT_LIMIT
from rumflow.solvers.active_set.on_lattice import pool_size
from rumflow.solvers.active_set.solve import Outcome, Progress, Workspace, make_problem, solve_rankings
from rumflow.solvers.bounded.projector import BoundedProjector
from rumflow.solvers.graphs import ModelProjector
from rumflow.solvers.interior.ipm import IpmRecord, IpmResult, solve_ipm
from rumflow.solvers.small.run import solve_few_items
from rumflow.solvers.small.workspace import MOST_ITEMS, is_small

METHODS = ("auto", "rankings", "ipm")
ROUTES = ("lattice", "graph", "bounded")

#: Up to so many items the lattice answers before a graph is built.
FEW_ITEMS = MOST_ITEMS

#: The lattice of more items does not fit in the memory of usual machines.
LATTICE_ITEMS = 24

# Weights so many times apart are not for the interior point method: it took 10 to 30 times as long as the active set.
_WIDE = 1e4

# What setting it up costs, in cells.
_SET_UP = 1200

# Conjugate gradient steps after which the interior point method does not save what rounding has stopped elsewhere.
_LAST_RESORT = 20_000

#: How a solve can end early.
ENDED = ("max_seconds", "interrupted")


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


def solve(
    problem: Problem,
    stop: Stop,
    *,
    method: str = "auto",
    start: Mixture | None = None,
    certifier: Certifier | None = None,
    workspace: Workspace | None = None,
    deadline: float | None = None,
    report: Callable[[Progress], None] | None = None,
    threads: int | None = None,
) -> Solved:
    """Run a method of `METHODS` until the certificate is within `stop`, or there is nothing left to try.

    start     a mixture to begin from.
    deadline  on the clock of `rumflow.core.compile.clock`.
    """
    certify = certifier or Certifier(problem.n, problem.weights, problem.cone, threads)
    target = problem.target
    if not problem.cone:
        target, flow = rum_membership(problem, threads)
        if flow is not None:
            return Solved(None, None, certify(flow, problem.target), "moebius", 0, "done", flow, target)
    inner = Problem(target, problem.weights, problem.cone)
    size = data_size(target, problem.weights)
    floor = SOLVER_FLOOR * size if stop.floor is None else stop.floor
    # Half of what the certificate takes for rounding, which it computes for itself.
    enough = 0.5 * rounding_floor(size, least_weight(problem.weights)) if stop.floor is None else 0.0
    run = _Run(inner, problem.target, stop, floor, enough, certify, workspace, deadline, report, threads)
    best: Solved | None = None
    for found in run.attempts(method, start):
        if best is None or not best.certificate.gap <= found.certificate.gap:  # a gap that is not a number is the worst
            best = found
        if found.reason in ENDED or found.certificate.is_optimal(stop):
            break
    assert best is not None
    return best


@dataclass
class _Run:
    """The solvers, on one problem."""

    problem: Problem  # menus add up to 1
    data: Array  # as they were given: what the certificate is about
    stop: Stop
    floor: float  # the gap at which solvers stop, however small the objective
    enough: float  # the objective at which the gap does not matter
    certify: Certifier
    workspace: Workspace | None
    deadline: float | None
    report: Callable[[Progress], None] | None
    threads: int | None

    def attempts(self, method: str, start: Mixture | None) -> Iterator[Solved]:
        """One solver after the other, each going on from what the one before has found."""
        needed = interior_bytes(self.problem.n, len(self.problem.weights) > 0)
        if method == "ipm":
            require_memory(
                needed, f"method='ipm' for n = {self.problem.n} items", "method='rankings' takes a tenth of it"
            )
            yield self.interior(start, None)
            return
        if is_small(self.problem.n, self.problem.weights):
            found = self.few_items(start)
            yield found
            if found.mixture is not None and len(found.mixture[1]) and np.isfinite(found.mixture[1]).all():
                # The inverse lost accuracy: continue with the Cholesky factor, which is more stable.
                start = found.mixture
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
            yield self.interior(None, None if large else _LAST_RESORT)
            if large:
                yield self.rankings(found.mixture, None)

    def few_items(self, start: Mixture | None) -> Solved:
        """The active set in one kernel."""
        problem = self.problem
        outcome = solve_few_items(problem, tol=self.stop.tol, floor=self.floor, start=start)
        assert outcome.flow is not None
        certificate = self.certify(outcome.flow, self.data)
        mixture = outcome.paths, outcome.weights
        return Solved(mixture, None, certificate, "rankings", outcome.rounds, outcome.reason, outcome.flow)

    def milder(self) -> Outcome:
        """The optimum for the square roots of the weights, with half as many powers of ten between them: a start from which
        the problem itself can be solved where rounding has stopped it from another."""
        roots = np.sqrt(self.problem.weights / self.problem.weights.max())
        floor = SOLVER_FLOOR * float(data_size(self.problem.target, roots))
        return self._active_set(self.problem._replace(weights=roots), floor, None, None)

    def rankings(self, start: Mixture | None, limit: float | None) -> Solved:
        """The active set with its factor, until its work goes beyond `limit`."""
        outcome = self._active_set(self.problem, self.floor, start, limit, self.enough)
        mixture = outcome.paths, outcome.weights
        certificate = self.certify.mixture(mixture, self.data)
        return Solved(mixture, None, certificate, "rankings", outcome.rounds, outcome.reason)

    def _active_set(
        self, problem: Problem, floor: float, start: Mixture | None, limit: float | None, enough: float = 0.0
    ) -> Outcome:
        return solve_rankings(
            make_problem(problem),
            self.workspace or Workspace(problem.n),
            tol=self.stop.tol,
            floor=floor,
            enough=enough,
            start=start,
            deadline=self.deadline,
            most_work=limit,
            report=self.report,
            threads=self.threads,
        )

    def interior(self, start: Mixture | None, most_cg: int | None) -> Solved:
        """The interior point method, with so many conjugate gradient steps at most."""

        def callback(now: IpmRecord) -> None:
            if self.report is not None:
                self.report(Progress(now.iteration, now.objective, now.gap, 0, now.seconds))

        result = solve_ipm(
            self.problem,
            self.stop,
            most_cg=most_cg,
            deadline=self.deadline,
            start_flow=None if start is None else flow_from_paths(*start),
            threads=self.threads,
            callback=callback,
        )
        certificate = self.certify(result.flow, self.data)
        return Solved(None, result, certificate, "ipm", result.iterations, result.status, result.flow)


class Cost(NamedTuple):
    """What a projection will cost."""

    route: str  # "lattice", "graph" or "bounded"
    nodes: int  # 0 where there are bounds in place of a graph
    arcs: int
    bytes: int
    seconds: float  # of one thread


def require_lattice(n: int) -> None:
    """Raise where the lattice has too many items."""
    if n > LATTICE_ITEMS:
        raise InputError(f"route='lattice': at most {LATTICE_ITEMS} items are possible, not {n}; leave route out")


def find_route(
    cells: Cells, model: Model, route: str | None, cone: bool = False, exact: bool = False, remainders: bool = False
) -> tuple[Cost, ModelProjector | None]:
    """Lattice, graph or bounds for these cells, by cost: whichever has fewer arcs; graph and bounds come with their projector.

    An arc of the graph takes less time than an edge of the lattice, on which incomplete data need weights; and the graph is built
    only as far as it is worth it. The lattice ends at 24 items. Where it is impossible and the graph is too large, there are
    bounds for random utility, unless the answer must be `exact`: then that is an error. `remainders`: what was not recorded of
    a menu counts as a cell, which the lattice does not have.
    """
    if route == "bounded":
        if exact:
            raise InputError("route='bounded': there are only bounds on the distance there; leave route out")
        return _bounded(cells, model, cone)
    n = cells.n_items
    edges = n << (n - 1)
    possible = model.all_rankings and not remainders and n <= LATTICE_ITEMS
    whole = bool((cells.recorded == cells.membership).all()) and len(cells.membership) == 2**n - 1 - n
    lattice = None
    if possible:
        menus = len(cells.membership)
        lattice = Cost(
            "lattice", 1 << n, edges, projection_bytes(n, not whole, pool_size(n)), _lattice_seconds(n, menus)
        )
        # With so many menus the graph would have nearly all edges of the lattice, one by one.
        dense = whole or 16 * menus > 1 << n
        if route == "lattice" or (route is None and (dense or n <= FEW_ITEMS)):
            return lattice, None
    elif route == "lattice":
        require_lattice(n)
    limit = DEFAULT_LIMIT
    if lattice is not None and route is None:
        limit = limit._replace(nodes=min(1 << (n - 1), limit.nodes))  # a node has up to n arcs
    try:
        projector = ModelProjector(model, cells, cone=cone, limit=limit)
    except GraphTooLargeError:
        if lattice is not None and route is None:
            return lattice, None
        if exact or route == "graph" or not model.is_random_utility:
            raise
        return _bounded(cells, model, cone)
    cost = Cost("graph", projector.n_nodes, projector.n_arcs, projector.n_bytes, _graph_seconds(projector.n_arcs))
    return cost, projector


# Seconds of one thread for samples of 100 choices a menu, to the default tolerance, as measured by `benchmarks/scaling.py`.


def _lattice_seconds(n: int, menus: int) -> float:
    """Sweeps over the edges, fewer of them where menus are missing; for few items the work of the active set."""
    edges = n << (n - 1)
    if n <= FEW_ITEMS:
        return float(3.2e-5 + 2e-8 * edges**1.6)
    return 4e-5 + (1.75e-6 if 2 * menus > 1 << n else 1.1e-6) * edges


def _graph_seconds(arcs: int) -> float:
    """Sweeps over the arcs, and the active set, which ends with some 10 arcs^0.28 types."""
    return float(8e-4 + 2.1e-7 * arcs + 3.2e-5 * arcs**0.56)


def _bounded(cells: Cells, model: Model, cone: bool) -> tuple[Cost, ModelProjector]:
    projector = BoundedProjector(model, cells, cone=cone)
    # Rounds of search and steps of the active set, which has up to as many types as there are free cells; where the first
    # bounds leave a gap the others come on top.
    free = int((cells.count - 1).sum())
    seconds = 0.2 + 2.4e-5 * free**2
    return Cost("bounded", 0, 0, projector.n_bytes, seconds), projector
