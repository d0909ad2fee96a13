"""Which data are random utility before any solve: Block-Marschak, tolerances, many items."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core import membership, paths
from rumflow.core.membership import inside_tolerance, rum_membership
from rumflow.core.problem import NO_WEIGHTS, Problem
from rumflow.core.transforms import moebius, zeta
from tests.reference import lattice as reference
from tests.reference.flows import random_flow, random_weights

KINDS = ["unweighted", "weighted", "incomplete"]


def member(target, weights, threads=None):
    return rum_membership(Problem(target, NO_WEIGHTS if weights is None else weights), threads)


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


@pytest.mark.usefixtures("many_items")
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


@pytest.mark.usefixtures("many_items")
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


@pytest.mark.usefixtures("many_items")
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


@pytest.mark.usefixtures("many_items")
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


@pytest.mark.usefixtures("many_items")
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


def test_block_marschak_and_is_rum():
    rho = rf.simulate.mixed_logit(5, seed=0)
    assert rf.block_marschak(rho)[rf.Lattice(5).membership].min() > 0
    assert rf.is_rum(rho)
    assert not rf.is_rum(rf.simulate.dirichlet(5, 0))
    hidden = rf.simulate.hide(rho, rf.simulate.observed_menus(5, 0.4, 0))
    assert rf.is_rum(hidden)
    with pytest.raises(rf.InputError, match="need every menu"):
        rf.block_marschak(hidden)
    bad = rf.simulate.hide(rf.simulate.dirichlet(5, 0), rf.simulate.observed_menus(5, 0.8, 0))
    assert not rf.is_rum(bad)


def test_block_marschak_of_choice_data():
    rho = rf.simulate.noisy_rankings(3, seed=1)
    data = rf.ChoiceData.from_matrix(100 * rho)
    assert rf.block_marschak(data) == pytest.approx(rf.block_marschak(rho))
    with pytest.raises(rf.InputError, match="every menu"):
        rf.block_marschak(rf.ChoiceData.from_counts({("a", "b"): {"a": 1}, ("a", "c"): {"c": 1}}))


@pytest.mark.parametrize("one_call", [12, 2])
def test_data_that_are_rum_or_will_be(one_call, rng, monkeypatch):
    monkeypatch.setattr(membership, "_ONE_CALL", one_call)
    n = 3
    orders = np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    flow = paths.flow_from_paths(paths.paths_from_orders(orders), np.array([0.5, 0.3, 0.2]))
    rho = reference.superset_sums(flow)
    same, found = membership.rum_membership(Problem(rho), 1)
    np.testing.assert_array_equal(same, rho)
    np.testing.assert_allclose(found, flow, atol=1e-15)
    # A menu that does not add up gets its surplus back by 1 / w, and is RUM then.
    weights = rng.uniform(0.5, 2.0, rho.shape)
    cells = [(x, reference.column(0b111, x)) for x in range(n)]
    moved, inverse = rho.copy(), sum(1 / weights[c] for c in cells)
    for c in cells:
        moved[c] += 0.3 / weights[c] / inverse
    mended, found = membership.rum_membership(Problem(moved, weights), 1)
    np.testing.assert_allclose(mended, rho, atol=1e-15)
    np.testing.assert_allclose(found, flow, atol=1e-14)
    equal = rho.copy()
    for c in cells:
        equal[c] -= 0.1
    np.testing.assert_allclose(membership.rum_membership(Problem(equal), 1)[0], rho, atol=1e-15)
    # A menu with a cell that was not observed stays, and incomplete data are not judged.
    weights[cells[0]] = 0.0
    left, found = membership.rum_membership(Problem(moved, weights), 1)
    np.testing.assert_array_equal(left, moved)
    assert found is None
    # Data outside RUM have no flow: item 0 is taken from {0, 1} less often than from all three.
    table = np.array(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.1, 0.9, 0], [0, 0, 1], [0.5, 0, 0.5], [0, 0.5, 0.5], [0.4, 0.3, 0.3]]
    )
    outside = reference.to_rows(table)
    assert membership.rum_membership(Problem(outside), 1)[1] is None


def test_how_much_rounding_is_forgiven():
    assert membership.inside_tolerance(4) == pytest.approx(7.2e-15)
    assert membership.inside_tolerance(1) == pytest.approx(1.8e-15 * 2**0.5)
    rho = reference.superset_sums(paths.flow_from_paths(paths.paths_from_orders(np.array([[0, 1]])), np.ones(1)))
    for off, inside in ((1e-15, True), (1e-14, False)):
        moved = rho.copy()
        moved[1, 1] -= off  # item 1 from both: a Block-Marschak polynomial of -off
        moved[0, 1] += off
        assert (membership.rum_membership(Problem(moved))[1] is not None) == inside
