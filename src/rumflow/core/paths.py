"""Rankings as paths on the lattice of menus, and the cheapest of them.

A ranking takes its best item from the full menu, then the best of the rest, and so on: a path from the full menu down to
the empty one. It takes item x at the menu `E(x)`: x and everything ranked below x. Here a path is stored as one row of
int32, `path[x]` = E(x) with bit x squeezed out, which is its column in row x of the internal layout.

Given a cost for every edge (D, x), dynamic programming over menus finds

    below[D] = cheapest way from D to the empty menu  = min over x in D      of cost(D, x) + below[D - x]
    above[D] = cheapest way from the full menu to D   = min over y not in D  of cost(D + y, y) + above[D + y]

in O(N) each; `below[full]` is the cost of the cheapest ranking, and `above[D] + below[D]` of the cheapest through D.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Mixture, Paths
from rumflow.core.compile import kernel, leaf, popcount
from rumflow.core.threads import run_threads, thread_count

_SPLIT_BITS = 4  # the highest bits cut the lattice into 16 parts for threads
_THREADED_ITEMS = 18


@leaf
def squeeze(menu, item):
    """The menu with bit `item` taken out and the higher bits moved down."""
    return (menu & ((1 << item) - 1)) | ((menu >> (item + 1)) << item)


@leaf
def unsqueeze(column, item):
    """The menu that contains `item` and whose other bits are `column`."""
    return (column & ((1 << item) - 1)) | ((column >> item) << (item + 1)) | (1 << item)


@leaf
def down_pass(cost, below, n, first, last):
    """Fill below[first:last] (a multiple of the block size, or all); those of their submenus must be filled already."""
    b = min(4, n)
    width = 1 << b
    for base in range(first, last, width):
        for j in range(width):
            below[base + j] = np.inf
        if base == 0:
            below[0] = 0.0
        for x in range(b, n):
            if (base >> x) & 1:
                row = cost[x]
                column = squeeze(base, x)
                other = base ^ (1 << x)
                for j in range(width):
                    below[base + j] = min(below[base + j], row[column + j] + below[other + j])
        for menu in range(base, base + width):
            best = below[menu]
            for x in range(b):
                if (menu >> x) & 1:
                    best = min(best, cost[x, squeeze(menu, x)] + below[menu ^ (1 << x)])
            below[menu] = best


@leaf
def up_pass(cost, above, n, first, last):
    """Fill above[first:last], the mirror of `down_pass`; those of menus that contain them must be filled already."""
    b = min(4, n)
    width = 1 << b
    full = (1 << n) - 1
    for base in range(last - width, first - 1, -width):
        for j in range(width):
            above[base + j] = np.inf
        if base + width > full:
            above[full] = 0.0
        for x in range(b, n):
            if not (base >> x) & 1:
                row = cost[x]
                column = squeeze(base, x)
                other = base | (1 << x)
                for j in range(width):
                    above[base + j] = min(above[base + j], row[column + j] + above[other + j])
        for menu in range(base + width - 1, base - 1, -1):
            best = above[menu]
            for x in range(b):
                if not (menu >> x) & 1:
                    best = min(best, cost[x, squeeze(menu, x)] + above[menu | (1 << x)])
            above[menu] = best


@leaf
def extract_path(cost, above, below, n, menu, path):
    """Write the cheapest path through `menu` into `path`."""
    full = (1 << n) - 1
    here = menu
    while here:
        # The edge that attained the minimum attains it again, to the bit. Taking the smallest excess works even if it did not.
        best = np.inf
        left = here
        taken = left & -left
        while left:
            bit = left & -left
            value = cost[popcount(bit - 1), squeeze(here, popcount(bit - 1))] + below[here ^ bit]
            if value < best:
                best = value
                taken = bit
            left ^= bit
        path[popcount(taken - 1)] = squeeze(here, popcount(taken - 1))
        here ^= taken
    here = menu
    while here != full:
        best = np.inf
        left = full ^ here
        taken = left & -left
        while left:
            bit = left & -left
            value = cost[popcount(bit - 1), squeeze(here, popcount(bit - 1))] + above[here | bit]
            if value < best:
                best = value
                taken = bit
            left ^= bit
        path[popcount(taken - 1)] = squeeze(here, popcount(taken - 1))
        here |= taken


@leaf
def path_cost(cost, paths, i):
    """Sum of the costs of the edges of path i."""
    total = 0.0
    for x in range(paths.shape[1]):
        total += cost[x, paths[i, x]]
    return total


@leaf
def add_paths(flow, paths, weights, count, first, last):
    """Add `count` weighted paths to rows first..last-1 of a flow."""
    for x in range(first, last):
        row = flow[x]
        for i in range(count):
            row[paths[i, x]] += weights[i]


@kernel
def _walk(flow, n, draws, paths):
    """Follow the flow down from the full menu, one path per row of uniform draws."""
    full = (1 << n) - 1
    for i in range(draws.shape[0]):
        menu = full
        for step in range(n):
            total = 0.0
            for x in range(n):
                if (menu >> x) & 1:
                    total += flow[x, squeeze(menu, x)]
            rest = draws[i, step] * total
            item = -1
            for x in range(n):
                if (menu >> x) & 1:
                    here = flow[x, squeeze(menu, x)]
                    if here > 0.0 or (total <= 0.0 and item < 0):
                        item = x  # the last item with flow catches what rounding leaves over
                        rest -= here
                        if rest < 0.0:
                            break
            paths[i, item] = squeeze(menu, item)
            menu ^= 1 << item


@leaf
def peel(flow, n, floor, paths, weights):
    """Subtract paths along heaviest edges from `flow` (destroyed) until less than `floor` is left; returns how many."""
    full = (1 << n) - 1
    count = 0
    while count < weights.shape[0]:
        menu = full
        width = np.inf
        while menu:
            best = -1.0
            item = 0
            for x in range(n):
                if (menu >> x) & 1 and flow[x, squeeze(menu, x)] > best:
                    best = flow[x, squeeze(menu, x)]
                    item = x
            paths[count, item] = squeeze(menu, item)
            width = min(width, best)
            menu ^= 1 << item
        left = 0.0
        for x in range(n):
            edge = flow[x, paths[count, x]]
            # Subtraction is exact on the edge with the least flow, so every path empties at least one edge.
            flow[x, paths[count, x]] = edge - width if edge > width else 0.0
            left += flow[x, squeeze(full, x)]
        if width > 0.0:
            weights[count] = width
            count += 1
        if width <= floor or left <= floor:
            break
    return count


@leaf
def conserve_kernel(flow, n, through):
    """Rescale the edges that leave each menu so that as much leaves as arrives, from the full menu down."""
    full = (1 << n) - 1
    through[:] = 0.0
    through[full] = 1.0
    for menu in range(full, 0, -1):
        total = 0.0
        size = 0
        for x in range(n):
            if (menu >> x) & 1:
                size += 1
                total += max(flow[x, squeeze(menu, x)], 0.0)
        for x in range(n):
            if (menu >> x) & 1:
                column = squeeze(menu, x)
                share = max(flow[x, column], 0.0) / total if total > 0.0 else 1.0 / size
                flow[x, column] = share * through[menu]
                through[menu ^ (1 << x)] += flow[x, column]


def conserve(flow: Array) -> Array:
    """The unit flow that leaves each menu in the proportions of the positive part of `flow`. In place.

    Turns a flow that is negative or unbalanced by rounding into one that is neither.
    """
    n = flow.shape[0]
    conserve_kernel(flow, n, np.empty(1 << n))
    return flow


def _blocks(n: int, threads: int) -> list[list[int]]:
    """Parts of the lattice by their highest bits, grouped by how many are set: a group's parts are independent."""
    bits = _SPLIT_BITS if threads > 1 and n >= _THREADED_ITEMS else 0
    return [[part for part in range(1 << bits) if part.bit_count() == size] for size in range(bits + 1)]


