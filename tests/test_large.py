"""Certificate and membership beyond 12 items: against the kernels for few items, plain NumPy, and known answers.

Five items take the same way here, so that it is tried with kernels as plain Python, too.
"""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core import certificate, membership
from rumflow.core.certificate import Certifier, certify_small
from rumflow.core.membership import inside_tolerance, rum_membership
from rumflow.core.paths import flow_from_paths
from rumflow.core.problem import NO_WEIGHTS, Problem, least_weight, rounding_floor
from rumflow.core.transforms import moebius, zeta
from tests.reference import lattice as reference

KINDS = ["unweighted", "weighted", "incomplete"]


@pytest.fixture(autouse=True)
def many_items(monkeypatch):
    for module in (certificate, membership):
        assert module._ONE_CALL < 13
        monkeypatch.setattr(module, "_ONE_CALL", 4)


def certify(flow, target, weights, threads=None, cone=False):
    return Certifier(len(flow), NO_WEIGHTS if weights is None else weights, cone, threads)(flow, target)


def member(target, weights, threads=None):
    return rum_membership(Problem(target, NO_WEIGHTS if weights is None else weights), threads)


def random_flow(n, k, rng):
    paths = np.array([reference.path_of(rng.permutation(n)) for _ in range(k)])
    return flow_from_paths(paths, rng.dirichlet(np.ones(k)))


def random_weights(kind, shape, rng):
    if kind == "unweighted":
        return None
    weights = rng.uniform(0.1, 4.0, shape)
    return weights if kind == "weighted" else np.where(rng.random(shape) < 0.3, 0.0, weights)


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
    found = certify(flow, target, weights, cone=cone)
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
    assert certify(flow, target, weights, 1, cone) == found


@pytest.mark.parametrize("n", [13, 14])
def test_a_known_answer_has_no_gap(n):
    known = rf.simulate.known_projection(n, seed=n, distance=0.5)
    lattice = rf.Lattice(n)
    target = lattice.to_internal(known.data)
    found = certify(np.maximum(moebius(lattice.to_internal(known.answer)), 0.0), target, None)
    assert found.objective == pytest.approx(known.distance**2 / 2)
    assert found.gap <= 1e-9 * found.objective
    assert found.menu_error <= 1e-12
    elsewhere = certify(flow_from_paths(reference.path_of(np.arange(n))[None], np.ones(1)), target, None)
    assert elsewhere.gap >= elsewhere.objective - found.objective > 0


@pytest.mark.parametrize("n", [13, 14])
def test_a_known_projection_is_found(n):
    known = rf.simulate.known_projection(n, seed=n + 1, distance=0.5)
    fit = rf.project_many(known.data[None], tol=1e-10)
    assert fit.distance[0] == pytest.approx(known.distance, rel=1e-9)
    assert fit.rho[0] == pytest.approx(known.answer, abs=1e-5)
    lattice = rf.Lattice(n)
    seen = certify(lattice.to_internal(fit.flow[0]), lattice.to_internal(known.data), None)
    assert list(seen) == pytest.approx(list(fit.certificates[0]), rel=1e-6, abs=1e-12)


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
    seen = certify(lattice.to_internal(fit.flow[0]), target, weights)
    assert seen.objective == pytest.approx(objective, rel=1e-8)
    assert 0 <= seen.gap <= 1e-9 * seen.objective + seen.floor


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


def plain_inside(target, weights):
    """Menus made to add up to 1, each by a loop-free formula; and the Block-Marschak polynomials by inverting the sums."""
    n = len(target)
    inverse = np.ones_like(target) if weights is None else 1 / weights
    rho = target.copy()
    missing = (1 - reference.menu_sums(target)) / np.maximum(reference.menu_sums(inverse), 1e-300)
    masks = np.arange(1 << n)
    for x in range(n):
        here = masks[masks >> x & 1 == 1]
        rho[x, reference.column(here, x)] += missing[here] * inverse[x, reference.column(here, x)]
    sizes = sum(np.arange(1 << (n - 1)) >> b & 1 for b in range(n - 1))
    sign = np.where(sizes % 2, -1.0, 1.0)  # K = S Z S with S the signs of the sizes
    return rho, sign * reference.superset_sums(sign * rho)


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("n", [5, 13, 14])
def test_membership(n, kind, rng):
    flow = random_flow(n, 200, rng)
    target = zeta(0.5 * flow + 0.5 * uniform_flow(n))
    target += 1e-7 * rng.normal(size=target.shape) * np.repeat(rng.random(n) < 0.5, 1 << (n - 1)).reshape(target.shape)
    target[0, 7] += 1e-6
    weights = random_weights(kind, target.shape, rng)
    rho, flow = plain_inside(target, weights)
    found_rho, found_flow = member(target, weights)
    small_rho, small_flow = np.empty_like(target), np.empty_like(target)
    w = NO_WEIGHTS if weights is None else weights
    inside = membership._try_inside(target, w, True, small_rho, small_flow, inside_tolerance(n))
    assert inside == (found_flow is not None) == bool(flow.min() >= -inside_tolerance(n))
    assert small_rho == pytest.approx(rho, abs=1e-14)
    assert (found_rho == small_rho).all()


