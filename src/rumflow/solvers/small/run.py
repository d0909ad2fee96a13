"""One problem of few items, solved in one kernel call: microseconds to milliseconds, without a look at the clock."""

from __future__ import annotations

from functools import lru_cache
from queue import Empty, SimpleQueue

import numpy as np

from rumflow.core.arrays import Mixture
from rumflow.core.problem import Problem
from rumflow.solvers.active_set.solve import Outcome, make_problem
from rumflow.solvers.small.solve import solve_from
from rumflow.solvers.small.workspace import MOST_ITEMS, Room, SmallProblem, make_room, make_small

_NOTHING = tuple((np.empty((0, n), np.int32), np.empty(0)) for n in range(MOST_ITEMS + 1))
_rooms: tuple[SimpleQueue[Room], ...] = tuple(SimpleQueue() for _ in range(MOST_ITEMS + 1))


@lru_cache(maxsize=2 * MOST_ITEMS)
def _unweighted(n: int, cone: bool) -> SmallProblem:
    return make_small(make_problem(Problem(np.empty((n, 1 << (n - 1))), cone=cone)))


def solve_few_items(problem: Problem, *, tol: float, floor: float, start: Mixture | None = None) -> Outcome:
    """Solve until the gap is within max(tol * objective, floor); `is_small` must hold."""
    n = problem.n
    small = make_small(make_problem(problem)) if len(problem.weights) else _unweighted(n, problem.cone)
    paths, lam = _NOTHING[n] if start is None else start
    try:
        room = _rooms[n].get_nowait()
    except Empty:
        room = make_room(n)
    flow = np.empty_like(problem.target)
    complete = problem.complete and not problem.cone
    rounds, stalled, k = solve_from(small, room, problem.target, complete, paths, lam, tol, floor, flow)
    found = room.columns[:k, :n].astype(np.int32), room.weights[:k].copy()
    _rooms[n].put(room)
    return Outcome(*found, flow, "stalled" if stalled else "done", rounds)
