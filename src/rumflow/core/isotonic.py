"""Shares that grow with the distance of two items in an order: isotonic regression over compared pairs.

Number the items by their place in an order, and let x_ij be the share of item i against a later item j. Strong stochastic
transitivity with this order says that x_ij >= 1/2, and that x grows as j moves down and as i moves up:

    x_ij <= x_kl          wherever k <= i < j <= l.

Over the compared pairs the nearest such x, in the norm of weights w, is also the one of the highest likelihood for w choices from
each pair, and the bound 1/2 is met by raising to it what is lower (Robertson, Wright and Dykstra 1988, chapter 1). With a
multiplier for each *relation*, a pair and one that is next above it, coordinate ascent on the dual problem (Hildreth) is

    lam <- max(0, lam + (x_below - x_above) / (1 / w_below + 1 / w_above)),       x_below -= lam's change / w_below, ...

At whatever point it is stopped, raising every pair to the largest of those below it gives shares that obey all relations.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.compile import kernel

#: Relations that are looked at in all before the ascent ends.
_MOST_LOOKS = 200_000_000
_ACCURACY, _MOST_SWEEPS = 1e-10, 20_000


@kernel
def find_relations(first, low, pair, n):
    """(k, 2): for each pair those next above it. Row i has the pairs pair[first[i] : first[i + 1]], in the order of low."""
    found, count = np.empty((64, 2), np.int32), 0
    for i in range(n):
        for t in range(first[i], first[i + 1]):
            nearest = n  # the least j of a pair above that was met; only nearer ones come next to it
            for k in range(i, -1, -1):
                begin, end = (t + 1, first[k + 1]) if k == i else (first[k], first[k + 1])
                while begin < end:
                    middle = (begin + end) // 2
                    if low[middle] < low[t]:
                        begin = middle + 1
                    else:
                        end = middle
                if begin < first[k + 1] and low[begin] < nearest:
                    nearest = low[begin]
                    if count == found.shape[0]:
                        more = np.empty((2 * count, 2), np.int32)
                        more[:count] = found
                        found = more
                    found[count, 0], found[count, 1] = pair[t], pair[begin]
                    count += 1
                    if nearest == low[t]:
                        break
    return found[:count].copy()


@kernel
def ascend(relations, weights, x, sweeps, accuracy):
    """Move x, in place, to the nearest shares that obey the relations; the largest move of the last sweep."""
    lam = np.zeros(relations.shape[0])
    moved = 0.0
    for _ in range(sweeps):
        moved = 0.0
        for r in range(relations.shape[0]):
            below, above = relations[r, 0], relations[r, 1]
            step = (x[below] - x[above]) / (1.0 / weights[below] + 1.0 / weights[above])
            step = max(step, -lam[r])
            if step != 0.0:
                lam[r] += step
                x[below] -= step / weights[below]
                x[above] += step / weights[above]
                moved = max(moved, abs(step) * max(1.0 / weights[below], 1.0 / weights[above]))
        if moved <= accuracy:
            break
    return moved


@kernel
def raise_pairs(relations, by_distance, x):
    """Raise every pair to the largest of those below it; relations in the order `by_distance` of their lower pair."""
    for r in by_distance:
        below, above = relations[r, 0], relations[r, 1]
        x[above] = max(x[above], x[below])


def regress(upper: Ints, lower: Ints, share: Array, weights: Array, n: int) -> Array:
    """Shares that grow with distance, none below 1/2, nearest to those given.

    upper, lower   (m,): the places of the two items of each pair, upper < lower.
    share          (m,): of the upper item; `weights` (m,) are positive.
    """
    order = np.lexsort((lower, upper))
    first = np.searchsorted(upper[order], np.arange(n + 1)).astype(np.int64)
    relations: Paths = find_relations(first, lower[order].astype(np.int64), order.astype(np.int64), n)
    x = share.astype(np.float64, copy=True)
    if len(relations):
        sweeps = min(_MOST_SWEEPS, max(20, _MOST_LOOKS // len(relations)))
        ascend(relations, weights / weights.mean(), x, sweeps, _ACCURACY)
        x = np.clip(x, 0.0, share.max())
        raise_pairs(relations, np.argsort((lower - upper)[relations[:, 0]], kind="stable"), x)
    return np.maximum(x, 0.5)
