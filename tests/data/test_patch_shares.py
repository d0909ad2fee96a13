"""Patches in words, as choices and as a table."""

import numpy as np
import pytest

import rumflow as rf


@pytest.fixture
def data():
    signs = [[0, -1], [0, 1], [-1, 0], [1, 0]]
    return rf.BudgetData.from_patches(signs, [0.5, 0.5, 0.75, 0.25], [10, 20], labels=["low", "high"])


def test_words(data):
    assert data.items == ("low/1", "low/2", "high/1", "high/2")
    assert [data.describe(i) for i in range(2)] == ["low/1 (below high)", "low/2 (above high)"]
    alone = rf.BudgetData.from_patches([[0]], [1.0], [10], labels=["all"])
    assert alone.describe(0) == "all/1 (the whole budget)"


def test_choices_have_budgets_as_menus(data):
    assert data.choices.menus == [("low/1", "low/2"), ("high/1", "high/2")]
    assert data.choices.count.tolist() == [5, 5, 15, 5]
    assert data.choices.totals.tolist() == data.sizes.tolist()


def test_table(data):
    table = data.to_frame("dict")
    assert list(table) == ["budget", "patch", "side_low", "side_high", "probability"]
    assert np.array_equal(np.column_stack([table["side_low"], table["side_high"]]), data.patches)
    assert table["probability"] == [0.5, 0.5, 0.75, 0.25]
