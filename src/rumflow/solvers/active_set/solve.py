"""The exact solver: rounds of pricing and active set, up to the certificate; one loop for the lattice and for graphs.

`solve_rankings` owns what the kernels do not: memory that grows, threads for the passes, time limits, interruption and progress.
"""

from __future__ import annotations

import time
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Mixture, Paths
from rumflow.core.compile import clock
from rumflow.core.graph import Graph
from rumflow.core.patience import check_interrupt
from rumflow.core.problem import RELATIVE_RUM_TOLERANCE, SOLVER_FLOOR
from rumflow.core.threads import thread_count
from rumflow.solvers.active_set import kernels
from rumflow.solvers.active_set.on_graph import GraphPrices, make_graph_problem
from rumflow.solvers.active_set.on_lattice import LatticePrices, make_problem
from rumflow.solvers.active_set.state import Active, KernelProblem, Pool, make_pool
from rumflow.solvers.resources import ONE_THREAD, Progress, Resources

__all__ = ["Goal", "Outcome", "Workspace", "make_graph_problem", "make_problem", "solve_rankings"]

_STEP_WORK = 2e9  # multiplications between two checks of the clock

# No distance is negative: an objective of this share of the floor for gaps says that the data are RUM, however much the gap,
# a sum over all cells, is off by rounding.
_ZERO = RELATIVE_RUM_TOLERANCE / SOLVER_FLOOR

# Rounds for coming down to that from an objective that is rounding already; weights far apart may take thousands.
_TO_ZERO = 16

# Rounds on a part of a graph go on until their gap is this share of the one that was known before.
_AGAIN = 0.05

# When to give up for the work that lies ahead (`rumflow.solvers.dispatch.most_work`): not before this share of what may be done.
# What is done by then is lost, so the later it is, the more has to lie ahead: by so many times the work done.
_EARLIEST = 0.125
_LOST = 2.0


class Goal(NamedTuple):
    """When a solve is done: the gap is within max(tol * objective, floor), or it is known whether the threshold is passed."""

    tol: float
    floor: float
    enough: float = 0.0  # an objective of at most this is rounding, so that the gap does not matter any more
    threshold: float = np.nan  # it is enough to know whether the optimum is above this


class Outcome(NamedTuple):
    """Where a solver stopped: a mixture of types, and why."""

    paths: NDArray[np.int32]
    weights: Array
    reason: str  # "done", "stalled", "max_seconds", "interrupted", "too_large"
    rounds: int


class Prices(Protocol):
    """Prices of types on the lattice or on a graph: all that the loop of the solver needs to know of either."""

    cost: Array  # (positions, columns)
    pool_size: int
    pool_share: float  # the pool is dry when no type is violated by this share of the worst at first
    keeps_gram: bool  # the pool is priced by Gram products, not from the cost table
    threaded: bool  # a pass is worth several threads
    most_mass: int  # the probabilities of a type add up to at most this

    @property
    def narrowed(self) -> bool: ...  # a sweep need not be over everything

    def evaluate(self, problem: KernelProblem, types: Paths, weights: Array, count: int, threads: int) -> float: ...
    def cheapest(self, threads: int) -> Paths: ...
    def sweep(self, threads: int, whole: bool) -> float: ...
    def fill_pool(self, pool: Pool, nu: float) -> int: ...


