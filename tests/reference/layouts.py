"""The same choices in the layouts of published files."""

import csv

import numpy as np
import pytest

from rumflow.data.choices import ChoiceData
from tests.reference.choice_tables import ITEMS, MENUS


def draw_choices(size=60, seed=0):
    rng = np.random.default_rng(seed)
    menus = [MENUS[k] for k in rng.integers(0, 4, size)]
    return menus, [menu[rng.integers(len(menu))] for menu in menus]


MENUS_SEEN, PICKS = draw_choices()


def counted(menus=MENUS_SEEN, picks=PICKS, items=ITEMS):
    counts = {}
    for menu, pick in zip(menus, picks, strict=True):
        counts.setdefault(menu, dict.fromkeys(menu, 0))[pick] += 1
    return ChoiceData.from_counts(counts, items=items)


def same_data(a, b):
    assert a.items == b.items
    np.testing.assert_array_equal(a.membership, b.membership)
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_array_equal(a.totals, b.totals)


def read(table, tmp_path, kind, **options):
    """The table as a CSV file or as a frame."""
    if kind == "frame":
        return ChoiceData.from_frame(table, **options)
    with open(tmp_path / "a.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows([["" if v is None else v for v in row] for row in zip(*table.values(), strict=True)])
    return ChoiceData.from_csv(tmp_path / "a.csv", **options)


both = pytest.mark.parametrize("kind", ["csv", "frame"])


def columns(menus=MENUS_SEEN, width=3):
    """a1, a2, a3: one column per offered item, None where a menu is shorter."""
    return {f"a{k + 1}": [m[k] if k < len(m) else None for m in menus] for k in range(width)}
