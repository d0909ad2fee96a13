"""The exact solver: rounds of lattice pass and active set, up to the certificate.

`solve_rankings` owns what the kernels do not: memory that grows, threads for the lattice passes, time limits, interruption and
progress.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Mixture
from rumflow.core.compile import clock
from rumflow.core.paths import cheapest_above, cheapest_below, extract_path, flow_from_paths, middle_menus
from rumflow.core.problem import NO_WEIGHTS
from rumflow.core.problem import Problem as Projection
from rumflow.core.threads import run_threads, thread_count
from rumflow.core.transforms import zeta_adjoint
from rumflow.solvers.active_set import kernels
from rumflow.solvers.active_set.kernels import Active, Pool, Problem

_THREADED = 13  # from this many items on a lattice pass is worth several threads
_STEP_WORK = 2e9  # multiplications between two looks at the clock


def pool_size(n: int) -> int:
    """Rankings priced without the lattice between two passes: the more, the dearer a pass."""
    return min(_middle_size(n), 256 if n < 18 else 1024)


class Progress(NamedTuple):
    """What a long solve reports after each round."""

    round: int
    objective: float
    gap: float
    rankings: int
    seconds: float


class Outcome(NamedTuple):
    """Where a solver stopped: a mixture of rankings and its flow, and why."""

    paths: NDArray[np.int32]
    weights: Array
    flow: Array
    reason: str  # "done", "stalled", "max_seconds", "interrupted", "too_large"
    rounds: int


def make_problem(problem: Projection) -> Problem:
    """The problem in the form of the kernels."""
    n, weights = problem.n, problem.weights
    table = zeta_adjoint(weights.copy()) if len(weights) else NO_WEIGHTS
    # c of the order of the Gram entries: a ranking's squared norm is the total weight of the cells it chooses.
    ridge = max(float(table[:, -1].mean()), 1e-300) if len(weights) else float(1 << (n - 1))
    return Problem(problem.target, weights, table, middle_menus(n), 0.0 if problem.cone else ridge)


class Workspace:
    """The arrays of one solve. They grow, and can be used again for the next problem of the same size."""

    def __init__(self, n: int, capacity: int = 0) -> None:
        self.n = n
        self.cost = np.empty((n, 1 << (n - 1)))
        self.above, self.below = np.empty(1 << n), np.empty(1 << n)
        self.active: Active
        self.pool: Pool
        self._allocate(max(capacity, 2 * pool_size(n), 16))

    def _allocate(self, capacity: int) -> None:
        n = self.n
        self.active = Active(
            count=np.zeros(1, np.int64),
            paths=np.empty((capacity, n), np.int32),
            weights=np.empty(capacity),
            carried=np.empty((2, capacity)),
            factor=np.empty(capacity * (capacity + 1) // 2),
            moved=np.empty(capacity),
            slot=np.empty(capacity, np.int64),
            free=np.arange(capacity),
            scratch=np.empty((3, capacity)),
            fresh=np.zeros(1, np.int64),
        )
        size = pool_size(n)
        self.pool = Pool(
            paths=np.empty((size, n), np.int32),
            columns=np.empty((n, size), np.int32),
            gradient=np.empty(size),
            open=np.empty(size, np.bool_),
            gram=np.empty((capacity, size)),
        )

    def grow(self) -> None:
        """Twice the capacity; the active set stays."""
        old = self.active
        k = int(old.count[0])
        self._allocate(2 * len(old.weights))
        new = self.active
        new.count[0] = k
        for name in ("paths", "weights", "slot"):
            getattr(new, name)[:k] = getattr(old, name)[:k]
        new.carried[:, :k] = old.carried[:, :k]
        new.factor[: k * (k + 1) // 2] = old.factor[: k * (k + 1) // 2]
        new.free[: len(old.free)] = old.free

    def reserve(self, count: int) -> None:
        """Room for a start from `count` rankings."""
        if count + 8 > len(self.active.weights):
            self._allocate(2 * count + 8)

    def mixture(self) -> tuple[NDArray[np.int32], Array]:
        """The active rankings and their weights, copied."""
        k = int(self.active.count[0])
        return self.active.paths[:k].copy(), self.active.weights[:k].copy()


def _middle_size(n: int) -> int:
    return comb(n, n // 2)


def memory_needed(n: int, weighted: bool) -> int:
    """Bytes a solve takes beside its input: lattice arrays, and a factor of the usual size for n items."""
    lattice = (3 if weighted else 2) * 8 * (n << (n - 1)) + 2 * 8 * (1 << n) + 24 * _middle_size(n)
    atoms = 2.0 ** (0.53 * n + 2.6)  # rankings at the optimum of data far from RUM; twice as many fit
    return int(lattice + 2 * 8 * atoms**2 + 2 * 8 * pool_size(n) * atoms)


def solve_rankings(
    problem: Problem,
    workspace: Workspace,
    *,
    tol: float,
    floor: float,
    start: Mixture | None = None,
    deadline: float | None = None,
    most_work: float | None = None,
    report: Callable[[Progress], None] | None = None,
    threads: int | None = 1,
) -> Outcome:
    """Solve until the gap is within max(tol * objective, floor), or say why not.

    Without `start` it begins from the ranking that agrees best with the data, the cheapest at the gradient of the empty mixture.
    """
    n = workspace.n
    begin = time.perf_counter()
    paths, weights = (np.empty((0, n), np.int32), np.empty(0)) if start is None else start
    workspace.reserve(len(weights))
    count = thread_count(threads) if n >= _THREADED else 1
    cost, above, below = workspace.cost, workspace.above, workspace.below
    parts = np.zeros(n)

    def lattice_pass(paths: NDArray[np.int32], weights: Array, k: int) -> float:
        def row(x: int) -> None:
            parts[x] = kernels.gradient_row(problem, paths, weights, k, cost, x)

        run_threads(row, range(n), count)
        cheapest_below(cost, count, below)
        cheapest_above(cost, count, above)
        return float(parts.sum())

    rounds = stalled = 0
    best, work, size = np.inf, 0.0, pool_size(n)
    scale = float(problem.weights.sum()) if len(problem.weights) else float(problem.target.size)
    reason = "done"
    try:
        if len(weights) == 0 and count > 1:
            lattice_pass(paths, weights, 0)
            paths, weights = np.empty((1, n), np.int32), np.ones(1)
            extract_path(cost, above, below, n, (1 << n) - 1, paths[0])
        kernels.begin(problem, workspace.active, cost, below, paths, weights)
        while True:
            k = int(workspace.active.count[0])
            if k + size > len(workspace.active.weights):
                workspace.grow()
            active = workspace.active
            objective = lattice_pass(active.paths, active.weights, k)
            most = max(32, int(_STEP_WORK / max(k * k, 1)))
            gap, steps = kernels.improve(
                problem, active, workspace.pool, cost, above, below, max(tol * min(objective, scale), floor), most
            )
            rounds += 1
            if report is not None:
                report(Progress(rounds, objective, gap, k, time.perf_counter() - begin))
            if steps == 0:
                break
            stalled = 0 if objective < (1 - 1e-13) * best else stalled + 1
            best = min(best, objective)
            if stalled > kernels.STALL_ROUNDS:
                reason = "stalled"
                break
            if deadline is not None and clock() > deadline:
                reason = "max_seconds"
                break
            work += steps * k * (k + size)
            # What is still to come: how many rankings there are in the end can be told from the gap that is left.
            ahead = (1.0 + 1.5 * np.sqrt(min(gap / max(objective, 1e-300), 16.0))) ** 3
            if most_work is not None and work > 0.12 * most_work and work * ahead > most_work:
                reason = "too_large"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
        if workspace.active.count[0] == 0:
            raise
    mixture = workspace.mixture()
    return Outcome(*mixture, flow_from_paths(*mixture), reason, rounds)
