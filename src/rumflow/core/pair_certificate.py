"""The certificate of a projection onto path inequalities, from the answer and multipliers alone.

For multipliers lam >= 0 of directed cycles (a single arc: the bound that its share is not negative), with S and short as in
`rumflow.solvers.inequalities.kernels`, every x that obeys the inequalities has

    1/2 sum h (x - p)^2  >=  lam' short(p) - 1/2 sum (S' lam)^2 / h,

whoever found the multipliers: a lower bound of the optimum, and so of the distance to random utility. It holds because the rows
are cycles, which is checked here, and the multipliers not negative. The objective at the answer is an upper bound because it
obeys the inequalities, which one pass of shortest paths measures. The gap is the difference.

A pair with two weights w and v for the shares of its two items, p and q, counts as one number, (w p + v (1 - q)) / (w + v) with
the weight h = w + v; the rest of the distance, `spread`, is that of shares which do not add up to 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.core.certificate import Certificate
from rumflow.core.pairs import Cycles, Pairs, arc_lengths, find_short_cycles
from rumflow.core.problem import data_size, least_weight, rounding_floor

#: What a cycle may lack by rounding: its length is a sum of some numbers up to 1.
ROUNDING = 1e-14


class PairProblem(NamedTuple):
    """Tables (m, 2) of shares and weights as one number for each pair that counts."""

    used: Ints  # (k,): the pairs with a weight
    p: Array  # (k,)
    h: Array  # (k,)
    spread: float
    size: float  # `data_size`
    least: float  # the smallest weight
    scale: float  # the sum of the weights


def pair_problem(target: Array, weights: Array) -> PairProblem:
    """One number for each pair."""
    total = weights[:, 0] + weights[:, 1]
    used = np.flatnonzero(total > 0)
    w, h = weights[used], total[used]
    shares = np.where(w > 0, target[used], 0.0)
    p = (w[:, 0] * shares[:, 0] + w[:, 1] * (1.0 - shares[:, 1])) / h
    # The second share says 1 - q of the first: its distance from p is that of p + q from 1.
    surplus = np.where((w > 0).all(axis=1), shares[:, 0] + shares[:, 1] - 1.0, 0.0)
    spread = 0.5 * float((w[:, 0] * w[:, 1] / h * surplus**2).sum())
    return PairProblem(used, p, h, spread, float(data_size(target, weights)), least_weight(weights), float(h.sum()))


def move_inside(x: Array, short: float) -> Array:
    """Shares that obey the inequalities: moved towards 1/2 as far as cycles that lack `short` need.

    There every cycle is longer than 1 by 1/2 or more, and every bound is kept by 1/2.
    """
    theta = short / (0.5 + short)
    return np.asarray(x + theta * (0.5 - x), np.float64)


def check_cycles(pairs: Pairs, cycles: Cycles, multipliers: Array) -> None:
    """Raise a ValueError unless each row is a directed cycle of these pairs, or one arc, and no multiplier is negative."""
    start, arc = cycles
    if len(start) != len(multipliers) + 1 or start[0] != 0 or start[-1] != len(arc) or (np.diff(start) < 1).any():
        raise ValueError("there is not one multiplier for each cycle")
    if not (np.isfinite(multipliers).all() and (multipliers >= 0).all()):
        raise ValueError("a multiplier is negative, or not a number")
    if len(arc) and not (arc.min() >= 0 and arc.max() < len(pairs.tail)):
        raise ValueError("a cycle has an arc between items that were not compared")
    following = np.arange(1, len(arc) + 1)
    following[start[1:] - 1] = start[:-1]
    head, tail = pairs.tail[arc ^ 1], pairs.tail[arc]
    joined = head == tail[following]
    if not (joined | (cycles.sizes == 1)[cycles.row]).all():
        raise ValueError("a cycle has arcs that do not follow each other")


def lower_bound(problem: PairProblem, cycles: Cycles, multipliers: Array) -> float:
    """The lower bound of the module's docstring, with the spread."""
    p, h, spread = problem.p, problem.h, problem.spread
    arc, row = cycles.arc, cycles.row
    need = (cycles.sizes > 1).astype(np.float64)
    pair, against = arc >> 1, (arc & 1) == 1
    length = np.bincount(row, np.where(against, 1.0 - p[pair], p[pair]), len(multipliers))
    pull = np.bincount(pair, np.where(against, -multipliers[row], multipliers[row]), len(p))
    return spread + float(multipliers @ (need - length)) - 0.5 * float((pull**2 / h).sum())


def certify_pairs(
    pairs: Pairs, problem: PairProblem, x: Array, cycles: Cycles, multipliers: Array, threads: int = 1
) -> Certificate:
    """The certificate of shares x; `pairs` are those with a weight, x is one number for each of them.

    Raises a ValueError where a row is no cycle, a multiplier is negative, or x misses an inequality. `least_flow` is the least
    share of an item.
    """
    check_cycles(pairs, cycles, multipliers)
    least = float(min(x.min(initial=0.5), 1.0 - x.max(initial=0.5)))
    if not least >= 0.0:
        raise ValueError("a share is below 0 or above 1")
    worst = find_short_cycles(pairs, arc_lengths(x), 0.0, threads, keep=False).worst
    if worst > ROUNDING:
        raise ValueError(f"the shares violate a path inequality by {worst:.3g}")
    objective = problem.spread + 0.5 * float((problem.h * (x - problem.p) ** 2).sum())
    gap = max(objective - lower_bound(problem, cycles, multipliers), 0.0)
    floor = rounding_floor(problem.size, problem.least)
    return Certificate(objective, gap, floor, least, 0.0, problem.size, problem.scale)
