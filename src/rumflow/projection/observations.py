"""What was observed, in one form whatever it came as: menus, recorded cells, probabilities, sizes, labels.

All checks of data and weights are made here, once; `Observations.lay_out` brings them into the layout of a geometry.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import as_floats, check_option, require_weights
from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.graph_cells import Cells
from rumflow.core.lattice import MAX_ITEMS, Lattice
from rumflow.core.menus import Menus
from rumflow.core.paths import squeeze
from rumflow.core.problem import NO_WEIGHTS, Stop
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, format_menu
from rumflow.data.menus import make_table
from rumflow.errors import InputError
from rumflow.models.budgets import model_of_budgets
from rumflow.models.model import Model, require_model
from rumflow.models.random_utility import RANDOM_UTILITY
from rumflow.projection.inputs import (
    ALWAYS_FITS,
    cell_name,
    check_weights,
    items_from_shape,
    read_array,
    require_lattice_memory,
)
from rumflow.solvers.geometry import Geometry, SolveOptions
from rumflow.solvers.resources import ONE_THREAD, Resources

_NUMBERED: list[tuple[Item, ...]] = [tuple(range(n)) for n in range(MAX_ITEMS + 1)]  # labels of items without a name

#: Weights by name.
NAMED_WEIGHTS = (None, "counts", "inverse-variance")


class Observations:
    """Menus with the probabilities of their recorded cells.

    From ChoiceData, or from a (2^n, n) array of probabilities with NaN for what was not observed; of an array the observed menus
    are those of two items or more. Tables over menus and items are made when they are asked for.
    """

    def __init__(self, data: ChoiceData | ArrayLike) -> None:
        self._target: Array | None = None  # of an array, in the internal layout of the lattice
        self._seen: Mask | None = None  # None: every cell of every menu was observed
        if isinstance(data, ChoiceData):
            self.data: ChoiceData | None = data
            self.items: tuple[Item, ...] = data.items
            self.sizes: Array | None = data.totals
            return
        self.data, self.sizes = None, None
        array = np.ascontiguousarray(as_floats(data, "data"))
        n = items_from_shape(array.shape)
        if n > ALWAYS_FITS:
            require_lattice_memory(n)
        self.items = _NUMBERED[n]
        self._target, seen, missing = read_array(n, array, self.items)
        self._seen = seen if missing else None

    @classmethod
    def on_lattice(cls, target: Array, seen: Mask | None) -> Self:
        """Numbers over all menus in the internal layout; `seen`: what was observed, None for everything."""
        own = cls.__new__(cls)
        own.data, own.sizes, own.items = None, None, _NUMBERED[len(target)]
        own._target, own._seen = target, seen
        return own

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def whole(self) -> bool:
        """Is this an array in which every cell of every menu was observed?"""
        return self.data is None and self._seen is None

    @cached_property
    def masks(self) -> Ints:
        """(m,) bit masks of the observed menus."""
        if self.data is not None:
            return self.data.masks
        inside = Lattice(self.n).membership
        several = inside.sum(axis=1) >= 2
        if self._seen is None:
            return np.flatnonzero(several)
        seen = Lattice(self.n).from_internal(self._seen.astype(np.float64)) > 0
        return np.flatnonzero(seen.any(axis=1) & several)

    @cached_property
    def membership(self) -> Mask:
        """(m, n): the observed menus, as rows of truth values."""
        if self.data is not None:
            return self.data.membership
        rows: Mask = Lattice(self.n).membership[self.masks]
        return rows

    @cached_property
    def menus(self) -> Menus:
        """The observed menus, as lists of items."""
        return self.data.offered if self.data is not None else Menus.from_table(self.membership)[0]

    @cached_property
    def shares(self) -> Array:
        """(cells,): the probability of each item of each menu, NaN where it was not recorded."""
        if self.data is not None:
            return self.data.shares
        own: Array = self.over_all_menus()[self.masks][self.membership]
        return own

    @cached_property
    def frequencies(self) -> Array:
        """(m, n): the probabilities, NaN on what was not recorded."""
        table = make_table(self.menus, self.shares, np.nan)
        table.flags.writeable = False
        return table

    def over_all_menus(self) -> Array:
        """(2^n, n): the probabilities of every menu; NaN where not observed, 0 outside the menu."""
        lattice = Lattice(self.n)
        if self._target is not None:
            target = self._target if self._seen is None else np.where(self._seen, self._target, np.nan)
            return lattice.from_internal(target)
        array = np.where(lattice.membership, np.nan, 0.0)
        array[self.masks] = np.asarray(self.menus.to_table(self.shares, 0.0), np.float64)
        array[1 << np.arange(self.n), np.arange(self.n)] = 1.0
        return array

    @cached_property
    def rows(self) -> Ints:
        """The menus of two items or more."""
        rows = np.flatnonzero(self.menus.sizes > 1)
        if len(rows) == 0:
            raise InputError("no menu of two or more items was observed: every menu leaves no choice")
        return rows

    @cached_property
    def cells(self) -> Cells:
        """The recorded cells of the menus of two items or more."""
        offered, cells = self.menus.take(self.rows)
        return Cells.of_menus(offered, self._recorded[cells], self.items)

    def lay_out(
        self, geometry: Geometry, weights: str | ArrayLike | None, resources: Resources = ONE_THREAD
    ) -> tuple[Array, Array]:
        """Target and weights in the layout of a geometry; weights without rows: every cell counts 1.

        resources   of the fit that the weights "inverse-variance" need.
        """
        if self._target is not None and geometry.has_all_menus:
            if weights is None and self._seen is None:
                return self._target, NO_WEIGHTS
            return self._lay_out_array(weights)
        cell, position = self.places(geometry)
        target = geometry.blank(1.0)
        target.reshape(-1)[position] = self.shares[cell]
        w = self.weigh(weights)[cell]
        if isinstance(weights, str) and weights == "inverse-variance":
            given = _spread(geometry, position, w)
            options, own = SolveOptions(only_upper=True), resources._replace(report=None)
            near = geometry.weighted(given).solve(target[None], Stop(1e-9), options=options, resources=own)
            p = near.rho.reshape(-1)[position]
            items = self.menus.sizes[self._menu[cell]]
            # One observation per item moves the fit towards uniform; a menu of one item is no news.
            w = np.where(items > 1, w / ((w * p + 1.0) / (w + items)), 1.0)
        return target, _spread(geometry, position, w)

    def places(self, geometry: Geometry) -> tuple[Ints, Ints]:
        """The recorded cells that a layout has, by number, and their positions in it; a graph has no menus of one item."""
        menu, item = self._menu, self.menus.item
        if geometry.has_all_menus:
            cell = np.flatnonzero(self._recorded)
            return cell, lattice_positions(self.n, self.masks[menu[cell]], item[cell].astype(np.int64))
        cell = np.flatnonzero(self._recorded & (self.menus.sizes[menu] > 1))
        row = np.searchsorted(self.rows, menu[cell])
        return cell, geometry.positions(row, item[cell].astype(np.int64), self.cells)

    @cached_property
    def _menu(self) -> Ints:
        """(cells,): the menu of each cell."""
        return self.menus.menu

    @cached_property
    def _recorded(self) -> Mask:
        """(cells,): was it recorded?"""
        return ~np.isnan(self.shares)

    def _lay_out_array(self, weights: str | ArrayLike | None) -> tuple[Array, Array]:
        assert self._target is not None
        if weights is None:
            return self._target, NO_WEIGHTS if self._seen is None else self._seen.astype(np.float64)
        if isinstance(weights, str):
            self._refuse_named(weights)
        rows = check_weights(Lattice(self.n), self._array(weights), self.items)
        if self._seen is not None and (unseen := (rows > 0) & ~self._seen).any():
            x, column = np.argwhere(unseen)[0].tolist()
            self._refuse_unseen(cell_name(self.items, x, column), float(rows[x, column]))
        return self._target, rows

    def weigh(self, weights: str | ArrayLike | None) -> Array:
        """(cells,): weights of the recorded cells, 0 elsewhere; for "inverse-variance" those of the fit that it starts from.

        weights   None: 1. "counts": the menu's sample size. An array like `frequencies`, or over all menus.
        """
        recorded = self._recorded
        if weights is None:
            return recorded.astype(np.float64)
        if isinstance(weights, str):
            self._refuse_named(weights)
            assert self.sizes is not None
            w: Array = recorded * self.sizes[self._menu]
        else:
            given = self._array(weights)
            w = (given[self.masks] if self.data is None else given).reshape(-1)[self.menus.entry]
            unseen = (w > 0) & ~recorded
            if unseen.any():
                self._refuse_unseen(self._cell_name(int(unseen.argmax())), float(w[unseen][0]))
        require_weights(w, self._cell_name)
        return np.asarray(w, np.float64)

    def _cell_name(self, cell: int) -> str:
        """A cell in words."""
        labels = self.menus.labels_of(int(self._menu[cell]), self.items)
        return f"menu {format_menu(labels)}, item {self.items[self.menus.item[cell]]!r}"

    def _refuse_named(self, weights: str) -> None:
        check_option(weights, "weights", NAMED_WEIGHTS, f"an array of shape {self._shapes()}")
        if self.sizes is None:
            raise InputError(f"weights={weights!r} needs ChoiceData: an array of probabilities has no sample sizes")

    def _shapes(self) -> str:
        every = (1 << self.n, self.n) if self.n <= MAX_ITEMS else None
        own = None if self.data is None else (len(self.data.totals), self.n)
        return " or ".join(str(shape) for shape in (own, every) if shape is not None)

    def _array(self, weights: ArrayLike) -> Array:
        """Weights given as an array, like `frequencies` (or over all menus, where the data are)."""
        array = as_floats(weights, "weights")
        n, m = self.n, None if self.data is None else len(self.data.totals)
        every = n <= MAX_ITEMS and array.shape == (1 << n, n)
        if not (every or (m is not None and array.shape == (m, n))):
            raise InputError(f"weights: an array of shape {self._shapes()} is needed, not {array.shape}")
        return array[self.masks] if every and m is not None else array

    @staticmethod
    def _refuse_unseen(cell: str, weight: float) -> None:
        raise InputError(f"weights: {cell} has weight {weight:g} but was not observed; give it weight 0")


def _spread(geometry: Geometry, position: Ints, weights: Array) -> Array:
    """Weights in the layout; a menu of one item is no news, and as light as the lightest."""
    least = float(weights.min(initial=np.inf))
    if not 0 < least < np.inf:
        if not (weights > 0).any():
            raise InputError(
                "weights: every weight is 0 on the menus of two items or more; at least one must be positive"
            )
        least = float(weights[weights > 0].min())
    table = geometry.blank(least)
    table.reshape(-1)[position] = weights
    return table


def lattice_positions(n: int, masks: Ints, item: Ints) -> Ints:
    """Where cells (mask, item) lie in the flattened internal layout of the lattice."""
    where: Ints = (item << (n - 1)) + squeeze.py_func(masks, item)
    return where


def observe(data: Any, model: Model | None) -> tuple[Observations, Model]:
    """Data in any accepted form as observations, and the model that goes with them; None: random utility."""
    if model is not None:
        require_model(model)
    if isinstance(data, BudgetData):
        model, data = model_of_budgets(data, model), data.choices
    return Observations(data), RANDOM_UTILITY if model is None else model
