"""Totals and shares of menus."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData


def test_totals_of_one_menu_that_contradict_each_other():
    table = {"menu": ["a|b|c"] * 2, "item": ["a", "b"], "count": [3, 4], "total": [10, 12]}
    with pytest.raises(
        rf.InputError, match=r"row 1: menu \{a, b, c\}: column 'total' is 12, but 10 in the data frame, row 0"
    ):
        ChoiceData.from_frame(table)


def test_digits_that_differ_are_shown():
    table = {"menu": ["a|b"] * 2, "item": ["a", "b"], "count": [3, 4.00001], "total": [7, 7]}
    with pytest.raises(rf.InputError, match=r"the counts add up to 7.00001, but column 'total' says 7"):
        ChoiceData.from_frame(table)
    rho = rf.simulate.dirichlet(3, seed=0)
    rho[7] *= 1 + 2e-6
    with pytest.raises(rf.InputError, match=r"the probabilities add up to 1.000002; they must add up to 1"):
        rf.project(rho)


def test_the_outside_option_has_what_is_left_of_the_total():
    table = {
        "menu": ["ab", "ab", "abc", "abc"],
        "item": ["a", "b", "a", "b"],
        "count": [30, 20, 10, 30],
        "total": [100, 100, 90, 90],
    }
    data = rf.ChoiceData.from_frame(table, outside_option="none")
    by_menu = dict(zip(data.menus, data.counts.tolist(), strict=True))
    assert by_menu["none", "a", "b"][0] == 50
    assert np.isnan(by_menu["none", "a", "b", "c"][0])  # c has no count either