class Workspace:
    """The arrays of one solve. They grow, and can be used again for the next problem of the same size."""

    def __init__(self, where: int | Graph | Prices, capacity: int = 0) -> None:
        self.prices: Prices = (
            GraphPrices(where)
            if isinstance(where, Graph)
            else LatticePrices(where)
            if isinstance(where, int | np.integer)
            else where
        )
        self.active: Active
        self.pool: Pool
        self._allocate(max(capacity, 2 * self.prices.pool_size, 16))

    @property
    def cost(self) -> Array:
        """The cost table; between two solves it may be used as scratch of its shape."""
        return self.prices.cost

    @property
    def below(self) -> Array:
        """Likewise, with one number per menu of the lattice."""
        below: Array = getattr(self.prices, "below")  # noqa: B009
        return below

    def _allocate(self, capacity: int) -> None:
        n = len(self.prices.cost)
        self.active = Active(
            count=np.zeros(1, np.int64),
            paths=np.empty((capacity, n), np.int32),
            weights=np.empty(capacity),
            carried=np.empty((2, capacity)),
            factor=np.empty(capacity * (capacity + 1) // 2),
            start=np.empty(capacity, np.int64),
            moved=np.empty(capacity),
            slot=np.empty(capacity, np.int64),
            free=np.arange(capacity),
            scratch=np.empty((4, capacity)),
            fresh=np.zeros(1, np.int64),
        )
        self.pool = make_pool(self.prices.pool_size, n, capacity if self.prices.keeps_gram else 0)

    def grow(self) -> None:
        """Twice the capacity; the active set stays."""
        old = self.active
        k = int(old.count[0])
        self._allocate(2 * len(old.weights))
        new = self.active
        new.count[0], new.fresh[0] = k, old.fresh[0]
        for name in ("paths", "weights", "slot", "start"):
            getattr(new, name)[:k] = getattr(old, name)[:k]
        new.carried[:, :k] = old.carried[:, :k]
        new.factor[: k * (k + 1) // 2] = old.factor[: k * (k + 1) // 2]
        new.free[: len(old.free)] = old.free

    def reserve(self, count: int) -> None:
        """Make sure that a start from `count` rankings fits."""
        if count + kernels.ENTERING > len(self.active.weights):
            self._allocate(2 * count + kernels.ENTERING)

    def mixture(self) -> tuple[NDArray[np.int32], Array]:
        """The active rankings and their weights, copied."""
        k = int(self.active.count[0])
        return self.active.paths[:k].copy(), self.active.weights[:k].copy()

    def factor(self) -> Array:
        """The rows of the factor one after another, copied."""
        k = int(self.active.count[0])
        return self.active.factor[: k * (k + 1) // 2].copy()

    def holds(self, mixture: Mixture) -> bool:
        """Are these the active rankings, with these weights?"""
        k = int(self.active.count[0])
        return (
            k == len(mixture[1])
            and np.array_equal(self.active.weights[:k], mixture[1])
            and np.array_equal(self.active.paths[:k], mixture[0])
        )


def _ahead(trail: list[tuple[int, float]], objective: float) -> float:
    """How many times the work done so far is still to come, judged from the second half of the rounds so far.

    The active set grows with the logarithm of the gap until the gap is a small part of the objective. So the more it has grown
    for each order of magnitude of the gap, and the larger the gap still is, the more is to come. The powers were fitted to what
    was still to come in 140 problems of 9 to 12 items, where the formula is right to a factor of 1.8 for two of three.
    """
    (before, first), (now, last) = trail[(len(trail) - 1) // 2], trail[-1]
    orders = max(np.log10(first / last), 0.05) if first > last > 0.0 else 0.05
    relative = min(last / max(objective, 1e-300), 10.0)
    return float(0.56 * (now / max(before, 1)) ** 3 / orders**2.75 * max(relative, 0.0) ** 0.23)


def solve_rankings(
    problem: KernelProblem,
    workspace: Workspace,
    wanted: Goal,
    *,
    start: Mixture | None = None,
    most_work: float | None = None,
    resources: Resources = ONE_THREAD,
) -> Outcome:
    """Solve until the goal is reached, or say why not.

    Without `start` it begins from the ranking that agrees best with the data, the cheapest at the gradient of the empty mixture.
    `most_work` is the number of multiplications that may lie ahead (`rumflow.solvers.dispatch.most_work`).
    """
    prices, (tol, floor, enough, threshold) = workspace.prices, wanted
    begin = time.perf_counter()
    until = resources.until
    count = thread_count(resources.threads) if prices.threaded else 1
    rounds = stalled = small = 0
    best, work, size = np.inf, 0.0, prices.pool_size
    known = np.inf  # the gap by the last sweep over everything
    trail: list[tuple[int, float]] = []
    scale = float(problem.weights.sum()) if len(problem.weights) else float(problem.target.size)
    reason = "done"
    bold = True  # until the objective fails to fall
    workspace.active.count[0] = 0
    try:
        if start is None or len(start[1]) == 0:
            nothing = workspace.active
            prices.evaluate(problem, nothing.paths, nothing.weights, 0, count)
            start = prices.cheapest(count)[None], np.ones(1)
        workspace.reserve(len(start[1]))
        kernels.start_from(problem, workspace.active, *start)
        while True:
            check_interrupt()
            k = int(workspace.active.count[0])
            if k + size + kernels.ENTERING > len(workspace.active.weights):
                workspace.grow()
            active, pool = workspace.active, workspace.pool
            objective = prices.evaluate(problem, active.paths, active.weights, k, count)
            if objective <= threshold:
                break
            goal = max(tol * min(objective, scale), floor)
            # Over a part first, where there is one; where that gains little, over everything, which alone may end the solve.
            for whole in (False, True) if rounds > 0 and prices.narrowed else (True,):
                least = goal if whole else max(goal, _AGAIN * known)
                cheapest = prices.sweep(count, whole)
                gap, nu = kernels.measure(problem, active, prices.cost, cheapest, prices.most_mass, least)
                if gap > least:
                    break
            if whole:
                known = gap
            steps = 0
            small += objective <= enough
            above = whole and objective - gap > threshold
            if not (gap <= goal or above or objective <= _ZERO * floor or small > _TO_ZERO):
                most = max(32, int(_STEP_WORK / max(k * k, 1)))
                filled = prices.fill_pool(pool, nu)
                steps = kernels.improve(
                    problem, active, pool, filled, prices.cost, nu, 0.1 * goal, prices.pool_share, most, bold
                )
            rounds += 1
            if resources.report is not None:
                resources.report(Progress(rounds, objective, known, k, time.perf_counter() - begin))
            if steps == 0:
                break
            stalled = 0 if objective < (1 - 1e-13) * best else stalled + 1
            bold = bold and stalled == 0
            best = min(best, objective)
            if stalled > kernels.STALL_ROUNDS:
                reason = "stalled"
                break
            if clock() > until:
                reason = "max_seconds"
                break
            work += steps * k * (k + size)
            trail.append((k, gap))
            if (
                most_work is not None
                and work > _EARLIEST * most_work
                and work * (_ahead(trail, objective) - _LOST) > most_work
            ):
                reason = "too_large"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
        if workspace.active.count[0] == 0:
            raise
    return Outcome(*workspace.mixture(), reason, rounds)
