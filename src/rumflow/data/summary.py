"""Data in words: how they were read, items, menus with their shares, subjects, what could go wrong, what to run next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rumflow.data.counted import Counted
from rumflow.data.design import cautions, next_steps, people_and_choices
from rumflow.data.labels import TIE, count_items
from rumflow.output.names import WRAPPED, how_many, name_menu, name_order, name_range
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.text import visible, visible_lines

#: Menus of the table, and shares of a menu, that are shown.
MOST_MENUS, MOST_SHARES = 30, 8


@dataclass(frozen=True, eq=False, repr=False)
class DataSummary(Result):
    """What a data set holds; `table` has a row for every item of every menu.

    Attributes
    ----------
    data : ChoiceData
        The choices.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> print(data.summary().splitlines()[0])
    3 items, 2 menus, 200 choices (100 a menu)
    """

    data: Counted
    file: str = ""  #: named in the commands to run next; empty: calls of Python are shown instead

    _named = ("items", "menus", "choices", "subjects", "groups", "understood", "cautions", "next")
    _listed = "cells"

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns menu, choices (from the menu), item, count and share."""
        data = self.data
        menu, item = data.offered.menu.tolist(), data.offered.item.tolist()
        menus, totals = data.menus, data.totals.tolist()
        counts = [None if np.isnan(count) else count for count in data.count.tolist()]
        shares = [None if count is None else count / totals[j] for j, count in zip(menu, counts, strict=True)]
        columns: dict[str, list[Any]] = {"menu": [menus[j] for j in menu], "choices": [totals[j] for j in menu]}
        return columns | {"item": [data.items[x] for x in item], "count": counts, "share": shares}

    @property
    def items(self) -> tuple[Any, ...]:
        """The labels of the items."""
        return self.data.items

    @property
    def menus(self) -> int:
        """Number of menus."""
        return len(self.data.totals)

    @property
    def choices(self) -> float:
        """Number of choices."""
        return float(self.data.totals.sum())

    @property
    def subjects(self) -> int | None:
        """Number of subjects; None where they are not known."""
        return people_and_choices([self.data])[0] or None

    @property
    def groups(self) -> tuple[Any, ...]:
        """Names of the groups."""
        return () if self.data.rows is None else self.data.rows.groups

    @property
    def understood(self) -> dict[str, Any]:
        """How the table was read: layout, roles, coding, what was not used."""
        return self.data.understood.to_dict()

    @property
    def cautions(self) -> list[str]:
        """What could go wrong, and what to do about it."""
        return cautions(self.data)

    @property
    def next(self) -> list[dict[str, str]]:
        """What to run next, in Python and in the shell; FILE is the file and how it is read, where that is known."""
        return [
            step._replace(shell=step.shell.replace("FILE", self.file or "FILE"))._asdict()
            for step in next_steps(self.data)
        ]

    def parts(self) -> list[str | Table]:
        """Return the paragraphs and tables of the summary."""
        found: list[str | Table] = [self._head(), self._menus()]
        if self.data.understood:
            found.insert(0, f"How it was read\n{visible_lines(str(self.data.understood))}")
        if self.cautions:
            found.append("\n".join(["What could go wrong", *(f"* {text}" for text in self.cautions)]))
        steps = next_steps(self.data)
        shown = [step.shell.replace("FILE", self.file) if self.file else step.python for step in steps]
        lines = (f"  {text}\n      {step.purpose}" for text, step in zip(shown, steps, strict=True))
        return [*found, "\n".join(["What to run next", *lines])]

    def _head(self) -> str:
        data = self.data
        sizes = f" ({name_range(data.totals)} a menu)" if self.choices > self.menus else ""
        text = f"{count_items(data.items)}, {how_many(self.menus, 'menu')}, {self.choices:g} choices{sizes}"
        text += f", {self.subjects:,} subjects" if self.subjects else ""
        text += f", {len(self.groups)} groups" if len(self.groups) > 1 else ""
        return f"{text}\nItems: {name_order([x for x in data.items if x != TIE], length=500, separator=', ')}"

    def _menus(self) -> Table:
        data = self.data
        left = self.menus - MOST_MENUS
        table = Table(
            "Menus, the largest samples first",
            ["menu", "choices", "shares"],
            note=f"{left} more menus in `table` (in the file of --out)." if left > 0 else "",
        )
        for total, shares in self.largest(MOST_MENUS):
            size = int(total) if total.is_integer() else total
            own = dict(shares)
            table.add(
                name_menu(data.items, [item for item in data.items if item in own], WRAPPED), size, _shares(shares)
            )
        return table

    def largest(self, most: int) -> list[tuple[float, list[tuple[Any, float]]]]:
        """The menus with the most choices, up to so many: how many they are, and items with their shares, the largest first."""
        data, found = self.data, []
        for j in np.argsort(-data.totals, kind="stable")[:most].tolist():
            cells = slice(data.offered.start[j], data.offered.start[j + 1])
            shares = data.count[cells] / data.totals[j]
            order = np.argsort(-np.nan_to_num(shares, nan=-1.0), kind="stable")
            labels = data.offered.item[cells]
            found.append((float(data.totals[j]), [(data.items[labels[k]], float(shares[k])) for k in order.tolist()]))
        return found


def _shares(shares: list[tuple[Any, float]]) -> str:
    """The largest shares of a menu in words."""
    texts = [
        f"{visible(item)} {'not recorded' if np.isnan(share) else f'{100 * share:.1f} %'}"
        for item, share in shares[:MOST_SHARES]
    ]
    left = len(shares) - MOST_SHARES
    return ", ".join(texts) + (f", {left} others" if left > 0 else "")
