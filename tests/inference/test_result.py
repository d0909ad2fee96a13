"""Results of the test: p-values, critical values, binding inequalities."""

from dataclasses import replace

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference import RumTest, rum_test


def test_pvalue_and_critical_value_agree(noisy):
    result = rum_test(noisy, n_boot=99, seed=0)
    for level in (0.01, 0.05, 0.2):
        above = replace(result, statistic=result.critical_value(level) * (1 + 1e-6) + 1e-12)
        assert (1 + (result.null_distribution >= above.statistic).sum()) / 100 <= level
    assert result.critical_value(0.001) == float("inf")
    with pytest.raises(rf.InputError, match="level=2"):
        result.critical_value(2)
    with pytest.raises(rf.InputError, match="was not tested"):
        result.critical_value(0.05, tau=0.77)


def test_critical_values_by_their_definition():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 8, "b": 2}, ("a", "b", "c"): {"a": 9, "b": 1, "c": 2}})
    result = replace(
        rum_test(data, n_boot=19, seed=0), null_distributions=np.random.default_rng(0).permutation(19)[None]
    )
    assert result.critical_value(0.04) == np.inf
    for level in (0.05, 0.09, 0.1, 0.35, 0.95):
        value = result.critical_value(level)
        below, above = ((1 + (result.null_distribution >= value + step).sum()) / 20 for step in (-0.5, 0.5))
        assert above <= level + 1e-12 < below


def test_no_verdict_from_too_few_replicates():
    counts = {("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}}
    data = rf.ChoiceData.from_counts(counts)
    few = "9 replicates were made, and at least 19 are needed."
    for options, where in (({"tau": 0.2}, " (tau = 0.2)"), ({"statistic": "fsst"}, "")):
        text = rum_test(data, n_boot=9, seed=1, **options).summary()
        assert f"Random utility is neither rejected nor not at the 5 % level{where}: {few}" in text
        assert "is not rejected" not in text
        assert "No replicate was as large" not in text
        enough = rum_test(data, n_boot=19, seed=1, **options).summary()
        assert f"Random utility is rejected at the 5 % level{where}." in enough
    inside = rf.ChoiceData.from_counts(counts | {("a", "b"): {"a": 60, "b": 40}})
    for options in ({}, {"statistic": "fsst"}):
        found = rum_test(inside, n_boot=9, seed=1, **options)
        assert (found.statistic, found.pvalue) == (0.0, 1.0)
        assert "Random utility is not rejected at the 5 % level" in found.summary()  # every replicate is as large


def test_plain_values_say_whether_tau_decides(noisy):
    found = rum_test(noisy, n_boot=19, seed=0)
    for values, flag in (([0.2, 0.05, 0.3], True), ([0.2, 0.1, 0.3], False)):
        assert replace(found, pvalues=np.array(values)).to_dict()["depends_on_tau"] is flag
    assert rum_test(noisy, n_boot=19, seed=0, tau=0.1).to_dict()["depends_on_tau"] is None


def test_repr(noisy):
    result = rum_test(noisy, n_boot=9, seed=0)
    assert isinstance(result, RumTest)
    assert repr(result).startswith("RumTest(statistic=")
