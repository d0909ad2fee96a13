"""Sets of populations over which menus are valued at their worst: those equal to the fit, and those not rejected at a level."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.core.memory import NoMemoryError
from rumflow.core.patience import OutOfTimeError, check_patience
from rumflow.inference.plausible import Band
from rumflow.inference.sharp import LinearFunctionals, find_bounds, fixed_by, independent, lay_out, worst_case
from rumflow.projection.results import Projection
from rumflow.solvers.linear_programs import Solution, solve_program
from rumflow.solvers.range_programs import RangePrograms, Ranges


class Populations:
    """A set of populations that is given by what they take from the recorded menus."""

    fit: Projection
    counted: Mask  # (m, n): cells of the recorded menus that say who is in the set
    orders: Ints  # rankings, best first, and their weights: one of the populations
    weights: Array

    def worst(self, menu: Mask, values: Array) -> tuple[Solution, Ints]:
        """The least that a menu earns, and the rankings of a population that pays no more."""
        raise NotImplementedError

    def range(self, menu: Mask, values: Array) -> tuple[float, float]:
        """The least and the most that a menu earns; NaN where the graph is too large, or time is up."""
        try:
            return self._range(menu, values)
        except (GraphTooLargeError, NoMemoryError, OutOfTimeError):
            return np.nan, np.nan

    def _range(self, menu: Mask, values: Array) -> tuple[float, float]:
        return self.worst(menu, values)[0].bound, -self.worst(menu, -values)[0].bound

    def cheapest(self, worth: Array, taken: Any, row: Ints, item: Ints) -> Array:
        """Shares of types with the least worth: `taken` (cells, types) says who takes which of the counted cells (row, item)."""
        raise NotImplementedError


class Fitted(Populations):
    """The populations with the fitted values on every recorded cell."""

    def __init__(self, fit: Projection) -> None:
        self.fit: Projection = fit
        self._given = fixed_by(fit)
        self.counted: Mask = independent(self._given.menus, self._given.seen)

    @property
    def orders(self) -> Ints:  # type: ignore[override]  # these are made when they are asked for: there may be no room
        """Rankings of the fit, best first."""
        return self.fit.rankings.orders

    @property
    def weights(self) -> Array:  # type: ignore[override]
        """Their weights."""
        return self.fit.rankings.weights

    def worst(self, menu: Mask, values: Array) -> tuple[Solution, Ints]:
        """The least that a menu earns, and the rankings of a population that pays no more."""
        solution, (orders, _) = worst_case(self.fit, menu, values)
        return solution, orders

    def _range(self, menu: Mask, values: Array) -> tuple[float, float]:
        """Sharp bounds, which are known at once for menus recorded in full."""
        row = self._full.get(menu.tobytes())
        if row is not None:
            return (float(np.where(menu, self._given.values[row], 0.0) @ values),) * 2
        asked = LinearFunctionals(menu[None], np.where(menu, values, 0.0)[None, None], np.zeros(1))
        lower, upper, _ = find_bounds(self.fit, asked)
        return float(lower[0]), float(upper[0])

    def cheapest(self, worth: Array, taken: Any, row: Ints, item: Ints) -> Array:
        """Shares of types with the least worth."""
        one: Any = sparse.csc_matrix(np.ones((1, len(worth))))
        values = np.append(self.fitted[row, item], 1.0)
        return np.asarray(solve_program(worth, equal=(sparse.vstack([taken, one], "csc"), values)).x, np.float64)

    @cached_property
    def _full(self) -> dict[bytes, int]:
        given = self._given
        full = np.flatnonzero((given.seen == given.menus).all(axis=1))
        return {given.menus[row].tobytes(): int(row) for row in full}

    @cached_property
    def fitted(self) -> Array:
        """(m, n): shares of the mixture itself, so that its types have exactly these."""
        menus = self._given.menus
        found = np.zeros(menus.shape)
        taken = Cells(menus).items_of_types(Cells(menus).types_of_orders(self.orders))
        np.add.at(found, (np.arange(len(menus))[None], taken), self.weights[:, None])
        return found


class NotRejected(Populations):
    """The populations of a band; `empty` where there is none, `nearest` says how far its ranges must be stretched then."""

    def __init__(self, fit: Projection, band: Band) -> None:
        self.fit: Projection = fit
        self._band, self._given = band, fixed_by(fit)
        self.counted: Mask = self._given.seen
        self.orders, self.weights = fit.rankings.orders, fit.rankings.weights
        cells, programs = self._programs(np.zeros(self._given.menus.shape[1], np.bool_))
        self.nearest: Solution
        self.nearest, (types, weights) = programs.nearest()
        self.empty: bool = self.nearest.bound > 1.0
        self.orders: Ints = fit.model.orders(cells, types)
        self.weights: Array = weights

    def worst(self, menu: Mask, values: Array) -> tuple[Solution, Ints]:
        """The least that a menu earns, and the rankings of a population that pays no more."""
        cells, programs = self._programs(menu)
        asked = np.where((cells.membership == menu).all(axis=1)[:, None] & menu, values, 0.0)
        solution, (types, _) = programs.minimiser(cells.to_table(asked))
        return solution, self.fit.model.orders(cells, types)

    def cheapest(self, worth: Array, taken: Any, row: Ints, item: Ints) -> Array:
        """Shares of types with the least worth."""
        one = sparse.csc_matrix(np.ones((1, len(worth))))
        ranges = self._ranges(row, item)
        return np.asarray(solve_program(worth, equal=(one, np.ones(1)), most=ranges.limits(taken)).x, np.float64)

    def _ranges(self, row: Ints, item: Ints) -> Ranges:
        band = self._band
        middle, room = 0.5 * (band.least + band.most), 0.5 * (band.most - band.least)
        return Ranges(band.sums[:, row * self.counted.shape[1] + item], middle, room)

    def _programs(self, menu: Mask) -> tuple[Cells, RangePrograms]:
        """Programmes on the recorded menus and another one, where it has items."""
        check_patience()
        layout = lay_out(self._given, menu[None] if menu.any() else menu[None][:0])
        asked = np.zeros(layout.menus.shape, np.bool_)
        asked[layout.new] = menu
        cells = Cells(layout.menus, layout.fixed | asked, self.fit.items)
        row, item = np.nonzero(self.counted)
        place = layout.own[row]
        column = cells.column[place, item].astype(np.int64)
        graph = self.fit.model.geometry(cells)
        types = cells.types_of_orders(self.orders)
        return cells, RangePrograms(graph, place, column, types, self._ranges(row, item))
