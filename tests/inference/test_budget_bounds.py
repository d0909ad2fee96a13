"""Bounds and intervals on budgets that were not observed."""

import numpy as np
import pytest
from scipy.optimize import linprog

import rumflow as rf
from rumflow.core.arrangement import find_patches
from rumflow.solvers import linear_programs
from tests.reference.budget_samples import demand, households
from tests.reference.budgets import matrix_of, random_prices, rational_types


@pytest.mark.parametrize("known", [True, False])
def test_bounds_on_a_new_budget(rng, known, monkeypatch):
    monkeypatch.setattr(linear_programs, "_FEW_ARCS", 0)  # look for the face of the fit, however small the graph
    prices = random_prices(rng, 3, 3)
    budget, shares, _ = households(rng, prices, 12)
    # Most households spend on what is dear on their budget, which is not rational.
    dear = np.eye(3)[(prices / prices.mean(axis=0)).argmax(axis=1)]
    shares = np.where(rng.random((len(budget), 1)) < 0.8, 0.2 * shares + 0.8 * dear[budget], shares)
    data = rf.BudgetData.from_shares(prices, budget, shares)
    new = prices.mean(axis=0)
    if not known:
        data = rf.BudgetData.from_patches(data.patches, data.probabilities, data.sizes, prices=prices)
    found = rf.bounds(data, new, confidence=None)
    assert found.gap <= 1e-7
    assert found.distance > 0.01  # a face, not the whole model
    every = find_patches(np.vstack([prices, new]))
    types = rational_types(every.signs)
    a = matrix_of(types, len(every.signs))
    old = every.budget < 3
    if known:  # the pieces of patches are told apart
        rows, target = a[old], np.nan_to_num(found.fit.fitted).sum(axis=0)[: old.sum()]
    else:
        piece = {tuple(row): i for i, row in enumerate(data.patches.tolist())}
        at = [piece[tuple(row)] for row in every.signs[old][:, :3].tolist()]
        rows = np.zeros((len(data.patches), a.shape[1]))
        np.add.at(rows, at, a[old])
        target = np.nan_to_num(found.fit.fitted).sum(axis=0)[: len(rows)]
    slack = 1e-7
    for k, i in enumerate(np.flatnonzero(~old)):
        ends = [
            linprog(
                s * a[i],
                A_ub=np.vstack([rows, -rows]),
                b_ub=np.concatenate([target + slack, slack - target]),
                A_eq=np.ones((1, a.shape[1])),
                b_eq=[1],
            )
            for s in (1, -1)
        ]
        assert found.lower[k] == pytest.approx(ends[0].fun, abs=1e-5)
        assert found.upper[k] == pytest.approx(-ends[1].fun, abs=1e-5)
    assert "a new budget" in found.summary()
    with pytest.raises(rf.InputError, match="equals the observed budget"):
        rf.bounds(data, prices[1])
    with pytest.raises(rf.InputError, match="3 positive numbers"):
        rf.bounds(data, [1, 2])
    far = rf.bounds(data, [100, 100, 100])
    assert far.interval == (1.0, 1.0)
    assert "crosses no observed budget" in far.summary()


def test_intervals_on_a_new_budget(rng):
    prices = random_prices(rng, 3, 2)
    budget, shares, _ = households(rng, prices, 40)
    new = prices.mean(axis=0)
    data = rf.BudgetData.from_shares(prices, budget, shares)
    found = rf.bounds(data, new, confidence=0.9, n_boot=19, seed=1)
    assert found.confidence == 0.9
    kept = ~np.isnan(found.confidence_lower)
    assert kept.any()
    assert (found.confidence_lower <= found.lower + 1e-2)[kept].all()
    assert (found.confidence_upper >= found.upper - 1e-2)[kept].all()
    sharp = rf.bounds(data, new, confidence=None)
    assert sharp.lower == pytest.approx(found.lower, abs=1e-9)
    assert sharp.confidence_lower is None
    given = rf.BudgetData.from_patches(data.patches, data.probabilities, data.sizes, prices=data.prices)
    wider = rf.bounds(given, new, confidence=None)  # pieces that are not told apart say less
    assert (wider.lower <= sharp.lower + 1e-8).all()
    assert (wider.upper >= sharp.upper - 1e-8).all()


def test_bounds_on_budgets_refuse_what_does_not_apply(smoothed):
    with pytest.raises(rf.InputError, match="degree=0 for intervals"):
        rf.bounds(smoothed, smoothed.prices.mean(axis=0), confidence=0.9)
    with pytest.raises(rf.InputError, match="route='lattice'"):
        rf.bounds(smoothed, smoothed.prices.mean(axis=0), route="lattice")
    with pytest.raises(rf.InputError, match="as menu"):
        rf.bounds(smoothed, functional={(("a",), "a"): 1.0})


def test_bounds_from_one_budget(rng):
    # Whoever takes the whole patch below the new budget must not take the part of the new one that lies below the old.
    data = rf.BudgetData.from_shares([[0.6, 0.4]], [0] * 10, [[0.95, 0.05]] * 7 + [[0.1, 0.9]] * 3)
    found = rf.bounds(data, [0.4, 0.61])
    below_old = next(k for k, name in enumerate(found.items) if "below" in str(name))
    assert found.lower[below_old] == 0
    assert found.upper[below_old] == pytest.approx(0.3)


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
