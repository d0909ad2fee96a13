"""The dual of a projection onto given cycles, improved in rounds.

For a row r (`rumflow.core.pairs`) let short_r(x) be 1 less its entries at x (for a single one, which is a bound, 0 less it). With
multipliers lam >= 0, S the rows of signs (+1 for an unknown, -1 for what it lacks of 1) and H the weights,

    x = p + H^-1 S' lam,        maximise  lam' short(p) - 1/2 lam' S H^-1 S' lam   over  lam >= 0.

H is diagonal, diag(h); with ties the two unknowns of a pair have a cross term as well, and `cross` has those of H^-1 (it is empty
without ties).

A round is some passes of coordinate ascent (Hildreth 1957), which find out which multipliers are positive, and then a Newton
step for these by conjugate gradients, preconditioned with the diagonal of S H^-1 S', cut off at 0 and halved until it helps.
Rows may depend on each other: the systems are singular then, but consistent. Of hundreds of thousands of rows one system takes
seconds: rounds stop between two steps of it, or between rounds, and go on from there after a look at the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.core.compile import kernel, leaf
from rumflow.core.pairs import Cycles, first_of_each
from rumflow.core.patience import check_patience

_PASSES = 5  # of coordinate ascent in a round
_ROUGH, _EXACT = 1e-3, 1e-14  # relative accuracy of the first Newton steps, and of the others
_ROUGH_ROUNDS = 2
_ROUNDING = 4e-15  # of the length of a cycle
_MOST_STEPS = 2000  # of conjugate gradients
_MOST_HALVINGS = 20
_LOOKS_A_CALL = 1 << 25  # at entries and unknowns between two looks at the clock, some tenths of a second


@leaf
def shortfall(start, arc, x, r):
    """short_r(x)."""
    short = 1.0 if start[r + 1] - start[r] > 1 else 0.0
    for k in range(start[r], start[r + 1]):
        value = x[arc[k] >> 1]
        short -= 1.0 - value if arc[k] & 1 else value
    return short


@kernel
def invert(h, cross):
    """The diagonal of H^-1 and its cross terms, from those of H."""
    inverse, across = 1.0 / h, np.empty(cross.shape[0])
    for e in range(cross.shape[0]):
        determinant = h[2 * e] * h[2 * e + 1] - cross[e] * cross[e]
        inverse[2 * e], inverse[2 * e + 1] = h[2 * e + 1] / determinant, h[2 * e] / determinant
        across[e] = -cross[e] / determinant
    return inverse, across


@leaf
def _add(start, arc, inverse, cross, x, r, step):
    """x + step H^-1 S_r', in place."""
    for k in range(start[r], start[r + 1]):
        v = arc[k] >> 1
        x[v] += -step * inverse[v] if arc[k] & 1 else step * inverse[v]
        if cross.shape[0] > 0:
            x[v ^ 1] += -step * cross[v >> 1] if arc[k] & 1 else step * cross[v >> 1]


@leaf
def _times(start, arc, y, r):
    """S_r y."""
    total = 0.0
    for k in range(start[r], start[r + 1]):
        total += -y[arc[k] >> 1] if arc[k] & 1 else y[arc[k] >> 1]
    return total


@leaf
def _diagonal(start, arc, inverse, cross, r):
    """S_r H^-1 S_r'; two unknowns of one pair are in one row only where it is about them alone."""
    total = 0.0
    for k in range(start[r], start[r + 1]):
        total += inverse[arc[k] >> 1]
    if cross.shape[0] > 0 and start[r + 1] - start[r] == 2:
        total += 2.0 * cross[arc[start[r]] >> 2]
    return total


@leaf
def place(start, arc, p, inverse, cross, lam, x):
    """x = p + H^-1 S' lam."""
    for e in range(x.shape[0]):
        x[e] = p[e]
    for r in range(lam.shape[0]):
        if lam[r] != 0.0:
            _add(start, arc, inverse, cross, x, r, lam[r])


@leaf
def dual_value(h, cross, p, lam, short, x):
    """lam' short(p) - 1/2 (x - p)' H (x - p), where `short` is that of p, and `cross` has the cross terms of H itself."""
    value = 0.0
    for r in range(lam.shape[0]):
        value += lam[r] * short[r]
    for e in range(x.shape[0]):
        value -= 0.5 * h[e] * (x[e] - p[e]) * (x[e] - p[e])
    for e in range(cross.shape[0]):
        value -= cross[e] * (x[2 * e] - p[2 * e]) * (x[2 * e + 1] - p[2 * e + 1])
    return value


