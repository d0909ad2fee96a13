"""Arrays over all menus: masked entries and the largest number of items."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.reference.choice_tables import ITEMS
from tests.reference.layouts import counted, same_data


def test_masked_arrays_are_not_observed():
    full = counted().to_matrix()
    mask = np.zeros(full.shape, bool)
    mask[2] = True  # the menu {tea, milk}
    hidden = np.where(mask, np.nan, full)
    same_data(ChoiceData.from_matrix(np.ma.array(np.nan_to_num(full), mask=mask | np.isnan(full)), ITEMS),
         ChoiceData.from_matrix(hidden, ITEMS))  # fmt: skip
    rows = [np.ma.array(row, mask=m) for row, m in zip(np.nan_to_num(full), mask | np.isnan(full), strict=True)]
    same_data(ChoiceData.from_matrix(rows, ITEMS), ChoiceData.from_matrix(hidden, ITEMS))
    shares = np.ma.array([[1, 0], [0, 1], [0.5, 0.3]], mask=[[0, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(ChoiceData.from_matrix(shares).counts[2], [0.5, np.nan])
    table = {
        "menu": ["a,b", "a,b", "a,b,c", "a,b,c", "a,b,c"],
        "item": list("ababc"),
        "count": np.ma.array([0.25, 0.75, 0.5, 9, 9], mask=[0, 0, 0, 1, 1]),
    }
    np.testing.assert_array_equal(ChoiceData.from_frame(table).counts[1], [0.5, np.nan, np.nan])
    picks = {"menu": ["a,b", "a,b"], "choice": np.ma.array(["a", "b"], mask=[0, 1])}
    with pytest.raises(rf.InputError, match="row 1: no choice is given"):
        ChoiceData.from_frame(picks)


def test_arrays_over_all_menus_end_at_30_items(large_shop):
    for call in (large_shop.to_array, large_shop.to_matrix, lambda: ChoiceData.from_matrix(np.zeros((7, 31)))):
        with pytest.raises(rf.InputError, match="at most 30 items"):
            call()
    assert "300 items, 300 menus, 3000 observations" in repr(large_shop)
