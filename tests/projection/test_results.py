"""Rankings and samples of a fit."""

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
