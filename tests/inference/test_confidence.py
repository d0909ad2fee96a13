"""Confidence intervals: they contain the bounds, end where p-values say, and need counts."""

from types import SimpleNamespace

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import Rows
from rumflow.inference import bounds, confidence, rum_test
from rumflow.inference.confidence import BoundsOptions, Inversion, has_counts
from rumflow.inference.convention import Convention
from rumflow.inference.restricted import Restricted
from rumflow.inference.sample import build_sample
from tests.reference.bounds import CELL, few_menus, restrict
from tests.reference.examples import PAIR, TWO


def test_confidence_interval_contains_the_bounds():
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 50, "b": 30, "c": 20}, ("a", "b"): {"a": 60, "b": 40}})
    how = {"seed": 0, "interval": "distance"}
    found = bounds(data, ("a", "c"), "a", confidence=0.9, n_boot=59, **how)
    assert found.confidence_lower[0] < found.lower[0] <= found.upper[0] < found.confidence_upper[0]
    wider = bounds(data, ("a", "c"), "a", confidence=0.98, n_boot=59, **how)
    assert wider.confidence_lower[0] <= found.confidence_lower[0]
    assert wider.confidence_upper[0] >= found.confidence_upper[0]
    assert "90 % confidence" in found.summary()
    assert bounds(data, ("a", "c"), "a", n_boot=59, **how).confidence == 0.95
    drawn = bounds(data, ("a", "c"), "a", n_boot=19, interval="distance")
    again = bounds(data, ("a", "c"), "a", n_boot=19, seed=drawn.seed, interval="distance")
    assert again.confidence_lower.tolist() == drawn.confidence_lower.tolist()
    alone = bounds(data, ("a", "c"), "a", confidence=None)
    assert alone.seed is None
    assert alone.confidence_lower is None
    assert "sampling error is not in them" in alone.summary()
    assert alone.interval == found.interval


def test_no_confidence_interval_where_random_utility_is_rejected():
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 80, "b": 10, "c": 10}, ("a", "b"): {"a": 10, "b": 90}})
    found = bounds(data, ("a", "c"), "a", confidence=0.95, n_boot=59, seed=0, interval="distance")
    assert np.isnan(found.confidence_lower[0])
    assert "the model itself is rejected (p = 0.0167)" in found.summary()


def test_accepted_values_beyond_the_bounds(monkeypatch):
    """No value at the three places first tried, but some near by; and the right reason where there are none."""
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 50, "b": 30, "c": 20}, ("a", "b"): {"a": 60, "b": 40}})
    test = Inversion(data, 0.95, BoundsOptions(n_boot=59, seed=0, threads=1))
    own = restrict(test.sample, CELL, 3)
    kept = (0.62, 0.66)
    monkeypatch.setattr(Inversion, "pvalue_at", lambda self, r, t, whole=True: 0.2 if kept[0] <= t <= kept[1] else 0.01)
    found = test.interval(own, 0.5, 0.6)
    assert (found.low, found.high) == pytest.approx(kept, abs=3e-3)
    assert not found.note
    kept = (0.25, 0.3)  # of a difference of shares, from -1 to 1
    difference = Restricted(test.sample, np.array([[True, True, False]]), np.array([[1.0, -1.0, 0.0]]))
    found = test.interval(difference, 0.1, 0.2)
    assert (found.low, found.high) == pytest.approx(kept, abs=6e-3)
    kept = (2.0, 3.0)
    found = test.interval(own, 0.5, 0.6)
    assert np.isnan(found.low)
    assert "although the model is not (p = 1)" in found.note


def test_confidence_for_other_models():
    data = few_menus(4, 4, 1)
    model = rf.RandomUtility(above=[("a", "b")])
    found = bounds(data, ("a", "b"), "b", confidence=0.9, n_boot=39, seed=0, model=model, interval="distance")
    assert found.interval == pytest.approx((0, 0), abs=1e-9)


def test_which_data_have_counts():
    assert has_counts(few_menus(4, 4, 1))
    assert has_counts(rf.ChoiceData.from_counts({("a", "b"): {"a": 1}}))
    assert not has_counts(rf.ChoiceData.from_matrix(rf.simulate.mixed_logit(3, seed=0)))
    assert not has_counts(rf.simulate.mixed_logit(3, seed=0))


