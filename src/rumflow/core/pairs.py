"""Compared pairs as a graph, and the path inequalities that any mixture of orders obeys on them.

With x_ab the share of people who rank a above b, nobody ranks a above b who has b above everything on a path from a to b, so

    x_ab <= x_ac + ... + x_db          for every path a, c, ..., d, b of compared pairs.

With x_ba = 1 - x_ab this is a *directed cycle* a -> c -> ... -> d -> b -> a whose shares add up to 1 or more, once for
each of its arcs. What a cycle with a chord says (a compared pair of two of its items that are not neighbours on it) follows from
the two shorter cycles that the chord makes of it: their sums together are that of the long one plus 1.
On all pairs these are the triangle inequalities; on fewer pairs their projection, since shares for further pairs always exist.

Pair e is held as two *arcs*, 2 e from its first item to its second and 2 e + 1 back. The *length* of an arc is the share of its
tail. No cycle is shorter than 1 exactly when no shortest path from a to b is shorter than the arc from a to b. Each cycle is
looked for from its smallest item, over larger items only: one search for every item, which ends at the length of its longest arc
(`find_short_cycles`).

With *ties* (`Pairs.tied`) x_ab is the share of people who like a strictly better than b, and x_ab + x_ba <= 1. In a weak order
with a over b every path from a to b goes down somewhere, so the path inequalities hold as they are; but the two shares of a pair
are two numbers now, it matters which arc of a cycle is the one from a to b, and every item is a source, over all items.

*Unknowns and rows.* The unknowns x are the share of the first item of each pair; with ties the lengths of all arcs. An inequality
is a row of *entries* 2 v + s: the unknown v counts, or (s = 1) what it lacks of 1; and it says that they add up to 1 or more (a
single entry: to 0 or more, which is a bound). Without ties the entry of an arc is its number. With ties a path inequality has the
arcs of the path, and what the arc from a to b lacks of 1 as its last entry; x_ab + x_ba <= 1 is the row of what both lack of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.compile import kernel, leaf
from rumflow.core.threads import run_threads

#: Arcs of the sources that one piece of work has, about, at most; and arcs that its searches may pass in all.
_ARCS_A_PIECE, _PASSED_A_PIECE = 1 << 12, 1 << 27


class Pairs(NamedTuple):
    """The graph of compared pairs."""

    tail: Paths  # (2 m,): the item that an arc leads from; that which it leads to is tail[arc ^ 1]
    first: Ints  # (n + 1,): the arcs out of item u are `arc[first[u] : first[u + 1]]`
    arc: Paths  # (2 m,): in the order of the items that they lead to
    tied: bool = False  # are ties an outcome?


class Cycles(NamedTuple):
    """Rows, one after the other: directed cycles, and bounds; see the module's docstring for their entries."""

    start: Ints  # (k + 1,)
    arc: Paths  # (entries,): without ties the entry of an arc is its number

    @classmethod
    def none(cls) -> Cycles:
        """No cycle."""
        return cls(np.zeros(1, np.int64), np.empty(0, np.int32))

    @property
    def sizes(self) -> Ints:
        """(k,): entries of each row."""
        return np.diff(self.start)

    @property
    def row(self) -> Ints:
        """(entries,): the cycle of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), self.sizes)

    def take(self, rows: Ints) -> Cycles:
        """Some of them."""
        sizes = self.sizes[rows]
        start = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(sizes, out=start[1:])
        entry = np.repeat(self.start[rows] - start[:-1], sizes) + np.arange(start[-1])
        return Cycles(start, self.arc[entry])

    def join(self, other: Cycles) -> Cycles:
        """These and others after them."""
        return Cycles(
            np.concatenate([self.start, other.start[1:] + self.start[-1]]), np.concatenate([self.arc, other.arc])
        )

    def arcs_of(self, row: int, tied: bool) -> Paths:
        """The arcs of a cycle; with ties that from the end of the path back to its beginning is the last."""
        entry = self.arc[self.start[row] : self.start[row + 1]]
        return (entry >> 1) ^ (entry & 1) if tied else entry


def make_pairs(a: Ints, b: Ints, n: int, tied: bool = False) -> Pairs:
    """The graph of the pairs (a[e], b[e]) among n items."""
    tail = np.stack([a, b], axis=1).reshape(-1).astype(np.int32)
    head = np.stack([b, a], axis=1).reshape(-1)
    order = np.lexsort((head, tail))
    first = np.searchsorted(tail[order], np.arange(n + 1)).astype(np.int64)
    return Pairs(tail, first, order.astype(np.int32), tied)


@kernel
def arc_lengths(x, tied=False):
    """(2 m,): the lengths of the arcs for unknowns x; none is below 0 or above 1."""
    if tied:
        return np.minimum(np.maximum(x, 0.0), 1.0)
    length = np.empty(2 * x.shape[0])
    for e in range(x.shape[0]):
        share = min(max(x[e], 0.0), 1.0)
        length[2 * e], length[2 * e + 1] = share, 1.0 - share
    return length


@leaf
def _key(start, arc, row):
    """A number of 64 bits for the set of arcs of a cycle: equal for equal cycles, and hardly ever for others."""
    key = np.uint64(0)
    for k in range(start[row], start[row + 1]):
        z = (np.uint64(arc[k]) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        key += z ^ (z >> np.uint64(31))
    return key


@kernel
def first_of_each(start, arc):
    """(k,): is this the first of the cycles with these arcs, in whatever order?"""
    count = start.shape[0] - 1
    size = 16
    while size < 2 * count:
        size *= 2
    table, keys = np.full(size, -1), np.empty(count, np.uint64)
    new = np.ones(count, np.bool_)
    for row in range(count):
        keys[row] = _key(start, arc, row)
        at = np.int64(keys[row] & np.uint64(size - 1))
        while table[at] >= 0 and keys[table[at]] != keys[row]:
            at = np.int64((at + 1) & (size - 1))
        if table[at] >= 0:
            new[row] = False
        else:
            table[at] = row
    return new


@leaf
def _push(heap, node, size, length, item):
    """One more entry of a heap, smallest length first."""
    j = size
    while j > 0:
        above = (j - 1) // 2
        if heap[above] <= length:
            break
        heap[j], node[j] = heap[above], node[above]
        j = above
    heap[j], node[j] = length, item


@leaf
def _pop(heap, node, size):
    """Take away the first of `size` entries; they become one fewer."""
    length, item = heap[size - 1], node[size - 1]
    size -= 1
    i = 0
    while True:
        below = 2 * i + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= length:
            break
        heap[i], node[i] = heap[below], node[below]
        i = below
    heap[i], node[i] = length, item


@leaf
def _arc_between(pairs, u, v):
    """The arc from u to v; -1 where they were not compared."""
    low, high = pairs.first[u], pairs.first[u + 1]
    while low < high:
        middle = (low + high) // 2
        if pairs.tail[pairs.arc[middle] ^ 1] < v:
            low = middle + 1
        else:
            high = middle
    if low < pairs.first[u + 1] and pairs.tail[pairs.arc[low] ^ 1] == v:
        return np.int64(pairs.arc[low])
    return np.int64(-1)


@leaf
def _cut_chords(pairs, length, cycle, size):
    """Shorten a cycle, in place, until it has no chord: of the two that a chord makes, the shorter one; its number of arcs.

    The last arc is that which leads back from the end of a path to its beginning, and stays the last.
    """
    while size > 3:
        found = False
        for i in range(size - 2):
            for j in range(i + 2, size):
                if i == 0 and j == size - 1:
                    continue
                chord = _arc_between(pairs, pairs.tail[cycle[i]], pairs.tail[cycle[j]])
                if chord < 0:
                    continue
                inside, outside = (
                    -length[chord],
                    length[chord] - length[cycle[size - 1] ^ 1],
                )  # less what they must have
                for k in range(size - 1):
                    if i <= k < j:
                        inside += length[cycle[k]]
                    else:
                        outside += length[cycle[k]]
                if inside <= outside:
                    for k in range(i, j):
                        cycle[k - i] = cycle[k]
                    cycle[j - i] = np.int32(chord ^ 1)
                    size = j - i + 1
                else:
                    cycle[i] = np.int32(chord)
                    for k in range(j, size):
                        cycle[i + 1 + k - j] = cycle[k]
                    size = i + 1 + size - j
                found = True
                break
            if found:
                break
        if not found:
            break
    return size


@kernel
def make_work(pairs):
    """(distance, before, reached, heap, node): what a `search` works with."""
    n, most = pairs.first.shape[0] - 1, pairs.arc.shape[0] + 1
    return np.full(n, np.inf), np.empty(n, np.int32), np.empty(n, np.int64), np.empty(most), np.empty(most, np.int64)


@kernel
def add_row(start, arcs, rows, row, size):
    """Write `size` arcs behind the `rows` rows that there are; both arrays, longer where they were full."""
    if rows + 2 > start.shape[0]:
        longer = np.zeros(2 * start.shape[0], np.int64)
        longer[: rows + 1] = start[: rows + 1]
        start = longer
    while start[rows] + size > arcs.shape[0]:
        more = np.empty(2 * arcs.shape[0], np.int32)
        more[: arcs.shape[0]] = arcs
        arcs = more
    for k in range(size):
        arcs[start[rows] + k] = row[k]
    start[rows + 1] = start[rows] + size
    return start, arcs


@leaf
def search(pairs, length, source, smallest, limit, work):
    """Shortest paths from an item, over `smallest` and larger ones, to all nearer than the limit; how many were reached.

    work   as `make_work` gives it: distances are infinite, and are left for those reached.
    """
    distance, before, reached, heap, node = work
    count, size = 1, 1
    distance[source], reached[0] = 0.0, source
    heap[0], node[0] = 0.0, source
    while size > 0:
        here, u = heap[0], node[0]
        _pop(heap, node, size)
        size -= 1
        if here > distance[u]:
            continue
        for t in range(pairs.first[u], pairs.first[u + 1]):
            arc = pairs.arc[t]
            v = pairs.tail[arc ^ 1]
            there = here + length[arc]
            if v >= smallest and there < limit and there < distance[v]:
                if distance[v] == np.inf:
                    reached[count] = v
                    count += 1
                distance[v], before[v] = there, arc
                _push(heap, node, size, there, v)
                size += 1
    return count


@kernel
def short_cycles(pairs, length, least, keep, low, high):
    """Cycles shorter than 1 by more than `least` whose smallest item is a source from `low` to `high`; what the worst one lacks.

    One cycle at most for every arc out of the source, without chords; not `keep`: only the number is found. With ties all paths
    from the sources that are shorter than an arc.
    """
    work = make_work(pairs)
    distance, before, reached, _, _ = work
    cycle = np.empty(pairs.first.shape[0] - 1, np.int32)
    start, arcs = np.zeros(64, np.int64), np.empty(256, np.int32)
    rows = 0
    worst = 0.0
    for source in range(low, high):
        limit = -np.inf
        smallest = 0 if pairs.tied else source
        for t in range(pairs.first[source], pairs.first[source + 1]):
            if pairs.tail[pairs.arc[t] ^ 1] >= smallest:
                limit = max(limit, length[pairs.arc[t]])
        if limit <= 0.0:
            continue
        count = search(pairs, length, source, smallest, limit, work)
        for t in range(pairs.first[source], pairs.first[source + 1]):
            arc = pairs.arc[t]
            last = pairs.tail[arc ^ 1]
            short = length[arc] - distance[last]
            if last < smallest or not short > 0.0:
                continue
            worst = max(worst, short)
            if not keep or short <= least:
                continue
            size, v = 0, np.int64(last)
            while v != source:
                cycle[size] = before[v]
                size += 1
                v = np.int64(pairs.tail[before[v]])
            for k in range(size // 2):
                cycle[k], cycle[size - 1 - k] = cycle[size - 1 - k], cycle[k]
            cycle[size] = arc ^ 1
            size = _cut_chords(pairs, length, cycle, size + 1)
            if pairs.tied:
                for k in range(size - 1):
                    cycle[k] = 2 * cycle[k]
                cycle[size - 1] = 2 * (cycle[size - 1] ^ 1) + 1
            start, arcs = add_row(start, arcs, rows, cycle, size)
            rows += 1
        for i in range(count):
            distance[reached[i]] = np.inf
    return start[: rows + 1], arcs[: start[rows]], worst


class Found(NamedTuple):
    """Cycles that are too short, and what the shortest one lacks, whether it is among them or not."""

    cycles: Cycles
    worst: float


def find_short_cycles(
    pairs: Pairs,
    length: Array,
    least: float = 0.0,
    threads: int = 1,
    keep: bool = True,
    look: Callable[[], None] | None = None,
) -> Found:
    """Cycles shorter than 1 by more than `least`, for arcs of length 0 or more; the same for any number of threads.

    keep   False: only `worst` is wanted.
    look   called between pieces of work, to look at the clock; it may raise.
    """
    first = pairs.first
    n = len(first) - 1
    if first[-1] <= _ARCS_A_PIECE:
        start, arc, worst = short_cycles(pairs, length, least, keep, 0, n)
        return Found(Cycles(start, arc), worst)
    step = min(max(_PASSED_A_PIECE // int(first[-1]), 64), _ARCS_A_PIECE)
    cuts = np.searchsorted(first, np.arange(0, first[-1] + step, step))
    cuts = np.unique(np.clip(cuts, 0, n))
    pieces = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
    parts: list[tuple[Ints, Paths, float] | None] = [None] * len(pieces)

    def task(k: int) -> None:
        if look is not None:
            look()
        parts[k] = short_cycles(pairs, length, least, keep, *pieces[k])

    run_threads(task, range(len(pieces)), threads)
    found = [part for part in parts if part is not None]
    sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(start) for start, _, _ in found)])
    arcs = np.concatenate([np.empty(0, np.int32), *(arc for _, arc, _ in found)])
    return Found(Cycles(np.cumsum(sizes), arcs), max((worst for _, _, worst in found), default=0.0))


@kernel
def distances_from(pairs, length, source, limit):
    """(n,): the length of the shortest path from an item to every other, over all items; infinite from the limit on."""
    work = make_work(pairs)
    search(pairs, length, source, 0, limit, work)
    return work[0]


def share_range(pairs: Pairs, length: Array, a: int, b: int) -> tuple[float, float]:
    """The least and the largest share of a against b that the lengths of the other arcs leave, infinite ones for what is open.

    With ties a share of a against b can be missing in another arc only, from u to v: x_uv <= d(u, a) + x_ab + d(b, v).
    """
    most = float(distances_from(pairs, length, a, 1.0)[b])
    if not pairs.tied:
        least = 1.0 - float(distances_from(pairs, length, b, 1.0)[a])
        return max(least, 0.0), min(most, 1.0)
    turned = np.ascontiguousarray(length.reshape(-1, 2)[:, ::-1]).reshape(-1)  # each arc with the length of the other
    into, out = distances_from(pairs, turned, a, 1.0), distances_from(pairs, length, b, 1.0)
    known = np.flatnonzero(np.isfinite(length))
    need = length[known] - into[pairs.tail[known]] - out[pairs.tail[known ^ 1]]
    return max(float(need.max(initial=0.0)), 0.0), min(most, 1.0)
