"""Ties of pairs, as an outcome of their own, as half a win each, or left out.

A tie is held like an item: a pair in which nobody may win is the menu {a, b, TIE}, whose third cell counts the ties. Readers,
writers, samples and draws need to know nothing about it; models say what a tie means (`rumflow.TriangleInequalities`,
`rumflow.WeakOrders`). Where one pair has this outcome all menus are such pairs.

*Half a win each* is made of that: every tie counts 1/2 for both. The data that it is made of are kept (`ChoiceData.outcomes`),
since n choices with t ties vary less than n choices without: replicates draw the three outcomes and count them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from rumflow.check import check_item, check_option
from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.menus import Menus, add_up
from rumflow.data.counted import Counted, Rows
from rumflow.data.labels import TIE, Item, format_menu, tie_number
from rumflow.data.parts import split, without
from rumflow.errors import InputError

#: What can be made of ties.
TIES = ("half", "drop", "outcome")


def check_ties(items: tuple[Item, ...], menus: Menus) -> None:
    """Raise where some menus have the outcome of a tie and one of them, or another one, is no pair with it."""
    tie = tie_number(items)
    if tie < 0 or not (has := menus.count(menus.item == tie) > 0).any():
        return
    wrong = ~has | (menus.sizes != 3)
    if wrong.any():
        j = int(np.argmax(wrong))
        name = format_menu(menus.labels_of(j, items))
        found = f"has {int(menus.sizes[j]) - 1} items beside it" if has[j] else "does not have it"
        raise InputError(
            f"menu {name}: {TIE!r} is the outcome of a pair in which nobody wins, and all menus must be pairs with it, such as "
            f"{{a, b, {TIE}}}; this one {found}"
        )


def settle(data: Counted, ties: str) -> Counted:
    """Data whose ties are an outcome as data with half wins, or without ties; as they are where no menu has the outcome.

    Data with half wins are made again of the outcomes that they have.
    Where there are menus of one item as well the outcomes are not kept.
    """
    check_option(ties, "ties", TIES)
    data = _plain(data if data.outcomes is None else data.outcomes)
    tie = tie_number(data.items)
    if tie < 0 or ties == "outcome":
        return data
    if ties == "drop":
        return without(data, [TIE])
    tied = data.offered.item == tie
    times = _tied_times(data, tie)
    counts = np.where(tied, 0.0, data.count + times[data.offered.menu] / 2)
    rows = None if data.rows is None else _halve(data.rows, data.offered, tie)
    made = without(replace(data, count=counts, rows=rows), [TIE])
    return replace(made, outcomes=data if (data.offered.sizes == 3).all() else None)


def _plain(data: Counted) -> Counted:
    """The same data, of which parts can be replaced."""
    return Counted(*(getattr(data, field.name) for field in fields(Counted)))


def _tied_times(data: Counted, tie: int) -> Array:
    """(m,): how often each pair was tied."""
    own = data.offered.item == tie
    if (unknown := own & np.isnan(data.count)).any():
        j = int(data.offered.menu[np.argmax(unknown)])
        name = format_menu(data.offered.labels_of(j, data.items))
        raise InputError(f"menu {name}: the number of ties was not recorded, so they cannot count half for each")
    return add_up(data.offered.menu[own], data.count[own], len(data.totals))


def tied_shares(data: Counted) -> Array:
    """(m,): the share of ties in each menu of data with half wins."""
    assert data.outcomes is not None
    return _tied_times(data.outcomes, tie_number(data.outcomes.items)) / data.outcomes.totals


def second_halves(data: Counted) -> Mask:
    """(r,): which rows are the second half of a tie, the first one being right before."""
    assert data.rows is not None
    second = np.zeros(len(data.rows.menu), np.bool_)
    if data.outcomes is not None and data.outcomes.rows is not None:
        tied = data.outcomes.rows.choice == tie_number(data.outcomes.items)
        second[(np.cumsum(1 + tied) - 1)[tied]] = True
    return second


def _halve(rows: Rows, menus: Menus, tie: int) -> Rows:
    """Every tie as two rows of half its weight, one after the other."""
    tied = rows.choice == tie
    row = np.repeat(np.arange(len(tied)), 1 + tied)
    made, again = rows.pick(row), tied[row]
    choice, weight = made.choice.copy(), np.where(again, made.weight / 2, made.weight)
    choice[again] = pair_items(menus, tie)[rows.menu[tied]].reshape(-1)
    return made._replace(choice=choice, weight=weight)


def pair_items(menus: Menus, tie: int) -> Ints:
    """(m, 2): the two items of each pair, the smaller number first; without the outcome `tie`."""
    return np.asarray(menus.item[menus.item != tie].reshape(-1, 2), np.int64)


def split_data(data: Counted, by: str | Sequence[str]) -> dict[Any, Counted]:
    """The data of each group or subject; half wins are made again of the outcomes of each."""
    if data.outcomes is None:
        return split(data, by)
    return {key: settle(part, "half") for key, part in split(data.outcomes, by).items()}


def without_items(data: Counted, items: Iterable[Item]) -> Counted:
    """The data without some items; half wins are made again of the outcomes that are left."""
    if data.outcomes is None:
        return without(data, items)
    names = (items,) if isinstance(items, str) else tuple(items)
    for name in names:
        check_item(name, data.items)
    return settle(without(data.outcomes, names), "half")


def relabel(data: Counted, items: tuple[Item, ...]) -> Counted:
    """Data with ties as an outcome, with other labels of the items beside it."""
    tie = tie_number(data.items)
    return replace(_plain(data), items=(*items[:tie], TIE, *items[tie:]))
