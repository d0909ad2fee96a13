"""What `explain` found: conflicts, each menu's influence, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rumflow.data.design import TINY
from rumflow.data.labels import Item, count_items
from rumflow.inference.conflicts.inequality import Inequality, Term
from rumflow.inference.conflicts.patterns import Pattern
from rumflow.inference.notes import ASSUMPTION
from rumflow.models.model import Model
from rumflow.models.random_utility import RandomUtility
from rumflow.output.files import plain
from rumflow.output.names import WRAPPED, how_many, list_menu, name_menu
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.text import visible

#: Rows of the table in the summary; menus of a conflict, and shares of a menu, that it names.
MOST_ROWS, MOST_MENUS, MOST_SHARES = 10, 8, 6


@dataclass(frozen=True, eq=False)
class Conflict:
    """Menus whose shares no population of the model has, although it has those of all but any one of them.

    Attributes
    ----------
    menus : tuple of tuples
        The menus in conflict.
    cells : tuple of (menu, item)
        Shares that are enough for the conflict.
    shares : tuple of dict
        The recorded shares of each menu.
    inequality : Inequality
        An inequality that every population satisfies and these shares violate.
    pattern : Pattern or None
        The classic pattern that the conflict is, if any.
    distance : float
        Distance of these menus alone to the model.
    pvalue : float or None
        P-value of a test of these menus, not adjusted for the search; None for exact shares.
    irreducible : bool
        Verified by a projection (or test) of the set less each of its menus.
    block_marschak : tuple of (menu, item, multiplier, value), or None
        Negative Block-Marschak terms that the inequality is a sum of.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> conflict = rf.explain(data, level=None).conflicts[0]
    >>> conflict.menus, conflict.irreducible
    ((('a', 'b'), ('a', 'b', 'c')), True)
    """

    menus: tuple[tuple[Item, ...], ...]
    cells: tuple[tuple[tuple[Item, ...], Item], ...]
    shares: tuple[dict[Item, float], ...]
    inequality: Inequality
    pattern: Pattern | None
    distance: float
    pvalue: float | None
    irreducible: bool
    block_marschak: tuple[tuple[tuple[Item, ...], Item, float, float], ...] | None = None

    def lines(self, items: tuple[Item, ...]) -> list[str]:
        """Return the conflict in words, line by line."""
        found = []
        for menu, shares in list(zip(self.menus, self.shares, strict=True))[:MOST_MENUS]:
            largest = sorted(shares.items(), key=lambda one: -one[1])[:MOST_SHARES]
            left = len(shares) - len(largest)
            rest = "" if not left else ", 1 other" if left == 1 else f", {left} others"
            text = ", ".join(f"{visible(item)} {100 * share:.1f} %" for item, share in largest)
            found.append(f"  {list_menu(items, menu)}: {text}{rest}")
        if len(self.menus) > MOST_MENUS:
            found.append(f"  ... and {len(self.menus) - MOST_MENUS} more menus")
        if self.pattern is not None:
            found.append(f"  Pattern: {self.pattern.name}. {self.pattern.text}")
        error = self.inequality.error
        beyond = "" if not error else f" ({self.inequality.excess / error:.1f} standard errors beyond)"
        found.append(f"  {self.inequality.text[:-1]}{beyond}.")
        for menu, item, multiplier, value in (self.block_marschak or ())[:3]:
            times = "" if multiplier == 1 else f"{multiplier:g} x "
            found.append(
                f"  Block-Marschak term: {times}{visible(item)} from {list_menu(items, menu)}: {value:.4g} < 0"
            )
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Which menus are in conflict with each other, and how much each of them matters.

    Attributes
    ----------
    conflicts : tuple of Conflict
        The smallest first.
    complete : bool
        Whether there is no other irreducible conflict.
    leads : tuple of tuples of menus
        Where all menus together are not rejected: sets of menus that are unlikely by chance nevertheless.
    influence : dict of lists
        By menu, the most influential first: menu, choices, share (of the squared distance), distance_without,
        pvalue_without (of the data less this menu: an upper bound where the rejection was clear after some of the
        replicates, a rough number where it was clear after some that there is none; None where it was not computed), named
        (share of the half-samples whose conflict has it), conflicts (the numbers of those listed that have it, from 1).
    block_marschak : tuple of (menu, item, value), or None
        Negative terms of complete data, worst first; None where the data are not complete.
    distance : float
        Distance of all menus to the model.
    pvalue : float or None
        Of the test of all menus; None for exact shares.
    level : float or None
        Level of the tests; None for exact shares.
    n_boot : int
        Replicates of each test at most.
    halves : int
        Number of half-samples that `named` is computed from.
    rejected : int
        How many of these were rejected at the level, and named menus.
    seed : int
        The same seed gives the same result.
    items : tuple
        Labels of the items.
    n_observations : float or None
        Number of choices, where it is known.
    interrupted : bool
        Whether Ctrl-C stopped the search.
    seconds : float
        Time taken.
    model : Model or None
        None: random utility.
    n_independent : dict of menu to float
        Number of independent choices (with `by_subject`, of subjects) from each menu: fewer than choices where weights
        differ; empty for exact shares.
    by_subject : bool
        Whether whole subjects were drawn.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> explanation = rf.explain(data, level=None)
    >>> explanation.verdict
    'No population of utility maximisers has the shares of these menus.'
    >>> explanation.pattern, explanation.complete
    ('attraction', True)
    """

    _named = (
        "verdict", "items", "distance", "pvalue", "level", "n_boot", "halves", "seed", "complete", "leads", "notes",
        "interrupted", "seconds",
    )  # fmt: skip
    _listed = "influence"

    conflicts: tuple[Conflict, ...]
    complete: bool
    leads: tuple[tuple[tuple[Item, ...], ...], ...]
    influence: dict[str, list[Any]]
    block_marschak: tuple[Term, ...] | None
    distance: float
    pvalue: float | None
    level: float | None
    n_boot: int
    halves: int
    rejected: int
    seed: int
    items: tuple[Item, ...]
    n_observations: float | None
    interrupted: bool
    seconds: float
    model: Model | None = None
    n_independent: dict[tuple[Item, ...], float] = field(default_factory=dict)
    by_subject: bool = False

    @property
    def conflict(self) -> tuple[tuple[Item, ...], ...]:
        """The menus of the first conflict; empty where there is none."""
        return self.conflicts[0].menus if self.conflicts else ()

    @property
    def inequality(self) -> Inequality | None:
        """The inequality of the first conflict; None where there is none."""
        return self.conflicts[0].inequality if self.conflicts else None

    @property
    def pattern(self) -> str | None:
        """The name of the classic pattern of the first conflict; see `rumflow.inference.conflicts.patterns`."""
        first = self.conflicts[0].pattern if self.conflicts else None
        return None if first is None else first.name

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        count, words = len(self.conflicts), (self.model or RandomUtility()).words()
        if self.level is None:
            if not count:
                return f"There is no conflict: some population of {words.people} has exactly these shares."
            these = "these menus" if count == 1 else f"each of these {count} sets of menus"
            return f"No population of {words.people} has the shares of {these}."
        if self.pvalue is None:
            return "The search was interrupted before the data were tested."
        p = f"p = {self.pvalue:.3g}, at most {self.n_boot} replicates"
        if self.distance == 0:
            return f"There is no conflict: the observed shares are those of a population of {words.people}."
        if self.pvalue > self.level:
            return f"There is no conflict that sampling error could not explain ({p}, level {100 * self.level:g} %)."
        if not count:
            return f"{words.name} is rejected ({p}), but the search was interrupted before the menus in conflict were identified."
        these = "these menus alone" if count == 1 else f"each of these {count} sets of menus alone"
        return f"{words.name} is rejected ({p}), and so it is for {these}."

    @property
    def table(self) -> dict[str, list[Any]]:
        """The influence of the menus."""
        return self.influence

    def parts(self) -> list[str | Table]:
        """Return paragraphs, and the table of influence unless the distance is 0."""
        return [*self.paragraphs(), *([self.as_table()] if self.distance > 0 else [])]

    def paragraphs(self) -> list[str]:
        """Return the answer, each conflict, and what to know about them."""
        menus = len(self.influence["menu"])
        sample = "" if self.n_observations is None else f", {self.n_observations:g} choices"
        found = [
            f"Which choices are in conflict? ({count_items(self.items)}, {how_many(menus, 'menu')}{sample})\n{self.verdict}"
        ]
        for number, one in enumerate(self.conflicts, 1):
            p = "" if one.pvalue is None else f", p = {one.pvalue:.3g} by itself"
            without = "no conflict without any one of them" if one.irreducible else "not reduced to the end"
            head = f"Conflict {number}: {len(one.menus)} menus{p}; {without}"
            if len(one.menus) == 1:
                head = f"Conflict {number}: one menu{p}"
            found.append("\n".join([head, *one.lines(self.items)]))
        return found + (["\n".join(self.notes)] if self.notes else [])

    @property
    def notes(self) -> list[str]:
        """What a reader should know."""
        found = []
        for menus in self.leads:
            named = " and ".join(list_menu(self.items, menu) for menu in menus)
            found.append(
                "All menus together are not rejected, but these deviate by more than chance explains in this many comparisons: "
                f"{named}."
            )
        if self.conflicts:
            if self.complete and len(self.conflicts) == 1:
                found.append("It is the only conflict: without any one of its menus the rest " + self._fits())
            elif self.complete:
                found.append("There is no other conflict: without some menu of each the rest " + self._fits())
            else:
                found.append("There may be more conflicts than those listed.")
            found += [note for number, one in enumerate(self.conflicts, 1) for note in self._thin_ice(number, one)]
            if self.level is not None:
                found.append(ASSUMPTION)
                found.append("P-values of sets that were searched for are not adjusted for the search.")
        if self.interrupted:
            found.append("The run was interrupted: these are the results so far.")
        return found

    def _thin_ice(self, number: int, one: Conflict) -> list[str]:
        """Why not to lean on a conflict: menus with few choices, or a search in half of the choices that does not find it."""
        table = dict(zip(self.influence["menu"], range(len(self.influence["menu"])), strict=True))
        rows = [table[menu] for menu in one.menus]
        found = []
        tiny = [menu for menu in one.menus if menu in self.n_independent and self.n_independent[menu] < TINY]
        if tiny:
            named = ", ".join(f"{list_menu(self.items, menu)} ({self.n_independent[menu]:.3g})" for menu in tiny)
            found.append(f"Conflict {number} rests on menus with few {self._units}: {named}.")
        if self.halves and number == 1 and max(self.influence["named"][row] for row in rows) < 0.5:
            rejected = f"{self.rejected} of {self.halves} half-samples are rejected"
            if 2 * self.rejected < self.halves:
                found.append(f"Half of the {self._units} are not enough to see it: only {rejected}.")
            else:
                found.append(f"{rejected}, but most of them name other menus than conflict 1.")
            found[-1] += " Treat it as a lead, not as a finding."
        return found

    @property
    def _units(self) -> str:
        """What was drawn."""
        return "subjects" if self.by_subject else "choices"

    def _fits(self) -> str:
        return "fits exactly." if self.level is None else f"is not rejected at {100 * self.level:g} %."

    def as_table(self) -> Table:
        """Return the influence of the menus, for the terminal; columns without a number are left out."""
        words = {
            "menu": "menu",
            "choices": "choices",
            "share": "part of distance",
            "distance_without": "distance without",
            "pvalue_without": "p without",
            "named": "named",
            "conflicts": "in conflict",
        }
        shown = {
            name: column[:MOST_ROWS]
            for name, column in self.influence.items()
            if any(value is not None for value in column)
        }
        shown["menu"] = [name_menu(self.items, menu, WRAPPED) for menu in shown["menu"]]
        if "choices" in shown:
            shown["choices"] = [int(n) if n == int(n) else n for n in shown["choices"]]
        shown["share"] = [f"{100 * share:.1f}%" for share in shown["share"]]
        shown["conflicts"] = [", ".join(map(str, numbers)) for numbers in shown["conflicts"]]
        if "named" in shown:
            shown["named"] = [None if share is None else f"{100 * share:.0f}%" for share in shown["named"]]
        left = len(self.influence["menu"]) - MOST_ROWS
        note = f"{left} more menus in `influence` (in the file of --out)." if left > 0 else ""
        if "named" in shown:
            note += (" " if note else "") + (
                f"named: share of the {self.halves} half-samples (half of the {self._units}) whose conflict has this menu; "
                f"{self.rejected} of them were rejected."
            )
        unit = "" if self.level is None else ", menus weighted by their choices"
        title = f"Influence of the menus on the distance, {self.distance:.4g} with all of them{unit}"
        return Table(title, [words[name] for name in shown], [list(r) for r in zip(*shown.values(), strict=True)], note)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists, texts and numbers, for JSON."""
        terms = self.block_marschak
        more = {
            "halves_rejected": self.rejected,
            "conflicts": [_as_dict(one) for one in self.conflicts],
            "block_marschak": None if terms is None else [{"menu": m, "item": x, "value": v} for m, x, v in terms],
        }
        return super().to_dict() | plain(more)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        p = "" if self.pvalue is None else f", pvalue={self.pvalue:.3g}"
        return f"Explanation({len(self.conflicts)} conflicts, conflict={self.conflict}, pattern={self.pattern!r}{p})"


def _as_dict(one: Conflict) -> dict[str, Any]:
    inequality, pattern = one.inequality, one.pattern
    terms = one.block_marschak
    return {
        "menus": [list(menu) for menu in one.menus],
        "shares": [list(shares.items()) for shares in one.shares],
        "cells": [{"menu": list(menu), "item": item} for menu, item in one.cells],
        "inequality": {
            "coefficients": [
                {"menu": list(menu), "item": item, "coefficient": value}
                for (menu, item), value in inequality.coefficients.items()
            ],
            "bound": inequality.bound,
            "value": inequality.value,
            "standard_error": inequality.error,
            "text": inequality.text,
        },
        "pattern": None if pattern is None else {"name": pattern.name, "items": pattern.items, "text": pattern.text},
        "distance": one.distance,
        "pvalue": one.pvalue,
        "irreducible": one.irreducible,
        "block_marschak": None
        if terms is None
        else [{"menu": list(m), "item": x, "multiplier": k, "value": v} for m, x, k, v in terms],
    }
