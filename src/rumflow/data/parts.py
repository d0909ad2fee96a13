"""Parts of choice data: those of each group or subject, and those without some items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Mask
from rumflow.core.menus import Menus, add_up
from rumflow.data.labels import Counted, Item, Rows, format_menu
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
            raise InputError(f"these data have no {name}: name its column with {name}= when reading them")
        parts.append((codes, rows.groups if name == "group" else rows.subjects))
    assert rows is not None
    joined = np.zeros(len(rows.menu), np.int64)
    for codes, labels in parts:
        joined = joined * len(labels) + codes
    order = np.argsort(joined, kind="stable")
    starts = np.flatnonzero(np.diff(joined[order]) > 0) + 1
    found: dict[Any, Counted] = {}
    for chosen in np.split(order, starts):
        key = tuple(labels[codes[chosen[0]]] for codes, labels in parts)
        found[key[0] if len(key) == 1 else key] = _count_rows(data.items, data.menus, rows.pick(chosen))
    return found


def _count_rows(items: tuple[Item, ...], menus: Menus, rows: Rows) -> Counted:
    """The counts of these rows, over the menus that they chose from."""
    used, menu = np.unique(rows.menu, return_inverse=True)
    menus, _ = menus.take(used)
    counts = add_up(menus.cells_of(menu, rows.choice), rows.weight, len(menus.item))
    totals = menus.sums(counts)
    seen = totals > 0
    if not seen.all():
        menus, cells = menus.take(np.flatnonzero(seen))
        counts, totals, menu = counts[cells], totals[seen], (np.cumsum(seen) - 1)[menu]
    return Counted(items, menus, counts, totals, rows._replace(menu=menu.astype(np.int32)))


def without(data: Counted, items: Iterable[Item]) -> Counted:
    """The data with these items taken off every menu, and the choices of them left out; menus that become equal are one."""
    names = (items,) if isinstance(items, str) else tuple(items)
    gone: Mask = np.zeros(len(data.items), np.bool_)
    for item in names:
        if item not in data.items:
            raise InputError(f"item {item!r} is unknown: the items are {format_menu(data.items)}")
        gone[data.items.index(item)] = True
    menu, lost = data.menus.menu, gone[data.menus.item]
    unknown = lost & np.isnan(data.counts)
    if unknown.any():
        name = format_menu(data.menus.labels_of(int(menu[np.argmax(unknown)]), data.items))
        raise InputError(f"without {format_menu(names)}: menu {name} does not say how often these were chosen")
    totals = data.totals - add_up(menu[lost], data.counts[lost], len(data.totals))
    left = (data.menus.count(~lost) > 0) & (totals > 0)
    if not left.any():
        raise InputError(f"without {format_menu(names)} there is no choice left")
    number, column = np.cumsum(left) - 1, np.cumsum(~gone) - 1
    use = ~lost & left[menu]
    rest, _ = Menus.from_cells(number[menu[use]], column[data.menus.item[use]], int(left.sum()), int((~gone).sum()))
    menus, own = rest.unique()  # menus that differ in these items only are one
    cells = np.arange(len(rest.item)) + np.repeat(menus.start[own] - rest.start[:-1], rest.sizes)
    counts = add_up(cells, data.counts[use], len(menus.item))
    rows = data.rows
    if rows is not None:
        rows = rows.pick(left[rows.menu] & ~gone[rows.choice])
        rows = rows._replace(menu=own[number[rows.menu]].astype(np.int32), choice=column[rows.choice].astype(np.int16))
    labels = tuple(item for item, out in zip(data.items, gone.tolist(), strict=True) if not out)
    sums = add_up(own, totals[left], len(menus))
    return Counted(labels, menus, counts, sums, rows, data.understood)
