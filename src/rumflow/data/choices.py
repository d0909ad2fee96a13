"""Choice data with labels: which menus were offered, what was chosen from them how often."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import check_item, check_menu
from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.lattice import MAX_ITEMS
from rumflow.data import matrix, writers
from rumflow.data.labels import LARGEST_TOTAL, Counted, Item, Rows, check_items, format_menu
from rumflow.data.menus import MOST_MASK_ITEMS, check_totals, labels_of, masks_of, sort_keys, tally, unique_menus
from rumflow.data.readers import FrameSource, ParquetSource, make_options, open_source, read
from rumflow.errors import InputError


@dataclass(frozen=True, eq=False)
class ChoiceData:
    """Counts of choices by menu.

    `membership[i, x]` says whether item x is in menu i; `counts[i, x]` how often it was chosen from it: NaN where x is not in
    the menu, and where the cell was not observed (a survey that recorded only some items' shares). Menus are in ascending order
    of their bit masks. There may be hundreds of items.
    """

    items: tuple[Item, ...]
    membership: Mask  # (m, n) the observed menus
    counts: Array  # (m, n)
    totals: Array  # (m,) sample size of each menu
    rows: Rows | None = field(default=None, repr=False)  # None where only counts were given
    understood: str = field(default="", repr=False)  # how a table was read, in words

    def __post_init__(self) -> None:
        m, n = len(self.totals), len(self.items)
        if self.membership.dtype != np.bool_ or not self.membership.shape == self.counts.shape == (m, n):
            raise InputError(
                f"membership must be a boolean array and counts an array of shape ({m}, {n}), one row per menu and one column "
                f"per item; they are {self.membership.dtype} of shape {self.membership.shape} and of shape {self.counts.shape}"
            )
        check_totals(self.items, self.membership, self.totals)
        order = np.argsort(sort_keys(self.membership), kind="stable")
        if (order != np.arange(m)).any():
            self._sort(order)

    def _sort(self, order: Ints) -> None:
        """Menus in this order instead."""
        for name in ("membership", "counts", "totals"):
            object.__setattr__(self, name, getattr(self, name)[order])
        if self.rows is not None:
            place = np.argsort(order)
            object.__setattr__(self, "rows", self.rows._replace(menu=place[self.rows.menu].astype(np.int32)))

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def menus(self) -> list[tuple[Item, ...]]:
        """The observed menus, as tuples of labels."""
        return [labels_of(self.items, inside) for inside in self.membership]

    @cached_property
    def masks(self) -> Ints:
        """(m,) bit masks of the menus (bit x set: item x is offered), for at most 62 items."""
        if self.n > MOST_MASK_ITEMS:
            raise InputError(
                f"menus of {self.n} items have no 64-bit masks (at most {MOST_MASK_ITEMS} items have): use data.membership, "
                "a boolean row per menu, or data.menus, the labels"
            )
        return masks_of(self.membership)

    @property
    def frequencies(self) -> Array:
        """(m, n): share of each item among the choices from each menu; NaN as in `counts`."""
        return self.counts / self.totals[:, None]

    @property
    def n_observations(self) -> float:
        """Number of choices in all."""
        return float(self.totals.sum())

    def to_array(self) -> Array:
        """(2^n, n): the frequencies of every menu, NaN where not observed, 0 outside the menu; for at most 30 items."""
        return matrix.to_matrix(self.membership, self.frequencies)

    def __repr__(self) -> str:
        every = f" of {2**self.n - 1}" if self.n <= MAX_ITEMS else ""
        return f"ChoiceData({self.n} items, {len(self.totals)}{every} menus, {self.n_observations:g} observations)"

    @classmethod
    def from_counts(cls, counts: Mapping[Any, Mapping[Any, float]], items: Sequence[Item] | None = None) -> ChoiceData:
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
        if not menus:
            raise InputError("there are no data: at least one menu must be observed")
        labels = check_items(items if items is not None else list(dict.fromkeys(x for menu in menus for x in menu)))
        position = {label: x for x, label in enumerate(labels)}
        table = np.full((len(menus), len(labels)), np.nan)
        for row, menu, chosen in zip(table, menus, counts.values(), strict=True):
            name = format_menu(menu)
            row[check_menu(menu, position, f"menu {name}")] = 0.0
            if not isinstance(chosen, Mapping):
                raise InputError(f"menu {name}: give its choices as a mapping of item to count, not {chosen!r}")
            for item, count in chosen.items():
                if item not in position or np.isnan(row[position[item]]):
                    raise InputError(f"menu {name}: the choice {item!r} is not in the menu")
                row[position[item]] = _check_count(count, name, item)
            if np.nansum(row) == 0:
                raise InputError(f"menu {name} has no choices: leave out menus that were not observed")
        membership, number = unique_menus(~np.isnan(table))
        if len(membership) < len(menus):
            _, first = np.unique(number, return_index=True)
            name = format_menu(menus[np.setdiff1d(np.arange(len(menus)), first)[0]])
            raise InputError(f"menu {name} appears twice (perhaps in another order): add its counts up first")
        table = table[np.argsort(number)]
        return cls(labels, membership, table, np.nansum(table, axis=1))

    @classmethod
    def from_matrix(cls, a: ArrayLike, items: Sequence[Item] | None = None) -> ChoiceData:
        """From a (2^n, n) or (2^n - 1, n) matrix of counts or of probabilities: row = menu bit mask, column = item.

        With 2^n - 1 rows the first row is mask 1. A row of NaN, of masked cells, or of zeros, was not observed. Where some cells
        of a menu are NaN or masked the others are read as shares of that menu, so they must be at most 1 together.
        """
        return cls(*matrix.from_matrix(a, items))

    @classmethod
    def from_csv(
        cls, path: str | Path, *, delimiter: str | None = None, encoding: str = "utf-8", **options: Any
    ) -> ChoiceData:
        """From a file: delimited text (also gzip) or Parquet, by content; "-" is standard input. Options as for `from_frame`.

        The file is read in pieces, so it may be larger than memory; a pipe is copied to a temporary file first. `understood` says
        how it was read.
        """
        chosen = make_options(options)
        return cls(*read(open_source(path, delimiter, encoding), chosen))

    @classmethod
    def from_parquet(cls, path: str | Path, **options: Any) -> ChoiceData:
        """From a Parquet file, in pieces and only the columns needed. Options as for `from_frame`."""
        chosen = make_options(options)
        return cls(*read(ParquetSource(path), chosen))

    @classmethod
    def from_frame(cls, frame: Any, **options: Any) -> ChoiceData:
        """From a pandas, polars or Arrow frame, or a dict of columns; columns are found by name and content.

        menu, choice (or item), count, weight, total, subject, observation
                   the column with that meaning; None finds it, False says that there is none
        menu       may be a list of columns, one for each item offered; choice may be a list of 0/1 columns, or {column: label}
        menu_id    beside counts: an id of the menu, which holds the items in the rows of that id
        status_quo a column with an item that is in the menu of its row, listed or not; a missing choice means it
        group      a column or several (domain, period, ...); `split()` separates them
        available  the 0/1 columns, one for each item, as a list or as {column: label}
        items      the labels in order; for bit masks the label of bit 0, bit 1, ...
        menus      the menus behind ids in the menu column: a list (ids count from 1) or a mapping
        outside_option  an item that is in every menu, listed or not; a missing choice means it
        missing    codes for a choice that was not recorded, one or a list: such rows are left out
        separator  between the items of a menu written as text
        base       0 or 1: choices are numbers of columns, of bits or of places in the menu, counted from there; "label"
        clean      treat labels that look the same, or differ by blanks or case, as one
        rows       keep every row (default: up to 5 million)
        """
        chosen = make_options(options)
        return cls(*read(FrameSource(frame), chosen))

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
        counts = tally(self.membership, rows.menu, rows.choice, rows.weight)
        totals = np.nansum(counts, axis=1)
        seen = totals > 0
        number = (np.cumsum(seen) - 1).astype(np.int32)
        kept = rows._replace(menu=number[rows.menu])
        return ChoiceData(self.items, self.membership[seen], counts[seen], totals[seen], kept)

    def without(self, items: Iterable[Item]) -> ChoiceData:
        """The data with these items taken off every menu, and the choices of them left out.

        For items that were not really chosen, such as rows "nothing" that were made up. Of real choices it changes the question:
        those who took the item may rank the others differently from those who did not.

        >>> data = ChoiceData.from_counts({("tea", "milk", "none"): {"tea": 3, "milk": 1, "none": 9}})
        >>> data.without(["none"]).counts.tolist()
        [[3.0, 1.0]]
        """
        names = (items,) if isinstance(items, str) else tuple(items)
        gone: Mask = np.isin(np.arange(self.n), [check_item(item, self.items) for item in names])
        unknown = self.membership & gone & np.isnan(self.counts)
        if unknown.any():
            name = format_menu(self.menus[int(np.argmax(unknown.any(axis=1)))])
            raise InputError(f"without {format_menu(names)}: menu {name} does not say how often these were chosen")
        totals = self.totals - np.nansum(self.counts[:, gone], axis=1)
        membership = self.membership[:, ~gone]
        left = membership.any(axis=1) & (totals > 0)
        if not left.any():
            raise InputError(f"without {format_menu(names)} there is no choice left")
        kept, own = unique_menus(membership[left])  # menus that differ in these items only are one
        counts, sums = np.zeros(kept.shape), np.zeros(len(kept))
        np.add.at(counts, own, self.counts[:, ~gone][left])
        np.add.at(sums, own, totals[left])
        number = np.full(len(totals), -1)
        number[left] = own
        rows = self.rows
        if rows is not None:
            use = (number[rows.menu] >= 0) & ~gone[rows.choice]
            rows = rows._replace(
                menu=number[rows.menu[use]].astype(np.int32),
                choice=(np.cumsum(~gone) - 1)[rows.choice[use]].astype(np.int16),
                weight=rows.weight[use],
                subject=None if rows.subject is None else rows.subject[use],
                group=None if rows.group is None else rows.group[use],
            )
        labels = tuple(item for item, out in zip(self.items, gone, strict=True) if not out)
        return ChoiceData(labels, kept, counts, sums, rows, self.understood)

    def counted(self) -> Counted:
        """The same as a plain tuple, which is what writers take."""
        return Counted(self.items, self.membership, self.counts, self.totals, self.rows, self.understood)

    def to_frame(self, form: str = "long", backend: str = "pandas") -> Any:
        """A data frame (backend "pandas", "polars", "pyarrow" or "dict"); `from_frame` reads it back exactly.

        form "long": menu_mask, menu, item, count; beyond 62 items menu_id, item, item_number, count. form "rows": one row per
        choice, with weight, subject and group.
        """
        return writers.to_frame(self.counted(), form, backend)

    def to_csv(self, path: str | Path, form: str = "long") -> None:
        """Write a table that `from_csv` reads back exactly."""
        writers.to_csv(self.counted(), path, form)

    def to_parquet(self, path: str | Path, form: str = "long") -> None:
        """Write a Parquet file that `from_parquet` reads back exactly."""
        writers.to_parquet(self.counted(), path, form)

    def to_matrix(self) -> Array:
        """(2^n - 1, n) counts, row = menu mask - 1, NaN where a menu or a cell was not observed, 0 outside the menu; n <= 30."""
        return matrix.to_matrix(self.membership, self.counts)[1:]

    def to_pairs(self) -> list[tuple[Item, tuple[Item, ...]]]:
        """(winner, losers) for every single choice; the counts must be whole numbers."""
        return writers.to_pairs(self.counted())

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
            [self.membership, self.counts, self.totals, *mine],
            [other.membership, other.counts, other.totals, *theirs],
            strict=True,
        )
        labels = self.rows is None or other.rows is None or self.rows[5:] == other.rows[5:]
        return labels and all(_same(a, b) for a, b in pairs)


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def _check_count(count: object, menu: str, item: Item) -> float:
    try:
        value = float(count)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"menu {menu}, item {item!r}: the count {count!r} is not a number") from None
    if not 0 <= value <= LARGEST_TOTAL:
        raise InputError(
            f"menu {menu}, item {item!r}: the count is {value:g}; counts must be from 0 to 2^53 = {LARGEST_TOTAL:.0f}"
        )
    return value
