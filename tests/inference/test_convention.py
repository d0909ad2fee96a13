"""Conventions of the test, by name and by argument, and the values of tau."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference import rum_test
from rumflow.inference.convention import CONVENTIONS, Convention, find_convention, find_taus, inequality


def test_a_convention_fixes_everything_and_arguments_win(noisy):
    default, old = rum_test(noisy, 9, seed=0), rum_test(noisy, 9, seed=0, convention="recentred")
    assert (default.weights, default.draws, old.weights, old.draws) == (
        "counts",
        "null",
        "1 on every cell",
        "empirical",
    )
    assert old.tau == pytest.approx(np.sqrt(np.log(30) / 30))
    assert rum_test(noisy, 9, seed=0, convention="abkk").draws == "empirical"
    mixed = rum_test(noisy, 9, seed=0, convention="recentred", weights="counts", draws="null", tau=0.1)
    assert (mixed.weights, mixed.draws, mixed.taus) == ("counts", "null", (0.1,))
    assert (mixed.null_distribution == rum_test(noisy, 9, seed=0, tau=0.1).null_distribution).all()
    assert rum_test(noisy, 9, seed=0, convention=rf.Convention(tau=0.2)).taus == (0.2, 0.0, 0.4)


@pytest.mark.parametrize(
    "field",
    [
        {"set": "ball"},
        {"cells": "some"},
        {"scale": "huge"},
        {"scale": -1.0},
        {"centre": "x"},
        {"weights": "size"},
        {"draws": "some"},
        {"tau": 1.0},
        {"tau": "half"},
    ],
)
def test_bad_convention(field):
    with pytest.raises(rf.InputError, match="convention: "):
        Convention(**field)


def test_tau_rule():
    n_independent = np.array([2.0, 40.0, 60.0])

    def find(tau, convention, n_independent=n_independent, size=4.0):
        return find_taus(tau, n_independent, np.full(3, size), convention)

    own = 0.4 * (3**-0.2 + 40**-0.2 + 60**-0.2) / 3  # the first menu counts as one of three choices
    assert find("auto", Convention(tau="mean")) == pytest.approx((own, 0, 2 * own))
    assert find("mean", Convention()) == pytest.approx((own,))
    assert find("mean", Convention(), size=2.5) == pytest.approx((1.28 * own,))
    assert find("mean", Convention(), size=2.0) == pytest.approx((0.525 / 0.4 * own,))
    assert find("auto", find_convention("abkk"), 56 * n_independent) == pytest.approx((0.20525, 0, 0.41051), abs=1e-4)
    assert find("mean", Convention(), np.full(3, 34.0)) == pytest.approx((0.4 * 34**-0.2,))
    assert find("mean", Convention(), np.array([0.0, 3.0, np.inf])) == pytest.approx((0.8 / 3 * 3**-0.2,))
    assert find("auto", Convention(), np.full(3, np.inf)) == find("smallest", Convention(), np.full(3, np.inf)) == (0,)
    assert find("smallest", Convention()) == pytest.approx((np.sqrt(np.log(3) / 3),))
    assert find(["auto", 0.1], Convention(tau=0.3)) == (0.3, 0.1)
    assert find(1.5, Convention("cone")) == (1.5,)


def test_inequality():
    assert inequality(np.full(4, 7.0)) == 0
    assert inequality(np.array([1.0, 3.0])) == pytest.approx(1 - 1.5 / 2)
    assert inequality(np.array([2.0, 200.0, 200.0])) > 0.9
    assert inequality(np.array([0.0, 1.0])) == 0  # a draw at least
    assert inequality(np.full(2, np.inf)) == 0


def test_rule_for_tau():
    n_independent, items = np.array([5.0, 50.0, 200.0]), np.full(3, 3.0)
    mean = find_taus("mean", n_independent, items, Convention())[0]
    factor = 1 - inequality(n_independent) / 2
    unequal = inequality(n_independent)
    assert find_taus("auto", n_independent, items, Convention(), unequal) == pytest.approx(
        (factor * mean, 0, 2 * factor * mean)
    )
    assert find_taus("auto", n_independent, items, Convention())[0] == pytest.approx(mean)
    assert find_taus("mean", n_independent, items, Convention(), unequal) == pytest.approx((mean,))


def test_bad_thin():
    for value in (-1, np.nan, "much"):
        with pytest.raises(rf.InputError, match="thin"):
            Convention(thin=value)


def test_values_of_tau():
    n_independent, items = np.array([1.0, 32.0, 243.0]), np.array([2.0, 3.0, 4.0])
    mean = 0.4 * (3**-0.2 + 0.5 + 1 / 3) / 3
    thinned = mean * (1 - 0.9 / 2)
    assert find_taus("auto", n_independent, items, Convention(), 0.9) == pytest.approx((thinned, 0.0, 2 * thinned))
    assert find_taus("auto", n_independent, items, Convention()) == pytest.approx((mean, 0.0, 2 * mean))
    assert find_taus("mean", n_independent, items, Convention(tau=0.2)) == pytest.approx((mean,))
    assert find_taus("auto", n_independent, items, Convention(tau=0.2)) == (0.2, 0.0, 0.4)
    assert find_taus("auto", n_independent, items, Convention(tau=0.5)) == (0.5, 0.0)  # twice as much is no tau
    assert find_taus("auto", n_independent, items, Convention(set="cone", tau=0.5)) == (0.5, 0.0, 1.0)
    assert find_taus("auto", n_independent, items, Convention(tau=0)) == (0.0,)
    assert find_taus(0.5, n_independent, items, Convention()) == (0.5,)
    assert find_taus([0.5, "auto"], n_independent, items, Convention(), 0.9) == pytest.approx((0.5, thinned))
    smallest = np.sqrt(np.log(32) / 32)
    assert find_taus("smallest", np.array([32.0, 99.0]), items[:2], Convention()) == pytest.approx((smallest,))
    assert find_taus("smallest", np.array([2.0, 99.0]), items[:2], Convention()) == pytest.approx(
        (np.sqrt(np.log(3) / 3),)
    )
    assert find_taus("smallest", np.array([np.inf]), items[:1], Convention()) == (0.0,)
    two, six = np.array([2.0]), np.array([6.0])
    assert find_taus("mean", np.array([32.0]), two, Convention()) == pytest.approx((0.525 / 2,))
    assert find_taus("mean", np.array([32.0]), np.array([2.6]), Convention()) == pytest.approx((3.2 / 2.6**2 / 2,))
    assert find_taus("mean", np.array([32.0]), six, Convention()) == pytest.approx((0.4 / 2,))
    for wrong in (1.0, -0.1, np.nan, np.inf, None, True - 2):
        with pytest.raises(rf.InputError, match="a number from 0 to below 1 is needed"):
            find_taus(wrong, n_independent, items, Convention())
    assert find_taus(1.5, n_independent, items, Convention(set="cone")) == (1.5,)
    with pytest.raises(rf.InputError, match="a number, 0 or more, is needed"):
        find_taus(np.inf, n_independent, items, Convention(set="cone"))


def test_conventions_by_name():
    assert find_convention(None) == Convention() == find_convention("default")
    assert find_convention("recentred") == Convention(
        weights=None, draws="empirical", tau="smallest", as_published=True
    )
    assert {name for name, own in CONVENTIONS.items() if not own.as_published} == {"default"}
    with pytest.raises(rf.InputError, match="as_published='yes': accepted are True and False"):
        Convention(as_published="yes")
    abkk = find_convention("abkk")
    assert (abkk.set, abkk.cells, abkk.scale, abkk.centre) == ("cone", "drop-last", "group", "types")
    assert (abkk.weights, abkk.draws, abkk.tau) == (None, "empirical", "smallest")
    own = CONVENTIONS["kitamura-stoye"]
    assert (own.set, own.cells, own.scale, own.centre) == ("cone", "all", "total", "rankings")
    assert Convention().draws == "null"
    assert Convention(set="cone").draws == "empirical"
    assert find_convention("default", "empirical").draws == "empirical"
    assert Convention(scale=2.5).scale == 2.5
    for wrong in (0, -1.0, np.nan, np.inf):
        with pytest.raises(rf.InputError, match="a positive number is needed"):
            Convention(scale=wrong)
