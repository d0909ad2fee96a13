"""Households with random demand."""

import numpy as np

import rumflow as rf


def households(rng, prices, count=60):
    n, goods = prices.shape
    budget = np.repeat(np.arange(n), count)
    return budget, rng.dirichlet(np.ones(goods), len(budget)), np.exp(rng.normal(0, 0.4, len(budget)))


#: x + 2 y = 1 and 2 x + y = 1: who spends all on the dear good on both budgets is not rational.
PRICES = [[1.0, 2.0], [2.0, 1.0]]


def demand(first, second):
    """So many of ten on each budget spend all on what is dear there."""
    shares = [[0.1, 0.9]] * first + [[0.9, 0.1]] * (10 - first) + [[0.9, 0.1]] * second + [[0.1, 0.9]] * (10 - second)
    return rf.BudgetData.from_shares(PRICES, [0] * 10 + [1] * 10, shares)
