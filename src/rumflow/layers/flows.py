"""Flows by construction: the tables from which scores of arcs become choice probabilities, without a solver.

Every node of a choice graph divides what arrives among its arcs by a softmax of their scores; the source has 1. So the arcs carry
a unit flow k whatever the scores are, and rho = C k are the probabilities of a mixture of the graph's types. Scores log k give
back any positive flow k, hence every mixture is a limit.

The lattice of all menus is the graph whose nodes are menus (what is left when the best items have been taken), whose arcs are the
cells (E, x), and whose matrix C is the zeta transform Z, rho(D, x) = sum over E >= D of k(E, x). There, and on the graphs of
plain random utility, scores that depend on the item alone give Luce's rule: the next best of what is left is x with odds
exp u(x), in every menu.

A node can be dealt with when all nodes before it have been: nodes are put in *levels* by their longest way from the source, and
inside a level in groups of equal numbers of arcs, so that the softmax of a group is one of a dense array.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Ints
from rumflow.core.compile import kernel
from rumflow.core.graph import Graph, fill_cells
from rumflow.core.lattice import Lattice
from rumflow.core.memory import cell_bytes, require_memory
from rumflow.errors import InputError
from rumflow.layers.cells import advise, label_menus
from rumflow.layers.engines import graph_cells
from rumflow.models.model import Model, require_model
from rumflow.models.random_utility import RANDOM_UTILITY
from rumflow.solvers.routes import LATTICE_ITEMS


class Level(NamedTuple):
    """The nodes at one distance from the source, and their arcs."""

    groups: tuple[tuple[int, int], ...]  # (nodes, arcs of each), one after the other
    nodes: int
    arcs: int
    reach: int  # how many nodes after this level an arc of this or an earlier level leads to
    ends: bool  # whether some arc leads to the sink


class Flows(NamedTuple):
    """A graph in the order in which flows are computed; arcs are those of the user, in the user's order, in `order`."""

    levels: tuple[Level, ...]
    order: Ints  # (arcs,): the user's number of every arc
    heads: (
        Ints  # (arcs,): the node that an arc leads to, counted from the first node after its level; `reach`: the sink
    )


def arrange(tail: Ints, head: Ints, n_nodes: int) -> Flows:
    """Levels of a graph; node 0 is the source, the last node the sink, and arcs lead to higher numbers."""
    sink = n_nodes - 1
    depth = _longest_ways(tail, head, np.zeros(n_nodes, np.int64))
    degree = np.bincount(tail, minlength=n_nodes)
    reached = np.zeros(n_nodes, np.bool_)
    reached[0] = True
    reached[head] = True
    reached[sink] = False
    nodes = np.flatnonzero(reached)
    nodes = nodes[np.lexsort((nodes, degree[nodes], depth[nodes]))]
    place = np.full(n_nodes, -1, np.int64)
    place[nodes] = np.arange(len(nodes))
    order = np.argsort(place[tail], kind="stable")
    heads = np.empty(len(order), np.int64)
    ends = np.cumsum(np.bincount(depth[nodes]))
    sums = np.append(0, np.cumsum(degree[nodes]))
    levels = []
    reach = 1
    for begin, end in zip(np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True):
        arcs = slice(int(sums[begin]), int(sums[end]))
        ahead = head[order[arcs]]
        to_sink = ahead == sink
        number = place[ahead] - end
        reach = max(int(number[~to_sink].max(initial=-1)) + 1, reach - (end - begin))
        heads[arcs] = np.where(to_sink, reach, number)
        sizes, counts = np.unique(degree[nodes[begin:end]], return_counts=True)
        groups = tuple(zip(counts.tolist(), sizes.tolist(), strict=True))
        levels.append(Level(groups, end - begin, arcs.stop - arcs.start, reach, bool(to_sink.any())))
    return Flows(tuple(levels), order, heads)


@kernel
def _longest_ways(tail, head, depth):
    """The number of arcs of the longest way from the source to every node; arcs ascend by their tails."""
    for a in range(tail.shape[0]):
        depth[head[a]] = max(depth[head[a]], depth[tail[a]] + 1)
    return depth


