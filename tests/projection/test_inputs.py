"""Bad input ends in an error that names the menu, the item and what is accepted; inputs that can be read in two ways."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core import memory as errors


def good():
    return rf.simulate.dirichlet(3, 0)


def changed(menu, item, value):
    rho = good()
    rho[menu, item] = value
    return rho


def overfull():
    rho = good()
    rho[7] = [np.nan, 0.8, 0.8]
    return rho


@pytest.mark.parametrize(
    ("rho", "words"),
    [
        (
            changed(6, 1, np.inf),
            r"menu \{1, 2\} \(row 6\), item 1: the probability is infinite; it must be from 0 to 1",
        ),
        (changed(6, 1, -0.1), r"menu \{1, 2\} \(row 6\), item 1: the probability is -0.1; it must be from 0 to 1"),
        (changed(3, 0, 0.9), r"menu \{0, 1\} \(row 3\): the probabilities add up to .*; they must add up to 1"),
        (changed(3, 2, 0.5), r"menu \{0, 1\} \(row 3\), item 2: the entry is 0.5 but the item is not in the menu"),
        (overfull(), r"menu \{0, 1, 2\} \(row 7\): the observed probabilities add up to 1.6; they must"),
        (np.zeros((7, 3)), r"shape \(2\^n, n\).*this one has shape \(7, 3\)"),
        ("abc", "abc: there is no such file"),
        (np.array(["abc"]), "data: an array of real numbers is needed .*, not ndarray"),
        (good() + 0j, "data: an array of real numbers is needed"),
        (np.zeros(8), r"this one has shape \(8,\)"),
        (np.full((8, 3), np.nan), "no cell is observed"),
    ],
)
def test_arrays(rho, words):
    with pytest.raises(rf.InputError, match=words):
        rf.project(rho)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"weights": "size"},
            r"weights='size': accepted are None, 'counts', 'inverse-variance' and an array of shape \(8, 3\)",
        ),
        ({"weights": "counts"}, "needs ChoiceData"),
        ({"weights": np.ones((4, 3))}, r"shape \(8, 3\) is needed, not \(4, 3\)"),
        ({"weights": np.zeros((8, 3))}, "every weight is 0"),
        ({"weights": np.full((8, 3), -1.0)}, r"menu \{0\} \(row 1\), item 0 has weight -1; weights must be finite"),
        ({"weights": np.full((8, 3), np.nan)}, "has weight nan"),
        ({"method": "simplex"}, "method='simplex': accepted are 'auto', 'rankings' and 'ipm'"),
        ({"tol": 0.0}, "tol=0.0"),
        ({"max_seconds": -1.0}, "max_seconds=-1.0"),
        ({"tol": "small"}, "tol='small'"),
        ({"max_seconds": "x"}, "max_seconds='x'"),
        ({"start": [1, 2]}, "an earlier fit or its rankings are needed, not list"),
        ({"weights": [["a"] * 3] * 8}, "weights: an array of real numbers is needed"),
        ({"start": rf.Rankings(np.array([[0, 1]]), np.ones(1), (0, 1))}, r"orders of shape \(k, 3\)"),
        ({"start": rf.Rankings(np.array([[0, 1, 1]]), np.ones(1), (0, 1, 2))}, "each of the items 0 to 2 once"),
        ({"start": rf.Rankings(np.array([[0, 1, 2]]), -np.ones(1), (0, 1, 2))}, "not all 0"),
    ],
)
def test_options(options, words):
    with pytest.raises(rf.InputError, match=words):
        rf.project(good(), **options)


def test_a_weight_on_a_cell_that_was_not_observed():
    rho = good()
    rho[5] = [np.nan, 0, np.nan]
    with pytest.raises(rf.InputError, match=r"menu \{0, 2\} \(row 5\), item 0 has weight 1 but was not observed"):
        rf.project(rho, weights=np.ones((8, 3)))


def test_what_does_not_fit_is_refused_before_it_starts(monkeypatch):
    with pytest.raises(rf.InputError, match=r"n = 29 items.* needs about .* GiB of memory and .* is free"):
        rf.simulate.dirichlet(29, 0)
    monkeypatch.setattr(errors, "available_memory", lambda: 1 << 20)
    with pytest.raises(rf.InputError, match=r"the projection for n = 18 items \(2,359,296 cells\) needs about"):
        rf.project(np.zeros((1 << 18, 18)))


def test_single_items_need_no_data():
    rho = good()
    full = rf.project(rho)
    for value in (0.0, np.nan):
        without = rho.copy()
        without[[1, 2, 4]] = value
        assert (rf.project(without).rho == full.rho).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rf.ChoiceData.from_counts(None), "a mapping of menus"),
        (lambda: rf.ChoiceData.from_counts({("a", "b"): {"a": 1}}, items=[["a"], "b"]), "item ['a']"),
        (lambda: rf.ChoiceData.from_matrix("abc"), "not str 'abc'"),
        (lambda: rf.simulate.noisy_rankings(3, draws=1.5), "draws"),
        (lambda: rf.simulate.dirichlet(3, seed="a"), "seed='a'"),
        (lambda: rf.project(rf.simulate.dirichlet(3, 0)).sample(3, seed=-1), "seed=-1"),
        (lambda: rf.project(rf.simulate.dirichlet(3, 0)).probabilities((1, 1)), "item 1 appears twice"),
        (lambda: rf.Lattice(3).mask(["ab"]), "item 'ab'"),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(call, words):
    with pytest.raises(rf.InputError) as caught:
        call()
    assert words in str(caught.value)


def test_an_array_that_can_be_read_in_two_ways_is_asked_about():
    rho = rf.simulate.dirichlet(4, 0)
    with pytest.raises(rf.InputError, match=r"either one problem of 4 items or a stack of 16 problems of 2 items"):
        rf.project_many(rho)
    assert rf.project_many(rho[None]).rho[0] == pytest.approx(rf.project(rho).rho)
    assert rf.project_many(rho, n=2).rho.shape == (16, 4)
    with pytest.raises(rf.InputError, match="n=3"):
        rf.project_many(rho, n=3)
    with pytest.raises(rf.InputError, match=r"project\(\)"):
        rf.project_many(rf.simulate.dirichlet(3, 0))


def test_masked_entries_are_not_observed():
    rho = rf.simulate.noisy_rankings(4, seed=0)
    hidden = np.where(np.arange(16)[:, None] == 15, np.nan, rho)
    masked = np.ma.masked_invalid(hidden)
    masked.data[15] = 0.25  # what lies under the mask must not count
    assert rf.project(masked).objective == rf.project(hidden).objective
    with pytest.raises(rf.InputError, match="finite"):
        rf.project_many(masked[None])


def test_counts_beyond_double_precision_are_refused_by_name():
    data = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 1, "b": 2}, ("a", "c"): {"a": 2e15, "c": 3e15}, ("b", "c"): {"b": 1, "c": 4}}
    )
    with pytest.raises(rf.InputError, match=r"menu \{a, c\}.* and menu \{a, b\}.* 1e\+12"):
        rf.project(data, weights="counts")
    assert rf.project(data).status is rf.Status.OPTIMAL


@pytest.mark.parametrize("ask", [rf.project, rf.estimate_cost, rf.rum_test, rf.fit_likelihood])
def test_what_is_no_model_is_named(ask):
    data = rf.simulate.random_menus(9, 12, 3, seed=0)
    with pytest.raises(rf.InputError, match="a model such as RandomUtility"):
        ask(data, model="rum")
    with pytest.raises(rf.InputError, match="RandomUtility is a class"):
        ask(data, model=rf.RandomUtility)
