"""The ways to make `ChoiceData`: from counts, matrices, files, frames, pairs and rankings.

Each of them makes `Counted` by the module that knows that form, and hands it to `ChoiceData`, whose base this is.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rumflow.data import mappings, matrix, rankings
from rumflow.data.counted import Counted
from rumflow.data.labels import Item
from rumflow.data.parts import in_order
from rumflow.data.preflib import is_preflib, read_preflib
from rumflow.data.readers import FrameSource, ParquetSource, make_options, open_source, read
from rumflow.errors import InputError


class Constructors(ABC):
    """Class methods that make choice data."""

    @classmethod
    @abstractmethod
    def _of(cls, data: Counted) -> Self:
        """Data that hold these, whose menus are in order."""

    @classmethod
    def from_counts(cls, counts: Mapping[Any, Mapping[Any, float]], items: Sequence[Item] | None = None) -> Self:
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
        >>> import rumflow as rf
        >>> rf.ChoiceData.from_counts({("tea", "milk"): {"tea": 31, "milk": 9}})
        ChoiceData(2 items, 1 of 3 menus, 40 observations)
        """
        return cls._of(in_order(mappings.from_mapping(counts, items)))

    @classmethod
    def from_matrix(cls, a: ArrayLike, items: Sequence[Item] | None = None) -> Self:
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
        >>> import rumflow as rf
        >>> rf.ChoiceData.from_matrix([[0, 0], [0, 0], [0, 0], [3, 1]], items=["tea", "milk"]).menus
        [('tea', 'milk')]
        """
        return cls._of(matrix.from_matrix(a, items))

    @classmethod
    def from_csv(
        cls, path: str | Path, *, delimiter: str | None = None, encoding: str = "utf-8", **options: Any
    ) -> Self:
        """Read choice data from a file: delimited text (also gzip), Parquet or Excel (.xlsx), recognised by content.

        The file is read in pieces, so it may be larger than memory; a pipe is copied to a temporary file first. Files of
        orders from preflib.org are recognised by their ending, or as .txt by their header, and read by `from_preflib`.
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
    def from_parquet(cls, path: str | Path, **options: Any) -> Self:
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
    def from_frame(cls, frame: Any, **options: Any) -> Self:
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
        count : str, list or False, optional
            Column: how often the item was chosen, or one column for each item, empty where it was not on offer.
        weight : str or False, optional
            Column: how much a choice counts.
        total : str or False, optional
            Column: the number of choices from the menu, such as visitors, where only some counts are known.
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
        ties : {"half", "drop", "outcome"}, optional
            Of tables with a column for each place of a menu, such as pairs and who won: what to do with rows in which nobody did.
            "half": each of the tied items gets its part of the choice. "drop": such rows are left out. "outcome": a pair has the
            outcomes a, b and tie; the tie is held like an item with the label `rf.TIE`. None: they are an error.
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
        >>> import rumflow as rf
        >>> rf.ChoiceData.from_frame({"menu": ["tea|milk", "tea|milk"], "choice": ["tea", "milk"]}).counts.tolist()
        [[1.0, 1.0]]
        """
        chosen = make_options(options)
        return cls._of(read(FrameSource(frame), chosen))

    @classmethod
    def from_pairs(cls, choices: Iterable[tuple[Item, Iterable[Item]]], **options: Any) -> Self:
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
        >>> import rumflow as rf
        >>> rf.ChoiceData.from_pairs([("tea", ["milk"]), ("milk", ["tea"]), ("tea", ["milk"])]).counts.tolist()
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
    ) -> Self:
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
        ties : {None, "half", "drop", "outcome"}, optional
            What to do with a menu whose best items tie in some ranking. None: it is left out ("pairs" and "all"), or is an
            error (in a list). "half": they get equal parts of the choice. "drop": the menu is derived from the other rankings.
            "outcome": the tie of a pair is an outcome of its own, with the label `rf.TIE`.
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
        >>> import rumflow as rf
        >>> orders = [["tea", "milk", "juice"], ["juice", "tea", "milk"]]
        >>> data = rf.ChoiceData.from_rankings(orders, menus=[("tea", "milk", "juice")])
        >>> data.counts.tolist(), data.items
        ([[1.0, 0.0, 1.0]], ('juice', 'milk', 'tea'))
        """
        read_in = rankings.read_orders(orders, items, form, unranked)
        return cls._of(_derive(read_in, menus, ties, counts, weights))

    @classmethod
    def from_preflib(cls, path: str | Path, menus: Any = None, *, encoding: str = "utf-8", **options: Any) -> Self:
        """Derive choices from the orders of a file from preflib.org: .soc, .soi, .toc or .toi.

        Parameters
        ----------
        path : str or Path
            The file. A number of voters in its header that differs from the orders is warned about.
        menus : {"pairs", "all"} or list of menus, default "pairs"
            As for `from_rankings`.
        encoding : str, default "utf-8"
            Of the text.
        **options
            `ties` and `unranked`, as for `from_rankings`. Complete orders have no unranked items; files that end in
            .soi or .toi may: say whether these are "below" those that are ranked or were "not offered".

        Returns
        -------
        ChoiceData
        """
        chosen: dict[str, Any] = {"menus": "pairs", "ties": None, "unranked": "below"}
        for name, value in {"menus": menus, **options}.items():
            if name in chosen and value is not None:
                chosen[name] = value
            elif value not in (None, False):
                raise InputError(f"{name}= is not an option for files of orders; accepted are {', '.join(chosen)}")
        file = read_preflib(path, encoding)
        orders = rankings.read_orders(file.orders, file.items, unranked=chosen["unranked"])
        data = _derive(orders, chosen["menus"], chosen["ties"], file.counts)
        for text in file.warnings:
            warnings.warn(text, UserWarning, stacklevel=2)
        told = (*data.understood.warnings, *file.warnings)
        return cls._of(replace(data, understood=replace(data.understood, source=file.name, warnings=told)))


def _derive(
    orders: rankings.Orders, menus: Any, ties: str | None, counts: ArrayLike | None, weights: ArrayLike | None = None
) -> Counted:
    """The choices of these rankings, so many people each or with these weights."""
    size = len(orders.place)
    times = rankings.read_numbers(counts, "counts", size, whole=True).astype(np.int64)
    each = rankings.read_numbers(weights, "weights", size, whole=False)
    return in_order(rankings.derive_choices(orders, menus, ties, times, each))
