"""Menus as rows of a boolean matrix: `membership[i, x]` says whether item x is in menu i. For few items: see `core/menus.py`.

Menus are in the ascending order of their bit masks (bit x set: item x is offered), that is in lexicographic order from the
last item down to the first. The masks themselves exist as 64-bit numbers up to 62 items only; the matrix has no such limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.memory import require_memory
from rumflow.core.menus import Menus
from rumflow.data.labels import Item


def masks_of(membership: Mask) -> Ints:
    """(m,) bit masks; for at most 62 items."""
    masks: Ints = membership @ (np.int64(1) << np.arange(membership.shape[1], dtype=np.int64))
    return masks


def membership_of(masks: Ints, n: int) -> Mask:
    """(m, n) from bit masks."""
    inside: Mask = (np.asarray(masks, np.int64)[:, None] >> np.arange(n) & 1).astype(np.bool_)
    return inside


def unique_menus(membership: Mask) -> tuple[Mask, Ints]:
    """The different menus in order, and for each row the number of its menu."""
    keys = Menus.from_table(membership)[0].keys()
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return membership[first], number.astype(np.int64)


def find_menus(membership: Mask, wanted: Mask) -> Ints:
    """The rows of some menus among others, all of which are there."""
    count = len(membership)
    _, number = unique_menus(np.vstack([membership, wanted]))
    row = np.empty(number.max(initial=-1) + 1, np.int64)
    row[number[:count][::-1]] = np.arange(count)[::-1]  # the first of several
    return row[number[count:]]


def tally(membership: Mask, menu: NDArray[np.integer], choice: NDArray[np.integer], weight: Array) -> Array:
    """(m, n) summed weights of the choices; NaN outside the menus."""
    m, n = membership.shape
    cells = menu.astype(np.int64) * n + choice
    return np.where(membership, np.bincount(cells, weight, minlength=m * n).reshape(m, n), np.nan)


def labels_of(items: Sequence[Item], inside: Mask) -> tuple[Item, ...]:
    """The labels of one menu, a row of the matrix."""
    return tuple(items[x] for x in np.flatnonzero(inside).tolist())


def make_table(menus: Menus, values: Any, outside: float | bool) -> NDArray[Any]:
    """(m, n): a value per cell, and the same one outside the menus; an error where memory is too small."""
    m, n = len(menus), menus.n_items
    size = np.asarray(values).dtype.itemsize
    require_memory(size * float(m) * n, f"a table of {m:,} menus and {n:,} items", "use data.cells or fit.to_frame()")
    return menus.to_table(values, outside)
