"""Data with conflicts that are known."""

from itertools import permutations

import numpy as np

import rumflow as rf
from rumflow.data.choices import Rows

CYCLE = {("a", "b"): {"a": 80, "b": 20}, ("b", "c"): {"b": 80, "c": 20}, ("a", "c"): {"c": 80, "a": 20}}


def labels(data, rows):
    return tuple(data.menus[row] for row in sorted(rows))


def part_of(data, menus):
    """Some menus of the data, by their labels."""
    table = {
        menu: {item: count for item, count in zip(data.items, row, strict=True) if not np.isnan(count)}
        for menu, row in zip(data.menus, data.counts, strict=True)
        if menu in menus
    }
    return rf.ChoiceData.from_counts(table)


def choices_of(menus, n):
    """(rankings, cells of the menus): what every ranking takes."""
    return np.array(
        [[float(min(menu, key=order.index) == x) for menu in menus for x in menu] for order in permutations(range(n))]
    )


#: {a, b} and {b, c, d}, with five single choices of three subjects.
MEMBER = np.array([[True, True, False, False], [False, True, True, True]])
ROWS = Rows(
    np.array([0, 0, 1, 1, 1], np.int32),
    np.array([0, 1, 2, 3, 3], np.int16),
    np.array([1.0, 2.0, 1.0, 1.0, 3.0]),
    np.array([0, 1, 1, 2, 2]),
)
DATA = rf.ChoiceData(
    ("a", "b", "c", "d"),
    MEMBER,
    np.array([[1.0, 2.0, np.nan, np.nan], [np.nan, 0.0, 1.0, 4.0]]),
    np.array([3.0, 5.0]),
    ROWS,
)
