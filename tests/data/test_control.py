"""The control function: demand at median expenditure where expenditure is endogenous."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.control import into_unit_interval
from tests.reference.budgets import controlled, random_prices


def endogenous(rng, prices, count=80, ties=False):
    """Tastes move expenditure as well as demand; the wage moves expenditure alone."""
    budget = np.repeat(np.arange(len(prices)), count)
    taste, wage = rng.random(len(budget)), rng.lognormal(3, 0.3, len(budget))
    spent = np.exp(0.5 * np.log(wage / 20) + 0.5 * taste)
    if ties:
        spent = np.round(spent, 1)
    weight = rng.dirichlet(np.ones(prices.shape[1]), len(budget)) + 0.1
    weight[:, 0] += taste
    return budget, weight / weight.sum(axis=1, keepdims=True), spent, wage


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("ties", [False, True])
def test_the_estimator_as_it_is_written(rng, degree, ties):
    prices = random_prices(rng, 3, 3)
    budget, shares, spent, wage = endogenous(rng, prices, ties=ties)
    data = rf.BudgetData.from_shares(prices, budget, shares, spent, degree, instrument=wage)
    own, log = data.households, np.log(spent)
    times = rng.integers(0, 4, (3, len(budget))).astype(float)
    times[0] = 1
    found = data.estimator()(times)
    assert data.probabilities.tolist() == found[0].tolist()
    for row, expected in zip(times, found, strict=True):
        again = np.repeat(np.arange(len(budget)), row.astype(int))
        for j in range(3):
            some = again[own.budget[again] == j]
            median = np.median(log[own.budget == j])  # stays that of the data
            patches = np.flatnonzero(data.budget == j)
            by_hand = controlled(own.patch[some], log[some], wage[some], degree, patches, median)
            assert expected[patches] == pytest.approx(by_hand, abs=1e-7)


def test_it_removes_the_bias(rng):
    # Budgets cross at equal shares; who spends more likes the first good more. At the median, over all tastes, half take it.
    prices = np.array([[1.0, 2.0], [2.0, 1.0]])
    count = 20_000
    budget = np.repeat([0, 1], count)
    taste, wage = rng.random(2 * count), rng.normal(0, 1, 2 * count)
    spent = np.exp(wage - 2 * (taste - 0.5) ** 2 + (taste > 0.5) * 1.5)
    first = (taste > 0.5) == (rng.random(2 * count) < 0.9)
    shares = np.where(first[:, None], [0.9, 0.1], [0.1, 0.9])
    naive = rf.BudgetData.from_shares(prices, budget, shares, spent)
    corrected = rf.BudgetData.from_shares(prices, budget, shares, spent, instrument=wage)
    assert np.abs(corrected.probabilities - 0.5).max() < 0.05
    assert corrected.probabilities != pytest.approx(naive.probabilities, abs=1e-3)


def test_ranks_in_the_unit_interval():
    v = 0.1
    e = np.array([-1, -0.1, 0.0, 0.1, 0.5, 0.9, 1.0, 1.1, 2])
    assert into_unit_interval(e, np.array(v)) == pytest.approx([0, 0, 0.025, 0.1, 0.5, 0.9, 0.975, 1, 1])


def test_replicates_by_households_and_by_cluster(rng):
    prices = random_prices(rng, 3, 3)
    budget, shares, spent, wage = endogenous(rng, prices)
    people = np.arange(len(budget)) // 2
    data = rf.BudgetData.from_shares(prices, budget, shares, spent, 2, instrument=wage, cluster=people)
    times = np.ones((2, len(budget)))
    times[1, budget == 1] = 0
    lost = np.isnan(data.estimator()(times)[1])
    assert (lost == (data.budget == 1)).all()
    for cluster in (False, True):
        test = rf.rum_test(data, n_boot=9, seed=1, cluster=cluster, convention="kitamura-stoye")
        again = rf.rum_test(data, n_boot=9, seed=1, cluster=cluster, convention="kitamura-stoye", n_jobs=2)
        assert test.failed == 0
        assert test.null_distribution.tolist() == again.null_distribution.tolist()
    assert "corrected for endogenous expenditure" in test.summary()


def test_budgets_keep_their_instrument(rng):
    prices = random_prices(rng, 4, 3)
    budget, shares, spent, wage = endogenous(rng, prices)
    data = rf.BudgetData.from_shares(prices, budget, shares, spent, 2, instrument=wage)
    assert data.is_instrumented
    assert "and an instrument" in repr(data)
    some, keep = data.select([1, 3]), np.isin(budget, (1, 3))
    alone = rf.BudgetData.from_shares(
        prices[[1, 3]], (budget[keep] == 3).astype(int), shares[keep], spent[keep], 2, instrument=wage[keep]
    )
    assert some.probabilities == pytest.approx(alone.probabilities, abs=1e-12)
    found = rf.bounds(data, prices.mean(axis=0))
    assert (found.lower <= found.upper + 1e-9).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"instrument": np.ones(16)}, "budget 0: 1 different values of the instrument do not determine"),
        (
            {"instrument": np.arange(16.0), "degree": 3},
            "budget 0: the expenditure and instrument of 8 households do not",
        ),
        ({"instrument": np.arange(15.0)}, "instrument: 16 numbers are needed, one per household, not 15"),
        ({"instrument": ["x"] * 16}, "instrument: one number per household is needed"),
        ({"instrument": np.r_[np.nan, np.arange(15.0)]}, r"household 0 \(counted from 0\): the instrument is nan"),
        ({"instrument": np.arange(16.0), "expenditure": None}, "expenditure is not given"),
        ({"instrument": np.arange(16.0), "degree": 0}, r"degree=0 \(--degree 0\) gives plain frequencies"),
    ],
)
def test_wrong_instruments_are_named(rng, change, words):
    given = {"expenditure": rng.uniform(1, 2, 16), "degree": 1} | change
    shares = rng.dirichlet([1, 1], 16)
    with pytest.raises(rf.InputError, match=words):
        rf.BudgetData.from_shares([[1, 2], [2, 1]], np.repeat([0, 1], 8), shares, **given)
