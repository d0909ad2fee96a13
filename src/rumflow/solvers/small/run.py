"""One problem of few items, solved in one kernel call. It takes microseconds to milliseconds, so time limits are not checked."""

from __future__ import annotations

from functools import lru_cache
from queue import Empty, SimpleQueue

import numpy as np

from rumflow.core.arrays import Mixture
from rumflow.core.problem import Problem
from rumflow.solvers.active_set.solve import Outcome, make_problem
from rumflow.solvers.small.solve import solve_from
from rumflow.solvers.small.workspace import MOST_ITEMS, SmallProblem, SmallWorkspace, make_small, make_workspace

_NOTHING = tuple((np.empty((0, n), np.int32), np.empty(0)) for n in range(MOST_ITEMS + 1))
_workspaces: tuple[SimpleQueue[SmallWorkspace], ...] = tuple(SimpleQueue() for _ in range(MOST_ITEMS + 1))


@lru_cache(maxsize=2 * MOST_ITEMS)
def _unweighted(n: int, cone: bool) -> SmallProblem:
    return make_small(make_problem(Problem(np.empty((n, 1 << (n - 1))), cone=cone)))


def solve_few_items(problem: Problem, *, tol: float, floor: float, start: Mixture | None = None) -> Outcome:
    """Solve until the gap is within max(tol * objective, floor); `is_small` must hold."""
    n = problem.n
    small = make_small(make_problem(problem)) if len(problem.weights) else _unweighted(n, problem.cone)
    paths, lam = _NOTHING[n] if start is None else start
    try:
        workspace = _workspaces[n].get_nowait()
    except Empty:
        workspace = make_workspace(n)
    flow = np.empty_like(problem.target)
    complete = problem.complete and not problem.cone
    rounds, stalled, k = solve_from(small, workspace, problem.target, complete, paths, lam, tol, floor, flow)
    found = workspace.columns[:k, :n].astype(np.int32), workspace.weights[:k].copy()
    _workspaces[n].put(workspace)
    return Outcome(*found, "stalled" if stalled else "done", rounds, flow)
