"""Types that span the face of a projection on the cells that count, where the active ones may be too few.

The face is the hull of all types as cheap as the active ones at the gradient, whether in use or not. Is one of them outside the
affine hull V of the active ones? Take random prices u of cells, less their projection: all of V then has one price, and anything
outside has another, with probability 1. A sweep over the edges or arcs of the face finds the cheapest type for u, another for -u.
If neither is cheaper than V, nothing is missing; else what the sweep found joins the active set, and so on.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rumflow.core.arrays import Array, Paths
from rumflow.core.compile import kernel, leaf
from rumflow.core.graph import Graph, cells_of_types, find_ways, make_sweep, price_arcs, run_sweep
from rumflow.core.paths import flow_from_paths, path_cost, squeeze
from rumflow.core.transforms import zeta, zeta_adjoint
from rumflow.solvers.active_set.factor import solve_forward
from rumflow.solvers.active_set.kernels import gram_entry, insert, matrix_row
from rumflow.solvers.active_set.on_graph import fill_pool
from rumflow.solvers.active_set.on_lattice import LatticePrices
from rumflow.solvers.active_set.solve import Workspace
from rumflow.solvers.active_set.state import KernelProblem, Pool
from rumflow.solvers.tangent import TIGHT, tangent_weights

_SAME = 1e-7  # prices closer than this share of the largest are the same


class Face(Protocol):
    """All types of a face, as a lattice or graph without the edges or arcs that are on none of them."""

    def prices(self, cells: Array) -> Array:
        """Prices of cells as a table of which types take one entry per position."""

    def cells(self, types: Paths, weights: Array) -> Array:
        """What a combination of types has in each cell."""

    def sweep(self, table: Array) -> float:
        """Find the cheapest types of the face for such a table; the price of the cheapest."""

    def fill_pool(self, pool: Pool, nu: float) -> int:
        """Types of the face cheaper than nu, after `sweep`; how many."""


class GraphFace:
    """The face of a choice graph on which the types are cheapest for a table of prices of cells; all 0: the whole model."""

    def __init__(self, graph: Graph, cost: Array) -> None:
        self._graph, self._sweep = graph, make_sweep(graph)
        run_sweep(graph, cost, self._sweep)
        self._outside = np.ones(len(graph.head), np.bool_)
        costly_arcs(graph, self._sweep, self._outside)
        self._table = cost

    def prices(self, cells: Array) -> Array:
        """The prices themselves."""
        return cells

    def cells(self, types: Paths, weights: Array) -> Array:
        """The cells of a combination of types."""
        return cells_of_types(types, weights, self._graph.shape)

    def sweep(self, table: Array) -> float:
        """The price of the cheapest type of the face."""
        graph, sweep, self._table = self._graph, self._sweep, table
        price_arcs(graph, table, sweep)
        sweep.price[self._outside] = np.inf
        return find_ways(graph, sweep)

    def fill_pool(self, pool: Pool, nu: float) -> int:
        """The cheapest types through the nodes."""
        size: int = fill_pool(self._graph, self._sweep, pool, self._table, nu)
        return size


class LatticeFace:
    """The face of the lattice on which the rankings are cheapest for a table of prices of edges."""

    def __init__(self, cost: Array) -> None:
        self._prices = LatticePrices(len(cost))
        self._prices.cost[:] = cost
        self._prices.sweep(1)
        self._outside = np.ones(cost.shape, np.bool_)
        costly_edges(cost, self._prices.above, self._prices.below, self._outside)

    def prices(self, cells: Array) -> Array:
        """Prices of edges."""
        return zeta_adjoint(cells.copy())

    def cells(self, types: Paths, weights: Array) -> Array:
        """The cells of a combination of rankings."""
        return zeta(flow_from_paths(types, weights))

    def sweep(self, table: Array) -> float:
        """The price of the cheapest ranking of the face."""
        self._prices.cost[:] = np.where(self._outside, np.inf, table)
        return self._prices.sweep(1)

    def fill_pool(self, pool: Pool, nu: float) -> int:
        """The cheapest rankings through menus of the middle layer."""
        return self._prices.fill_pool(pool, nu)


@leaf
def costly_arcs(graph, sweep, outside):
    """(arcs,): is the arc on no cheapest type?"""
    nodes = graph.first.shape[0] - 1
    largest = 0.0
    for arc in range(graph.head.shape[0]):
        if graph.head[arc] < nodes:
            largest = max(largest, abs(sweep.price[arc]))
    limit = sweep.below[0] + TIGHT * largest
    for node in range(nodes):
        for arc in range(graph.first[node], graph.first[node + 1]):
            head = np.int64(graph.head[arc])
            outside[arc] = head == nodes or sweep.above[node] + sweep.price[arc] + sweep.below[head] > limit


@leaf
def costly_edges(cost, above, below, outside):
    """(n, 2^(n-1)): is the edge on no cheapest ranking?"""
    n = cost.shape[0]
    full = (1 << n) - 1
    largest = 0.0
    for x in range(n):
        for j in range(cost.shape[1]):
            largest = max(largest, abs(cost[x, j]))
    limit = below[full] + TIGHT * largest
    for menu in range(1, full + 1):
        for x in range(n):
            if (menu >> x) & 1:
                column = squeeze(menu, x)
                outside[x, column] = above[menu] + cost[x, column] + below[menu ^ (1 << x)] > limit


@kernel
def add_types(problem, active, paths, size, most):
    """Make the first `size` types active with weight 0, but for those that depend on others, up to `most`; how many joined."""
    row, weight = active.scratch[1], np.empty(paths.shape[1])
    before = active.count[0]
    for q in range(size):
        k = active.count[0]
        if k >= most:
            break
        matrix_row(problem, paths[q], active, np.int64(0), k, weight, row)
        solve_forward(active.factor, active.start, np.int64(0), k, row)
        diagonal = gram_entry(problem.table, paths[q], paths[q]) + problem.ridge
        insert(active, paths[q], row, diagonal, 0.0, 0.0, problem.pivot * diagonal)
    return active.count[0] - before


def span(problem: KernelProblem, workspace: Workspace, face: Face, most: int) -> None:
    """Add types of weight 0 to the active ones until they span the face; no more than `most` can be independent."""
    rng = np.random.default_rng(0)
    weights = problem.weights
    random = np.zeros(problem.target.shape)
    passes = 0  # in a row without a missing type: one for each sign
    while passes < 2 and int(workspace.active.count[0]) < most:
        random = -random if passes else weights * rng.normal(size=random.shape)
        active = workspace.active
        k, d = int(active.count[0]), np.empty(len(active.weights))
        tangent_weights(active, face.prices(random), d)
        table = face.prices(random - weights * face.cells(active.paths[:k], d[:k]))
        nu = float(path_cost(table, active.paths, 0))
        cheapest = face.sweep(table)
        if not cheapest < nu - _SAME * float(np.abs(table).max()):
            passes += 1
            continue
        if k + workspace.prices.pool_size + 8 > len(active.weights):
            workspace.grow()
        size = face.fill_pool(workspace.pool, nu)
        joined = add_types(problem, workspace.active, workspace.pool.paths, size, most)
        passes = 0 if joined else passes + 1
