"""Stacks of arrays over all menus, in the two forms in which they come: (B, 2^n, n), or (B, N) cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import LARGEST, as_floats
from rumflow.core.arrays import Array
from rumflow.core.lattice import MAX_ITEMS, Lattice, items_of
from rumflow.core.paths import unsqueeze
from rumflow.core.problem import NO_WEIGHTS
from rumflow.data.labels import format_menu
from rumflow.errors import InputError
from rumflow.projection.inputs import check_weights

_ITEMS = {n << (n - 1): n for n in range(1, MAX_ITEMS + 1)}  # by the number of cells


def read_stack(values: ArrayLike, lattice: Lattice | None, asked: bool = False) -> tuple[Array, bool]:
    """A stack in the internal layout, and whether it came as cells; `asked`: the lattice was named by the argument n."""
    array = as_floats(values, "a stack of problems")
    n = array.shape[-1] if array.ndim == 2 else 0
    whole = (1 << n, n) if 0 < n <= MAX_ITEMS else None
    if array.ndim == 3 and 1 <= array.shape[2] <= MAX_ITEMS and array.shape[1] == 1 << array.shape[2]:
        own = Lattice(array.shape[2])
        rows = np.empty((len(array), *own.internal_shape))
        for i, one in enumerate(array):
            rows[i] = own.to_internal(one, 1)
        flat = False
    elif array.ndim == 2 and array.shape[1] in _ITEMS:
        own = Lattice(_ITEMS[array.shape[1]])
        if array.shape == whole and lattice is None:
            raise InputError(
                f"an array of shape {array.shape} is either one problem of {n} items or a stack of {len(array)} "
                f"problems of {own.n} items: pass array[None] for the former, n={own.n} for the latter"
            )
        rows, flat = own.cells_to_internal(array), True
    else:
        hint = "; for a single array over all menus pass array[None], or use project()" if array.shape == whole else ""
        raise InputError(
            "a stack of problems has shape (B, 2^n, n), or (B, N) with N = n 2^(n-1) cells; "
            f"this one has shape {array.shape}{hint}"
        )
    if lattice is not None and own != lattice:
        what = f"n={lattice.n}: the problems are those of" if asked else f"projections for n = {lattice.n}, vectors for"
        raise InputError(f"{what} n = {own.n} items")
    return rows, flat


def write_stack(rows: Array, flat: bool) -> Array:
    """The way back: as cells, or over all menus."""
    lattice = Lattice(rows.shape[1])
    if flat:
        return lattice.internal_to_cells(rows)
    return np.array([lattice.from_internal(row, 1) for row in rows]).reshape(len(rows), *lattice.shape)


def require_finite(rows: Array) -> None:
    """Raise where a number of a stack is no number, or too large to compute with."""
    fine = np.abs(rows) <= LARGEST
    if not fine.all():
        i, x, column = (int(v) for v in np.argwhere(~fine)[0])
        menu = unsqueeze.py_func(column, x)
        raise InputError(
            f"problem {i}: menu {format_menu(items_of(menu))} (mask {menu}), item {x} is {rows[i, x, column]}; "
            f"every number must be finite, at most {LARGEST:g} (mark unobserved cells by weight 0)"
        )


def read_weights(weights: ArrayLike | None, lattice: Lattice) -> Array:
    """Weights of all problems of a stack, in either form, checked, in the internal layout; None: no rows."""
    if weights is None:
        return NO_WEIGHTS
    array = as_floats(weights, "weights")
    if array.shape == (lattice.n_cells,):
        array = lattice.from_internal(lattice.cells_to_internal(array))
    return check_weights(lattice, array, tuple(range(lattice.n)))
