"""The certificate of a projection onto path inequalities, from the answer and multipliers alone.

For multipliers lam >= 0 of rows (`rumflow.core.pairs`: directed cycles, and bounds), with S and short as in
`rumflow.solvers.inequalities.kernels`, every x that obeys the inequalities has

    1/2 (x - p)' H (x - p)  >=  lam' short(p) - 1/2 lam' S H^-1 S' lam,

whoever found the multipliers: a lower bound of the optimum, and so of the distance to random utility. It holds because the rows
are cycles, which is checked here, and the multipliers not negative. The objective at the answer is an upper bound because it
obeys the inequalities, which one pass of shortest paths measures. The gap is the difference.

A pair with two weights w and v for the shares of its two items, p and q, counts as one number, (w p + v (1 - q)) / (w + v) with
the weight h = w + v; the rest of the distance, `spread`, is that of shares which do not add up to 1.

With ties, weights w, v and u of the three shares p, q and t make a pair two numbers with H = [[w + u, u], [u, v + u]], nearest to
the shares where H (x, y)' = (w p + u (1 - t), v q + u (1 - t))'. Two of the weights must be positive. (No ties is the limit of
large u with t = 0.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.core.certificate import Certificate
from rumflow.core.pairs import Cycles, Pairs, arc_lengths, find_short_cycles
from rumflow.core.problem import data_size, least_weight, rounding_floor

#: What a cycle may lack by rounding: its length is a sum of some numbers up to 1.
ROUNDING = 1e-14

#: Cross terms where no pair has any.
NO_CROSS: Array = np.empty(0)


class PairProblem(NamedTuple):
    """Tables (m, 2) of shares and weights as one number for each pair that counts; (m, 3), with ties, as two."""

    used: Ints  # (k,): the pairs with a weight
    p: Array  # (k,), or (2 k,): the unknowns
    h: Array  # as p
    spread: float
    size: float  # `data_size`
    least: float  # the smallest weight
    scale: float  # the sum of the weights
    cross: Array = NO_CROSS  # (k,) with ties: the cross terms of H


def pair_problem(target: Array, weights: Array) -> PairProblem:
    """One number for each pair, or two."""
    if target.shape[1] == 3:
        return _tied_problem(target, weights)
    total = weights[:, 0] + weights[:, 1]
    used = np.flatnonzero(total > 0)
    w, h = weights[used], total[used]
    shares = np.where(w > 0, target[used], 0.0)
    p = (w[:, 0] * shares[:, 0] + w[:, 1] * (1.0 - shares[:, 1])) / h
    # The second share says 1 - q of the first: its distance from p is that of p + q from 1.
    surplus = np.where((w > 0).all(axis=1), shares[:, 0] + shares[:, 1] - 1.0, 0.0)
    spread = 0.5 * float((w[:, 0] * w[:, 1] / h * surplus**2).sum())
    return PairProblem(used, p, h, spread, float(data_size(target, weights)), least_weight(weights), float(h.sum()))


def _tied_problem(target: Array, weights: Array) -> PairProblem:
    """Two numbers for each pair."""
    used = np.flatnonzero(weights.sum(axis=1) > 0)
    w = weights[used]
    shares = np.where(w > 0, target[used], 0.0)
    cross, h = w[:, 2], w[:, :2] + w[:, 2:]
    right = w[:, :2] * shares[:, :2] + (cross * (1.0 - shares[:, 2]))[:, None]
    determinant = h[:, 0] * h[:, 1] - cross**2
    p = (h[:, ::-1] * right - cross[:, None] * right[:, ::-1]) / determinant[:, None]
    three = np.column_stack([p, 1.0 - p.sum(axis=1)])
    spread = 0.5 * float((w * np.where(w > 0, three - shares, 0.0) ** 2).sum())
    size, scale = float(data_size(target, weights)), float(w.sum())
    return PairProblem(used, p.reshape(-1), h.reshape(-1), spread, size, least_weight(weights), scale, cross)


def half_square(h: Array, cross: Array, d: Array) -> float:
    """1/2 d' H d."""
    square = 0.5 * float((h * d**2).sum())
    return square if len(cross) == 0 else square + float((cross * d[::2] * d[1::2]).sum())


