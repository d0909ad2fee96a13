"""The certificate: true of any flow, and not to be had for a wrong one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import lattice as reference

import rumflow as rf
from rumflow.core.certificate import Certifier, certify
from rumflow.core.paths import flow_from_paths, paths_from_orders, uniform_flow
from rumflow.core.problem import NO_WEIGHTS, Problem, Stop, rounding_floor


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
    problem = Problem(target, weights if weighted else NO_WEIGHTS)
    found = certify(problem, flow)
    assert found.objective == pytest.approx(0.5 * (w * (rho - rho_hat) ** 2).sum(), abs=1e-13)
    assert found.gap == pytest.approx((g * rho).sum() - cheapest, abs=1e-12)
    assert found.size == pytest.approx((w * rho_hat**2).sum())
    assert found.floor == pytest.approx(rounding_floor(found.size, w[w > 0].min()))
    assert found.scale == pytest.approx(w.sum())
    assert found.least_flow == flow.min()
    assert found.menu_error <= 1e-14
    (stacked,) = Certifier(n, problem.weights).stack(flow[None], target[None])
    assert list(stacked) == pytest.approx(list(found), abs=1e-13)


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
    found = certify(Problem(target), flow)
    assert found.menu_error >= 0.1
    assert found.least_flow == -0.125


def test_rounding_in_heavy_cells_excuses_nothing_about_light_ones():
    """Sum w rho_hat^2 is 2e14, its rounding 1.4: a gap of 0.2 must not pass where some cells weigh 1."""
    target = rf.Lattice(2).to_internal(np.array([[0, 0], [1, 0], [0, 1], [0.3, 0.7]]))
    weights = np.ones_like(target)
    weights[0, 0] = weights[1, 0] = 1e14
    flow = flow_from_paths(paths_from_orders(np.array([[0, 1], [1, 0]])), np.array([0.5, 0.5]))
    found = certify(Problem(target, weights), flow)
    assert found.gap == pytest.approx(0.2)
    assert not found.is_optimal(Stop(1e-9))
    assert certify(Problem(target), flow)._replace(gap=1e-15).is_optimal(Stop(1e-9))


def test_the_tolerance_does_not_grow_with_data_far_outside():
    found = certify(Problem(np.full((2, 2), 1e9)), flow_from_paths(paths_from_orders(np.array([[0, 1]])), np.ones(1)))
    assert found.objective > 1e18
    assert not found._replace(gap=1.0).is_optimal(Stop(1e-9))


def test_an_objective_of_nearly_zero_is_a_bound_itself():
    """Weights from 1e-6 to 1e6: the rounding of the gap is beyond the floor, the distance is not."""
    target = rf.Lattice(2).to_internal(np.array([[0, 0], [1, 0], [0, 1], [0.5, 0.5]]))
    found = certify(Problem(target, np.array([[1e6, 1e-6], [1e6, 1e-6]])), uniform_flow(2))
    assert found.objective == 0.0
    assert found._replace(gap=1e-9).is_optimal(Stop(1e-9))
    assert not found._replace(gap=1e-9, objective=1e-9).is_optimal(Stop(1e-9))