def test_confidence_of_an_observed_share_is_like_a_binomial_one():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 60, "b": 40}})
    found = bounds(data, ("a", "b"), "a", confidence=0.95, n_boot=399, seed=0, interval="distance")
    half = 1.96 * np.sqrt(0.24 / 100)
    assert found.confidence_lower[0] == pytest.approx(0.6 - half, abs=0.03)
    assert found.confidence_upper[0] == pytest.approx(0.6 + half, abs=0.03)
    assert rum_test(data, 19, seed=0).pvalue == 1


def test_confidence_on_both_routes():
    data = few_menus(4, 4, 2, draws=40)
    menu = next(m for m in (("a", "b"), ("c", "d"), ("a", "d")) if m not in data.menus)
    a, b = (
        bounds(data, menu, menu[0], confidence=0.9, n_boot=39, seed=0, route=route, interval="distance")
        for route in ("lattice", "graph")
    )
    assert b.confidence_lower == pytest.approx(a.confidence_lower, abs=2e-3, nan_ok=True)
    assert b.confidence_upper == pytest.approx(a.confidence_upper, abs=2e-3, nan_ok=True)


@pytest.mark.slow
def test_intervals_where_one_menu_is_huge():
    # What is known about c from {b, c, d} and about b and d together is the same, however many choose between a and e.
    data = rf.ChoiceData.from_counts(
        {
            ("a", "e"): {"a": 500000, "e": 500000},
            ("b", "c"): {"b": 12, "c": 28},
            ("b", "d"): {"b": 12, "d": 28},
            ("c", "d"): {"c": 36, "d": 4},
        }
    )
    how = {"n_boot": 59, "confidence": 0.9, "seed": 1, "interval": "distance"}
    menu = ("b", "c", "d")
    one = rf.bounds(data, menu, "c", **how)
    others = rf.bounds(data, functional={(menu, "b"): 1, (menu, "d"): 1}, **how)
    assert others.confidence_lower[0] == pytest.approx(1 - one.confidence_upper[0], abs=0.02)
    assert others.confidence_upper[0] == pytest.approx(1 - one.confidence_lower[0], abs=0.02)


@pytest.mark.parametrize(("confidence", "n_boot"), [(0.5, 1), (0.75, 3), (0.8, 4), (0.9, 9), (0.95, 19)])
def test_intervals_need_replicates_enough_to_reject(confidence, n_boot):
    """The smallest p-value, 1 / (1 + n_boot), has to reach 1 - confidence."""
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 7, "b": 3}})
    found = bounds(data, ("a", "b"), "a", confidence=confidence, n_boot=n_boot, seed=0, interval="distance")
    assert found.confidence_lower[0] <= 0.7 <= found.confidence_upper[0]
    if n_boot > 1:
        with pytest.raises(
            rf.InputError, match=f"n_boot={n_boot - 1}: with confidence {confidence} at least {n_boot} "
        ):
            bounds(data, ("a", "b"), confidence=confidence, n_boot=n_boot - 1, interval="distance")
    for wrong in (0.0, 1.0, 1.5):
        with pytest.raises(rf.InputError, match=f"confidence={wrong}: a number between 0 and 1"):
            bounds(data, ("a", "b"), confidence=wrong, n_boot=n_boot)


def test_pvalues_at_values_that_fit_and_that_do_not():
    """All replicates are as far as the value that was observed, none as far as one at the other end."""
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 72, "b": 18}})
    test = Inversion(data, 0.9, BoundsOptions(n_boot=19, seed=3, threads=1))
    restricted = Restricted(test.sample, np.array([[True, True]]), np.array([[1.0, 0.0]]))
    assert test.pvalue_at(restricted, 0.8) == 1.0
    assert test.pvalue_at(restricted, 0.1) == 1 / 20


