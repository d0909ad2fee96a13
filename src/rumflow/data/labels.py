"""Items by label."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from importlib import import_module
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np

from rumflow.check import check_different
from rumflow.check import format_menu as format_menu  # noqa: PLC0414 -- also imported from here
from rumflow.errors import InputError
from rumflow.output.names import how_many

Item = Hashable

#: More than this are a mistake. How many can be projected is for the solvers to say.
MOST_ITEMS = 1_000_000

#: The largest count and the largest total of a menu: up to here double precision counts by ones.
LARGEST_TOTAL = 2.0**53

#: The label of the outcome in which neither item of a pair is chosen (`rumflow.data.ties`).
TIE = "(tie)"


def tie_number(items: Sequence[Item]) -> int:
    """The number of the outcome `TIE` among the items; -1 where there is none."""
    return items.index(TIE) if TIE in items else -1


def count_items(items: Sequence[Item]) -> str:
    """How many items there are, in words; the outcome `TIE` is none.

    >>> count_items(["a", "b", TIE])
    '2 items'
    """
    return how_many(sum(item != TIE for item in items), "item")


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


def label_order(labels: Sequence[Item]) -> list[int]:
    """The numbers of labels in an order that does not depend on how they are listed: numbers, texts, anything else by its text.

    Numbers within texts count as numbers.

    >>> label_order(["item 10", 7, "item 9"])
    [1, 2, 0]
    """
    return sorted(range(len(labels)), key=lambda x: _sort_key(labels[x]))


def _sort_key(label: Item) -> tuple[Any, ...]:
    if isinstance(label, Real):
        return (0, label)
    text = label if isinstance(label, str) else repr(label)
    parts = re.split("([0-9]+)", text)  # text, number, text, ...
    parts[1::2] = [f"{len(part.lstrip('0')):09d}{part.lstrip('0')}" for part in parts[1::2]]
    return (1 if isinstance(label, str) else 2, parts, text)


def check_items(items: Iterable[Item]) -> tuple[Item, ...]:
    """The labels as a tuple; an error where one appears twice or there are none or too many."""
    labels = tuple(items)
    if not labels:
        raise InputError("there are no items: at least one menu with at least one item is needed")
    if len(labels) > MOST_ITEMS:
        raise InputError(f"there are {len(labels):,} items; data can hold at most {MOST_ITEMS:,}")
    check_different(labels, "items")
    return labels


def label_items(items: Iterable[Item] | None, n: int) -> tuple[Item, ...]:
    """The labels of n items; None: their numbers."""
    labels = check_items(range(n) if items is None else items)
    if len(labels) != n:
        raise InputError(f"items: {len(labels)} labels for {n} items")
    return labels


def __getattr__(name: str) -> Any:
    """Where pickles of earlier versions look for rows of choices."""
    if name == "Rows":
        return import_module("rumflow.data.counted").Rows
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
