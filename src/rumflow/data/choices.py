"""Choice data with labels: which menus were offered, what was chosen from them how often."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Mask
from rumflow.core.lattice import MAX_ITEMS
from rumflow.core.menus import Menus
from rumflow.data import matrix, writers
from rumflow.data.constructors import Constructors
from rumflow.data.counted import Counted, Rows, check_totals
from rumflow.data.description import Description
from rumflow.data.labels import Item, count_items
from rumflow.data.menus import make_table
from rumflow.data.parts import in_order
from rumflow.data.summary import DataSummary
from rumflow.data.ties import check_ties, relabel, settle, split_data, without_items
from rumflow.data.understood import UNREAD, Understood
from rumflow.errors import InputError

#: Tables (menus, items) of at most this many entries are kept once they were asked for; larger ones are made each time.
MOST_KEPT = 1 << 22


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ChoiceData(Counted, Constructors):
    """Counts of choices by menu.

    The constructor takes tables; usually one of the methods `from_counts`, `from_csv`, `from_frame`, `from_matrix`,
    `from_pairs` or `from_cells` is more convenient.

    Parameters
    ----------
    items : tuple
        Labels of the items.
    membership : ndarray of shape (m, n)
        `membership[i, x]`: whether item x is in menu i.
    counts : ndarray of shape (m, n)
        `counts[i, x]`: how often item x was chosen from menu i; NaN where that was not recorded.
    totals : ndarray of shape (m,)
        Sample size of each menu.
    rows : Rows, optional
        The single choices; None where only counts are known.
    understood : Understood, optional
        How a table was read: an empty one where none was.

    Attributes
    ----------
    items : tuple
        Labels of the items.
    offered : Menus
        The observed menus, by item number.
    count : ndarray of shape (cells,)
        The count of every cell.
    totals : ndarray of shape (m,)
        Sample size of each menu.
    rows : Rows or None
        The single choices.
    understood : Understood
        How a table was read: layout, roles of the columns, coding, unused columns, notes.
    description : Description or None
        What the data set is, with citation and licence, for those of `rumflow.datasets`.
    outcomes : ChoiceData or None
        Of pairs whose ties count as half a win each: the data with ties as an outcome, from which tests draw.

    Notes
    -----
    The object is as large as what was observed. It holds the `cells`: for every menu its items and how often each was
    chosen, NaN where that was not recorded (a survey that recorded only some items' shares). `membership`, `counts` and
    `frequencies` show the same as read-only tables (menus, items), made on request and kept if they are small. Menus are
    in ascending order of their bit masks. There may be thousands of items. Ties of pairs as an outcome are held like an
    item, with the label `rf.TIE`: such a pair is the menu {a, b, (tie)}.

    Examples
    --------
    >>> data = ChoiceData.from_counts({("tea", "milk"): {"tea": 3, "milk": 1}, ("milk", "juice"): {"milk": 2, "juice": 5}})
    >>> [part.tolist() for part in data.cells]
    [[0, 0, 1, 1], [0, 1, 1, 2], [3.0, 1.0, 2.0, 5.0]]
    >>> data.counts
    array([[ 3.,  1., nan],
           [nan,  2.,  5.]])
    """

    def __init__(
        self,
        items: tuple[Item, ...],
        membership: Mask,
        counts: Array,
        totals: Array,
        rows: Rows | None = None,
        understood: Understood = UNREAD,
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
        check_totals(data.items, data.offered, data.totals)
        check_ties(data.items, data.offered)
        if not isinstance(data.understood, Understood):
            raise InputError(f"understood={data.understood!r}: an Understood is needed, as in data.understood")
        count = np.asarray(data.count, np.float64).view()
        count.flags.writeable = False
        held = {field.name: getattr(data, field.name) for field in fields(Counted)} | {"count": count}
        if data.outcomes is not None:
            held["outcomes"] = ChoiceData._of(data.outcomes)
        self.__dict__.update(held)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From a pickle, also one of the time when data were tables over menus and items."""
        needed = ["items", "offered", "count", "totals"]
        if "offered" not in state:
            needed = ["items", "membership", "counts", "totals"]
        if not all(name in state for name in needed):
            raise InputError(
                "this ChoiceData was pickled by another version of rumflow: read the data again, or write them with "
                "`to_parquet` or `to_csv`, which every version reads"
            )
        later = {field.name: state.get(field.name, field.default) for field in fields(Counted)[len(needed) :]}
        if not isinstance(later["understood"], Understood):  # it was a text
            later["understood"] = UNREAD.noting([later["understood"]])
        if "offered" in state:
            self.__dict__.update(state | later)
        else:
            self.__init__(*(state[name] for name in needed), later["rows"], later["understood"])  # type: ignore[misc]

    @classmethod
    def _of(cls, data: Counted) -> Self:
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
        understood: Understood = UNREAD,
        description: Description | None = None,
    ) -> ChoiceData:
        """Make choice data from menus by item number, in any order, and a count per cell.

        Nothing of size (menus, items) is made.

        Parameters
        ----------
        items : tuple
            Labels of the items.
        menus : Menus
            The menus by item number.
        counts : ndarray of shape (cells,)
            How often each cell was chosen; NaN where that was not recorded.
        totals : ndarray of shape (m,)
            Sample size of each menu.
        rows : Rows, optional
            The single choices.
        understood : Understood, optional
            How a table was read: an empty one where none was.
        description : Description, optional
            What the data set is.

        Returns
        -------
        ChoiceData
        """
        if len(items) != menus.n_items or len(totals) != len(menus) or counts.shape != menus.item.shape:
            raise InputError(
                f"{len(menus)} menus of {menus.n_items} items with {len(menus.item)} cells need as many labels, totals and "
                f"counts; there are {len(items)} labels, {len(totals)} totals and counts of shape {counts.shape}"
            )
        return cls._of(in_order(Counted(items, menus, counts, totals, rows, understood, description)))

    def replace(self, **changes: Any) -> ChoiceData:
        """Return the same data with some parts replaced.

        Parameters
        ----------
        **changes
            `items` (as many as before), `counts` (per cell, or as a table), `totals`, `rows`, `understood` or `description`.

        Returns
        -------
        ChoiceData

        Examples
        --------
        >>> data = ChoiceData.from_counts({("tea", "milk"): {"tea": 3, "milk": 1}})
        >>> data.replace(items=("green tea", "oat milk")).menus
        [('green tea', 'oat milk')]
        """
        given: dict[str, Any] = {"items": self.items, "counts": self.count, "totals": self.totals}
        given |= {"rows": self.rows, "understood": self.understood, "description": self.description}
        if unknown := set(changes) - set(given):
            raise InputError(
                f"replace: {', '.join(sorted(unknown))}: accepted are items, counts, totals, rows, understood and description"
            )
        if "counts" in changes:
            counts = np.asarray(changes["counts"], np.float64)
            table = counts.shape == (len(self.totals), self.n)
            changes["counts"] = np.take(counts, self.offered.entry) if table else counts
        made = ChoiceData.from_cells(menus=self.offered, **given | changes)
        if self.outcomes is not None and not {"counts", "totals", "rows"} & set(changes):
            made.__dict__["outcomes"] = ChoiceData._of(relabel(self.outcomes, made.items))
        return made

    @property
    def membership(self) -> Mask:
        """(m, n): whether the item is in the menu."""
        return self._table("membership", lambda: True, False)

    @property
    def counts(self) -> Array:
        """(m, n): how often each item was chosen from each menu; NaN outside the menu, and where it was not recorded."""
        return self._table("counts", lambda: self.count, np.nan)

    @property
    def frequencies(self) -> Array:
        """(m, n): share of each item among the choices from each menu; NaN as in `counts`."""
        return self._table("frequencies", lambda: self.shares, np.nan)

    @cached_property
    def _kept(self) -> dict[str, NDArray[Any]]:
        """Tables that were asked for."""
        return {}

    def _table(self, name: str, values: Callable[[], Any], outside: Any) -> NDArray[Any]:
        """A table (menus, items) of these values, kept if it is small."""
        if name in self._kept:
            return self._kept[name]
        table = make_table(self.offered, values(), outside)
        table.flags.writeable = False
        if table.size <= MOST_KEPT:
            self._kept[name] = table
        return table

    def to_array(self) -> Array:
        """Return the frequencies of every menu, (2^n, n): NaN where not observed, 0 outside the menu; for at most 30 items."""
        return matrix.to_matrix(self.offered, self.shares)

    def __repr__(self) -> str:
        every = f" of {2**self.n - 1}" if self.n <= MAX_ITEMS else ""
        return f"ChoiceData({count_items(self.items)}, {len(self.totals)}{every} menus, {self.n_observations:g} observations)"

    def split(self, by: str | Sequence[str] = "group") -> dict[Any, ChoiceData]:
        """Return the data of each group, over the same items.

        Parameters
        ----------
        by : str or sequence of str, default "group"
            "group", "subject", or ("group", "subject") for each pair of them.

        Returns
        -------
        dict
            {name: ChoiceData}.
        """
        return {key: ChoiceData._of(part) for key, part in split_data(self, by).items()}

    def without(self, items: Iterable[Item]) -> ChoiceData:
        """Remove items from every menu, with the choices of them.

        This is for items that were not really chosen, such as made-up rows "nothing". For real choices it changes the
        question: those who took the item may rank the others differently from those who did not.

        Parameters
        ----------
        items : iterable
            Labels of the items to remove.

        Returns
        -------
        ChoiceData

        Examples
        --------
        >>> data = ChoiceData.from_counts({("tea", "milk", "none"): {"tea": 3, "milk": 1, "none": 9}})
        >>> data.without(["none"]).counts.tolist()
        [[3.0, 1.0]]
        """
        return ChoiceData._of(without_items(self, items))

    def resolve_ties(self, ties: str) -> ChoiceData:
        """Return pairs with ties as an outcome (`rf.TIE`) as pairs without.

        Parameters
        ----------
        ties : {"half", "drop", "outcome"}
            "half": each of the tied items gets half of the choice. "drop": ties are left out. "outcome": as they are. Data
            made by "half" are made again of their outcomes.

        Returns
        -------
        ChoiceData
            For "half" its attribute `outcomes` has the data that it was made of, and tests draw from these.

        Examples
        --------
        >>> data = ChoiceData.from_counts({("tea", "milk", "(tie)"): {"tea": 3, "milk": 1, "(tie)": 4}})
        >>> data.resolve_ties("half").counts.tolist(), data.resolve_ties("drop").counts.tolist()
        ([[5.0, 3.0]], [[3.0, 1.0]])
        """
        return ChoiceData._of(settle(self, ties))

    def summary(self) -> str:
        """Return the data in words: how they were read, items, menus, shares, what could go wrong, what to run next."""
        return DataSummary(self).summary()

    def _repr_html_(self) -> str:
        return DataSummary(self)._repr_html_()

    def to_frame(self, form: str = "long", backend: str = "pandas") -> Any:
        """Return a data frame, which `from_frame` reads back exactly.

        Parameters
        ----------
        form : {"long", "rows"}, default "long"
            "long": columns menu_mask, menu, item, count; beyond 62 items menu_id, item, item_number, count. "rows": one row
            per choice, with weight, subject and group.
        backend : {"pandas", "polars", "pyarrow", "dict"}, default "pandas"
            The kind of data frame.

        Returns
        -------
        data frame
        """
        return writers.to_frame(self, form, backend)

    def to_csv(self, path: str | Path, form: str = "long") -> None:
        """Write a table that `from_csv` reads back exactly.

        Parameters
        ----------
        path : str or Path
            The file to write.
        form : {"long", "rows"}, default "long"
            As for `to_frame`.
        """
        writers.to_csv(self, path, form)

    def to_parquet(self, path: str | Path, form: str = "long") -> None:
        """Write a Parquet file that `from_parquet` reads back exactly.

        Parameters
        ----------
        path : str or Path
            The file to write.
        form : {"long", "rows"}, default "long"
            As for `to_frame`.
        """
        writers.to_parquet(self, path, form)

    def to_matrix(self) -> Array:
        """Return counts as a (2^n - 1, n) matrix for n <= 30: row = menu mask - 1, NaN where not observed, 0 outside the menu."""
        return matrix.to_matrix(self.offered, self.count)[1:]

    def to_pairs(self) -> list[tuple[Item, tuple[Item, ...]]]:
        """Return (winner, losers) for every single choice; the counts must be whole numbers."""
        return writers.to_pairs(self, self.items)
