"""From the entries of a table (texts, lists, bit masks, ids, 0/1 columns) to menus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rumflow.core.menus import MOST_MASK_ITEMS
from rumflow.data.labels import Item, format_menu
from rumflow.data.readers.labels import Labels, Menu
from rumflow.data.readers.texts import (
    SEPARATORS,
    find_separator,
    missing,
    parse_list,
    split_text,
    whole,
)
from rumflow.errors import InputError


class MenuReader(Labels):
    """Reads the different menus of a table, each as a tuple of labels."""

    def from_flags(self) -> tuple[list[Menu], list[Item]]:
        """Availability columns: each menu is a tuple of the numbers of columns that are 1."""
        labels = [self.label(label) for label in self.roles.available.values()]
        return [tuple(labels[x] for x in menu) for menu in self.table.menus], labels

    def from_rows(self) -> list[Menu]:
        """The items in the rows of each id."""
        members: list[dict[Item, None]] = [{} for _ in self.table.menus]
        for menu, _, choice in self.table.keys.tolist():
            value = self.table.choices[choice]
            if value is not None and value != "":
                members[menu].setdefault(self.label(value))
        self.notes.append(f"a menu holds the items in the rows of its {self.roles.menu!r}")
        return [tuple(m) for m in members]

    def from_ids(self, given: Sequence[Iterable[Item]] | Mapping[Any, Iterable[Item]]) -> list[Menu]:
        """Ids of menus that were given apart: as a list, counted from 1, or by name."""
        if isinstance(given, Mapping):
            by_id = {str(key): menu for key, menu in given.items()}
        else:
            by_id = {str(k): menu for k, menu in enumerate(given, 1)}
        found = []
        for k, value in enumerate(self.table.menus):
            if str(value) not in by_id:
                known = list(by_id)
                raise InputError(
                    f"{self.first(0, k)}: menu {value!r} is not among the {len(known)} given as menus= "
                    f"({known[0]} to {known[-1]}; a list counts from 1)"
                )
            menu = by_id[str(value)]
            found.append(tuple(self.label(x) for x in ([menu] if isinstance(menu, str) else menu)))
        self.notes.append(f"column {self.roles.menu!r} holds ids of the {len(by_id)} menus given")
        return found

    def menu_is_mask(self) -> bool:
        """Does the column of menus hold whole numbers only?"""
        values = self.table.menus
        if (
            self.roles.menu is None
            or self.roles.extra == "mask"
            or self.options.separator is not None
            or not all(whole(v) is not None for v in values if not missing(v))
        ):
            return False
        numbers = [n for v in values if (n := whole(v)) is not None]
        return len(numbers) > 0 and max(numbers) > 0

    def from_masks(self) -> tuple[list[Menu], list[Item]]:
        """Bit masks: bit k is the k-th item."""
        column, at = (self.roles.extra_column, 1) if self.roles.by_mask else (self.roles.menu, 0)
        values = [self._mask(v, at, k, column) for k, v in enumerate(self.table.extras if at else self.table.menus)]
        width = max(values).bit_length()
        if width > MOST_MASK_ITEMS:
            k = values.index(max(values))
            raise InputError(
                f"{self.first(at, k)}: bit mask {values[k]} has {width} bits; masks of at most {MOST_MASK_ITEMS} items are "
                "read: list the items of each menu instead"
            )
        if self.options.items is not None:
            labels = [self.label(x) for x in self.options.items]
            if len(labels) < width:
                raise InputError(
                    f"{self.name}: items= has {len(labels)} labels, but the masks of {column!r} have {width} bits"
                )
        else:
            labels = self._mask_labels(values, at, width, str(column))
        self.notes.append(f"column {column!r} holds bit masks; the codes are the numbers of the bits")
        self.coding: dict[Any, Item] = dict(enumerate(labels))
        return [tuple(labels[x] for x in range(width) if value >> x & 1) for value in values], labels

    def _mask_labels(self, values: list[int], at: int, width: int, column: str) -> list[Item]:
        numbers = [whole(c) for c in self.table.choices]
        menu, choice = self.table.keys[:, at], self.table.keys[:, 2]
        fits = []
        for base in self.bases():
            bits = [-1 if number is None else number - base for number in numbers]
            good = [0 <= bits[c] < width and values[m] >> bits[c] & 1 for m, c in zip(menu, choice, strict=True)]
            if all(good):
                fits.append(base)
        if len(fits) == 1:
            return [self.label(k + fits[0]) for k in range(width)]
        if fits:
            raise InputError(
                f"{self.name}: {column!r} holds bit masks, but bit 0 could be item 0 or item 1; say base=0 or "
                "base=1 (--base)"
            )
        raise InputError(
            f"{self.name}, line 1: column {column!r} holds numbers, and the choices do not fit them as bit masks; "
            "for bit masks pass items= (--items), the label of bit 0, bit 1, ...; for ids of menus "
            f"menu_id={column!r} (--menu-id {column}) where the rows of an id list its items, or else menus= (--menus)"
        )

    def _mask(self, value: Any, at: int, k: int, column: str | None) -> int:
        number = whole(value)
        if number == 0 and self.outside is None:
            raise InputError(
                f"{self.first(at, k)}: column {column!r} was taken for bit masks, and mask 0 is the empty menu; every menu must "
                f"offer at least one item. Where {column!r} holds something else, name the column of the menus with menu= "
                f"(--menu), or for ids menu_id={column!r} (--menu-id {column})"
            )
        if number is None or number < 0:
            raise InputError(
                f"{self.first(at, k)}: {value!r} in column {column!r} is not a bit mask (a whole number from 1)"
            )
        return number

    def from_lists(self) -> list[Menu]:
        """Menus as lists, as texts, or in several columns, one for each item offered."""
        texts = [v for v in self.table.menus if isinstance(v, str)]
        separator = self._separator(texts) if texts else None
        contents = [self._contents(value, separator) for value in self.table.menus]
        # Texts hold no types: beside numbers in the column of choices their items are compared as texts.
        self.as_text: bool = (
            bool(texts)
            and not self.text
            and any(type(v) is int for v in [*self.table.choices, *(x for content in contents for x in content)])
        )
        self.outside: Item | None = self.read_outside()
        same = {str} if self.text or self.as_text else {str, int}  # labels that stay as they are
        plain = not self.options.clean
        self.ordered = [
            tuple(content)
            if plain and set(map(type, content)) <= same
            else tuple(None if x is None else self.label(x) for x in content)
            for content in contents
        ]
        found = []
        for k, content in enumerate(self.ordered):
            labels = tuple(x for x in content if x is not None)
            if not labels and self.outside is None and self.roles.form != "losers" and self.roles.extra != "status quo":
                raise InputError(f"{self.first(0, k)}: the menu is empty; every menu must offer at least one item")
            if len(set(labels)) < len(labels):
                twice = next(x for i, x in enumerate(labels) if x in labels[:i])
                raise InputError(
                    f"{self.first(0, k)}: item {twice!r} appears twice in the menu {str(self.table.menus[k])[:60]!r}; "
                    "list it once"
                )
            found.append(labels)
        if self.roles.form == "losers" or any(isinstance(value, frozenset) for value in self.table.menus):
            self.ordered: list[Menu] = []
        if texts:
            how = {"": "single letters, one an item", "[]": "lists"}.get(str(separator), f"separated by {separator!r}")
            self.notes.append(f"menus in column {self.roles.menu!r} are {how}")
        return found

    def _separator(self, texts: list[str]) -> str:
        """The separator of the items of menus written as texts; "[]" for lists, "" for single letters."""
        if self.options.separator is not None:
            return self.options.separator
        choices = {str(c) for c in self.table.choices if not missing(c)}
        if self.outside is not None:
            choices -= {str(self.outside)}
        found = find_separator(texts, choices)
        return self._best_separator(texts) if found is None else found

    def _contents(self, value: Any, separator: str | None) -> list[Any]:
        """The items of one menu as they stand; None for an empty column."""
        if isinstance(value, str):
            text = value.strip()
            parsed = parse_list(text) if separator == "[]" or text[:1] == "[" else None
            return (
                split_text(value, "," if separator in (None, "[]") else separator) if parsed is None else list(parsed)
            )
        if isinstance(value, tuple):
            return [None if missing(x) else x for x in value] if self.roles.menu_columns else list(value)
        if isinstance(value, frozenset):
            return sorted(value, key=str)
        return [] if missing(value) else [value]

    def _best_separator(self, texts: list[str]) -> str:
        """The separator that fits most keys; what is wrong with the others is reported later, with its line."""

        def fitting(separator: str) -> tuple[int, int]:
            members = {t: set(split_text(t, separator)) for t in texts}
            good = 0
            for m, _, c in self.table.keys[:5000]:
                menu, choice = self.table.menus[m], self.table.choices[c]
                good += isinstance(menu, str) and str(choice).strip() in members[menu]
            return good, sum(separator in t for t in texts)

        best = max(SEPARATORS, key=fitting)
        letters = all(len(str(c)) == 1 for c in self.table.choices) and fitting("")[0] > fitting(best)[0]
        return "" if letters else best

    def order_from_masks(self, members: list[Menu]) -> list[Item] | None:
        """The order of the items where there is a mask column besides the menus: bit k is the k-th item."""
        place: dict[Item, int] = {}
        for k, (m, mask_code, _) in enumerate(self.table.keys):
            mask = self._mask(self.table.extras[mask_code], 1, mask_code, self.roles.extra_column)
            bits = [b for b in range(mask.bit_length()) if mask >> b & 1]
            menu = members[m]
            if len(bits) != len(menu):
                raise InputError(
                    f"{self.table.where(k)}: mask {mask} has {len(bits)} items, but the menu {format_menu(menu)} "
                    f"has {len(menu)}; correct one, or leave one out with menu={self.roles.menu!r}"
                )
            for label, bit in zip(menu, bits, strict=True):
                if place.setdefault(label, bit) != bit:
                    raise InputError(
                        f"{self.table.where(k)}: mask {mask} makes {label!r} bit {bit}, but it was bit "
                        f"{place[label]} before; correct it, or pass menu={self.roles.menu!r} to leave the masks out"
                    )
        if len(set(place.values())) < len(place):
            raise InputError(f"{self.name}: column {self.roles.extra_column!r} gives two items the same bit")
        return sorted(place, key=lambda label: place[label])
