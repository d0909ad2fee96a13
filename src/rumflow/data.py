"""Choice data with labels: which menus were offered, what was chosen from them how often."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.errors import InputError
from rumflow.lattice import MAX_ITEMS, Lattice, items_of

Array = NDArray[np.float64]
Item = Hashable


@dataclass(frozen=True, eq=False)
class ChoiceData:
    """Counts of choices by menu.

    `counts[i, x]` says how often item x was chosen from menu i; it is NaN where x is not in that menu, and where the cell was
    not observed (a survey that recorded only some items' shares). Menus are in ascending order of their bit masks.
    """

    items: tuple[Item, ...]
    masks: NDArray[np.int64]  # (m,) the observed menus
    counts: Array  # (m, n)
    totals: Array  # (m,) sample size of each menu

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def menus(self) -> list[tuple[Item, ...]]:
        """The observed menus, as tuples of labels."""
        return [tuple(self.items[x] for x in items_of(mask)) for mask in self.masks]

    @property
    def frequencies(self) -> Array:
        """(m, n): share of each item among the choices from each menu; NaN as in `counts`."""
        return self.counts / self.totals[:, None]

    @property
    def n_observations(self) -> float:
        """Number of choices in all."""
        return float(self.totals.sum())

    def to_array(self) -> Array:
        """(2^n, n): the frequencies of every menu, NaN where not observed, 0 outside the menu."""
        lattice = Lattice(self.n)
        array = np.where(lattice.membership, np.nan, 0.0)
        array[self.masks] = np.where(lattice.membership[self.masks], self.frequencies, 0.0)
        return array

    def __repr__(self) -> str:
        return (
            f"ChoiceData({self.n} items, {len(self.masks)} of {2**self.n - 1} menus, {self.n_observations:g} observations)"
        )

    @classmethod
    def from_counts(
        cls, counts: Mapping[Iterable[Item], Mapping[Item, float]], items: Sequence[Item] | None = None
    ) -> ChoiceData:
        """From `{("tea", "milk"): {"tea": 31, "milk": 9}, ...}`; an item of the menu without a count was never chosen.

        `items` fixes the order of the items; without it they stand in order of first appearance.
        """
        menus: list[tuple[Item, ...]] = []
        for menu in counts:
            if isinstance(menu, str | bytes) or not isinstance(menu, Iterable):
                raise InputError(f"menu {menu!r}: give each menu as a tuple of items, such as ('tea', 'milk')")
            menus.append(tuple(menu))
        labels = check_items(items if items is not None else list(dict.fromkeys(x for menu in menus for x in menu)))
        position = {label: x for x, label in enumerate(labels)}
        table: dict[int, Array] = {}
        for menu, chosen in zip(menus, counts.values(), strict=True):
            name = format_menu(menu)
            mask = 0
            for item in menu:
                if item not in position:
                    raise InputError(f"menu {name}: item {item!r} is not among the items {format_menu(labels)}")
                if mask >> position[item] & 1:
                    raise InputError(f"menu {name}: item {item!r} stands twice")
                mask |= 1 << position[item]
            if mask == 0:
                raise InputError("a menu is empty: every menu must offer at least one item")
            if mask in table:
                raise InputError(f"menu {name} stands twice (perhaps in another order): add its counts up first")
            row = np.full(len(labels), np.nan)
            row[[position[item] for item in menu]] = 0.0
            if not isinstance(chosen, Mapping):
                raise InputError(f"menu {name}: give its choices as a mapping of item to count, not {chosen!r}")
            for item, count in chosen.items():
                if item not in menu:
                    raise InputError(f"menu {name}: the choice {item!r} is not in the menu")
                row[position[item]] = _check_count(count, name, item)
            if row[~np.isnan(row)].sum() == 0:
                raise InputError(f"menu {name} has no choices: leave out menus that were not observed")
            table[mask] = row
        return cls._build(labels, table)

    @classmethod
    def from_matrix(cls, a: ArrayLike, items: Sequence[Item] | None = None) -> ChoiceData:
        """From a (2^n, n) or (2^n - 1, n) matrix of counts or of probabilities: row = menu bit mask, column = item.

        With 2^n - 1 rows the first row is mask 1. A row of NaN, or of zeros, was not observed. Where some cells of a menu are NaN
        the others are read as shares of that menu, so they must be at most 1 together.
        """
        matrix = np.array(a, np.float64)
        if matrix.ndim != 2 or matrix.shape[1] < 1:
            raise InputError(f"a matrix of counts has shape (2^n, n) or (2^n - 1, n), not {matrix.shape}")
        rows, n = matrix.shape
        if n > MAX_ITEMS or rows not in (1 << n, (1 << n) - 1):
            raise InputError(
                f"a matrix with {n} columns (items) has {2**n} rows (all menus) or {2**n - 1} (without the empty one), not {rows}"
            )
        if rows == (1 << n) - 1:
            matrix = np.vstack([np.zeros(n), matrix])
        labels = check_items(items if items is not None else range(n))
        if len(labels) != n:
            raise InputError(f"items: {len(labels)} labels for a matrix of {n} items")
        inside = Lattice(n).membership
        _refuse(np.isinf(matrix), matrix, labels, "is infinite: counts must be finite")
        _refuse(matrix < 0, matrix, labels, "is negative: counts must be 0 or more")
        _refuse(~inside & (matrix != 0) & ~np.isnan(matrix), matrix, labels, "but the item is not in that menu")
        matrix[~inside] = np.nan
        sums = np.nansum(matrix, axis=1)
        partial = np.isnan(matrix).sum(axis=1) > (~inside).sum(axis=1)
        observed = ~np.isnan(matrix).all(axis=1) & (partial | (sums > 0))
        for mask in np.flatnonzero(observed & partial & (sums > 1 + 1e-9)):
            raise InputError(
                f"menu {format_menu(labels[x] for x in items_of(mask))}: some cells are NaN, so the others are shares, "
                f"but they add up to {sums[mask]:g}; they must add up to at most 1"
            )
        masks = np.flatnonzero(observed)
        if len(masks) == 0:
            raise InputError("the matrix has no observed menu: every row is NaN or zero")
        return cls(labels, masks, matrix[masks], np.where(partial, 1.0, sums)[masks])

    @classmethod
    def _build(cls, labels: tuple[Item, ...], table: dict[int, Array]) -> ChoiceData:
        if not table:
            raise InputError("there are no data: at least one menu must be observed")
        masks = np.array(sorted(table), np.int64)
        counts = np.array([table[mask] for mask in masks])
        return cls(labels, masks, counts, np.nansum(counts, axis=1))


def check_items(items: Iterable[Item]) -> tuple[Item, ...]:
    """The labels as a tuple; an error where one stands twice or there are none or too many."""
    labels = tuple(items)
    if not labels:
        raise InputError("there are no items: at least one menu with at least one item is needed")
    if len(labels) > MAX_ITEMS:
        raise InputError(f"there are {len(labels)} items; at most {MAX_ITEMS} are possible")
    seen: set[Item] = set()
    for label in labels:
        if label in seen:
            raise InputError(f"item {label!r} stands twice in the list of items")
        seen.add(label)
    return labels


def format_menu(menu: Iterable[Item]) -> str:
    """A menu as text: {tea, milk}."""
    return "{" + ", ".join(str(item) for item in menu) + "}"


def _check_count(count: object, menu: str, item: Item) -> float:
    try:
        value = float(count)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"menu {menu}, item {item!r}: the count {count!r} is not a number") from None
    if not np.isfinite(value) or value < 0:
        raise InputError(f"menu {menu}, item {item!r}: the count is {value:g}; counts must be finite and 0 or more")
    return value


def _refuse(bad: NDArray[np.bool_], matrix: Array, labels: tuple[Item, ...], what: str) -> None:
    """Raise for the first cell that is bad."""
    if bad.any():
        mask, x = np.argwhere(bad)[0]
        menu = format_menu(labels[y] for y in items_of(mask))
        raise InputError(f"menu {menu} (row {mask}), item {labels[x]!r}: the entry {matrix[mask, x]:g} {what}")
