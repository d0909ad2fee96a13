"""Attributes of items, or of items in menus, from a dict, a data frame or a dict of columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rumflow.check import check_number
from rumflow.core.arrays import Array, Ints
from rumflow.core.graph_cells import Cells
from rumflow.core.linear_types import TIE, pairs_within
from rumflow.data.labels import format_menu, plain_label
from rumflow.errors import InputError

_FORMS = (
    "{item: numbers}, {(menu, item): numbers}, or a table with a column 'item', perhaps a column 'menu' (rows with the same "
    "value are the items of one menu), and a column for each attribute"
)

Key = tuple[frozenset[Hashable] | None, Hashable]  # menu (None: any) and item


class Attributes:
    """A row of numbers for every item, or for every item of every menu.

    Parameters
    ----------
    table : mapping or data frame
        As the models that take attributes say.

    Examples
    --------
    >>> Attributes({"tea": (2.0, 5), "milk": (1.5, 3)})
    Attributes(2 items, 2 attributes)
    """

    def __init__(self, table: Any) -> None:
        self.names: tuple[str, ...]
        self.names, rows = _read(table)
        self.by_menu: bool = next(iter(rows))[0] is not None
        self.rows: dict[Key, Array] = rows
        if any((menu is not None) != self.by_menu for menu, _ in rows):
            raise InputError(
                "attributes: some rows name a menu and some do not; give all by item, or all by menu and item"
            )
        self.items: tuple[Hashable, ...] = tuple(dict.fromkeys(item for _, item in rows))

    def __repr__(self) -> str:
        menus = f", {len({menu for menu, _ in self.rows})} menus" if self.by_menu else ""
        return f"Attributes({len(self.items)} items{menus}, {len(self.names)} attributes)"

    def of(self, cells: Cells) -> Array:
        """(offered, k): the attributes of what the menus offer; an error where two items of a menu have the same."""
        found = np.zeros((len(cells.offered.item), len(self.names)))
        for j, size in enumerate(cells.offered.sizes.tolist()):
            if size < 2:
                continue  # nothing to choose
            labels = cells.offered.labels_of(j, cells.items)
            menu = frozenset(labels) if self.by_menu else None
            for c, item in enumerate(labels):
                row = self.rows.get((menu, item))
                if row is None:
                    where = f" in menu {format_menu(labels)}" if self.by_menu else ""
                    raise InputError(f"attributes: item {item!r}{where} has none; there are those of {self._known()}")
                found[cells.offered.start[j] + c] = row
        self._require_different(found, cells)
        return found

    def _known(self) -> str:
        if not self.by_menu:
            return format_menu(self.items)
        menus = list(dict.fromkeys(menu for menu, _ in self.rows if menu is not None))
        named = [[item for other, item in self.rows if other == menu] for menu in menus[:3]]
        return ", ".join(map(format_menu, named)) + (f" and {len(menus) - 3} more menus" if len(menus) > 3 else "")

    def _require_different(self, found: Array, cells: Cells) -> None:
        first, second = pairs_within(cells.offered.start)
        if len(first) == 0:
            return
        gap = np.abs(found[first] - found[second])
        spread = gap.max(axis=0)
        same = (gap <= TIE * np.where(spread > 0, spread, 1.0)).all(axis=1)
        if same.any():
            i = int(same.argmax())
            j = int(cells.offered.menu[first[i]])
            one, two = (cells.items[cells.offered.item[c]] for c in (first[i], second[i]))
            raise InputError(
                f"attributes: items {one!r} and {two!r} of menu {cells.name(j)} have the same attributes "
                f"({', '.join(f'{value:g}' for value in found[first[i]])}), so nobody prefers one to the other; add an attribute "
                "in which they differ, or make one item of them"
            )

    def signs(self, signs: Any, default: int = 0) -> Ints:
        """One of -1, 0, 1 per attribute, from a sequence or from {name of an attribute: sign}."""
        if signs is None:
            return np.full(len(self.names), default)
        given = dict(signs) if isinstance(signs, Mapping) else None
        if given is not None:
            for name in given:
                self.number(name, "signs")
            values = [given.get(name, default) for name in self.names]
        else:
            values = list(signs) if isinstance(signs, Iterable) and not isinstance(signs, str) else [signs]
        if len(values) != len(self.names):
            raise InputError(
                f"signs: {len(self.names)} are needed, one per attribute ({', '.join(self.names)}), not {len(values)}"
            )
        for name, value in zip(self.names, values, strict=True):
            if isinstance(value, bool) or value not in (-1, 0, 1):
                raise InputError(
                    f"signs: {value!r} for attribute {name}: 1 (more is better), -1 (less is better) or 0 is needed"
                )
        return np.array(values, np.int64)

    def number(self, name: Hashable, option: str) -> int:
        """The number of an attribute, given by its name."""
        if name not in self.names:
            raise InputError(f"{option}: attribute {name!r} is unknown: the attributes are {', '.join(self.names)}")
        return self.names.index(str(name))

    def describe(self) -> dict[str, Any]:
        """As a dict of columns, which `Attributes` reads."""
        columns: dict[str, Any] = {"item": [plain_label(item) for _, item in self.rows]}
        if self.by_menu:
            numbers = {menu: i for i, menu in enumerate(dict.fromkeys(menu for menu, _ in self.rows))}
            columns["menu"] = [numbers[menu] for menu, _ in self.rows]
        values = np.array(list(self.rows.values()))
        return columns | {name: values[:, i].tolist() for i, name in enumerate(self.names)}


def _read(table: Any) -> tuple[tuple[str, ...], dict[Key, Array]]:
    """Names of the attributes, and their values by menu and item."""
    if hasattr(type(table), "columns"):
        return _from_columns(_columns_of(table))
    if not isinstance(table, Mapping) or not table:
        raise InputError(f"attributes: {_FORMS} is needed, not {type(table).__name__}")
    if isinstance(table.get("item"), Sequence | np.ndarray) and not _numbers(table["item"]):
        return _from_columns(dict(table))
    names: tuple[str, ...] | None = None
    rows: dict[Key, Array] = {}
    for key, values in table.items():
        menu, item = split_key(key)
        own = tuple(map(str, values)) if isinstance(values, Mapping) else None
        numbers = values.values() if isinstance(values, Mapping) else values
        row = _row(numbers, f"attributes of {key!r}")
        given = own or tuple(f"attribute {i}" for i in range(len(row)))
        if names is not None and given != names:
            raise InputError(f"attributes: {key!r} has {', '.join(given)}, and others have {', '.join(names)}")
        names = given
        rows[menu, item] = row
    assert names is not None
    _require_members(rows)
    return names, rows


def split_key(key: Any) -> Key:
    """Menu and item of a key; a pair whose first part is a list of items is both."""
    if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], tuple | frozenset):
        return frozenset(key[0]), key[1]
    return None, key


def _row(values: Any, name: str) -> Array:
    numbers = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    if not numbers:
        raise InputError(f"{name}: at least one number is needed")
    return np.array([check_number(_plain(value), name, -np.inf, np.inf) for value in numbers])


def _plain(value: Any) -> Any:
    """A number of NumPy as Python has it."""
    return value.item() if isinstance(value, np.generic) else value


def _numbers(values: Any) -> bool:
    """Are these the attributes of an item that is called "item"?"""
    return len(values) == 1 and isinstance(values[0], int | float | np.number)


def _columns_of(frame: Any) -> dict[str, list[Any]]:
    """The columns of a data frame of pandas, polars or pyarrow; items may be the index of pandas."""
    if hasattr(frame, "to_pydict"):
        return dict(frame.to_pydict())
    labelled = hasattr(frame, "reset_index") and "item" not in frame.columns
    if labelled and (frame.index.names != [None] or not _counts(frame)):
        names = [name if name is not None else "item" for name in frame.index.names]
        frame = frame.set_axis(frame.index.set_names(names), axis=0).reset_index()
        if "item" not in frame.columns:
            frame = frame.rename(columns={names[-1]: "item"})
    return {str(name): list(frame[name]) for name in frame.columns}


def _counts(frame: Any) -> bool:
    """Does the index only count the rows of a table that has other labels?"""
    only_counts = list(frame.index) == list(range(len(frame)))
    return only_counts and any(isinstance(value, str) for name in frame.columns for value in frame[name])


def _from_columns(columns: Mapping[str, Any]) -> tuple[tuple[str, ...], dict[Key, Array]]:
    """From columns item, perhaps menu, and one for each attribute."""
    if "item" not in columns:
        raise InputError(
            f"attributes: there is no column 'item' among {', '.join(map(str, columns))}; {_FORMS} is needed"
        )
    names = tuple(str(name) for name in columns if name not in ("item", "menu"))
    if not names:
        raise InputError(
            "attributes: there is no column beside 'item' and 'menu'; a column for each attribute is needed"
        )
    items = [_plain(item) for item in columns["item"]]
    lengths = {name: len(columns[name]) for name in columns}
    if len(set(lengths.values())) > 1:
        raise InputError(f"attributes: the columns have different lengths: {lengths}")
    menus: list[frozenset[Hashable] | None] = [None] * len(items)
    if "menu" in columns:
        members: dict[Hashable, list[Hashable]] = {}
        for menu, item in zip(columns["menu"], items, strict=True):
            members.setdefault(_plain(menu), []).append(item)
        menus = [frozenset(members[_plain(menu)]) for menu in columns["menu"]]
    rows: dict[Key, Array] = {}
    for i, key in enumerate(zip(menus, items, strict=True)):
        row = np.array([_value(columns[name][i], name, key[1]) for name in names])
        if key in rows and not np.array_equal(rows[key], row):
            where = "" if key[0] is None else f" in menu {format_menu(sorted(map(str, key[0])))}"
            hint = "; attributes that differ between menus need a column 'menu'" if key[0] is None else ""
            raise InputError(f"attributes: item {key[1]!r}{where} appears twice, with different attributes{hint}")
        rows[key] = row
    if not rows:
        raise InputError("attributes: the table has no rows")
    return names, rows


def _value(value: Any, name: Any, item: Hashable) -> float:
    return check_number(_plain(value), f"attributes: {name} of item {item!r}", -np.inf, np.inf)


def _require_members(rows: Mapping[Key, Array]) -> None:
    for menu, item in rows:
        if menu is not None and item not in menu:
            raise InputError(f"attributes: item {item!r} is not in its menu {format_menu(sorted(map(str, menu)))}")
