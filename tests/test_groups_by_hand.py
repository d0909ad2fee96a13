"""Many tests, shares and budgets by hand."""

from dataclasses import replace

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference.groups import GroupComparison, benjamini_hochberg, holm
from tests.reference.examples import DECOY, FITS

# Groups -----------------------------------------------------------------------------------------------------------------------


def test_verdicts_on_groups():
    together = rf.rum_test([DECOY, FITS], 19, 0.1, seed=1)
    each = rf.rum_test_many([DECOY, FITS], 19, 0.1, seed=1)
    assert together.pvalue == 0.05
    assert each.holm.tolist() == [0.1, 1.0]
    said = {level: GroupComparison(together, each).summary(level).splitlines() for level in (0.01, 0.05, 0.1)}
    assert said[0.01][0] == "One distribution of rankings for all groups is not rejected."
    assert said[0.05][0].endswith("random utility within the groups is not: the groups differ.")
    assert said[0.1][0] == (
        "One distribution for all groups is rejected, and so is random utility within at least one group."
    )
    assert said[0.05][1] == f"  all groups together: statistic {together.statistic:.6g}, p-value 0.05 at tau = 0.1"
    assert rf.compare_groups([DECOY, FITS], 19, 0.1, seed=1).each.pvalues.tolist() == each.pvalues.tolist()


def test_many_tests_by_name():
    each = rf.rum_test_many([DECOY, FITS], 3, 0.1, seed=1)
    assert [test.seconds for test in each.tests] == [each.seconds / 2] * 2
    for count, more in ((8, "$"), (9, r", \.\.\.$")):
        many = replace(each, names=tuple(range(count)), tests=each.tests[:1] * count)
        with pytest.raises(rf.InputError, match=r"names are 0, 1, 2, 3, 4, 5, 6, 7" + more):
            _ = many["x"]
    with pytest.raises(rf.InputError, match="data set 'x': "):
        rf.rum_test_many({"x": rf.ChoiceData.from_counts({("a",): {"a": 1}})}, 3)


def test_adjusted_pvalues_by_hand():
    p = [0.04, 0.01, 0.03, 0.5]
    assert holm(p) == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert benjamini_hochberg(p) == pytest.approx([4 * 0.04 / 3, 0.04, 4 * 0.04 / 3, 0.5])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([0.0, 1.0]).tolist() == [0.0, 1.0]
    for wrong in ([[0.1]], [-0.1], [1.1], [np.nan]):
        with pytest.raises(rf.InputError, match="numbers from 0 to 1"):
            holm(wrong)


def test_choices_that_no_type_makes():
    """Everybody prefers a to b, and b was taken from both: the likelihood is 0."""
    models = {"known": rf.RandomUtility([("a", "b")]), "every": None}
    found = rf.compare_models(DECOY, models)
    assert found.logliks["known"] == -np.inf
    assert found.logliks["every"] > -np.inf
    words = " Log-likelihood -inf: a choice was made that no type of the model makes."
    assert found.as_table().note.endswith(words)
    assert words not in rf.compare_models(DECOY, {"every": None}).as_table().note


# Shares -----------------------------------------------------------------------------------------------------------------------


def test_the_rational_part_by_hand():
    found = rf.rationalizable_share(DECOY)
    assert found.share == pytest.approx(0.8)
    assert np.nansum(found.fitted, axis=1) == pytest.approx([0.8, 0.8])
    assert (np.nan_to_num(found.fitted) <= np.nan_to_num(found.frequencies) + 1e-9).all()
    assert found.rankings.weights.sum() == pytest.approx(0.8)
    assert (np.diff(found.rankings.weights) <= 0).all()
    assert found.part[0b111].sum() == pytest.approx(0.8)
    assert found.part[0b011, 2] == 0.0
    partly = rf.ChoiceData(("a", "b", "c"), np.array([[True] * 3]), np.array([[2.0, np.nan, np.nan]]), np.array([10.0]))
    assert rf.rationalizable_share(partly).share == pytest.approx(1.0)
    alone = rf.rationalizable_share(rf.ChoiceData.from_counts({("a",): {"a": 3}}))
    assert (alone.share, alone.upper, alone.gap) == (1.0, 1.0, 0.0)
    assert alone.rankings.orders.tolist() == [[0]]
    assert alone.fitted.shape == (0, 1)


# Budgets ----------------------------------------------------------------------------------------------------------------------

#: x + 2 y = 1 and 2 x + y = 1: who spends all on the dear good on both budgets is not rational.
PRICES = [[1.0, 2.0], [2.0, 1.0]]


def demand(first, second):
    """So many of ten on each budget spend all on what is dear there."""
    shares = [[0.1, 0.9]] * first + [[0.9, 0.1]] * (10 - first) + [[0.9, 0.1]] * second + [[0.1, 0.9]] * (10 - second)
    return rf.BudgetData.from_shares(PRICES, [0] * 10 + [1] * 10, shares)


