"""Laws of the projection: projecting twice, distances, relabelled items, no better ranking, adjoint derivatives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from tests.reference.checks import assert_optimal

small = st.tuples(st.integers(2, 6), st.integers(0, 10_000))


@given(small)
def test_idempotent(case):
    n, seed = case
    fit = rf.project(rf.simulate.dirichlet(n, seed))
    again = rf.project_many([fit.rho])
    assert again.distance[0] <= 1e-10
    assert again.rho[0] == pytest.approx(fit.rho, abs=1e-9)


@given(small)
def test_non_expansive(case):
    n, seed = case
    a, b = rf.simulate.dirichlet(n, seed), rf.simulate.dirichlet(n, seed + 1)
    moved = np.linalg.norm(rf.project(a).rho - rf.project(b).rho)
    assert moved <= np.linalg.norm(a - b) + 1e-9


@given(small)
def test_relabelling_items_relabels_the_answer(case):
    n, seed = case
    rho = rf.simulate.noisy_rankings(n, draws=10, seed=seed)
    order = np.random.default_rng(seed).permutation(n)
    # Item x becomes order[x].
    masks = np.array([sum(1 << order[x] for x in range(n) if mask >> x & 1) for mask in range(1 << n)])
    relabelled = np.empty_like(rho)
    relabelled[masks[:, None], order[None, :]] = rho
    expected = np.empty_like(rho)
    expected[masks[:, None], order[None, :]] = rf.project(rho).rho
    assert rf.project(relabelled).rho == pytest.approx(expected, abs=1e-8)


@given(small)
def test_no_ranking_improves(case):
    n, seed = case
    assert_optimal(rf.project(rf.simulate.dirichlet(n, seed)))


@given(small, st.booleans())
def test_derivatives_are_adjoint(case, weighted):
    n, seed = case
    rng = np.random.default_rng(seed)
    inside = rf.Lattice(n).membership
    weights = np.where(inside, rng.uniform(0.5, 2, inside.shape), 0.0) if weighted else None
    fit = rf.project(rf.simulate.dirichlet(n, seed), weights)
    t, g = np.where(inside, rng.normal(size=(2, *inside.shape)), 0.0)
    assert (fit.jvp(t) * g).sum() == pytest.approx((t * fit.vjp(g)).sum(), abs=1e-9)
    assert fit.jvp(fit.jvp(t)) == pytest.approx(fit.jvp(t), abs=1e-9)  # a projector