def lattice_flows(n: int) -> Flows:
    """The lattice of all menus of n items; its arcs are its cells, in the order of `Lattice(n).cells`."""
    menu, item = Lattice(n).cells.T
    full = (1 << n) - 1
    # The full menu is the source and the empty one the sink. Cells descend by their menus as arcs must.
    order = np.argsort(full - menu, kind="stable")
    flows = arrange((full - menu)[order], (full - (menu ^ (1 << item)))[order], 1 << n)
    return flows._replace(order=order[flows.order])


class FlowTables(NamedTuple):
    """All that a layer of flows needs, whatever library it is written in.

    `arrays` are the index arrays, by name:

        order, heads             as in `Flows`
        items                    the item of each arc; on graphs those of `item_arc`
        rows, places             all menus: flows to rows of items, where the zeta transform works bit by bit; rows to cells
        entry_arc, entry_cell    graphs: for every cell that an arc fills, the arc (in the order of the flow) and the cell
        item_arc, share          graphs: for every item that an arc takes, the arc, and 1 / how many items it takes
        single                   graphs: the cells of menus of one item, which are not in the graph
    """

    n: int
    cells: Ints  # (M, 2): menu and item of each probability
    arcs: Ints  # (A, 2): node and item of each score; -1 where an arc does not take just one item
    levels: tuple[Level, ...]
    arrays: dict[str, NDArray[Any]]

    @property
    def has_all_menus(self) -> bool:
        """Whether this is the lattice of all menus."""
        return "rows" in self.arrays

    @property
    def takes_one_item(self) -> bool:
        """Whether every arc takes just one item."""
        return bool((self.arcs[:, 1] >= 0).all())

    def takes_utilities(self, scores: tuple[int, ...], residuals: tuple[int, ...] | None) -> bool:
        """Whether inputs of these shapes are utilities of items, and not scores of arcs; an error where they are neither."""
        arcs, last = len(self.arcs), scores[-1] if scores else 0
        if residuals is None and last == arcs:
            return False
        if last != self.n:
            also = "" if residuals is not None else f", or over the {arcs} scores of arcs"
            raise InputError(
                f"the last axis must run over the utilities of {self.n} items{also}; the input has shape {scores}"
            )
        if residuals is not None and residuals[-1:] != (arcs,):
            raise InputError(f"residuals: the last axis must run over the {arcs} arcs; the input has shape {residuals}")
        return True

    @classmethod
    def of_all_menus(cls, n: int) -> FlowTables:
        """All menus of n items; scores and probabilities are those of `Lattice(n).cells`."""
        lattice = Lattice(n)
        n = lattice.n
        if n > LATTICE_ITEMS:
            raise InputError(
                f"n = {n}: all menus of at most {LATTICE_ITEMS} items are possible; FlowRUM.of(None, menus, n) takes the "
                "menus that are needed"
            )
        require_memory(12 * cell_bytes(n), f"the flow over all menus of {n} items", "FlowRUM.of takes fewer menus")
        flows = lattice_flows(n)
        position = np.argsort(flows.order)
        arrays = {
            "order": flows.order,
            "heads": flows.heads,
            "items": lattice.cells[:, 1],
            "rows": position[np.argsort(lattice.cell_index)],
            "places": lattice.cell_index,
        }
        return cls(n, lattice.cells, lattice.cells, flows.levels, arrays)

    @classmethod
    def of_model(
        cls, model: Model, menus: Iterable[Iterable[Hashable]], items: Sequence[Hashable] | int | None
    ) -> FlowTables:
        """Some menus; scores are those of the arcs of the model's graph."""
        numbers, labels = label_menus(menus, items)
        cells = np.array([(j, x) for j, menu in enumerate(numbers) for x in menu], np.int64)
        several = np.array([len(menu) > 1 for menu in numbers])[cells[:, 0]]
        if not several.any():
            raise InputError("menus: at least one menu of two items or more is needed")
        observed = graph_cells(numbers, labels)
        with advise():
            graph = model.geometry(observed)
        tail, head, entry_arc, entry = _arcs_and_cells(graph)
        flows = arrange(tail, head, graph.n_nodes)
        # The item of each cell of the graph's tables, and its number among the cells of the layer.
        row, item = observed.offered.menu, observed.offered.item.astype(np.int64)
        column = observed.columns(row, item)
        item_of, cell_of = np.zeros(observed.shape, np.int64), np.zeros(observed.shape, np.int64)
        item_of[row, column], cell_of[row, column] = item, np.flatnonzero(several)
        pairs = np.unique(np.stack([entry_arc, item_of.reshape(-1)[entry]], axis=1), axis=0)
        taken = np.bincount(pairs[:, 0], minlength=len(tail))
        single = np.full(len(tail), -1, np.int64)
        alone = taken[pairs[:, 0]] == 1
        single[pairs[alone, 0]] = pairs[alone, 1]
        by_cell = np.argsort(entry, kind="stable")
        arrays = {
            "order": flows.order,
            "heads": flows.heads,
            "items": pairs[:, 1],
            "item_arc": pairs[:, 0],
            "share": 1.0 / taken[pairs[:, 0]],
            "entry_arc": np.argsort(flows.order)[entry_arc[by_cell]],
            "entry_cell": cell_of.reshape(-1)[entry[by_cell]],
            "single": np.flatnonzero(~several),
        }
        return cls(len(labels), cells, np.stack([tail, single], axis=1), flows.levels, arrays)


