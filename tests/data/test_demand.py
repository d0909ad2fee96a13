"""The series estimator of smoothed demand."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.demand import DemandEstimator
from tests.reference.budget_samples import households
from tests.reference.budgets import random_prices, series


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_the_series_estimator(rng, degree):
    prices = random_prices(rng, 4, 3)
    budget, shares, spent = households(rng, prices)
    data = rf.BudgetData.from_shares(prices, budget, shares, spent, degree)
    own = data.households
    log = np.log(spent)
    expected = series(own.budget, own.patch, log, degree, data.budget)
    assert data.probabilities == pytest.approx(expected, abs=1e-9)
    # A replicate: households that count as often as they were drawn.
    times = rng.integers(0, 3, (2, len(budget))).astype(float)
    estimate = DemandEstimator(own.budget, own.patch, data.budget, log, degree)
    again = np.repeat(np.arange(len(budget)), times[1].astype(int))
    z = log - np.array([np.median(log[budget == j]) for j in budget])  # the median stays that of the data
    for i, j in enumerate(data.budget):
        some = again[own.budget[again] == j]
        basis = z[some][:, None] ** np.arange(degree + 1)
        beta = np.linalg.lstsq(basis, (own.patch[some] == i).astype(float), rcond=None)[0]
        assert estimate(times)[1, i] == pytest.approx(np.clip(beta[0], 0, 1), abs=1e-8)
