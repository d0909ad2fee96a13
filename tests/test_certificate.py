"""The certificate: true of any flow, and not to be had for a wrong one."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from rumflow.core.certificate import certify, certify_stack, rounding_floor
from rumflow.core.paths import flow_from_paths, paths_from_orders


def mixture(n, count, seed):
    rng = np.random.default_rng(seed)
    orders = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
    return orders, rng.dirichlet(np.ones(count))


@given(st.integers(2, 5), st.integers(0, 1000), st.booleans())
def test_gap_against_all_rankings(n, seed, weighted):
    rng = np.random.default_rng(seed)
    orders, shares = mixture(n, 4, seed)
    rho_hat = rf.simulate.dirichlet(n, seed)
    inside = rf.Lattice(n).membership
    w = np.where(inside & (rng.random(inside.shape) < 0.7), rng.uniform(0.1, 3, inside.shape), 0.0)
    w = w if weighted else inside.astype(float)
    rho = sum(s * reference.choice_array(o) for s, o in zip(shares, orders, strict=True))
    g = w * (rho - rho_hat)
    cheapest = min((g * reference.choice_array(o)).sum() for o in reference.all_rankings(n))
    lattice = rf.Lattice(n)
    flow = flow_from_paths(paths_from_orders(orders), shares)
    target, weights = lattice.to_internal(rho_hat), lattice.to_internal(w)
    found = certify(flow, target, weights if weighted else None)
    assert found.objective == pytest.approx(0.5 * (w * (rho - rho_hat) ** 2).sum(), abs=1e-13)
    assert found.gap == pytest.approx((g * rho).sum() - cheapest, abs=1e-12)
    assert found.floor == pytest.approx(rounding_floor((w * rho_hat**2).sum()))
    assert found.least_flow == flow.min()
    assert found.menu_error <= 1e-14
    out = np.empty((1, 5))
    args = (np.empty_like(flow), np.empty(1 << n), out)
    certify_stack(flow[None], target[None], weights if weighted else np.empty((0, 0)), False, *args)
    out[0, 2] = rounding_floor(out[0, 2])
    assert out[0] == pytest.approx(list(found), abs=1e-13)


@pytest.mark.parametrize("n", [4, 7, 10])
def test_gap_bounds_the_distance_to_the_optimum(n):
    rho_hat = rf.simulate.dirichlet(n, 1)
    best = rf.project(rho_hat)
    rough = rf.project(rho_hat, tol=0.05)
    assert best.objective <= rough.objective <= best.objective + rough.gap
    assert ((rough.rho - best.rho) ** 2).sum() <= rough.gap


def test_a_flow_that_leaks_is_seen():
    flow = flow_from_paths(paths_from_orders(np.array([[0, 1, 2]])), np.ones(1))
    target = rf.Lattice(3).to_internal(rf.simulate.dirichlet(3, 0))
    flow[0, 3] -= 0.25
    flow[1, 3] -= 0.125
    found = certify(flow, target, None)
    assert found.menu_error >= 0.1
    assert found.least_flow == -0.125
