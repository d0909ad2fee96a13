"""The result of `bounds`: sharp bounds and confidence intervals, each by its name."""

import pytest

import rumflow as rf
from tests.reference.examples import FITS


def test_sharp_bounds_and_confidence_intervals_are_told_apart():
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 30, "b": 30, "c": 40}, ("a", "b"): {"a": 50, "b": 50}})
    one = rf.bounds(data, functional=rf.functionals.share(("a", "c"), "a"), n_boot=49, seed=1)
    low, high = one.confidence_interval()
    assert low < one.interval[0] <= one.interval[1] < high
    assert (low, high) == (one.confidence_lower[0], one.confidence_upper[0])
    both = rf.bounds(data, ("a", "c"), n_boot=49, seed=1)
    assert both.confidence_interval("c") == (both.confidence_lower[1], both.confidence_upper[1])
    with pytest.raises(rf.InputError, match="there are intervals for 2 items"):
        both.confidence_interval()
    with pytest.raises(rf.InputError, match="item 'd': intervals were computed for"):
        both.confidence_interval("d")
    with pytest.raises(rf.InputError, match="no confidence intervals were computed"):
        rf.bounds(data, ("a", "c"), confidence=None).confidence_interval("a")


def test_a_result_says_how_its_intervals_were_made():
    found = rf.bounds(FITS, ["a", "c"], n_boot=39, seed=1)
    assert (found.interval_kind, found.to_dict()["interval_kind"]) == ("profile", "profile")
    assert rf.bounds(FITS, ["a", "c"], n_boot=19, seed=1, interval="distance").interval_kind == "distance"
    assert rf.bounds(FITS, ["a", "c"], confidence=None).interval_kind is None
