"""One problem of assortments: the checked input, its searches and its table.

Inside, items are numbered by falling revenue (places); menus that come and go are in the order of the fit's items.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.data.labels import Item
from rumflow.errors import InputError
from rumflow.inference.assortment_inputs import find_outside, find_revenue
from rumflow.inference.assortment_search import (
    Found,
    Limits,
    Node,
    SearchGoal,
    Space,
    WorstCases,
    search,
    search_mixture,
)
from rumflow.inference.populations import Fitted, Populations
from rumflow.inference.sharp import FixedCells, fixed_by
from rumflow.models.rankings import choice_probabilities
from rumflow.output.progress import Stage
from rumflow.projection.results import Projection

_TOL = 1e-6  # of the largest revenue: menus closer than this are equally good


class Row(NamedTuple):
    """An assortment to be shown."""

    name: str
    menu: Mask  # in the order of the items
    allowed: bool

    def labels(self, fit: Projection) -> tuple[Item, ...]:
        """Its items."""
        return tuple(fit.items[x] for x in np.flatnonzero(self.menu))


class Task:
    """The recorded menus, revenues and limits."""

    def __init__(
        self,
        fit: Projection,
        revenue: Mapping[Item, float] | ArrayLike,
        outside_option: Item | None,
        max_size: int | None,
        must: Mask,
        never_together: Sequence[Mask],
    ) -> None:
        self.fit: Projection = fit
        self.given: FixedCells = fixed_by(fit)
        self._ranges: dict[bytes, tuple[float, float]] = {}  # of menus, over the populations equal to the fit
        self.outside: int = find_outside(fit, self.given.menus, outside_option)
        self.values: Array = find_revenue(fit.items, revenue, outside_option)
        self._tol = _TOL * float(np.abs(self.values).max())
        self._order: Ints = np.argsort(-self.values, kind="stable")  # the item at each place
        self._place = np.argsort(self._order)
        apart = np.array(never_together, np.bool_).reshape(-1, fit.n)
        if (apart[:, self.outside]).any():
            raise InputError(f"never_together: the outside option {fit.items[self.outside]!r} is on every menu")
        needed = must.copy()
        needed[self.outside] = True
        size = fit.n if max_size is None else max_size
        limits = Limits(needed[self._order], size, apart[:, self._order])
        self._revenue = self.values[self._order]
        self._membership = np.ascontiguousarray(self.given.menus[:, self._order])
        self._known = (
            fit.model.preferences(fit.items)[np.ix_(self._order, self._order)] if fit.model.is_random_utility else None
        )
        self._space = Space(self._revenue, limits, self._implied(limits, max_size is not None))
        self._fixed_space = Space(self._revenue, limits, np.zeros((fit.n, fit.n), np.bool_))
        if self._space.root() is None:
            raise InputError("no assortment satisfies max_size, must and never_together together")

    def _implied(self, limits: Limits, sized: bool) -> Mask:
        """[i, k]: a best menu that has i may as well have k."""
        n = len(self._revenue)
        if sized or self._known is None:
            return np.zeros((n, n), np.bool_)
        menus = self._membership.astype(np.float32)
        missing = menus.T @ (1 - menus)  # [i, k]: menus with i and without k
        known = self._known.astype(np.float32)  # [a, b]: a above b
        unlike = known.T @ (1 - known - np.eye(n, dtype=np.float32)) > 0  # [i, k]: something above i, not above k nor k
        implied = (missing == 0) & ~unlike & (self._revenue[:, None] <= self._revenue[None, :])
        implied[:, limits.apart.any(axis=0)] = False
        np.fill_diagonal(implied, False)
        return np.asarray(implied, np.bool_)

    def allows(self, menu: Mask) -> bool:
        """Does a menu keep the limits?"""
        return self._space.allows(menu[self._order])

    def search(
        self,
        populations: Populations,
        start: tuple[Mask, float] | None,
        first: Sequence[Mask],
        ceiling: float,
        deadline: float,
        report: Callable[[int, float, float], None],
    ) -> Found:
        """The best menu in the worst case of some populations.

        start    a menu whose worst case is known
        first    menus to value before the search begins: their worst cases teach it what may go wrong
        ceiling  no worst case is above it
        """
        counted = populations.counted[:, self._order]
        row, place = np.nonzero(counted)

        def cheapest(worth: Array, taken: Any) -> Array:
            return populations.cheapest(worth, taken, row, self._order[place])

        cases = WorstCases(self._membership, counted, self._known, self._revenue, cheapest)
        cases.learn(self._place[populations.orders])
        highest = -np.inf

        def value(menu: Mask) -> float:
            nonlocal highest
            if menu.sum() == 1:
                return float(self._revenue[menu][0])
            solution, orders = populations.worst(menu[self._place], self.values)
            highest = max(highest, solution.value)
            cases.learn(self._place[orders])
            return solution.bound

        def bound(node: Node, beat: float) -> tuple[float, int]:
            return cases.bound(self._space, node, beat)

        begin = None if start is None else (start[0][self._order], start[1])
        menus = [menu[self._order] for menu in first]
        found = search(self._space, bound, value, begin, SearchGoal(self._tol, deadline, ceiling), menus, report)
        if not np.isfinite(
            found.value
        ):  # time was up before anything was valued: whatever is taken earns at least this
            found = found._replace(menu=menus[0], value=float(self._revenue[menus[0]].min()))
        upper = min(max(found.upper, highest), float(self._revenue.max()))
        return found._replace(menu=found.menu[self._place], upper=upper)

    def search_fit(self, deadline: float) -> Found:
        """The best menu for the fitted mixture."""
        first = self._fixed_space.root()
        assert first is not None
        menus = [first.inside, *(own for own in self._membership if self._fixed_space.allows(own))]
        orders, weights = self._place[self.fit.rankings.orders], self.fit.rankings.weights
        earned = choice_probabilities(orders, weights, np.array(menus)) @ self._revenue
        best = int(earned.argmax())
        start = menus[best], float(earned[best])
        found = search_mixture(orders, weights, self._fixed_space, self._tol, deadline, start)
        return found._replace(menu=found.menu[self._place])

    def range(self, populations: Populations, menu: Mask) -> tuple[float, float]:
        """The least and the most that a menu earns in some populations."""
        if menu.sum() == 1:
            return (float(self.values[menu][0]),) * 2
        if populations is not self._fitted:
            return populations.range(menu, self.values)
        key = menu.tobytes()
        if key not in self._ranges or np.isnan(self._ranges[key][0]):
            self._ranges[key] = populations.range(menu, self.values)
        return self._ranges[key]

    @cached_property
    def past(self) -> list[tuple[Mask, float, float]]:
        """The recorded menus with the outside option, and their ranges where populations equal the fit; the best first."""
        menus = self.given.menus[self.given.menus[:, self.outside]]
        rows = [(menu, *self.range(self._fitted, menu)) for menu in menus]
        return sorted(rows, key=lambda row: (bool(np.isnan(row[1])), -row[1]))

    @cached_property
    def _fitted(self) -> Fitted:
        return Fitted(self.fit)

    def rows(self, robust: Mask, point: Mask) -> list[Row]:
        """What to show: the robust menu, the best of the fit, and the past ones."""
        rows = [Row("best in the worst case", robust, True), Row("best of the fit", point, True)]
        return rows + [Row(f"past {k}", menu, self.allows(menu)) for k, (menu, _, _) in enumerate(self.past, 1)]

    def table(self, rows: list[Row]) -> dict[str, list[Any]]:
        """Columns of the result's table."""
        ranges = [self.range(self._fitted, row.menu) for row in rows]
        menus = np.array([row.menu for row in rows])
        rankings = self.fit.rankings
        fitted = choice_probabilities(rankings.orders, rankings.weights, menus) @ self.values
        return {
            "assortment": [row.name for row in rows],
            "menu": [row.labels(self.fit) for row in rows],
            "size": [int(row.menu.sum()) - 1 for row in rows],
            "lower": [low for low, _ in ranges],
            "upper": [high for _, high in ranges],
            "fit": fitted.tolist(),
            "allowed": [row.allowed for row in rows],
        }


class SearchLine(Stage):
    """Progress of the search on standard error."""

    def __init__(self, show: bool) -> None:
        super().__init__(show, "the value of the first assortments")

    def show(self, nodes: int, best: float, upper: float) -> None:
        """After every node."""
        with self._lock:
            self._what = f"{nodes} sets of menus, best {best:.6g}, none above {upper:.6g}"
            if self._show and time.perf_counter() - self._last > 0.2:
                self._write()
