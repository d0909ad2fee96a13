"""Prices of types without a graph, for the active set: candidates come from local search.

The search starts at the rankings in use and at random ones, and every ranking that no move improves is a candidate. What it says
of the cheapest type is no bound: bounds are in `rumflow.solvers.bounded.bound`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.compile import clock
from rumflow.core.graph_cells import Cells
from rumflow.core.preferences import Preferences
from rumflow.models.rankings import complete_types
from rumflow.solvers.active_set.on_graph import price_cells
from rumflow.solvers.active_set.state import KernelProblem, Pool
from rumflow.solvers.bounded.search import KICK, Board, find_cheap, make_board, random_orders


class Effort(NamedTuple):
    """What a sweep starts from, and how often it kicks each."""

    active: int  # rankings in use, the heaviest
    active_kicks: int
    random: int  # random rankings
    random_kicks: int


FULL = Effort(256, 2, 32, 16)

#: On pairs some cheap types are found from anywhere, and many sweeps with few starts are faster than few sweeps with many: 100
#: items with 500 pairs come within 1e-4 of the data in 2.5 s (not in 20 s). Rankings drawn from a Bradley-Terry fit in place of
#: random ones gained nothing.
BRIEF = Effort(16, 0, 16, 0)


class SearchPrices:
    """The cost table of a mixture of types, and the cheapest types that a search has found.

    effort   what a sweep may cost; on pairs it is brief until somebody sets it to `FULL`.
    """

    def __init__(self, cells: Cells, known: Preferences) -> None:
        self.cells: Cells = cells
        self.known: Preferences = known
        self.board: Board = make_board(cells, known)
        self.cost: Array = np.empty(cells.shape)
        self.pool_size = 512
        self.pool_share: float = 0.1
        self.keeps_gram: bool = False
        self.threaded: bool = True
        self.narrowed: bool = False
        self.most_mass: int = cells.shape[0]
        self.found: Paths = np.empty((0, cells.shape[0]), np.int32)  # unique, cheapest first
        self.found_prices: Array = np.empty(0)
        self.deadline: float | None = None  # when a search ends with what it has
        self._active: Paths = self.found
        self._extra: Paths = self.found
        self.restart(0)

    def restart(self, seed: int) -> None:
        """Begin another solve: the same seed gives the same candidates."""
        self._rng = np.random.default_rng([seed, *self.cells.shape])
        self.effort: Effort = BRIEF if (self.cells.offered.sizes == 2).all() else FULL
        self._extra = np.empty((0, self.cells.shape[0]), np.int32)

    def offer(self, types: Paths) -> None:
        """Types that the next sweep will look at as well."""
        self._extra = np.vstack([self._extra, types])

    def by_cell(self, cost: Array) -> Array:
        """A cost table as prices of what was offered, menu by menu."""
        return np.asarray(cost[self.cells.offered.menu, self.cells.place], np.float64)

    def evaluate(self, problem: KernelProblem, types: Paths, weights: Array, count: int, threads: int) -> float:
        """Fill the cost table for a mixture of the first `count` types; its objective."""
        objective: float = price_cells(problem, types, weights, count, self.cost)
        heaviest = np.argsort(-weights[:count], kind="stable")[: self.effort.active]
        self._active = types[heaviest].copy()
        return objective

    def cheapest(self, threads: int) -> Paths:
        """The cheapest type that was found."""
        self.sweep(threads)
        best: Paths = self.found[0]
        return best

    def sweep(self, threads: int, whole: bool = True) -> float:
        """Search; the price of the cheapest type that was found. After the deadline there are only the types in use."""
        rng, price = self._rng, self.by_cell(self.cost)
        start = np.vstack([self._active, self._extra])
        self._extra = self._extra[:0]
        if len(start) and self.deadline is not None and clock() > self.deadline:
            self._keep(start, self.cost[np.arange(len(self.cost)), start].sum(axis=1))
            return float(self.found_prices[0])
        lots = [
            (self.orders(start), self.effort.active_kicks),
            (random_orders(rng, self.effort.random, self.cells.n_items, self.known), self.effort.random_kicks),
        ]
        types, prices = zip(
            *(
                find_cheap(
                    self.board, price, orders, rng.random((len(orders), kicks, 2 * KICK)), threads, self.deadline
                )
                for orders, kicks in lots
            ),
            strict=True,
        )
        self._keep(np.vstack(types), np.concatenate(prices))
        return float(self.found_prices[0])

    def orders(self, types: Paths) -> Ints:
        """A ranking for each type."""
        orders = np.empty((len(types), self.cells.n_items), np.int64)
        complete_types(self.board.lists, self.board.known, types, orders)
        return orders

    def _keep(self, types: Paths, prices: Array) -> None:
        # Columns are not negative: with their highest bytes first, rows are in the order of their bytes.
        rows = types.astype(">i4").view(np.dtype((np.void, 4 * types.shape[1]))).reshape(-1)
        place = np.unique(rows, return_index=True)[1]
        place = place[np.argsort(prices[place], kind="stable")]
        self.found, self.found_prices = types[place], prices[place]

    def fill_pool(self, pool: Pool, nu: float) -> int:
        """The types found, those violated by a tenth of the worst or more; how many."""
        bound = nu - 0.1 * (nu - self.found_prices[0])
        count = int(np.searchsorted(self.found_prices, bound, side="right"))
        limit = len(pool.paths)
        chosen = np.arange(count)
        if count > limit:
            # A quarter are the cheapest, the others at equal distances: the very cheapest are all alike.
            quarter = limit // 4
            rest = np.linspace(quarter, count - 1, limit - quarter).astype(np.int64)
            chosen = np.concatenate([np.arange(quarter), rest])
        size = len(chosen)
        pool.paths[:size] = self.found[chosen]
        pool.gradient[:size] = self.found_prices[chosen]
        pool.open[:size] = True
        return size
