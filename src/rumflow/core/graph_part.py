"""Sweeps over a part of a choice graph: the cheapest ways over the nodes and arcs that cheap types led over a moment ago.

While prices change little, few nodes and arcs can become those of a cheap type. The nodes of a part are numbered anew and its
arcs copied, so that a sweep is that of `rumflow.core.graph` on a small graph; what it finds is written back under the numbers of
the whole graph. The price of the cheapest type of a part bounds that of the whole from above, and proves nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.compile import kernel
from rumflow.core.graph import (
    NO_INDEX,
    Graph,
    Index,
    Sweep,
    find_ways,
    label_graph,
    make_sweep,
    price_labels,
    prices_by_item,
    sum_open_menus,
)


class Part(NamedTuple):
    """Some of the nodes of a graph, and the arcs between them."""

    nodes: Index  # ascending, source and sink among them
    arcs: Index  # their numbers in the whole graph
    graph: Graph  # nodes and arcs numbered anew; it has no cells of its own
    sweep: Sweep


@kernel
def list_arcs(graph, sweep, nodes, place, limit, first, arcs, head):
    """The arcs between the nodes that types up to a price lead over, as far as there is room; how many there are."""
    count = 0
    first[0] = 0
    for i in range(nodes.shape[0]):
        left = limit - sweep.above[nodes[i]]
        for arc in range(graph.first[nodes[i]], graph.first[nodes[i] + 1]):
            there = graph.head[arc]
            if sweep.price[arc] + sweep.below[there] <= left and place[there] >= 0:
                if count < arcs.shape[0]:
                    arcs[count] = arc
                    head[count] = place[there]
                count += 1
        first[i + 1] = count
    return count


def make_part(graph: Graph, sweep: Sweep, limit: float) -> Part:
    """The nodes and arcs that types up to a price lead over, by a sweep over the whole graph."""
    near = sweep.above[:-1] + sweep.below[:-1] <= limit
    near[0] = near[-1] = True  # whatever rounding says
    nodes = np.flatnonzero(near).astype(np.int32)
    place = np.full(graph.n_nodes + 1, -1, np.int32)
    place[nodes] = np.arange(len(nodes), dtype=np.int32)
    first = np.empty(len(nodes) + 1, np.int64)
    count, room = 4 * len(nodes), 0
    while count > room:
        room = count
        arcs, head = np.empty((2, room), np.int32)
        count = list_arcs(graph, sweep, nodes, place, limit, first, arcs, head)
    own = label_graph(graph.shape, first, head[:count], NO_INDEX, NO_INDEX, NO_INDEX)
    return Part(nodes, arcs[:count], own, make_sweep(own))


@kernel
def price_part(graph, part, by_item, label):
    """Prices of the arcs of a part: from rows `by_item` of the open menus, or from those of labels."""
    row = np.empty(by_item.shape[1])
    first, arcs, price = part.graph.first, part.arcs, part.sweep.price
    for i in range(part.nodes.shape[0]):
        node = np.int64(part.nodes[i])
        start = graph.first[node]
        if graph.base.shape[0] > 0:
            sum_open_menus(graph, by_item, node, row)
            for a in range(first[i], first[i + 1]):
                price[a] = row[arcs[a] - start]
        else:
            for a in range(first[i], first[i + 1]):
                price[a] = label[graph.label[arcs[a]]]


@kernel
def write_back(part, sweep):
    """What was found on a part, under the numbers of the whole graph; there is no way over other nodes."""
    nodes, arcs, own = part.nodes, part.arcs, part.sweep
    for u in range(sweep.below.shape[0]):
        sweep.below[u] = sweep.above[u] = np.inf
    for i in range(nodes.shape[0]):
        u = nodes[i]
        sweep.below[u], sweep.above[u] = own.below[i], own.above[i]
        sweep.arc_out[u] = arcs[own.arc_out[i]] if own.arc_out[i] >= 0 else -1
        sweep.arc_in[u] = arcs[own.arc_in[i]] if own.arc_in[i] >= 0 else -1
        sweep.tail[u] = nodes[own.tail[i]] if own.tail[i] >= 0 else -1


def sweep_part(graph: Graph, part: Part, cost: Array, sweep: Sweep, threads: int = 1) -> float:
    """Cheapest ways over the nodes of a part, into the `sweep` of the whole graph; the price of its cheapest type."""
    if len(graph.base):
        price_part(graph, part, prices_by_item(graph.column, cost), sweep.label)
    else:
        price_labels(graph, cost.reshape(-1), sweep.label)
        price_part(graph, part, cost, sweep.label)
    cheapest = find_ways(part.graph, part.sweep, threads)
    write_back(part, sweep)
    return cheapest
