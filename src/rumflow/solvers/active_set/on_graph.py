"""Prices of types on a choice graph, for the active set.

The cost table is w (rho - rho_hat) on the cells; a sweep over the graph (`rumflow.core.graph`) finds the cheapest type through
every node. The cheapest type through u is also that through the next node v on its way unless a cheaper way leads to v, so
each is taken once, at the last node it is cheapest for.

Sweeps over large graphs take nearly all the time, and types that will be cheap in the next rounds lead over nodes that are nearly
cheap now: in two designs (50 items, 50 menus of 25; 20 items, 30 menus of 6) the types that were violated in one round had been
within once, rarely twice, the gap of being violated in the round before. So rounds are on that part of the graph until they have
little left to gain, and then comes a sweep over the whole graph, which alone decides whether the solve is done.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array, Paths
from rumflow.core.compile import kernel, leaf
from rumflow.core.graph import Graph, extract_type, make_sweep, run_sweep
from rumflow.core.graph_part import Part, make_part, sweep_part
from rumflow.core.paths import path_cost
from rumflow.core.problem import Problem
from rumflow.solvers.active_set.kernels import price_cut
from rumflow.solvers.active_set.state import KernelProblem, Pool, least_pivot

_NARROWED = 100_000  # places of arcs from which sweeps over a part pay
_PART = 10  # one in so many nodes, at most, is in a part


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

    Where there are too many, a quarter of the pool are the cheapest, and the rest are those through every so many nodes of the
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
    if found > limit:
        quarter = limit // 4
        cut = price_cut(price[:found], best, bound, quarter)
        stride = (found - quarter) / (limit - quarter)
        kept = passed = taken = 0
        for i in range(found):
            cheap = price[i] <= cut and taken < quarter
            passed += not cheap
            taken += cheap
            if cheap or passed > (kept - taken + cheap) * stride:
                price[kept] = price[i]
                node[kept] = node[i]
                kept += 1
        found = min(kept, limit)
    order = np.argsort(price[:found])
    size = 0
    for s in range(found):
        row = pool.paths[size]
        extract_type(graph, sweep, node[order[s]], row)
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
        self._part: Part | None = None

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

    @property
    def narrowed(self) -> bool:
        """Is there a part to sweep over?"""
        return self._part is not None

    def sweep(self, threads: int, whole: bool = True) -> float:
        """Cheapest ways to and from every node, or over the part that was near; the price of the cheapest type."""
        if whole or self._part is None:
            self._part = None
            return run_sweep(self.graph, self.cost, self._sweep, threads)
        return sweep_part(self.graph, self._part, self.cost, self._sweep)

    def fill_pool(self, pool: Pool, nu: float) -> int:
        """The most violated types, given the price nu of those in use; how many. The nodes near them are the next part."""
        size: int = fill_pool(self.graph, self._sweep, pool, self.cost, nu)
        best = self._sweep.below[0]
        if self._part is None and len(self.graph.head) >= _NARROWED and best < nu:
            through = self._sweep.above[:-1] + self._sweep.below[:-1]
            limit = price_cut(through, best, nu + (nu - best), len(through) // _PART)
            self._part = make_part(self.graph, self._sweep, limit)
        return size
