"""Pages on pairs with ties as an outcome, and on the triangle inequalities."""

import re

import pytest

import rumflow as rf
from rumflow.report import make_report
from tests.inference.test_transitivity import CYCLE

TIED = rf.ChoiceData.from_counts(
    {
        ("a", "b", rf.TIE): {"a": 80, "b": 10, rf.TIE: 10},
        ("b", "c", rf.TIE): {"b": 80, "c": 10, rf.TIE: 10},
        ("a", "c", rf.TIE): {"a": 20, "c": 60, rf.TIE: 20},
        ("c", "d", rf.TIE): {"c": 30, "d": 30, rf.TIE: 40},
    }
)


def test_ties_as_an_outcome_are_compared_with_weak_orders(tmp_path):
    path = tmp_path / "page.html"
    found = make_report(TIED, path, n_boot=19, model=rf.TriangleInequalities())
    page = path.read_text(encoding="utf-8")
    assert found["distance"] == rf.project(TIED, model=rf.WeakOrders()).distance > 0.1
    assert found["pvalue"] == found["model_pvalue"] == 0.05
    assert found["model"] == "triangle inequalities"
    assert found["conflict"] == [["a", "b", rf.TIE], ["a", "c", rf.TIE], ["b", "c", rf.TIE]]
    for words in (
        "No: no population of people with weak orders makes choices like these",
        "<dt>pairs offered</dt><dd>4 of 6</dd>",
        "Items: a, b, c, d. Ties are an outcome of their own.",
        "How far from a population with weak orders?",
        "Test of weak order: do these choices come from a population of people with weak orders?",
        "Every population with weak orders obeys the triangle inequalities",
        "2 pairs were never compared",
        "1 majority triangle among 1 triple, 1 significant",
    ):
        assert words in page
    assert "andom utility model" not in page.replace("onto random utility models", "")  # the citation
    low, high = (float(x) for x in _cells(page, "{a, d}", "a"))
    bound = rf.bounds(TIED, ("a", "d", rf.TIE), item="a", model=rf.TriangleInequalities())
    assert (low, high) == (round(float(bound.lower[0]), 3), round(float(bound.upper[0]), 3))


def _cells(page, menu, item):
    """The numbers of the row of a table that begins with a menu and an item."""
    number = r"\s*<td[^>]*>([.\d]+)</td>"
    return re.search(rf"<td[^>]*>{menu}</td>\s*<td[^>]*>{item}</td>{number}{number}", page).groups()


def test_many_items_with_ties_are_compared_with_the_inequalities(tmp_path):
    path = tmp_path / "page.html"
    around = [(k, (k + 1) % 11, rf.TIE) for k in range(11)]
    data = rf.ChoiceData.from_counts({menu: {menu[0]: 97, menu[1]: 1, rf.TIE: 2} for menu in around})
    found = make_report(data, path, n_boot=19)
    page = path.read_text(encoding="utf-8")
    assert found["pvalue"] == 0.05
    assert len(found["conflict"]) == 11  # all around
    assert "How far from a population that obeys the triangle inequalities?" in page
    assert "The triangle inequality is rejected (p = 0.05)" in page
    even = rf.ChoiceData.from_counts({menu: {menu[0]: 30, menu[1]: 30, rf.TIE: 40} for menu in around})
    assert make_report(even, path, n_boot=0)["conflict"] == []
    assert "They may be: the shares obey all triangle inequalities" in path.read_text(encoding="utf-8")


def test_a_cycle_of_the_inequalities_beside_random_utility(tmp_path):
    path = tmp_path / "page.html"
    found = make_report(CYCLE, path, n_boot=19, model=rf.TriangleInequalities())
    assert found["model_distance"] == pytest.approx(found["distance"], abs=1e-9)  # three items: the same set
    assert "a over b 0.9, b over c 0.9, c over a 0.8: together 2.6" in path.read_text(encoding="utf-8")


def test_a_pair_alone_and_what_is_refused(tmp_path):
    path = tmp_path / "page.html"
    data = rf.ChoiceData.from_counts({("a", "b", rf.TIE): {"a": 3, "b": 1, rf.TIE: 4}})
    assert make_report(data, path, n_boot=19)["distance"] < 1e-12
    assert "Nothing can be tested" in path.read_text(encoding="utf-8")
    with pytest.raises(rf.InputError, match="an assortment has no ties"):
        make_report(data, path, revenue={"a": 1, "b": 2})
    with pytest.raises(rf.InputError, match="has no types"):
        make_report(CYCLE, path, revenue={"a": 1, "b": 2, "c": 3}, model=rf.TriangleInequalities())
