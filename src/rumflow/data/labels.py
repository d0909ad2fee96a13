"""Items and menus by label, and choices one by one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.core.lattice import MAX_ITEMS
from rumflow.errors import InputError

Item = Hashable


class Rows(NamedTuple):
    """The choices one by one, for what needs more than counts, such as resampling by subject.

    A row may stand for several equal choices: `weight` says how many.
    """

    menu: NDArray[np.int32]  # (r,) index into `masks`
    choice: NDArray[np.int16]  # (r,) item number
    weight: Array  # (r,)
    subject: NDArray[np.int32] | None = None  # (r,) index into `subjects`
    group: NDArray[np.int32] | None = None  # (r,) index into `groups`
    subjects: tuple[Any, ...] = ()
    groups: tuple[Any, ...] = ()


def all_subsets(items: Iterable[Item]) -> list[tuple[Item, ...]]:
    """Every subset, the empty one first, by size and then in order: what ids of menus in published files often count."""
    labels = tuple(items)
    return [menu for size in range(len(labels) + 1) for menu in combinations(labels, size)]


def check_items(items: Iterable[Item]) -> tuple[Item, ...]:
    """The labels as a tuple; an error where one stands twice or there are none or too many."""
    labels = tuple(items)
    if not labels:
        raise InputError("there are no items: at least one menu with at least one item is needed")
    if len(labels) > MAX_ITEMS:
        raise InputError(f"there are {len(labels)} items; at most {MAX_ITEMS} are possible")
    seen: set[Item] = set()
    for label in labels:
        if not isinstance(label, Hashable):
            raise InputError(f"item {label!r}: a label is text or a number, not {type(label).__name__}")
        if label in seen:
            raise InputError(f"item {label!r} stands twice in the list of items")
        seen.add(label)
    return labels


def format_menu(menu: Iterable[Item]) -> str:
    """A menu as text: {tea, milk}."""
    return "{" + ", ".join(str(item) for item in menu) + "}"
