"""Menus as lists of item numbers, one after the other: as large as what was observed, for any number of items.

Menu i holds the items `item[start[i] : start[i + 1]]`, in ascending order. A pair (menu, item of that menu) is a *cell*; a number
per cell is an array as long as `item`. A table (menus, items) of 100,000 pairs among 20,000 items would have 2 billion entries;
the same menus have 200,000 cells.

The order of menus is that of their bit masks (bit x set: item x is offered): the menu whose largest item is larger comes later;
if these are the same the next ones decide, and a menu comes before those that hold it and smaller items as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Array, Ints, Mask

#: The most items whose menus have 64-bit masks.
MOST_MASK_ITEMS = 62

_WORD = 62  # bits of a word, a non-negative 64-bit number with room for one more bit


@dataclass(frozen=True, eq=False)
class Menus:
    """Menus over `n_items` items.

    >>> menus, _ = Menus.from_table([[True, True, False], [True, True, True]])
    >>> menus.start.tolist(), menus.item.tolist(), menus.masks().tolist()
    ([0, 2, 5], [0, 1, 0, 1, 2], [3, 7])
    """

    start: Ints  # (m + 1,)
    item: NDArray[np.int32]  # (cells,)
    n_items: int

    @classmethod
    def from_table(cls, membership: ArrayLike) -> tuple[Menus, Ints]:
        """From a boolean (m, n) table, and for each cell the number of its entry, counted row by row."""
        table = np.asarray(membership, np.bool_)
        m, n = table.shape
        start = np.zeros(m + 1, np.int64)
        np.cumsum(table @ np.ones(n, np.int64), out=start[1:])
        entry = np.flatnonzero(table)
        return cls(start, (entry % max(n, 1)).astype(np.int32), n), entry

    @classmethod
    def from_cells(cls, menu: Ints, item: NDArray[np.integer], n_menus: int, n_items: int) -> tuple[Menus, Ints]:
        """From pairs (menu, item) in any order, and for each pair its cell; equal pairs share one."""
        key = menu * np.int64(n_items) + item
        cell = np.arange(len(key))
        if (key[1:] <= key[:-1]).any():
            key, cell = np.unique(key, return_inverse=True)
            menu, item = np.divmod(key, n_items)
        start = np.zeros(n_menus + 1, np.int64)
        np.cumsum(np.bincount(menu, minlength=n_menus), out=start[1:])
        return cls(start, item.astype(np.int32), n_items), cell

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def sizes(self) -> Ints:
        """(m,) number of items of each menu."""
        return self.start[1:] - self.start[:-1]

    @cached_property
    def menu(self) -> Ints:
        """(cells,) the menu of each cell."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def of_items(self) -> tuple[Ints, NDArray[np.int32], Ints]:
        """The other way round: the menus of item x, and the cells of x in them, are at first[x] .. first[x + 1] - 1."""
        first = np.zeros(self.n_items + 1, np.int64)
        np.cumsum(np.bincount(self.item, minlength=self.n_items), out=first[1:])
        cell = np.argsort(self.item, kind="stable")
        return first, self.menu[cell].astype(np.int32), cell

    @property
    def entry(self) -> Ints:
        """(cells,) the number of each cell in a table (m, n), counted row by row."""
        return self.menu * self.n_items + self.item

    def items_of(self, menu: int) -> NDArray[np.int32]:
        """The items of one menu."""
        return self.item[self.start[menu] : self.start[menu + 1]]

    def labels_of(self, menu: int, items: Sequence[Hashable]) -> tuple[Hashable, ...]:
        """The labels of one menu."""
        return tuple(items[x] for x in self.items_of(menu).tolist())

    def labels(self, items: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
        """The labels of every menu."""
        flat = [items[x] for x in self.item.tolist()]
        return [tuple(flat[a:b]) for a, b in pairwise(self.start.tolist())]

    def cells_of(self, menu: NDArray[np.integer], item: NDArray[np.integer]) -> Ints:
        """The cells of pairs (menu, item); -1 where the item is not in the menu."""
        own = self.entry
        key = menu.astype(np.int64) * self.n_items + item
        cell = np.searchsorted(own, key)
        there = cell < len(own)
        there[there] = own[cell[there]] == key[there]
        return np.where(there & (item >= 0) & (item < self.n_items), cell, -1)

    def sums(self, values: Array) -> Array:
        """(m,) sums over the cells of each menu; cells that are NaN count 0."""
        return add_up(self.menu, np.where(np.isnan(values), 0.0, values), len(self))

    def count(self, cells: Mask) -> Ints:
        """(m,) how many cells of each menu are marked."""
        return np.bincount(self.menu[cells], minlength=len(self.sizes))

    def to_table(self, values: ArrayLike, outside: float | bool) -> NDArray[np.generic]:
        """(m, n): a value per cell, and the same one outside the menus."""
        table = np.full(len(self) * self.n_items, outside)
        table[self.entry] = values
        return table.reshape(len(self), self.n_items)

    def masks(self) -> Ints:
        """(m,) bit masks, for at most 62 items."""
        before = np.zeros(len(self.item) + 1, np.int64)
        # Sums over all cells may leave 64 bits, but their differences are right: whole numbers are added modulo 2^64.
        np.cumsum(np.left_shift(np.int64(1), self.item, dtype=np.int64), out=before[1:])
        masks: Ints = before[self.start[1:]] - before[self.start[:-1]]
        return masks

    def keys(self) -> Ints:
        """(m,) numbers in the order of the menus, the same for equal menus: masks, or ranks where masks are too long."""
        return self.masks() if self.n_items <= MOST_MASK_ITEMS else self._ranks()

    def _ranks(self) -> Ints:
        """(m,) how many menus come before each one.

        Menus are compared by words of their largest items, as many as fit in 62 bits; after each word only those go on that are
        not told apart yet. So this takes time and memory in proportion to the cells, however different the sizes are.
        """
        bits = self.n_items.bit_length()  # of an item counted from 1; 0 is the end of a menu
        first, rank = self.start[:-1], np.zeros(len(self), np.int64)
        at = self.start[1:] - 1  # the cell to be compared next
        left = np.arange(len(self))  # the menus that share their rank with another one
        padded = np.append(self.item, np.int32(-1))
        while len(left) > 1:
            word = np.zeros(len(left), np.int64)
            for _ in range(_WORD // bits):
                word = (word << bits) | (padded[np.where(at >= first[left], at, -1)] + 1)
                at = at - 1
            order = np.lexsort((word, rank[left]))
            left, word, at = left[order], word[order], at[order]
            old = rank[left]
            new_rank = np.append(True, old[1:] != old[:-1])
            new = new_rank | np.append(True, word[1:] != word[:-1])
            begin = np.flatnonzero(new)
            number = np.cumsum(new) - 1
            rank[left] = old + begin[number] - np.flatnonzero(new_rank)[np.cumsum(new_rank) - 1]
            alone = np.diff(np.append(begin, len(left)))[number] == 1
            more = ~alone & (
                at + 1 >= first[left]
            )  # else the word holds the end of the menu, and those that share it are equal
            left, at = left[more], at[more]
        return rank

    def order(self) -> Ints | None:
        """The numbers of the menus in ascending order; None if they are in order."""
        keys = self.keys()
        return None if (keys[1:] >= keys[:-1]).all() else np.argsort(keys, kind="stable")

    def take(self, menus: NDArray[np.integer]) -> tuple[Menus, Ints]:
        """Some of the menus, and the cells of each among those here."""
        sizes = self.sizes[menus]
        start = np.zeros(len(menus) + 1, np.int64)
        np.cumsum(sizes, out=start[1:])
        cells = np.repeat(self.start[menus] - start[:-1], sizes) + np.arange(start[-1])
        return Menus(start, self.item[cells], self.n_items), cells

    def unique(self) -> tuple[Menus, Ints]:
        """The different menus in order, and for each menu here its number among them."""
        _, first, number = np.unique(self.keys(), return_index=True, return_inverse=True)
        return self.take(first)[0], number.astype(np.int64)

    def same(self, other: Menus) -> bool:
        """Are these the same menus in the same order?"""
        return (
            self.n_items == other.n_items
            and np.array_equal(self.start, other.start)
            and np.array_equal(self.item, other.item)
        )


def add_up(place: NDArray[np.integer], values: Array, size: int) -> Array:
    """(size,) sums of the values at each place, in the order in which they stand."""
    sums: Array = np.bincount(place, values, size).astype(np.float64, copy=False)
    return sums
