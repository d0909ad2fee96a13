"""Prices of rankings on the lattice of menus, for the active set.

One pass costs O(n N): the gradient of a mixture, Z^T w (Z flow - rho_hat), row by row, then the cheapest ways from the full
menu to every menu and from there to the empty one. The pool is made of the cheapest rankings through menus of the middle layer.
"""

from __future__ import annotations

from functools import cached_property
from math import comb

import numpy as np

from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.compile import kernel, leaf
from rumflow.core.paths import (
    cheapest_below,
    cheapest_ways,
    down_pass,
    extract_path,
    middle_menus,
    path_cost,
    up_pass,
)
from rumflow.core.problem import NO_WEIGHTS, Problem
from rumflow.core.residual import residual_row
from rumflow.core.threads import run_threads
from rumflow.core.transforms import transform_row, zeta_adjoint
from rumflow.solvers.active_set.kernels import price_cut
from rumflow.solvers.active_set.state import KernelProblem, Pool, least_pivot

# From this many items on several threads pay. Passes are the larger part of the work there: of the CPU time of samples of 100
# choices a menu, gradient and sweep take 39 % at 14 items, 63 % at 16 and 73 % at 18, so that two threads can gain 1.24, 1.46 and
# 1.58 times at most; the active set between the passes is sequential. On an idle machine two threads gained 1.43 times at 17
# and 18 items, 1.16 to 1.32 times at 16, and nothing below: waiting for each other takes what they gain.
_THREADED = 17


def make_problem(problem: Problem) -> KernelProblem:
    """The problem in the form of the kernels."""
    n, weights = problem.n, problem.weights
    table = zeta_adjoint(weights.copy()) if len(weights) else NO_WEIGHTS
    # c of the order of the Gram entries: a ranking's squared norm is the total weight of the cells it chooses.
    ridge = max(float(table[:, -1].sum() / n), 1e-300) if len(weights) else float(1 << (n - 1))
    return KernelProblem(problem.target, weights, table, 0.0 if problem.cone else ridge, least_pivot(weights))


@leaf
def gradient_row(problem, paths, lam, count, cost, x):
    """Row x of Z^T w (Z flow - rho_hat) for a mixture of `count` paths, and its part of the objective."""
    bits = problem.target.shape[0] - 1
    row = cost[x]
    row[:] = 0.0
    for i in range(count):
        row[paths[i, x]] += lam[i]
    transform_row(row, bits, 1.0, np.bool_(False))
    objective = residual_row(row, problem.target[x], problem.weights[x] if problem.weights.shape[0] else row[:0])
    transform_row(row, bits, 1.0, np.bool_(True))
    return objective


@leaf
def gradient_rows(problem, paths, lam, count, cost, parts, first, last):
    """Rows first..last-1, with the part of the objective of each."""
    for x in range(first, last):
        parts[x] = gradient_row(problem, paths, lam, count, cost, x)


@leaf
def sweep_lattice(cost, above, below):
    """Cheapest ways to and from every menu."""
    n = cost.shape[0]
    down_pass(cost, below, n, 0, 1 << n)
    up_pass(cost, above, n, 0, 1 << n)


@kernel
def fill_pool(menus, pool, cost, above, below, nu):
    """The cheapest rankings through middle menus, those violated by a good share of the worst; how many."""
    n = cost.shape[0]
    limit = pool.paths.shape[0]
    price = np.empty(menus.shape[0])
    best = np.inf
    for i in range(menus.shape[0]):
        price[i] = above[menus[i]] + below[menus[i]]
        best = min(best, price[i])
    cut = price_cut(price, best, nu - 0.3 * (nu - best), limit)
    size = 0
    for i in range(menus.shape[0]):
        if price[i] <= cut and size < limit:
            extract_path(cost, above, below, n, menus[i], pool.paths[size])
            pool.gradient[size] = path_cost(cost, pool.paths, size)
            pool.open[size] = True
            for x in range(n):
                pool.columns[x, size] = pool.paths[size, x]
            size += 1
    return size


def pool_size(n: int) -> int:
    """Rankings priced without the lattice between two passes: more of them where a pass costs more."""
    return min(comb(n, n // 2), 256 if n < 18 else 1024 if n < 20 else 4096)


class LatticePrices:
    """The cost table of a mixture of rankings, and the cheapest ways through every menu."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.cost: Array = np.empty((n, 1 << (n - 1)))
        self.above: Array = np.empty(1 << n)
        self.below: Array = np.empty(1 << n)
        self.pool_size: int = pool_size(n)
        self.pool_share: float = 0.2
        self.keeps_gram: bool = True
        self.threaded: bool = n >= _THREADED
        self.narrowed: bool = False
        self.most_mass: int = 1 << n  # the probabilities of a ranking add up to at most this
        self._parts = np.zeros(n)

    @cached_property
    def _menus(self) -> Ints:
        menus: Ints = middle_menus(self.n)
        return menus

    def evaluate(self, problem: KernelProblem, types: Paths, weights: Array, count: int, threads: int) -> float:
        """Fill the cost table for a mixture of the first `count` rankings; its objective."""

        def rows(cut: tuple[int, int]) -> None:
            gradient_rows(problem, types, weights, count, self.cost, self._parts, *cut)

        # Every row is alone, so the cut may depend on the number of threads.
        pieces = min(self.n, 2 * threads) if threads > 1 else 1
        run_threads(rows, [(self.n * i // pieces, self.n * (i + 1) // pieces) for i in range(pieces)], threads)
        return float(self._parts.sum())

    def cheapest(self, threads: int) -> Paths:
        """The cheapest ranking."""
        cheapest_below(self.cost, threads, self.below)
        path = np.empty(self.n, np.int32)
        extract_path(self.cost, self.below, self.below, self.n, (1 << self.n) - 1, path)
        return path

    def sweep(self, threads: int, whole: bool = True) -> float:
        """Cheapest ways to and from every menu; the price of the cheapest ranking."""
        if not self.threaded:
            sweep_lattice(self.cost, self.above, self.below)
        else:
            cheapest_ways(self.cost, threads, self.below, self.above)
        return float(self.below[-1])

    def fill_pool(self, pool: Pool, nu: float) -> int:
        """The most violated rankings, given the price nu of those in use; how many."""
        size: int = fill_pool(self._menus, pool, self.cost, self.above, self.below, nu)
        return size
