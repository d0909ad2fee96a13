"""Models that lie in others: established by lists and by rankings, and not claimed where neither decides."""

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.models.nesting import lies_in

MENUS = [("a", "b"), ("b", "c"), ("a", "b", "c")]
CELLS = Cells([[x in menu for x in "abc"] for menu in MENUS], items=("a", "b", "c"))
EVERY = rf.RandomUtility()
LINEAR = rf.LinearUtility({"a": (1, 4), "b": (2, 1), "c": (4, 2)})
PRICES = {(menu, item): i * j + j * j for i, menu in enumerate(MENUS) for j, item in enumerate(menu)}


def test_attributes_of_items_lie_in_random_utility():
    assert lies_in(LINEAR, EVERY, CELLS)
    assert not lies_in(EVERY, LINEAR, CELLS)
    assert lies_in(rf.SinglePeaked("abc"), EVERY, CELLS)


def test_attributes_by_menu_lie_in_it_only_where_their_types_do():
    assert lies_in(rf.LinearUtility(PRICES), EVERY, CELLS)  # the last item, or the first, everywhere
    dear = {**PRICES, (MENUS[2], "a"): 9, (MENUS[2], "c"): 0}
    assert not lies_in(rf.LinearUtility(dear), EVERY, CELLS)
    assert lies_in(rf.Satisficing("abc", {"a": 1, "b": 2, "c": 0}), EVERY, CELLS)


def test_lists_are_compared_type_by_type():
    signed = rf.LinearUtility({"a": (1, 4), "b": (2, 1), "c": (4, 2)}, [1, 0])
    assert lies_in(signed, LINEAR, CELLS)
    assert not lies_in(LINEAR, signed, CELLS)
    table = rf.Types([["a", "c", "a"], ["a", "b", "a"]])
    assert lies_in(table, rf.Types([["a", "b", "a"], ["b", "b", "b"], ["a", "c", "a"]]), CELLS)
    assert not lies_in(signed, rf.SinglePeaked("abc"), CELLS)  # not decided
    assert not lies_in(rf.SinglePeaked("abc"), rf.RandomUtility([("a", "b")]), CELLS)


def test_a_comparison_says_so():
    data = rf.ChoiceData.from_counts({menu: dict.fromkeys(menu, 5) for menu in MENUS})
    found = rf.compare_models(data, {"all": None, "linear": LINEAR, "rule": rf.Lexicographic({"a": 1, "b": 2, "c": 4})})
    assert found.nested == (("linear", "all"), ("rule", "all"), ("rule", "linear"))
    assert rf.compare_models(data, {"linear": LINEAR}).nested == ()
