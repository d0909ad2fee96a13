"""A model on recorded cells: where cells are, weights that are kept, graphs built once per worker."""

import pickle
from itertools import permutations

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.inference import Convention
from rumflow.inference.sample import build_sample
from rumflow.projection import projector
from rumflow.projection.projector import Projector
from tests.reference.samples import incomplete

MENUS = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 1, 0], [1, 0, 1, 1]], bool)
ROUTES = ["lattice", "graph"]


def test_a_graph_is_built_once_per_worker(monkeypatch):
    built = []
    own = projector.find_route
    monkeypatch.setattr(projector, "find_route", lambda *a, **k: built.append(1) or own(*a, **k))
    sample = build_sample(incomplete(6, 1), None, Convention(), route="graph")
    assert not sample.projector.geometry.has_all_menus
    text = pickle.dumps(sample)
    assert len(text) < 20_000
    projector._rebuilt.clear()
    first, second = pickle.loads(text), pickle.loads(text)
    assert first.projector is second.projector
    assert first.projector.geometry is second.projector.geometry
    assert len(built) == 2  # here, and once for the two that came by pickle


def test_one_more_cell():
    data = incomplete(5, 1)
    sample = build_sample(data, None, Convention())
    own = sample.projector
    for members, item in ((data.membership[1], int(data.membership[1].argmax())), (np.arange(5) < 2, 1)):
        more = own.with_cells(members[None], (np.arange(5) == item)[None])
        assert {
            (tuple(row), x) for row, x in zip(more.cells.membership[more.menu].tolist(), more.item, strict=True)
        } == {
            *((tuple(row), x) for row, x in zip(own.cells.membership[own.menu].tolist(), own.item, strict=True)),
            (tuple(members.tolist()), item),
        }
    assert isinstance(more, Projector)


@pytest.mark.parametrize("route", ROUTES)
def test_weights_asked_for_last_keep_their_geometry(route, rng):
    own = Projector(Cells(MENUS), route=route)
    weights = rng.uniform(1, 2, (6, len(own.item)))
    kept = [own.weighted(row) for row in weights[:4]]
    assert [own.weighted(row.copy()) for row in weights[:4]] == kept
    assert own.weighted(weights[0]) is kept[0]  # asked for again, so that the second is the oldest
    own.weighted(weights[4])
    assert own.weighted(weights[0]) is kept[0]
    assert own.weighted(weights[1]) is not kept[1]
    for row in weights:
        found = own.weighted(row).weights.reshape(-1)[own.positions]
        assert (found == row).all()
        if route == "graph":
            assert own.weighted(row).graphs is own.geometry.graphs  # the same, not built again
    heavy = own.weighted(weights[5])
    z = rng.normal(0.3, 0.3, (2, len(own.item)))
    fits = own.solve(z, weights[5])
    assert fits.geometry is heavy
    assert own.solve(z, weights[5]).geometry is heavy


@pytest.mark.parametrize("cone", [False, True])
def test_both_routes_say_the_same(cone, rng):
    lattice, graph = (Projector(Cells(MENUS), route=route, cone=cone) for route in ROUTES)
    assert (lattice.cost.route, graph.cost.route) == ("lattice", "graph")
    assert lattice.exact
    assert graph.exact
    assert (lattice.size, graph.size) == (4 << 3, graph.geometry.n_arcs)
    stack, weights = rng.normal(0.4, 0.3, (5, len(lattice.item))), rng.uniform(0.5, 2.0, len(lattice.item))
    a, b = (own.solve(stack, weights, tol=1e-12) for own in (lattice, graph))
    assert a.objective == pytest.approx(b.objective, rel=1e-9, abs=1e-12)
    assert a.fitted == pytest.approx(b.fitted, abs=1e-6)
    assert a.fitted.shape == stack.shape
    expected = 0.5 * (weights * (a.fitted - stack) ** 2).sum(axis=1)
    assert a.objective == pytest.approx(expected, rel=1e-9, abs=1e-12)
    again = graph.solve(stack[:1], weights, tol=1e-12, start=b.mixtures[0])
    assert again.rounds[0] <= b.rounds[0]
    assert again.fitted[0] == pytest.approx(b.fitted[0], abs=1e-6)


