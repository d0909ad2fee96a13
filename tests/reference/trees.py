"""Zero-flows and spanning trees: the sweeps of `rumflow.core.tree` on whole arrays, and which edges are a spanning tree."""

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from rumflow.core.threads import run_threads
from rumflow.core.tree import divergence, menu_parts, row_parts, subtract_differences, sweep_down, sweep_up


def ends(x, m):
    """The menus that the edge in row x, column m joins, the larger first."""
    low = m % 2**x + m // 2**x * 2 ** (x + 1)
    return low + 2**x, low


def is_spanning_tree(edges):
    """Whether A_m, with the co-tree as its rows, is invertible: all menus are joined, by one edge fewer than there are menus."""
    size = 2 * edges.shape[1]
    high, low = ends(*np.nonzero(edges))
    joined = csr_matrix((np.ones(len(high)), (high, low)), shape=(size, size))
    return len(high) == size - 1 and connected_components(joined, directed=False)[0] == 1


def flow_divergence(flow, threads=1):
    """Flow out of every menu minus flow into it (2^n numbers); a unit flow has 1 at the full menu, -1 at the empty one."""
    n, half = flow.shape
    node = np.empty(2 * half)
    run_threads(lambda part: divergence(flow, node, n, *part), menu_parts(n, threads), threads)
    return node


def extend(tree, values, threads=1):
    """L: the zero-flow with the given values on the co-tree, in place; values on the tree must be 0."""
    node = flow_divergence(values, threads)
    sweep_up(tree, node, np.empty_like(node), values.reshape(-1))
    return values


def potentials(tree, values):
    """Numbers p on menus with p[D] - p[D - x] = values(D, x) on the tree and p = 0 at the empty menu."""
    node = np.empty(2 * values.shape[1])
    sweep_down(tree, node, np.empty_like(node), values.reshape(-1))
    return node


def extend_adjoint(tree, values, threads=1):
    """L^T in place: values on the co-tree are those of the adjoint, values on the tree become 0."""
    node = potentials(tree, values)
    run_threads(lambda part: subtract_differences(values, node, *part), row_parts(len(values), threads), threads)
    values[tree.edges] = 0.0
    return values
