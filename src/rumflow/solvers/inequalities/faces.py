"""The face of a projection onto path inequalities, and derivatives on it.

Let R be the rows of the inequalities that hold with equality at x, H the weights of the pairs. While the face stays the same the
projection moves like the H-orthogonal projector onto R dx = 0, so with dp = H^-1 (g_a - g_b) for a gradient g by both shares,

    dx = dp - H^-1 R' (R H^-1 R')^+ R dp,       S g = (dx, -dx)

(`rumflow.solvers.derivatives`). Rows may depend on each other. They are not only those with a multiplier: where two triangles
that share a pair both hold with equality, so do the other two of their four items. Every inequality that holds with equality is
found from the shortest paths: from item a over larger items, let an arc u -> v be *tight* where it ends a shortest path to v.
For all tight arcs from which tight arcs lead on to some b that a was compared with, the closed walk a .. u -> v .. a, there by
the tree of the search and back against it, has a length that cannot change; and the cycles through a are sums of these.
Bounds count where they have a multiplier. Data inside the model have no rows.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.compile import kernel
from rumflow.core.pairs import Cycles, Pairs, arc_lengths, first_of_each, search
from rumflow.solvers.inequalities.kernels import solve_free

#: Lengths that differ by less are equal.
TIGHT = 1e-8

_ACCURACY = 1e-13


@kernel
def tight_walks(pairs, length, slack):
    """Closed walks whose lengths are fixed on the face; see the module's docstring."""
    n = pairs.first.shape[0] - 1
    distance, before = np.full(n, np.inf), np.empty(n, np.int32)
    reached, heap, node = (
        np.empty(n, np.int64),
        np.empty(pairs.arc.shape[0] + 1),
        np.empty(pairs.arc.shape[0] + 1, np.int64),
    )
    work = distance, before, reached, heap, node
    leads, waiting = np.zeros(n, np.bool_), np.empty(n, np.int64)
    out, back, onto = np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n, np.bool_)
    start, arcs, rows = np.zeros(64, np.int64), np.empty(256, np.int32), 0
    for source in range(n):
        limit, count = -np.inf, 0
        for t in range(pairs.first[source], pairs.first[source + 1]):
            v = pairs.tail[pairs.arc[t] ^ 1]
            if v > source:
                limit = max(limit, length[pairs.arc[t]] + slack)
                leads[v], waiting[count] = True, v
                count += 1
        if count == 0:
            continue
        found = search(pairs, length, source, limit, work)
        while count > 0:
            count -= 1
            v = waiting[count]
            for t in range(pairs.first[v], pairs.first[v + 1]):
                arc = pairs.arc[t] ^ 1  # from u to v
                u = pairs.tail[arc]
                if u < source or not distance[u] + length[arc] <= distance[v] + slack:
                    continue
                if u != source and not leads[u]:
                    leads[u], waiting[count] = True, u
                    count += 1
                if before[v] == arc:
                    continue
                # There and back; where both ways are the same they end.
                size, w = 0, np.int64(u)
                while w != source:
                    onto[w] = True
                    w = np.int64(pairs.tail[before[w]])
                onto[source] = True
                length_back, w = 0, np.int64(v)
                while not onto[w]:
                    back[length_back] = before[w] ^ 1
                    length_back += 1
                    w = np.int64(pairs.tail[before[w]])
                meet, w = w, np.int64(u)
                while w != meet:
                    out[size] = before[w]
                    size += 1
                    w = np.int64(pairs.tail[before[w]])
                w = np.int64(u)
                while w != source:
                    onto[w] = False
                    w = np.int64(pairs.tail[before[w]])
                onto[source] = False
                if rows + 2 > start.shape[0]:
                    longer = np.zeros(2 * start.shape[0], np.int64)
                    longer[: rows + 1] = start[: rows + 1]
                    start = longer
                while start[rows] + size + length_back + 1 > arcs.shape[0]:
                    more = np.empty(2 * arcs.shape[0], np.int32)
                    more[: arcs.shape[0]] = arcs
                    arcs = more
                at = start[rows]
                for k in range(size):
                    arcs[at + k] = out[size - 1 - k]
                arcs[at + size] = arc
                for k in range(length_back):
                    arcs[at + size + 1 + k] = back[k]
                rows += 1
                start[rows] = at + size + 1 + length_back
        for i in range(found):
            distance[reached[i]] = np.inf
        for i in range(found):
            leads[reached[i]] = False
        for t in range(pairs.first[source], pairs.first[source + 1]):
            leads[pairs.tail[pairs.arc[t] ^ 1]] = False
    return start[: rows + 1], arcs[: start[rows]]


def face_rows(pairs: Pairs, x: Array, cycles: Cycles, multipliers: Array) -> Cycles:
    """Rows that span all inequalities that hold with equality at x."""
    start, arc = tight_walks(pairs, arc_lengths(x), TIGHT)
    bounds = cycles.take(np.flatnonzero((cycles.sizes == 1) & (multipliers > 0)))
    rows = Cycles(start, arc).join(bounds)
    return rows.take(np.flatnonzero(first_of_each(*rows)))


def move_on_face(rows: Cycles, h: Array, dp: Array) -> Array:
    """The change of the projection when the data change by dp."""
    count = len(rows.sizes)
    if count == 0:
        return dp
    inverse = 1.0 / h
    sign = np.where(rows.arc & 1, -1.0, 1.0)
    pair, row = rows.arc >> 1, rows.row
    diagonal = np.bincount(row, inverse[pair], count).astype(np.float64)
    right = np.bincount(row, sign * dp[pair], count).astype(np.float64)
    y = solve_free(*rows, inverse, diagonal, np.arange(count), right, _ACCURACY)
    moved: Array = dp - inverse * np.bincount(pair, sign * y[row], len(dp))
    return moved


def pack_rows(rows: Cycles) -> tuple[Ints, Paths]:
    """As numbers of rows and entries, and one array."""
    return np.array([len(rows.sizes), len(rows.arc)]), np.concatenate([rows.sizes, rows.arc]).astype(np.int32)


def unpack_rows(counts: Ints, packed: Paths) -> Cycles:
    """The way back."""
    k, entries = counts.tolist()
    start = np.zeros(k + 1, np.int64)
    np.cumsum(packed[:k], out=start[1:])
    return Cycles(start, packed[k : k + entries].copy())
