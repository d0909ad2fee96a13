"""Shares of the patches of budgets: what `BudgetData` holds, as patches in words, as choices and as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rumflow.core.arrangement import Patches
from rumflow.core.arrays import Array, Ints
from rumflow.core.menus import Menus
from rumflow.data.choices import ChoiceData
from rumflow.data.description import Description
from rumflow.data.households import Households
from rumflow.data.labels import Item
from rumflow.data.understood import UNREAD, Understood
from rumflow.output.frames import make_frame
from rumflow.text import visible


@dataclass(frozen=True, eq=False)
class PatchShares:
    """How often each patch of each budget was taken; the fields are those of `BudgetData`."""

    labels: tuple[Item, ...]
    patches: Ints
    probabilities: Array
    sizes: Array
    prices: Array | None = None
    goods: tuple[str, ...] = ()
    degree: int = 0
    households: Households | None = field(default=None, repr=False)
    pieces: Patches | None = field(default=None, repr=False)
    understood: Understood = field(default=UNREAD, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    description: Description | None = field(default=None, repr=False)

    @property
    def budget(self) -> Ints:
        """(I,): the budget of each patch."""
        own: Ints = (self.patches == 0).argmax(axis=1)
        return own

    @cached_property
    def items(self) -> tuple[str, ...]:
        """(I,): names of the patches, such as 1975/3 for the third patch of 1975."""
        budget = self.budget
        place = np.arange(len(budget)) - np.searchsorted(budget, budget) + 1
        return tuple(f"{self.labels[j]}/{i}" for j, i in zip(budget.tolist(), place.tolist(), strict=True))

    @property
    def n_observations(self) -> float:
        """Total number of households."""
        return float(self.sizes.sum())

    @property
    def is_smoothed(self) -> bool:
        """Whether the probabilities are values of a polynomial in log expenditure, rather than frequencies."""
        return self.degree > 0

    @property
    def is_instrumented(self) -> bool:
        """Whether the probabilities are corrected for endogenous expenditure by an instrument."""
        return self.households is not None and self.households.instrument is not None

    def describe(self, patch: int) -> str:
        """Describe a patch in words.

        Parameters
        ----------
        patch : int
            The number of the patch.

        Returns
        -------
        str
        """
        row = self.patches[patch]
        words = [
            f"{name} {', '.join(str(self.labels[k]) for k in np.flatnonzero(row == sign))}"
            for sign, name in ((-1, "below"), (1, "above"))
            if (row == sign).any()
        ]
        return visible(f"{self.items[patch]} ({'; '.join(words) or 'the whole budget'})")

    @cached_property
    def choices(self) -> ChoiceData:
        """The same data as choices, with budgets as menus and their patches as items. Counts of smoothed data are fractions."""
        return self._as_choices(np.empty(0, np.int64))

    @cached_property
    def padded_choices(self) -> ChoiceData:
        """The same as `choices`, with an item that nobody takes added to every budget of one patch.

        A menu of one item leaves no choice and is left out of a projection. On the cone it has a meaning: its probability is
        the total of the mixture.
        """
        return self._as_choices(np.flatnonzero(np.bincount(self.budget) == 1))

    def _as_choices(self, padded: Ints) -> ChoiceData:
        """Budgets as menus; those that are `padded` have an item that nobody takes after their patches."""
        budget = np.concatenate([self.budget, padded])
        order = np.argsort(budget, kind="stable")
        names = [*self.items, *(f"{self.labels[j]}/-" for j in padded)]
        menus, _ = Menus.from_cells(budget[order], np.arange(len(order)), len(self.labels), len(order))
        probabilities = np.concatenate([self.probabilities, np.zeros(len(padded))])
        counts, rows = (probabilities * self.sizes[budget])[order], None
        if self.households is not None and not self.is_smoothed:
            counts, rows = np.round(counts), self.households.rows(np.argsort(order))
        return ChoiceData.from_cells(tuple(names[i] for i in order), menus, counts, self.sizes, rows, self.understood)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per patch: budget, patch, its sides, probability.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow", "dict"}, default "pandas"
            The kind of data frame.

        Returns
        -------
        data frame
        """
        columns: dict[str, list[Any]] = {
            "budget": [self.labels[j] for j in self.budget],
            "patch": list(self.items),
        }
        for k, name in enumerate(self.labels):
            columns[f"side_{name}"] = self.patches[:, k].tolist()
        columns["probability"] = self.probabilities.tolist()
        return make_frame(columns, backend)
