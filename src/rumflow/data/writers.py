"""Choice data back into tables: the long form (counts by menu and item) and the rows, read back exactly by the readers.

Up to 62 items the bit mask of the menu stands beside it and keeps the order of the items. Beyond that the order is kept by the
number of the item in each row, and the long form names a menu by an id alone: its items are those in the rows of the id.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rumflow.check import check_option
from rumflow.core.menus import MOST_MASK_ITEMS
from rumflow.data.counted import Counted, Rows
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.output.files import write_csv, write_parquet
from rumflow.output.frames import make_frame

FORMS = ("long", "rows")

#: Columns for groups that were read from several columns.
GROUPS = ("domain", "block", "frame", "treatment", "period", "wave", "condition", "dataset", "study", "experiment")

Table = dict[str, list[Any]]


def long_table(data: Counted) -> Table:
    """menu_mask, menu, item, count (beyond 62 items: menu_id, item, item_number, count); a total where cells were not observed.

    An item that is in no menu has a row of its own with count 0, so that it is not lost.
    """
    n, m = len(data.items), len(data.totals)
    alone = np.setdiff1d(np.arange(n), data.offered.item)
    menu = np.concatenate([data.offered.menu, m + np.arange(len(alone))])
    item = np.concatenate([data.offered.item, alone])
    counts = np.concatenate([data.count, np.zeros(len(alone))])
    totals = np.concatenate([data.totals, np.zeros(len(alone))])
    table: Table
    if n <= MOST_MASK_ITEMS:
        menus = [*data.menus, *((data.items[x],) for x in alone.tolist())]
        masks = np.concatenate([data.masks, np.int64(1) << alone])
        table = {"menu_mask": masks[menu].tolist(), "menu": [menus[k] for k in menu.tolist()]}
    else:
        table = {"menu_id": (menu + 1).tolist()}
    table["item"] = [data.items[x] for x in item.tolist()]
    if n > MOST_MASK_ITEMS:
        table["item_number"] = item.tolist()
    table["count"] = [_whole(c) for c in counts.tolist()]
    if np.isnan(data.count).any():
        table["total"] = [_whole(t) for t in totals[menu].tolist()]
    return table


def rows_table(data: Counted) -> Table:
    """One row per choice: menu_mask, menu, choice (beyond 62 items: menu, choice, item_number), and weight, subject, group where
    the data have them.

    Beyond 62 items one that was never chosen has a row of its own with weight 0, so that its number is not lost.
    """
    rows = data.rows
    if rows is None:
        raise InputError("form='rows': these data hold only counts; write them with form='long'")
    menus, masked = data.menus, len(data.items) <= MOST_MASK_ITEMS
    table: Table = {"menu_mask": data.masks[rows.menu].tolist()} if masked else {}
    table["menu"] = [menus[k] for k in rows.menu.tolist()]
    table["choice"] = [data.items[x] for x in rows.choice.tolist()]
    never: list[int] = []
    if not masked:
        table["item_number"] = rows.choice.tolist()
        never = np.setdiff1d(np.arange(len(data.items)), rows.choice).tolist()
    if never or (rows.weight != 1).any():
        table["weight"] = [_whole(w) for w in rows.weight.tolist()]
    table |= _subjects_and_groups(rows)
    for x in never:
        alone = {"menu": (data.items[x],), "choice": data.items[x], "item_number": x, "weight": 0}
        for name, column in table.items():
            column.append(alone[name] if name in alone else column[0])
    return table


def _subjects_and_groups(rows: Rows) -> Table:
    table: Table = {}
    if rows.subject is not None:
        table["subject"] = [rows.subjects[s] for s in rows.subject.tolist()]
    if rows.group is not None:
        labels = [rows.groups[g] for g in rows.group.tolist()]
        if rows.groups and all(isinstance(g, tuple) for g in rows.groups):
            if len(rows.groups[0]) > len(GROUPS):
                raise InputError(
                    f"groups from {len(rows.groups[0])} columns cannot be written; at most {len(GROUPS)} can"
                )
            table |= {name: [g[k] for g in labels] for k, name in enumerate(GROUPS[: len(rows.groups[0])])}
        else:
            table["group"] = labels
    return table


def make_table(data: Counted, form: str) -> Table:
    """One of the two forms, menus as tuples of labels."""
    check_option(form, "form", FORMS)
    return long_table(data) if form == "long" else rows_table(data)


def to_frame(data: Counted, form: str, backend: str) -> Any:
    """A data frame; menus are lists of labels."""
    table = make_table(data, form)
    if "menu" in table:
        table["menu"] = [list(menu) for menu in table["menu"]]
    return make_frame(table, backend)


def to_csv(data: Counted, path: str | Path, form: str) -> None:
    """Text, menus with commas where no label needs more than that, else as JSON lists."""
    table = make_table(data, form)
    texts = [_text(label) for label in data.items]
    if len(set(texts)) < len(texts):
        twice = next(label for k, label in enumerate(data.items) if str(label) in texts[:k])
        raise InputError(
            f"item {twice!r} cannot be written to a text file beside another one that reads {str(twice)!r}"
        )
    plain = all(not set(t) & set(",;|\"'[](){}") and t == t.strip() for t in texts)
    if "menu" in table:
        cache: dict[tuple[Any, ...], str] = {}
        for menu in table["menu"]:
            if menu not in cache:
                parts = [str(x) for x in menu]
                cache[menu] = ",".join(parts) if plain else json.dumps(parts, ensure_ascii=False)
        table["menu"] = [cache[menu] for menu in table["menu"]]
    named = [v for name, column in table.items() if name not in ("menu", "item", "choice") for v in column]
    # A blank at the beginning of a field survives only between quotation marks.
    blank = any(isinstance(v, str) and v[:1].isspace() for v in [*texts, *named])
    write_csv(table, path, quoting=csv.QUOTE_NONNUMERIC if blank else csv.QUOTE_MINIMAL)


def to_parquet(data: Counted, path: str | Path, form: str) -> None:
    """Parquet, menus as lists; labels keep their type."""
    table = make_table(data, form)
    kinds = {type(label) for label in data.items}
    if len(kinds) > 1 or not kinds <= {str, int}:
        raise InputError(
            f"labels of {format_menu(data.items)} are not all text or all whole numbers: Parquet needs one type; rename the "
            "items"
        )
    if "menu" in table:
        table["menu"] = [list(menu) for menu in table["menu"]]
    write_parquet(table, path)


def to_pairs(data: Counted, names: Sequence[Item]) -> list[tuple[Item, tuple[Item, ...]]]:
    """(winner, losers), a pair for every single choice, by these names of the items."""
    menu, item = data.offered.menu, data.offered.item
    if (bad := ~np.isnan(data.count) & (data.count != np.round(data.count))).any():
        cell = int(np.argmax(bad))
        name = format_menu(data.offered.labels_of(int(menu[cell]), data.items))
        raise InputError(
            f"menu {name}, item {data.items[item[cell]]!r}: the count "
            f"{data.count[cell]:g} is not a whole number, so it cannot be written as single choices"
        )
    members = data.offered.labels(range(len(data.items)))
    pairs: list[tuple[Item, tuple[Item, ...]]] = []
    chosen = np.flatnonzero(data.count > 0)
    for k, x, times in zip(menu[chosen].tolist(), item[chosen].tolist(), data.count[chosen].tolist(), strict=True):
        pairs += [(names[x], tuple(names[y] for y in members[k] if y != x))] * int(times)
    return pairs


def _whole(number: float) -> int | float | None:
    return None if np.isnan(number) else int(number) if number.is_integer() and abs(number) < 2**53 else number


def _text(label: Item) -> str:
    if not isinstance(label, str | int) or isinstance(label, bool) or str(label).strip() == "":
        raise InputError(f"item {label!r} cannot be written to a text file: labels must be texts or whole numbers")
    text = str(label)
    if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
        raise InputError(f"item {label!a} cannot be written to a text file: it holds a character that no text has")
    return text
