"""Paths, trees and certificates by hand; and the ways of many items, tried on few."""

from itertools import permutations, product

import numpy as np
import pytest

import rumflow as rf
from rumflow.core import (
    certificate,
    lattice,
    membership,
    paths,
    tree,
)
from rumflow.core.graph_certificate import residual_of
from rumflow.core.problem import (
    NO_WEIGHTS,
    Problem,
    Stop,
    data_size,
    is_complete,
    is_rum_distance,
    least_weight,
    rounding_floor,
)
from rumflow.core.residual import residual_row
from tests.reference import lattice as reference

# Paths ------------------------------------------------------------------------------------------------------------------------


def ways(cost):
    """Cheapest ways from every menu down, and from the full menu to it, by recursion over sets."""
    n = len(cost)
    below, above = np.full(1 << n, np.inf), np.full(1 << n, np.inf)
    below[0] = above[-1] = 0.0
    for mask in range(1, 1 << n):
        below[mask] = min(cost[x, reference.column(mask, x)] + below[mask - 2**x] for x in lattice.items_of(mask))
    for mask in range((1 << n) - 2, -1, -1):
        larger = [(x, mask + 2**x) for x in range(n) if not mask >> x & 1]
        above[mask] = min(cost[x, reference.column(m, x)] + above[m] for x, m in larger)
    return below, above


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_cheapest_ways_of_every_menu(n, rng):
    cost = rng.integers(-20, 20, (n, 1 << (n - 1))).astype(float)
    below, above = ways(cost)
    own = np.empty(1 << n)
    assert paths.cheapest_below(cost, 1, own) is own
    np.testing.assert_array_equal(own, below)
    assert paths.cheapest_above(cost, 1, own) is own
    np.testing.assert_array_equal(own, above)
    np.testing.assert_array_equal(paths.cheapest_below(cost), below)
    np.testing.assert_array_equal(paths.cheapest_above(cost), above)


