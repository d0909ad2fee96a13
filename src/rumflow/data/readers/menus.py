"""From what stands in a table (texts, lists, bit masks, ids, 0/1 columns) to menus over numbered items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.core.lattice import MAX_ITEMS
from rumflow.data.labels import Item, check_items, format_menu
from rumflow.data.readers.columns import Options, Roles
from rumflow.data.readers.texts import (
    SEPARATORS,
    WHOLE,
    find_separator,
    missing,
    natural,
    parse_list,
    short,
    split_text,
    whole,
)
from rumflow.errors import InputError


@dataclass(frozen=True)
class Distinct:
    """The different (menu, mask, choice) that stand in a table, and where each stands first."""

    menus: list[Any]  # the different menus; None throughout where there is no such column
    masks: list[Any]
    choices: list[Any]
    keys: NDArray[np.int64]  # (K, 3) into the three lists
    where: Callable[[int], str]  # key number -> "file, line 17"


@dataclass(frozen=True)
class Meaning:
    """Items, and for every key its menu (bit mask) and its item number."""

    items: tuple[Item, ...]
    masks: NDArray[np.int64]
    choices: NDArray[np.int64]
    notes: list[str]


class Interpreter:
    """Gives every key of a table its menu and its item."""

    def __init__(self, name: str, text: bool, roles: Roles, options: Options, table: Distinct) -> None:
        self.name, self.text, self.roles, self.options, self.table = name, text, roles, options, table
        self.notes: list[str] = []
        self.outside = None if options.outside_option is None else self._label(options.outside_option)

    def run(self) -> Meaning:
        """Menus and choices of all keys, checked."""
        if self.roles.form == "availability":
            members, labels = self._from_flags()
        elif self.options.menus is not None:
            members, labels = self._from_ids(self.options.menus), None
        elif self.roles.menu is None or self._menu_is_mask():
            members, labels = self._from_masks()
        else:
            members = self._from_lists()
            labels = self._order_from_masks(members) if self.roles.mask else None
        if self.outside is not None:
            members = [m if self.outside in m else (self.outside, *m) for m in members]
        choices = self._choices(labels)
        if self.roles.form == "losers":
            members = self._with_winners(members, choices)
            key_menu = np.arange(len(self.table.keys))
        else:
            key_menu = self.table.keys[:, 0 if self.roles.menu or self.roles.form == "availability" else 1]
        return self._number(members, key_menu, choices, labels)

    def _from_flags(self) -> tuple[list[tuple[Item, ...]], list[Item]]:
        labels = [self._label(label) for label in self.roles.available.values()]
        return [tuple(labels[x] for x in range(len(labels)) if mask >> x & 1) for mask in self.table.menus], labels

    def _from_ids(self, given: Sequence[Iterable[Item]] | Mapping[Any, Iterable[Item]]) -> list[tuple[Item, ...]]:
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
            self.roles.mask
            or self.options.separator is not None
            or not all(whole(v) is not None for v in values if not missing(v))
        ):
            return False
        numbers = [n for v in values if (n := whole(v)) is not None]
        return len(numbers) > 0 and max(numbers) > 0

    def _from_masks(self) -> tuple[list[tuple[Item, ...]], list[Item]]:
        """Bit masks: bit k is the k-th item."""
        column, at = (self.roles.mask, 1) if self.roles.menu is None else (self.roles.menu, 0)
        values = [self._mask(v, at, k, column) for k, v in enumerate(self.table.menus if at == 0 else self.table.masks)]
        width = max(values).bit_length()
        if width > MAX_ITEMS:
            k = int(np.argmax(values))
            raise InputError(
                f"{self._first(at, k)}: bit mask {values[k]} has {width} bits; at most {MAX_ITEMS} items are possible"
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
        for base in (0, 1) if self.options.base is None else (self.options.base,):
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

    def _from_lists(self) -> list[tuple[Item, ...]]:
        texts = [v for v in self.table.menus if isinstance(v, str)]
        choices = {c for c in self.table.choices if isinstance(c, str) and c.strip()}
        if self.outside is not None:
            choices -= {str(self.outside)}
        separator = self.options.separator
        if separator is None and texts:
            separator = find_separator(texts, choices)
            if separator is None:
                separator = self._best_separator(texts)
        found = []
        for k, value in enumerate(self.table.menus):
            if isinstance(value, str):
                parsed = parse_list(value.strip()) if separator in (None, "[]") or value.strip()[:1] == "[" else None
                menu: Sequence[Any] = (
                    split_text(value, separator or ",")
                    if parsed is None and separator != ""
                    else (parsed if parsed is not None else split_text(value, ""))
                )
            elif missing(value):
                menu = []
            else:
                menu = list(value) if isinstance(value, tuple | list | frozenset | set) else [value]
            labels = tuple(self._label(x) for x in menu)
            if not labels and self.outside is None and self.roles.form != "losers":
                raise InputError(f"{self._first(0, k)}: the menu is empty; every menu must offer at least one item")
            if len(set(labels)) < len(labels):
                twice = next(x for i, x in enumerate(labels) if x in labels[:i])
                raise InputError(
                    f"{self._first(0, k)}: item {twice!r} stands twice in the menu {str(value)[:60]!r}; list it once"
                )
            found.append(labels)
        if texts and separator:
            self.notes.append(
                f"menus in column {self.roles.menu!r} are "
                + ("lists" if separator == "[]" else f"separated by {separator!r}")
            )
        elif texts:
            self.notes.append(f"menus in column {self.roles.menu!r} are single letters, one an item")
        return found

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

    def _order_from_masks(self, members: list[tuple[Item, ...]]) -> list[Item] | None:
        """The order of the items where a mask column stands beside the menus: bit k is the k-th item."""
        place: dict[Item, int] = {}
        for k, (m, mask_code, _) in enumerate(self.table.keys):
            mask = self._mask(self.table.masks[mask_code], 1, mask_code, self.roles.mask)
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
            raise InputError(f"{self.name}: column {self.roles.mask!r} gives two items the same bit")
        return sorted(place, key=lambda label: place[label])

    def _choices(self, labels: list[Item] | None) -> list[Item | None]:
        values = [self._choice_value(v) for v in self.table.choices]
        if self.roles.form != "availability" or labels is None:
            return values
        names = {self._label(c): self._label(v) for c, v in self.roles.available.items()}
        known = set(labels) | set(names) | ({self.outside} if self.outside is not None else set())
        present = {v for v in values if v is not None}
        if present <= known:
            return [v if v is None or v in labels else names.get(v, v) for v in values]
        numbers = [None if v is None else whole(v) for v in values]
        if any(n is None for n, v in zip(numbers, values, strict=True) if v is not None):
            return values
        return self._numbered(numbers, labels)

    def _choice_value(self, value: Any) -> Item | None:
        return self.outside if missing(value) else self._label(value)

    def _numbered(self, numbers: list[int | None], labels: list[Item]) -> list[Item | None]:
        """Choices given as the number of an availability column, from 0 or from 1."""
        fits = []
        for base in (0, 1) if self.options.base is None else (self.options.base,):
            bad = 0
            for m, _, c in self.table.keys:
                number = numbers[c]
                bad += number is not None and not (
                    0 <= number - base < len(labels) and self.table.menus[m] >> (number - base) & 1
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

    def _with_winners(self, members: list[tuple[Item, ...]], choices: list[Item | None]) -> list[tuple[Item, ...]]:
        menus = []
        for k, (m, _, c) in enumerate(self.table.keys):
            winner = choices[c]
            if winner in members[m] and winner != self.outside:
                raise InputError(f"{self.table.where(k)}: the winner {winner!r} is among its own losers")
            menus.append(members[m] if winner is None or winner in members[m] else (winner, *members[m]))
        return menus

    def _number(
        self,
        members: list[tuple[Item, ...]],
        key_menu: NDArray[np.int64],
        choices: list[Item | None],
        labels: list[Item] | None,
    ) -> Meaning:
        raw = self._items(members, labels)
        items = check_items(self._final(raw))
        position = {label: x for x, label in enumerate(raw)}
        masks = [sum(1 << position[x] for x in menu) for menu in members]
        out_mask, out_item = np.empty(len(key_menu), np.int64), np.empty(len(key_menu), np.int64)
        for k, (menu, choice_code) in enumerate(zip(key_menu, self.table.keys[:, 2], strict=True)):
            choice = choices[choice_code]
            if masks[menu] == 0:
                raise InputError(f"{self.table.where(k)}: the menu is empty; every menu must offer at least one item")
            if choice is None:
                raise InputError(
                    f"{self.table.where(k)}: no choice is given; where choosing nothing was possible, name it with "
                    "outside_option= "
                    "(--outside-option)"
                )
            x = position.get(choice, -1)
            if x < 0 or not masks[menu] >> x & 1:
                raise InputError(
                    f"{self.table.where(k)}: the choice {choice!r} is not in the menu {short(members[menu])}; "
                    "correct the row, or, "
                    f"where it is always on offer, pass outside_option={choice!r}"
                )
            out_mask[k], out_item[k] = masks[menu], x
        return Meaning(items, out_mask, out_item, self.notes)

    def _items(self, members: list[tuple[Item, ...]], labels: list[Item] | None) -> list[Item]:
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
            ordered = [x for x in seen if x not in labels] + list(labels)
        if len(ordered) > MAX_ITEMS:
            raise InputError(
                f"{self._where_label(str(list(seen)[MAX_ITEMS]))}: column {self.roles.menu!r} holds {len(ordered)} "
                "different items "
                f"({short(ordered)}); at most {MAX_ITEMS} are possible: is this the menu column?"
            )
        self._refuse_variants(ordered)
        return ordered

    def _refuse_variants(self, labels: list[Item]) -> None:
        """Two labels that differ by blanks or case only are most likely one."""
        seen: dict[str, Item] = {}
        for label in labels:
            if not isinstance(label, str):
                continue
            key = "".join(label.split()).casefold()
            if key in seen and len(label) > 1:
                other = seen[key]
                raise InputError(
                    f"{self._where_label(str(label))}: items {other!r} and {label!r} (first in "
                    f"{self._where_label(str(other))}) differ "
                    "only by blanks or case; make them the same, or pass clean=True (--clean)"
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
        if self.text and all(isinstance(x, str) and WHOLE.match(x) for x in result):
            return [int(str(x)) for x in result]
        return result

    def _label(self, value: Any) -> Item:
        """A label as it stands in the table: text in text files, any value elsewhere."""
        if isinstance(value, np.generic):
            value = value.item()
        if self.text and not isinstance(value, str):
            value = str(value)
        if self.options.clean and isinstance(value, str):
            return " ".join(value.split()).casefold()
        result: Item = value
        return result

    def _first(self, column: int, code: int) -> str:
        """Where a value stands first."""
        hits = np.flatnonzero(self.table.keys[:, column] == code)
        return self.table.where(int(hits[0])) if len(hits) else self.name
