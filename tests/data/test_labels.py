"""Spellings of labels that are merged when asked for."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import check_items, label_order


def test_clean_merges_spellings():
    table = {"menu": ["Tea,milk", "tea,milk ", "TEA,Milk"], "choice": ["Tea", "milk", "TEA"]}
    data = ChoiceData.from_frame(table, clean=True)
    assert data.items == ("milk", "tea")
    with pytest.raises(rf.InputError, match=r"differ only by blanks or case.*clean=True"):
        ChoiceData.from_frame(table)


def test_an_order_of_labels_that_does_not_depend_on_the_list():
    labels = ["item 10", "b", 7, "item 9", ("x", 1), 2.5, "a1", "item 09", True, "a"]
    order = [labels[k] for k in label_order(labels)]
    assert order == [True, 2.5, 7, "a", "a1", "b", "item 09", "item 9", "item 10", ("x", 1)]
    for seed in range(5):
        shuffled = [labels[k] for k in np.random.default_rng(seed).permutation(len(labels))]
        assert [shuffled[k] for k in label_order(shuffled)] == order
    assert label_order([np.int64(3), "9" * 5000, 2]) == [2, 0, 1]


def test_tens_of_thousands_of_items_and_no_more_than_a_million():
    pairs = {(k, k + 1): {k: 1, k + 1: 2} for k in range(39_999)}
    assert rf.ChoiceData.from_counts(pairs).n == 40_000
    with pytest.raises(rf.InputError, match="1,000,001 items; data can hold at most 1,000,000"):
        check_items(range(1_000_001))
