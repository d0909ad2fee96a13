"""Choice data put in order, and parts of them: those of each group or subject, and those without some items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.check import check_item
from rumflow.core.arrays import Ints, Mask
from rumflow.core.menus import Menus, add_up
from rumflow.data.counted import Counted, Rows
from rumflow.data.labels import Item, format_menu, tie_number
from rumflow.errors import InputError


def split(data: Counted, by: str | Sequence[str]) -> dict[Any, Counted]:
    """The data of each group or subject, or of each pair of them, over the same items."""
    names = (by,) if isinstance(by, str) else tuple(by)
    if not names or not set(names) <= {"group", "subject"}:
        raise InputError(f"by={by!r}: accepted are 'group', 'subject' and ('group', 'subject')")
    rows = data.rows
    parts: list[tuple[NDArray[np.int32], tuple[Any, ...]]] = []
    for name in names:
        codes = None if rows is None else rows.group if name == "group" else rows.subject
        if rows is None or codes is None:
            how = {"group": "with group= when reading them", "subject": "with subject= when reading them"}[name]
            raise InputError(f"these data have no {name}: name its column {how}")
        parts.append((codes, rows.groups if name == "group" else rows.subjects))
    assert rows is not None
    joined = np.zeros(len(rows.menu), np.int64)
    for codes, labels in parts:
        joined = joined * len(labels) + codes
    order = np.argsort(joined, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(joined[order]) > 0))
    keys = [tuple(labels[codes[k]] for codes, labels in parts) for k in order[first].tolist()]
    found = _count_rows(data, rows.pick(order), np.append(first, len(order)))
    return {key[0] if len(key) == 1 else key: part for key, part in zip(keys, found, strict=True)}


def _count_rows(data: Counted, rows: Rows, first: Ints) -> Iterator[Counted]:
    """The counts of the rows from each of `first` to the next, over the menus that were chosen from in these rows."""
    m, group = len(data.offered), np.repeat(np.arange(len(first) - 1), np.diff(first))
    used, menu = np.unique(group * m + rows.menu, return_inverse=True)
    menus, _ = data.offered.take(used % m)  # those of the first group, of the second one, ...
    counts = add_up(menus.cells_of(menu, rows.choice), rows.weight, len(menus.item))
    totals = menus.sums(counts)
    seen = totals > 0
    if not seen.all():
        menus, cells = menus.take(np.flatnonzero(seen))
        counts, totals, used, menu = counts[cells], totals[seen], used[seen], (np.cumsum(seen) - 1)[menu]
    begin = np.searchsorted(used, m * np.arange(len(first)))
    for k, (a, b) in enumerate(pairwise(begin.tolist())):
        choices = rows.pick(slice(first[k], first[k + 1]))
        start = menus.start[a : b + 1]
        those = slice(start[0], start[-1])
        own = Menus(start - start[0], menus.item[those].copy(), menus.n_items)
        choices = choices._replace(menu=(menu[first[k] : first[k + 1]] - a).astype(np.int32))
        yield Counted(data.items, own, counts[those].copy(), totals[a:b].copy(), choices)


def in_order(data: Counted) -> Counted:
    """The same data with menus in ascending order of their bit masks."""
    order = data.offered.order()
    if order is None:
        return data
    menus, cells = data.offered.take(order)
    place = np.argsort(order)
    rows = None if data.rows is None else data.rows._replace(menu=place[data.rows.menu].astype(np.int32))
    return replace(data, offered=menus, count=data.count[cells], totals=data.totals[order], rows=rows)


def without(data: Counted, items: Iterable[Item]) -> Counted:
    """The data with these items taken off every menu, and the choices of them left out; menus that become equal are one."""
    names = (items,) if isinstance(items, str) else tuple(items)
    gone: Mask = np.zeros(len(data.items), np.bool_)
    gone[[check_item(item, data.items) for item in names]] = True
    menu, lost = data.offered.menu, gone[data.offered.item]
    unknown = lost & np.isnan(data.count)
    if unknown.any():
        name = format_menu(data.offered.labels_of(int(menu[np.argmax(unknown)]), data.items))
        raise InputError(f"without {format_menu(names)}: menu {name} does not say how often these were chosen")
    totals = data.totals - add_up(menu[lost], data.count[lost], len(data.totals))
    left = (data.offered.count(~lost) > 0) & (totals > 0)
    if (tie := tie_number(data.items)) >= 0 and not gone[tie]:
        left &= data.offered.count(~lost) == 3  # what is left of a pair is none
    if not left.any():
        raise InputError(f"without {format_menu(names)} there is no choice left")
    number, column = np.cumsum(left) - 1, np.cumsum(~gone) - 1
    use = ~lost & left[menu]
    rest, _ = Menus.from_cells(number[menu[use]], column[data.offered.item[use]], int(left.sum()), int((~gone).sum()))
    menus, own = rest.unique()  # menus that differ in these items only are one
    cells = np.arange(len(rest.item)) + np.repeat(menus.start[own] - rest.start[:-1], rest.sizes)
    counts = add_up(cells, data.count[use], len(menus.item))
    rows = data.rows
    if rows is not None:
        rows = rows.pick(left[rows.menu] & ~gone[rows.choice])
        rows = rows._replace(menu=own[number[rows.menu]].astype(np.int32), choice=column[rows.choice].astype(np.int32))
    labels = tuple(item for item, out in zip(data.items, gone.tolist(), strict=True) if not out)
    sums = add_up(own, totals[left], len(menus))
    return Counted(labels, menus, counts, sums, rows, data.understood)
