"""Menus as rows of a boolean matrix: `membership[i, x]` says whether item x is in menu i.

Menus stand in the ascending order of their bit masks (bit x set: item x is offered), that is in lexicographic order from the
last item down to the first. The masks themselves exist as 64-bit numbers up to 62 items only; the matrix has no such limit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.data.labels import LARGEST_TOTAL, Item, format_menu
from rumflow.errors import InputError

#: The most items whose menus have 64-bit masks.
MOST_MASK_ITEMS = 62


def masks_of(membership: Mask) -> Ints:
    """(m,) bit masks; for at most 62 items."""
    masks: Ints = membership @ (np.int64(1) << np.arange(membership.shape[1], dtype=np.int64))
    return masks


def membership_of(masks: Ints, n: int) -> Mask:
    """(m, n) from bit masks."""
    inside: Mask = (np.asarray(masks, np.int64)[:, None] >> np.arange(n) & 1).astype(np.bool_)
    return inside


def sort_keys(membership: Mask) -> NDArray[np.generic]:
    """(m,) one value per menu, ordered as the bit masks: the mask itself, or its bytes where it is too long."""
    if membership.shape[1] <= MOST_MASK_ITEMS:
        return masks_of(membership)
    packed = np.packbits(membership[:, ::-1], axis=1)  # the last item first, so that bytes compare as masks do
    return np.ascontiguousarray(packed).view(f"S{packed.shape[1]}").ravel()


def unique_menus(membership: Mask) -> tuple[Mask, Ints]:
    """The different menus in order, and for each row the number of its menu."""
    _, first, inverse = np.unique(sort_keys(membership), return_index=True, return_inverse=True)
    return membership[first], inverse.astype(np.int64)


def find_menus(membership: Mask, wanted: Mask) -> Ints:
    """The rows of some menus among others, all of which are there."""
    keys = sort_keys(membership)
    order = np.argsort(keys, kind="stable")
    return order[np.searchsorted(keys, sort_keys(wanted), sorter=order)].astype(np.int64)


def tally(membership: Mask, menu: NDArray[np.integer], choice: NDArray[np.integer], weight: Array) -> Array:
    """(m, n) summed weights of the choices; NaN outside the menus."""
    m, n = membership.shape
    cells = menu.astype(np.int64) * n + choice
    return np.where(membership, np.bincount(cells, weight, minlength=m * n).reshape(m, n), np.nan)


def labels_of(items: Sequence[Item], inside: Mask) -> tuple[Item, ...]:
    """The labels of one menu, a row of the matrix."""
    return tuple(items[x] for x in np.flatnonzero(inside).tolist())


def check_totals(items: Sequence[Item], membership: Mask, totals: Array, name: str = "") -> None:
    """An error where a menu has more choices than double precision can count."""
    wrong = ~(totals <= LARGEST_TOTAL)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InputError(
            f"{name}menu {format_menu(labels_of(items, membership[k]))}: its total is {totals[k]:g}; at most "
            f"2^53 = {LARGEST_TOTAL:.0f} choices can be counted exactly: divide the counts by a number"
        )