def cheapest_below(cost: Array, threads: int | None = None, out: Array | None = None) -> Array:
    """`below[D]` for every menu D (2^n numbers); the last entry is the cost of the cheapest ranking."""
    return _sweep(down_pass, cost, threads, out, False)


def cheapest_above(cost: Array, threads: int | None = None, out: Array | None = None) -> Array:
    """`above[D]` for every menu D (2^n numbers); the first entry is the cost of the cheapest ranking."""
    return _sweep(up_pass, cost, threads, out, True)


def cheapest_ways(cost: Array, threads: int, below: Array, above: Array) -> None:
    """Both at once: neither pass waits for the other, so two threads have one each, and only more of them cut the lattice."""
    n = cost.shape[0]
    groups = _blocks(n, threads - 1)
    part = (1 << n) >> (len(groups) - 1)
    for down, up in zip(groups, reversed(groups), strict=True):
        pieces = [(down_pass, below, i) for i in down] + [(up_pass, above, i) for i in up]
        run_threads(lambda own: own[0](cost, own[1], n, own[2] * part, (own[2] + 1) * part), pieces, threads)


def _sweep(fill: Any, cost: Array, threads: int | None, out: Array | None, upward: bool) -> Array:
    n = cost.shape[0]
    ways = np.empty(1 << n) if out is None else out
    count = thread_count(threads)
    groups = _blocks(n, count)
    part = (1 << n) >> (len(groups) - 1)
    for group in reversed(groups) if upward else groups:
        run_threads(lambda i: fill(cost, ways, n, i * part, (i + 1) * part), group, count)
    return ways


