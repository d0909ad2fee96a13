"""Families of data, and checks of projections: random utility, certified, optimal."""

import numpy as np
import pytest

import rumflow as rf
from tests.reference import lattice as reference

FAMILIES = {
    "dirichlet": rf.simulate.dirichlet,
    "noisy": lambda n, seed: rf.simulate.noisy_rankings(n, seed=seed),
    "logit": lambda n, seed: rf.simulate.mixed_logit(n, draws=100, seed=seed),
}


def assert_rum(fit):
    """A unit flow without a negative entry, and the mixture that belongs to it."""
    assert fit.flow.min() >= 0
    sums = fit.rho.sum(axis=1)[1:]
    assert np.abs(sums - 1).max() <= 1e-12
    assert rf.block_marschak(fit.rho) == pytest.approx(fit.flow, abs=1e-11)
    mixed = np.zeros_like(fit.rho)
    if fit.n <= 6:
        for order, weight in zip(fit.rankings.orders, fit.rankings.weights, strict=True):
            mixed += weight * reference.choice_array(order)
        assert mixed == pytest.approx(fit.rho, abs=1e-11)


def assert_certified(fit, tol=1e-9):
    assert fit.status is rf.Status.OPTIMAL
    assert fit.gap <= max(tol * fit.objective, fit.certificate.floor)
    assert_rum(fit)


def assert_optimal(fit, weights=None):
    """No ranking improves: <g, rho> <= <g, a> for random rankings a, computed without the lattice."""
    w = np.ones_like(fit.rho) if weights is None else weights
    g = np.where(w > 0, w * (fit.rho - np.nan_to_num(fit.observed)), 0.0)
    rng = np.random.default_rng(0)
    for _ in range(50):
        a = reference.choice_array(rng.permutation(fit.n))
        assert (g * (fit.rho - a)).sum() <= max(1e-9 * fit.objective, fit.certificate.floor)