def test_a_test_of_budgets_in_words():
    """Patches below the other budget: shares s and t with s + t <= 1 for the rational; 0.7 and 0.7 are 2 (0.2^2 + 0.2^2) away."""
    data = demand(7, 7)
    found = rf.rum_test(data, 19, 0.1, seed=1, convention="kitamura-stoye")
    assert found.n_types == 3
    lines = found.summary().splitlines()
    assert lines[:3] == [
        "Test of rational choice from budgets: does this demand come from a population of utility maximisers?",
        "  data         2 budgets, 4 patches, 20 households, plain frequencies",
        "  types        3 rational ones (not listed)",
    ]
    assert lines[3].endswith(
        "20 x squared distance to the cone of rational demand (any total), weights: 1 on every patch"
    )
    assert lines[4] == "  bootstrap    19 replicates, households resampled within their budgets and recentred, seed 1"
    assert (
        lines[5]
        == f"  tau = 0.1       p-value {found.pvalue:.4g}   critical value at 0.05: {found.critical_value(0.05):.6g}"
    )
    verdict = "is rejected" if found.pvalue <= 0.05 else "is not rejected"
    assert lines[6] == f"Rational choice {verdict} at the 5 % level (tau = 0.1)."
    assert "Furthest from rational demand:" in lines
    clustered = rf.rum_test(data, 19, 0.1, seed=1, convention="kitamura-stoye", cluster=list(range(20)))
    assert (
        clustered.summary().splitlines()[4]
        == "  bootstrap    19 replicates, clusters resampled whole and recentred, seed 1"
    )
    by_household = rf.rum_test(data, 19, 0.1, seed=1, convention="kitamura-stoye", cluster=False)
    assert by_household.summary() == found.summary()
    with pytest.raises(rf.InputError, match="one id for each of the 20 households is needed"):
        rf.rum_test(data, 19, 0.1, convention="kitamura-stoye", cluster=True)
    with pytest.raises(rf.InputError, match="there is one cluster in all"):
        rf.rum_test(data, 19, 0.1, convention="kitamura-stoye", cluster=[0] * 20)
    halves = rf.rum_test(data, 19, 0.1, seed=1, convention="kitamura-stoye", cluster=[0, 1] * 10)
    assert halves.n_boot == 19  # two clusters are enough to draw
    fits = rf.rum_test(demand(4, 4), 19, 0.1, seed=1, convention="kitamura-stoye")
    assert fits.statistic == 0.0
    assert "The observed demand is that of a population of utility maximisers itself." in fits.summary()
    plain = rf.rum_test(data, 19, [0.1, 0.2], seed=1)
    assert plain.statistic == pytest.approx(10 * 4 * 0.2**2, rel=1e-6)
    assert plain.summary().splitlines()[5].endswith("<- the test")
    assert not plain.summary().splitlines()[6].endswith("<- the test")
    assert (
        plain.summary().splitlines()[4].endswith("19 replicates, choices drawn from the fitted model by menu, seed 1")
    )


def test_how_a_test_of_budgets_is_made():
    data = demand(9, 9)
    own = rf.Convention(set="simplex", scale=2.0, weights=None, draws="empirical", tau=0.1)
    published = {"n_boot": 19, "tau": 0.1, "seed": 1, "convention": "kitamura-stoye"}
    assert rf.rum_test(data, **published).weights == "1 on every patch"
    assert rf.rum_test(data, **published, weights="counts").weights == "counts"
    assert rf.rum_test(data, **published, weights=np.ones(data.padded_choices.counts.shape)).weights == "given"
    assert rf.rum_test(data, **published).sample.scale == 20.0
    rng = np.random.default_rng(0)
    first = rng.random(40) < 0.9
    shares = np.where(first[:, None] ^ (np.arange(40) >= 20)[:, None], [[0.1, 0.9]], [[0.9, 0.1]])
    smooth = rf.BudgetData.from_shares(PRICES, [0] * 20 + [1] * 20, shares, rng.uniform(1, 2, 40), 2)
    tested = rf.rum_test(smooth, 19, 0.1, seed=1)
    assert tested.sample.scale == 40 / 2
    assert tested.sample.convention.set == "simplex"
    assert tested.sample.convention.draws == "empirical"
    assert "smoothed at median expenditure (degree 2)" in tested.summary()
    assert "20 x squared distance to the set of rational demand, weights" in tested.summary()
    assert rf.rum_test(smooth, 19, 0.1, seed=1, convention=own).sample.scale == 2.0
    assert "No replicate was as large: the p-value is the smallest that 19 replicates can give." in (
        replace(tested, pvalues=np.array([0.05])).summary()
    )
    assert "No replicate was as large" not in replace(tested, pvalues=np.array([0.1])).summary()
    with pytest.raises(rf.InputError, match="accepted is 'empirical'"):
        rf.rum_test(smooth, 19, 0.1, draws="null")
    for wrong in (0.0, 1.0):
        with pytest.raises(rf.InputError, match="a number between 0 and 1 is needed"):
            rf.rum_test(smooth, 19, 0.1, tol=wrong)


def test_demand_that_does_not_vary():
    """All households of a budget in one patch: there is no variance to set tau by."""
    found = rf.rum_test(demand(0, 0), 9, "smallest", seed=0, convention="kitamura-stoye")
    assert found.taus == (0.0,)
    assert found.statistic == 0.0


def test_bounds_on_a_budget_between_two():
    """Weights are those of the test, ten households on each budget, unless others are given."""
    data = demand(6, 6)
    found = rf.bounds(data, [1.5, 1.5], confidence=None)
    assert found.menu == ("a new budget",)
    equal = rf.bounds(data, [1.5, 1.5], confidence=None, weights=None)
    assert equal.distance == pytest.approx(found.distance / np.sqrt(10))
    assert rf.bounds(data, [1.5, 1.5], confidence=None, weights="counts").distance == pytest.approx(found.distance)
    assert (found.lower <= found.upper + 1e-9).all()
    far = rf.bounds(data, [9.0, 9.0])
    assert (far.lower.tolist(), far.upper.tolist()) == ([1.0], [1.0])
    assert far.gap == 0.0
    assert np.isnan(far.distance)
    assert far.notes == ("it crosses no observed budget; are these prices divided by its expenditure?",)