def test_cheapest_ways_in_parts_for_threads(rng, monkeypatch):
    """Many items are cut by their highest bits; here few are, in blocks of 16 menus."""
    monkeypatch.setattr(paths, "_THREADED_ITEMS", 8)
    cost = rng.integers(-20, 20, (8, 128)).astype(float)
    for found, expected in zip((paths.cheapest_below(cost, 2), paths.cheapest_above(cost, 2)), ways(cost), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_parts_of_the_lattice_for_threads():
    by_size = [[p for p in range(16) if p.bit_count() == k] for k in range(5)]
    assert paths._blocks(18, 2) == by_size
    assert paths._blocks(17, 2) == paths._blocks(18, 1) == [[0]]
    assert tree.menu_parts(15, 2) == [(1024 * i, 1024 * (i + 1)) for i in range(32)]
    assert tree.menu_parts(14, 2) == [(0, 1 << 14)]
    assert tree.menu_parts(15, 1) == [(0, 1 << 15)]
    assert tree.row_parts(15, 2) == [(x, x + 1) for x in range(15)]
    assert tree.row_parts(14, 2) == [(0, 14)]
    assert tree.row_parts(15, 1) == [(0, 15)]


def test_of_equal_rankings_the_lowest_items_come_first():
    cost = np.zeros((4, 8))
    value, path = paths.cheapest_ranking(cost)
    assert value == 0.0
    assert paths.orders_from_paths(path[None]).tolist() == [[0, 1, 2, 3]]
    totals, through = paths.cheapest_through(cost, np.array([0b0110]))
    assert totals.tolist() == [0.0]
    assert paths.orders_from_paths(through).tolist() == [[3, 0, 1, 2]]


def test_walks_follow_their_draws():
    """At the full menu item 0 has 0.25, item 1 nothing, item 2 0.75; afterwards everything is fixed or equal."""
    orders = np.array([[0, 1, 2], [2, 0, 1], [2, 1, 0]])
    flow = paths.flow_from_paths(paths.paths_from_orders(orders), np.array([0.25, 0.5, 0.25]))
    draws = np.array([[0.0, 0.0, 0.0], [0.24, 0.9, 0.5], [0.26, 0.66, 0.0], [0.99, 0.67, 0.99], [1.0, 1.0, 1.0]])
    found = np.empty((5, 3), np.int32)
    paths._walk(flow, 3, draws, found)
    expected = [[0, 1, 2], [0, 1, 2], [2, 0, 1], [2, 1, 0], [2, 1, 0]]
    assert paths.orders_from_paths(found).tolist() == expected
    nothing = np.empty((1, 3), np.int32)
    paths._walk(np.zeros((3, 4)), 3, draws[:1], nothing)
    assert paths.orders_from_paths(nothing).tolist() == [[0, 1, 2]]


def test_heaviest_paths_are_peeled_first():
    orders = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    shares = np.array([0.5, 0.3, 0.2])
    flow = paths.flow_from_paths(paths.paths_from_orders(orders), shares)
    found, weights = paths.decompose(flow)
    assert paths.orders_from_paths(found).tolist() == orders.tolist()
    assert weights == pytest.approx(shares, abs=1e-15)
    found, weights = paths.decompose(flow, limit=2)
    assert weights == pytest.approx(shares[:2], abs=1e-15)
    for floor, count in (
        (0.6, 1),
        (0.5, 1),
        (0.49, 2),
        (0.21, 2),
        (0.19, 3),
    ):  # 0.5 is left after one path, 0.2 after two
        assert len(paths.decompose(flow, floor=floor)[1]) == count


def test_a_flow_without_direction_divides_evenly():
    np.testing.assert_allclose(paths.conserve(np.zeros((4, 8))), paths.uniform_flow(4), rtol=1e-15)
    every = paths.paths_from_orders(np.array(list(permutations(range(4)))))
    np.testing.assert_allclose(paths.flow_from_paths(every, np.full(24, 1 / 24)), paths.uniform_flow(4), rtol=1e-14)
    flow = np.full((3, 4), -1.0)
    flow[2, 3] = 5.0  # everybody takes item 2 first; what is negative counts as nothing
    mended = paths.conserve(flow)
    assert mended[:, 3].tolist() == [0.0, 0.0, 1.0]
    assert mended[:2, reference.column(0b011, 0)].tolist() == [0.5, 0.5]


def test_the_middle_layer_in_order():
    assert paths.middle_menus(4).tolist() == [3, 5, 6, 9, 10, 12]
    assert paths.middle_menus(5).tolist() == [3, 5, 6, 9, 10, 12, 17, 18, 20, 24]
    assert paths.middle_menus(1).tolist() == [0]


# Trees ------------------------------------------------------------------------------------------------------------------------


def ends(x, m):
    """The menus that an edge joins, the larger first."""
    low = m % 2**x + m // 2**x * 2 ** (x + 1)
    return low + 2**x, low


def test_divergence_and_differences_in_parts_for_threads(rng, monkeypatch):
    monkeypatch.setattr(tree, "THREADED_ITEMS", 8)
    monkeypatch.setattr(tree, "_PARTS", 4)
    flow = rng.integers(0, 100, (8, 128)).astype(float)
    expected = np.zeros(256)
    for x, m in product(range(8), range(128)):
        high, low = ends(x, m)
        expected[high] += flow[x, m]
        expected[low] -= flow[x, m]
    own = np.empty(256)
    assert tree.flow_divergence(flow, 2, own) is own
    np.testing.assert_array_equal(own, expected)
    np.testing.assert_array_equal(tree.flow_divergence(flow, 1), expected)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("ties", [False, True])
def test_small_trees_are_those_of_sorted_edges(n, ties, rng, monkeypatch):
    monkeypatch.setattr(tree, "THREADED_ITEMS", 3)
    monkeypatch.setattr(tree, "_PARTS", 1)
    weights = rng.integers(0, 3 if ties else 10**9, (n, 1 << (n - 1))).astype(float)
    group = list(range(1 << n))
    edges = np.zeros(weights.shape, bool)
    for e in np.argsort(weights.reshape(-1), kind="stable").tolist():
        x, m = divmod(e, 1 << (n - 1))
        a, b = (group[v] for v in ends(x, m))
        if a != b:
            edges[x, m] = True
            group = [a if g == b else g for g in group]
    found = tree.minimum_spanning_tree(weights)
    np.testing.assert_array_equal(found.edges, edges)
    assert tree.is_spanning_tree(edges)
    values = rng.integers(-9, 10, weights.shape).astype(float)
    p = tree.potentials(found, values)
    assert p[0] == 0.0
    difference = np.array([[p[ends(x, m)[0]] - p[ends(x, m)[1]] for m in range(1 << (n - 1))] for x in range(n)])
    np.testing.assert_array_equal(difference[edges], values[edges])
    np.testing.assert_array_equal(tree.extend_adjoint(found, values.copy(), 2), np.where(edges, 0, values - difference))
    flow = tree.extend(found, np.where(edges, 0.0, values))
    np.testing.assert_array_equal(flow[~edges], values[~edges])
    assert not tree.flow_divergence(flow).any()


def test_a_rooted_tree_by_hand():
    """All edges of item 0, and that of item 1 between the empty menu and {1}: 0 - 1, 0 - 2, 2 - 3."""
    found = tree.tree_from_edges(np.array([[True, True], [True, False]]))
    assert found.order.tolist() == [0, 1, 2, 3]
    assert found.parent.tolist() == [0, 0, 0, 2]
    assert found.edge.tolist() == [0, 0, 2, 1]
    upside_down = tree.tree_from_edges(np.array([[True, True], [False, True]]))
    assert upside_down.order.tolist() == [0, 1, 3, 2]
    assert upside_down.parent.tolist() == [0, 0, 1, 2]
    assert upside_down.edge.tolist() == [0, 0, 3, ~1]


# Certificates and data that are RUM -------------------------------------------------------------------------------------------


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
    found += certificate.Certifier(n, problem.weights, cone).stack(np.stack([flow, flow]), np.stack([rows, rows]))
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


def test_sizes_and_floors_by_hand():
    target = np.array([[0.5, -2.0], [np.nan, 1.0]])
    weights = np.array([[2.0, 3.0], [0.0, 4.0]])
    assert data_size(target, weights) == 2 * 0.25 + 3 * 2.0 + 4.0
    assert data_size(np.array([[0.5, -2.0]]), NO_WEIGHTS) == 0.25 + 2.0
    assert least_weight(weights) == 2.0
    assert least_weight(NO_WEIGHTS) == 1.0
    assert is_complete(NO_WEIGHTS)
    assert not is_complete(weights)
    assert is_complete(weights + 1)
    eps = np.finfo(float).eps
    assert rounding_floor(3.0, 1.0) == 32 * eps * 3.0
    assert rounding_floor(1e12, 1e-3) == pytest.approx(1e-9)
    assert is_rum_distance(1e-24, 1.0)
    assert not is_rum_distance(1.1e-24, 1.0)
    problem = Problem(np.zeros((3, 4)), np.array([[1.0, 0.0, 1.0, 1.0]] * 3))
    assert problem.n == 3
    assert not problem.complete
    assert Problem(np.zeros((3, 4))).complete


def test_residuals_by_hand():
    row = np.array([0.5, 0.25, 1.0])
    target = np.array([0.25, 0.5, np.nan])
    own = row.copy()
    assert residual_row(own, target, np.array([2.0, 4.0, 0.0])) == 0.5 * (2 / 16 + 4 / 16)
    assert own.tolist() == [0.5, -1.0, 0.0]
    own = row[:2].copy()
    assert residual_row(own, target[:2], np.empty(0)) == 0.5 * (2 / 16)
    assert own.tolist() == [0.25, -0.25]
    left = residual_of(row[None], target[None], np.array([[2.0, 4.0, 0.0]]))
    assert (left.objective, left.inner, left.mass, left.inverse) == (0.1875, 0.0, 0.75, 0.75)
    assert left.cost.tolist() == [[0.5, -1.0, 0.0]]
    assert left.gap(-0.5) == 0.5
    assert left.gap(0.5) == 0.0
    on_cone = left._replace(cone=True)
    assert on_cone.gap(-2.0) == 2.0 * 0.75 + 0.5 * 4.0 * 0.75
    assert on_cone.gap(2.0) == 0.0


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
