"""Lower bounds on the price of the cheapest ranking, one better (and dearer) than the other.

1. groups of menus, the heaviest together, each with its own graph (`rumflow.solvers.bounded.groups`);
2. the linear relaxation over the order of pairs of items (`rumflow.solvers.bounded.ordering`);
3. branch and cut by HiGHS on the same variables: its dual bound, never its incumbent.

Menus whose prices are all equal are left out of 2 and 3 as well. Each bound comes with rankings that are worth a look: the search
may have missed them. For samples from some population 1 or 2 is exact as a rule. Where the data are so far from any population
that neither is, a bound of the optimum itself (`rumflow.solvers.bounded.split`) says more than 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.core.compile import clock
from rumflow.core.graph import prices_by_item
from rumflow.core.graph_cells import Cells
from rumflow.models.model import Model
from rumflow.models.open_menus import Limit
from rumflow.solvers.bounded.groups import GROUP_LIMIT, bound_groups, find_heavy
from rumflow.solvers.bounded.search import repair

if TYPE_CHECKING:
    from rumflow.solvers.bounded.ordering import OrderingProgram

#: Seconds that branch and cut may take, and at most half of the time that is left.
BRANCH_SECONDS = 30.0

#: More items than this make relaxations that take longer than they are worth.
MOST_ORDERED = 80

#: The same of its inequalities: of each menu, about its size squared.
MOST_ROWS = 1_000_000


class Bound(NamedTuple):
    """No type of the model is cheaper than this."""

    value: float
    orders: Ints  # (k, n): rankings that are worth a look


class Bounder:
    """Bounds for given menus; what one call has learnt is there for the next."""

    def __init__(self, model: Model, cells: Cells, limit: Limit = GROUP_LIMIT) -> None:
        self.model: Model = model
        self.cells: Cells = cells
        self._limit = limit
        self._known = model.known(cells.items)
        self._menus: Ints = np.empty(0, np.int64)
        self._items: Ints = self._menus  # of the programme
        self._program: OrderingProgram | None = None

    def bounds(self, cost: Array, deadline: float | None = None) -> Iterator[Bound]:
        """Kinds 1 and 2 for a (menus, width) table of prices, until the deadline on `rumflow.core.compile.clock`."""
        if deadline is not None and clock() > deadline:
            return
        groups = bound_groups(self.model, self.cells, cost, self._limit, deadline)
        yield Bound(groups.bound, groups.orders)
        if groups.exact:
            return
        program, price, rest = self._ordering(cost)
        relaxed = (
            None if program is None else program.relax(price, None if deadline is None else (clock() + deadline) / 2)
        )
        if program is not None and relaxed is not None:
            yield Bound(rest + relaxed.bound, self._orders(program, relaxed.y))

    def branch(self, cost: Array, deadline: float | None = None) -> Iterator[Bound]:
        """Kind 3, after the others."""
        program, price, rest = self._ordering(cost)
        seconds = BRANCH_SECONDS if deadline is None else min(BRANCH_SECONDS, (deadline - clock()) / 2)
        if program is None or seconds <= 0:
            return
        found = program.branch(price, seconds)
        if found is not None:
            yield Bound(rest + found.bound, self._orders(program, found.y))

    def _ordering(self, cost: Array) -> tuple[OrderingProgram | None, Array, float]:
        """The programme of the menus that matter, their prices by item, and what the other menus cost."""
        heavy = find_heavy(self.cells, cost)
        menus = np.sort(heavy.menus)
        part, items = self.cells.part(menus).compact() if len(menus) else (self.cells, menus)
        if not 0 < len(items) <= MOST_ORDERED or (part.offered.sizes**2).sum() > MOST_ROWS:
            return None, cost, heavy.rest
        from rumflow.solvers.bounded.ordering import OrderingProgram  # SciPy takes a while to load

        if self._program is None or not np.array_equal(menus, self._menus):
            self._menus, self._items, self._program = menus, items, OrderingProgram(part, self._known.cut(items))
        return self._program, prices_by_item(part.column, part.cut(cost, menus)), heavy.rest

    def _orders(self, program: OrderingProgram, y: Array) -> Ints:
        others = np.setdiff1d(np.arange(self.cells.n_items), self._items)
        orders = np.concatenate([self._items[program.order(y)], others])[None]
        if len(self._known.named):
            repair(self._known, orders)
        return orders
