"""The cells of the observed menus, for any number of items and menus.

A *cell* is a pair (menu, item of that menu) that was recorded. Where a menu was recorded in part, what was chosen from it but
not recorded, the *remainder*, is one further cell of weight 0. A number per cell is held in one of two forms:

* array  (m, n): row = menu, column = item; NaN on what is no recorded cell. What users see.
* table  (m, width): row = menu, column = its recorded items in ascending order, then the remainder if there is one, then
  padding with 0. What the kernels see; cell (j, c) has the number `j * width + c`.

A *type* takes one cell from every menu: a row of m columns. The menus are held as lists of items, in proportion to what was
offered; (m, n) arrays are made when they are asked for, by the kernels that build graphs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array, Ints, Mask, Paths
from rumflow.core.menus import Menus
from rumflow.errors import InputError

_NAMED = 6  # items of a menu that an error message lists
_AT_ONCE = 4_000_000  # ranks compared at once where rankings choose


class Cells:
    """Which menus were observed and which of their items recorded.

    >>> cells = Cells([[True, True, False], [True, True, True]])
    >>> cells.width, cells.to_table([[0.25, 0.75, 9], [0.5, 0.25, 0.25]]).tolist()
    (3, [[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]])
    """

    def __init__(
        self, membership: ArrayLike, recorded: ArrayLike | None = None, items: Sequence[Hashable] | None = None
    ) -> None:
        table = np.asarray(membership, np.bool_)
        if table.ndim != 2 or 0 in table.shape:
            raise InputError(f"membership: a (menus, items) table is needed, not shape {table.shape}")
        offered, entry = Menus.from_table(table)
        if recorded is None:
            self._hold(offered, None, items)
            return
        own = np.asarray(recorded, np.bool_)
        if own.shape != table.shape:
            raise InputError(f"recorded: shape {table.shape} is needed, as that of membership, not {own.shape}")
        self._hold(offered, own.reshape(-1)[entry], items)
        outside = own & ~table
        if outside.any():
            j, x = map(int, np.argwhere(outside)[0])
            raise InputError(f"menu {self.name(j)}: item {self.items[x]!r} is recorded but not in the menu")

    @classmethod
    def of_menus(cls, offered: Menus, known: Mask | None = None, items: Sequence[Hashable] | None = None) -> Self:
        """From menus as lists of items; `known`: which of what was offered was recorded, None for everything."""
        own = cls.__new__(cls)
        own._hold(offered, known, items)
        return own

    def _hold(self, offered: Menus, known: Mask | None, items: Sequence[Hashable] | None) -> None:
        n, sizes = offered.n_items, offered.sizes
        self.offered = offered
        self.items: tuple[Hashable, ...] = tuple(range(n)) if items is None else tuple(items)
        if len(self.items) != n:
            raise InputError(f"items: {n} labels are needed, one per column of membership, not {len(self.items)}")
        if (sizes == 0).any():
            raise InputError(f"menu {int((sizes == 0).argmax())} is empty: every menu must offer at least one item")
        self.all_recorded: bool = known is None or bool(known.all())
        self.known: Mask = np.ones(len(offered.item), np.bool_) if known is None else known  # of what was offered
        recorded = np.cumsum(self.known)
        before = np.append(0, recorded)[offered.start]
        number = before[1:] - before[:-1]
        self.remainder: Ints = np.where(number < sizes, number, -1)  # (m,): its column, -1 where there is none
        self.count: Ints = number + (number < sizes)  # (m,): cells of each menu
        self.width: int = int(self.count.max())
        self.n_items: int = n
        self.shape: tuple[int, int] = (len(sizes), self.width)  # (menus, width): the shape of tables
        #: Of what was offered: the column in tables.
        self.place: Paths = np.where(
            self.known, recorded - 1 - before[offered.menu], self.remainder[offered.menu]
        ).astype(np.int32)

    def __reduce__(self) -> tuple[Callable[..., Cells], tuple[Menus, Mask, tuple[Hashable, ...]]]:
        return Cells.of_menus, (self.offered, self.known, self.items)

    def __len__(self) -> int:
        """Number of menus."""
        return self.shape[0]

    @cached_property
    def membership(self) -> Mask:
        """(m, n): the menus."""
        return np.asarray(self.offered.to_table(True, False), np.bool_)

    @cached_property
    def recorded(self) -> Mask:
        """(m, n): what was recorded of them."""
        return self.membership if self.all_recorded else np.asarray(self.offered.to_table(self.known, False), np.bool_)

    @cached_property
    def column(self) -> Paths:
        """(m, n): the columns of items in tables; -1 outside the menu."""
        column = np.full((self.shape[0], self.n_items), -1, np.int32)
        column.reshape(-1)[self.offered.entry] = self.place
        return column

    def columns(self, menu: Ints, item: Ints) -> Ints:
        """The columns of pairs (menu, item of that menu); item -1 is the remainder."""
        cells = self.offered.cells_of(menu, item)
        assert ((cells >= 0) | (item < 0)).all(), "an item that its menu does not offer"
        return np.where(item < 0, self.remainder[menu], self.place[cells])

    @cached_property
    def key(self) -> tuple[Hashable, ...]:
        """Tells these cells from others."""
        parts = (self.offered.start, self.offered.item, np.packbits(self.known))
        return (self.items, *(hashlib.sha256(part.tobytes()).digest() for part in parts))

    @cached_property
    def item(self) -> Ints:
        """(menus, width): the item of each cell; -1 for the remainder, -2 for padding."""
        item = np.full(self.shape, -2, np.int64)
        item[self.offered.menu, self.place] = np.where(self.known, self.offered.item, -1)
        return item

    @cached_property
    def filled(self) -> Mask:
        """(menus, width): is there a cell, or only padding?"""
        return np.arange(self.width) < self.count[:, None]

    def name(self, menu: int) -> str:
        """A menu in words."""
        members = [str(label) for label in self.offered.labels_of(menu, self.items)]
        more = f", ... {len(members)} items" if len(members) > _NAMED else ""
        return f"{menu} {{{', '.join(members[:_NAMED])}{more}}}"

    def to_table(self, array: ArrayLike) -> Array:
        """A number per recorded cell, from an (m, n) array; 0 on remainders and padding."""
        table = np.zeros(self.shape)
        menu, item, column = self._recorded_cells
        table[menu, column] = np.asarray(array, np.float64)[menu, item]
        return table

    def to_cells(self, table: ArrayLike) -> Array:
        """A number for each item of each menu, from a table; NaN on what was not recorded."""
        return np.where(self.known, np.asarray(table, np.float64)[self.offered.menu, self.place], np.nan)

    def to_array(self, table: ArrayLike) -> Array:
        """The same as (m, n), NaN also outside the menus."""
        array = np.full((self.shape[0], self.n_items), np.nan)
        menu, item, column = self._recorded_cells
        array[menu, item] = np.asarray(table, np.float64)[menu, column]
        return array

    @cached_property
    def _recorded_cells(self) -> tuple[Ints, Paths, Paths]:
        known = self.known
        return self.offered.menu[known], self.offered.item[known], self.place[known]

    def items_of_types(self, types: Paths) -> Ints:
        """(k, m): the item each type takes from each menu, -1 for an item that was not recorded."""
        return self.item[np.arange(self.shape[0]), types]

    def types_of_orders(self, orders: Ints) -> Paths:
        """(k, m): what rankings, given as rows of items best first, take from every menu."""
        k, n = orders.shape
        types = np.empty((k, len(self)), np.int32)
        step = max(1, _AT_ONCE // len(self.place))
        for begin in range(0, k, step):
            own = orders[begin : begin + step]
            rank = np.empty(own.shape, np.int32)
            np.put_along_axis(rank, own, np.arange(n, dtype=np.int32)[None], axis=1)
            offered = rank[:, self.offered.item]
            best = np.minimum.reduceat(offered, self.offered.start[:-1], axis=1)
            row, cell = np.nonzero(offered == best[:, self.offered.menu])
            types[begin + row, self.offered.menu[cell]] = self.place[cell]
        return types

    def same(self, other: Cells) -> bool:
        """Are the menus, and what was recorded of them, the same?"""
        return (
            self.items == other.items and self.offered.same(other.offered) and np.array_equal(self.known, other.known)
        )

    def cut(self, table: Array, menus: Ints) -> Array:
        """The table of these cells, given that of more menus, of which they are those numbered `menus`."""
        return np.ascontiguousarray(table[menus, : self.width])

    def compact(self) -> tuple[Cells, Ints]:
        """The same cells without the items that no menu offers, and the items that are left."""
        found, own = np.unique(self.offered.item, return_inverse=True)
        items = found.astype(np.int64)
        if len(items) == self.n_items:
            return self, items
        menus = Menus(self.offered.start, own.reshape(-1).astype(np.int32), len(items))
        return Cells.of_menus(menus, self.known, [self.items[x] for x in items]), items

    def part(self, menus: Ints) -> Cells:
        """Some of the menus; their columns stay."""
        offered, cells = self.offered.take(menus)
        return Cells.of_menus(offered, self.known[cells], self.items)
