"""Choices counted by cell, and choices one by one: what readers make, writers take and `ChoiceData` holds.

Everything here is as large as what was observed; nothing has the size of a table (menus, items).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints
from rumflow.core.menus import MOST_MASK_ITEMS, Menus
from rumflow.data.description import Description
from rumflow.data.labels import LARGEST_TOTAL, Item, format_menu
from rumflow.data.understood import UNREAD, Understood
from rumflow.errors import InputError


class Rows(NamedTuple):
    """The choices one by one, for what needs more than counts, such as resampling by subject.

    A row may represent several equal choices: `weight` says how many.
    """

    menu: NDArray[np.int32]  # (r,) number of the menu
    choice: NDArray[np.int32]  # (r,) item number
    weight: Array  # (r,)
    subject: NDArray[np.int32] | None = None  # (r,) index into `subjects`
    group: NDArray[np.int32] | None = None  # (r,) index into `groups`
    subjects: tuple[Any, ...] = ()
    groups: tuple[Any, ...] = ()

    def pick(self, chosen: NDArray[Any] | slice) -> Rows:
        """Some of the rows, by number, by a mask or by a slice."""
        return self._replace(
            menu=self.menu[chosen],
            choice=self.choice[chosen],
            weight=self.weight[chosen],
            subject=None if self.subject is None else self.subject[chosen],
            group=None if self.group is None else self.group[chosen],
        )

    def by_subject(self, labels: NDArray[Any] | None) -> Rows:
        """The same rows with the subject of each, given by label; None: there are none."""
        if labels is None:
            return self
        subjects, subject = np.unique(labels, return_inverse=True)
        return self._replace(subject=subject.astype(np.int32), subjects=tuple(subjects.tolist()))


class CellCounts(NamedTuple):
    """Every cell (menu, item of the menu) of choice data: menus in order, items in ascending order within each menu.

    Attributes
    ----------
    menu : ndarray of shape (cells,)
        Number of the menu.
    item : ndarray of shape (cells,)
        Number of the item.
    count : ndarray of shape (cells,)
        How often it was chosen; NaN where that was not recorded.
    """

    menu: Ints
    item: NDArray[np.int32]
    count: Array  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Counted:
    """For every menu its items and how often each was chosen; the fields are those of `ChoiceData`."""

    items: tuple[Item, ...]
    offered: Menus  # m menus, in ascending order of their bit masks
    count: Array  # (cells,): NaN where not observed
    totals: Array  # (m,)
    rows: Rows | None = None
    understood: Understood = UNREAD
    description: Description | None = None
    outcomes: Counted | None = None  # of pairs whose ties count half: the data with ties as an outcome

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def menus(self) -> list[tuple[Item, ...]]:
        """The observed menus, as tuples of labels."""
        return self.offered.labels(self.items)

    @cached_property
    def masks(self) -> Ints:
        """(m,): bit masks of the menus (bit x set: item x is offered), for at most 62 items."""
        if self.n > MOST_MASK_ITEMS:
            raise InputError(
                f"menus of {self.n} items have no 64-bit masks (at most {MOST_MASK_ITEMS} items have): use data.membership, "
                "a boolean row per menu, or data.menus, the labels"
            )
        return self.offered.masks()

    @property
    def cells(self) -> CellCounts:
        """Menu, item and count of every cell, as three flat arrays, for any number of items."""
        return CellCounts(self.offered.menu, self.offered.item, self.count)

    @property
    def shares(self) -> Array:
        """(cells,): share of each cell among the choices from its menu; NaN where it was not recorded."""
        return self.count / self.totals[self.offered.menu]

    @property
    def n_observations(self) -> float:
        """Total number of choices."""
        return float(self.totals.sum())

    def equals(self, other: object) -> bool:
        """Say whether items, menus, numbers and rows are the same; how the data were read does not matter.

        Parameters
        ----------
        other : object
            What to compare with.

        Returns
        -------
        bool
        """
        if not isinstance(other, Counted) or self.items != other.items or (self.rows is None) != (other.rows is None):
            return False
        mine, theirs = (
            [data.count, data.totals, *(data.rows[:5] if data.rows is not None else [])] for data in (self, other)
        )
        labels = self.rows is None or other.rows is None or self.rows[5:] == other.rows[5:]
        return labels and self.offered.same(other.offered) and all(map(_same, mine, theirs))


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def check_totals(items: Sequence[Item], menus: Menus, totals: Array, name: str = "") -> None:
    """An error where a menu has more choices than double precision can count."""
    wrong = ~(totals <= LARGEST_TOTAL)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InputError(
            f"{name}menu {format_menu(menus.labels_of(k, items))}: its total is {totals[k]:g}; at most "
            f"2^53 = {LARGEST_TOTAL:.0f} choices can be counted exactly: divide the counts by a number"
        )
