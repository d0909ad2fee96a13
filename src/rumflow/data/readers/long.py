"""Tables with one row for each alternative: recognised by a 0/1 choice, alternatives, and what says which rows are one choice."""

from __future__ import annotations

from rumflow.data.labels import Item
from rumflow.data.readers.content import Sample
from rumflow.data.readers.finding import Finder
from rumflow.data.readers.roles import AFFIX, Roles
from rumflow.errors import InputError


class LongTables(Finder):
    """Is each alternative a row, and which rows are one choice?"""

    def ask_alternative(self, found: dict[str, str | None], several: tuple[dict[str, Item], dict[str, Item]]) -> None:
        """An error where each choice has several rows, one of them marked, and no column is known to hold the alternatives."""
        choice, known = found["choice"], found["menu"] or found["mask"] or found["alternative"] or found["menu_id"]
        if (
            self.strict
            or not choice
            or known
            or any(several)
            or self.options.available
            or not self.sample.flags(choice)
        ):
            return
        if sum(AFFIX.search(c) is not None for c in self.source.columns) > 1:
            return
        given = self.options.observation
        names = [given] if isinstance(given, str) else [] if given is False else self.called("observation")
        for name in names:
            if self.sample.one_each(name, choice):
                rest = [c for c in self.source.columns if c not in (name, choice) and self.sample.different([name, c])]
                raise InputError(
                    f"{self.source.name}: {choice!r} is 1 in one row of each {name!r}: one row per alternative; name the column "
                    "of the alternatives with alternative= (--alternative)"
                    + (f"; it could be {', '.join(rest[:6])}" if rest else "")
                )

    def alternatives(self, roles: Roles, found: dict[str, str | None]) -> bool:
        """One row for each alternative: which rows are one choice is named, or tells the rows apart."""
        choice, alternative, given = found["choice"], found["alternative"], self.options.observation
        if given is False or not choice or not alternative or roles.menu_columns or roles.choice_columns:
            return False
        if given is not None:
            roles.observation = [given] if isinstance(given, str) else list(given)  # type: ignore[arg-type]
        elif not self.strict and self.options.menu is None and not found["mask"]:
            roles.observation = self._observation(alternative, choice, found)
        if not roles.observation:
            return False
        roles.form, roles.choice, roles.alternative = "alternatives", choice, alternative
        available = self.options.available
        if available is None and not self.strict:
            names = [c for c in self.called("availability") if self.sample.flags(c)]
            roles.available = {names[0]: names[0]} if len(names) == 1 else {}
        elif isinstance(available, str) or (isinstance(available, list) and len(available) == 1):
            name = available if isinstance(available, str) else available[0]
            roles.available = {name: name}
        elif available:
            raise InputError(
                f"{self.source.name}: available= (--available) is one 0/1 column where each alternative has its row; the "
                f"layout is "
                "that because observation= and alternative= are known: leave them out for one column per item"
            )
        return True

    def _observation(self, alternative: str, choice: str, found: dict[str, str | None]) -> list[str]:
        """The column that says which rows are one choice; [] where the table has another layout."""
        sample, menu = self.sample, found["menu"]
        if menu is not None and not sample.numeric(menu):
            return []
        names = [c for c in self.called("observation") if c not in (choice, alternative)]
        more = [
            *self.called("subject"),
            *([menu] if menu is not None else []),
            *([] if self.called_or_given("count") else self.called("menu_id")),
        ]
        fits = [c for c in names if sample.observations([c], alternative, choice)]
        fits = fits or [c for c in more if sample.observations([c], alternative, choice)]
        if fits:
            different = [c for c in fits if not _same_rows(sample, c, fits[0])]
            if different:
                raise self.ambiguous("observation", [fits[0], *different])
            return fits[:1]
        if menu is not None or self.available({choice, alternative}):
            return []
        pairs = [[a, b] for a in dict.fromkeys([*more, *names]) for b in names if a != b]
        pair = next((p for p in pairs if sample.observations(p, alternative, choice)), None)
        if pair is not None:
            raise InputError(
                f"{self.source.name}: one row per alternative; which rows are one choice says neither {pair[0]!r} nor "
                f"{pair[1]!r} alone, "
                f"but both together: say observation={pair!r} (--observation), or name another column"
            )
        if sample.flags(choice) and len(names) == 1 and not sample.different(names):
            return names  # rows that do not fit are reported with their line
        if len(names) > 1 and sample.flags(choice):
            raise self.ambiguous("observation", names)
        return []


def _same_rows(sample: Sample, one: str, other: str) -> bool:
    """Do two columns tell the same rows apart?"""
    both = sample.joined([one, other]).max(initial=-1)
    return bool(both == sample.codes(one).max(initial=-1) == sample.codes(other).max(initial=-1))