def paths_from_orders(orders: NDArray[np.int64]) -> Paths:
    """Paths of rankings given as rows of items, best first."""
    k, n = orders.shape
    paths = np.empty((k, n), np.int32)
    menu = np.full(k, (1 << n) - 1, np.int64)
    rows = np.arange(k)
    for step in range(n):
        item = orders[:, step]
        paths[rows, item] = squeeze.py_func(menu, item)
        menu ^= 1 << item
    return paths


def orders_from_paths(paths: Paths) -> NDArray[np.int64]:
    """Rankings as rows of items, best first: an item is the better the more items lie below it."""
    below = np.bitwise_count(paths.astype(np.uint32))
    return np.argsort(-below.astype(np.int64), axis=1, kind="stable")


def flow_from_paths(paths: Paths, weights: Array) -> Array:
    """The flow of a mixture of rankings, in the internal layout."""
    n = paths.shape[1]
    flow = np.zeros((n, 1 << (n - 1)))
    add_paths(flow, paths, weights, len(weights), 0, n)
    return flow


def uniform_flow(n: int) -> Array:
    """All n! rankings with the same weight: flow (|D| - 1)! (n - |D|)! / n! on the edge (D, x)."""
    by_size = np.array([1.0 / (n * comb(n - 1, k)) for k in range(n)])
    row = by_size[np.bitwise_count(np.arange(1 << (n - 1), dtype=np.uint32))]
    return np.tile(row, (n, 1))


def decompose(flow: Array) -> Mixture:
    """A flow as a mixture of rankings, one among many: heaviest edges first, at most one path per edge in use.

    Stops when less than 1e-15 is left.
    """
    n = flow.shape[0]
    most = int(np.count_nonzero(flow > 0)) + 1
    paths = np.empty((most, n), np.int32)
    weights = np.zeros(most)
    count = peel(flow.copy(), n, 1e-15, paths, weights)
    return paths[:count].copy(), weights[:count].copy()


def sample(flow: Array, size: int, rng: np.random.Generator) -> Paths:
    """Draw `size` rankings from the population a flow describes (the one in which each choice forgets the earlier)."""
    n = flow.shape[0]
    paths = np.empty((size, n), np.int32)
    _walk(flow, n, rng.random((size, n)), paths)
    return paths


@kernel
def middle_menus(n):
    """All menus of the middle layer of the lattice, ascending."""
    half = n // 2
    count = 0
    for menu in range(1 << n):
        if popcount(menu) == half:
            count += 1
    menus = np.empty(count, np.int64)
    count = 0
    for menu in range(1 << n):
        if popcount(menu) == half:
            menus[count] = menu
            count += 1
    return menus
