"""Which column means what: by the arguments, by name, then by content. Ambiguity is an error that shows the options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rumflow.data.labels import Item
from rumflow.data.readers.coding import as_flag, clean_value
from rumflow.data.readers.roles import AFFIX, CHOSEN, NAMES, Options, Roles, plain
from rumflow.data.readers.sources import Chunk, Coded, Source
from rumflow.data.readers.texts import find_separator
from rumflow.errors import InputError

#: Menus and choices are found by content only where there are at most this many different choices.
MOST_GUESSED = 500


class Recogniser:
    """Finds the roles of the columns of a source."""

    def __init__(self, source: Source, options: Options, sample: Chunk) -> None:
        self.source, self.options = source, options
        self.values = {name: _distinct(sample.columns[name]) for name in source.columns}
        self.used: set[str] = set()
        self.explicit = {v for v in vars(options).values() if isinstance(v, str)}
        for several in (options.available, options.group, options.menu, options.choice):
            self.explicit |= set(several) if isinstance(several, list | tuple | Mapping) else set()

    def run(self) -> Roles:
        """Decide the form and the columns."""
        several = self._several("menu"), self._several("choice")
        found = {
            role: self._find(role) for role in ("mask", "menu", "losers", "choice", "item", "menu_id", "status_quo")
        }
        if self.options.available is None and not any(several) and (matrix := self._matrix(found)):
            return matrix
        count, weight = self._find("count"), self._find("weight")
        if count and weight and self.options.count is None and self.options.weight is None:
            raise InputError(
                f"{self.source.name}: {count!r} looks like a count and {weight!r} like a weight; say which to use: "
                f"count={count!r} or weight={weight!r} (--count, --weight)"
            )
        if count and weight:
            count, weight = (count, None) if self.options.count else (None, weight)
        roles = Roles("choices", weight=count or weight, counted=count is not None)
        roles.menu_columns, roles.choice_columns = list(several[0]), several[1]
        roles.subject, roles.total = self._find("subject"), self._find("total") if count else None
        roles.group = self._groups()
        self.used |= {c for c in [count, weight, roles.subject, roles.total, *roles.group] if c}
        self.used |= {*several[0], *several[1]}
        self._menu_and_choice(roles, found)
        self._extra(roles, found)
        if roles.form == "choices" and roles.counted:
            roles.form = "counts"
        return roles

    def _menu_and_choice(self, roles: Roles, found: dict[str, str | None]) -> None:
        menu, mask, choice, item = found["menu"], found["mask"], found["choice"], found["item"]
        if roles.choice_columns:
            choice = item = None
        if not menu and self.options.menus is not None:
            menu = found["menu_id"]
        known = bool(menu or mask or roles.menu_columns)
        if found["menu_id"] and not known and roles.counted and (choice or item):
            roles.menu, roles.choice, roles.listed = found["menu_id"], self._taken(choice, item), True
            return
        available = self._available(taken=self.used | {c for c in (choice, item) if c}) if not known else {}
        if choice and item and not (known or available):
            flags = self._flags(choice)
            observation = self._find("observation") or (self._find("subject") if flags else None)
            if flags and observation:
                roles.form, roles.choice, roles.menu, roles.observation = "alternatives", choice, item, observation
                return
        if choice and item and self.options.choice is None and self.options.item is None:
            if roles.counted:
                choice = self._taken(choice, item)
            elif known and roles.weight is None and self._flags(choice):
                roles.weight, choice = choice, item  # one row per alternative beside its menu: 1 where it was chosen
            elif set(self.values[choice]) != set(self.values[item]) or known or available:
                raise self._ambiguous("choice", [choice, item])
        choice = choice or item
        if found["losers"] and choice and not menu:
            roles.form, roles.menu, roles.choice = "losers", found["losers"], choice
            return
        if available:
            roles.form, roles.available = "availability", available
            if not choice and not roles.choice_columns:
                roles.choice_columns = self._chosen_columns(available)
            if not roles.choice_columns:
                roles.choice = choice or self._choice_among(available)
            return
        if not known:
            if roles.choice_columns:
                raise self._missing("menu", [])
            menu, choice = self._pair(choice)
        if not choice and not roles.choice_columns:
            choice = self._choice_for(menu)
        roles.menu, roles.choice = menu, choice

    def _taken(self, choice: str | None, item: str | None) -> str | None:
        """Of a choice and an item column beside counts, the one that holds items."""
        return item if item and (not choice or self._flags(choice)) else choice

    def _extra(self, roles: Roles, found: dict[str, str | None]) -> None:
        """The one column that may stand beside menu and choice."""
        given = self.options.status_quo
        if found["mask"] and roles.form == "choices" and not roles.listed:
            roles.extra, roles.extra_column = "mask", found["mask"]
        elif (number := self._find("number")) and roles.form == "choices":
            roles.extra, roles.extra_column = "number", number
        if found["status_quo"] and (given is not None or not roles.extra):
            if roles.extra or roles.form not in ("choices", "availability") or roles.listed:
                raise InputError(
                    f"{self.source.name}: status_quo={found['status_quo']!r} goes with menus as lists or as 0/1 columns, "
                    "not with bit masks or losers"
                )
            roles.extra, roles.extra_column = "status quo", found["status_quo"]

    def _several(self, role: str) -> dict[str, Item]:
        """Columns given as a list (or, for choices, as a mapping to labels)."""
        given = getattr(self.options, role)
        if given is None or isinstance(given, str | bool):
            return {}
        if not isinstance(given, Iterable):
            raise InputError(f"{role}={given!r}: the name of a column is needed, or a list of names")
        self._check_names(role, given)
        if not isinstance(given, Mapping):
            given = _strip(CHOSEN, list(given)) if role == "choice" else {name: name for name in given}
        return dict(given)

    def _check_names(self, role: str, names: Iterable[Any]) -> None:
        for name in names:
            if name not in self.source.columns:
                raise InputError(
                    f"{self.source.name}: there is no column {name!r} (given as {role}); the columns are "
                    f"{', '.join(self.source.columns[:20])}"
                )

    def _given(self, role: str) -> str | bool | None:
        value = getattr(self.options, role, None)
        if isinstance(value, str):
            self._check_names(role, [value])
        return value if isinstance(value, str | bool) else None

    def _find(self, role: str) -> str | None:
        given = self._given(role)
        if given is False or (role in ("mask", "losers", "menu_id") and self.options.menu):
            return None
        if role in ("menu", "choice") and isinstance(getattr(self.options, role), Sequence | Mapping) and given is None:
            return None  # several columns
        if isinstance(given, str):
            self.used.add(given)
            return given
        names = self._called(role)
        if len(names) > 1:
            exact = [c for c in names if plain(c) == NAMES[role][0]]
            if len(exact) == 1 and role not in ("menu", "choice"):
                return exact[0]
            if self.options.available is None or role not in ("menu", "item"):
                raise self._ambiguous(role, names)
        return names[0] if names else None

    def _groups(self) -> list[str]:
        given = self.options.group
        if given is False:
            return []
        if given is None or given is True:
            return self._called("group")
        names = [given] if isinstance(given, str) else list(given)
        self._check_names("group", names)
        return names

    def _called(self, role: str) -> list[str]:
        """The columns with a name of the role that the caller did not name for something."""
        return [c for c in self.source.columns if plain(c) in NAMES[role] and c not in self.explicit]

    def _available(self, taken: set[str]) -> dict[str, Item]:
        """The availability columns with their labels."""
        given = self.options.available
        if given is not None:
            self._check_names("available", given)
            return dict(given) if isinstance(given, Mapping) else {name: name for name in given}
        names = [
            c
            for c in self.source.columns
            if c not in taken and self._flags(c) and plain(c) not in NAMES["observation"] and not CHOSEN.search(c)
        ]
        marked = [c for c in names if AFFIX.search(c)]
        if len(marked) >= 2:  # TRAIN_AV and the like: other 0/1 columns are something else
            return _strip(AFFIX, marked)
        names = self._with_suspects(names, taken) if len(names) >= 2 else names
        return _strip(AFFIX, names) if len(names) >= 2 else {}

    def _with_suspects(self, names: list[str], taken: set[str]) -> list[str]:
        """Columns that would be availability but for a wrong value, where the choices ask for them; they are reported later."""
        choices = {str(v) for c in self.source.columns if plain(c) in NAMES["choice"] for v in self.values[c]}
        numbers = [int(c) for c in choices if c.isdecimal()]
        beyond = len(numbers) == len(choices) > 0 and max(numbers) > len(names)
        suspects = [
            c
            for c in self.source.columns
            if c not in taken
            and c not in names
            and (beyond or c in choices)
            and any(as_flag(v) is not None for v in self.values[c])
        ]
        return [c for c in self.source.columns if c in names or c in suspects]

    def _flags(self, column: str) -> bool:
        return all(as_flag(v) is not None for v in self.values[column])

    def _chosen_columns(self, available: dict[str, Item]) -> dict[str, Item]:
        """0/1 columns marked as choices, one for each availability column."""
        marked = [c for c in self.source.columns if c not in available and CHOSEN.search(c) and self._flags(c)]
        labels = _strip(CHOSEN, marked)
        return labels if len(marked) >= 2 and set(labels.values()) <= set(available.values()) else {}

    def _choice_among(self, available: dict[str, Item]) -> str:
        """The choice that goes with availability columns, by content."""
        labels = {str(v) for v in available.values()} | set(available)
        numbers = {str(k) for k in range(len(available) + 1)}
        rest = [c for c in self.source.columns if c not in available and c not in self.used]
        fits = [c for c in rest if (seen := {str(v) for v in self.values[c]}) <= labels or (seen <= numbers)]
        if len(fits) == 1:
            return fits[0]
        raise self._missing("choice", fits or rest)

    def _choice_for(self, menu: str | None) -> str:
        rest = [c for c in self.source.columns if c != menu and c not in self.used]
        if len(rest) == 1:
            return rest[0]
        raise self._missing("choice", rest)

    def _pair(self, choice: str | None) -> tuple[str, str | None]:
        """A menu column by content: its texts split into items, and the choices are among them."""
        rest = [c for c in self.source.columns if c not in self.used and c != choice]
        fits: list[tuple[str, str]] = []
        for menu in rest:
            for other in [choice] if choice else [c for c in rest if c != menu]:
                choices = {str(v) for v in self.values[other]}
                members = find_separator([str(v) for v in self.values[menu]], choices)
                if members is not None and len(choices) <= MOST_GUESSED:
                    fits.append((menu, other))
        if len(fits) == 1:
            menu, other = fits[0]
            if self.source.text and find_separator([menu], {other}) is not None:
                raise InputError(
                    f"{self.source.name}, line 1: the first line looks like data ({menu!r}, {other!r}), not like a "
                    "header; add a line with the column names, such as menu,choice"
                )
            return menu, other
        if fits:
            raise InputError(
                f"{self.source.name}: menu and choice could be "
                + " or ".join(f"{m!r} and {c!r}" for m, c in fits[:4])
                + "; say which with menu= and choice= (--menu, --choice)"
            )
        raise self._missing("menu", rest)

    def _matrix(self, found: dict[str, str | None]) -> Roles | None:
        """A matrix of counts by menu: every column numeric, 2^n or 2^n - 1 rows; no column is a menu or a choice."""
        n = len(self.source.columns)
        if any(found.values()) or n > 12 or self.options.menu or self.options.choice:
            return None
        numeric = all(_is_number(v) for c in self.source.columns for v in self.values[c])
        return Roles("matrix") if numeric and n >= 2 and not all(self._flags(c) for c in self.source.columns) else None

    def _ambiguous(self, role: str, names: Sequence[str]) -> InputError:
        return InputError(
            f"{self.source.name}: the {role} could be column {' or '.join(repr(c) for c in names[:6])}; say which, "
            f"such as {role}={names[0]!r} (--{role} {names[0]})"
        )

    def _missing(self, role: str, names: Sequence[str]) -> InputError:
        hint = "" if role == "choice" else ", or have a 0/1 availability column for each item"
        return InputError(
            f"{self.source.name}, line 1: no {role} column found among {', '.join(self.source.columns[:12])}"
            f"{', ...' if len(self.source.columns) > 12 else ''}; name it with {role}= (--{role}){hint}"
        )


def _distinct(column: Any) -> list[Any]:
    """The different values of a column of the sample, missing ones left out."""
    if isinstance(column, Coded):
        return [v for v in column.values if v is not None]
    some: Any = column[:20000]
    if isinstance(some, np.ndarray) and some.dtype.kind in "biuf":
        some = np.unique(some)
    elif set(map(type, some)) <= {str, int}:
        some = dict.fromkeys(some)
    seen: dict[Any, None] = {}
    for value in some:
        try:
            key = value if isinstance(value, str) else clean_value(value)
        except InputError:  # reported where the column is used
            key = type(value).__name__
        if key is not None and key != "":
            seen.setdefault(key)
    return list(seen)


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return str(value).strip() in ("", "NA", "nan")
    return True


def _strip(affix: re.Pattern[str], names: list[str]) -> dict[str, Item]:
    """Labels of 0/1 columns: `TRAIN_AV`, `choice_train` and the like without that part, where every name has it."""
    marked = all(affix.search(name) for name in names)
    return {name: affix.sub("", name) if marked else name for name in names}
