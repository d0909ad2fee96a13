"""One problem of assortments: the checked input, its searches and its table.

Inside, items are numbered by falling revenue (places); menus that come and go are in the order of the fit's items.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.compile import clock
from rumflow.core.memory import NoMemoryError
from rumflow.core.patience import OutOfTimeError, limited
from rumflow.core.preferences import Preferences
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
    blocks_of,
    search,
    search_mixture,
)
from rumflow.inference.populations import Fitted, Populations
from rumflow.inference.sharp import FixedCells, fixed_by
from rumflow.models.rankings import choice_probabilities
from rumflow.output.progress import Stage
from rumflow.projection.results import Projection

_PRODUCTS = 500  # of numbers in a product of tables, in the time of one look at an item
_MOST_LINKED = 20_000  # items of which it is found out which may as well be on menus with which
_TABLE_SECONDS = 1.0  # for what the menus of the table earn in the fit, also where time is up
_TOL = 1e-6  # of the largest revenue: menus closer than this are equally good


def _no_links(n: int) -> Any:
    none: Any = (n, n)
    return sparse.csr_matrix(none, dtype=np.bool_)


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
        self._known: Preferences | None = None
        if fit.model.is_random_utility:
            self._known = fit.model.known(fit.items).cut(self._order)
        self._space = Space(self._revenue, limits, self._implied(limits, max_size is not None))
        self._fixed_space = Space(self._revenue, limits, _no_links(fit.n))
        if self._space.root() is None:
            raise InputError("no assortment satisfies max_size, must and never_together together")

    def _implied(self, limits: Limits, sized: bool) -> Any:
        """[i, k]: a best menu that has i may as well have k. None are known where that would take too long."""
        n = len(self._revenue)
        if sized or self._known is None or n > _MOST_LINKED:
            return _no_links(n)
        menus = self._membership.astype(np.float32)
        without = 1 - menus
        free = ~limits.apart.any(axis=0)
        rows: list[Any] = []
        over = self._known.over.astype(np.float32)  # [a, b]: a above b
        # Nothing is above i that is not above k nor k itself.
        follows: Mask = over.T @ (1 - over - np.eye(len(over), dtype=np.float32)) <= 0
        bound = np.append(over.any(axis=0), False)  # has it items above? The last entry is for items that are not named
        try:
            for begin, end in blocks_of(n, n * (1 + len(menus) // _PRODUCTS)):
                own = slice(begin, end)
                implied = menus[:, own].T @ without == 0  # no menu has i and lacks k
                if len(over):
                    number = self._known.number[own]
                    below = np.flatnonzero(bound[number])
                    allowed = np.zeros((len(below), n), np.bool_)
                    allowed[:, self._known.named] = follows[number[below]]
                    implied[below] &= allowed
                implied &= (self._revenue[own, None] <= self._revenue) & free
                implied[np.arange(end - begin), np.arange(begin, end)] = False
                rows.append(sparse.csr_matrix(implied))
        except OutOfTimeError:
            return _no_links(n)
        return sparse.vstack(rows, "csr")

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

        @cache
        def cases() -> WorstCases:
            """Made when the search asks: where there is no time or room for them, it ends with what it has."""
            made = WorstCases(self._membership, counted, self._known, self._revenue, cheapest)
            made.learn(self._place[populations.orders])
            return made

        highest = -np.inf

        def value(menu: Mask) -> float:
            nonlocal highest
            if menu.sum() == 1:
                return float(self._revenue[menu][0])
            solution, orders = populations.worst(menu[self._place], self.values)
            highest = max(highest, solution.value)
            cases().learn(self._place[orders])
            return solution.bound

        def bound(node: Node, beat: float) -> tuple[float, int]:
            return cases().bound(self._space, node, beat)

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
        most = float(self._revenue.max())
        found = Found(menus[-1], float(self._revenue[menus[-1]].min()), most, 0, "")
        try:
            with limited(deadline):
                earned = self._earned(np.array(menus)[:, self._place])
                best = int(earned.argmax())
                start = menus[best], float(earned[best])
                found = found._replace(menu=start[0], value=start[1])
                orders, weights = self._place[self.fit.rankings.orders], self.fit.rankings.weights
                found = search_mixture(orders, weights, self._fixed_space, self._tol, deadline, start)
        except OutOfTimeError:
            found = found._replace(reason="max_seconds")
        except NoMemoryError:
            found = found._replace(reason="too large")
        except KeyboardInterrupt:
            found = found._replace(reason="interrupted")
        return found._replace(menu=found.menu[self._place])

    def _earned(self, menus: Mask) -> Array:
        """What menus earn from the fitted mixture."""
        orders, weights, _ = self.fit.rankings
        earned = np.zeros(len(menus))
        for begin, end in blocks_of(len(orders), int(menus.sum())):
            earned += choice_probabilities(orders[begin:end], weights[begin:end], menus) @ self.values
        return earned

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
        try:
            with limited(clock() + _TABLE_SECONDS):
                fitted = self._earned(np.array([row.menu for row in rows]))
        except (NoMemoryError, OutOfTimeError):
            fitted = np.full(len(rows), np.nan)
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