@pytest.mark.parametrize("route", ROUTES)
def test_cells_by_hand(route, rng):
    """The price of the cheapest ranking, what rankings take, and arrays of cells, by enumeration."""
    own = Projector(Cells(MENUS), route=route)
    assert own.n == 4
    assert list(zip(own.menu.tolist(), own.item.tolist(), strict=True)) == [
        (i, x) for i, row in enumerate(MENUS) for x in np.flatnonzero(row)
    ]
    orders = np.array(list(permutations(range(4))))
    takes = np.array(
        [
            [next(y for y in order if MENUS[i, y]) == x for i, x in zip(own.menu, own.item, strict=True)]
            for order in orders
        ]
    )
    prices = rng.normal(size=len(own.item))
    assert own.cheapest(prices) == pytest.approx((takes @ prices).min(), abs=1e-12)
    fits = own.solve(rng.normal(0.3, 0.3, (1, len(own.item))), np.ones(len(own.item)))
    types, shares = fits.mixtures[0]
    taken = own.takes(own.choices_of(types))
    assert {tuple(row) for row in taken} <= {tuple(row) for row in takes.astype(float)}
    assert shares @ taken == pytest.approx(fits.fitted[0], abs=1e-12)
    assert (own.takes(own.choices_of(types), slice(2, 5)) == taken[:, 2:5]).all()
    point = own.inner_point()
    assert np.bincount(own.menu, point) == pytest.approx(np.ones(4))
    assert point.min() > 0
    array = own.to_array(point)
    assert (np.isnan(array) == ~MENUS).all()
    assert array[own.menu, own.item] == pytest.approx(point)
    everywhere = rf.Lattice(4).from_internal(own.to_lattice(point))
    masks = MENUS @ (1 << np.arange(4))
    assert everywhere[masks] == pytest.approx(np.nan_to_num(array))
    assert not np.delete(everywhere, masks, axis=0).any()


def test_what_was_not_recorded_is_a_cell_of_the_graph():
    recorded = MENUS.copy()
    recorded[3] = [True, False, False, False]
    cells = Cells(MENUS, recorded)
    own = Projector(cells, remainders=True)
    assert own.geometry.route == "graph"  # four items, but the lattice does not have such a cell
    assert own.item.tolist() == [0, 1, 1, 2, 0, 1, 2, 0, -1]
    assert np.isnan(own.to_array(np.arange(9.0))[3, 1:]).all()
    everywhere = rf.Lattice(4).from_internal(own.to_lattice(np.arange(9.0)))
    assert everywhere[13].tolist() == [7.0, 0.0, 8.0, 8.0]  # what is said of the remainder is said of each of its items
    without = Projector(cells)
    assert without.geometry.route == "lattice"
    assert without.item.tolist() == [0, 1, 1, 2, 0, 1, 2, 0]


def test_from_the_cone_to_the_simplex():
    cone = Projector(Cells(MENUS), route="graph", cone=True)
    simplex = cone.on_simplex()
    assert (cone.cone, simplex.cone) == (True, False)
    assert simplex.geometry.route == "graph"
    assert simplex.on_simplex() is simplex
    half = np.full((1, len(cone.item)), 0.25)
    ones = np.ones(len(cone.item))
    assert np.bincount(cone.menu, cone.solve(half, ones).fitted[0]).max() < 1
    assert np.bincount(cone.menu, simplex.solve(half, ones).fitted[0]) == pytest.approx(np.ones(4))


def test_routes_are_checked_at_once():
    for route, model, words in (
        ("short", None, "route='short'"),
        ("lattice", rf.SinglePeaked(range(4)), "leave route out"),
        ("bounded", rf.SinglePeaked(range(4)), "leave route out"),
    ):
        with pytest.raises(rf.InputError, match=words):
            Projector(Cells(MENUS), model, route)