@leaf
def _pass(start, arc, inverse, cross, diagonal, lam, x):
    """One pass of coordinate ascent; the largest change of a cycle's length."""
    moved = 0.0
    for r in range(lam.shape[0]):
        step = max(shortfall(start, arc, x, r) / diagonal[r], -lam[r])
        if step != 0.0:
            lam[r] += step
            _add(start, arc, inverse, cross, x, r, step)
            moved = max(moved, abs(step) * diagonal[r])
    return moved


class Solve(NamedTuple):
    """A system that is being solved by conjugate gradients."""

    steps: Ints  # (1,): so many were taken
    d: Array  # (rows,): the solution so far
    left: Array  # (rows,): what is left of the right side
    way: Array  # (rows,): where the next step goes
    product: Array  # (rows,): scratch
    y: Array  # (m,): scratch
    at: Array  # (3,): the square of `left` as the preconditioner measures it, its largest entry, and how large that may be


@kernel
def make_solve(count, m):
    """Room for systems of so many rows and unknowns."""
    d, left, way, product = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    return Solve(np.zeros(1, np.int64), d, left, way, product, np.empty(m), np.empty(3))


@leaf
def begin_solve(diagonal, free, right, accuracy, solve):
    """Begin with the system of `solve_free`: no step is taken."""
    steps, d, left, way, _, _, at = solve
    steps[0] = 0
    at[0] = at[1] = 0.0
    for r in range(d.shape[0]):
        d[r] = 0.0
    for r in free:
        left[r] = right[r]
        way[r] = left[r] / diagonal[r]
        at[0] += left[r] * way[r]
        at[1] = max(at[1], abs(left[r]))
    at[2] = max(accuracy * at[1], _ROUNDING)


@leaf
def take_steps(start, arc, inverse, cross, diagonal, free, solve, most):
    """At most so many more steps of conjugate gradients; is that the end of it?"""
    steps, d, left, way, product, y, at = solve
    for _ in range(most):
        if steps[0] == _MOST_STEPS or at[1] <= at[2]:
            return True
        for v in range(y.shape[0]):
            y[v] = 0.0
        for r in free:
            _add(start, arc, inverse, cross, y, r, way[r])
        curved = 0.0
        for r in free:
            product[r] = _times(start, arc, y, r)
            curved += way[r] * product[r]
        if not curved > 0.0:
            return True
        old = at[0]
        step = old / curved
        new = worst = 0.0
        for r in free:
            d[r] += step * way[r]
            left[r] -= step * product[r]
            new += left[r] * left[r] / diagonal[r]
            worst = max(worst, abs(left[r]))
        for r in free:
            way[r] = left[r] / diagonal[r] + new / old * way[r]
        at[0], at[1] = new, worst
        steps[0] += 1
    return False


def solve_free(
    rows: Cycles,
    inverse: Array,
    cross: Array,
    diagonal: Array,
    free: Ints,
    right: Array,
    accuracy: float,
    look: Callable[[], None] = check_patience,
) -> Array:
    """d with (S H^-1 S')_FF d = right_F on the rows F, 0 on the others, by conjugate gradients.

    look   called a few times a second, to look at the clock; it may raise.
    """
    solve = make_solve(len(diagonal), len(inverse))
    begin_solve(diagonal, free, right, accuracy, solve)
    while not take_steps(*rows, inverse, cross, diagonal, free, solve, _steps_a_call(rows, inverse)):
        look()
    d: Array = solve.d
    return d


