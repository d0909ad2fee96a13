"""The user's own graph: any model whose types are the paths from the first node to the last."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from rumflow.core.arrays import Ints
from rumflow.core.graph import Graph
from rumflow.core.graph_build import build_graph
from rumflow.core.graph_cells import Cells
from rumflow.data.labels import plain_label
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit


class ChoiceGraph(Model):
    """Mixtures of the paths of a graph, given by hand.

    Parameters
    ----------
    n_nodes : int
        The nodes are 0 to n_nodes - 1; the paths from node 0 to the last node are the types.
    arcs : iterable of (from, to, cells)
        A cell is a pair (menu, item): the number of the observed menu, or its items, and the item taken from it. Every
        path must decide every observed menu exactly once.

    Raises
    ------
    InputError
        If the graph has a cycle, a node that is on no path, or a path that does not decide every menu exactly once.

    Examples
    --------
    >>> ChoiceGraph(2, [(0, 1, [(0, "a"), (1, "a")]), (0, 1, [(0, "b"), (1, "c")])])
    ChoiceGraph(2 nodes, 2 arcs)
    """

    name = "types of a graph given by hand"

    def __init__(self, n_nodes: int, arcs: Iterable[tuple[int, int, Iterable[tuple[Any, Hashable]]]]) -> None:
        self.n_nodes: int = int(n_nodes)
        checked = []
        for i, arc in enumerate(arcs):
            if not isinstance(arc, Sequence) or len(arc) != 3:
                raise InputError(f"arc {i}: (from node, to node, cells) is needed, not {arc!r}")
            checked.append((int(arc[0]), int(arc[1]), tuple(arc[2])))
        self.arcs = tuple(checked)

    def __repr__(self) -> str:
        return f"ChoiceGraph({self.n_nodes} nodes, {len(self.arcs)} arcs)"

    def geometry(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Graph:
        """The graph, checked: no cycle, every node on a path, every path decides every menu once."""
        arcs = [
            (tail, head, [j * cells.width + int(cells.column[j, x]) for j, x in own])
            for tail, head, own in self._numbered(cells)
        ]
        return build_graph(self.n_nodes, arcs, cells.shape, cells.name)

    def restrict(self, cells: Cells, rows: Ints) -> ChoiceGraph:
        """The same graph on some of the menus: its arcs fill no cells of the others."""
        new = {int(row): k for k, row in enumerate(rows)}
        arcs = [
            (tail, head, [(new[j], cells.items[x]) for j, x in own if j in new])
            for tail, head, own in self._numbered(cells)
        ]
        return ChoiceGraph(self.n_nodes, arcs)

    def _numbered(self, cells: Cells) -> list[tuple[int, int, list[tuple[int, int]]]]:
        """The arcs with their cells as numbers of menus and items."""
        place = {item: x for x, item in enumerate(cells.items)}
        menus = {frozenset(np.flatnonzero(members).tolist()): j for j, members in enumerate(cells.membership)}

        def find(i: int, cell: tuple[Any, Hashable]) -> tuple[int, int]:
            if isinstance(cell, str) or not isinstance(cell, Sequence) or len(cell) != 2:
                raise InputError(f"arc {i}: a cell is a pair (menu, item), not {cell!r}")
            menu, item = cell
            if isinstance(menu, int | np.integer):
                j = int(menu) if 0 <= menu < cells.shape[0] else None
            else:
                j = menus.get(frozenset(place.get(x, -1) for x in menu)) if isinstance(menu, Iterable) else None
            if j is None:
                raise InputError(f"arc {i}: {menu!r} is none of the {cells.shape[0]} observed menus")
            if item not in place or not cells.membership[j, place[item]]:
                raise InputError(f"arc {i}: item {item!r} is not in menu {cells.name(j)}")
            return j, place[item]

        return [(tail, head, [find(i, cell) for cell in own]) for i, (tail, head, own) in enumerate(self.arcs)]

    def describe(self) -> dict[str, Any]:
        """Its nodes and arcs."""
        arcs = [
            [tail, head, [[_plain_menu(menu), plain_label(item)] for menu, item in cells]]
            for tail, head, cells in self.arcs
        ]
        return {"name": "ChoiceGraph", "n_nodes": self.n_nodes, "arcs": arcs}


def _plain_menu(menu: Any) -> Any:
    return int(menu) if isinstance(menu, int | np.integer) else [plain_label(item) for item in menu]
