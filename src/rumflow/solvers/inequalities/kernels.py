"""The dual of a projection onto given cycles, improved in rounds.

For a row r (`rumflow.core.pairs`) let short_r(x) be 1 less its entries at x (for a single one, which is a bound, 0 less it). With
multipliers lam >= 0, S the rows of signs (+1 for an unknown, -1 for what it lacks of 1) and H the weights,

    x = p + H^-1 S' lam,        maximise  lam' short(p) - 1/2 lam' S H^-1 S' lam   over  lam >= 0.

H is diagonal, diag(h); with ties the two unknowns of a pair have a cross term as well, and `cross` has those of H^-1 (it is empty
without ties).

A round is some passes of coordinate ascent (Hildreth 1957), which find out which multipliers are positive, and then a Newton
step for these by conjugate gradients, preconditioned with the diagonal of S H^-1 S', cut off at 0 and halved until it helps.
Rows may depend on each other: the systems are singular then, but consistent.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.compile import kernel, leaf
from rumflow.core.pairs import first_of_each

_PASSES = 5  # of coordinate ascent in a round
_ROUGH, _EXACT = 1e-3, 1e-14  # relative accuracy of the first Newton steps, and of the others
_ROUGH_ROUNDS = 2
_ROUNDING = 4e-15  # of the length of a cycle
_MOST_STEPS = 2000  # of conjugate gradients
_MOST_HALVINGS = 20


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


@kernel
def solve_free(start, arc, inverse, cross, diagonal, free, right, accuracy):
    """d with (S H^-1 S')_FF d = right_F on the rows F, 0 on the others, by conjugate gradients."""
    count, m = diagonal.shape[0], inverse.shape[0]
    d, left, way, product, y = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count), np.empty(m)
    old = worst = 0.0
    for r in free:
        left[r] = right[r]
        way[r] = left[r] / diagonal[r]
        old += left[r] * way[r]
        worst = max(worst, abs(left[r]))
    goal = max(accuracy * worst, _ROUNDING)
    for _ in range(_MOST_STEPS):
        if worst <= goal:
            break
        y[:] = 0.0
        for r in free:
            _add(start, arc, inverse, cross, y, r, way[r])
        curved = 0.0
        for r in free:
            product[r] = _times(start, arc, y, r)
            curved += way[r] * product[r]
        if not curved > 0.0:
            break
        step = old / curved
        new = worst = 0.0
        for r in free:
            d[r] += step * way[r]
            left[r] -= step * product[r]
            new += left[r] * left[r] / diagonal[r]
            worst = max(worst, abs(left[r]))
        for r in free:
            way[r] = left[r] / diagonal[r] + new / old * way[r]
        old = new
    return d


@kernel
def improve(start, arc, h, cross, p, lam, x, allowed, rounds):
    """Rounds until a pass moves nothing by more than `allowed`; the last such move. lam and x change in place."""
    count, m = lam.shape[0], p.shape[0]
    inverse, across = invert(h, cross)
    diagonal, short = np.empty(count), np.empty(count)
    right, trial, there = np.empty(count), np.empty(count), np.empty(m)
    for r in range(count):
        diagonal[r] = _diagonal(start, arc, inverse, across, r)
        short[r] = shortfall(start, arc, p, r)
    moved = np.inf
    place(start, arc, p, inverse, across, lam, x)
    for i in range(rounds):
        for _ in range(_PASSES):
            moved = _pass(start, arc, inverse, across, diagonal, lam, x)
            if moved <= allowed:
                return moved
        free = np.flatnonzero(lam > 0.0)
        for row in free:
            right[row] = shortfall(start, arc, x, row)
        d = solve_free(start, arc, inverse, across, diagonal, free, right, _ROUGH if i < _ROUGH_ROUNDS else _EXACT)
        before, step = dual_value(h, cross, p, lam, short, x), 1.0
        for _ in range(_MOST_HALVINGS):
            for r in range(count):
                trial[r] = max(lam[r] + step * d[r], 0.0)
            place(start, arc, p, inverse, across, trial, there)
            if dual_value(h, cross, p, trial, short, there) >= before:
                lam[:] = trial
                x[:] = there
                break
            step *= 0.5
    return moved


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
