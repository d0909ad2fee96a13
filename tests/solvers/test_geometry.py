"""What the lattice and graphs have in common: points of the model, prices, positions of cells, starts of the next stack."""

from itertools import permutations

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.core.paths import paths_from_orders
from rumflow.core.problem import Stop
from rumflow.errors import InputError
from rumflow.solvers.bounded.geometry import BoundedGeometry
from rumflow.solvers.geometry import NO_FACTOR, Faces, Keep, SolveOptions
from rumflow.solvers.graph import GraphGeometry
from rumflow.solvers.lattice import LatticeGeometry
from rumflow.solvers.routes import find_route

CELLS = Cells(np.array([[1, 1, 0], [0, 1, 1]], bool))  # {0, 1} and {1, 2}
ROUTES = ["lattice", "graph"]


def geometry(route, cells=CELLS):
    return find_route(cells, rf.RandomUtility(), route)[1]


def by_hand(route):
    """60 % rank 0, 1, 2 and 40 % 2, 1, 0."""
    orders = np.array([[0, 1, 2], [2, 1, 0]])
    return paths_from_orders(orders) if route == "lattice" else CELLS.types_of_orders(orders), np.array([0.6, 0.4])


def of_menus(own, rho):
    """The probabilities of the cells of both menus."""
    menu, item = np.nonzero(CELLS.membership)
    return rho.reshape(-1)[own.positions(menu, item, CELLS)]


@pytest.mark.parametrize("route", ROUTES)
def test_points_are_blended(route):
    own = geometry(route, Cells(rf.simulate.random_menus(4, 4, 3, seed=1).membership))
    inside = own.middle()
    types, weights = own.mixture(inside)
    ends = inside, own.point_of((types, weights)), own.point_of((types[:1], np.ones(1)))
    for a, b in permutations(ends, 2):
        mixed = own.blend(a, b, 0.3)
        assert own.rho(mixed) == pytest.approx(0.7 * own.rho(a) + 0.3 * own.rho(b), abs=1e-12)
        assert own.mixture(mixed)[1].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("route", ROUTES)
def test_points_by_hand(route):
    own = geometry(route)
    point = own.point_of(by_hand(route))
    expected = [0.6, 0.4, 0.6, 0.4]
    np.testing.assert_allclose(of_menus(own, own.rho(point)), expected, atol=1e-15)
    np.testing.assert_allclose(of_menus(own, own.rho(own.middle())), [0.5] * 4, atol=1e-15)
    np.testing.assert_allclose(of_menus(own, own.inner_point()), [0.5] * 4, atol=1e-15)
    quarter = own.blend(point, own.middle(), 0.25)
    np.testing.assert_allclose(of_menus(own, own.rho(quarter))[0], 0.75 * 0.6 + 0.25 * 0.5, atol=1e-15)
    types, weights = own.mixture(point)
    ranked = own.orders(types)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights @ (np.argsort(ranked, axis=1)[:, 0] < np.argsort(ranked, axis=1)[:, 1])) == pytest.approx(0.6)
    inside = own.mixture(quarter)
    again = own.rho(own.point_of(inside))
    np.testing.assert_allclose(of_menus(own, again), of_menus(own, own.rho(quarter)), atol=1e-6)
    assert own.flow(point).shape == (3, 4)
    fits = own.solve(own.rho(point)[None], Stop(1e-12), options=SolveOptions(keep=Keep.MIXTURES))
    found = own.point(fits)
    np.testing.assert_allclose(of_menus(own, own.rho(found)), expected, atol=1e-5)
    if route == "graph":  # on the lattice the fit is one of all menus, of which these two do not fix the others
        assert (own.choices(types, CELLS) == by_hand(route)[0]).all()
    else:
        assert (own.choices(by_hand(route)[0], CELLS) == by_hand("graph")[0]).all()


@pytest.mark.parametrize("route", ROUTES)
def test_prices_by_hand(route):
    own = geometry(route)
    menu, item = np.nonzero(CELLS.membership)
    for prices, least in (
        ([1.0, 2.0, 5.0, 3.0], 4.0),  # 0 from {0, 1} and 2 from {1, 2}
        ([1.0, 2.0, 3.0, 8.0], 4.0),  # 0 and 1
        ([5.0, 1.0, 9.0, 2.0], 3.0),  # 1 and 2: the ranking 2, 1, 0
    ):
        cost = own.blank(0.0)
        cost.reshape(-1)[own.positions(menu, item, CELLS)] = prices
        whole = cost.reshape(-1).copy()
        assert own.cheapest(cost.copy()) == least
        row = own.choices(own.cheapest_type(cost)[None], CELLS)[0]
        taken = CELLS.items_of_types(row[None])[0]
        assert whole[own.positions(np.arange(len(CELLS)), taken, CELLS)].sum() == least


