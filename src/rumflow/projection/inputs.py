"""From what users give (data or an array, weights in three forms) to the problem the solvers take."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import as_floats, require_weights
from rumflow.core.arrays import Array
from rumflow.core.compile import leaf
from rumflow.core.lattice import MAX_ITEMS, Lattice, items_of
from rumflow.core.memory import projection_bytes, require_memory
from rumflow.core.paths import squeeze, unsqueeze
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.output.names import apart_from
from rumflow.solvers.active_set.on_lattice import pool_size

#: Up to this many items memory is not worth counting: a megabyte.
ALWAYS_FITS = 10

#: How far the sum of a fully observed menu may be from 1.
SUM_TOLERANCE = 1e-6


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


def require_lattice_memory(n: int, weighted: bool = False, menus: int = 0) -> None:
    """Raise before anything is made where a projection over all menus of n items does not fit into memory."""
    require_memory(
        projection_bytes(n, weighted, pool_size(n), menus=menus),
        f"the projection for n = {n} items ({n << (n - 1):,} cells)",
    )


def read_array(n: int, array: Array, items: tuple[Item, ...]) -> tuple[Array, NDArray[np.bool_], int]:
    """Probabilities, checked, in the internal layout, which of them were observed, and how many were not."""
    shape = n, 1 << (n - 1)
    target, seen = np.empty(shape), np.empty(shape, np.bool_)
    code, menu, x, missing = _inspect(array, n, SUM_TOLERANCE, target, seen)
    if code != _FINE:
        name = f"menu {format_menu(items[y] for y in items_of(menu))} (row {menu})"
        values = array[menu, list(items_of(menu))]
        reason = {
            _INFINITE: f"{name}, item {x}: the probability is infinite; it must be from 0 to 1, or NaN for not observed",
            _NEGATIVE: f"{name}, item {x}: the probability is {array[menu, x]:g}; it must be from 0 to 1",
            _OUTSIDE: f"{name}, item {x}: the entry is {array[menu, x]:g} but the item is not in the menu; it must be 0 or NaN",
            _SUM: f"{name}: the probabilities add up to {apart_from(values.sum(), 1)}; they must add up to 1 (NaN: not observed)",
            _PARTIAL: f"{name}: the observed probabilities add up to {apart_from(np.nansum(values), 1)}; they must add up to at "
            "most 1",
        }
        raise InputError(reason[code])
    if missing == (n << (n - 1)) - n and n > 1:
        raise InputError("no cell is observed: every menu of two or more items is NaN")
    return target, seen, missing


def check_weights(lattice: Lattice, weights: ArrayLike, items: tuple[Item, ...]) -> Array:
    """Weights given as a (2^n, n) array, checked, in the internal layout."""
    array = as_floats(weights, "weights")
    if array.shape != lattice.shape:
        raise InputError(f"weights: an array of shape {lattice.shape} is needed, not {array.shape}")
    given = lattice.to_internal(array)
    require_weights(given, lambda i: cell_name(items, *divmod(i, given.shape[1])))
    return given


def cell_name(items: tuple[Item, ...], x: int, column: int) -> str:
    """A cell of the lattice in words, given by its place in the internal layout."""
    menu = unsqueeze.py_func(column, x)
    return f"menu {format_menu(items[y] for y in items_of(menu))} (row {menu}), item {items[x]!r}"
