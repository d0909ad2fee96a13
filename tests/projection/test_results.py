"""Rankings and samples of a fit, and how far the data are at least."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.paths import orders_from_paths, paths_from_orders


def test_samples_and_rankings():
    fit = rf.project(rf.simulate.noisy_rankings(5, seed=1))
    drawn = fit.sample(5000, seed=0)
    assert drawn.shape == (5000, 5)
    assert (np.sort(drawn, axis=1) == np.arange(5)).all()
    first = np.bincount(drawn[:, 0], minlength=5) / 5000
    assert first == pytest.approx(fit.rho[31], abs=0.05)
    orders = fit.rankings.orders
    assert (orders_from_paths(paths_from_orders(orders)) == orders).all()
    assert (np.diff(fit.rankings.weights) <= 0).all()


def test_samples_on_a_graph():
    """Rankings are drawn by their weights, the same ones for the same seed."""
    data = rf.simulate.random_menus(12, 8, 4, seed=1)
    fit = rf.project(data)
    assert fit.method == "graph"
    drawn = fit.sample(4000, seed=0)
    assert (drawn == fit.sample(4000, seed=0)).all()
    assert (drawn != fit.sample(4000, seed=1)).any()
    assert drawn.shape == (4000, 12)
    orders, weights = fit.rankings.orders, fit.rankings.weights
    shares = np.array([(drawn == order).all(axis=1).mean() for order in orders])
    assert shares.sum() == pytest.approx(1.0)
    assert shares == pytest.approx(weights, abs=0.04)
    for row, fitted in zip(fit.membership, fit.fitted, strict=True):
        taken = drawn[np.arange(4000), np.argmax(row[drawn], axis=1)]
        assert np.bincount(taken, minlength=12) / 4000 == pytest.approx(np.nan_to_num(fitted), abs=0.04)
    assert fit.sample(0).shape == (0, 12)
    with pytest.raises(rf.InputError, match="size=-1"):
        fit.sample(-1)


def test_types_without_rankings_have_no_samples():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}, ("a", "c"): {"a": 3, "c": 7}})
    fit = rf.project(data, model=rf.Types([["a", "c"], ["b", "a"]]))
    with pytest.raises(rf.InputError, match="have no rankings"):
        fit.sample(3)


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_the_least_distance(route):
    data = rf.simulate.random_menus(10, 30, 4, draws=20, seed=0)
    best = rf.project(data, route=route)
    assert best.lower_distance == best.distance
    early = rf.project(data, route=route, max_seconds=1e-6, throw=False)
    assert early.status is rf.Status.MAX_SECONDS
    assert early.lower_distance == pytest.approx(np.sqrt(2 * max(early.objective - early.gap, 0.0)))
    assert early.lower_distance <= best.distance <= early.distance
    assert early.lower_distance < early.distance


def test_the_least_distance_of_bounds(hard):
    data, optimum = hard
    fit = rf.project(data, route="bounded", throw=False)
    assert fit.status is rf.Status.BOUNDED
    assert 0 < fit.lower_distance < fit.distance
    assert fit.lower_distance <= np.sqrt(2 * optimum) * (1 + 1e-9)