def test_replicates_end_when_the_decision_is_made():
    frequencies = rf.simulate.noisy_rankings(4, 6, 40, seed=1)
    data = rf.ChoiceData.from_matrix(40 * frequencies)
    test = Inversion(data, 0.9, BoundsOptions(n_boot=99, seed=3, threads=1))
    menu, c = np.array([[True, True, True, False]]), np.array([[1.0, 0.0, 0.0, 0.0]])
    restricted = Restricted(test.sample, menu, c)
    drawn = []
    measure = restricted.measure
    restricted.measure = lambda p, *rest: (drawn.append(len(p)), measure(p, *rest))[1]
    kept = []
    for theta in np.linspace(0.02, 0.98, 13):
        kept.append(test.pvalue_at(restricted, theta, whole=False) > test.level)
        assert kept[-1] == (test.pvalue_at(restricted, theta) > test.level)
    assert True in kept
    assert False in kept
    assert sum(drawn) < 13 * (99 + 99 + 4)  # some decisions came early


class Steps:
    """A test that keeps the values between two numbers, on the range from 0 to 1."""

    def __init__(self, low, high, model=0.5):
        self.low, self.high, self.level, self._model, self.asked = low, high, 0.1, model, []

    def pvalue_at(self, _, theta, whole=True):
        self.asked.append(theta)
        return 0.5 if self.low <= theta <= self.high else 0.02 + 0.05 * (theta >= 0.9)

    def model_pvalue(self):
        return self._model


WHOLE = SimpleNamespace(least=0.0, most=1.0)


def test_ends_of_an_interval():
    """From the sharp bounds 0.4 and 0.6: four steps outwards, then eight halvings of a step of 0.1."""
    found = Inversion.interval(Steps(0.25, 0.7), WHOLE, 0.4, 0.6)
    assert found.low == pytest.approx(0.25 - 0.1 / 2**8, abs=1e-9)
    assert found.high == pytest.approx(0.7 + 0.1 / 2**8, abs=1e-9)
    assert found.note == ""
    assert Inversion.interval(Steps(-1.0, 2.0), WHOLE, 0.4, 0.6) == (0.0, 1.0, "")
    assert Inversion.interval(Steps(0.5, 0.5), WHOLE, 0.4, 0.6).low == pytest.approx(0.5, abs=0.125 / 2**8)
    outside = Inversion.interval(Steps(0.25, 0.7), SimpleNamespace(least=0.3, most=0.65), 0.2, 0.9)
    assert outside[:2] == (0.3, 0.65)
    counted = Steps(0.25, 0.7)
    Inversion.interval(counted, WHOLE, 0.4, 0.6)
    assert len(counted.asked) == len(set(counted.asked))  # no value is tested twice
    assert counted.asked[:3] == [0.4, 0.5, 0.6]


def test_values_beyond_the_bounds_are_tried():
    steps = Steps(0.32, 0.34)
    found = Inversion.interval(steps, WHOLE, 0.4, 0.6)
    assert found.low == pytest.approx(0.32, abs=0.1 / 2**8)
    tried = sorted(steps.asked[:11])
    away = np.array([1, 2, 4, 8]) / 64
    assert tried == pytest.approx(sorted([0.4, 0.5, 0.6, *(0.4 - away), *(0.6 + away)]))
    near = Steps(5.0, 5.0)
    Inversion.interval(near, SimpleNamespace(least=0.39, most=0.61), 0.4, 0.6)
    assert min(near.asked) >= 0.39
    assert max(near.asked) <= 0.61


def test_where_no_value_is_kept():
    found = Inversion.interval(Steps(5.0, 5.0), WHOLE, 0.4, 0.6)
    assert np.isnan(found[:2]).all()
    assert found.note == (
        "every value is rejected at this level although the model is not (p = 0.5); the least rejected is 0.4 (p = 0.02)"
    )
    high = Inversion.interval(Steps(5.0, 5.0), WHOLE, 0.4, 0.85)
    assert high.note.endswith("the least rejected is 0.912 (p = 0.07)")
    rejected = Inversion.interval(Steps(5.0, 5.0, model=0.1), WHOLE, 0.4, 0.6)
    assert rejected.note == "no value, because the model itself is rejected (p = 0.1)"


