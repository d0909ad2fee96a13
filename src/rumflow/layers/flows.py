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

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Ints
from rumflow.core.compile import kernel
from rumflow.core.graph import Graph, fill_cells
from rumflow.core.lattice import Lattice
from rumflow.core.memory import require_memory


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


class GraphFlows(NamedTuple):
    """The same for a choice graph, with the cells that its arcs fill."""

    flows: Flows
    arcs: Ints  # (arcs, 2): node, and the item that is taken there, -1 where it is not one
    entry_arc: Ints  # for every cell that an arc fills: the arc, in the order of the flow
    entry_cell: Ints  # and the number of the cell in tables of the graph's shape, ascending
    item_arc: Ints  # for every item that an arc takes somewhere: the arc, in the user's order, ascending
    item: Ints


def graph_flows(graph: Graph, items: Ints) -> GraphFlows:
    """A choice graph; `items`: the item of every cell of tables of the graph's shape."""
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
    flows = arrange(tail, graph.head[there].astype(np.int64), graph.n_nodes)
    pairs = np.unique(np.stack([arc, items[cell]], axis=1), axis=0)
    taken = np.bincount(pairs[:, 0], minlength=len(there))
    single = np.full(len(there), -1, np.int64)
    alone = taken[pairs[:, 0]] == 1
    single[pairs[alone, 0]] = pairs[alone, 1]
    position = np.empty(len(there), np.int64)
    position[flows.order] = np.arange(len(there))
    by_cell = np.argsort(cell, kind="stable")
    return GraphFlows(
        flows, np.stack([tail, single], axis=1), position[arc[by_cell]], cell[by_cell], pairs[:, 0], pairs[:, 1]
    )


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
