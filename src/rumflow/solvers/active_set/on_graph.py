"""Prices of types on a choice graph, for the active set.

The cost table is w (rho - rho_hat) on the cells; a sweep over the graph (`rumflow.core.graph`) finds the cheapest type through
every node. The cheapest type through u is also that through the next node v on its way unless a cheaper way leads to v, so
each is taken once, at the last node it is cheapest for.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array, Paths
from rumflow.core.compile import kernel, leaf
from rumflow.core.graph import Graph, extract_type, make_sweep, run_sweep
from rumflow.core.paths import path_cost
from rumflow.core.problem import Problem
from rumflow.solvers.active_set.state import KernelProblem, Pool, least_pivot


def make_graph_problem(problem: Problem) -> KernelProblem:
    """The problem in the form of the kernels; its tables have weight 0 on remainders, padding and cells that do not count."""
    weights = problem.weights
    used = weights > 0
    # c of the order of the Gram entries: a type's squared norm is the total weight of its cells.
    mean = weights.sum(axis=1) / np.maximum(used.sum(axis=1), 1)
    ridge = 0.0 if problem.cone else max(float(mean.sum()), 1e-300)
    return KernelProblem(
        np.where(used, problem.target, 0.0), weights, weights.reshape(1, -1), ridge, least_pivot(weights)
    )


@leaf
def price_cells(problem, types, lam, count, cost):
    """cost = w (rho - rho_hat) for a mixture of the first `count` types, and its objective."""
    for j in range(cost.shape[0]):
        for c in range(cost.shape[1]):
            cost[j, c] = -problem.target[j, c]
    for i in range(count):
        for j in range(types.shape[1]):
            cost[j, types[i, j]] += lam[i]
    total = 0.0
    for j in range(cost.shape[0]):
        for c in range(cost.shape[1]):
            w = problem.weights[j, c]
            total += w * cost[j, c] * cost[j, c]
            cost[j, c] *= w
    return 0.5 * total


@leaf
def is_last(graph, sweep, node):
    """Is `node` the last node on its cheapest way for which this way is the cheapest?"""
    arc = sweep.arc_out[node]
    return arc < 0 or sweep.arc_in[graph.head[arc]] != arc


@kernel
def fill_pool(graph, sweep, pool, cost, nu):
    """The cheapest types through the nodes, those violated by a tenth of the worst or more; how many.

    Where there are too many, a quarter of the pool are the cheapest, and the rest are taken at equal distances among the
    others, because the very cheapest are all alike.
    """
    limit = pool.paths.shape[0]
    nodes = graph.first.shape[0] - 1
    best = sweep.below[0]
    bound = nu - 0.1 * (nu - best)
    price = np.empty(nodes)
    node = np.empty(nodes, np.int64)
    found = 0
    for u in range(nodes):
        here = sweep.above[u] + sweep.below[u]
        if here <= bound and is_last(graph, sweep, u):
            price[found] = here
            node[found] = u
            found += 1
    order = np.argsort(price[:found])
    size = 0
    quarter = limit // 4
    stride = max(1.0, (found - quarter) / (limit - quarter))
    for s in range(found):
        t = s if s < quarter else quarter + int((s - quarter) * stride)
        if size == limit or t >= found:
            break
        row = pool.paths[size]
        extract_type(graph, sweep, node[order[t]], row)
        # Different ways may be the same type; their prices are then neighbours.
        pool.gradient[size] = path_cost(cost, pool.paths, size)
        new = True
        for q in range(size - 1, -1, -1):
            if pool.gradient[q] < pool.gradient[size] - 1e-9 * (nu - best):
                break
            same = True
            for j in range(row.shape[0]):
                if row[j] != pool.paths[q, j]:
                    same = False
                    break
            if same:
                new = False
                break
        if new:
            pool.open[size] = True
            size += 1
    return size


class GraphPrices:
    """The cost table of a mixture of types, and the cheapest ways through every node."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.cost: Array = np.empty(graph.shape)
        self.pool_size = 1024
        self.pool_share: float = 0.1
        self.keeps_gram: bool = False
        self.threaded: bool = True
        self.most_mass: int = graph.shape[0]  # a type takes one cell per menu
        self._sweep = make_sweep(graph)

    def evaluate(self, problem: KernelProblem, types: Paths, weights: Array, count: int, threads: int) -> float:
        """Fill the cost table for a mixture of the first `count` types; its objective."""
        objective: float = price_cells(problem, types, weights, count, self.cost)
        return objective

    def cheapest(self, threads: int) -> Paths:
        """The cheapest type."""
        run_sweep(self.graph, self.cost, self._sweep, threads, up=False)
        row = np.empty(self.graph.shape[0], np.int32)
        extract_type(self.graph, self._sweep, 0, row)
        return row

    def sweep(self, threads: int) -> float:
        """Cheapest ways to and from every node; the price of the cheapest type."""
        return run_sweep(self.graph, self.cost, self._sweep, threads)

    def fill_pool(self, pool: Pool, nu: float) -> int:
        """The most violated types, given the price nu of those in use; how many."""
        size: int = fill_pool(self.graph, self._sweep, pool, self.cost, nu)
        return size
