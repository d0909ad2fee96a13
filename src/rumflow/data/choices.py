"""Choice data with labels: which menus were offered, what was chosen from them how often."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Array
from rumflow.core.lattice import MAX_ITEMS, Lattice, items_of
from rumflow.data.labels import Item, Rows, check_items, format_menu
from rumflow.errors import InputError


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
    rows: Rows | None = field(default=None, repr=False)  # None where only counts were given
    understood: str = field(default="", repr=False)  # how a table was read, in words

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
        return f"ChoiceData({self.n} items, {len(self.masks)} of {2**self.n - 1} menus, {self.n_observations:g} observations)"

    @classmethod
    def from_counts(
        cls, counts: Mapping[Iterable[Item], Mapping[Item, float]], items: Sequence[Item] | None = None
    ) -> ChoiceData:
        """From `{("tea", "milk"): {"tea": 31, "milk": 9}, ...}`; an item of the menu without a count was never chosen.

        `items` fixes the order of the items; without it they stand in order of first appearance.
        """
        if not isinstance(counts, Mapping):
            raise InputError(f"counts: a mapping of menus to choices is needed, not {type(counts).__name__}")
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
        try:
            matrix = np.array(a, np.float64)
        except (TypeError, ValueError):
            raise InputError(f"a matrix of counts is needed, not {type(a).__name__} {str(a)[:40]!r}") from None
        if matrix.ndim != 2 or matrix.shape[1] < 1:
            raise InputError(f"a matrix of counts has shape (2^n, n) or (2^n - 1, n), not {matrix.shape}")
        rows, n = matrix.shape
        if n > MAX_ITEMS or rows not in (1 << n, (1 << n) - 1):
            raise InputError(
                f"a matrix with {n} columns (items) has {2**n} rows (all menus) or {2**n - 1} (without the empty "
                f"one), not {rows}"
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
    def from_csv(
        cls, path: str | Path, *, delimiter: str | None = None, encoding: str = "utf-8", **options: Any
    ) -> ChoiceData:
        """From a file: delimited text (also gzip) or Parquet, by content. Options as for `from_frame`.

        The file is read in pieces, so it may be larger than memory; `understood` says how it was read.
        """
        from rumflow.data.readers import Options, open_source, read

        chosen = make_options(Options, options)
        return read(open_source(path, delimiter, encoding), chosen)

    @classmethod
    def from_parquet(cls, path: str | Path, **options: Any) -> ChoiceData:
        """From a Parquet file, in pieces and only the columns needed. Options as for `from_frame`."""
        from rumflow.data.readers import Options, ParquetSource, read

        chosen = make_options(Options, options)
        return read(ParquetSource(path), chosen)

    @classmethod
    def from_frame(cls, frame: Any, **options: Any) -> ChoiceData:
        """From a pandas, polars or Arrow frame, or a dict of columns; columns are found by name and content.

        menu, choice (or item), count, weight, total, subject, observation
                   the column with that meaning; None finds it, False says that there is none
        group      a column or several (domain, period, ...); `split()` separates them
        available  the 0/1 columns, one an item, as a list or as {column: label}
        items      the labels in order; for bit masks the label of bit 0, bit 1, ...
        menus      the menus behind ids in the menu column: a list (ids count from 1) or a mapping
        outside_option  an item that is in every menu, listed or not; a missing choice means it
        separator  between the items of a menu written as text; base: 0 or 1, where choices are numbers of columns or bits
        clean      treat labels that differ by blanks or case as one; rows: keep every row (default: up to 5 million)
        """
        from rumflow.data.readers import FrameSource, Options, read

        chosen = make_options(Options, options)
        return read(FrameSource(frame), chosen)

    @classmethod
    def from_pairs(cls, choices: Iterable[tuple[Item, Iterable[Item]]], **options: Any) -> ChoiceData:
        """From (winner, losers) pairs, as in choix; losers may be one item or several.

        >>> ChoiceData.from_pairs([("tea", ["milk"]), ("milk", ["tea"]), ("tea", ["milk"])]).counts.tolist()
        [[1.0, 2.0]]
        """
        winners: list[Item] = []
        losers: list[tuple[Item, ...]] = []
        for k, pair in enumerate(choices):
            try:
                winner, rest = pair
            except (TypeError, ValueError):
                raise InputError(f"pair {k}: {pair!r} is not (winner, losers)") from None
            winners.append(winner)
            single = isinstance(rest, str | bytes) or not isinstance(rest, Iterable)
            losers.append((rest,) if single else tuple(rest))  # type: ignore[arg-type]
        if not winners:
            raise InputError("there are no data: at least one (winner, losers) pair is needed")
        return cls.from_frame({"winner": winners, "losers": losers}, **options)

    def split(self, by: str | Sequence[str] = "group") -> dict[Any, ChoiceData]:
        """The data of each group, over the same items; by="subject": of each subject; by=("group", "subject"): of each pair."""
        names = (by,) if isinstance(by, str) else tuple(by)
        if not names or not set(names) <= {"group", "subject"}:
            raise InputError(f"by={by!r}: accepted are 'group', 'subject' and ('group', 'subject')")
        rows = self.rows
        parts: list[tuple[NDArray[np.int32], tuple[Any, ...]]] = []
        for name in names:
            codes = None if rows is None else rows.group if name == "group" else rows.subject
            if rows is None or codes is None:
                raise InputError(f"these data have no {name}: name its column with {name}= when reading them")
            parts.append((codes, rows.groups if name == "group" else rows.subjects))
        assert rows is not None
        joined = np.zeros(len(rows.menu), np.int64)
        for codes, labels in parts:
            joined = joined * len(labels) + codes
        order = np.argsort(joined, kind="stable")
        starts = np.flatnonzero(np.diff(joined[order]) > 0) + 1
        found: dict[Any, ChoiceData] = {}
        for own in np.split(order, starts):
            key = tuple(labels[codes[own[0]]] for codes, labels in parts)
            found[key[0] if len(key) == 1 else key] = self._of_rows(
                rows._replace(
                    menu=rows.menu[own],
                    choice=rows.choice[own],
                    weight=rows.weight[own],
                    subject=None if rows.subject is None else rows.subject[own],
                    group=None if rows.group is None else rows.group[own],
                )
            )
        return found

    def _of_rows(self, rows: Rows) -> ChoiceData:
        """These items, counted again over some of the rows."""
        inside = (self.masks[:, None] >> np.arange(self.n) & 1).astype(bool)
        counts = np.where(inside, 0.0, np.nan)
        np.add.at(counts, (rows.menu, rows.choice), rows.weight)
        totals = np.nansum(counts, axis=1)
        seen = totals > 0
        number = (np.cumsum(seen) - 1).astype(np.int32)
        kept = rows._replace(menu=number[rows.menu])
        return ChoiceData(self.items, self.masks[seen], counts[seen], totals[seen], kept)

    def to_frame(self, form: str = "long", backend: str = "pandas") -> Any:
        """A data frame (backend "pandas", "polars", "pyarrow" or "dict"); `from_frame` reads it back exactly.

        form "long": menu_mask, menu, item, count. form "rows": a row a choice, with weight, subject and group.
        """
        from rumflow.data.writers import to_frame

        return to_frame(self, form, backend)

    def to_csv(self, path: str | Path, form: str = "long") -> None:
        """Write a table that `from_csv` reads back exactly."""
        from rumflow.data.writers import to_csv

        to_csv(self, path, form)

    def to_parquet(self, path: str | Path, form: str = "long") -> None:
        """Write a Parquet file that `from_parquet` reads back exactly."""
        from rumflow.data.writers import to_parquet

        to_parquet(self, path, form)

    def to_matrix(self) -> Array:
        """(2^n - 1, n) counts, row = menu mask - 1, NaN where a menu or a cell was not observed, 0 outside the menu."""
        inside = Lattice(self.n).membership
        matrix = np.where(inside, np.nan, 0.0)
        matrix[self.masks] = np.where(inside[self.masks], self.counts, 0.0)
        return matrix[1:]

    def to_pairs(self) -> list[tuple[Item, tuple[Item, ...]]]:
        """(winner, losers) for every single choice; the counts must be whole numbers."""
        from rumflow.data.writers import to_pairs

        return to_pairs(self)

    def equals(self, other: object) -> bool:
        """The same items, menus and numbers, and the same rows; how they were read does not matter."""
        if (
            not isinstance(other, ChoiceData)
            or self.items != other.items
            or (self.rows is None) != (other.rows is None)
        ):
            return False
        mine, theirs = (list(d.rows[:5]) if d.rows is not None else [] for d in (self, other))
        pairs = zip(
            [self.masks, self.counts, self.totals, *mine],
            [other.masks, other.counts, other.totals, *theirs],
            strict=True,
        )
        labels = self.rows is None or other.rows is None or self.rows[5:] == other.rows[5:]
        return labels and all(_same(a, b) for a, b in pairs)

    @classmethod
    def _build(cls, labels: tuple[Item, ...], table: dict[int, Array]) -> ChoiceData:
        if not table:
            raise InputError("there are no data: at least one menu must be observed")
        masks = np.array(sorted(table), np.int64)
        counts = np.array([table[mask] for mask in masks])
        return cls(labels, masks, counts, np.nansum(counts, axis=1))


def make_options(kind: Any, options: dict[str, Any]) -> Any:
    """Reading options from keyword arguments; an unknown one is an error that lists those accepted."""
    known = list(kind.__dataclass_fields__)
    for name in options:
        if name not in known:
            raise InputError(f"{name}= is not an option for reading data; accepted are {', '.join(known)}")
    return kind(**options)


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


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
