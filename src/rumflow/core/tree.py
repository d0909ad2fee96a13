"""Spanning trees of the lattice of menus, and the zero-flows they carry.

The graph has a vertex per menu (2^n, the empty one too) and an edge (D, x) between D and D - x for every x in D. A
*zero-flow* is conserved at every menu, with nothing entering at the top. Fix a spanning tree. Numbers on the other edges,
the co-tree, extend to exactly one zero-flow: the paper's matrix A_m (rows of K B) is invertible exactly when the rows left
out form a spanning tree. The extension L and its adjoint cost one sweep over the tree each:

    L     balance[D] = flow out of D - flow into D over co-tree edges; then, from the leaves to the root, the edge between
          a menu and its parent carries the balance of the whole subtree.
    L^T   potentials p with p[D] - p[D - x] = y(D, x) on tree edges, from the root to the leaves; the result is
          y(D, x) - p[D] + p[D - x], which is 0 on the tree.

Flows are in the internal layout; the edge (D, x) is entry [x, D without bit x]. Both ends of an edge squeeze to the same
column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Mask
from rumflow.core.compile import kernel
from rumflow.core.paths import squeeze

#: Lattices with fewer items are swept by one thread.
THREADED_ITEMS = 15
_PARTS = 32


class Tree(NamedTuple):
    """A spanning tree, rooted at the empty menu. Vertices are numbered breadth first: parents before children."""

    edges: Mask  # (n, 2^(n-1)): True on the 2^n - 1 edges of the tree
    order: NDArray[np.int32]  # (2^n,) the menu at each position
    parent: NDArray[np.int32]  # (2^n,) the position of its parent
    edge: NDArray[np.int32]  # (2^n,) flat index e of the edge to the parent, or ~e where the menu is the lower end


@kernel
def find_root(link, v):
    """The representative of v's component; halves the way there."""
    while link[v] != v:
        link[v] = link[link[v]]
        v = link[v]
    return v


@kernel
def spanning_edges(weights, edges, n):
    """Boruvka: every component takes its lightest edge outwards, until there is one. Ties go to the lower edge
    index."""
    size = 1 << n
    half = size >> 1
    link = np.empty(size, np.int32)
    best = np.empty(size, np.int32)
    least = np.empty(size)
    for v in range(size):
        link[v] = v
    for x in range(n):
        for m in range(half):
            edges[x, m] = False
    count = 0
    while count < size - 1:
        for v in range(size):
            best[v] = -1
            least[v] = np.inf
        for x in range(n):
            row = weights[x]
            bit = 1 << x
            for m in range(half):
                low = ((m >> x) << (x + 1)) | (m & (bit - 1))
                a = link[low]
                b = link[low | bit]
                if a != b:
                    w = row[m]
                    if w < least[a] or best[a] < 0:
                        least[a] = w
                        best[a] = x * half + m
                    if w < least[b] or best[b] < 0:
                        least[b] = w
                        best[b] = x * half + m
        for v in range(size):
            if best[v] >= 0:
                x = best[v] // half
                m = best[v] - x * half
                low = ((m >> x) << (x + 1)) | (m & ((1 << x) - 1))
                a = find_root(link, low)
                b = find_root(link, low | (1 << x))
                if a != b:
                    link[max(a, b)] = min(a, b)
                    edges[x, m] = True
                    count += 1
        for v in range(size):
            link[v] = link[link[v]]
        for v in range(size):
            link[v] = find_root(link, v)


@kernel
def breadth_first(edges, order, parent, edge, n):
    """Number the vertices of a spanning tree from the empty menu."""
    half = 1 << (n - 1)
    order[0] = parent[0] = edge[0] = 0
    filled = 1
    for i in range(1 << n):
        menu = order[i]
        back = edge[i] if edge[i] >= 0 else ~edge[i]
        for x in range(n):
            m = squeeze(menu, x)
            e = x * half + m
            if edges[x, m] and (e != back or i == 0):
                child = menu ^ (1 << x)
                order[filled] = child
                parent[filled] = i
                edge[filled] = e if (child >> x) & 1 else ~e
                filled += 1


