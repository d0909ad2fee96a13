"""Households in their patches: where they are, and what becomes of budgets that are equal or that nobody faced."""

import numpy as np
import pytest

import rumflow as rf
from tests.reference.budget_samples import households
from tests.reference.budgets import random_prices


def test_where_households_are(rng):
    prices = random_prices(rng, 5, 3)
    budget, shares, _ = households(rng, prices, 30)
    data = rf.BudgetData.from_shares(prices, budget, shares)
    x = shares / prices[budget]
    sides = np.sign(x @ prices.T - 1)
    sides[np.arange(len(budget)), budget] = 0
    assert (data.patches[data.households.patch] == sides).all()
    assert data.probabilities @ data.sizes[data.budget] == pytest.approx(len(budget))
    # On the crossing of two budgets: above. On a corner of the simplex: a patch beside it.
    cross = rf.BudgetData.from_shares([[0.4, 0.6], [0.6, 0.4]], [0, 0, 1, 1], [[0.4, 0.6], [0, 1], [0.6, 0.4], [1, 0]])
    assert cross.patches[cross.households.patch].tolist() == [[0, 1], [0, -1], [1, 0], [-1, 0]]


def test_merged_selected_and_left_out(rng):
    prices = random_prices(rng, 4, 3)
    budget, shares, spent = households(rng, prices, 30)
    twice = np.vstack([prices, prices[1], [9, 9, 9]])
    labels = ["a", "b", "c", "d", "b again", "nobody"]
    budget = np.where((budget == 1) & (rng.random(len(budget)) < 0.5), 4, budget)
    data = rf.BudgetData.from_shares(twice, budget, shares, spent, labels=None)
    named = rf.BudgetData.from_shares(twice, np.array(labels)[budget], shares, spent, labels=labels)
    whole = rf.BudgetData.from_shares(prices, np.where(budget == 4, 1, budget), shares, spent)
    assert data.probabilities.tolist() == whole.probabilities.tolist() == named.probabilities.tolist()
    assert named.labels == ("a", "b", "c", "d")
    assert "budget b again is equal to b: merged" in str(named.understood)
    assert "nobody faced b again" not in str(named.understood)
    assert "nobody faced nobody" in str(named.understood)
    some = named.select(["d", "a"])
    assert some.labels == ("a", "d")
    keep = np.isin(budget, (0, 3))
    alone = rf.BudgetData.from_shares(prices[[0, 3]], (budget[keep] == 3).astype(int), shares[keep], spent[keep])
    assert some.probabilities == pytest.approx(alone.probabilities, abs=1e-12)
    patches = rf.BudgetData.from_patches(whole.patches[::-1], whole.probabilities[::-1], whole.sizes, degree=3)
    assert set(map(tuple, patches.select([0, 3]).patches.tolist())) == set(map(tuple, some.patches.tolist()))