@pytest.mark.parametrize("route", ROUTES)
def test_certificates_of_mixtures(route, rng):
    own = geometry(route)
    own = own.weighted(own.blank(0.0) + rng.uniform(0.5, 2.0, own.shape))
    target = rng.normal(0.4, 0.3, own.shape)
    found = own.certify(by_hand(route), target)
    rho = own.rho(own.point_of(by_hand(route)))
    counts = own.weights > 0
    assert found.objective == pytest.approx(0.5 * (own.weights * (rho - target) ** 2)[counts].sum())
    best = own.solve(target[None], Stop(1e-12)).certificates[0]
    assert found.objective - found.gap <= best.objective + 1e-12
    assert best.objective <= found.objective


def test_blanks_have_menus_of_one_item_where_the_layout_has_them():
    lattice = rf.Lattice(3).from_internal(LatticeGeometry(3).blank(2.0))
    assert [lattice[1 << x, x] for x in range(3)] == [2.0] * 3
    assert lattice.sum() == 6.0
    assert not GraphGeometry(rf.RandomUtility(), CELLS).blank(2.0).any()


@pytest.mark.parametrize("route", ROUTES)
def test_starts_of_the_next_stack(route, rng):
    own = geometry(route, Cells(rf.simulate.random_menus(9, 20, 4, seed=3).membership))
    target = rng.normal(0.3, 0.3, (3, *own.shape))
    fits = own.solve(target, Stop(1e-10), options=SolveOptions(keep=own.keep_to_start))
    again = own.solve(target, Stop(1e-10), starts=fits.starts)
    assert again.objective == pytest.approx(fits.objective, rel=1e-9)
    assert again.rounds.sum() <= fits.rounds.sum()


def test_faces_lie_one_after_another(monkeypatch):
    types = [np.array(own, np.int32) for own in ([3], [4, 5], [])]
    factors = [np.array([0.5]), np.array([0.25, 0.125, 1.0]), np.empty(0)]
    faces = Faces.gather(np.array([[1], [2], [0]]), types, factors)
    assert faces.counts.tolist() == [[1, 0, 0], [2, 1, 1], [0, 3, 4]]
    assert (faces.types.tolist(), faces.factor.tolist()) == ([3, 4, 5], [0.5, 0.25, 0.125, 1.0])
    assert faces.repeat(6).counts.tolist() == 2 * faces.counts.tolist()  # several directions for each problem
    assert faces.repeat(3) is faces
    assert faces.row(1).counts.tolist() == [[2, 1, 1]]
    # A row replaced by another, with its own numbers behind those of all; its factor is not there.
    other = Faces(np.array([[1, 0, NO_FACTOR]]), np.array([9], np.int32), np.empty(0))
    both = faces.replace(np.array([0]), other)
    assert both.counts.tolist() == [[1, 3, NO_FACTOR], [2, 1, 1], [0, 3, 4]]
    assert both.types.tolist() == [3, 4, 5, 9]
    assert other.replace(np.array([0]), faces.row(1)).counts.tolist() == [[2, 2, 1]]
    monkeypatch.setattr("rumflow.solvers.geometry._FACTOR_BYTES", 8 * 3)
    bare = Faces.gather(np.array([[1], [2], [0]]), types, factors)
    assert (bare.counts[:, 2].tolist(), len(bare.factor)) == ([NO_FACTOR] * 3, 0)
    nothing = Faces.gather(np.empty((0, 1), np.int64), [], [])
    assert [part.shape for part in nothing] == [(0, 3), (0,), (0,)]


def test_what_there_is_not_is_said():
    bounded = BoundedGeometry(rf.RandomUtility(), CELLS)
    with pytest.raises(InputError, match="no derivatives, no likelihood"):
        _ = bounded.graphs
    peaked = GraphGeometry(rf.SinglePeaked(range(3)), CELLS)
    with pytest.raises(InputError, match="available only for RandomUtility with at most 22 items"):
        peaked.flow(peaked.middle())
