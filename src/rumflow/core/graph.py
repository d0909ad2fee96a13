"""Choice graphs: types as the paths of an acyclic graph whose arcs decide menus.

Nodes are numbered so that arcs lead to higher numbers; node 0 is the source, the last node the sink, and every path from the one
to the other is a type. An arc fills cells (`rumflow.core.graph_cells`), and every path fills one cell of every menu.
With C[cell, arc] = 1 where the arc fills the cell, a unit flow f gives the probabilities rho = C f, and prices g of cells give
prices C^T g of arcs.

*Cheapest ways*, one pass over the arcs each:

    below[u] = cheapest way from u to the sink    = min over arcs a from u of price(a) + below[head(a)]
    above[u] = cheapest way from the source to u  = min over arcs a into u of above[tail(a)] + price(a)

*Which cells an arc fills* is said in one of two ways, so that a price takes few additions however many cells there are:

* labels  arcs that fill the same cells share a label; a label is another label and one cell more,
          price[label] = price[parent[label]] + g[cell[label]]. Label 0 fills nothing. For graphs of any kind.
* rows    node u is a set of open menus and has one arc per item, which fills the cells (D, item) for every D in u that has
          the item (`rumflow.models.open_menus`). u is the set `base[u]` and the menus `added` to it, so the prices of all
          arcs of u are those of base[u] plus one row of g for each menu added: whole rows at a time, in the order of memory.
          Items that no open menu has lead to a node beyond the sink from which there is no way on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.compile import kernel, leaf
from rumflow.core.threads import run_threads, thread_count
from rumflow.errors import InputError

_THREADED = 50_000  # arcs from which a second thread pays
_FILLED_A_CALL = 1 << 27  # cells between two chances to hear Ctrl-C

Index = NDArray[np.int32]


class Graph(NamedTuple):
    """An explicit choice graph. Graphs of labels have no `base`, graphs of rows no `label`."""

    shape: tuple[int, int]  # (menus, width) of tables of cells
    n_arcs: int
    first: Ints  # (nodes + 1,): the arcs from node u are first[u] .. first[u + 1] - 1
    head: Index  # (arcs,); number of nodes: no such arc
    label: Index  # (arcs,)
    parent: Index  # (labels,): smaller than the label's own number; label 0 is its own parent
    cell: Index  # (labels,): number of the cell in tables of `shape`
    base: Index  # (nodes,): higher than the node's own number; the sink is its own base
    added_first: Ints  # (nodes + 1,): the menus added at node u are added[added_first[u] .. added_first[u + 1] - 1]
    added: Index
    column: Index  # (menus, items): the column of the cell (menu, item); -1 where the item is not in the menu

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.first) - 1

    @property
    def n_bytes(self) -> int:
        """Memory of the graph and of one sweep over it."""
        return sum(a.nbytes for a in self[2:]) + 8 * (len(self.parent) + len(self.head)) + 28 * self.n_nodes


NO_INDEX = np.empty(0, np.int32)


def label_graph(shape: tuple[int, int], first: Ints, head: Index, label: Index, parent: Index, cell: Index) -> Graph:
    """A graph whose arcs have labels."""
    return Graph(
        shape,
        len(head),
        first,
        head,
        label,
        parent,
        cell,
        NO_INDEX,
        np.zeros(1, np.int64),
        NO_INDEX,
        NO_INDEX.reshape(0, 1),
    )


class GraphTooLargeError(InputError):
    """A graph outgrew its limit while it was built; how many nodes and arcs it had, and how many nodes had all their arcs.

    late   it was the time that was over.
    """

    def __init__(self, message: str, nodes: int, arcs: int, n_bytes: int, done: int, late: bool = False) -> None:
        super().__init__(message)
        self.nodes: int = nodes
        self.arcs: int = arcs
        self.bytes: int = n_bytes
        self.done: int = done
        self.late: bool = late

    def beside(self, graphs: Sequence[Graph]) -> GraphTooLargeError:
        """The same error where other graphs were built before: with their nodes, arcs and memory."""
        if not graphs:
            return self
        nodes, arcs = sum(graph.n_nodes for graph in graphs), sum(graph.n_arcs for graph in graphs)
        return GraphTooLargeError(
            f"{self}, beside {len(graphs):,} graphs of other menus with {nodes:,} nodes",
            self.nodes + nodes,
            self.arcs + arcs,
            self.bytes + sum(graph.n_bytes for graph in graphs),
            self.done + nodes,
            self.late,
        )

    def with_advice(self, text: str) -> GraphTooLargeError:
        """The same error with a sentence about what can be done."""
        return GraphTooLargeError(f"{self}. {text}", self.nodes, self.arcs, self.bytes, self.done, self.late)


class Sweep(NamedTuple):
    """Prices, cheapest ways, and their arcs; arrays over nodes have one more entry, for the node beyond the sink."""

    label: Array  # (labels,)
    price: Array  # (arcs,)
    above: Array  # (nodes + 1,)
    below: Array
    arc_in: Index  # (nodes + 1,): the last arc of the cheapest way from the source, -1 where there is none
    arc_out: Index  # the first arc of the cheapest way to the sink
    tail: Index  # where arc_in comes from


def make_sweep(graph: Graph) -> Sweep:
    """Empty arrays for a sweep."""
    nodes = graph.n_nodes + 1
    whole = [np.full(nodes, -1, np.int32) for _ in range(3)]
    return Sweep(
        np.empty(len(graph.parent)), np.empty(len(graph.head)), np.full(nodes, np.inf), np.full(nodes, np.inf), *whole
    )


@leaf
def price_labels(graph, cost, label):
    """Prices of labels for a flat table of cell prices."""
    parent, cell = graph.parent, graph.cell
    label[0] = 0.0
    for i in range(1, parent.shape[0]):
        label[i] = label[parent[i]] + cost[cell[i]]


@leaf
def gather_prices(graph, label, price, first, last):
    """Prices of arcs first..last-1 from those of their labels."""
    for a in range(first, last):
        price[a] = label[graph.label[a]]


@leaf
def price_rows(graph, by_item, price, first, last):
    """Prices of the arcs of every node for items first..last-1; `by_item`: prices of cells by (menu, item), 0 outside menus."""
    n = by_item.shape[1]
    base, added_first, added = graph.base, graph.added_first, graph.added
    sink = base.shape[0] - 1
    for node in range(sink - 1, -1, -1):
        row = price[node * n + first : node * n + last]
        begin, end = added_first[node], added_first[node + 1]
        own = by_item[added[begin], first:last]
        if base[node] == sink:
            for x in range(row.shape[0]):
                row[x] = own[x]
        else:
            start = np.int64(base[node]) * n
            other = price[start + first : start + last]
            for x in range(row.shape[0]):
                row[x] = other[x] + own[x]
        for i in range(begin + 1, end):
            own = by_item[added[i], first:last]
            for x in range(row.shape[0]):
                row[x] += own[x]


@leaf
def sum_open_menus(graph, by_item, node, row):
    """Prices of the arcs of one node of a graph of rows: the rows of its open menus, added up one by one."""
    sink = graph.base.shape[0] - 1
    for x in range(row.shape[0]):
        row[x] = 0.0
    while node != sink:
        for i in range(graph.added_first[node], graph.added_first[node + 1]):
            own = by_item[graph.added[i]]
            for x in range(row.shape[0]):
                row[x] += own[x]
        node = np.int64(graph.base[node])


@leaf
def sweep_down(graph, price, below, arc_out):
    """Cheapest ways to the sink and their first arcs."""
    first, head = graph.first, graph.head
    sink = first.shape[0] - 2
    below[sink] = 0.0
    arc_out[sink] = -1
    for node in range(sink - 1, -1, -1):
        start = first[node]
        prices, heads = price[start : first[node + 1]], head[start : first[node + 1]]
        best = np.inf
        arc = np.int64(-1)
        for i in range(prices.shape[0]):
            value = prices[i] + below[np.uint32(heads[i])]
            if value < best:
                best = value
                arc = start + i
        below[node] = best
        arc_out[node] = arc


@leaf
def sweep_up(graph, price, above, arc_in, tail):
    """Cheapest ways from the source and their last arcs."""
    first, head = graph.first, graph.head
    nodes = first.shape[0] - 1
    for node in range(nodes):
        above[node] = np.inf
    above[nodes] = -np.inf  # no way is cheaper: nothing is written for arcs that are not there
    above[0] = 0.0
    for node in range(nodes):
        start = first[node]
        prices, heads = price[start : first[node + 1]], head[start : first[node + 1]]
        here = above[node]
        for i in range(prices.shape[0]):
            value = here + prices[i]
            next_node = np.uint32(heads[i])
            if value < above[next_node]:
                above[next_node] = value
                arc_in[next_node] = start + i
                tail[next_node] = node
    above[nodes] = np.inf


@leaf
def fill_cells(graph, arc, row):
    """Write the cells of an arc into the row of a type."""
    if graph.base.shape[0] == 0:
        width = graph.shape[1]
        label = graph.label[arc]
        while label > 0:
            menu = graph.cell[label] // width
            row[menu] = graph.cell[label] - menu * width
            label = graph.parent[label]
    else:
        n = graph.column.shape[1]
        sink = graph.base.shape[0] - 1
        node = np.int64(arc // n)
        item = arc - node * n
        while node != sink:
            for i in range(graph.added_first[node], graph.added_first[node + 1]):
                menu = graph.added[i]
                if graph.column[menu, item] >= 0:
                    row[menu] = graph.column[menu, item]
            node = np.int64(graph.base[node])


@leaf
def extract_type(graph, sweep, node, row):
    """Write the cheapest type through `node` into `row`."""
    here = node
    while sweep.arc_out[here] >= 0:
        arc = np.int64(sweep.arc_out[here])
        fill_cells(graph, arc, row)
        here = np.int64(graph.head[arc])
    here = node
    while here > 0:
        fill_cells(graph, np.int64(sweep.arc_in[here]), row)
        here = np.int64(sweep.tail[here])


@leaf
def spread_prices(column, cost, by_item):
    """Prices of cells by (menu, column) as prices by (menu, item), 0 outside menus."""
    for j in range(column.shape[0]):
        for x in range(column.shape[1]):
            by_item[j, x] = cost[j, column[j, x]] if column[j, x] >= 0 else 0.0


def prices_by_item(column: Index, cost: Array) -> Array:
    """A (menus, width) table of cell prices as a (menus, items) array, 0 outside menus; `column`: that of (menu, item), or -1."""
    by_item = np.empty(column.shape)
    spread_prices(column, np.ascontiguousarray(cost), by_item)
    return by_item


def price_arcs(graph: Graph, cost: Array, sweep: Sweep, threads: int = 1) -> None:
    """C^T g: the prices of all arcs from a (menus, width) table of cell prices, into `sweep`."""
    if len(graph.base):
        n = graph.column.shape[1]
        by_item = prices_by_item(graph.column, cost)
        # Every entry is priced alone, so the cut may depend on the number of threads.
        size = max(16, -(-n // threads) + 7 & ~7)
        pieces = [(first, min(first + size, n)) for first in range(0, n, size)]
        run_threads(lambda part: price_rows(graph, by_item, sweep.price, *part), pieces, threads)
    else:
        price_labels(graph, cost.reshape(-1), sweep.label)
        arcs = len(graph.head)
        cuts = [(arcs * i // threads, arcs * (i + 1) // threads) for i in range(threads)]
        run_threads(lambda part: gather_prices(graph, sweep.label, sweep.price, *part), cuts, threads)


def run_sweep(graph: Graph, cost: Array, sweep: Sweep, threads: int | None = 1, *, up: bool = True) -> float:
    """Price the arcs and find the cheapest ways for a (menus, width) table of cell prices; the price of the cheapest type.

    Without `up`, only the ways to the sink.
    """
    count = thread_count(threads) if len(graph.head) >= _THREADED else 1
    price_arcs(graph, cost, sweep, count)
    return find_ways(graph, sweep, count, up)


def find_ways(graph: Graph, sweep: Sweep, threads: int = 1, up: bool = True) -> float:
    """The cheapest ways for the prices of arcs in `sweep`; the price of the cheapest type."""

    def pass_over(upward: bool) -> None:
        if upward:
            sweep_up(graph, sweep.price, sweep.above, sweep.arc_in, sweep.tail)
        else:
            sweep_down(graph, sweep.price, sweep.below, sweep.arc_out)

    run_threads(pass_over, (False, True) if up else (False,), threads)
    return float(sweep.below[0])


def cheapest_type(graph: Graph, cost: Array, threads: int | None = None) -> tuple[float, Paths]:
    """The cheapest type for a (menus, width) table of cell prices: its price, and its row of columns."""
    sweep = make_sweep(graph)
    price = run_sweep(graph, cost, sweep, threads, up=False)
    row = np.empty(graph.shape[0], np.int32)
    extract_type(graph, sweep, 0, row)
    return price, row


@kernel
def _even_types(graph, mass, table, begin, end):
    """rho = C f for the unit flow f that divides evenly at every node: what nodes begin..end-1 add to it."""
    row = np.empty(graph.shape[0], np.int32)
    for u in range(begin, end):
        count = 0
        for a in range(graph.first[u], graph.first[u + 1]):
            count += graph.head[a] < mass.shape[0]
        for a in range(graph.first[u], graph.first[u + 1]):
            if graph.head[a] < mass.shape[0]:
                share = mass[u] / count
                mass[graph.head[a]] += share
                row[:] = -1
                fill_cells(graph, np.int64(a), row)
                for menu in range(row.shape[0]):
                    if row[menu] >= 0:
                        table[menu, row[menu]] += share


def inner_point(graph: Graph) -> Array:
    """Probabilities in the relative interior of the model: those of the unit flow that divides evenly at every node."""
    table, mass = np.zeros(graph.shape), np.zeros(graph.n_nodes)
    mass[0] = 1.0
    step = max(1, _FILLED_A_CALL * graph.n_nodes // max(1, len(graph.head) * graph.shape[0]))
    for begin in range(0, graph.n_nodes, step):  # piece by piece, so that Ctrl-C is heard
        _even_types(graph, mass, table, begin, min(begin + step, graph.n_nodes))
    return table


def cells_of_types(types: Paths, weights: Array, shape: tuple[int, int]) -> Array:
    """The probabilities of a mixture of types, as a table."""
    table = np.zeros(shape)
    np.add.at(table, (np.arange(shape[0])[None, :], types), np.broadcast_to(weights[:, None], types.shape))
    return table


@kernel
def follow_type(graph, row, arcs):
    """Find a path that is the type `row` and write its arcs; how many, or -1 where the type is none of the graph's.

    Of several ways, that of the first arc at every node.
    """
    nodes = graph.first.shape[0] - 1
    own = np.full(row.shape[0], np.int32(-1), np.int32)
    possible = np.zeros(nodes + 1, np.bool_)
    possible[nodes - 1] = True
    step = np.full(nodes, np.int64(-1), np.int64)
    for u in range(nodes - 2, -1, -1):
        for a in range(graph.first[u], graph.first[u + 1]):
            if possible[graph.head[a]]:
                fill_cells(graph, np.int64(a), own)
                agree = True
                for j in range(row.shape[0]):
                    agree &= own[j] < 0 or own[j] == row[j]
                    own[j] = -1
                if agree:
                    step[u] = a
                    possible[u] = True
                    break
    if not possible[0]:
        return -1
    node = np.int64(0)
    count = 0
    while node != nodes - 1:
        arcs[count] = step[node]
        node = np.int64(graph.head[step[node]])
        count += 1
    return count
