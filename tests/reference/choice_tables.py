"""Choices from menus of three drinks, counted by hand, and files with them."""

import csv

import numpy as np

from rumflow.data.choices import ChoiceData

MENUS = [("tea", "milk"), ("tea", "juice"), ("milk", "juice"), ("tea", "milk", "juice")]
ITEMS = ("tea", "milk", "juice")


def choices(seed=0, size=200):
    rng = np.random.default_rng(seed)
    menus = [MENUS[k] for k in rng.integers(0, len(MENUS), size)]
    return menus, [menu[rng.integers(len(menu))] for menu in menus]


def expected(menus, picks, weights=None):
    counts = {}
    for k, (menu, pick) in enumerate(zip(menus, picks, strict=True)):
        counts.setdefault(menu, dict.fromkeys(menu, 0))[pick] += 1 if weights is None else weights[k]
    return ChoiceData.from_counts(counts, items=ITEMS)


def same_counts(a, b):
    assert a.items == b.items
    np.testing.assert_array_equal(a.masks, b.masks)
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_array_equal(a.totals, b.totals)


def write(path, header, rows, delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(header)
        writer.writerows(rows)
    return path
