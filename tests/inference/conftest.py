import pytest

import rumflow as rf
from rumflow.solvers import linear_programs as programs
from tests.reference.budget_samples import households
from tests.reference.budgets import random_prices
from tests.reference.samples import draw_data


@pytest.fixture
def smoothed(rng):
    prices = random_prices(rng, 4, 3)
    budget, shares, spent = households(rng, prices, 80)
    return rf.BudgetData.from_shares(prices, budget, shares, spent)


@pytest.fixture(scope="module")
def noisy():
    return draw_data(rf.simulate.rankings_mixture(4, 5, seed=1), 30, seed=2)


@pytest.fixture(params=["flows", "columns"])
def method(request, monkeypatch):
    if request.param == "columns":
        monkeypatch.setattr(programs, "FLOW_ARCS", 0)
    return request.param
