"""Items and menus by label, choices counted, and choices one by one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.check import check_different
from rumflow.check import format_menu as format_menu  # noqa: PLC0414 -- also imported from here
from rumflow.core.arrays import Array
from rumflow.core.menus import Menus
from rumflow.errors import InputError

Item = Hashable

#: Items are numbered with 16 bits. How many can be projected is for the solvers to say.
MOST_ITEMS = 32_767

#: The largest count and the largest total of a menu: up to here double precision counts by ones.
LARGEST_TOTAL = 2.0**53


class Rows(NamedTuple):
    """The choices one by one, for what needs more than counts, such as resampling by subject.

    A row may represent several equal choices: `weight` says how many.
    """

    menu: NDArray[np.int32]  # (r,) number of the menu
    choice: NDArray[np.int16]  # (r,) item number
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


class Counted(NamedTuple):
    """What readers make and writers take: the fields of `ChoiceData`."""

    items: tuple[Item, ...]
    menus: Menus  # m menus, in ascending order of their bit masks
    counts: Array  # (cells,): NaN where not observed
    totals: Array  # (m,)
    rows: Rows | None = None
    understood: str = ""


def plain_label(label: Hashable) -> str | int:
    """A label as JSON holds it."""
    if isinstance(label, str):
        return label
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        return int(label)
    raise InputError(f"item {label!r}: only labels that are text or whole numbers can be saved")


def all_subsets(items: Iterable[Item]) -> list[tuple[Item, ...]]:
    """Every subset, the empty one first, by size and then in order: the order in which published files often number menus."""
    labels = tuple(items)
    return [menu for size in range(len(labels) + 1) for menu in combinations(labels, size)]


def check_items(items: Iterable[Item]) -> tuple[Item, ...]:
    """The labels as a tuple; an error where one appears twice or there are none or too many."""
    labels = tuple(items)
    if not labels:
        raise InputError("there are no items: at least one menu with at least one item is needed")
    if len(labels) > MOST_ITEMS:
        raise InputError(f"there are {len(labels):,} items; data can hold at most {MOST_ITEMS:,}")
    check_different(labels, "items")
    return labels


def check_totals(items: Sequence[Item], menus: Menus, totals: Array, name: str = "") -> None:
    """An error where a menu has more choices than double precision can count."""
    wrong = ~(totals <= LARGEST_TOTAL)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InputError(
            f"{name}menu {format_menu(menus.labels_of(k, items))}: its total is {totals[k]:g}; at most "
            f"2^53 = {LARGEST_TOTAL:.0f} choices can be counted exactly: divide the counts by a number"
        )