def _steps_a_call(rows: Cycles, x: Array) -> int:
    """Steps between two looks at the clock; one looks at every entry twice, and at every unknown."""
    return max(1, _LOOKS_A_CALL // (2 * len(rows.arc) + len(x) + 1))


class Work(NamedTuple):
    """Where `improve` is, and what it works with."""

    at: Ints  # (2,): the rounds that are done, and whether the next one has come to its Newton step
    moved: Array  # (1,): by how much the last pass moved a cycle's length
    inverse: Array  # as `invert` gives them
    across: Array
    diagonal: Array  # (rows,)
    short: Array  # (rows,): of p
    trial: Array  # (rows,): scratch
    there: Array  # (m,): scratch
    solve: Solve


@kernel
def begin_rounds(start, arc, h, cross, p, lam, x):
    """What `take_rounds` works with; x is put where lam has it."""
    count, m = lam.shape[0], p.shape[0]
    inverse, across = invert(h, cross)
    diagonal, short = np.empty(count), np.empty(count)
    for r in range(count):
        diagonal[r] = _diagonal(start, arc, inverse, across, r)
        short[r] = shortfall(start, arc, p, r)
    place(start, arc, p, inverse, across, lam, x)
    at, moved = np.zeros(2, np.int64), np.full(1, np.inf)
    return Work(at, moved, inverse, across, diagonal, short, np.empty(count), np.empty(m), make_solve(count, m))


@kernel
def take_rounds(start, arc, h, cross, p, lam, x, allowed, rounds, most, work):
    """Go on with `improve` for what about so many steps of conjugate gradients take; is that the end of it?"""
    at, moved, inverse, across, diagonal, short, trial, there, solve = work
    while at[0] < rounds and most > 0:
        if at[1] == 0:
            for _ in range(_PASSES):
                moved[0] = _pass(start, arc, inverse, across, diagonal, lam, x)
                if moved[0] <= allowed:
                    return True
            most -= _PASSES
        free = np.flatnonzero(lam > 0.0)
        if at[1] == 0:
            for row in free:
                trial[row] = shortfall(start, arc, x, row)
            begin_solve(diagonal, free, trial, _ROUGH if at[0] < _ROUGH_ROUNDS else _EXACT, solve)
            at[1] = 1
        done = solve.steps[0]
        if not take_steps(start, arc, inverse, across, diagonal, free, solve, max(most, 1)):
            return False
        most -= solve.steps[0] - done
        before, step = dual_value(h, cross, p, lam, short, x), 1.0
        for _ in range(_MOST_HALVINGS):
            most -= 1
            for r in range(lam.shape[0]):
                trial[r] = max(lam[r] + step * solve.d[r], 0.0)
            place(start, arc, p, inverse, across, trial, there)
            if dual_value(h, cross, p, trial, short, there) >= before:
                lam[:] = trial
                x[:] = there
                break
            step *= 0.5
        at[0] += 1
        at[1] = 0
    return at[0] == rounds


def improve(
    rows: Cycles,
    weights: tuple[Array, Array],
    p: Array,
    lam: Array,
    x: Array,
    allowed: float,
    rounds: int,
    look: Callable[[], None],
) -> float:
    """Rounds until a pass moves nothing by more than `allowed`; the last such move. lam and x change in place.

    weights   h and the cross terms.
    look      called a few times a second, to look at the clock; it may raise, and leaves an x that belongs to lam.
    """
    work = begin_rounds(*rows, *weights, p, lam, x)
    while not take_rounds(*rows, *weights, p, lam, x, allowed, rounds, _steps_a_call(rows, x), work):
        look()
    return float(work.moved[0])


@leaf
def _missed(x, v, tied):
    """By how much the unknown v misses its bound, and with ties by how much its pair has more than 1 in all."""
    if not tied:
        return max(-x[v], x[v] - 1.0), -1.0
    return -x[v], x[v] + x[v + 1] - 1.0 if v % 2 == 0 else -1.0


@kernel
def join_rows(start, arc, lam, x, tied, found_start, found_arc, slack, least):
    """The rows to go on with: those known, those found, and the bounds that x misses by more than `least`.

    Left out are known rows without a multiplier that are longer than they must be by more than `slack`, and found ones that are
    known. Also the multipliers, how many rows are new, and by how much the worst bound is missed.
    """
    known, found, m = lam.shape[0], found_start.shape[0] - 1, x.shape[0]
    worst, missed = 0.0, 0
    for v in range(m):
        one, both = _missed(x, v, tied)
        worst = max(worst, one, both)
        missed += (one > least) + (both > least)
    rows = known + found + missed
    all_start = np.zeros(rows + 1, np.int64)
    all_arc = np.empty(arc.shape[0] + found_arc.shape[0] + 2 * missed, np.int32)
    all_lam = np.zeros(rows)
    count = at = 0
    for r in range(known):
        if lam[r] > 0.0 or shortfall(start, arc, x, r) >= -slack:
            for k in range(start[r], start[r + 1]):
                all_arc[at] = arc[k]
                at += 1
            all_lam[count] = lam[r]
            count += 1
            all_start[count] = at
    kept = count
    for r in range(found):
        for k in range(found_start[r], found_start[r + 1]):
            all_arc[at] = found_arc[k]
            at += 1
        count += 1
        all_start[count] = at
    for v in range(m):
        one, both = _missed(x, v, tied)
        if one > least:
            all_arc[at] = 2 * v + (x[v] > 0.5)
            at += 1
            count += 1
            all_start[count] = at
        if both > least:
            all_arc[at], all_arc[at + 1] = 2 * v + 1, 2 * v + 3
            at += 2
            count += 1
            all_start[count] = at
    new = first_of_each(all_start[: count + 1], all_arc)
    last, entries = count, 0
    count = 0
    for r in range(last):
        begin = all_start[r]
        size = all_start[r + 1] - begin
        if new[r]:
            all_lam[count] = all_lam[r]
            for k in range(size):
                all_arc[entries + k] = all_arc[begin + k]
            # Rows only move to the front, so what is overwritten has been read.
            all_start[count] = entries
            entries += size
            count += 1
    all_start[count] = entries
    return all_start[: count + 1].copy(), all_arc[:entries].copy(), all_lam[:count].copy(), count - kept, worst
