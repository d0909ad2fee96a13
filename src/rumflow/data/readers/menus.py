"""From what stands in a table (texts, lists, bit masks, ids, 0/1 columns) to menus over numbered items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rumflow.core.arrays import Ints, Mask
from rumflow.core.memory import require_memory
from rumflow.data.labels import MOST_ITEMS, Item, check_items, format_menu
from rumflow.data.menus import MOST_MASK_ITEMS, unique_menus
from rumflow.data.readers.columns import Options, Roles
from rumflow.data.readers.texts import (
    INVISIBLE,
    SEPARATORS,
    clean_label,
    find_separator,
    missing,
    natural,
    numbers_if_whole,
    parse_list,
    short,
    spelling,
    split_text,
    whole,
)
from rumflow.errors import InputError

Menu = tuple[Item, ...]


@dataclass(frozen=True)
class Distinct:
    """The different (menu, extra, choice) that stand in a table, and where each stands first."""

    menus: list[Any]  # the different menus; None throughout where there is no such column
    extras: list[Any]  # what stands beside them: see `Roles.extra`
    choices: list[Any]
    keys: Ints  # (K, 3) into the three lists
    where: Callable[[int], str]  # key number -> "file, line 17"


@dataclass(frozen=True)
class Meaning:
    """Items, the different menus in order, and for every key the number of its menu and of its item."""

    items: tuple[Item, ...]
    membership: Mask
    menus: Ints
    choices: Ints
    notes: list[str]


class Interpreter:
    """Gives every key of a table its menu and its item."""

    def __init__(self, name: str, text: bool, roles: Roles, options: Options, table: Distinct) -> None:
        self.name, self.text, self.roles, self.options, self.table = name, text, roles, options, table
        self.notes: list[str] = []
        self.as_text = False  # labels of a frame are compared as texts
        self.ordered: list[Menu] = []  # menus as they stand, gaps included, where a choice may be a position in them
        self.outside = self._outside()

    def run(self) -> Meaning:
        """Menus and choices of all keys, checked."""
        roles, labels = self.roles, None
        if roles.form == "availability":
            members, labels = self._from_flags()
        elif self.options.menus is not None:
            members = self._from_ids(self.options.menus)
        elif roles.listed:
            members = self._from_rows()
        elif roles.by_mask or self._menu_is_mask():
            members, labels = self._from_masks()
        else:
            members = self._from_lists()
            labels = self._order_from_masks(members) if roles.extra == "mask" else None
        if self.outside is not None:
            members = [m if self.outside in m else (self.outside, *m) for m in members]
        key_menu = self.table.keys[:, 1 if roles.by_mask else 0]
        choices = self._choices(members, key_menu, labels)
        if roles.extra == "status quo":
            members, key_menu = self._with_status_quo(members, key_menu, choices)
        if roles.form == "losers":
            members, key_menu = self._with_winners(members, choices), np.arange(len(self.table.keys))
        if roles.extra == "number":
            labels = self._order_from_numbers(choices)
        return self._number(members, key_menu, choices, labels)

    def _outside(self) -> Item | None:
        return None if self.options.outside_option is None else self._label(self.options.outside_option)

    def _from_flags(self) -> tuple[list[Menu], list[Item]]:
        """Availability columns: each menu is a string of bytes, 1 for what is on offer."""
        labels = [self._label(label) for label in self.roles.available.values()]
        return [tuple(labels[x] for x in np.flatnonzero(np.frombuffer(m, np.uint8))) for m in self.table.menus], labels

    def _from_rows(self) -> list[Menu]:
        """The items that stand in the rows of each id."""
        members: list[dict[Item, None]] = [{} for _ in self.table.menus]
        for menu, _, choice in self.table.keys.tolist():
            value = self.table.choices[choice]
            if value is not None and value != "":
                members[menu].setdefault(self._label(value))
        self.notes.append(f"a menu holds the items in the rows of its {self.roles.menu!r}")
        return [tuple(m) for m in members]

    def _from_ids(self, given: Sequence[Iterable[Item]] | Mapping[Any, Iterable[Item]]) -> list[Menu]:
        if isinstance(given, Mapping):
            by_id = {str(key): menu for key, menu in given.items()}
        else:
            by_id = {str(k): menu for k, menu in enumerate(given, 1)}
        found = []
        for k, value in enumerate(self.table.menus):
            if str(value) not in by_id:
                known = list(by_id)
                raise InputError(
                    f"{self._first(0, k)}: menu {value!r} is not among the {len(known)} given as menus= "
                    f"({known[0]} to {known[-1]}; a list counts from 1)"
                )
            menu = by_id[str(value)]
            found.append(tuple(self._label(x) for x in ([menu] if isinstance(menu, str) else menu)))
        self.notes.append(f"column {self.roles.menu!r} holds ids of the {len(by_id)} menus given")
        return found

    def _menu_is_mask(self) -> bool:
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

    def _from_masks(self) -> tuple[list[Menu], list[Item]]:
        """Bit masks: bit k is the k-th item."""
        column, at = (self.roles.extra_column, 1) if self.roles.by_mask else (self.roles.menu, 0)
        values = [self._mask(v, at, k, column) for k, v in enumerate(self.table.extras if at else self.table.menus)]
        width = max(values).bit_length()
        if width > MOST_MASK_ITEMS:
            k = values.index(max(values))
            raise InputError(
                f"{self._first(at, k)}: bit mask {values[k]} has {width} bits; masks of at most {MOST_MASK_ITEMS} items are "
                "read: list the items of each menu instead"
            )
        if self.options.items is not None:
            labels = [self._label(x) for x in self.options.items]
            if len(labels) < width:
                raise InputError(
                    f"{self.name}: items= has {len(labels)} labels, but the masks of {column!r} have {width} bits"
                )
        else:
            labels = self._mask_labels(values, at, width, str(column))
        self.notes.append(
            f"column {column!r} holds bit masks: bit 0 is {labels[0]}, bit {len(labels) - 1} is {labels[-1]}"
        )
        return [tuple(labels[x] for x in range(width) if value >> x & 1) for value in values], labels

    def _mask_labels(self, values: list[int], at: int, width: int, column: str) -> list[Item]:
        numbers = [whole(c) for c in self.table.choices]
        menu, choice = self.table.keys[:, at], self.table.keys[:, 2]
        fits = []
        for base in self._bases():
            bits = [-1 if number is None else number - base for number in numbers]
            good = [0 <= bits[c] < width and values[m] >> bits[c] & 1 for m, c in zip(menu, choice, strict=True)]
            if all(good):
                fits.append(base)
        if len(fits) == 1:
            return [self._label(k + fits[0]) for k in range(width)]
        if fits:
            raise InputError(
                f"{self.name}: {column!r} holds bit masks, but bit 0 could be item 0 or item 1; say base=0 or "
                "base=1 (--base)"
            )
        raise InputError(
            f"{self.name}, line 1: column {column!r} holds numbers, and the choices do not fit them as bit masks; "
            "for bit masks "
            "pass items= (label of bit 0, bit 1, ...), for ids of menus pass menus= (--items, --menus)"
        )

    def _mask(self, value: Any, at: int, k: int, column: str | None) -> int:
        number = whole(value)
        if number == 0 and self.outside is None:
            raise InputError(f"{self._first(at, k)}: mask 0 is the empty menu; every menu must offer at least one item")
        if number is None or number < 0:
            raise InputError(
                f"{self._first(at, k)}: {value!r} in column {column!r} is not a bit mask (a whole number from 1)"
            )
        return number

    def _from_lists(self) -> list[Menu]:
        """Menus as lists, as texts, or in several columns, one for each item offered."""
        texts = [v for v in self.table.menus if isinstance(v, str)]
        separator = self._separator(texts) if texts else None
        contents = [self._contents(value, separator) for value in self.table.menus]
        # Texts hold no types: beside numbers in the column of choices their items are compared as texts.
        self.as_text = (
            bool(texts)
            and not self.text
            and any(type(v) is int for v in [*self.table.choices, *(x for content in contents for x in content)])
        )
        self.outside = self._outside()
        same = {str} if self.text or self.as_text else {str, int}  # labels that stay as they are
        plain = not self.options.clean
        self.ordered = [
            tuple(content)
            if plain and set(map(type, content)) <= same
            else tuple(None if x is None else self._label(x) for x in content)
            for content in contents
        ]
        found = []
        for k, content in enumerate(self.ordered):
            labels = tuple(x for x in content if x is not None)
            if not labels and self.outside is None and self.roles.form != "losers" and self.roles.extra != "status quo":
                raise InputError(f"{self._first(0, k)}: the menu is empty; every menu must offer at least one item")
            if len(set(labels)) < len(labels):
                twice = next(x for i, x in enumerate(labels) if x in labels[:i])
                raise InputError(
                    f"{self._first(0, k)}: item {twice!r} stands twice in the menu {str(self.table.menus[k])[:60]!r}; "
                    "list it once"
                )
            found.append(labels)
        if self.roles.form == "losers" or any(isinstance(value, frozenset) for value in self.table.menus):
            self.ordered = []
        if texts:
            how = {"": "single letters, one an item", "[]": "lists"}.get(str(separator), f"separated by {separator!r}")
            self.notes.append(f"menus in column {self.roles.menu!r} are {how}")
        return found

    def _separator(self, texts: list[str]) -> str:
        """What stands between the items of menus written as texts; "[]" for lists, "" for single letters."""
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

    def _order_from_masks(self, members: list[Menu]) -> list[Item] | None:
        """The order of the items where a mask column stands beside the menus: bit k is the k-th item."""
        place: dict[Item, int] = {}
        for k, (m, mask_code, _) in enumerate(self.table.keys):
            mask = self._mask(self.table.extras[mask_code], 1, mask_code, self.roles.extra_column)
            bits = [b for b in range(mask.bit_length()) if mask >> b & 1]
            menu = members[m]
            if len(bits) != len(menu):
                raise InputError(
                    f"{self.table.where(k)}: mask {mask} has {len(bits)} items, but the menu {format_menu(menu)} "
                    f"has {len(menu)}; "
                    f"correct one, or leave one out with menu={self.roles.menu!r}"
                )
            for label, bit in zip(menu, bits, strict=True):
                if place.setdefault(label, bit) != bit:
                    raise InputError(
                        f"{self.table.where(k)}: mask {mask} makes {label!r} bit {bit}, but it was bit "
                        f"{place[label]} before; "
                        f"correct it, or pass menu={self.roles.menu!r} to leave the masks out"
                    )
        if len(set(place.values())) < len(place):
            raise InputError(f"{self.name}: column {self.roles.extra_column!r} gives two items the same bit")
        return sorted(place, key=lambda label: place[label])

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

    def _bases(self) -> tuple[int, ...]:
        return (self.options.base,) if isinstance(self.options.base, int) else (0, 1)

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
        names = {self._label(c): self._label(v) for c, v in self.roles.available.items()}
        known = set(labels) | set(names) | ({self.outside} if self.outside is not None else set())
        present = {v for v in values if v is not None}
        if present <= known or self.options.base == "label":
            return [v if v is None or v in labels else names.get(v, v) for v in values]
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
        for base in self._bases():
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
        if missing(value) and not (isinstance(value, str) and value and self._label(value) in known):
            return self.outside
        return self._label(value)

    def _numbered(self, numbers: list[int | None], labels: list[Item]) -> list[Item | None]:
        """Choices given as the number of an availability column, from 0 or from 1."""
        fits = []
        for base in self._bases():
            bad = 0
            for m, _, c in self.table.keys:
                number = numbers[c]
                bad += number is not None and not (
                    0 <= number - base < len(labels) and self.table.menus[m][number - base]
                )
            fits.append((bad, base))
        fits.sort()
        if len(fits) > 1 and fits[0][0] == fits[1][0] == 0:
            raise InputError(
                f"{self.name}: the choices in {self.roles.choice!r} are numbers of the availability columns, "
                "counted from 0 or "
                "from 1, and both fit; say base=0 or base=1 (--base)"
            )
        base = fits[0][1]
        self.notes.append(f"choices are column numbers counted from {base}: {base} is {labels[0]}")
        return [
            None if n is None else labels[n - base] if 0 <= n - base < len(labels) else self._label(n) for n in numbers
        ]

    def _with_winners(self, members: list[Menu], choices: list[Item | None]) -> list[Menu]:
        menus = []
        for k, (m, winner) in enumerate(zip(self.table.keys[:, 0].tolist(), choices, strict=True)):
            inside = winner in members[m]
            if inside and winner != self.outside:
                raise InputError(f"{self.table.where(k)}: the winner {winner!r} is among its own losers")
            menus.append(members[m] if winner is None or inside else (winner, *members[m]))
        return menus

    def _with_status_quo(
        self, members: list[Menu], key_menu: Ints, choices: list[Item | None]
    ) -> tuple[list[Menu], Ints]:
        """Menus with the status quo of their rows; a choice that is missing, or called so, means it."""
        column = str(self.roles.extra_column)
        values = [None if missing(v) else self._label(v) for v in self.table.extras]
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
        self, members: list[Menu], key_menu: Ints, choices: list[Item | None], labels: list[Item] | None
    ) -> Meaning:
        raw = self._items(members, labels)
        items = check_items(self._final(raw))
        position = {label: x for x, label in enumerate(raw)}
        sizes = np.fromiter(map(len, members), np.int64, len(members))
        require_memory(3.0 * len(members) * len(raw), f"a table of {len(members):,} menus and {len(raw):,} items")
        inside = np.zeros((len(members), len(raw)), np.bool_)
        place = np.fromiter((position[x] for menu in members for x in menu), np.int64, int(sizes.sum()))
        inside[np.repeat(np.arange(len(members)), sizes), place] = True
        item = np.fromiter((-1 if c is None else position.get(c, -1) for c in choices), np.int64, len(choices))
        wrong = (item < 0) | ~inside[key_menu, item]
        if wrong.any():
            k = int(np.argmax(wrong))
            self._report(k, members[key_menu[k]], choices[k])
        membership, number = unique_menus(inside)
        return Meaning(items, membership, number[key_menu], item, self.notes)

    def _report(self, k: int, menu: Menu, choice: Item | None) -> None:
        """Say what is wrong with a key."""
        if not menu:
            raise InputError(f"{self.table.where(k)}: the menu is empty; every menu must offer at least one item")
        if choice is None:
            raise InputError(
                f"{self.table.where(k)}: no choice is given; where choosing nothing was possible, name it with "
                "outside_option= (--outside-option); rows where the choice was not recorded are left out with missing="
            )
        code = (
            f"; where it stands for a choice not recorded, pass missing={choice}" if whole(choice) is not None else ""
        )
        raise InputError(
            f"{self.table.where(k)}: the choice {str(choice)[:40]!r} is not in the menu {short(menu)}; correct the row, or, "
            f"where it is always on offer, pass outside_option={str(choice)[:40]!r}{code}"
        )

    def _items(self, members: list[Menu], labels: list[Item] | None) -> list[Item]:
        """The labels in order, as they stand in the table."""
        seen: dict[Item, None] = dict.fromkeys(labels or [])
        for menu in members:
            seen.update(dict.fromkeys(menu))
        if self.options.items is not None:
            given = [self._label(x) for x in self.options.items]
            for label in seen:
                if label not in given:
                    raise InputError(f"{self.name}: item {label!r} is not among the items given: {short(given)}")
            return given
        if labels is None:
            first = [self.outside] if self.outside is not None and self.outside in seen else []
            rest = [x for x in seen if x not in first]
            ordered = first + (rest if self.options.menus is not None else sorted(rest, key=natural))
        else:
            ordered = [x for x in seen if x not in set(labels)] + list(labels)
        if len(ordered) > MOST_ITEMS:
            raise InputError(
                f"{self._where_label(str(list(seen)[MOST_ITEMS]))}: column {self.roles.menu!r} holds {len(ordered):,} "
                f"different items ({short(ordered)}); data can hold at most {MOST_ITEMS:,}: is this the menu column?"
            )
        if self.roles.extra not in ("mask", "number"):  # masks and numbers tell the items apart
            self._refuse_variants(ordered)
        for label in ordered:
            if isinstance(label, str) and INVISIBLE.search(label):
                self.notes.append(f"item {label!a} holds a character that cannot be seen (clean=True removes it)")
        return ordered

    def _refuse_variants(self, labels: list[Item]) -> None:
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
                names = [repr(x) if plainly else ascii(x) for x in (other, label)]
                raise InputError(
                    f"{self._where_label(label)}: items {names[0]} and {names[1]} (first in {self._where_label(other)}) "
                    f"differ only {how}; make them the same, or pass clean=True (--clean)"
                )
            seen[key] = label

    def _where_label(self, label: str) -> str:
        for k, (m, _, c) in enumerate(self.table.keys):
            if label in str(self.table.menus[m]) or label == str(self.table.choices[c]):
                return self.table.where(k)
        return self.name

    def _final(self, result: list[Item]) -> list[Item]:
        """The labels given, else those read; labels read from text are whole numbers where all of them are."""
        if self.options.items is not None:
            return list(self.options.items)
        return numbers_if_whole(result) if self.text or self.as_text else result

    def _label(self, value: Any) -> Item:
        """A label as it stands in the table: text in text files, any value elsewhere."""
        if isinstance(value, np.generic):
            value = value.item()
        if (self.text or self.as_text) and not isinstance(value, str):
            value = str(value)
        if self.options.clean and isinstance(value, str):
            return clean_label(value)
        result: Item = value
        return result

    def _first(self, column: int, code: int) -> str:
        """Where a value stands first."""
        hits = np.flatnonzero(self.table.keys[:, column] == code)
        return self.table.where(int(hits[0])) if len(hits) else self.name
