"""Single-peaked preferences on an axis: everybody has a best item, and on each side of it nearer items are better.

The best k items of such a ranking are an interval of the axis. Nodes are the intervals and the empty start, arcs add the next
item to the left or to the right. The arc from [l, r] to x fills (D, x) for menus D with x but nothing of [l, r]. To the left,
x = l - 1, these are the D whose next item after x lies beyond r: the larger r, the fewer. So the labels of the arcs that reach x
from its right form one chain, and those from its left another.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from rumflow.check import check_different, check_item
from rumflow.core.arrays import Ints, Mask, Paths
from rumflow.core.graph import Graph, GraphTooLargeError, follow_type, label_graph
from rumflow.core.graph_cells import Cells
from rumflow.data.labels import plain_label
from rumflow.errors import InputError
from rumflow.models.model import Model, Wording
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit

_BYTES_OF_ARC = 60  # while the graph is built, its arrays and one sweep


class SinglePeaked(Model):
    """Mixtures of rankings that are single-peaked on an axis.

    Everybody has a best item, and on each side of it nearer items are better.

    Parameters
    ----------
    axis : iterable
        All items in the order of the axis.

    Raises
    ------
    InputError
        If an item appears twice; later, when data are given, if the items of the axis are not those of the data.

    Examples
    --------
    >>> SinglePeaked(["left", "centre", "right"])
    SinglePeaked(['left', 'centre', 'right'])
    """

    name = "single-peaked preferences"
    types_are_rankings = of_rankings = True
    single_menus_bind = False  # every item is somebody's peak

    def __init__(self, axis: Iterable[Hashable]) -> None:
        self.axis: tuple[Hashable, ...] = tuple(axis)
        check_different(self.axis, "axis")

    def __repr__(self) -> str:
        return f"SinglePeaked({list(self.axis)})"

    def _items(self, cells: Cells) -> Ints:
        """The items by their place on the axis."""
        place = {item: x for x, item in enumerate(cells.items)}
        for item in self.axis:
            check_item(item, place, "axis")
        if len(self.axis) < len(place):
            missing = next(item for item in cells.items if item not in self.axis)
            raise InputError(f"axis: item {missing!r} of the data is missing; give all items in order")
        return np.array([place[item] for item in self.axis], np.int64)

    def geometry(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Graph:
        """The graph of intervals: n (n + 1) / 2 + 1 nodes, n^2 arcs."""
        items = self._items(cells)
        n = len(items)
        nodes, needed = n * (n + 1) // 2 + 1, _BYTES_OF_ARC * n * n
        if needed > limit.most_bytes:
            raise GraphTooLargeError(
                f"the graph of {n:,} items on the axis has {nodes:,} nodes and {n * n:,} arcs, which do not fit into memory: "
                "take fewer items",
                nodes,
                n * n,
                needed,
                0,
            )
        after, before, parent, cell = _chains(cells, items)
        tails, heads, labels = [np.zeros(n, np.int64)], [1 + np.arange(n)], [after[np.arange(n), np.arange(n)]]
        for length in range(1, n):
            left = np.arange(n - length + 1)
            right = left + length - 1
            node, longer = _number(n, length), _number(n, length + 1)
            # Every interval may grow to the left, to the right, or both; arcs are in the order of their tails.
            tail = np.repeat(node + left, 2)
            head = np.stack([longer + left - 1, longer + left], axis=1).reshape(-1)
            label = np.stack([after[left - 1, right], before[np.minimum(right + 1, n - 1), left]], axis=1).reshape(-1)
            possible = np.stack([left > 0, right < n - 1], axis=1).reshape(-1)
            tails.append(tail[possible])
            heads.append(head[possible])
            labels.append(label[possible])
        tail, head, label = (np.concatenate(parts) for parts in (tails, heads, labels))
        first = np.searchsorted(tail, np.arange(nodes + 1)).astype(np.int64)
        return label_graph(cells.shape, first, head.astype(np.int32), label.astype(np.int32), parent, cell)

    def orders(self, cells: Cells, types: Paths) -> Ints:
        """(k, n): a single-peaked ranking for each type; of several, the one that extends to the left whenever it can."""
        graph = self.geometry(cells)
        items, n = self._items(cells), len(self.axis)
        length = np.repeat(np.arange(1, n + 1), np.arange(n, 0, -1))  # of the intervals, node 1 first
        left = np.concatenate([np.arange(n - size + 1) for size in range(1, n + 1)])
        orders = np.empty((len(types), n), np.int64)
        arcs = np.empty(n, np.int64)
        for order, row in zip(orders, types, strict=True):
            if follow_type(graph, row, arcs) < 0:
                raise InputError("a type is not what any single-peaked ranking takes from the observed menus")
            head = graph.head[arcs] - 1
            start, size = left[head], length[head]
            grown_left = np.concatenate([[True], start[1:] < start[:-1]])
            order[:] = items[np.where(grown_left, start, start + size - 1)]
        return orders

    def describe(self) -> dict[str, Any]:
        """Its axis."""
        return {"name": "SinglePeaked", "axis": [plain_label(item) for item in self.axis]}

    def words(self) -> Wording:
        """As of people with a peak."""
        return Wording("Single-peaked choice", f"people with {self.name}", "with a single-peaked ranking")


def _number(n: int, length: int) -> int:
    """The node of the leftmost interval of a length; shorter intervals come before, after the start."""
    return 1 + sum(n - shorter + 1 for shorter in range(1, length))


def _chains(cells: Cells, items: Ints) -> tuple[Ints, Ints, Paths, Paths]:
    """Labels by places on the axis.

    after[x, r]: the cells (D, x) of menus whose next item after x lies beyond r (r >= x);
    before[x, l]: of menus whose last item before x lies before l (l <= x).
    """
    n, width = len(items), cells.width
    member = cells.membership[:, items]
    parent, cell = [0], [0]
    after, before = np.zeros((n, n), np.int64), np.zeros((n, n), np.int64)
    for x in range(n):
        menus = np.flatnonzero(member[:, x])
        number = menus * width + cells.column[menus, items[x]]
        sides = (
            (after, member[menus, x + 1 :], range(n - 1, x - 1, -1)),
            (before, member[menus, :x][:, ::-1], range(x + 1)),
        )
        for table, side, ends in sides:
            gap = 1 + np.array([_first(row) for row in side], np.int64)  # from x to the next item of the menu
            order = np.argsort(-gap, kind="stable")
            label, taken = 0, 0
            for end in ends:  # of the interval on this side of x, the farthest first
                while taken < len(order) and gap[order[taken]] > abs(end - x):
                    parent.append(label)
                    cell.append(int(number[order[taken]]))
                    label = len(parent) - 1
                    taken += 1
                table[x, end] = label
    return after, before, np.array(parent, np.int32), np.array(cell, np.int32)


def _first(members: Mask) -> int:
    """The place of the first member; beyond all places where there is none."""
    return int(members.argmax()) if members.any() else 1 << 40
