"""Rankings as paths: the cheapest, through every menu, in flows; against enumeration and by hand."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumflow.core import lattice, paths, tree
from rumflow.core import paths as p
from rumflow.core.lattice import Lattice
from rumflow.core.paths import squeeze, unsqueeze
from rumflow.core.transforms import zeta
from tests.reference import lattice as reference


def costs(n, rng):
    return rng.normal(size=(n, 1 << (n - 1)))


def cheapest_through(cost, menus):
    """For each menu the cheapest ranking whose path visits it: costs and paths."""
    above, below = p.cheapest_above(cost), p.cheapest_below(cost)
    paths = np.empty((len(menus), len(cost)), np.int32)
    for menu, path in zip(menus, paths, strict=True):
        p.extract_path(cost, above, below, len(cost), int(menu), path)
    return above[menus] + below[menus], paths


def everything(n):
    orders = np.array(reference.all_rankings(n))
    return orders, p.paths_from_orders(orders)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_cheapest_ranking_is_the_cheapest_of_all(n, rng):
    cost = costs(n, rng)
    _, paths = everything(n)
    totals = cost[np.arange(n), paths].sum(axis=1)
    (value,), (path,) = cheapest_through(cost, [(1 << n) - 1])
    assert value == pytest.approx(totals.min(), abs=1e-12)
    assert (path == paths[totals.argmin()]).all()
    assert p.cheapest_above(cost)[0] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_cheapest_through_every_menu(n, rng):
    cost = costs(n, rng)
    orders, paths = everything(n)
    totals = cost[np.arange(n), paths].sum(axis=1)
    full = (1 << n) - 1
    visited = np.zeros((len(orders), 1 << n), bool)
    for i, order in enumerate(orders):
        menu = full
        visited[i, menu] = True
        for item in order:
            menu ^= 1 << item
            visited[i, menu] = True
    menus = np.arange(1 << n)
    found, cheapest = cheapest_through(cost, menus)
    for menu in menus:
        assert found[menu] == pytest.approx(totals[visited[:, menu]].min(), abs=1e-12)
        assert cost[np.arange(n), cheapest[menu]].sum() == pytest.approx(found[menu], abs=1e-12)
        row = np.flatnonzero((paths == cheapest[menu]).all(axis=1))
        assert len(row) == 1
        assert visited[row[0], menu]


@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_paths_and_orders_are_the_same_rankings(n):
    orders, paths = everything(n)
    assert (p.orders_from_paths(paths) == orders).all()
    lattice = Lattice(n)
    for order, path in zip(orders, paths, strict=True):
        rho = zeta(p.flow_from_paths(path[None], np.ones(1)))
        assert (lattice.from_internal(rho) == reference.choice_array(order)).all()


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_decomposition_gives_the_flow_back(n, rng):
    _, paths = everything(n)
    weights = rng.dirichlet(np.ones(len(paths)))
    flow = p.flow_from_paths(paths, weights)
    found, shares = p.decompose(flow)
    assert (shares > 0).all()
    assert len(shares) <= np.count_nonzero(flow)
    assert shares.sum() == pytest.approx(1, abs=1e-13)
    assert p.flow_from_paths(found, shares) == pytest.approx(flow, abs=1e-13)


def test_samples_follow_the_flow(rng):
    n = 4
    _, paths = everything(n)
    flow = p.flow_from_paths(paths, rng.dirichlet(np.ones(len(paths))))
    drawn = p.sample(flow, 40_000, rng)
    shares = p.flow_from_paths(drawn, np.full(len(drawn), 1 / len(drawn)))
    assert (np.abs(shares - flow) <= 5 * np.sqrt(flow * (1 - flow) / len(drawn)) + 1e-12).all()


def test_conserve_repairs_rounding_and_nothing_else(rng):
    n = 6
    _, paths = everything(n)
    flow = p.flow_from_paths(paths[:50], rng.dirichlet(np.ones(50)))
    broken = flow + 1e-13 * rng.normal(size=flow.shape)
    mended = p.conserve(broken.copy())
    assert mended.min() >= 0
    assert mended == pytest.approx(flow, abs=1e-11)
    sums = Lattice(n).from_internal(zeta(mended.copy())).sum(axis=1)[1:]
    assert sums == pytest.approx(1, abs=1e-14)


def test_threads_do_not_change_a_bit(rng):
    cost = costs(18, rng)
    assert (p.cheapest_below(cost, 1) == p.cheapest_below(cost, 3)).all()
    assert (p.cheapest_above(cost, 1) == p.cheapest_above(cost, 3)).all()


def test_middle_layer():
    assert [int(m).bit_count() for m in p.middle_menus(7)] == [3] * 35


@given(st.integers(1, 29), st.data())
def test_squeeze_and_back(n, data):
    item = data.draw(st.integers(0, n - 1))
    column = data.draw(st.integers(0, (1 << (n - 1)) - 1))
    menu = unsqueeze(column, item)
    assert menu >> item & 1
    assert squeeze(menu, item) == column


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
    for threads in (1, 2, 3):  # both at once
        found = np.full((2, 256), np.nan)
        paths.cheapest_ways(cost, threads, *found)
        np.testing.assert_array_equal(found, ways(cost))


def test_parts_of_the_lattice_for_threads(monkeypatch):
    by_size = [[p for p in range(16) if p.bit_count() == k] for k in range(5)]
    seen = []
    monkeypatch.setattr(paths, "run_threads", lambda task, pieces, threads: seen.append(pieces))
    for n, threads, parts in ((18, 2, by_size), (17, 2, [[0]]), (18, 1, [[0]])):
        for ways, order in ((paths.cheapest_below, parts), (paths.cheapest_above, parts[::-1])):
            ways(np.empty((n, 0)), threads)
            assert seen == order
            seen.clear()
    assert tree.menu_parts(15, 2) == [(1024 * i, 1024 * (i + 1)) for i in range(32)]
    assert tree.menu_parts(14, 2) == [(0, 1 << 14)]
    assert tree.menu_parts(15, 1) == [(0, 1 << 15)]
    assert tree.row_parts(15, 2) == [(x, x + 1) for x in range(15)]
    assert tree.row_parts(14, 2) == [(0, 14)]
    assert tree.row_parts(15, 1) == [(0, 15)]


def test_of_equal_rankings_the_lowest_items_come_first():
    cost = np.zeros((4, 8))
    totals, through = cheapest_through(cost, [0b1111, 0b0110])
    assert totals.tolist() == [0.0, 0.0]
    assert paths.orders_from_paths(through).tolist() == [[0, 1, 2, 3], [3, 0, 1, 2]]


class Drawn:
    """A generator that has drawn these numbers."""

    def __init__(self, numbers):
        self.numbers = numbers

    def random(self, shape):
        assert self.numbers.shape == shape
        return self.numbers


def test_walks_follow_their_draws():
    """At the full menu item 0 has 0.25, item 1 nothing, item 2 0.75; afterwards everything is fixed or equal."""
    orders = np.array([[0, 1, 2], [2, 0, 1], [2, 1, 0]])
    flow = paths.flow_from_paths(paths.paths_from_orders(orders), np.array([0.25, 0.5, 0.25]))
    draws = np.array([[0.0, 0.0, 0.0], [0.24, 0.9, 0.5], [0.26, 0.66, 0.0], [0.99, 0.67, 0.99], [1.0, 1.0, 1.0]])
    found = paths.sample(flow, 5, Drawn(draws))
    expected = [[0, 1, 2], [0, 1, 2], [2, 0, 1], [2, 1, 0], [2, 1, 0]]
    assert paths.orders_from_paths(found).tolist() == expected
    nothing = paths.sample(np.zeros((3, 4)), 1, Drawn(draws[:1]))
    assert paths.orders_from_paths(nothing).tolist() == [[0, 1, 2]]


def test_heaviest_paths_are_peeled_first():
    orders = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    shares = np.array([0.5, 0.3, 0.2])
    flow = paths.flow_from_paths(paths.paths_from_orders(orders), shares)
    found, weights = paths.decompose(flow)
    assert paths.orders_from_paths(found).tolist() == orders.tolist()
    assert weights == pytest.approx(shares, abs=1e-15)
    found, weights = np.empty((9, 3), np.int32), np.empty(9)
    assert paths.peel(flow.copy(), 3, 0.0, found, weights[:2]) == 2  # no more fit
    assert weights[:2] == pytest.approx(shares[:2], abs=1e-15)
    for floor, count in (
        (0.6, 1),
        (0.5, 1),
        (0.49, 2),
        (0.21, 2),
        (0.19, 3),
    ):  # 0.5 is left after one path, 0.2 after two
        assert paths.peel(flow.copy(), 3, floor, found, weights) == count


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
