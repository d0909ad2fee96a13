"""The face of a projection onto path inequalities, and derivatives on it.

Let R be the rows of the inequalities that hold with equality at x, H the weights of the pairs. While the face stays the same the
projection moves like the H-orthogonal projector onto R dx = 0, so with dp = H^-1 (g_a - g_b) for a gradient g by both shares,

    dx = dp - H^-1 R' (R H^-1 R')^+ R dp,       S g = (dx, -dx)

(with ties dp = H^-1 (g_a - g_t, g_b - g_t) for each pair, and S g = (dx_a, dx_b, -dx_a - dx_b));

see `rumflow.solvers.derivatives`. Rows may depend on each other. They are not only those with a multiplier: where two triangles
that share a pair both hold with equality, so do the other two of their four items. Every inequality that holds with equality is
found from the shortest paths: from item a over larger items (with ties over all), let an arc u -> v be *tight* where it ends a
shortest path to v.
For all tight arcs from which tight arcs lead on to some b that a was compared with, the closed walk a .. u -> v .. a, there by
the tree of the search and back against it, has a length that cannot change; and the cycles through a are sums of these.
Bounds count where they have a multiplier. Data inside the model have no rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.compile import kernel
from rumflow.core.pairs import Cycles, Pairs, add_row, arc_lengths, first_of_each, make_work, search
from rumflow.solvers.inequalities.kernels import invert, solve_free

#: Lengths that differ by less are equal.
TIGHT = 1e-8

_ACCURACY = 1e-13


@kernel
def tight_walks(pairs, length, slack):
    """Closed walks whose lengths are fixed on the face, as rows of entries; see the module's docstring."""
    n = pairs.first.shape[0] - 1
    work = make_work(pairs)
    distance, before, reached, _, _ = work
    leads, waiting = np.zeros(n, np.bool_), np.empty(n, np.int64)
    walk, onto = np.empty(2 * n + 1, np.int32), np.zeros(n, np.bool_)
    start, arcs, rows = np.zeros(64, np.int64), np.empty(256, np.int32), 0
    for source in range(n):
        limit, count = -np.inf, 0
        smallest = 0 if pairs.tied else source
        for t in range(pairs.first[source], pairs.first[source + 1]):
            v = pairs.tail[pairs.arc[t] ^ 1]
            if v >= smallest:
                limit = max(limit, length[pairs.arc[t]] + slack)
                leads[v], waiting[count] = True, v
                count += 1
        if count == 0:
            continue
        found = search(pairs, length, source, smallest, limit, work)
        while count > 0:
            count -= 1
            v = waiting[count]
            for t in range(pairs.first[v], pairs.first[v + 1]):
                arc = pairs.arc[t] ^ 1  # from u to v
                u = pairs.tail[arc]
                if u < smallest or not distance[u] + length[arc] <= distance[v] + slack:
                    continue
                if u != source and not leads[u]:
                    leads[u], waiting[count] = True, u
                    count += 1
                if before[v] == arc:
                    continue
                # There and back; where both ways are the same they end.
                w = np.int64(u)
                while w != source:
                    onto[w] = True
                    w = np.int64(pairs.tail[before[w]])
                onto[source] = True
                size, w = n + 1, np.int64(v)  # the way back; the way there is written in front of it
                walk[n] = 2 * arc if pairs.tied else arc
                while not onto[w]:
                    walk[size] = 2 * before[w] + 1 if pairs.tied else before[w] ^ 1
                    size += 1
                    w = np.int64(pairs.tail[before[w]])
                begin, meet, w = n, w, np.int64(u)
                while w != meet:
                    begin -= 1
                    walk[begin] = 2 * before[w] if pairs.tied else before[w]
                    w = np.int64(pairs.tail[before[w]])
                w = np.int64(u)
                while w != source:
                    onto[w] = False
                    w = np.int64(pairs.tail[before[w]])
                onto[source] = False
                start, arcs = add_row(start, arcs, rows, walk[begin:], size - begin)
                rows += 1
        for i in range(found):
            distance[reached[i]] = np.inf
        for i in range(found):
            leads[reached[i]] = False
        for t in range(pairs.first[source], pairs.first[source + 1]):
            leads[pairs.tail[pairs.arc[t] ^ 1]] = False
    return start[: rows + 1], arcs[: start[rows]]


def face_rows(pairs: Pairs, x: Array, cycles: Cycles, multipliers: Array) -> Cycles:
    """Rows that span all inequalities that hold with equality at x."""
    start, arc = tight_walks(pairs, arc_lengths(x, pairs.tied), TIGHT)
    bounds = cycles.take(np.flatnonzero((cycles.sizes <= 2) & (multipliers > 0)))
    rows = Cycles(start, arc).join(bounds)
    return rows.take(np.flatnonzero(first_of_each(*rows)))


def move_on_face(rows: Cycles, h: Array, cross: Array, gradient: Array) -> Array:
    """The change of the projection for a gradient by the unknowns."""
    count = len(rows.sizes)
    inverse, across = invert(h, cross)
    dp = _times_inverse(inverse, across, gradient)
    if count == 0:
        return dp
    sign = np.where(rows.arc & 1, -1.0, 1.0)
    pair, row = rows.arc >> 1, rows.row
    diagonal = np.bincount(row, inverse[pair], count).astype(np.float64)
    right = np.bincount(row, sign * dp[pair], count).astype(np.float64)
    y = solve_free(rows, inverse, across, diagonal, np.arange(count), right, _ACCURACY)
    return dp - _times_inverse(inverse, across, np.bincount(pair, sign * y[row], len(dp)).astype(np.float64))


def _times_inverse(inverse: Array, across: Array, g: Array) -> Array:
    """H^-1 g."""
    found: Array = inverse * g
    if len(across):
        found += np.repeat(across, 2) * g.reshape(-1, 2)[:, ::-1].reshape(-1)
    return found


def pack_rows(rows: Cycles) -> tuple[Ints, Paths]:
    """As numbers of rows and entries, and one array."""
    return np.array([len(rows.sizes), len(rows.arc)]), np.concatenate([rows.sizes, rows.arc]).astype(np.int32)


def unpack_rows(counts: Sequence[int], packed: Paths) -> Cycles:
    """The way back; more may follow in the array."""
    k, entries = counts
    start = np.zeros(k + 1, np.int64)
    np.cumsum(packed[:k], out=start[1:])
    return Cycles(start, packed[k : k + entries].copy())
