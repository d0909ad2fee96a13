"""Labels of items as written in a table: read, ordered, and checked for spellings that are most likely one item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rumflow.core.arrays import Ints
from rumflow.data.labels import MOST_ITEMS, Item
from rumflow.data.readers.roles import Options, Roles
from rumflow.data.readers.texts import (
    INVISIBLE,
    clean_label,
    natural,
    numbers_if_whole,
    short,
    spelling,
)
from rumflow.errors import InputError

Menu = tuple[Item, ...]


@dataclass(frozen=True)
class Distinct:
    """The different (menu, extra, choice) of a table, and where each appears first."""

    menus: list[Any]  # the different menus; None throughout where there is no such column
    extras: list[Any]  # what stands beside them: see `Roles.extra`
    choices: list[Any]
    keys: Ints  # (K, 3) into the three lists
    where: Callable[[int], str]  # key number -> "file, line 17"


class Labels:
    """The labels of a table, and where they are."""

    def __init__(self, name: str, text: bool, roles: Roles, options: Options, table: Distinct) -> None:
        self.name: str = name
        self.text: bool = text
        self.roles: Roles = roles
        self.options: Options = options
        self.table: Distinct = table
        self.notes: list[str] = []
        self.coding: dict[Any, Item] = {}  # by code of a choice, or number of a bit, its label
        self.as_text = False  # labels of a frame are compared as texts
        self.ordered: list[Menu] = []  # menus as they stand, gaps included, where a choice may be a position in them
        self.outside: Item | None = self.read_outside()

    def read_outside(self) -> Item | None:
        """The outside option as a label of this table."""
        return None if self.options.outside_option is None else self.label(self.options.outside_option)

    def label(self, value: Any) -> Item:
        """A label as written in the table: text in text files, any value elsewhere."""
        if isinstance(value, np.generic):
            value = value.item()
        if (self.text or self.as_text) and not isinstance(value, str):
            value = str(value)
        if self.options.clean and isinstance(value, str):
            return clean_label(value)
        result: Item = value
        return result

    def first(self, column: int, code: int) -> str:
        """Where a value appears first."""
        hits = np.flatnonzero(self.table.keys[:, column] == code)
        return self.table.where(int(hits[0])) if len(hits) else self.name

    def key_of_label(self, label: str, members: list[Menu]) -> int | None:
        """The first key with a label: in its menu (of `members`), or chosen."""
        own = 1 if self.roles.by_mask else 0
        for k, key in enumerate(self.table.keys.tolist()):
            if label in members[key[own]] or label == str(self.table.choices[key[2]]):
                return k
        return None

    def where_label(self, label: str, members: list[Menu]) -> str:
        """Where a label appears first."""
        key = self.key_of_label(label, members)
        return self.name if key is None else self.table.where(key)

    def bases(self) -> tuple[int, ...]:
        """What the first number may be where items are counted."""
        return (self.options.base,) if isinstance(self.options.base, int) else (0, 1)

    def ordered_items(self, members: list[Menu], labels: list[Item] | None) -> list[Item]:
        """The labels in order, as written in the table."""
        seen: dict[Item, None] = dict.fromkeys(labels or [])
        for menu in members:
            seen.update(dict.fromkeys(menu))
        if self.options.items is not None:
            given = [self.label(x) for x in self.options.items]
            known = set(given)
            for label in seen:
                if label not in known:
                    raise InputError(f"{self.name}: item {label!r} is not among the items given: {short(given)}")
            return given
        if labels is None:
            first = [self.outside] if self.outside is not None and self.outside in seen else []
            rest = [x for x in seen if x not in first]
            ordered = first + (rest if self.options.menus is not None else sorted(rest, key=natural))
        else:
            known = set(labels)
            ordered = [x for x in seen if x not in known] + list(labels)
        if len(ordered) > MOST_ITEMS:
            raise InputError(
                f"{self.where_label(str(list(seen)[MOST_ITEMS]), members)}: column {self.roles.menu!r} holds {len(ordered):,} "
                f"different items ({short(ordered)}); data can hold at most {MOST_ITEMS:,}: is this the menu column?"
            )
        if self.roles.extra not in ("mask", "number"):  # masks and numbers tell the items apart
            self._refuse_variants(ordered, members)
        for label in ordered:
            if isinstance(label, str) and INVISIBLE.search(label):
                self.notes.append(f"item {label!a} holds a character that cannot be seen (clean=True removes it)")
        return ordered

    def _refuse_variants(self, labels: list[Item], members: list[Menu]) -> None:
        """Two labels that look the same, or differ by blanks or case only, are most likely one."""
        seen: dict[str, str] = {}
        for label in labels:
            if not isinstance(label, str):
                continue
            key = spelling(label)
            if key in seen and max(len(label), len(seen[key])) > 1:
                other = seen[key]
                plainly = "".join(label.split()).casefold() == "".join(other.split()).casefold()
                how = "by blanks or case" if plainly else "by marks that cannot be seen or by how accents are written"
                first, second = sorted((other, label), key=lambda x: self.key_of_label(x, members) or 0)
                one, two = (repr(x) if plainly else ascii(x) for x in (first, second))
                raise InputError(
                    f"{self.where_label(second, members)}: items {one} (first in {self.where_label(first, members)}) and {two} "
                    f"differ only {how}; make them the same, or pass clean=True (--clean)"
                )
            seen[key] = label

    def final_labels(self, result: list[Item]) -> list[Item]:
        """The labels given, else those read; labels read from text are whole numbers where all of them are."""
        if self.options.items is not None:
            return list(self.options.items)
        return numbers_if_whole(result) if self.text or self.as_text else result
