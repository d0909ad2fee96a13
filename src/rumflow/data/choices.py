"""Choice data with labels: which menus were offered, what was chosen from them how often."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Array, Mask
from rumflow.core.lattice import MAX_ITEMS
from rumflow.core.menus import Menus
from rumflow.data import mappings, matrix, parts, rankings, writers
from rumflow.data.counted import Counted, Rows, check_totals
from rumflow.data.description import Description
from rumflow.data.labels import Item
from rumflow.data.menus import make_table
from rumflow.data.parts import in_order
from rumflow.data.preflib import is_preflib, read_preflib
from rumflow.data.readers import FrameSource, ParquetSource, make_options, open_source, read
from rumflow.data.summary import DataSummary
from rumflow.data.understood import UNREAD, Understood
from rumflow.errors import InputError

#: Tables (menus, items) of at most this many entries are kept once they were asked for; larger ones are made each time.
MOST_KEPT = 1 << 22


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ChoiceData(Counted):
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

    Notes
    -----
    The object is as large as what was observed. It holds the `cells`: for every menu its items and how often each was
    chosen, NaN where that was not recorded (a survey that recorded only some items' shares). `membership`, `counts` and
    `frequencies` show the same as read-only tables (menus, items), made on request and kept if they are small. Menus are
    in ascending order of their bit masks. There may be thousands of items.

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
        if not isinstance(data.understood, Understood):
            raise InputError(f"understood={data.understood!r}: an Understood is needed, as in data.understood")
        count = np.asarray(data.count, np.float64).view()
        count.flags.writeable = False
        held = {field.name: getattr(data, field.name) for field in fields(Counted)}
        self.__dict__.update(held | {"count": count})

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
        return ChoiceData.from_cells(menus=self.offered, **given | changes)

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
        return f"ChoiceData({self.n} items, {len(self.totals)}{every} menus, {self.n_observations:g} observations)"

    @classmethod
    def from_counts(cls, counts: Mapping[Any, Mapping[Any, float]], items: Sequence[Item] | None = None) -> ChoiceData:
        """Make choice data from counts by menu.

        Parameters
        ----------
        counts : mapping
            `{("tea", "milk"): {"tea": 31, "milk": 9}, ...}`; an item of the menu without a count was never chosen.
        items : sequence, optional
            The items in the order to use; None: in order of first appearance.

        Returns
        -------
        ChoiceData

        Raises
        ------
        InputError
            If a menu or a count is not accepted; the message names it.

        Examples
        --------
        >>> ChoiceData.from_counts({("tea", "milk"): {"tea": 31, "milk": 9}})
        ChoiceData(2 items, 1 of 3 menus, 40 observations)
        """
        return cls._of(in_order(mappings.from_mapping(counts, items)))

    @classmethod
    def from_matrix(cls, a: ArrayLike, items: Sequence[Item] | None = None) -> ChoiceData:
        """Make choice data from a matrix of counts or of probabilities over all menus.

        Parameters
        ----------
        a : array_like of shape (2^n, n) or (2^n - 1, n)
            Row = menu bit mask, column = item. With 2^n - 1 rows the first row is mask 1. A row of NaN, of masked cells, or
            of zeros was not observed. Where some cells of a menu are NaN or masked the others are read as shares of that
            menu, so they must add up to at most 1.
        items : sequence, optional
            Labels of the columns; None: 0, 1, ...

        Returns
        -------
        ChoiceData

        Examples
        --------
        >>> ChoiceData.from_matrix([[0, 0], [0, 0], [0, 0], [3, 1]], items=["tea", "milk"]).menus
        [('tea', 'milk')]
        """
        return cls._of(matrix.from_matrix(a, items))

    @classmethod
    def from_csv(
        cls, path: str | Path, *, delimiter: str | None = None, encoding: str = "utf-8", **options: Any
    ) -> ChoiceData:
        """Read choice data from a file: delimited text (also gzip) or Parquet, recognised by content.

        The file is read in pieces, so it may be larger than memory; a pipe is copied to a temporary file first. Files of
        orders from preflib.org are recognised by their ending and read by `from_preflib`.
        `understood` says how it was read.

        Parameters
        ----------
        path : str or Path
            "-" is standard input.
        delimiter : str, optional
            Between columns; None finds it.
        encoding : str, default "utf-8"
            Of delimited text.
        **options
            As for `from_frame`.

        Returns
        -------
        ChoiceData

        Raises
        ------
        InputError
            If the file cannot be read; the message names the file, the line and what is accepted.
        """
        if is_preflib(path):
            return cls.from_preflib(path, encoding=encoding, **options)
        chosen = make_options(options)
        return cls._of(read(open_source(path, delimiter, encoding), chosen))

    @classmethod
    def from_parquet(cls, path: str | Path, **options: Any) -> ChoiceData:
        """Read choice data from a Parquet file, in pieces and only the columns needed.

        Parameters
        ----------
        path : str or Path
            The file.
        **options
            As for `from_frame`.

        Returns
        -------
        ChoiceData
        """
        chosen = make_options(options)
        return cls._of(read(ParquetSource(path), chosen))

    @classmethod
    def from_frame(cls, frame: Any, **options: Any) -> ChoiceData:
        """Make choice data from a pandas, polars or Arrow frame, or a dict of columns.

        What the columns mean is recognised by name and content. Every role can be named: None finds its column, False says that
        there is none, and naming the roles of a layout (menu and choice; available and choice; observation, alternative and
        choice; menu, alternative and count) turns all guessing off. `choice` and `available` may be {column: label}.

        Parameters
        ----------
        frame : data frame or dict
            The table.
        menu : str, list or False, optional
            Column: the items on offer, or one column for each place in the menu.
        choice : str, list, dict or False, optional
            Column: the item chosen (a row for each alternative: 1 where it was), or 0/1 columns, one for each item.
        alternative : str or False, optional
            Column: the item of the row, in tables of counts or with a row for each alternative.
        observation : str, list or False, optional
            Column: which rows are one choice, in tables with a row for each alternative.
        available : str, list, dict or False, optional
            Column: 0/1 columns, one for each item, in the order of the codes; one where each alternative has a row.
        losers : str or False, optional
            Column: the items that the choice was preferred to, where there is no menu.
        count : str or False, optional
            Column: how often the item was chosen.
        weight : str or False, optional
            Column: how much a choice counts.
        total : str or False, optional
            Column: the number of choices from the menu, where only some counts are known.
        subject : str or False, optional
            Column: who chose.
        group : str, list or False, optional
            Column: which part of the data the row belongs to.
        menu_id : str or False, optional
            Column: an id of the menu, which holds the items in the rows of that id.
        status_quo : str or False, optional
            Column: an item that is in the menu of its row, listed or not; a missing choice means it.
        items : sequence, optional
            The labels in order; for bit masks the label of bit 0, bit 1, ...
        menus : list or mapping, optional
            The menus that ids in the menu column refer to: a list (ids count from 1) or a mapping.
        outside_option : optional
            An item that is in every menu, listed or not; a missing choice means it.
        missing : optional
            Codes for a choice that was not recorded, one or a list: such rows are left out.
        separator : str, optional
            Between the items of a menu written as text.
        base : {0, 1, "label"}, optional
            0 or 1: choices are numbers of columns, of bits or of positions in the menu, counted from there. "label": they
            are labels.
        ties : {"half", "drop"}, optional
            Of tables with a column for each place of a menu, such as pairs and who won: what to do with rows in which nobody did.
            "half": each of the tied items gets its part of the choice. "drop": such rows are left out. None: they are an error.
        what : {"best", "worst"}, optional
            Of tables with best and worst choices: which of them to read. Worst choices are those of the reversed rankings.
        clean : bool, default False
            Treat labels that look the same, or differ by blanks or case, as one.
        rows : bool, optional
            Keep every row; None: up to 5 million.

        Returns
        -------
        ChoiceData
            Its attribute `understood` says how the table was read.

        Raises
        ------
        InputError
            If the table cannot be read; the message names the column, the row and what is accepted.

        Examples
        --------
        >>> ChoiceData.from_frame({"menu": ["tea|milk", "tea|milk"], "choice": ["tea", "milk"]}).counts.tolist()
        [[1.0, 1.0]]
        """
        chosen = make_options(options)
        return cls._of(read(FrameSource(frame), chosen))

    @classmethod
    def from_pairs(cls, choices: Iterable[tuple[Item, Iterable[Item]]], **options: Any) -> ChoiceData:
        """Make choice data from (winner, losers) pairs, as in choix.

        Parameters
        ----------
        choices : iterable of (winner, losers)
            Losers may be one item or several.
        **options
            As for `from_frame`, such as `items`, `missing`, `clean` and `rows`.

        Returns
        -------
        ChoiceData

        Examples
        --------
        >>> ChoiceData.from_pairs([("tea", ["milk"]), ("milk", ["tea"]), ("tea", ["milk"])]).counts.tolist()
        [[1.0, 2.0]]
        """
        return cls.from_frame(mappings.table_of_pairs(choices), **options)

    @classmethod
    def from_rankings(
        cls,
        orders: Any,
        menus: str | Iterable[Iterable[Item]] = "pairs",
        *,
        items: Sequence[Item] | None = None,
        counts: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        ties: str | None = None,
        unranked: str = "below",
        form: str = "orders",
    ) -> ChoiceData:
        """Derive choices from rankings: from each of the menus every ranking takes its best item.

        Each ranking is one subject, so that tests can resample its choices together.

        Parameters
        ----------
        orders : sequence, array or data frame
            A row for each ranking with its labels, the best first; rows may be of different lengths, or filled up with None
            or NaN. Items that tie are given as a list or a set in their place: `["tea", ["milk", "juice"], "water"]`.
        menus : {"pairs", "all"} or list of menus, default "pairs"
            The menus that every ranking is asked about. Choices by stages (the first place from all items, the second from
            what is left, ...) are refused: see Notes.
        items : sequence, optional
            All items in the order to use; None: those that are ranked by somebody.
        counts : array_like of whole numbers, optional
            How many people gave each ranking; each of them is a subject.
        weights : array_like, optional
            The weight of each ranking, of which there is one subject.
        ties : {None, "half", "drop"}, optional
            What to do with a menu whose best items tie in some ranking. None: it is left out ("pairs" and "all"), or is an
            error (in a list). "half": they get equal parts of the choice. "drop": the menu is derived from the other rankings.
        unranked : {"below", "not offered"}, default "below"
            Items that a ranking leaves out are below all that it has (the best k of all items were asked for), or were not shown
            to that person, who is then not asked about menus that contain them.
        form : {"orders", "ranks"}, default "orders"
            "ranks": `orders` is a table with a column for each item, and its rank in each row (1: the best; equal ranks are ties;
            0 or NaN: not ranked).

        Returns
        -------
        ChoiceData

        Notes
        -----
        Populations of rankings are random utility by definition, and the choices derived here are theirs as long as the menus a
        ranking is asked about do not depend on it: all rankings and all menus; with ties="half" as well, since breaking ties by
        lot makes rankings of them; with unranked="not offered" where the items shown were drawn independently of tastes. With
        ties="drop" they do depend on it, and so they do where a ranking is exploded into choices by stages, as the rank-ordered
        logit does: only those who like tea best choose from the menu without tea.

        Examples
        --------
        >>> orders = [["tea", "milk", "juice"], ["juice", "tea", "milk"]]
        >>> data = ChoiceData.from_rankings(orders, menus=[("tea", "milk", "juice")])
        >>> data.counts.tolist(), data.items
        ([[1.0, 0.0, 1.0]], ('juice', 'milk', 'tea'))
        """
        read_in = rankings.read_orders(orders, items, form, unranked)
        size = len(read_in.place)
        times = rankings.read_numbers(counts, "counts", size, whole=True).astype(np.int64)
        each = rankings.read_numbers(weights, "weights", size, whole=False)
        return cls._of(in_order(rankings.derive_choices(read_in, menus, ties, times, each)))

    @classmethod
    def from_preflib(cls, path: str | Path, *, encoding: str = "utf-8", **options: Any) -> ChoiceData:
        """Derive choices from the orders of a file from preflib.org: .soc, .soi, .toc or .toi.

        Parameters
        ----------
        path : str or Path
            The file.
        encoding : str, default "utf-8"
            Of the text.
        **options
            `menus`, `ties` and `unranked`, as for `from_rankings`. Complete orders have no unranked items; files that end in
            .soi or .toi may: say whether these are "below" those that are ranked or were "not offered".

        Returns
        -------
        ChoiceData
        """
        accepted = ("menus", "ties", "unranked")
        for name, value in options.items():
            if name not in accepted and value not in (None, False):
                raise InputError(f"{name}= is not an option for files of orders; accepted are {', '.join(accepted)}")
        file = read_preflib(path, encoding)
        chosen = {name: options[name] for name in accepted if options.get(name) is not None}
        data = cls.from_rankings(file.orders, items=file.items, counts=file.counts, **chosen)
        return data.replace(understood=replace(data.understood, source=file.name))

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
        return {key: ChoiceData._of(part) for key, part in parts.split(self, by).items()}

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
        return ChoiceData._of(parts.without(self, items))

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
