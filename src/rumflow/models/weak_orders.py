"""Weak orders on pairs with ties as an outcome: everybody ranks the items, and some of them may be equally good."""

from __future__ import annotations

from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.blocks import blocks_of
from rumflow.core.graph import Graph, label_graph
from rumflow.core.graph_build import label_arcs
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.data.labels import TIE, tie_number
from rumflow.data.ties import check_ties, pair_items
from rumflow.errors import InputError
from rumflow.models.model import Model, Wording
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit
from rumflow.models.relevance import relevant_pairs

#: A block of so many items has 3^10 arcs.
MOST_ITEMS = 10


class WeakOrders(Model):
    """People whose rankings may have ties, asked about pairs in which a tie is an outcome (`rf.TIE`).

    A weak order is a sequence of classes of equals, the best first. Its pairs are a, b or a tie. The graph has a node for
    every set S of items that are placed, and an arc from S to T for the next class, T without S: 3^n arcs. Blocks of the
    comparison graph, which share single items at most, combine freely and have a graph each, of at most 10 items; beyond
    that `rf.TriangleInequalities` has inequalities that every such population obeys, for any number of items.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({
    ...     ("a", "b", rf.TIE): {"a": 8, "b": 1, rf.TIE: 1}, ("b", "c", rf.TIE): {"b": 8, "c": 1, rf.TIE: 1},
    ...     ("a", "c", rf.TIE): {"a": 2, "c": 6, rf.TIE: 2},
    ... })
    >>> round(rf.project(data, model=rf.WeakOrders()).distance, 4)
    0.3873
    """

    name = "weak orders"
    single_menus_bind = False  # every outcome of a pair is that of some weak order

    def __repr__(self) -> str:
        return "WeakOrders()"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def geometry(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Graph:
        """The graph of sets of items that are placed."""
        ends = _pairs_of(cells)
        items, place = np.unique(ends, return_inverse=True)
        n = len(items)
        if n > MOST_ITEMS:
            raise InputError(
                f"WeakOrders(): {n} of the items are compared with each other in one block, and at most {MOST_ITEMS} are "
                "possible; TriangleInequalities() takes any number, and what rejects it rejects weak orders"
            )
        first, tail, head = _arcs(n)
        new = head & ~tail
        a, b = (np.int64(1) << place.reshape(-1, 2)).T
        a_new, b_new = (new[:, None] & a) > 0, (new[:, None] & b) > 0
        a_placed, b_placed = (head[:, None] & a) > 0, (head[:, None] & b) > 0
        tie = tie_number(cells.items)
        taken = [(a_new & ~b_placed, ends[:, 0]), (b_new & ~a_placed, ends[:, 1]), (a_new & b_new, None)]
        number = np.full(a_new.shape, -1)
        row = np.arange(len(cells))
        for where, item in taken:
            cell = row * cells.width + cells.columns(row, np.full(len(cells), tie) if item is None else item)
            number = np.where(where, cell, number)
        arc, pair = np.nonzero(number >= 0)  # pairs ascend, and so do the numbers of cells
        start = np.searchsorted(arc, np.arange(len(tail) + 1))
        label, parent, cell = label_arcs(start, number[arc, pair], len(cells) * cells.width)
        return label_graph(cells.shape, first, head.astype(np.int32), label, parent, cell)

    def parts(self, cells: Cells) -> list[Ints]:
        """Blocks of the comparison graph: weak orders that share one item at most agree with one over all items."""
        return _blocks(_pairs_of(cells), cells.n_items)

    def relevant(self, menus: Menus, times: Ints, taken: Mask, even: Mask) -> Mask:
        """Pairs on no cycle leave."""
        return relevant_pairs(menus, times, taken, even)

    def inner_point(self, cells: Cells) -> Array:
        """One third everywhere, which is the mean of a, b and a tie of all items."""
        return np.where(cells.filled, 1.0 / cells.count[:, None], 0.0) if cells.all_recorded else _partly(cells)

    def describe(self) -> dict[str, Any]:
        """Its name says all."""
        return {"name": "WeakOrders"}

    def words(self) -> Wording:
        """As of people with weak orders."""
        return Wording("Weak order", "people with weak orders", "with a weak order")


def largest_block(menus: Menus, tie: int) -> int:
    """The number of items of the largest block of pairs with the outcome `tie`; up to `MOST_ITEMS` have a graph."""
    ends = pair_items(menus, tie)
    return max(len(np.unique(ends[block])) for block in _blocks(ends, menus.n_items))


def _blocks(ends: Ints, n: int) -> list[Ints]:
    """The pairs of each block of the comparison graph."""
    menus = Menus(2 * np.arange(len(ends) + 1), np.sort(ends, axis=1).reshape(-1).astype(np.int32), n)
    block = blocks_of(menus)
    order = np.argsort(block, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(block[order])) + 1)


def _partly(cells: Cells) -> Array:
    """One third of each outcome, those that were not recorded together."""
    table = np.zeros(cells.shape)
    np.add.at(table, (cells.offered.menu, cells.place), 1.0 / 3.0)
    return table


def _pairs_of(cells: Cells) -> Ints:
    """(menus, 2): the items of every pair; an error where menus are not pairs with ties as an outcome."""
    check_ties(cells.items, cells.offered)
    tie = tie_number(cells.items)
    if tie < 0 or (cells.offered.item != tie).all():
        raise InputError(
            f"menu {cells.name(0)}: WeakOrders() is for pairs with ties as an outcome, {{a, b, {TIE}}}: read them with "
            "ties='outcome' (--ties outcome); without ties take RandomUtility()"
        )
    return pair_items(cells.offered, tie)


def _arcs(n: int) -> tuple[Ints, Ints, Ints]:
    """Where the arcs of each node begin, and tails and heads of arcs, sets as bit masks: all T that hold S and more."""
    sets = np.arange(1 << n)
    tail, head = np.nonzero(((sets[:, None] & sets[None, :]) == sets[:, None]) & (sets[:, None] != sets[None, :]))
    return np.searchsorted(tail, np.arange((1 << n) + 1)).astype(np.int64), tail, head
