"""Triples of items of which all three pairs were compared, and what holds in each of them.

Let p_ab be the share of a against b. In a triple

    triangle   1 <= p_ab + p_bc + p_ca <= 2: what every mixture of rankings obeys
    weak       some order a, b, c has p_ab, p_bc, p_ac >= 1/2
    moderate   some such order has p_ac >= min(p_ab, p_bc) as well
    strong     some such order has p_ac >= max(p_ab, p_bc) as well

An order is asked for, so that shares of exactly 1/2 may be read either way (the closure of the conditions in the textbooks). A
triple without weak transitivity is a *majority triangle*: a beats b, b beats c and c beats a.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.compile import kernel, leaf
from rumflow.core.pairs import Pairs
from rumflow.core.patience import check_patience

#: Shares that differ by less are equal.
EQUAL = 1e-12

#: The conditions, in the order in which they are counted.
CONDITIONS = ("triangle", "weak", "moderate", "strong")

#: Majority triangles that are kept; more are only counted.
MOST_KEPT = 1 << 22

_PASSED_A_PIECE = 1 << 23  # arcs between two looks at the clock, some tenths of a second


class Triples(NamedTuple):
    """Triples with all three pairs."""

    number: int
    holds: Ints  # (4,): in how many of them each of `CONDITIONS` holds
    cyclic: Paths  # (k, 3): the arcs of majority triangles, each from winner to loser


@leaf
def orders_hold(first, second, third):
    """For p_ab, p_bc and p_ca: which of weak, moderate and strong transitivity hold, as bits 1, 2 and 4."""
    found = 0
    for _ in range(3):
        for back in range(2):
            # The order a, b, c, and its reverse c, b, a.
            x, y, z = (first, second, 1.0 - third) if back == 0 else (1.0 - second, 1.0 - first, third)
            if min(x, y, z) >= 0.5 - EQUAL:
                found |= 1
                if z >= min(x, y) - EQUAL:
                    found |= 2
                if z >= max(x, y) - EQUAL:
                    found |= 4
        first, second, third = second, third, first
    return found


@kernel
def pass_triples(pairs, length, most, low, high):
    """How many triples there are, in how many each condition holds, and the arcs of majority triangles, `most` at the most.

    Only triples whose smallest item is from `low` to `high`.
    """
    holds, count, kept = np.zeros(4, np.int64), 0, 0
    cyclic = np.empty((64, 3), np.int32)
    for u in range(low, high):
        for s in range(pairs.first[u], pairs.first[u + 1]):
            uv = pairs.arc[s]
            v = pairs.tail[uv ^ 1]
            if v < u:
                continue
            # Arcs are in the order of their heads: items that both were compared with are met side by side.
            i, j = s + 1, pairs.first[v]
            while i < pairs.first[u + 1] and j < pairs.first[v + 1]:
                uw, vw = pairs.arc[i], pairs.arc[j]
                left, right = pairs.tail[uw ^ 1], pairs.tail[vw ^ 1]
                if left < right:
                    i += 1
                    continue
                if right < left:
                    j += 1
                    continue
                i, j = i + 1, j + 1
                count += 1
                one, two, three = length[uv], length[vw], length[uw ^ 1]
                total = one + two + three
                if 1.0 - EQUAL <= total <= 2.0 + EQUAL:
                    holds[0] += 1
                found = orders_hold(one, two, three)
                for k in range(3):
                    holds[k + 1] += (found >> k) & 1
                if found == 0 and kept < most:
                    if kept == cyclic.shape[0]:
                        more = np.empty((2 * kept, 3), np.int32)
                        more[:kept] = cyclic
                        cyclic = more
                    if one > 0.5:
                        cyclic[kept, 0], cyclic[kept, 1], cyclic[kept, 2] = uv, vw, uw ^ 1
                    else:
                        cyclic[kept, 0], cyclic[kept, 1], cyclic[kept, 2] = uw, vw ^ 1, uv ^ 1
                    kept += 1
    return count, holds, cyclic[:kept].copy()


def find_triples(pairs: Pairs, length: Array) -> Triples:
    """All triples of the compared pairs; `length` is the share of the tail of every arc."""
    n, degree = len(pairs.first) - 1, np.diff(pairs.first)
    head = pairs.tail.reshape(-1, 2)[:, ::-1].reshape(-1)
    up = head > pairs.tail
    passed = np.bincount(pairs.tail[up], degree[pairs.tail[up]] + degree[head[up]], n)
    pieces = np.flatnonzero(np.diff(np.cumsum(passed) // _PASSED_A_PIECE, prepend=0.0)).tolist()
    number, holds, cyclic, kept = 0, np.zeros(4, np.int64), [np.empty((0, 3), np.int32)], 0
    for low, high in zip([0, *pieces], [*pieces, n], strict=True):
        check_patience()
        count, own, more = pass_triples(pairs, length, MOST_KEPT - kept, low, high)
        number, holds, kept = number + int(count), holds + own, kept + len(more)
        cyclic.append(more)
    return Triples(number, holds, np.concatenate(cyclic))
