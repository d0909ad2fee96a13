"""Choice data back into tables: the long form (counts by menu and item) and the rows, read back exactly by the readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rumflow.core.lattice import items_of
from rumflow.errors import InputError
from rumflow.output.files import write_csv, write_parquet
from rumflow.output.frames import make_frame

if TYPE_CHECKING:
    from rumflow.data.choices import ChoiceData
    from rumflow.data.labels import Item

FORMS = ("long", "rows")


def long_table(data: ChoiceData) -> dict[str, list[Any]]:
    """menu_mask, menu, item, count; a total where some cells were not observed.

    An item that is in no menu stands alone with count 0, so that it is not lost.
    """
    partial = bool((np.isnan(data.counts) & (data.masks[:, None] >> np.arange(data.n) & 1).astype(bool)).any())
    table: dict[str, list[Any]] = {
        name: [] for name in ["menu_mask", "menu", "item", "count", *(["total"] if partial else [])]
    }
    seen = 0
    for mask, counts, total in zip(data.masks.tolist(), data.counts, data.totals.tolist(), strict=True):
        seen |= mask
        for x in items_of(mask):
            _add(table, mask, _labels(data, mask), data.items[x], _whole(counts[x]), total)
    for x in range(data.n):
        if not seen >> x & 1:
            _add(table, 1 << x, (data.items[x],), data.items[x], 0, 0.0)
    return table


def rows_table(data: ChoiceData) -> dict[str, list[Any]]:
    """A row a choice: menu_mask, menu, choice, and weight, subject, group where the data have them."""
    rows = data.rows
    if rows is None:
        raise InputError("form='rows': these data hold only counts; write them with form='long'")
    menus = [_labels(data, mask) for mask in data.masks.tolist()]
    table: dict[str, list[Any]] = {
        "menu_mask": data.masks[rows.menu].tolist(),
        "menu": [menus[m] for m in rows.menu.tolist()],
        "choice": [data.items[x] for x in rows.choice.tolist()],
    }
    if (rows.weight != 1).any():
        table["weight"] = [_whole(w) for w in rows.weight]
    if rows.subject is not None:
        table["subject"] = [rows.subjects[s] for s in rows.subject.tolist()]
    if rows.group is not None:
        labels = [rows.groups[g] for g in rows.group.tolist()]
        if rows.groups and all(isinstance(g, tuple) for g in rows.groups):
            names = ("domain", "block", "frame", "treatment", "period", "wave")[: len(rows.groups[0])]
            table |= {name: [g[k] for g in labels] for k, name in enumerate(names)}
        else:
            table["group"] = labels
    return table


def make_table(data: ChoiceData, form: str) -> dict[str, list[Any]]:
    """One of the two forms, menus as tuples of labels."""
    if form not in FORMS:
        raise InputError(f"form={form!r}: accepted are {', '.join(map(repr, FORMS))}")
    return long_table(data) if form == "long" else rows_table(data)


def to_frame(data: ChoiceData, form: str, backend: str) -> Any:
    """A data frame; menus are lists of labels."""
    table = make_table(data, form)
    table["menu"] = [list(menu) for menu in table["menu"]]
    return make_frame(table, backend)


def to_csv(data: ChoiceData, path: str | Path, form: str) -> None:
    """Text, menus with the simplest separator that no label holds."""
    table = make_table(data, form)
    texts = [_text(label) for label in data.items]
    plain = all(not set(t) & set(',;|"[](){}') and t == t.strip() for t in texts)
    cache: dict[tuple[Any, ...], str] = {}
    menus = []
    for menu in table["menu"]:
        if menu not in cache:
            cache[menu] = ",".join(map(str, menu)) if plain else json.dumps([str(x) for x in menu], ensure_ascii=False)
        menus.append(cache[menu])
    table["menu"] = menus
    write_csv(table, path)


def to_parquet(data: ChoiceData, path: str | Path, form: str) -> None:
    """Parquet, menus as lists; labels keep their type."""
    table = make_table(data, form)
    kinds = {type(label) for label in data.items}
    if len(kinds) > 1 or not kinds <= {str, int}:
        raise InputError(
            f"labels of {data.items!r} are not all text or all whole numbers: Parquet needs one type; rename the items"
        )
    table["menu"] = [list(menu) for menu in table["menu"]]
    write_parquet(table, path)


def to_pairs(data: ChoiceData) -> list[tuple[Item, tuple[Item, ...]]]:
    """(winner, losers), a pair for every single choice."""
    if (bad := ~np.isnan(data.counts) & (data.counts != np.round(data.counts))).any():
        row, x = np.argwhere(bad)[0]
        raise InputError(
            f"menu {_labels(data, int(data.masks[row]))}, item {data.items[x]!r}: the count {data.counts[row, x]:g} "
            "is not a whole "
            "number, so it cannot be written as single choices"
        )
    pairs = []
    for mask, counts in zip(data.masks.tolist(), data.counts, strict=True):
        menu = _labels(data, mask)
        for x in items_of(mask):
            losers = tuple(label for label in menu if label != data.items[x])
            pairs += [(data.items[x], losers)] * int(np.nan_to_num(counts[x]))
    return pairs


def _add(table: dict[str, list[Any]], mask: int, menu: tuple[Item, ...], item: Item, count: Any, total: float) -> None:
    for name, value in zip(table, (mask, menu, item, count, _whole(total)), strict=False):
        table[name].append(value)


def _labels(data: ChoiceData, mask: int) -> tuple[Item, ...]:
    return tuple(data.items[x] for x in items_of(mask))


def _whole(value: float) -> int | float | None:
    number = float(value)
    return None if np.isnan(number) else int(number) if number.is_integer() and abs(number) < 2**53 else number


def _text(label: Item) -> str:
    if not isinstance(label, str | int) or isinstance(label, bool) or str(label).strip() == "":
        raise InputError(f"item {label!r} cannot be written to a text file: labels must be texts or whole numbers")
    return str(label)