def test_pvalues_of_a_pair_by_hand():
    """At theta the replicates come from (theta, 1 - theta): the share of those as far from theta as the data."""
    test = Inversion(PAIR, 0.9, BoundsOptions(n_boot=39, seed=5, threads=1))
    assert test.level == pytest.approx(0.1)
    assert test.level > 0.1
    assert test.tau == pytest.approx(2 * 0.525 * 40**-0.2)
    own = Restricted(test.sample, np.array([[True, True]]), np.array([[1.0, 0.0]]))
    told = []
    test.advance = told.append
    for theta in (0.6, 0.72, 0.9):
        far = []
        for i in range(39):
            rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(5, spawn_key=(i,))))
            far.append(abs(rng.multinomial(40, [theta, 1 - theta, 0.0])[0] / 40 - theta) >= abs(0.75 - theta) - 1e-6)
        assert test.pvalue_at(own, theta) == pytest.approx((1 + sum(far)) / 40)
    assert told == [1, 1, 1]
    assert test.model_pvalue() == 1.0


def test_replicates_are_drawn_while_they_matter():
    """21 replicates at 90 %: after 20, none of them as far, the last one changes nothing."""
    test = Inversion(PAIR, 0.9, BoundsOptions(n_boot=21, seed=5, threads=1))
    own = Restricted(test.sample, np.array([[True, True]]), np.array([[1.0, 0.0]]))
    drawn, draw = [], test.sampler.draw
    test.sampler.draw = lambda generators, centre: (drawn.append(len(generators)), draw(generators, centre))[1]
    assert test.pvalue_at(own, 0.1, whole=False) == 1 / 22
    assert drawn == [20]
    drawn.clear()
    assert test.pvalue_at(own, 0.75, whole=False) == 21 / 22  # enough of them are as far
    assert drawn == [20]
    drawn.clear()
    assert test.pvalue_at(own, 0.75) == 1.0
    assert drawn == [21]
    more = Inversion(PAIR, 0.9, BoundsOptions(n_boot=99, seed=5, threads=1))
    more.sampler.draw = test.sampler.draw
    drawn.clear()
    assert more.pvalue_at(own, 0.1, whole=False) == 1 / 100
    assert drawn == [20, 40, 39]  # after 60 the other 39 could still turn it


def test_tau_of_intervals():
    sample = build_sample(PAIR, "counts", Convention())
    n_independent = np.array([40.0])
    assert confidence.interval_tau("auto", sample, n_independent) == pytest.approx(1.05 * 40**-0.2)
    assert confidence.interval_tau("mean", sample, n_independent) == pytest.approx(0.525 * 40**-0.2)
    assert confidence.interval_tau(0.3, sample, n_independent) == 0.3
    assert confidence.interval_tau("auto", build_sample(PAIR, "counts", Convention(tau=0.6)), n_independent) == 0.9


def test_data_with_counts():
    member = np.array([[True, True]])

    def data(counts, total):
        return rf.ChoiceData(("a", "b"), member, np.array([counts]), np.array([total]))

    assert has_counts(PAIR)
    assert has_counts(data([1.0, 0.0], 1.0))  # one choice
    assert not has_counts(data([0.5, 0.5], 1.0))  # probabilities
    assert has_counts(data([1.0, 1.0], 2.0))
    assert not has_counts(data([1.0, 1.5], 2.5))
    assert not has_counts(rf.ChoiceData.from_counts({("a",): {"a": 5}}))
    assert not has_counts(np.ones((4, 2)))
    rows = Rows(np.array([0], np.int32), np.array([0], np.int16), np.array([0.5]), None)
    assert has_counts(rf.ChoiceData(("a", "b"), member, np.array([[0.5, 0.0]]), np.array([0.5]), rows))


@pytest.mark.parametrize(
    ("level", "words"), [(0.0, "between 0 and 1"), (1.0, "between 0 and 1"), (0.9, "at least 9 replicates")]
)
def test_levels_of_intervals(level, words):
    with pytest.raises(rf.InputError, match=words):
        BoundsOptions(confidence=level, n_boot=8).level_for(PAIR)


def test_memory_of_intervals_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(confidence, "require_memory", lambda needed, what, *_: asked.append((needed, what)))
    Inversion(TWO, 0.9, BoundsOptions(n_boot=19, seed=5, threads=1))
    assert asked == [(48 * 19 * 5, "intervals with 19 replicates")]