def _arcs_and_cells(graph: Graph) -> tuple[Ints, Ints, Ints, Ints]:
    """Tails and heads of the arcs; for every cell that an arc fills, the arc and the number of the cell in the graph's tables."""
    there = np.flatnonzero(graph.head < graph.n_nodes)
    tail = np.repeat(np.arange(graph.n_nodes), np.diff(graph.first))[there]
    n_entries = int(_count_cells(graph, there))
    require_memory(
        40.0 * n_entries,
        f"the {n_entries:,} cells that the {len(there):,} arcs of the graph fill",
        "take fewer menus, or AxiomLayer, which does not list them",
    )
    arc, cell = np.empty(n_entries, np.int64), np.empty(n_entries, np.int64)
    _list_cells(graph, there, arc, cell)
    return tail, graph.head[there].astype(np.int64), arc, cell


@kernel
def _count_cells(graph, arcs):
    row = np.empty(graph.shape[0], np.int32)
    total = np.int64(0)
    for arc in arcs:
        row[:] = -1
        fill_cells(graph, np.int64(arc), row)
        for column in row:
            total += column >= 0
    return total


@kernel
def _list_cells(graph, arcs, arc_of, cell_of):
    row = np.empty(graph.shape[0], np.int32)
    at = 0
    for i in range(arcs.shape[0]):
        row[:] = -1
        fill_cells(graph, np.int64(arcs[i]), row)
        for menu in range(row.shape[0]):
            if row[menu] >= 0:
                arc_of[at] = i
                cell_of[at] = menu * graph.shape[1] + row[menu]
                at += 1


class FlowLayer:
    """What the flows of all frameworks share: how they are made, and which shapes they take. A framework adds the arithmetic."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self._set(RANDOM_UTILITY, FlowTables.of_all_menus(n))

    @classmethod
    def of(
        cls, model: Model | None, menus: Iterable[Iterable[Hashable]], items: Sequence[Hashable] | int | None = None
    ) -> Self:
        """Make the layer of any model on some menus.

        Parameters
        ----------
        model : Model, optional
            As for `rumflow.project`; None: random utility.
        menus : iterable of menus
            Collections of items.
        items : sequence or int, optional
            The labels of all items in their order, or how many there are; None: 0 to the largest number in the menus.

        Returns
        -------
        FlowRUM
            Its scores are those of `arcs`, its probabilities those of the cells of `menus`, menu after menu, in each the
            items ascending (`cells`).

        Raises
        ------
        InputError
            If an argument is not accepted, or the model's graph is too large.
        """
        require_model(model)
        own = cls.__new__(cls)
        super(FlowLayer, own).__init__()
        own._set(model or RANDOM_UTILITY, FlowTables.of_model(model or RANDOM_UTILITY, menus, items))
        return own

    def _set(self, model: Model, tables: FlowTables) -> None:
        self.model: Model = model
        self.n: int = tables.n
        self.cells: Ints = tables.cells
        self.arcs: Ints = tables.arcs
        self._tables = tables
