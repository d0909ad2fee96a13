"""Which column means what: by the arguments, by name, then by content. Ambiguity is an error that shows the options."""

from __future__ import annotations

from rumflow.data.labels import Item
from rumflow.data.readers.counting import Counting
from rumflow.data.readers.finding import strip_mark
from rumflow.data.readers.persons import point_out_persons
from rumflow.data.readers.roles import AFFIX, CHOSEN, Roles
from rumflow.data.readers.texts import find_separator
from rumflow.errors import InputError

#: Menus and choices are found by content only where there are at most this many different choices.
MOST_GUESSED = 500

#: Roles of which there is one column at most, looked for before the layout is known.
_FIRST = ("mask", "menu", "losers", "choice", "alternative", "menu_id", "status_quo")


class Recogniser(Counting):
    """Finds the roles of the columns of a source."""

    def run(self) -> Roles:
        """Decide the form and the columns."""
        several = self.several("menu"), self.several("choice")
        found = {role: self.find(role) for role in _FIRST}
        if not self.strict and self.options.available is None and not any(several) and (matrix := self._matrix(found)):
            return matrix
        roles = Roles("choices", menu_columns=list(several[0]), choice_columns=several[1])
        for role in ("count", "weight", "total", "subject", "group"):  # no menus and no choices, whatever they hold
            self.used |= set(self.called(role))
        self.ask_alternative(found, several)
        if not self.alternatives(roles, found):
            self._menu_and_choice(roles, found)
            self._extra(roles, found)
        self.people(roles)
        self.numbers(roles, found)
        if roles.form == "choices" and roles.counted:
            roles.form = "counts"
        point_out_persons(roles, self.sample, self.source.columns, self.options.subject)
        return roles

    def _menu_and_choice(self, roles: Roles, found: dict[str, str | None]) -> None:
        menu, mask, choice, item = found["menu"], found["mask"], found["choice"], found["alternative"]
        if roles.choice_columns:
            choice = item = None
        if not menu and self.options.menus is not None:
            menu = found["menu_id"]
        known = bool(menu or mask or roles.menu_columns)
        if found["menu_id"] and not known and (choice or item) and self.called_or_given("count"):
            if choice and item and self.sample.flags(choice) and self.options.count is None:
                raise self._ask_count(self.called("count"), [])
            roles.menu, roles.choice, roles.listed = found["menu_id"], self._taken(choice, item), True
            return
        if found["menu_id"] and not known and item and not choice and self.options.count is None:
            roles.menu, roles.choice, roles.listed = (
                found["menu_id"],
                item,
                True,
            )  # its count is looked for among the others
            return
        available = self.available({c for c in (choice, item) if c}) if not known else {}
        if choice and item:
            named = {name for name in ("choice", "alternative") if getattr(self.options, name) is not None}
            same = set(self.sample.values(choice)) == set(self.sample.values(item))
            if isinstance(self.options.count, str):
                choice = self._taken(choice, item)
            elif known and self.sample.flags(choice):
                roles.weight, choice = choice, item  # one row per alternative beside its menu: 1 where it was chosen
            elif named == {"alternative"} or (
                not named and self.called_or_given("count") and self._taken(choice, item) == item
            ):
                choice = item
            elif not named and (not same or known or available):
                raise self.ambiguous("choice", [choice, item])
        choice = choice or item
        if found["losers"] and choice and not menu:
            roles.form, roles.menu, roles.choice = "losers", found["losers"], choice
            return
        if available:
            roles.form, roles.available = "availability", available
            roles.ordered = self.options.available is not None
            roles.marked = all(AFFIX.search(name) for name in available)
            if not choice and not roles.choice_columns:
                roles.choice_columns = self._chosen_columns(available)
            if not roles.choice_columns:
                roles.choice = choice or self._choice_among(available)
            return
        if not known:
            if roles.choice_columns:
                raise self.missing("menu")
            menu, choice = self._pair(choice)
        if not choice and not roles.choice_columns:
            choice = self._choice_for(menu)
        roles.menu, roles.choice = menu, choice

    def _taken(self, choice: str | None, item: str | None) -> str | None:
        """Of a choice and an item column beside counts, the one that holds items."""
        return item if item and (not choice or self.sample.flags(choice)) else choice

    def _extra(self, roles: Roles, found: dict[str, str | None]) -> None:
        """The one column that may stand beside menu and choice."""
        given = self.options.status_quo
        if found["mask"] and roles.form == "choices" and not roles.listed:
            roles.extra, roles.extra_column = "mask", found["mask"]
        elif (number := self.find("number")) and roles.form == "choices":
            roles.extra, roles.extra_column = "number", number
        if found["status_quo"] and (given is not None or not roles.extra):
            if roles.extra or roles.form not in ("choices", "availability") or roles.listed:
                raise InputError(
                    f"{self.source.name}: status_quo={found['status_quo']!r} goes with menus as lists or as 0/1 columns, "
                    "not with bit masks or losers"
                )
            roles.extra, roles.extra_column = "status quo", found["status_quo"]

    def _chosen_columns(self, available: dict[str, Item]) -> dict[str, Item]:
        """0/1 columns marked as choices, one for each availability column."""
        marked = [c for c in self.source.columns if c not in available and CHOSEN.search(c) and self.sample.flags(c)]
        labels = strip_mark(CHOSEN, marked)
        return labels if len(marked) >= 2 and set(labels.values()) <= set(available.values()) else {}

    def _choice_among(self, available: dict[str, Item]) -> str:
        """The choice that goes with availability columns, by content."""
        labels = {str(v) for v in available.values()} | set(available)
        numbers = {str(k) for k in range(len(available) + 1)}
        rest = [c for c in self.source.columns if c not in available and c not in self.used]
        fits = [c for c in rest if (seen := {str(v) for v in self.sample.values(c)}) <= labels or (seen <= numbers)]
        if len(fits) == 1:
            return fits[0]
        raise self.missing("choice")

    def _choice_for(self, menu: str | None) -> str:
        rest = [c for c in self.source.columns if c != menu and c not in self.used]
        if len(rest) == 1:
            return rest[0]
        raise self.missing("choice")

    def _pair(self, choice: str | None) -> tuple[str, str | None]:
        """A menu column by content: its texts split into items, and the choices are among them."""
        rest = [c for c in self.source.columns if c not in self.used and c != choice]
        if self.options.menu is False:
            raise self.missing("menu")
        fits: list[tuple[str, str]] = []
        for menu in rest:
            for other in [choice] if choice else [c for c in rest if c != menu]:
                choices = {str(v) for v in self.sample.values(other)}
                members = find_separator([str(v) for v in self.sample.values(menu)], choices)
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
        raise self.missing("menu")

    def _matrix(self, found: dict[str, str | None]) -> Roles | None:
        """A matrix of counts by menu: every column numeric, 2^n or 2^n - 1 rows; no column is a menu or a choice."""
        columns = self.source.columns
        if any(found.values()) or not 2 <= len(columns) <= 12 or self.options.menu or self.options.choice:
            return None
        numeric = all(self.sample.numeric(c) for c in columns)
        return Roles("matrix") if numeric and not all(self.sample.flags(c) for c in columns) else None
