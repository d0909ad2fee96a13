"""Projections of many items: known answers, noisy and incomplete data, rational data."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.transforms import zeta
from tests.reference.flows import certify_flow, random_flow


@pytest.mark.usefixtures("many_items")
@pytest.mark.parametrize("n", [13, 14])
def test_a_known_projection_is_found(n):
    known = rf.simulate.known_projection(n, seed=n + 1, distance=0.5)
    fit = rf.project_many(known.data[None], tol=1e-10)
    assert fit.distance[0] == pytest.approx(known.distance, rel=1e-9)
    assert fit.rho[0] == pytest.approx(known.answer, abs=1e-5)
    lattice = rf.Lattice(n)
    seen = certify_flow(lattice.to_internal(fit.flow[0]), lattice.to_internal(known.data), None)
    assert list(seen) == pytest.approx(list(fit.certificates[0]), rel=1e-6, abs=1e-12)


@pytest.mark.usefixtures("many_items")
@pytest.mark.parametrize("hidden", [0.0, 0.4])
def test_a_known_projection_with_weights_and_missing_cells(hidden, rng):
    """Data below the answer on cells that none of its rankings chooses: every ranking costs at least what these cost."""
    n = 13
    lattice = rf.Lattice(n)
    rho = zeta(random_flow(n, 5, rng))
    weights = rng.uniform(0.2, 5.0, rho.shape)
    weights[rng.random(rho.shape) < hidden] = 0.0
    weights[:, 0] = 1.0
    g = np.where((rho < 1e-12) & (rng.random(rho.shape) < 0.01), rng.uniform(0.0, 0.1, rho.shape), 0.0) * (weights > 0)
    target = rho - np.divide(g, weights, out=np.zeros_like(g), where=weights > 0)
    objective = 0.5 * np.sum(np.divide(g**2, weights, out=np.zeros_like(g), where=weights > 0))
    fit = rf.project_many(lattice.from_internal(target)[None], lattice.from_internal(weights), tol=1e-9)
    assert fit.objective[0] == pytest.approx(objective, rel=1e-8)
    found = lattice.to_internal(fit.rho[0])
    assert np.sum(weights * (found - rho) ** 2) <= fit.gap[0] + 1e-12
    seen = certify_flow(lattice.to_internal(fit.flow[0]), target, weights)
    assert seen.objective == pytest.approx(objective, rel=1e-8)
    assert 0 <= seen.gap <= 1e-9 * seen.objective + seen.floor


@pytest.mark.usefixtures("many_items")
def test_projections_of_noisy_and_incomplete_data():
    n = 13
    data = rf.simulate.noisy_rankings(n, seed=2)
    fit = rf.project(data, tol=1e-6)
    many = rf.project_many(data[None], tol=1e-6)
    assert abs(fit.objective - many.objective[0]) <= fit.gap + many.gap[0]
    hidden = rf.simulate.hide(data, rf.simulate.observed_cells(n, 0.4, seed=3))
    part = rf.project(hidden, tol=1e-6)
    assert 0 < part.objective <= fit.objective
    seen = ~np.isnan(hidden)
    assert part.objective == pytest.approx(0.5 * np.sum((part.rho - hidden)[seen] ** 2), rel=1e-10)


@pytest.mark.usefixtures("many_items")
def test_rational_data_are_their_own_projection():
    data = rf.simulate.rankings_mixture(13, 40, seed=1)
    fit = rf.project(data)
    assert fit.method == "moebius"
    assert fit.inside
    assert fit.rho == pytest.approx(data, abs=1e-14)
    assert fit.objective <= fit.certificate.floor
