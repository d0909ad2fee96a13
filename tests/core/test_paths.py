import numpy as np
import pytest
from tests.reference import lattice as reference

from rumflow.core import paths as p
from rumflow.core.lattice import Lattice
from rumflow.core.transforms import zeta


def costs(n, rng):
    return rng.normal(size=(n, 1 << (n - 1)))


def everything(n):
    orders = np.array(reference.all_rankings(n))
    return orders, p.paths_from_orders(orders)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_cheapest_ranking_is_the_cheapest_of_all(n, rng):
    cost = costs(n, rng)
    _, paths = everything(n)
    totals = cost[np.arange(n), paths].sum(axis=1)
    value, path = p.cheapest_ranking(cost)
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
    found, cheapest = p.cheapest_through(cost, menus)
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
