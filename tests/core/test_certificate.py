"""The certificate: true of any flow, not to be had for a wrong one; for few items and for many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from rumflow.core import certificate, paths
from rumflow.core.certificate import Certificate, Certifier, certify, certify_small
from rumflow.core.paths import flow_from_paths, paths_from_orders, uniform_flow
from rumflow.core.problem import NO_WEIGHTS, Problem, Stop, least_weight, rounding_floor
from rumflow.core.transforms import moebius
from tests.reference import lattice as reference
from tests.reference.flows import certify_flow, random_flow, random_weights


def certify_stack(certifier, flows, targets):
    """The certificates of a stack, from the numbers of one call; `floors` says what counts as rounding in each."""
    numbers = np.full((len(flows), 5), np.nan)
    certifier.stack(flows, targets, numbers)
    found = [certifier.make(*row) for row in numbers.tolist()]
    assert certifier.floors(numbers).tolist() == [one.floor for one in found]
    return found


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
    (stacked,) = certify_stack(Certifier(n, problem.weights), flow[None], target[None])
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


KINDS = ["unweighted", "weighted", "incomplete"]


def plain_certificate(flow, target, weights, cone):
    """Objective, gap, least flow, menu error and sum w rho_hat^2 (the target is within [0, 1])."""
    rho = reference.superset_sums(flow)
    w = np.ones_like(rho) if weights is None else weights
    seen = w > 0
    difference = np.where(seen, rho - target, 0.0)
    inner, cheapest = np.sum(w * difference * rho), reference.cheapest(reference.subset_sums(w * difference))
    gap = inner - cheapest
    if cone:
        miss = max(0.0, -cheapest)
        gap = inner + miss * rho[seen].sum() + 0.5 * miss**2 * (1 / w[seen]).sum()
    expected = flow[:, -1].sum() if cone else 1.0
    error = np.abs(reference.menu_sums(rho)[1:] - expected).max()
    return 0.5 * np.sum(w * difference**2), gap, flow.min(), error, np.sum(np.where(seen, w * target**2, 0.0))


@pytest.mark.usefixtures("many_items")
@pytest.mark.parametrize("cone", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [5, 13, 14])
def test_the_certificate(n, kind, cone, rng):
    flow = random_flow(n, 20, rng) * (3.0 if cone else 1.0)
    flow[2, 5] -= 0.25  # a flow that leaks, so that nothing is 0 by luck
    target = rng.uniform(0.0, 0.5, flow.shape)
    weights = random_weights(kind, flow.shape, rng)
    if kind == "incomplete":
        target[weights == 0] = np.nan  # what was not observed is not read
    w = NO_WEIGHTS if weights is None else weights
    found = certify_flow(flow, target, weights, cone=cone)
    expected = plain_certificate(flow, target, weights, cone)
    assert found.objective == pytest.approx(expected[0], rel=1e-12)
    assert found.gap == pytest.approx(expected[1], rel=1e-11)
    assert found.least_flow == expected[2] == -0.25
    assert found.menu_error == pytest.approx(expected[3], rel=1e-12)
    assert found.size == pytest.approx(expected[4], rel=1e-12)
    assert found.scale == pytest.approx(flow.size if weights is None else weights.sum())
    assert found.floor == pytest.approx(rounding_floor(expected[4], least_weight(w)), rel=1e-12)
    small = certify_small(flow, target, w, cone, np.empty_like(flow), np.empty(1 << n))
    assert np.array(small) == pytest.approx([found[0], found[1], *found[3:6]], rel=1e-11)
    assert certify_flow(flow, target, weights, 1, cone) == found


@pytest.mark.usefixtures("many_items")
@pytest.mark.parametrize("n", [13, 14])
def test_a_known_answer_has_no_gap(n):
    known = rf.simulate.known_projection(n, seed=n, distance=0.5)
    lattice = rf.Lattice(n)
    target = lattice.to_internal(known.data)
    found = certify_flow(np.maximum(moebius(lattice.to_internal(known.answer)), 0.0), target, None)
    assert found.objective == pytest.approx(known.distance**2 / 2)
    assert found.gap <= 1e-9 * found.objective
    assert found.menu_error <= 1e-12
    elsewhere = certify_flow(flow_from_paths(reference.path_of(np.arange(n))[None], np.ones(1)), target, None)
    assert elsewhere.gap >= elsewhere.objective - found.objective > 0


@pytest.mark.parametrize("more", [0.0, 1.0])
@pytest.mark.parametrize("cone", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_certificates_of_many_items_tried_on_few(cone, weighted, more, rng, monkeypatch):
    """`more`: the data are above the model, so that some ranking has a negative cost."""
    n = 3
    inside = rf.Lattice(n).membership
    orders = np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    mixture = paths.paths_from_orders(orders), rng.dirichlet(np.ones(3)) * (1.5 if cone else 1.0)
    target = np.where(inside, rng.random(inside.shape) + more, 0.0)
    w = np.where(inside, rng.uniform(0.1, 3, inside.shape) * (rng.random(inside.shape) < 0.8), 0.0)
    w = w if weighted else inside.astype(float)
    rho = sum(s * reference.choice_array(o) for s, o in zip(mixture[1], orders, strict=True))
    g, used = w * (rho - target), w > 0
    cheapest = min((g * reference.choice_array(o)).sum() for o in reference.all_rankings(n))
    gap = (g * rho).sum() - cheapest
    if cone:
        miss = max(0.0, -cheapest)
        assert (miss > 0) == (more > 0)
        gap = max((g * rho).sum() + miss * rho[used].sum() + miss**2 / 2 * (1 / w[used]).sum(), 0.0)
    rows = reference.to_rows(target)
    problem = Problem(rows, reference.to_rows(w) if weighted else NO_WEIGHTS, cone)
    flow = paths.flow_from_paths(*mixture)
    found = [certificate.certify(problem, flow)]
    certifier = certificate.Certifier(n, problem.weights, cone)
    found += certify_stack(certifier, np.stack([flow, flow]), np.stack([rows, rows]))
    monkeypatch.setattr(certificate, "_ONE_CALL", n - 1)
    found += [
        certificate.certify(problem, flow, 1),
        certificate.Certifier(n, problem.weights, cone).mixture(mixture, rows),
    ]
    for one in found:
        assert one.objective == pytest.approx(0.5 * (w * (rho - target) ** 2).sum(), rel=1e-12)
        assert one.gap == pytest.approx(gap, rel=1e-10)
        assert one.least_flow == flow.min()
        assert one.menu_error <= 1e-15
        assert one.size == pytest.approx((w * target * np.minimum(target, 1.0)).sum(), rel=1e-12)
        assert one.scale == pytest.approx(w.sum(), rel=1e-12)
        assert one.floor == rounding_floor(one.size, w[used].min())
    flow[0, 3] += 0.25  # menus no longer add up to the total of the weights
    monkeypatch.setattr(certificate, "_ONE_CALL", 12)
    leaks = [certificate.certify(problem, flow)]
    monkeypatch.setattr(certificate, "_ONE_CALL", 2)
    leaks.append(certificate.certify(problem, flow))
    assert [one.menu_error for one in leaks] == pytest.approx([0.25] * 2)


def test_when_a_gap_is_small_enough():
    found = certificate.Certificate(2.0, 0.2, 0.01, 0.0, 0.0, 1.0, 10.0)
    assert found.is_optimal(Stop(0.1))
    assert not found.is_optimal(Stop(0.09))
    assert found.is_optimal(Stop(0.0, 0.2))
    assert not found.is_optimal(Stop(0.0, 0.19))
    assert not found.is_optimal(Stop(0.0))
    assert found._replace(gap=0.01).is_optimal(Stop(0.0))
    assert found._replace(objective=0.01).is_optimal(Stop(0.0))
    far = found._replace(objective=1000.0)
    assert far._replace(gap=1.0).is_optimal(Stop(0.1))
    assert not far._replace(gap=1.01).is_optimal(Stop(0.1))
    assert not found._replace(objective=np.inf, gap=0.0).is_optimal(Stop(0.1))
    assert not found.is_rum
    assert found._replace(objective=1e-24).is_rum
    assert not found._replace(objective=2e-24).is_rum


def test_a_threshold_needs_only_its_side():
    plain, floor = Stop(1e-9), 1e-12
    for objective, gap, threshold, enough in [
        (2.0, 1.5, 3.0, True),  # at most the threshold
        (2.0, 0.5, 1.0, True),  # above it for certain
        (2.0, 1.5, 1.0, False),
        (2.0, 0.0, 1.0, True),
        (2.0, np.nan, 1.0, False),
        (np.nan, 1.0, 3.0, False),
    ]:
        own = Certificate(objective, gap, floor, 0.0, 0.0, 1.0, 10.0)
        assert own.is_optimal(plain._replace(threshold=threshold)) is enough
        certifier = Certifier(3, NO_WEIGHTS)
        numbers = np.array([[objective, gap, 0.0, 0.0, 1.0]])
        assert certifier.are_optimal(numbers, plain._replace(threshold=threshold)).tolist() == [enough]
