"""Matrices over all menus: row = menu bit mask, column = item."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import nan_where_masked
from rumflow.core.arrays import Array, Mask
from rumflow.core.lattice import MAX_ITEMS, Lattice, items_of
from rumflow.core.menus import Menus
from rumflow.data.counted import Counted
from rumflow.data.labels import LARGEST_TOTAL, Item, format_menu, label_items
from rumflow.errors import InputError
from rumflow.output.names import apart_from


def from_matrix(a: ArrayLike, items: Sequence[Item] | None) -> Counted:
    """Counts from a (2^n, n) or (2^n - 1, n) matrix; NaN, or masked: not observed."""
    try:
        matrix = np.array(nan_where_masked(a), np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"ChoiceData or a matrix of counts is needed, not {type(a).__name__} {str(a)[:40]!r}; files and tables are read by "
            "ChoiceData.from_csv, from_parquet and from_frame"
        ) from None
    if matrix.ndim != 2 or matrix.shape[1] < 1:
        raise InputError(f"a matrix of counts has shape (2^n, n) or (2^n - 1, n), not {matrix.shape}")
    rows, n = matrix.shape
    if n > MAX_ITEMS:
        raise InputError(
            f"a matrix over all menus is possible for at most {MAX_ITEMS} items, not {n}: use from_counts or from_frame"
        )
    if rows not in (1 << n, (1 << n) - 1):
        raise InputError(
            f"a matrix with {n} columns (items) has {2**n} rows (all menus) or {2**n - 1} (without the empty "
            f"one), not {rows}"
        )
    if rows == (1 << n) - 1:
        matrix = np.vstack([np.zeros(n), matrix])
    labels = label_items(items, n)
    inside = Lattice(n).membership
    missing = np.isnan(matrix)
    known = np.where(missing, 0.0, matrix)
    outside = (known != 0) & ~inside
    if known.min() < 0 or known.max() > LARGEST_TOTAL or outside.any():
        _refuse(matrix > LARGEST_TOTAL, matrix, labels, f"is too large: counts are at most 2^53 = {LARGEST_TOTAL:.0f}")
        _refuse(matrix < 0, matrix, labels, "is negative: counts must be 0 or more")
        _refuse(outside, matrix, labels, "but the item is not in that menu")
    sums = known.sum(axis=1)
    partial: Mask = np.zeros(1 << n, np.bool_)
    observed: Mask = sums > 0
    if missing.any():
        partial = np.logical_or.reduce(missing & inside, axis=1)
        observed |= partial & np.logical_or.reduce(inside & ~missing, axis=1)
    for mask in np.flatnonzero(observed & partial & (sums > 1 + 1e-9)):
        raise InputError(
            f"menu {format_menu(labels[x] for x in items_of(mask))}: some cells are NaN, so the others are shares, "
            f"but they add up to {apart_from(sums[mask], 1)}; they must add up to at most 1"
        )
    if not observed.any():
        raise InputError("the matrix has no observed menu: every row is NaN or zero")
    menus, entry = Menus.from_table(inside[observed])
    counts = np.take(matrix[observed], entry)
    return Counted(labels, menus, counts, np.where(partial, 1.0, sums)[observed])


def to_matrix(menus: Menus, values: Array) -> Array:
    """(2^n, n): the values of the observed cells, NaN on the cells of other menus, 0 outside the menus."""
    n = menus.n_items
    if n > MAX_ITEMS:
        raise InputError(
            f"a matrix over all menus is possible for at most {MAX_ITEMS} items, not {n}: use counts or frequencies, "
            "one row per observed menu"
        )
    matrix = np.where(Lattice(n).membership, np.nan, 0.0)
    matrix[np.repeat(menus.masks(), menus.sizes), menus.item] = values
    return matrix


def _refuse(bad: NDArray[np.bool_], matrix: Array, labels: tuple[Item, ...], what: str) -> None:
    """Raise for the first cell that is bad."""
    if bad.any():
        mask, x = np.argwhere(bad)[0]
        menu = format_menu(labels[y] for y in items_of(mask))
        raise InputError(f"menu {menu} (row {mask}), item {labels[x]!r}: the entry {matrix[mask, x]:g} {what}")
