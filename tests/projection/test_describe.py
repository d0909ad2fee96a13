"""A fit in words: how far, where, what it is a mixture of; one menu is no evidence."""

import pytest

import rumflow as rf

DECOY = {("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}}


def test_the_summary_of_a_fit():
    fit = rf.project(rf.ChoiceData.from_counts(DECOY))
    text = fit.summary()
    assert text.startswith("Distance to the nearest random utility model: 0.185164\nTypical difference")
    for words in (
        "{a, b, c}  a       0.5000  0.3857      0.1143",
        "a > the others",
        "Certificate: objective 0.0171429",
    ):
        assert words in text
    assert sum("0." in line for line in fit.parts(top=1)[1].text().splitlines()) == 1
    every = rf.project(rf.simulate.dirichlet(3, seed=0))
    assert "Block-Marschak inequalities that fail" in every.summary()


def test_a_distance_that_is_not_certified_is_a_range():
    data = rf.simulate.dirichlet(5, seed=0)
    fit = rf.project(data, route="bounded", max_seconds=1e-6, throw=False)
    assert fit.status is not rf.Status.OPTIMAL
    first = fit.summary().splitlines()[0]
    assert f": at most {fit.distance:.6g}, at least {fit.lower_distance:.6g} (stopped when time was up)" in first
    assert "of 1 rankings" not in fit.summary()


def test_one_ranking_is_no_mixture():
    one = {("a", "b"): {"a": 3, "b": 0}, ("a", "b", "c", "d"): {"a": 3, "b": 0, "c": 0, "d": 0}}
    assert "One ranking gives these probabilities." in rf.project(rf.ChoiceData.from_counts(one)).summary()


def test_other_models():
    data = rf.ChoiceData.from_counts(DECOY)
    assert "model of single-peaked preferences" in rf.project(data, model=rf.SinglePeaked("abc")).summary()
    types = rf.Types([["a", "a"], ["b", "b"], ["b", "c"]])
    assert "One mixture among many of" in rf.project(data, model=types).summary()


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_one_menu_is_no_evidence(route):
    one = rf.project(rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 7}}), route=route)
    assert one.summary().startswith("Nothing can be tested: there is only one menu")
    several = rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 7}, ("a", "b", "c"): {"a": 3, "b": 6, "c": 1}})
    assert rf.project(several, route=route).summary().startswith("These choices are consistent with random utility")
    known = rf.RandomUtility([("b", "a")])
    agreed = rf.project(rf.ChoiceData.from_counts({("a", "b"): {"a": 0, "b": 7}}), model=known)
    assert "Nothing can be tested" not in agreed.summary()
