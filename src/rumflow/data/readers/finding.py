"""Columns by role: as the caller named them, or by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rumflow.data.labels import Item
from rumflow.data.readers.coding import as_flag
from rumflow.data.readers.content import Sample
from rumflow.data.readers.roles import AFFIX, CHOSEN, NAMES, ROLES, WIDE, Options, plain
from rumflow.data.readers.sources import Chunk, Source
from rumflow.errors import InputError


class Finder:
    """The columns of a source that have a role; `strict` where the caller named the layout, so that nothing is guessed."""

    def __init__(self, source: Source, options: Options, sample: Chunk) -> None:
        self.source: Source = source
        self.options: Options = options
        self.sample: Sample = Sample(sample)
        self.strict: bool = options.complete
        self.explicit: set[str] = set()
        for role in ROLES:
            given = getattr(options, role.name)
            several = (
                [given] if isinstance(given, str) else [] if given is None or isinstance(given, bool) else list(given)
            )
            self._check_names(role.name, several)
            self.explicit |= set(several)
        self.used: set[str] = set(self.explicit)

    def several(self, role: str) -> dict[str, Item]:
        """Columns given as a list (or, for choices, as a mapping to labels)."""
        given = getattr(self.options, role)
        if given is None or isinstance(given, str | bool):
            return {}
        if not isinstance(given, Mapping):
            given = strip_mark(CHOSEN, list(given)) if role == "choice" else {name: name for name in given}
        return dict(given)

    def _check_names(self, role: str, names: Iterable[Any]) -> None:
        for name in names:
            if name not in self.source.columns:
                raise InputError(
                    f"{self.source.name}: there is no column {name!r} (given as {role}); the columns are "
                    f"{', '.join(self.source.columns[:20])}"
                )

    def find(self, role: str) -> str | None:
        """The column of a role of which there is one."""
        given = getattr(self.options, role, None)
        if isinstance(given, str):
            return given
        if given is not None or self.strict or (role in ("mask", "losers", "menu_id") and self.options.menu):
            return None  # there is none, there are several, or nothing is to be guessed
        names = [c for c in self.called(role) if not (role == "menu" and self.sample.flags(c))]
        if len(names) > 1:
            exact = [c for c in names if plain(c) == NAMES[role][0]]
            if len(exact) == 1 and role not in ("menu", "choice"):
                return exact[0]
            if self.options.available is None or role not in ("menu", "alternative"):
                raise self.ambiguous(role, names)
        return names[0] if names else None

    def called(self, role: str) -> list[str]:
        """The columns with a name of the role that the caller did not name for something."""
        return [c for c in self.source.columns if plain(c) in NAMES[role] and c not in self.explicit]

    def called_or_given(self, role: str) -> bool:
        """Is there a column of this role, by its name or by the caller?"""
        given = getattr(self.options, role)
        return isinstance(given, str) or (given is None and bool(self.called(role)))

    def available(self, taken: set[str]) -> dict[str, Item]:
        """The availability columns with their labels."""
        given = self.options.available
        if isinstance(given, Mapping):
            return dict(given)
        if isinstance(given, str):
            raise InputError(
                f"{self.source.name}: available={given!r} (--available): name a 0/1 column for each item, or, where each "
                f"alternative has "
                "its row, observation= and alternative= as well"
            )
        if given is not None:
            return strip_mark(AFFIX, list(given)) if given else {}  # type: ignore[arg-type]
        if self.strict:
            return {}
        taken = taken | self.used
        names = [
            c
            for c in self.source.columns
            if c not in taken and self.sample.flags(c) and plain(c) not in NAMES["observation"] and not CHOSEN.search(c)
        ]
        marked = [c for c in names if AFFIX.search(c)]
        if len(marked) >= 2:  # TRAIN_AV and the like: other 0/1 columns are something else
            return strip_mark(AFFIX, marked)
        names = self._with_suspects(names, taken) if len(names) >= 2 else names
        return strip_mark(AFFIX, names) if len(names) >= 2 else {}

    def _with_suspects(self, names: list[str], taken: set[str]) -> list[str]:
        """Columns that would be availability but for a wrong value, where the choices ask for them; they are reported later."""
        values = self.sample.values
        choices = {str(v) for c in self.source.columns if plain(c) in NAMES["choice"] for v in values(c)}
        numbers = [int(c) for c in choices if c.isdecimal()]
        beyond = len(numbers) == len(choices) > 0 and max(numbers) > len(names)
        suspects = [
            c
            for c in self.source.columns
            if c not in taken
            and c not in names
            and (beyond or c in choices)
            and any(as_flag(v) is not None for v in values(c))
        ]
        return [c for c in self.source.columns if c in names or c in suspects]

    def ambiguous(self, role: str, names: Sequence[str]) -> InputError:
        """Several columns could have the role."""
        return InputError(
            f"{self.source.name}: the {role} could be column {' or '.join(repr(c) for c in names[:6])}; say which, "
            f"such as {role}={names[0]!r} (--{role} {names[0]})"
        )

    def missing(self, role: str) -> InputError:
        """No column has a role that is needed."""
        others = (
            ", or have a 0/1 availability column for each item; where each row is an alternative of a choice, name observation=, "
            f"alternative= and choice= (--observation, --alternative, --choice){WIDE}"
        )
        hint = others if role == "menu" else ""
        return InputError(
            f"{self.source.name}, line 1: no {role} column found among {', '.join(self.source.columns[:12])}"
            f"{', ...' if len(self.source.columns) > 12 else ''}; name it with {role}= (--{role}){hint}"
        )


def strip_mark(affix: re.Pattern[str], names: list[str]) -> dict[str, Item]:
    """Labels of 0/1 columns: `TRAIN_AV`, `choice_train` and the like without that part, where every name has it."""
    marked = all(affix.search(name) for name in names)
    return {name: affix.sub("", name) if marked else name for name in names}
