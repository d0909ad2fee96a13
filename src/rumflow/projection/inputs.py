"""From what users give (data or an array, weights in three forms) to the problem the solvers take."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import LARGEST as LARGEST  # noqa: PLC0414 -- also imported from here
from rumflow.check import as_floats as as_floats  # noqa: PLC0414 -- also imported from here
from rumflow.check import check_option
from rumflow.check import check_tol as check_tol  # noqa: PLC0414 -- also imported from here
from rumflow.check import require_weights as require_weights  # noqa: PLC0414 -- also imported from here
from rumflow.core.arrays import Array, Ints
from rumflow.core.compile import leaf
from rumflow.core.lattice import MAX_ITEMS, Lattice, items_of
from rumflow.core.memory import projection_bytes, require_memory
from rumflow.core.paths import squeeze, unsqueeze
from rumflow.core.problem import NO_WEIGHTS
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.solvers.active_set.on_lattice import pool_size

_ALWAYS_FITS = 10  # items; a megabyte

#: How far the sum of a fully observed menu may be from 1.
SUM_TOLERANCE = 1e-6


class Prepared(NamedTuple):
    """A clean problem in the internal layout."""

    lattice: Lattice
    items: tuple[Item, ...]
    target: Array
    weights: Array  # no rows: every cell counts 1
    complete: bool  # every cell has a positive weight
    masks: Ints | None = None  # the menus of the data, in their order; None for an array


# What `_inspect` can find wrong with an array.
_FINE, _INFINITE, _NEGATIVE, _OUTSIDE, _SUM, _PARTIAL = range(6)


@leaf
def _inspect(array, n, tolerance, rows, seen):
    """Copy an array to the internal layout and mark its observed cells; the first fault as (code, menu, item)."""
    missing = 0
    for menu in range(1, 1 << n):
        total = 0.0
        size = known = 0
        for x in range(n):
            value = array[menu, x]
            if (menu >> x) & 1:
                size += 1
                if np.isinf(value):
                    return _INFINITE, menu, x, missing
                if value < 0.0:
                    return _NEGATIVE, menu, x, missing
                column = squeeze(menu, x)
                if np.isnan(value):
                    rows[x, column] = 0.0
                    seen[x, column] = False
                else:
                    rows[x, column] = value
                    seen[x, column] = True
                    known += 1
                    total += value
            elif value != 0.0 and not np.isnan(value):
                return _OUTSIDE, menu, x, missing
        if size == 1 and (known == 0 or total == 0.0):
            # A menu of one item leaves no choice: its probability is 1, observed or not.
            x = 0
            while not (menu >> x) & 1:
                x += 1
            rows[x, 0] = 1.0
            seen[x, 0] = True
        elif known == size and abs(total - 1.0) > tolerance:
            return _SUM, menu, 0, missing
        elif known < size:
            missing += size - known
            if total > 1.0 + tolerance:
                return _PARTIAL, menu, 0, missing
    return _FINE, 0, 0, missing


def items_from_shape(shape: tuple[int, ...]) -> int:
    """n, from the shape (2^n, n) of an array over all menus."""
    if len(shape) != 2 or not 1 <= shape[1] <= MAX_ITEMS or shape[0] != 1 << shape[1]:
        raise InputError(
            f"an array of choice probabilities has shape (2^n, n), one row per menu bit mask and one column per item, "
            f"such as (8, 3) or (256, 8); this one has shape {tuple(shape)}"
        )
    return int(shape[1])


def prepare(data: ChoiceData | ArrayLike, weights: str | ArrayLike | None) -> Prepared:
    """Check the input and bring it into the internal layout."""
    if isinstance(data, ChoiceData):
        lattice, items = Lattice(data.n), data.items
        _require(lattice, weighted=True, menus=len(data.counts))
        target, seen = _from_data(lattice, data)
        sizes: Array | None = data.totals
    else:
        array = np.ascontiguousarray(as_floats(data, "data"))
        lattice, items = _numbered(items_from_shape(array.shape))
        _require(lattice, weighted=weights is not None)
        target, seen, missing = read_array(lattice, array, items)
        if weights is None and missing == 0:
            return Prepared(lattice, items, target, NO_WEIGHTS, True)
        sizes = None
    prepared = _weigh(lattice, items, target, seen, weights, data, sizes)
    return prepared._replace(masks=data.masks) if isinstance(data, ChoiceData) else prepared


@lru_cache(maxsize=MAX_ITEMS)
def _numbered(n: int) -> tuple[Lattice, tuple[Item, ...]]:
    return Lattice(n), tuple(range(n))


def _require(lattice: Lattice, weighted: bool, menus: int = 0) -> None:
    if lattice.n <= _ALWAYS_FITS:
        return
    require_memory(
        projection_bytes(lattice.n, weighted, pool_size(lattice.n), menus=menus),
        f"the projection for n = {lattice.n} items ({lattice.n_cells:,} cells)",
    )


def _from_data(lattice: Lattice, data: ChoiceData) -> tuple[Array, NDArray[np.bool_]]:
    target, seen = np.zeros(lattice.internal_shape), np.zeros(lattice.internal_shape, np.bool_)
    row, item = np.nonzero(~np.isnan(data.counts))
    column = squeeze.py_func(data.masks[row], item)
    target[item, column] = data.frequencies[row, item]
    seen[item, column] = True
    target[:, 0], seen[:, 0] = 1.0, True  # a menu of one item leaves no choice
    return target, seen


def read_array(lattice: Lattice, array: Array, items: tuple[Item, ...]) -> tuple[Array, NDArray[np.bool_], int]:
    """Probabilities, checked, in the internal layout, which of them were observed, and how many were not."""
    target, seen = np.empty(lattice.internal_shape), np.empty(lattice.internal_shape, np.bool_)
    code, menu, x, missing = _inspect(array, lattice.n, SUM_TOLERANCE, target, seen)
    if code != _FINE:
        name = f"menu {format_menu(items[y] for y in items_of(menu))} (row {menu})"
        values = array[menu, list(items_of(menu))]
        reason = {
            _INFINITE: f"{name}, item {x}: the probability is infinite; it must be from 0 to 1, or NaN for not observed",
            _NEGATIVE: f"{name}, item {x}: the probability is {array[menu, x]:g}; it must be from 0 to 1",
            _OUTSIDE: f"{name}, item {x}: the entry is {array[menu, x]:g} but the item is not in the menu; it must be 0 or NaN",
            _SUM: f"{name}: the probabilities add up to {values.sum():g}; they must add up to 1 (NaN: not observed)",
            _PARTIAL: f"{name}: the observed probabilities add up to {np.nansum(values):g}; they must add up to at most 1",
        }
        raise InputError(reason[code])
    if missing == lattice.n_cells - lattice.n and lattice.n > 1:
        raise InputError("no cell is observed: every menu of two or more items is NaN")
    return target, seen, missing


def _weigh(
    lattice: Lattice,
    items: tuple[Item, ...],
    target: Array,
    seen: NDArray[np.bool_],
    weights: str | ArrayLike | None,
    data: ChoiceData | ArrayLike,
    sizes: Array | None,
) -> Prepared:
    if weights is None:
        if seen.all():
            return Prepared(lattice, items, target, NO_WEIGHTS, True)
        return Prepared(lattice, items, target, seen.astype(float), False)
    if isinstance(weights, str):
        check_option(weights, "weights", (None, "counts"), f"an array of shape {lattice.shape}")
        if not isinstance(data, ChoiceData) or sizes is None:
            raise InputError("weights='counts' needs ChoiceData: an array of probabilities has no sample sizes")
        w = np.zeros(lattice.internal_shape)
        row, item = np.nonzero(~np.isnan(data.counts))
        w[item, squeeze.py_func(data.masks[row], item)] = sizes[row]
        require_weights(w, lambda i: _cell_name(items, *divmod(i, w.shape[1])))
        w[:, 0] = np.maximum(w[:, 0], w[w > 0].min())  # a menu of one item is no news: as light as the lightest
        return Prepared(lattice, items, target, w, bool((w > 0).all()))
    given = check_weights(lattice, weights, items)
    if (unseen := (given > 0) & ~seen).any():
        x, column = np.argwhere(unseen)[0]
        raise InputError(
            f"weights: {_cell_name(items, int(x), int(column))} has weight {given[x, column]:g} but was not observed; "
            "give it weight 0"
        )
    return Prepared(lattice, items, target, given, bool((given > 0).all()))


def check_weights(lattice: Lattice, weights: ArrayLike, items: tuple[Item, ...]) -> Array:
    """Weights given as a (2^n, n) array, checked, in the internal layout."""
    array = as_floats(weights, "weights")
    if array.shape != lattice.shape:
        raise InputError(f"weights: an array of shape {lattice.shape} is needed, not {array.shape}")
    given = lattice.to_internal(array)
    require_weights(given, lambda i: _cell_name(items, *divmod(i, given.shape[1])))
    return given


def _cell_name(items: tuple[Item, ...], x: int, column: int) -> str:
    menu = unsqueeze.py_func(column, x)
    return f"menu {format_menu(items[y] for y in items_of(menu))} (row {menu}), item {items[x]!r}"
