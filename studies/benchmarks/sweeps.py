"""Other ways to sweep over a choice graph, beside the one that is used: CPU milliseconds of a sweep, for one replicate.

    python -m studies.benchmarks.sweeps

A sweep prices the arcs, then finds the cheapest ways down and up. Tried here: single precision; prices and the way down in one
pass; prices anew from the open menus in each pass, without a table of them; eight replicates at once, side by side in memory.
Ways alternate, and the best of twelve turns counts, so that other work on the machine hits all alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numba
import numpy as np

import rumflow as rf
from rumflow.core.graph import make_sweep, prices_by_item, run_sweep
from rumflow.core.graph_cells import Cells
from studies.benchmarks.record import RESULTS, save, show, stamp

TURNS, LANES = 12, 8
DESIGNS = ((50, 50, 25), (20, 30, 6))
_compile = numba.njit(nogil=True, error_model="numpy")


@_compile
def row_of(g, by_item, price, node):
    """The prices of the arcs of a node, from those of its base."""
    row, sink = price[node], g.base.shape[0] - 1
    begin, end = g.added_first[node], g.added_first[node + 1]
    own, base = by_item[g.added[begin]], price[g.base[node]]
    if g.base[node] == sink:
        for x in range(row.shape[0]):
            row[x] = own[x]
    else:
        for x in range(row.shape[0]):
            row[x] = base[x] + own[x]
    for i in range(begin + 1, end):
        own = by_item[g.added[i]]
        for x in range(row.shape[0]):
            row[x] += own[x]


@_compile
def open_row(g, by_item, row, node):
    """The same from all open menus."""
    for x in range(row.shape[0]):
        row[x] = 0
    while node != g.base.shape[0] - 1:
        for i in range(g.added_first[node], g.added_first[node + 1]):
            own = by_item[g.added[i]]
            for x in range(row.shape[0]):
                row[x] += own[x]
        node = np.int64(g.base[node])


@_compile
def price_all(g, by_item, price):
    for node in range(price.shape[0] - 2, -1, -1):
        row_of(g, by_item, price, node)


@_compile
def down(g, by_item, price, below, arc_out, way):
    """The way down; `way`: 0 prices are there, 1 they are made here, 2 they are made from the open menus and not kept."""
    nodes, n = g.base.shape[0], g.column.shape[1]
    below[nodes - 1], below[nodes] = 0, np.inf
    for node in range(nodes - 2, -1, -1):
        if way == 1:
            row_of(g, by_item, price, node)
        elif way == 2:
            open_row(g, by_item, price[0], np.int64(node))
        row, head = price[0 if way == 2 else node], g.head[node * n : node * n + n]
        best, arc = below[nodes], np.int64(-1)
        for i in range(row.shape[0]):
            value = row[i] + below[np.uint32(head[i])]
            if value < best:
                best = value
                arc = node * n + i
        below[node] = best
        arc_out[node] = arc


@_compile
def up(g, by_item, price, above, arc_in, tail, way):
    nodes, n = g.base.shape[0], g.column.shape[1]
    above[:] = np.inf
    above[0], above[nodes] = 0, -np.inf
    for node in range(nodes - 1):
        if way == 2:
            open_row(g, by_item, price[0], np.int64(node))
        row, head = price[0 if way == 2 else node], g.head[node * n : node * n + n]
        here = above[node]
        for i in range(row.shape[0]):
            value, there = here + row[i], np.uint32(head[i])
            if value < above[there]:
                above[there] = value
                arc_in[there] = node * n + i
                tail[there] = node


@_compile
def down_lanes(g, price, below, arc):
    nodes, n = g.base.shape[0], g.column.shape[1]
    best, own = below[nodes].copy(), arc[0].copy()
    below[nodes - 1], below[nodes] = 0, np.inf
    for node in range(nodes - 2, -1, -1):
        row, best[:] = price[node], np.inf
        for i in range(n):
            other = below[np.int64(np.uint32(g.head[node * n + i]))]
            for lane in range(LANES):
                value = row[i * LANES + lane] + other[lane]
                less = value < best[lane]
                best[lane] = value if less else best[lane]
                own[lane] = node * n + i if less else own[lane]
        below[node], arc[node] = best, own


@_compile
def up_lanes(g, price, above, arc):
    nodes, n = g.base.shape[0], g.column.shape[1]
    above[:] = np.inf
    above[0], above[nodes] = 0, -np.inf
    for node in range(nodes - 1):
        row, here = price[node], above[node]
        for i in range(n):
            there = np.int64(np.uint32(g.head[node * n + i]))
            other, own = above[there], arc[there]
            for lane in range(LANES):
                value = here[lane] + row[i * LANES + lane]
                less = value < other[lane]
                other[lane] = value if less else other[lane]
                own[lane] = node * n + i if less else own[lane]


def ways(g, cost) -> dict[str, tuple[Callable[[], float], int]]:
    """By name: a sweep that returns the price of the cheapest type, and for how many replicates it is."""

    def one(kind, way) -> Callable[[], float]:
        by_item, price = prices_by_item(g.column, cost).astype(kind), np.empty((g.n_nodes, g.column.shape[1]), kind)
        (below, above), arcs = np.empty((2, g.n_nodes + 1), kind), np.empty((3, g.n_nodes + 1), np.int32)

        def call() -> float:
            if way == 0:
                price_all(g, by_item, price)
            down(g, by_item, price, below, arcs[0], way)
            up(g, by_item, price, above, arcs[1], arcs[2], way)
            return float(below[0])

        return call

    def lanes(kind) -> Callable[[], float]:
        by_item = np.repeat(prices_by_item(g.column, cost).astype(kind), LANES, axis=1)
        price = np.empty((g.n_nodes, by_item.shape[1]), kind)
        below, above = np.empty((2, g.n_nodes + 1, LANES), kind)
        arcs = np.empty((2, g.n_nodes + 1, LANES), np.int32)

        def call() -> float:
            price_all(g, by_item, price)
            down_lanes(g, price, below, arcs[0])
            up_lanes(g, price, above, arcs[1])
            return float(below[0, 0])

        return call

    double, single, used = np.float64, np.float32, make_sweep(g)
    return {
        "as it is": (lambda: run_sweep(g, cost, used), 1),
        "the same, written here": (one(double, 0), 1),
        "single precision": (one(single, 0), 1),
        "prices and down in one pass": (one(double, 1), 1),
        "prices from the open menus, not kept": (one(double, 2), 1),
        "eight replicates at once": (lanes(double), LANES),
        "eight replicates at once, single precision": (lanes(single), LANES),
    }


def main() -> None:
    """Measure and store."""
    for items, menus, size in DESIGNS:
        data = rf.simulate.random_menus(items, menus, size, seed=0)
        graph = rf.RandomUtility().geometry(Cells(data.membership))
        cost = np.random.default_rng(0).normal(size=graph.shape)
        calls = ways(graph, cost)
        found = [call() for call, _ in calls.values()]
        np.testing.assert_allclose(found, found[0], rtol=1e-5)
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(TURNS):
            for name, (call, count) in calls.items():
                begin = time.thread_time()
                call()
                best[name] = min(best[name], 1e3 * (time.thread_time() - begin) / count)
        for name, milliseconds in best.items():
            row = {"design": f"{items}x{menus}x{size}", "way": name, "milliseconds": milliseconds}
            show(row)
            save(RESULTS / "sweeps.csv", [row | stamp(1)], ["design", "way"])


if __name__ == "__main__":
    main()