def move_inside(x: Array, short: float, tied: bool = False) -> Array:
    """Shares that obey the inequalities: moved towards equal ones as far as cycles that lack `short` need.

    At one half every cycle is longer than 1 by 1/2 or more, and every bound is kept by 1/2; with ties at one third by 1/3.
    """
    centre = 1.0 / 3.0 if tied else 0.5
    theta = short / (centre + short)
    return np.asarray(x + theta * (centre - x), np.float64)


def check_cycles(pairs: Pairs, cycles: Cycles, multipliers: Array) -> None:
    """Raise a ValueError unless each row is a directed cycle of these pairs, or a bound, and no multiplier is negative."""
    start, arc = cycles
    if len(start) != len(multipliers) + 1 or start[0] != 0 or start[-1] != len(arc) or (np.diff(start) < 1).any():
        raise ValueError("there is not one multiplier for each cycle")
    if not (np.isfinite(multipliers).all() and (multipliers >= 0).all()):
        raise ValueError("a multiplier is negative, or not a number")
    if len(arc) and not (arc.min() >= 0 and arc.max() < (1 + pairs.tied) * len(pairs.tail)):
        raise ValueError("a cycle has an arc between items that were not compared")
    following = np.arange(1, len(arc) + 1)
    following[start[1:] - 1] = start[:-1]
    bound = cycles.sizes == 1
    if pairs.tied:
        turned = np.add.reduceat(arc & 1, start[:-1]) if len(arc) else bound
        bound = bound | ((cycles.sizes == 2) & (turned == 2) & (arc[start[:-1]] ^ arc[start[1:] - 1] == 2))
        if not (bound | ((cycles.sizes > 2) & (turned == 1))).all():
            raise ValueError("a row is neither a bound nor a path and the arc that it must not be shorter than")
        arc = (arc >> 1) ^ (arc & 1)
    joined = pairs.tail[arc ^ 1] == pairs.tail[arc][following]
    if not (joined | bound[cycles.row]).all():
        raise ValueError("a cycle has arcs that do not follow each other")


def lower_bound(problem: PairProblem, cycles: Cycles, multipliers: Array) -> float:
    """The lower bound of the module's docstring, with the spread."""
    p, h, spread, cross = problem.p, problem.h, problem.spread, problem.cross
    arc, row = cycles.arc, cycles.row
    need = (cycles.sizes > 1).astype(np.float64)
    pair, against = arc >> 1, (arc & 1) == 1
    length = np.bincount(row, np.where(against, 1.0 - p[pair], p[pair]), len(multipliers))
    pull = np.bincount(pair, np.where(against, -multipliers[row], multipliers[row]), len(p))
    if len(cross) == 0:
        price = 0.5 * float((pull**2 / h).sum())
    else:
        # 1/2 pull' H^-1 pull, pair by pair
        a, b = pull[::2], pull[1::2]
        whole = h[1::2] * a**2 + h[::2] * b**2 - 2.0 * cross * a * b
        price = 0.5 * float((whole / (h[::2] * h[1::2] - cross**2)).sum())
    return spread + float(multipliers @ (need - length)) - price


def certify_pairs(
    pairs: Pairs,
    problem: PairProblem,
    x: Array,
    cycles: Cycles,
    multipliers: Array,
    threads: int = 1,
    look: Callable[[], None] | None = None,
) -> Certificate:
    """The certificate of unknowns x; `pairs` are those with a weight. `look` is for `find_short_cycles`.

    Raises a ValueError where a row is no cycle, a multiplier is negative, or x misses an inequality. `least_flow` is the least
    share of an item, or of ties.
    """
    check_cycles(pairs, cycles, multipliers)
    left = 1.0 - (x[::2] + x[1::2] if pairs.tied else x)
    least = float(min(x.min(initial=0.5), left.min(initial=0.5)))
    if not least >= (-ROUNDING if pairs.tied else 0.0):
        raise ValueError("a share is below 0 or above 1")
    worst = find_short_cycles(pairs, arc_lengths(x, pairs.tied), 0.0, threads, keep=False, look=look).worst
    if worst > ROUNDING:
        raise ValueError(f"the shares violate a path inequality by {worst:.3g}")
    objective = problem.spread + half_square(problem.h, problem.cross, x - problem.p)
    gap = max(objective - lower_bound(problem, cycles, multipliers), 0.0)
    floor = rounding_floor(problem.size, problem.least)
    return Certificate(objective, gap, floor, least, 0.0, problem.size, problem.scale)
