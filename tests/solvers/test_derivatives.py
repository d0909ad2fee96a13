"""Derivatives after the interior point method."""

import numpy as np
import pytest

import rumflow as rf


@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_after_the_interior_point_method(weighted):
    rng = np.random.default_rng(3)
    inside = rf.Lattice(5).membership
    weights = np.where(inside, rng.uniform(0.5, 2, inside.shape), 0.0) if weighted else None
    rho = rf.simulate.dirichlet(5, 4)
    t, g = np.where(inside, rng.normal(size=(2, *inside.shape)), 0.0)
    exact, interior = (rf.project(rho, weights, method=method) for method in ("rankings", "ipm"))
    assert interior.jvp(t) == pytest.approx(exact.jvp(t), abs=1e-4)
    assert interior.vjp(g) == pytest.approx(exact.vjp(g), abs=1e-4)
    assert (interior.jvp(t) * g).sum() == pytest.approx((t * interior.vjp(g)).sum(), abs=1e-6)
