"""Intervals by the difference of two distances: against enumeration and by hand; their ends; models that are rejected."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import nnls

import rumflow as rf
from rumflow.inference.confidence import BoundsOptions
from rumflow.inference.profile import Profile, find_end
from rumflow.inference.restricted import Restricted
from tests.reference.examples import DECOY, PAIR

COUNTS = {("a", "b"): {"a": 30, "b": 10}, ("b", "c"): {"b": 11, "c": 19}, ("a", "b", "c"): {"a": 9, "b": 12, "c": 29}}
THREE = rf.ChoiceData.from_counts(COUNTS)


def make(data, n_boot=39, confidence=0.9, **options):
    return Profile(data, confidence, BoundsOptions(n_boot=n_boot, seed=5, threads=1, **options))


def by_enumeration(theta):
    """Squared distance of THREE to all mixtures of six rankings, with and without P(a from {a, c}) = theta; weights: choices."""
    orders = list(permutations("abc"))

    def takes(menu, item):
        return [float(min(menu, key=order.index) == item) for order in orders]

    rows, wanted, heavy = [], [], 1e5
    for menu, counts in COUNTS.items():
        total = sum(counts.values())
        for item, count in counts.items():
            rows.append(np.sqrt(total) * np.array(takes(menu, item)))
            wanted.append(np.sqrt(total) * count / total)
    rows, wanted = [*rows, np.full(6, heavy)], [*wanted, heavy]
    if theta is not None:
        rows, wanted = [*rows, heavy * np.array(takes("ac", "a"))], [*wanted, heavy * theta]
    return nnls(np.array(rows), np.array(wanted))[1] ** 2


@pytest.mark.parametrize("theta", [0.02, 0.2, 0.5, 0.8, 0.97])
@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_the_difference_is_that_of_enumerated_mixtures(theta, route):
    test = make(THREE, route=route)
    menu = np.array([[True, False, True]])
    cell = test.restricted(menu, np.array([[1.0, 0.0, 0.0]]))
    expected = by_enumeration(theta) - by_enumeration(None)
    scale = test.sample.scale * test.sample.weights.max() / 50  # weights are choices, up to a factor
    # A heavy cell leaves the distance low by some parts in 20,000.
    assert test.difference(cell, theta) == pytest.approx(scale * expected, rel=3e-4, abs=1e-3 * scale)
    both = Restricted(test.sample, menu, np.array([[0.5, 0.0, -0.5]]))  # the same question by the multiplier
    assert test.difference(both, theta - 0.5) == pytest.approx(scale * expected, rel=1e-5, abs=1e-3 * scale)


def test_pvalues_of_a_pair_by_hand():
    """Every share of a is rational, so the difference is the distance from theta; a p-value counts twice."""
    test = make(PAIR)
    own = test.restricted(np.array([[True, True]]), np.array([[1.0, 0.0]]))
    told = []
    test.advance = told.append
    for theta in (0.55, 0.6, 0.72, 0.9):
        far = []
        for i in range(39):
            rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(5, spawn_key=(i,))))
            far.append(abs(rng.multinomial(40, [theta, 1 - theta, 0.0])[0] / 40 - theta) >= abs(0.75 - theta) - 1e-6)
        assert test.pvalue_at(own, theta) == pytest.approx(min(2 * (1 + sum(far)) / 40, 1.0))
    assert told == [1, 1, 1, 1]


@pytest.mark.parametrize(("confidence", "n_boot"), [(0.9, 19), (0.9, 39), (0.95, 39), (0.8, 25)])
def test_values_are_kept_up_to_the_critical_value(confidence, n_boot):
    test = make(THREE, n_boot, confidence)
    cell = test.restricted(np.array([[True, False, True]]), np.array([[1.0, 0.0, 0.0]]))
    decisions = set()
    for theta in np.linspace(0.02, 0.98, 13):
        kept = test.pvalue_at(cell, theta) > test.level
        assert kept == (test.difference(cell, theta) <= test.critical_value(cell, theta))
        decisions.add(kept)
    assert decisions == {True, False}


def test_an_interval_ends_where_values_are_rejected():
    test = make(THREE, 99)
    cell = test.restricted(np.array([[True, False, True]]), np.array([[1.0, 0.0, 0.0]]))
    sharp = rf.bounds(THREE, ["a", "c"], "a", confidence=None).interval
    found = test.interval(cell, *sharp)
    assert found.low < sharp[0] <= sharp[1] < found.high
    for end, inner in zip(found[:2], sharp, strict=True):
        assert test.pvalue_at(cell, end + 0.1 * (end - inner)) <= test.level
        assert test.pvalue_at(cell, end - 0.1 * (end - inner)) > test.level
    assert found.note == ""


def test_an_observed_share_has_an_interval_like_a_binomial_one():
    """At half of the level: that of 97.5 %."""
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 60, "b": 40}})
    found = rf.bounds(data, ("a", "b"), "a", confidence=0.95, n_boot=399, seed=0)
    half = 2.24 * np.sqrt(0.24 / 100)
    assert found.confidence_interval() == pytest.approx((0.6 - half, 0.6 + half), abs=0.03)
    sure = rf.ChoiceData.from_counts({("a", "b"): {"a": 50}})
    low, high = rf.bounds(sure, ("a", "b"), "a", confidence=0.9, n_boot=399, seed=0).confidence_interval()
    assert high == 1
    assert low == pytest.approx(0.05 ** (1 / 50), abs=0.03)  # where 50 of 50 have a chance of 5 %
    once = rf.ChoiceData.from_counts({("a", "b"): {"a": 1}})
    low, high = rf.bounds(once, ("a", "b"), "a", confidence=0.9, n_boot=999, seed=0).confidence_interval()
    assert high == 1
    assert low == pytest.approx(0.05, abs=0.01)


def test_profiles_are_narrower_and_hold_the_sharp_bounds():
    data = rf.simulate.stock_outs(8, 10, missing=0.3, draws=60, seed=1)
    menu, ends = tuple(range(6)), {}
    for kind in ("profile", "distance"):
        found = rf.bounds(data, menu, menu[0], confidence=0.9, n_boot=59, seed=0, interval=kind)
        ends[kind] = found.confidence_interval()
    assert ends["profile"][0] <= found.interval[0] <= found.interval[1] <= ends["profile"][1]
    assert np.ptp(ends["profile"]) < 0.95 * np.ptp(ends["distance"])


def test_a_model_that_is_rejected_has_the_interval_of_its_best_fit():
    found = rf.bounds(DECOY, ["a", "c"], confidence=0.9, n_boot=39, seed=1)
    for item in "ac":
        low, high = found.confidence_interval(item)
        assert low < found[item][0] < found[item][1] < high
    assert found.notes == ("the model itself is rejected (p = 0.025); this is the interval of its best fit",) * 2
    assert rf.rum_test(DECOY, n_boot=39, seed=1).pvalue == 0.025


def test_what_profiles_need():
    with pytest.raises(rf.InputError, match=r"n_boot=38: with confidence 0\.95 at least 39 replicates are needed"):
        rf.bounds(PAIR, ["a", "b"], n_boot=38)
    with pytest.raises(rf.InputError, match=r"tau=0\.2: intervals by profile are not tightened"):
        rf.bounds(PAIR, ["a", "b"], tau=0.2)


def slope(x):
    return 40 * max(x - 0.6, 0.0) ** 2


@pytest.mark.parametrize(("value", "end"), [(lambda x: 0.4, 0.7), (lambda x: 40 * (0.05 + (x - 0.6) / 2) ** 2, 0.7)])
def test_ends_where_critical_values_are_met(value, end):
    asked = []
    found = find_end(slope, lambda x: (asked.append(x), value(x))[1], 0.6, 1.0, 1e-3)
    assert found == pytest.approx(end, abs=1e-4)
    assert len(asked) <= 6
    mirrored = find_end(lambda x: slope(1 - x), lambda x: value(1 - x), 0.4, 0.0, 1e-3)
    assert mirrored == pytest.approx(1 - end, abs=1e-4)


def test_ends_of_the_range_and_of_ties():
    assert find_end(slope, lambda x: 40.0, 0.6, 1.0, 1e-3) == 1.0
    assert find_end(slope, lambda x: 0.4, 0.6, 0.6005, 1e-3) == 0.6005
    # The critical value is the statistic itself, as where one sample is nearly sure, and then falls to nothing.
    found = find_end(slope, lambda x: slope(x) if x < 0.83 else 0.01, 0.6, 1.0, 1e-3)
    assert found == pytest.approx(0.83, abs=1e-3)
    # It jumps down by a third where the end is; the statistic grows by less between two values a seventh of the way apart.
    found = find_end(slope, lambda x: 2.0 if x < 0.81 else 0.9, 0.6, 1.0, 1e-3)
    assert found == pytest.approx(0.81, abs=1e-3)
    assert find_end(slope, lambda x: 0.0, 0.6, 1.0, 1e-3) == pytest.approx(0.6, abs=1e-3)
