"""Rational choice from budgets: the types are those of `rumflow.core.rational_types`, without listing them.

A type is rational where the budgets can be ordered so that whenever its patch on j lies below k, k comes first. So

    nodes   sets S of budgets placed, from none to all
    arcs    (S, patch i of j) to S and j, where every budget that i lies below is in S; it fills the cell of i

Budgets in groups between which no cycle leads are placed group by group, each group's graph behind the one before: nodes add
up instead of multiplying. Several patches may share a cell, where a further budget cuts patches whose pieces were not told
apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array, Ints
from rumflow.core.graph import Graph, GraphTooLargeError, label_graph
from rumflow.core.graph_cells import Cells
from rumflow.core.rational_types import TypeCount, count_types, link_budgets, sets_below
from rumflow.data.budgets import BudgetData
from rumflow.data.labels import plain_label
from rumflow.errors import InputError
from rumflow.models.model import Model, Wording
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit

_AT_ONCE = 1 << 21  # pairs (node, patch) looked at together
_BYTES_OF_ARC = 28  # tail and head while the graph is built, its arrays and one sweep


class Budgets(Model):
    """Mixtures of rational types on budgets, given by their patches.

    patches  (I, J): -1 where patch i lies below budget j, 1 where it lies above, 0 on its own budget.
    items    (I,): the item of the data that each patch is; patches with the same item share its cell.

    >>> Budgets([[0, -1], [0, 1], [-1, 0], [1, 0]])
    Budgets(2 budgets, 4 patches)
    """

    name = "rational types on budgets"
    single_menus_bind = False  # every patch of a budget is somebody's

    def __init__(self, patches: ArrayLike, items: Sequence[Hashable] | None = None) -> None:
        self.patches: Ints = np.asarray(patches, np.int64)
        if self.patches.ndim != 2 or not ((self.patches == 0).sum(axis=1) == 1).all():
            raise InputError(
                "patches: a table of -1, 0 and 1 is needed with one 0 per row, for the budget of the patch"
            )
        self.budget: Ints = (self.patches == 0).argmax(axis=1)
        self.items: tuple[Hashable, ...] = tuple(range(len(self.patches))) if items is None else tuple(items)

    def __repr__(self) -> str:
        return f"Budgets({self.patches.shape[1]} budgets, {len(self.patches)} patches)"

    @cached_property
    def types(self) -> TypeCount:
        """How many rational types there are, and the share of them that takes each patch."""
        return count_types(self.patches, self.budget)

    def inner_point(self, cells: Cells) -> Array:
        """The table of the mean of all types."""
        menu, column = self._places(cells)
        table = np.zeros(cells.shape)
        seen = menu >= 0
        np.add.at(table, (menu[seen], column[seen]), self.types.mean[seen])
        return table

    def _places(self, cells: Cells) -> tuple[Ints, Ints]:
        """The menu and the column of every patch's cell; -1 where its budget is not among the menus."""
        place = {item: x for x, item in enumerate(cells.items)}
        unknown = [item for item in self.items if item not in place]
        if unknown:
            raise InputError(f"patch {unknown[0]!r} is not among the items of the data")
        item = np.array([place[label] for label in self.items], np.int64)
        inside = cells.membership[:, item]
        menu = np.where(inside.any(axis=0), inside.argmax(axis=0), -1).astype(np.int64)
        column = np.where(menu >= 0, cells.column[menu, item], -1).astype(np.int64)
        for j in range(self.patches.shape[1]):
            own = menu[self.budget == j]
            if len(own) == 0:
                raise InputError(f"budget {j} has no patch: every budget needs at least one")
            if (own != own[0]).any():
                raise InputError(f"the patches of budget {j} are in different menus of the data")
        return menu, column

    def parts(self, cells: Cells) -> list[Ints]:
        """The observed budgets in groups between which no cycle leads."""
        menu = self._places(cells)[0]
        of_budget = np.full(self.patches.shape[1], -1)
        of_budget[self.budget] = menu
        groups = [of_budget[group] for group in link_budgets(self.patches, self.budget)]
        return [np.sort(own[own >= 0]) for own in groups if (own >= 0).any()]

    def geometry(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Graph:
        """The graph of budgets placed; budgets that are not among the menus are placed without filling a cell."""
        menu, column = self._places(cells)
        number = np.where(menu >= 0, menu * cells.width + column, -1)
        used, label = np.unique(number, return_inverse=True)
        label = label.reshape(-1) + (used[0] >= 0)  # label 0 fills nothing
        used = used[used >= 0]
        tails, heads, labels = [], [], []
        nodes, arcs = 1, 0
        for group in link_budgets(self.patches, self.budget):
            own = np.flatnonzero(np.isin(self.budget, group))
            if (menu[own] < 0).all():
                continue  # nothing is asked of these, and they ask nothing of the others
            tail, head, filled, count = _place_group(
                self.patches[own][:, group], np.searchsorted(group, self.budget[own]), label[own], limit, nodes, arcs
            )
            tails.append(tail + nodes - 1)
            heads.append(head + nodes - 1)
            labels.append(filled)
            nodes, arcs = nodes + count - 1, arcs + len(head)
        first = np.searchsorted(np.concatenate(tails), np.arange(nodes + 1)).astype(np.int64)
        return label_graph(
            cells.shape,
            first,
            np.concatenate(heads).astype(np.int32),
            np.concatenate(labels).astype(np.int32),
            np.zeros(1 + len(used), np.int32),
            np.concatenate([[0], used]).astype(np.int32),
        )

    def describe(self) -> dict[str, Any]:
        """Its patches and their items."""
        return {"name": "Budgets", "patches": self.patches.tolist(), "items": [plain_label(x) for x in self.items]}

    def words(self) -> Wording:
        """As of consumers."""
        return Wording("Rational demand", "rational consumers", "who chooses rationally")


def model_of_budgets(data: BudgetData, model: Model | None = None) -> Budgets:
    """The model that goes with budgets; an InputError where another is asked for, or no two budgets cross."""
    if model is not None:
        raise InputError(f"model={model!r}: budgets determine the model, rational choice from these budgets; omit it")
    if len(data.patches) == len(data.labels):
        count = len(data.labels)
        found = "there is one budget" if count == 1 else f"none of the {count} budgets crosses another"
        raise InputError(
            f"{found}, so every demand is rational and there is nothing to compare: budgets that cross are needed"
        )
    return Budgets(data.patches, data.items)


def _place_group(
    signs: Ints, budget: Ints, label: Ints, limit: Limit, nodes: int, arcs: int
) -> tuple[Ints, Ints, Ints, int]:
    """Tails, heads and labels of the arcs of one group, and its number of nodes; `nodes` and `arcs` were made before it.

    Set by set in the order of their sizes. Sets from which no way leads to all budgets, which real budgets do not have, are
    left out.
    """
    n, under = signs.shape[1], sets_below(signs)
    own = np.uint64(1) << budget.astype(np.uint64)
    shared = len(np.unique(label)) < len(label)
    memory = limit.most_bytes
    sets = np.zeros(1, np.uint64)
    begin, tails, heads, labels = 0, [], [], []
    for _ in range(n):
        step = max(1, _AT_ONCE // len(under))
        found: list[tuple[Ints, Ints]] = []
        for low in range(0, len(sets), step):
            some = sets[low : low + step, None]
            row, patch = np.nonzero(((under & ~some) == 0) & ((own & some) == 0))
            found.append((row + low, patch))
            arcs += len(row)
            late = limit.late()
            if nodes + begin + len(sets) > limit.nodes or arcs * _BYTES_OF_ARC > memory or late:
                why = "could not be built in the time that is left of max_seconds: allow more time, or"
                raise GraphTooLargeError(
                    f"the graph of {n} budgets that cross each other, with {len(under):,} patches, has more than "
                    f"{nodes + begin + len(sets):,} nodes and {arcs:,} arcs, which "
                    f"{why if late else 'do not fit:'} take fewer budgets",
                    nodes + begin + len(sets),
                    arcs,
                    arcs * _BYTES_OF_ARC,
                    nodes + begin,
                    late,
                )
        row, patch = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if len(row) == 0:
            raise InputError(
                "no type takes a patch from every budget without a cycle: are the patches those of budgets?"
            )
        after, place = np.unique(sets[row] | own[patch], return_inverse=True)
        place, filled = place.reshape(-1), label[patch]
        if shared:  # patches that share a cell make one arc
            key = (row * len(after) + place) * (int(label.max()) + 1) + filled
            one = np.sort(np.unique(key, return_index=True)[1])
            row, place, filled = row[one], place[one], filled[one]
        tails.append(row + begin)
        heads.append(place + begin + len(sets))
        labels.append(filled)
        begin += len(sets)
        sets = after
    return _without_dead_ends(np.concatenate(tails), np.concatenate(heads), np.concatenate(labels), begin + 1)


def _without_dead_ends(tail: Ints, head: Ints, label: Ints, count: int) -> tuple[Ints, Ints, Ints, int]:
    """The arcs on ways to the last node; nodes are numbered again."""
    alive = np.zeros(count, np.bool_)
    alive[-1] = True
    for start in range(len(tail) - 1, -1, -(1 << 16)):  # tails ascend and arcs lead up: from the end, piece by piece
        piece = slice(max(0, start + 1 - (1 << 16)), start + 1)
        while True:
            good = tail[piece][alive[head[piece]]]
            if alive[good].all():
                break
            alive[good] = True
    keep = alive[tail] & alive[head]
    place = np.cumsum(alive) - 1
    return place[tail[keep]], place[head[keep]], label[keep], int(alive.sum())
