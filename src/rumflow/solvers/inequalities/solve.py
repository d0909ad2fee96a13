"""The nearest shares that obey all path inequalities, by cuts.

    minimise  1/2 sum over pairs of  h (x - p)^2     where no directed cycle is shorter than 1 and 0 <= x <= 1

Solve for the cycles known so far (`kernels`), look for cycles that are too short at that point, add them, and go on until there
is none. Each solve begins from the multipliers of the one before. Cycles without a multiplier that have become longer than they
must be are dropped: the optimum over the cycles that are known grows from round to round, so that none comes back for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.core.compile import clock
from rumflow.core.pairs import Cycles, Pairs, arc_lengths, find_short_cycles
from rumflow.core.patience import check_interrupt
from rumflow.core.threads import thread_count
from rumflow.solvers.inequalities.kernels import improve
from rumflow.solvers.resources import ONE_THREAD, Progress, Resources

_LOOSE = 1e-3  # accuracy of a round, as a share of what the last cycles were too short by
_EXACT = 1e-13  # accuracy of the last round
_SHORT = 1e-12  # a cycle that lacks no more than this is long enough
_SLACK = 1e-2  # a cycle without a multiplier that is longer than 1 by more than this is dropped
_ROUNDS_A_CALL, _MOST_CALLS = 10, 30


class Solved(NamedTuple):
    """Where a solve ended."""

    x: Array  # (m,): may miss the inequalities by a little
    cycles: Cycles
    multipliers: Array
    short: float  # what the shortest cycle lacks, or the worst bound; infinite where it was not measured
    reason: str
    rounds: int


class _TimeUpError(Exception):
    """In the middle of a search for cycles."""


def solve_cuts(
    pairs: Pairs, p: Array, h: Array, start: tuple[Cycles, Array] | None = None, resources: Resources = ONE_THREAD
) -> Solved:
    """Project; every weight h is positive. `start`: cycles and multipliers to begin from."""
    cycles, lam = (Cycles.none(), np.empty(0)) if start is None else start
    threads, until, begin = thread_count(resources.threads), resources.until, clock()
    unit = float(h.max())  # multipliers are in units of it
    own, lam, x, keys = h / unit, lam / unit, p.copy(), np.sort(cycles.keys())
    worst, short, reason, rounds = 1.0, np.inf, "done", 0

    def look() -> None:
        check_interrupt()
        if clock() > until:
            raise _TimeUpError

    try:
        allowed = _EXACT
        while True:
            if len(lam):
                lam, x = _solve(cycles, own, p, lam, allowed, look)
                cycles, lam = _drop_slack(cycles, lam, x)
                keys = np.sort(cycles.keys())
            short = np.inf
            found, short = _find(pairs, x, threads, look)
            rounds += 1
            new = _new_rows(found, keys)
            if resources.report is not None:
                value = 0.5 * float((h * (x - p) ** 2).sum())
                resources.report(Progress(rounds, value, value * min(short, 1.0), len(lam), clock() - begin))
            if len(new) == 0 and allowed <= _EXACT:
                break
            worst = min(worst, short)
            allowed = max(_EXACT, _LOOSE * worst) if len(new) else _EXACT
            cycles, lam = cycles.join(found.take(new)), np.concatenate([lam, np.zeros(len(new))])
            keys = np.sort(cycles.keys())
    except _TimeUpError:
        reason = "max_seconds"
    except KeyboardInterrupt:
        reason = "interrupted"
    return Solved(x, cycles, lam * unit, short, reason, rounds)


def _solve(
    cycles: Cycles, h: Array, p: Array, lam: Array, allowed: float, look: Callable[[], None]
) -> tuple[Array, Array]:
    """Multipliers and point for the cycles known."""
    lam, x = lam.copy(), np.empty(len(p))
    for _ in range(_MOST_CALLS):
        moved = improve(cycles.start, cycles.arc, h, p, lam, x, allowed, _ROUNDS_A_CALL)
        if moved <= allowed:
            break
        look()
    return lam, x


def _find(pairs: Pairs, x: Array, threads: int, look: Callable[[], None]) -> tuple[Cycles, float]:
    """Cycles that are too short at x, bounds that it violates, and by how much the worst of them is."""
    inside = np.clip(x, 0.0, 1.0)
    found, worst = find_short_cycles(pairs, arc_lengths(inside), _SHORT, threads, look=look)
    low, high = np.flatnonzero(x < -_SHORT), np.flatnonzero(x > 1.0 + _SHORT)
    arcs = np.concatenate([2 * low, 2 * high + 1])
    if len(arcs):
        found = found.join(Cycles(np.arange(len(arcs) + 1), arcs.astype(np.int32)))
        worst = max(worst, float(np.abs(x - inside).max()))
    return found, worst


def _drop_slack(cycles: Cycles, lam: Array, x: Array) -> tuple[Cycles, Array]:
    sizes = cycles.sizes
    length = np.add.reduceat(arc_lengths(x)[cycles.arc], cycles.start[:-1])
    keep = (lam > 0) | (length - (sizes > 1) <= _SLACK)
    if keep.all():
        return cycles, lam
    rows = np.flatnonzero(keep)
    return cycles.take(rows), lam[rows]


def _new_rows(found: Cycles, keys: object) -> Ints:
    """Those that are not known, each once, in the order in which they were found."""
    own = found.keys()
    first = np.sort(np.unique(own, return_index=True)[1])
    return np.asarray(first[~np.isin(own[first], keys)], np.int64)  # type: ignore[arg-type]