def uniform_flow(n):
    """All rankings equally likely."""
    rho = np.empty((n, 1 << (n - 1)))
    others = sum(np.arange(1 << (n - 1)) >> b & 1 for b in range(n - 1))
    rho[:] = 1 / (1 + others)
    return np.maximum(moebius(rho), 0.0)


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("n", [5, 13, 14])
def test_rational_data_with_wrong_menu_sums_are_members(n, kind, rng):
    rho = zeta(random_flow(n, 50, rng))
    weights = random_weights(kind, rho.shape, rng)
    surplus = 0.02 * rng.random(1 << n)
    target = rho.copy()
    masks = np.arange(1 << n)
    for x in range(n):
        here = masks[masks >> x & 1 == 1]
        at = reference.column(here, x)
        target[x, at] += surplus[here] if weights is None else surplus[here] / weights[x, at]
    found, flow = member(target, weights)
    assert flow is not None
    assert found == pytest.approx(rho, abs=1e-13)
    assert zeta(flow.copy()) == pytest.approx(rho, abs=1e-12)
    assert flow.min() >= 0
    assert member(target, weights, 1)[1].tobytes() == flow.tobytes()
    small = np.empty_like(target), np.empty_like(target)
    w = NO_WEIGHTS if weights is None else weights
    assert membership._try_inside(target, w, True, *small, inside_tolerance(n))
    assert small[1] == pytest.approx(flow, abs=1e-15)


@pytest.mark.parametrize("menu", [1, 2, 0b10110, 31])
def test_one_menu_that_does_not_add_up(menu, rng):
    """All others stay what they are; with a cell that was not observed, this one as well."""
    rho = zeta(random_flow(5, 30, rng))
    items = [x for x in range(5) if menu >> x & 1]
    target, weights = rho.copy(), np.ones_like(rho)
    for x in items:
        target[x, reference.column(menu, x)] += 0.25
    found, flow = member(target, None)
    assert found == pytest.approx(rho, abs=1e-15)
    assert flow is not None
    weights[items[0], reference.column(menu, items[0])] = 0.0
    found, flow = member(target, weights)
    assert (found == target).all()
    assert flow is None


@pytest.mark.parametrize("n", [5, 13, 14])
def test_membership_ends_at_its_tolerance(n, rng):
    """Block-Marschak polynomials that miss 0 by less than rounding pass, and come back as 0; more than that does not."""
    flow = random_flow(n, 3, rng)
    tolerance = inside_tolerance(n)
    menu, x, y = 0b11011, 0, 1  # a circulation through two menus: sums stay what they are
    for size, inside in ((0.25 * tolerance, True), (4 * tolerance, False)):
        moved = flow.copy()
        for item, mask, sign in ((x, menu, -1), (y, menu, 1), (y, menu ^ 1 << x, -1), (x, menu ^ 1 << y, 1)):
            moved[item, reference.column(mask, item)] += sign * size
        assert moved.min() < 0
        _, found = member(zeta(moved), None)
        assert (found is not None) == inside
        if found is not None:
            assert found.min() >= 0
            assert reference.menu_sums(zeta(found.copy()))[1:] == pytest.approx(np.ones((1 << n) - 1), abs=1e-13)


def test_incomplete_data_are_not_told_to_be_members(rng):
    """Whole menus are made to add up to 1, others are left alone."""
    target = zeta(random_flow(13, 20, rng)) + 0.001
    weights = np.ones_like(target)
    weights[3, 77] = 0.0
    rho, flow = member(target, weights)
    assert flow is None
    menu = next(m for m in range(1 << 13) if m >> 3 & 1 and reference.column(m, 3) == 77)
    sums, before = reference.menu_sums(rho), reference.menu_sums(target)
    assert sums[menu] == before[menu]
    assert np.delete(sums, [0, menu]) == pytest.approx(np.ones((1 << 13) - 2), abs=1e-13)


def test_rational_data_are_their_own_projection():
    data = rf.simulate.rankings_mixture(13, 40, seed=1)
    fit = rf.project(data)
    assert fit.method == "moebius"
    assert fit.inside
    assert fit.rho == pytest.approx(data, abs=1e-14)
    assert fit.objective <= fit.certificate.floor
