"""Graphs from lists of nodes and arcs: put in order, checked, and labelled.

Every path from the first to the last node must decide every menu exactly once. Paths need not be listed to see that: from each
node that lies on such a path the rest of the way decides the same menus, whichever way led there. So the set of menus decided
before a node must be the same for all ways to it; it grows along every arc, and at the last node it holds all menus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rumflow.core.arrays import Ints, Paths
from rumflow.core.graph import Graph, Index, label_graph
from rumflow.errors import InputError

Arc = tuple[int, int, Sequence[int]]  #: from node, to node, numbers of the cells it fills


def label_arcs(start: Ints, cells: Ints, n_cells: int) -> tuple[Index, Index, Index]:
    """Labels for arcs that fill cells[start[a] : start[a + 1]]: label of each arc, parent and cell of each label.

    Arcs whose first cells agree share the labels of these; so cells should be in ascending order.
    """
    length = np.diff(start)
    label = np.zeros(len(length), np.int64)
    parents, own, count = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)], 1
    for depth in range(int(length.max(initial=0))):
        longer = np.flatnonzero(length > depth)
        keys, place = np.unique(label[longer] * n_cells + cells[start[longer] + depth], return_inverse=True)
        parents.append(keys // n_cells)
        own.append(keys % n_cells)
        label[longer] = count + place
        count += len(keys)
    return label.astype(np.int32), np.concatenate(parents).astype(np.int32), np.concatenate(own).astype(np.int32)


def list_graph(shape: tuple[int, int], rows: Paths) -> Graph:
    """The graph of a list of types, given as rows of columns: one node per type between the first node and the last."""
    k, m = rows.shape
    start = np.concatenate([np.arange(k + 1) * m, np.full(k, k * m)])
    numbers = (np.arange(m) * shape[1] + rows).reshape(-1).astype(np.int64)
    label, parent, cell = label_arcs(start, numbers, m * shape[1])
    head = np.concatenate([1 + np.arange(k), np.full(k, k + 1)]).astype(np.int32)
    first = np.concatenate([[0], k + np.arange(k + 1), [2 * k]]).astype(np.int64)
    return label_graph(shape, first, head, label, parent, cell)


def build_graph(n_nodes: int, arcs: Sequence[Arc], shape: tuple[int, int], name: Callable[[int], str] = str) -> Graph:
    """The graph of these arcs, for tables of cells of this shape; `name` gives the name of a menu for error messages.

    Paths lead from node 0 to node n_nodes - 1.
    """
    order = _order(n_nodes, arcs)
    _check_menus(n_nodes, arcs, order, shape, name)
    rank = np.empty(n_nodes, np.int64)
    rank[order] = np.arange(n_nodes)
    tail = rank[[arc[0] for arc in arcs]]
    by_tail = np.argsort(tail, kind="stable")
    head = rank[[arc[1] for arc in arcs]][by_tail]
    sets = [sorted(arcs[i][2]) for i in by_tail]
    start = np.concatenate([[0], np.cumsum([len(cells) for cells in sets])]).astype(np.int64)
    label, parent, cell = label_arcs(
        start, np.array([c for cells in sets for c in cells], np.int64), shape[0] * shape[1]
    )
    first = np.searchsorted(tail[by_tail], np.arange(n_nodes + 1)).astype(np.int64)
    return label_graph(shape, first, head.astype(np.int32), label, parent, cell)


def _order(n_nodes: int, arcs: Sequence[Arc]) -> list[int]:
    """The nodes so that every arc leads to a later one; the first is 0, the last n_nodes - 1."""
    if n_nodes < 2:
        raise InputError(f"a graph needs at least 2 nodes, the first and the last, not {n_nodes}")
    if n_nodes > len(arcs) + 1:
        raise InputError(
            f"{n_nodes:,} nodes, but only {len(arcs):,} arcs: some node is on no path from the first to the last"
        )
    out: list[list[int]] = [[] for _ in range(n_nodes)]
    back: list[list[int]] = [[] for _ in range(n_nodes)]
    for i, (tail, head, _) in enumerate(arcs):
        for node in (tail, head):
            if not 0 <= node < n_nodes:
                raise InputError(f"arc {i}: node {node} is not among 0 .. {n_nodes - 1}")
        out[tail].append(head)
        back[head].append(tail)
    waiting = [len(tails) for tails in back]
    ready = [u for u in range(n_nodes - 1, -1, -1) if waiting[u] == 0]
    order: list[int] = []
    while ready:
        order.append(ready.pop())
        for head in out[order[-1]]:
            waiting[head] -= 1
            if waiting[head] == 0:
                ready.append(head)
    if len(order) < n_nodes:
        raise InputError(f"the graph has a cycle: {' -> '.join(map(str, _cycle(back, waiting)))}")
    for start, ways, words in (
        (0, out, "cannot be reached from node 0"),
        (n_nodes - 1, back, f"leads nowhere: no way to node {n_nodes - 1}"),
    ):
        seen = [u == start for u in range(n_nodes)]
        for u in order if start == 0 else reversed(order):
            if seen[u]:
                for v in ways[u]:
                    seen[v] = True
        if not all(seen):
            raise InputError(f"node {seen.index(False)} {words}")
    return order


def _cycle(back: list[list[int]], waiting: list[int]) -> list[int]:
    """Some cycle among the nodes that wait for another: each of them has such a node before it."""
    path = [next(u for u, count in enumerate(waiting) if count)]
    while True:
        before = next(v for v in back[path[-1]] if waiting[v])
        if before in path:
            return [before, *reversed(path[path.index(before) :])]
        path.append(before)


def _check_menus(
    n_nodes: int, arcs: Sequence[Arc], order: list[int], shape: tuple[int, int], name: Callable[[int], str]
) -> None:
    """Every path decides every menu exactly once. Sets of menus are whole numbers, one bit per menu."""
    m, width = shape
    if n_nodes > len(arcs) + 1:
        raise InputError(
            f"{n_nodes:,} nodes, but only {len(arcs):,} arcs: some node is on no path from the first to the last"
        )
    out: list[list[int]] = [[] for _ in range(n_nodes)]
    for i, arc in enumerate(arcs):
        out[arc[0]].append(i)
    decided: list[int | None] = [None] * n_nodes
    decided[order[0]] = 0
    for u in order:
        so_far = decided[u] or 0
        for i in out[u]:
            tail, head, cells = arcs[i]
            new = 0
            for cell in cells:
                if not 0 <= cell < m * width:
                    raise InputError(
                        f"arc {i} from node {tail} to {head}: cell {cell} is not among 0 .. {m * width - 1}"
                    )
                bit = 1 << cell // width
                if new & bit:
                    raise InputError(f"arc {i} from node {tail} to {head} decides menu {name(cell // width)} twice")
                new |= bit
            if new & so_far:
                menu = (new & so_far).bit_length() - 1
                raise InputError(
                    f"arc {i} from node {tail} to {head} decides menu {name(menu)}, which a way to node {tail} has decided"
                )
            if decided[head] is None:
                decided[head] = so_far | new
            elif decided[head] != so_far | new:
                menu = ((decided[head] or 0) ^ (so_far | new)).bit_length() - 1
                raise InputError(
                    f"one way to node {head} decides menu {name(menu)}, another does not (arc {i} from node {tail})"
                )
    missing = ((1 << m) - 1) & ~(decided[order[-1]] or 0)
    if missing:
        raise InputError(
            f"no path decides menu {name(missing.bit_length() - 1)}: every path must decide every menu once"
        )
