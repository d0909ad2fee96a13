"""The cells of the observed menus, for any number of items and menus.

A *cell* is a pair (menu, item of that menu) that was recorded. Where a menu was recorded in part, what was chosen from it but
not recorded, the *remainder*, is one further cell of weight 0. A number per cell is held in one of two forms:

* array  (m, n): row = menu, column = item; NaN on what is no recorded cell. What users see.
* table  (m, width): row = menu, column = its recorded items in ascending order, then the remainder if there is one, then
  padding with 0. What the kernels see; cell (j, c) has the number `j * width + c`.

A *type* takes one cell from every menu: a row of m columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array, Ints, Mask, Paths
from rumflow.errors import InputError

_NAMED = 6  # items of a menu that an error message lists


class Cells:
    """Which menus were observed and which of their items recorded.

    >>> cells = Cells([[True, True, False], [True, True, True]])
    >>> cells.width, cells.to_table([[0.25, 0.75, 9], [0.5, 0.25, 0.25]]).tolist()
    (3, [[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]])
    """

    def __init__(
        self, membership: ArrayLike, recorded: ArrayLike | None = None, items: Sequence[Hashable] | None = None
    ) -> None:
        self.membership: Mask = np.ascontiguousarray(membership, np.bool_)
        if self.membership.ndim != 2 or 0 in self.membership.shape:
            raise InputError(f"membership: a (menus, items) table is needed, not shape {self.membership.shape}")
        m, n = self.membership.shape
        self.items: tuple[Hashable, ...] = tuple(range(n)) if items is None else tuple(items)
        if len(self.items) != n:
            raise InputError(f"items: {n} labels are needed, one per column of membership, not {len(self.items)}")
        empty = ~self.membership.any(axis=1)
        if empty.any():
            raise InputError(f"menu {int(empty.argmax())} is empty: every menu must offer at least one item")
        self.recorded: Mask = self.membership if recorded is None else np.ascontiguousarray(recorded, np.bool_)
        if self.recorded.shape != (m, n):
            raise InputError(f"recorded: shape {(m, n)} is needed, as that of membership, not {self.recorded.shape}")
        outside = self.recorded & ~self.membership
        if outside.any():
            j, x = map(int, np.argwhere(outside)[0])
            raise InputError(f"menu {self.name(j)}: item {self.items[x]!r} is recorded but not in the menu")
        partly = (self.recorded != self.membership).any(axis=1)
        known = self.recorded.sum(axis=1)
        self.remainder: Ints = np.where(partly, known, -1).astype(np.int64)  # (m,): its column, -1 where there is none
        self.count: Ints = (known + partly).astype(np.int64)  # (m,): cells of each menu
        self.width = int(self.count.max())
        place = np.cumsum(self.recorded, axis=1) - 1
        place = np.where(self.recorded, place, self.remainder[:, None])
        self.column: Paths = np.where(self.membership, place, -1).astype(np.int32)  # (m, n): -1 outside the menu

    def __reduce__(self) -> tuple[type[Cells], tuple[Mask, Mask, tuple[Hashable, ...]]]:
        return Cells, (self.membership, self.recorded, self.items)

    @cached_property
    def key(self) -> tuple[Hashable, ...]:
        """Tells these cells from others."""
        parts = (np.packbits(self.membership).tobytes(), np.packbits(self.recorded).tobytes())
        return (self.items, self.membership.shape, *(hashlib.sha256(part).digest() for part in parts))

    @property
    def shape(self) -> tuple[int, int]:
        """(menus, width): the shape of tables."""
        return len(self.membership), self.width

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.membership.shape[1])

    @cached_property
    def item(self) -> Ints:
        """(menus, width): the item of each cell; -1 for the remainder, -2 for padding."""
        item = np.full(self.shape, -2, np.int64)
        item[np.arange(self.width) == self.remainder[:, None]] = -1
        menu, x = np.nonzero(self.recorded)
        item[menu, self.column[menu, x]] = x
        return item

    @cached_property
    def filled(self) -> Mask:
        """(menus, width): is there a cell, or only padding?"""
        return np.arange(self.width) < self.count[:, None]

    def name(self, menu: int) -> str:
        """A menu in words."""
        members = [str(self.items[x]) for x in np.flatnonzero(self.membership[menu])]
        more = f", ... {len(members)} items" if len(members) > _NAMED else ""
        return f"{menu} {{{', '.join(members[:_NAMED])}{more}}}"

    def to_table(self, array: ArrayLike) -> Array:
        """A number per recorded cell, from an (m, n) array; 0 on remainders and padding."""
        values = np.asarray(array, np.float64)
        table = np.zeros(self.shape)
        menu, item = np.nonzero(self.recorded)
        table[menu, self.column[menu, item]] = values[menu, item]
        return table

    def to_array(self, table: ArrayLike) -> Array:
        """The way back: (m, n), NaN on what was not recorded."""
        values = np.asarray(table, np.float64)
        array = np.full(self.membership.shape, np.nan)
        menu, item = np.nonzero(self.recorded)
        array[menu, item] = values[menu, self.column[menu, item]]
        return array

    def items_of_types(self, types: Paths) -> Ints:
        """(k, m): the item each type takes from each menu, -1 for an item that was not recorded."""
        return self.item[np.arange(len(self.membership)), types]

    def types_of_orders(self, orders: Ints) -> Paths:
        """(k, m): what rankings, given as rows of items best first, take from every menu."""
        k, n = orders.shape
        rank = np.empty((k, n), np.int64)
        np.put_along_axis(rank, orders, np.broadcast_to(np.arange(n), (k, n)), axis=1)
        types = np.empty((k, len(self.membership)), np.int32)
        for j, members in enumerate(self.membership):
            offered = np.flatnonzero(members)
            types[:, j] = self.column[j, offered[rank[:, offered].argmin(axis=1)]]
        return types

    def same(self, other: Cells) -> bool:
        """Are the menus, and what was recorded of them, the same?"""
        return (
            self.items == other.items
            and np.array_equal(self.membership, other.membership)
            and np.array_equal(self.recorded, other.recorded)
        )

    def cut(self, table: Array, menus: Ints) -> Array:
        """The table of these cells, given that of more menus, of which they are those numbered `menus`."""
        return np.ascontiguousarray(table[menus, : self.width])

    def part(self, menus: Ints) -> Cells:
        """Some of the menus; their columns stay."""
        return Cells(self.membership[menus], self.recorded[menus], self.items)
