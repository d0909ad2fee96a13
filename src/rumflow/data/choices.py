"""Choice data with labels: which menus were offered, what was chosen from them how often."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.lattice import MAX_ITEMS
from rumflow.core.memory import require_memory
from rumflow.core.menus import MOST_MASK_ITEMS, Menus
from rumflow.data import mappings, matrix, parts, writers
from rumflow.data.labels import Counted, Item, Rows, check_totals
from rumflow.data.parts import in_order
from rumflow.data.readers import FrameSource, ParquetSource, make_options, open_source, read
from rumflow.errors import InputError

#: Tables (menus, items) of at most this many entries are kept once they were asked for; larger ones are made each time.
MOST_KEPT = 1 << 22


class CellCounts(NamedTuple):
    """Every cell (menu, item of the menu) of choice data: menus in order, items in ascending order within each menu."""

    menu: Ints  # (cells,) number of the menu
    item: NDArray[np.int32]  # (cells,) number of the item
    count: Array  # type: ignore[assignment]  # (cells,) how often it was chosen; NaN where that was not recorded


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ChoiceData:
    """Counts of choices by menu.

    What is held is as large as what was observed: the `cells`, that is for every menu its items and how often each was chosen,
    NaN where that was not recorded (a survey that recorded only some items' shares). `membership`, `counts` and `frequencies`
    show the same as read-only tables (menus, items), made when they are asked for and kept if they are small. Menus are in
    ascending order of their bit masks. There may be thousands of items.

    `ChoiceData(items, membership, counts, totals)` takes tables: `membership[i, x]` says whether item x is in menu i,
    `counts[i, x]` how often it was chosen from it. `from_cells` takes cells.

    >>> data = ChoiceData.from_counts({("tea", "milk"): {"tea": 3, "milk": 1}, ("milk", "juice"): {"milk": 2, "juice": 5}})
    >>> [part.tolist() for part in data.cells]
    [[0, 0, 1, 1], [0, 1, 1, 2], [3.0, 1.0, 2.0, 5.0]]
    >>> data.counts
    array([[ 3.,  1., nan],
           [nan,  2.,  5.]])
    """

    items: tuple[Item, ...]
    offered: Menus  # the observed menus, by item number
    count: Array  # (cells,)
    totals: Array  # (m,) sample size of each menu
    rows: Rows | None  # None where only counts were given
    understood: str  # how a table was read, in words
    _kept: dict[str, Any]  # tables that were asked for

    def __init__(
        self,
        items: tuple[Item, ...],
        membership: Mask,
        counts: Array,
        totals: Array,
        rows: Rows | None = None,
        understood: str = "",
    ) -> None:
        m, n = len(totals), len(items)
        if membership.dtype != np.bool_ or not membership.shape == counts.shape == (m, n):
            raise InputError(
                f"membership must be a boolean array and counts an array of shape ({m}, {n}), one row per menu and one column "
                f"per item; they are {membership.dtype} of shape {membership.shape} and of shape {counts.shape}"
            )
        menus, entry = Menus.from_table(membership)
        self._set(in_order(Counted(items, menus, np.take(counts, entry), totals, rows, understood)))

    def _set(self, data: Counted) -> None:
        """Hold these data, whose menus are in order."""
        check_totals(data.items, data.menus, data.totals)
        count = np.asarray(data.counts, np.float64).view()
        count.flags.writeable = False
        fields = {"items": data.items, "offered": data.menus, "count": count, "totals": data.totals}
        self.__dict__.update(fields | {"rows": data.rows, "understood": data.understood, "_kept": {}})

    @classmethod
    def _of(cls, data: Counted) -> ChoiceData:
        """Data that hold these, whose menus are in order."""
        made = cls.__new__(cls)
        made._set(data)
        return made

    @classmethod
    def from_cells(
        cls,
        items: tuple[Item, ...],
        menus: Menus,
        counts: Array,
        totals: Array,
        rows: Rows | None = None,
        understood: str = "",
    ) -> ChoiceData:
        """From menus by item number, in any order, and a count per cell; nothing of size (menus, items) is made."""
        if len(items) != menus.n_items or len(totals) != len(menus) or counts.shape != menus.item.shape:
            raise InputError(
                f"{len(menus)} menus of {menus.n_items} items with {len(menus.item)} cells need as many labels, totals and "
                f"counts; there are {len(items)} labels, {len(totals)} totals and counts of shape {counts.shape}"
            )
        return cls._of(in_order(Counted(items, menus, counts, totals, rows, understood)))

    def replace(self, **changes: Any) -> ChoiceData:
        """The same data with other `items` (of the same number), `counts` (per cell, or as a table), `totals`, `rows` or
        `understood`.

        >>> data = ChoiceData.from_counts({("tea", "milk"): {"tea": 3, "milk": 1}})
        >>> data.replace(items=("green tea", "oat milk")).menus
        [('green tea', 'oat milk')]
        """
        given = self.counted()._asdict()
        if unknown := set(changes) - set(given) | set(changes) & {"menus"}:
            raise InputError(
                f"replace: {', '.join(sorted(unknown))}: accepted are items, counts, totals, rows and understood"
            )
        if "counts" in changes:
            counts = np.asarray(changes["counts"], np.float64)
            table = counts.shape == (len(self.totals), self.n)
            changes["counts"] = np.take(counts, self.offered.entry) if table else counts
        return ChoiceData.from_cells(**given | changes)

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def menus(self) -> list[tuple[Item, ...]]:
        """The observed menus, as tuples of labels."""
        return self.offered.labels(self.items)

    @cached_property
    def masks(self) -> Ints:
        """(m,) bit masks of the menus (bit x set: item x is offered), for at most 62 items."""
        if self.n > MOST_MASK_ITEMS:
            raise InputError(
                f"menus of {self.n} items have no 64-bit masks (at most {MOST_MASK_ITEMS} items have): use data.membership, "
                "a boolean row per menu, or data.menus, the labels"
            )
        return self.offered.masks()

    @property
    def cells(self) -> CellCounts:
        """Menu, item and count of every cell, as three flat arrays: what there is to compute with, for any number of items."""
        return CellCounts(self.offered.menu, self.offered.item, self.count)

    @property
    def membership(self) -> Mask:
        """(m, n): is the item in the menu?"""
        kept: Mask | None = self._kept.get("membership")
        return self._make("membership", np.True_, np.False_) if kept is None else kept

    @property
    def counts(self) -> Array:
        """(m, n): how often each item was chosen from each menu; NaN outside the menu, and where it was not recorded."""
        kept: Array | None = self._kept.get("counts")
        return self._make("counts", self.count, np.nan) if kept is None else kept

    @property
    def frequencies(self) -> Array:
        """(m, n): share of each item among the choices from each menu; NaN as in `counts`."""
        kept: Array | None = self._kept.get("frequencies")
        return self._make("frequencies", self.shares, np.nan) if kept is None else kept

    def _make(self, name: str, values: Any, outside: Any) -> Any:
        """A table (menus, items) of these values, kept if it is small."""
        m, n = len(self.totals), self.n
        require_memory(
            values.dtype.itemsize * float(m) * n, f"a table of {m:,} menus and {n:,} items", "use data.cells"
        )
        table = self.offered.to_table(values, outside)
        table.flags.writeable = False
        if table.size <= MOST_KEPT:
            self._kept[name] = table
        return table

    @property
    def shares(self) -> Array:
        """(cells,) share of each cell among the choices from its menu; NaN where it was not recorded."""
        return self.count / self.totals[self.offered.menu]

    @property
    def n_observations(self) -> float:
        """Number of choices in all."""
        return float(self.totals.sum())

    def to_array(self) -> Array:
        """(2^n, n): the frequencies of every menu, NaN where not observed, 0 outside the menu; for at most 30 items."""
        return matrix.to_matrix(self.offered, self.shares)

    def __repr__(self) -> str:
        every = f" of {2**self.n - 1}" if self.n <= MAX_ITEMS else ""
        return f"ChoiceData({self.n} items, {len(self.totals)}{every} menus, {self.n_observations:g} observations)"

    @classmethod
    def from_counts(cls, counts: Mapping[Any, Mapping[Any, float]], items: Sequence[Item] | None = None) -> ChoiceData:
        """From `{("tea", "milk"): {"tea": 31, "milk": 9}, ...}`; an item of the menu without a count was never chosen.

        `items` fixes the order of the items; without it they stand in order of first appearance.
        """
        return cls._of(in_order(mappings.from_mapping(counts, items)))

    @classmethod
    def from_matrix(cls, a: ArrayLike, items: Sequence[Item] | None = None) -> ChoiceData:
        """From a (2^n, n) or (2^n - 1, n) matrix of counts or of probabilities: row = menu bit mask, column = item.

        With 2^n - 1 rows the first row is mask 1. A row of NaN, of masked cells, or of zeros, was not observed. Where some cells
        of a menu are NaN or masked the others are read as shares of that menu, so they must be at most 1 together.
        """
        return cls._of(matrix.from_matrix(a, items))

    @classmethod
    def from_csv(
        cls, path: str | Path, *, delimiter: str | None = None, encoding: str = "utf-8", **options: Any
    ) -> ChoiceData:
        """From a file: delimited text (also gzip) or Parquet, by content; "-" is standard input. Options as for `from_frame`.

        The file is read in pieces, so it may be larger than memory; a pipe is copied to a temporary file first. `understood` says
        how it was read.
        """
        chosen = make_options(options)
        return cls._of(read(open_source(path, delimiter, encoding), chosen))

    @classmethod
    def from_parquet(cls, path: str | Path, **options: Any) -> ChoiceData:
        """From a Parquet file, in pieces and only the columns needed. Options as for `from_frame`."""
        chosen = make_options(options)
        return cls._of(read(ParquetSource(path), chosen))

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
        return cls._of(read(FrameSource(frame), chosen))

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
        return {key: ChoiceData._of(part) for key, part in parts.split(self.counted(), by).items()}

    def without(self, items: Iterable[Item]) -> ChoiceData:
        """The data with these items taken off every menu, and the choices of them left out.

        For items that were not really chosen, such as rows "nothing" that were made up. Of real choices it changes the question:
        those who took the item may rank the others differently from those who did not.

        >>> data = ChoiceData.from_counts({("tea", "milk", "none"): {"tea": 3, "milk": 1, "none": 9}})
        >>> data.without(["none"]).counts.tolist()
        [[3.0, 1.0]]
        """
        return ChoiceData._of(parts.without(self.counted(), items))

    def counted(self) -> Counted:
        """The same as a plain tuple, which is what writers take."""
        return Counted(self.items, self.offered, self.count, self.totals, self.rows, self.understood)

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
        return matrix.to_matrix(self.offered, self.count)[1:]

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
        mine, theirs = (
            [data.count, data.totals, *(data.rows[:5] if data.rows is not None else [])] for data in (self, other)
        )
        labels = self.rows is None or other.rows is None or self.rows[5:] == other.rows[5:]
        return labels and self.offered.same(other.offered) and all(map(_same, mine, theirs))


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
