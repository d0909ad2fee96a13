"""The menu and the item of every row of a table: choices as labels, as positions or as numbers, checked against their menus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rumflow.core.arrays import Ints
from rumflow.core.menus import Menus
from rumflow.data.labels import Item, check_items, format_menu
from rumflow.data.readers.codes import Codes, read_codes
from rumflow.data.readers.labels import Menu
from rumflow.data.readers.menus import MenuReader
from rumflow.data.readers.texts import (
    missing,
    short,
    whole,
)
from rumflow.errors import InputError
from rumflow.output.names import how_many

#: Different rows that show whether a column holds the choices at all.
MOST_LOOKED_AT = 100


@dataclass(frozen=True)
class Meaning:
    """Items, the different menus in order, and for every key the number of its menu, of its item and of its cell."""

    items: tuple[Item, ...]
    menus: Menus
    menu: Ints
    item: Ints
    cell: Ints
    notes: list[str]
    coding: dict[Any, Item]  # by code of a choice its label, where choices are codes
    doubts: list[str]  # what may be wrong, and what to do about it

    def name(self, menu: int) -> str:
        """A menu as text."""
        return format_menu(self.menus.labels_of(menu, self.items))


class Interpreter(MenuReader):
    """Gives every key of a table its menu and its item."""

    def run(self) -> Meaning:
        """Menus and choices of all keys, checked."""
        roles, labels = self.roles, None
        if roles.form == "availability":
            members, labels = self.from_flags()
        elif self.options.menus is not None:
            members = self.from_ids(self.options.menus)
        elif roles.listed:
            members = self.from_rows()
        elif roles.by_mask or self.menu_is_mask():
            members, labels = self.from_masks()
        else:
            members = self.from_lists()
            labels = self.order_from_masks(members) if roles.extra == "mask" else None
        doubts: list[str] = []
        if self.outside is not None:
            doubts = self._doubt_outside(members)
            members = [m if self.outside in m else (self.outside, *m) for m in members]
        key_menu = self.table.keys[:, 1 if roles.by_mask else 0]
        choices = self._choices(members, key_menu, labels)
        if roles.extra == "status quo":
            members, key_menu = self._with_status_quo(members, key_menu, choices)
        if roles.form == "losers":
            members, key_menu = self._with_winners(members, choices), np.arange(len(self.table.keys))
        if roles.extra == "number":
            labels = self._order_from_numbers(choices)
        return self._number(members, key_menu, choices, labels, doubts)

    def _doubt_outside(self, members: list[Menu]) -> list[str]:
        """An outside option that stands on some menus only may have been missing from the others on purpose."""
        different = {frozenset(menu) for menu in members}
        without = sum(self.outside not in menu for menu in different)
        if not 0 < without < len(different):
            return []
        where = f"{without:,} of {how_many(len(different), 'menu')}"
        put = "has been put there by outside_option= (--outside-option)"
        return [f"{str(self.outside)[:40]!r} was not on {where} and {put}. Is that right?"]

    def _order_from_numbers(self, choices: list[Item | None]) -> list[Item]:
        """The order of the items where a column gives the number of the item in each row."""
        place: dict[Item, int] = {}
        numbers = [whole(value) for value in self.table.extras]
        for k, (choice, code) in enumerate(zip(choices, self.table.keys[:, 1].tolist(), strict=True)):
            number = numbers[code]
            if choice is None or number is None or place.setdefault(choice, number) != number:
                raise InputError(
                    f"{self.table.where(k)}: {self.table.extras[code]!r} in column {self.roles.extra_column!r}; it must be a "
                    "whole number, the same in all rows of an item"
                )
        if len(set(place.values())) < len(place):
            raise InputError(f"{self.name}: column {self.roles.extra_column!r} gives two items the same number")
        return sorted(place, key=lambda label: place[label])

    def _choices(self, members: list[Menu], key_menu: Ints, labels: list[Item] | None) -> list[Item | None]:
        """The item chosen in each key; None where none is given."""
        known = {x for menu in members for x in menu}
        values = [self._choice_value(v, known) for v in self.table.choices]
        if self.roles.form == "availability" and labels is not None:
            values = self._among_columns(values, labels)
        elif self.ordered and (found := self._positions(members, key_menu, values)) is not None:
            return found
        return [values[c] for c in self.table.keys[:, 2]]

    def _among_columns(self, values: list[Item | None], labels: list[Item]) -> list[Item | None]:
        """Choices beside availability columns: labels, names of columns, or numbers of columns."""
        names = {self.label(c): self.label(v) for c, v in self.roles.available.items()}
        known = set(labels) | set(names) | ({self.outside} if self.outside is not None else set())
        present = {v for v in values if v is not None}
        if present <= known or self.options.base == "label":
            columns = set(labels)
            return [v if v is None or v in columns else names.get(v, v) for v in values]
        numbers = [None if v is None else whole(v) for v in values]
        if any(n is None for n, v in zip(numbers, values, strict=True) if v is not None):
            return values
        return self._numbered(numbers, labels)

    def _positions(self, members: list[Menu], key_menu: Ints, values: list[Item | None]) -> list[Item | None] | None:
        """Choices as positions in the menus as they stand, where they are such; None where they are labels."""
        numbers = [None if v is None or v == self.outside else whole(v) for v in values]
        labels = [v for v, n in zip(values, numbers, strict=True) if n is None and v is not None and v != self.outside]
        if labels or self.options.base == "label" or all(n is None for n in numbers):
            return None
        pairs = list(zip(key_menu.tolist(), self.table.keys[:, 2].tolist(), strict=True))
        by_label = [values[c] for _, c in pairs]
        counted = [(m, c) for m, c in pairs if numbers[c] is not None]
        labelled = sum(values[c] in members[m] for m, c in counted)
        fits = {}
        for base in self.bases():
            found = [self._at(self.ordered[m], numbers[c], base, values[c]) for m, c in pairs]
            if all(x is not None or values[c] is None for x, (_, c) in zip(found, pairs, strict=True)):
                fits[base] = found
        if self.options.base is None and labelled > 0:
            other = [base for base, found in fits.items() if found != by_label]
            if self.roles.menu_columns and other:
                raise InputError(
                    f"{self.name}: the choices in {self.roles.choice!r} could be labels or positions among the columns "
                    f"{', '.join(self.roles.menu_columns[:4])}; say base='label' or base={other[-1]} (--base)"
                )
            return None
        if len(fits) > 1:
            raise InputError(
                f"{self.name}: the choices in {self.roles.choice!r} are positions in the menu, counted from 0 or from 1, and "
                "both fit; say base=0 or base=1 (--base)"
            )
        if not fits:
            return None
        base = next(iter(fits))
        self.notes.append(f"choices are positions in the menu, counted from {base}")
        return fits[base]

    @staticmethod
    def _at(menu: Menu, number: int | None, base: int, value: Item | None) -> Item | None:
        if number is None:
            return value
        return menu[number - base] if 0 <= number - base < len(menu) else None

    def _choice_value(self, value: Any, known: set[Item]) -> Item | None:
        """A label; None, or the outside option, where the field is empty. An item may be called NA."""
        if missing(value) and not (isinstance(value, str) and value and self.label(value) in known):
            return self.outside
        return self.label(value)

    def _numbered(self, numbers: list[int | None], labels: list[Item]) -> list[Item | None]:
        """Choices given as the number of an availability column, from 0 or from 1."""
        chosen: dict[int, list[tuple[int, ...]]] = {}
        first: dict[int, int] = {}
        for k, (m, _, c) in enumerate(self.table.keys.tolist()):
            number = numbers[c]
            if number is not None:
                chosen.setdefault(number, []).append(self.table.menus[m])
                first.setdefault(number, k)
        columns = list(self.roles.available)
        codes = Codes(
            self.name, str(self.roles.choice), columns, labels, chosen, lambda code: self.table.where(first[code])
        )
        self.coding: dict[Any, Item] = read_codes(codes, self.bases(), self.roles.ordered)
        self.notes.append(f"choices are numbers of the availability columns, counted from {min(self.coding)}")
        return [None if n is None else self.coding[n] for n in numbers]

    def _with_winners(self, members: list[Menu], choices: list[Item | None]) -> list[Menu]:
        menus = []
        for k, (m, winner) in enumerate(zip(self.table.keys[:, 0].tolist(), choices, strict=True)):
            inside = winner in members[m]
            if inside and winner != self.outside:
                raise InputError(f"{self.table.where(k)}: the winner {winner!r} is among its losers")
            menus.append(members[m] if winner is None or inside else (winner, *members[m]))
        return menus

    def _with_status_quo(
        self, members: list[Menu], key_menu: Ints, choices: list[Item | None]
    ) -> tuple[list[Menu], Ints]:
        """Menus with the status quo of their rows; a choice that is missing, or called so, means it."""
        column = str(self.roles.extra_column)
        values = [None if missing(v) else self.label(v) for v in self.table.extras]
        known = {x for menu in members for x in menu} | {c for c in choices if c is not None}
        if not any(v in known for v in values) and all(str(v) in ("0", "1") for v in values if v is not None):
            raise InputError(
                f"{self.name}: column {column!r} holds 0 and 1; as status_quo= it must hold the item that is on offer in any "
                "case. Where 1 says that it was chosen, name the column in choice=[...]"
            )
        pairs, number = np.unique(np.stack([key_menu, self.table.keys[:, 1]]), axis=1, return_inverse=True)
        menus = []
        for m, e in pairs.T.tolist():
            default = values[e]
            menus.append(members[m] if default is None or default in members[m] else (*members[m], default))
        names = {column, "status quo", "status_quo"}
        for k, e in enumerate(self.table.keys[:, 1].tolist()):
            if choices[k] is None or (choices[k] in names and choices[k] not in menus[number[k]]):
                choices[k] = values[e]
        self.notes.append(f"the item in column {column!r} is in the menu of its row")
        return menus, number.astype(np.int64)

    def _number(
        self,
        members: list[Menu],
        key_menu: Ints,
        choices: list[Item | None],
        labels: list[Item] | None,
        doubts: list[str],
    ) -> Meaning:
        raw = self.ordered_items(members, labels)
        items = check_items(self.final_labels(raw))
        position = {label: x for x, label in enumerate(raw)}
        sizes = np.fromiter(map(len, members), np.int64, len(members))
        place = np.fromiter((position[x] for menu in members for x in menu), np.int64, int(sizes.sum()))
        given, _ = Menus.from_cells(np.repeat(np.arange(len(members)), sizes), place, len(members), len(raw))
        menus, number = given.unique()
        menu = number[key_menu]
        item = np.fromiter((-1 if c is None else position.get(c, -1) for c in choices), np.int64, len(choices))
        cell = menus.cells_of(menu, item)
        if (cell < 0).any():
            k = int(np.argmax(cell < 0))
            self._refuse_ids(members, key_menu, choices)
            self._refuse_column(k, members, choices)
            self._report(k, members[key_menu[k]], choices[k])
        return Meaning(items, menus, menu, item, cell, self.notes, self.coding, doubts)

    def _refuse_ids(self, members: list[Menu], key_menu: Ints, choices: list[Item | None]) -> None:
        """Menus that hold none of the items beside them are ids, at least in tables of counts."""
        roles = self.roles
        pairs = zip(key_menu.tolist(), choices, strict=True)
        if roles.counted and roles.menu and not any(choice in members[m] for m, choice in pairs):
            raise InputError(
                f"{self.name}: no menu of column {roles.menu!r} holds the items in its rows, such as {str(choices[0])[:40]!r} in "
                f"{str(self.table.menus[0])[:40]!r}; if it holds ids of menus, pass menu_id={roles.menu!r} "
                f"(--menu-id {roles.menu}): a menu is then what its rows list"
            )

    def _refuse_column(self, k: int, members: list[Menu], choices: list[Item | None]) -> None:
        """Where most of the first choices are on no menu at all, a column is wrong, not a row."""
        roles, first = self.roles, choices[:MOST_LOOKED_AT]
        known = {str(x).strip().casefold() for menu in members for x in menu}
        strange = [c for c in first if c is not None and str(c).strip().casefold() not in known]
        if roles.choice is None or roles.menu is None or len(set(strange)) < 2 or 2 * len(strange) <= len(first):
            return
        some = ", ".join(repr(str(c)[:40]) for c in list(dict.fromkeys(strange))[:2])
        single = sum(len(set(menu) - {self.outside}) < 2 for menu in members)
        if 2 * single > len(members):
            raise InputError(
                f"{self.table.where(k)}: column {roles.menu!r} does not hold the menus of the choices in {roles.choice!r}, "
                f"such as {some}: it has {short(members[0])}; is it the right column? Name that of the items on "
                "offer with menu= (--menu)"
            )
        has = "has no label" if len(strange) == len(first) else "has few labels"
        raise InputError(
            f"{self.table.where(k)}: column {roles.choice!r}, with {some}, {has} of the menus, such as "
            f"{short(members[0])}; is it the right column? Name that of the choices with choice= (--choice)"
        )

    def _report(self, k: int, menu: Menu, choice: Item | None) -> None:
        """Say what is wrong with a key."""
        if not menu:
            raise InputError(f"{self.table.where(k)}: the menu is empty; every menu must offer at least one item")
        if choice is None:
            value = self.table.choices[self.table.keys[k, 2]]
            written = value.strip() if isinstance(value, str) else ""
            raise InputError(
                f"{self.table.where(k)}: no choice is given; where choosing nothing was possible, name it with "
                "outside_option= (--outside-option); rows where the choice was not recorded are left out with "
                f"missing={written!r}"
            )
        code = (
            f"; if it means that the choice was not recorded, pass missing={choice}"
            if whole(choice) is not None
            else ""
        )
        alike = next((item for item in menu if str(item).strip().casefold() == str(choice).strip().casefold()), None)
        if alike is not None:
            raise InputError(
                f"{self.table.where(k)}: the choice {str(choice)[:40]!r} is not in the menu {short(menu)}, which has "
                f"{str(alike)[:40]!r}; correct the row, or pass clean=True (--clean), which takes such labels for one"
            )
        raise InputError(
            f"{self.table.where(k)}: the choice {str(choice)[:40]!r} is not in the menu {short(menu)}; correct the row, or, "
            f"where it is always on offer, pass outside_option={str(choice)[:40]!r}{code}"
        )