@kernel
def divergence(flow, node, n, first, last):
    """node[D] = flow out of D - flow into D, for menus first..last-1 (whole blocks of 64, or all)."""
    for menu in range(first, last):
        node[menu] = 0.0
    # Rows 0 and 1 apart: loops of one or two steps would be all overhead.
    row = flow[0]
    for j in range(first >> 1, last >> 1):
        node[2 * j] -= row[j]
        node[2 * j + 1] += row[j]
    if n > 1:
        row = flow[1]
        for j in range(first >> 1, last >> 1, 2):
            a, b = row[j], row[j + 1]
            node[2 * j] -= a
            node[2 * j + 1] -= b
            node[2 * j + 2] += a
            node[2 * j + 3] += b
    b = min(6, n)
    width = 1 << b
    for base in range(first, last, width):
        for x in range(2, b):
            row = flow[x]
            step = 1 << x
            for low in range(base, base + width, 2 * step):
                at = low >> 1
                for j in range(step):
                    node[low + j] -= row[at + j]
                for j in range(step):
                    node[low + step + j] += row[at + j]
        for x in range(b, n):
            row = flow[x]
            at = squeeze(base, x)
            if (base >> x) & 1:
                for j in range(width):
                    node[base + j] += row[at + j]
            else:
                for j in range(width):
                    node[base + j] -= row[at + j]


@kernel
def sweep_up(tree, node, carried, flow):
    """Leaves to root: fill the tree edges of `flow` (flat), given the divergence `node` of its co-tree edges."""
    size = node.shape[0]
    for i in range(size):
        carried[i] = node[tree.order[i]]
    for i in range(size - 1, 0, -1):
        balance = carried[i]
        carried[tree.parent[i]] += balance
        e = tree.edge[i]
        if e >= 0:
            flow[e] = -balance
        else:
            flow[~e] = balance


@kernel
def sweep_down(tree, node, carried, values):
    """Root to leaves: node[D] = potentials whose differences are `values` (flat) on tree edges."""
    size = node.shape[0]
    carried[0] = 0.0
    node[0] = 0.0
    for i in range(1, size):
        e = tree.edge[i]
        potential = carried[tree.parent[i]] + (values[e] if e >= 0 else -values[~e])
        carried[i] = potential
        node[tree.order[i]] = potential


@kernel
def subtract_differences(values, node, first, last):
    """values(D, x) -= node[D] - node[D - x] in rows first..last-1."""
    for x in range(first, last):
        row = values[x]
        step = 1 << x
        if x == 0:
            for j in range(row.shape[0]):
                row[j] -= node[2 * j + 1] - node[2 * j]
        elif x == 1:
            for j in range(0, row.shape[0], 2):
                row[j] -= node[2 * j + 2] - node[2 * j]
                row[j + 1] -= node[2 * j + 3] - node[2 * j + 1]
        else:
            for at in range(0, row.shape[0], step):
                for j in range(at, at + step):
                    row[j] -= node[at + j + step] - node[at + j]


def tree_from_edges(edges: Mask) -> Tree:
    """Root a spanning tree given as a mask of edges."""
    n, half = edges.shape
    arrays = [np.empty(2 * half, np.int32) for _ in range(3)]
    breadth_first(edges, *arrays, n)
    return Tree(edges, *arrays)


def minimum_spanning_tree(weights: Array) -> Tree:
    """The spanning tree of least total weight, rooted at the empty menu; O(N log 2^n), usually a few passes over the
    edges.

    The light edges go into the tree, so the co-tree holds the heavy ones: of every cycle the heaviest.
    """
    n = weights.shape[0]
    edges = np.empty(weights.shape, np.bool_)
    spanning_edges(weights, edges, n)
    return tree_from_edges(edges)


def menu_parts(n: int, threads: int) -> list[tuple[int, int]]:
    """Ranges of menus that threads take one at a time; the values computed do not depend on the cut."""
    count = _PARTS if threads > 1 and n >= THREADED_ITEMS else 1
    step = (1 << n) // count
    return [(i * step, (i + 1) * step) for i in range(count)]


def row_parts(n: int, threads: int) -> list[tuple[int, int]]:
    """Ranges of rows, likewise."""
    return [(x, x + 1) for x in range(n)] if threads > 1 and n >= THREADED_ITEMS else [(0, n)]
