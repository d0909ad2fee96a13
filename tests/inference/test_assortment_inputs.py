"""What is asked of assortments and of the next menu is checked."""

import time

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference.assortment_inputs import find_items, find_revenue
from tests.reference.examples import SHOP


def test_arguments_of_next_menu_and_assortments_are_checked():
    data = rf.ChoiceData.from_counts({("o", "a", "b"): {"o": 30, "a": 50, "b": 20}, ("o", "a"): {"o": 60, "a": 40}})
    found = rf.next_menu(data, [("o", "a"), ("a", "b"), ("b", "a")])
    assert found.menu in (("a", "b"), ("b", "a"))
    assert len(found.table["menu"]) == 1
    for options, words in (
        ({"candidates": [("o", "a")]}, "were observed"),
        ({"most": -1}, "most=-1"),
        ({"functional": {(("a", "b"), "a"): np.nan}}, "finite"),
        ({"functional": {(("a", "b"), "a"): "x"}}, "a finite number is needed"),
    ):
        with pytest.raises(rf.InputError, match=words):
            rf.next_menu(data, **options)
    for level in ("auto", 95, True):
        with pytest.raises(rf.InputError, match="confidence="):
            rf.best_assortment(data, {"a": 1, "b": 2}, "o", confidence=level)
    for revenue, words in (({"a": "x", "b": 2}, "='x': a finite number is needed"), ("abc", "revenue")):
        with pytest.raises(rf.InputError, match=words):
            rf.best_assortment(data, revenue, "o")
    with pytest.raises(rf.InputError, match="one item"):
        rf.explain(rf.ChoiceData.from_counts({("a",): {"a": 3}, ("b",): {"b": 4}}))
    with pytest.raises(rf.InputError, match="with counts"):
        rf.best_assortment(rf.project(data), {"a": 1, "b": 2}, "o", confidence=0.9)


def test_what_is_asked_of_an_assortment():
    items = SHOP.items
    assert find_revenue(items, {"a": 3, "b": 4}, "out").tolist() == [0.0, 3.0, 4.0]
    assert find_revenue(items, {"a": 3, "b": 4, "out": 1}, "out").tolist() == [1.0, 3.0, 4.0]
    assert find_revenue(items, [1, 2, 3], "out").tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(rf.InputError, match=r"there is none for \{b\}"):
        find_revenue(items, {"a": 3}, "out")
    with pytest.raises(rf.InputError, match=r"there is none for \{out\}"):
        find_revenue(items, {"a": 3, "b": 4}, "a")
    with pytest.raises(rf.InputError, match=r"revenue\['b'\]=inf: a finite number is needed"):
        find_revenue(items, [1, 2, np.inf], "out")
    assert find_items(items, ["b", "out"], "must").tolist() == [True, False, True]
    for wrong in (True, 0.0, 1.0, "0.9"):
        with pytest.raises(rf.InputError, match="a number between 0 and 1 is needed, or None"):
            rf.best_assortment(SHOP, {"a": 3, "b": 4}, "out", confidence=wrong)


def test_revenues_of_many_items_take_no_search_for_each():
    items = tuple(range(40_000))
    begin = time.process_time()
    assert find_revenue(items, {x: 1.0 for x in reversed(items)}, 0).sum() == len(items)
    assert time.process_time() - begin < 5.0  # 0.1 s; 16 s where each item is sought in the tuple
