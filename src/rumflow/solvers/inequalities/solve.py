"""The nearest shares that obey all path inequalities, by cuts.

    minimise  1/2 (x - p)' H (x - p)     where no directed cycle is shorter than 1, and within the bounds of shares

Solve for the cycles known so far (`kernels`), look for cycles that are too short at that point, add them, and go on until there
is none. Each solve begins from the multipliers of the one before. Cycles without a multiplier that have become longer than they
must be are dropped: the optimum over the cycles that are known grows from round to round, so that none comes back for ever.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.compile import clock
from rumflow.core.pair_certificate import NO_CROSS, half_square
from rumflow.core.pairs import Cycles, Pairs, arc_lengths, find_short_cycles
from rumflow.core.patience import OutOfTimeError, watch
from rumflow.core.threads import thread_count
from rumflow.solvers.inequalities.kernels import improve, join_rows
from rumflow.solvers.resources import ONE_THREAD, Progress, Resources

_LOOSE = 1e-3  # accuracy of a round, as a share of what the last cycles were too short by
_EXACT = 1e-13  # accuracy of the last round
_NEARLY, _HALTED = 1e-10, 0.5  # so accurate, and not twice as accurate as before: the rest is rounding
_SHORT = 1e-12  # a cycle that lacks no more than this is long enough
_SLACK = 1e-2  # a cycle without a multiplier that is longer than 1 by more than this is dropped
_ROUNDS_A_CALL, _MOST_CALLS = 4, 75


class Solved(NamedTuple):
    """Where a solve ended."""

    x: Array  # the unknowns: may miss the inequalities by a little
    cycles: Cycles
    multipliers: Array
    short: float  # what the shortest cycle lacks, or the worst bound; infinite where it was not measured
    reason: str
    rounds: int


def solve_cuts(
    pairs: Pairs,
    p: Array,
    h: Array,
    start: tuple[Cycles, Array] | None = None,
    resources: Resources = ONE_THREAD,
    cross: Array = NO_CROSS,
) -> Solved:
    """Project; every weight h is positive. `start`: cycles and multipliers to begin from. `cross`: with ties, see `kernels`."""
    cycles, lam = (Cycles.none(), np.empty(0)) if start is None else start
    threads, begin = thread_count(resources.threads), clock()
    unit = float(h.max()) if len(h) else 1.0  # multipliers are in units of it
    own, across, lam, x = h / unit, cross / unit, lam / unit, p.copy()
    worst, short, reason, rounds, allowed = 1.0, np.inf, "done", 0, _EXACT
    look = watch(resources.until)

    try:
        while True:
            look()
            if len(lam):
                x, short, before = p.copy(), np.inf, np.inf
                for _ in range(_MOST_CALLS):
                    moved = improve(cycles, (own, across), p, lam, x, allowed, _ROUNDS_A_CALL, look)
                    if moved <= allowed or _HALTED * before < moved < _NEARLY:
                        break
                    before = moved
                    look()
            found = find_short_cycles(pairs, arc_lengths(x, pairs.tied), _SHORT, threads, look=look)
            *rows, more, new, outside = join_rows(*cycles, lam, x, pairs.tied, *found.cycles, _SLACK, _SHORT)
            short = max(found.worst, outside)
            rounds += 1
            if resources.report is not None:
                value = half_square(h, cross, x - p)
                resources.report(Progress(rounds, value, value * min(short, 1.0), len(lam), clock() - begin))
            if new == 0 and allowed <= _EXACT:
                break
            cycles, lam = Cycles(*rows), more
            worst = min(worst, short)
            allowed = max(_EXACT, _LOOSE * worst) if new else _EXACT
    except OutOfTimeError:
        reason = "max_seconds"
    except KeyboardInterrupt:
        reason = "interrupted"
    return Solved(x, cycles, lam * unit, short, reason, rounds)
