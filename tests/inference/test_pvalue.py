"""P-values by their definition."""

import copy
import json
import pickle

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference.pvalue import Verdict, depends_on_tau, pvalue, replicates_needed, too_few


def test_pvalues_with_ties():
    null = np.array([1.0, 2.0, 3.0])
    assert pvalue(2.0, null) == 3 / 4
    assert pvalue(2.0 + 1e-9, null) == 3 / 4  # within a part 1e-8
    assert pvalue(2.0 + 1e-6, null) == 2 / 4
    assert pvalue(2.1, null, 0.2) == 3 / 4
    assert pvalue(4.0, null) == 1 / 4
    assert pvalue(4.0, np.empty(0)) == 1.0


@pytest.mark.parametrize("flag", [None, False, True])
@pytest.mark.parametrize("rejected", [False, True])
def test_a_verdict_is_a_truth_value_with_a_flag(rejected, flag):
    verdict = Verdict(rejected, flag)
    assert bool(verdict) is rejected
    assert verdict == rejected
    assert (not verdict) is (not rejected)
    assert sum([verdict, verdict]) == 2 * rejected
    assert json.dumps(verdict) == str(int(rejected))
    for again in (pickle.loads(pickle.dumps(verdict)), copy.deepcopy(verdict)):
        assert (again, again.depends_on_tau) == (rejected, flag)
    assert repr(verdict) == str(verdict) == str(rejected) + (" (depends on tau)" if flag else "")


def test_verdicts_that_depend_on_tau():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    test = rf.rum_test(data, n_boot=19, seed=1)
    for values, level, flag in (
        ([0.96, 0.015, 1.0], 0.05, True),
        ([0.05, 0.05, 0.05], 0.05, False),
        ([0.2, 0.1, 0.3], 0.05, False),
    ):
        found = type(test)(**{**vars(test), "pvalues": np.array(values)})
        assert (found.rejects(level), found.rejects(level).depends_on_tau) == (values[0] <= level, flag)
        assert found.rejects(level, tau=0) == (values[1] <= level)
        assert found.rejects(level, tau=0).depends_on_tau is flag
        assert ("the p-value is 0.015 at tau = 0 and 1 at tau = " in found.summary()) is flag
    assert rf.rum_test(data, n_boot=19, seed=1, tau=0.1).rejects().depends_on_tau is None


def test_replicates_that_are_needed():
    """The smallest p-value, 1 / (1 + B), must reach the level, for Holm's rule the level by the number of tests."""
    for level, tests in ((0.05, 1), (0.05, 6), (0.1, 1), (0.01, 3), (0.5, 1), (0.07, 1)):
        needed = replicates_needed(level, tests)
        assert tests / (1 + needed) <= level + 1e-12
        assert tests / needed > level
    assert too_few(18, 0.05) == "18 replicates were made, and at least 19 are needed"
    assert too_few(19, 0.05) == ""
    assert too_few(0, 0.05, statistic=0.0) == ""  # whatever is drawn is as large
    assert too_few(98, 0.01, statistic=0.1) != ""


def test_words_on_tau():
    taus = (0.271, 0.0, 0.543)
    assert depends_on_tau(taus, np.array([0.06, 0.06, 0.2]), 0.05) == ""
    assert depends_on_tau(taus, np.array([0.04, 0.01, 0.05]), 0.05) == ""
    assert depends_on_tau((0.2,), np.array([0.04]), 0.05) == ""
    assert depends_on_tau(taus, np.array([0.06, 0.05, 0.07]), 0.05) == (
        "The verdict depends on tau: the p-value is 0.05 at tau = 0 and 0.07 at tau = 0.543. A smaller tau rejects more, true "
        "models as well as false ones: report both."
    )
    assert depends_on_tau(taus, np.array([0.05, 0.06, 0.07]), 0.05) == (
        "The verdict depends on tau, and not in one direction: the p-value is 0.06 at tau = 0, 0.05 at tau = 0.271 (the test) "
        "and 0.07 at tau = 0.543. Report all of them."
    )
    falling = depends_on_tau(taus, np.array([0.06, 0.08, 0.05]), 0.05)
    assert falling.endswith(
        "0.08 at tau = 0, 0.06 at tau = 0.271 (the test) and 0.05 at tau = 0.543. Report all of them."
    )
