"""Lattice, graph or bounds: which is taken for which menus, and what it is said to cost."""

import re

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.compile import clock
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.core.patience import limited
from rumflow.models.open_menus import Limit
from rumflow.solvers import routes
from rumflow.solvers.routes import ROUTES, estimate_route, find_route, plan_route


def menus(n, m, size, seed=0):
    return Cells(rf.simulate.random_menus(n, m, size, seed=seed).membership)


def whole(n):
    member = rf.Lattice(n).membership
    return member[member.sum(axis=1) > 1]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (menus(8, 5, 3), "lattice"),  # few items
        (menus(12, 20, 4), "graph"),
        (Cells(whole(9)), "lattice"),  # every menu
        (Cells(whole(10)[::2]), "lattice"),  # nearly as many
        (menus(25, 9, 4), "graph"),  # too many items for the lattice
    ],
)
def test_routes_by_cost(cells, expected):
    cost, geometry = find_route(cells, rf.RandomUtility(), None)
    assert cost.route == geometry.route == expected
    assert (cost.nodes, cost.arcs) == (geometry.n_nodes, geometry.n_arcs)
    assert cost.bytes > 0
    assert cost.seconds > 0
    assert geometry.has_all_menus == (expected == "lattice")
    if expected == "graph" and cells.n_items <= 24:
        assert cost.arcs < cells.n_items << (cells.n_items - 1)


@pytest.mark.parametrize("route", ROUTES)
def test_routes_that_are_asked_for(route):
    model = rf.TriangleInequalities() if route == "inequalities" else rf.RandomUtility()
    cost, geometry = find_route(menus(9, 12, 2 if route == "inequalities" else 3), model, route)
    assert cost.route == geometry.route == route
    assert geometry.exact == (route != "bounded")
    assert geometry.cone is False
    if model.has_types:
        assert find_route(menus(9, 12, 3), model, route, cone=True)[1].cone is True


def test_models_that_are_not_all_rankings_need_a_graph():
    for model in (rf.RandomUtility(above=[(0, 1)]), rf.SinglePeaked(range(5))):
        geometry = find_route(menus(5, 6, 3), model, None)[1]
        assert geometry.route == "graph"
        assert geometry.model is model
    assert find_route(menus(5, 6, 3), rf.RandomUtility(), None, remainders=True)[1].route == "graph"


@pytest.mark.parametrize(
    ("route", "model", "words"),
    [
        ("short", None, "route='short': accepted are None, 'lattice', 'graph', 'bounded'"),
        ("lattice", rf.SinglePeaked(range(9)), "the model, single-peaked preferences, is projected on a graph; leave"),
        ("lattice", rf.RandomUtility(above=[(0, 1)]), "is projected on a graph; leave route out"),
        ("bounded", rf.SinglePeaked(range(9)), "is projected on a graph; leave route out"),
    ],
)
def test_routes_that_do_not_exist(route, model, words):
    with pytest.raises(rf.InputError, match=words):
        find_route(menus(9, 5, 3), model or rf.RandomUtility(), route)


def test_the_lattice_ends_at_24_items():
    with pytest.raises(rf.InputError, match="at most 24 items are possible, not 25"):
        find_route(menus(25, 5, 3), rf.RandomUtility(), "lattice")


def test_where_the_graph_is_too_large(monkeypatch):
    monkeypatch.setattr(routes, "DEFAULT_LIMIT", Limit(nodes=20))
    small, large = menus(12, 30, 3), menus(26, 60, 2)
    plain = rf.RandomUtility()
    assert find_route(small, plain, None)[1].route == "lattice"
    cost, geometry = find_route(large, plain, None)
    assert cost.route == geometry.route == "bounded"
    assert cost.nodes == cost.arcs == 0
    for cells, route, exact in ((large, None, True), (large, "graph", False), (small, "graph", False)):
        with pytest.raises(GraphTooLargeError, match="larger than 20 nodes"):
            find_route(cells, plain, route, exact=exact)
    with pytest.raises(rf.InputError, match="this call needs an exact fit; omit route"):
        find_route(small, plain, "bounded", exact=True)


def test_few_items_are_for_the_lattice_before_a_graph_is_built(monkeypatch):
    def build(*_, **__):
        raise AssertionError("a graph was built")

    monkeypatch.setattr(routes, "GraphGeometry", build)
    assert find_route(menus(8, 5, 3), rf.RandomUtility(), None)[1].route == "lattice"
    monkeypatch.setattr(routes, "FEW_ITEMS", 7)
    with pytest.raises(AssertionError, match="a graph was built"):
        find_route(menus(8, 5, 3), rf.RandomUtility(), None)


def many(n, m):
    """So many menus of n items, all different."""
    masks = np.sort(np.random.default_rng(0).choice(np.arange(3, 1 << n), m, replace=False))
    masks = masks[masks & (masks - 1) != 0]
    return Cells((masks[:, None] >> np.arange(n)) & 1 == 1)


@pytest.mark.parametrize(("n", "m"), [(20, 60_000), (22, 20_000), (24, 70_000)])
def test_many_menus_go_to_the_lattice_at_once(monkeypatch, n, m):
    def build(*_, **__):
        raise AssertionError("a graph was built")

    monkeypatch.setattr(routes, "GraphGeometry", build)
    cells = many(n, m)
    assert plan_route(cells, rf.RandomUtility(), None, False, False) == (None, "lattice")
    assert estimate_route(cells, rf.RandomUtility(), None).route == "lattice"


def test_a_graph_may_take_half_of_the_time_where_there_is_another_way():
    small, large, late = menus(12, 30, 3), menus(26, 60, 2), clock() - 1
    plain = rf.RandomUtility()
    assert find_route(small, plain, None, deadline=late)[1].route == "lattice"
    assert find_route(large, plain, None, deadline=late)[1].route == "bounded"
    middle = menus(24, 44, 4)  # a lattice of 24 items takes minutes
    assert find_route(middle, plain, None, deadline=late)[1].route == "bounded"
    with pytest.raises(GraphTooLargeError, match="in the time that is left of max_seconds"), limited(late):
        find_route(middle, plain, None, exact=True)
    for cells, route, exact in ((large, None, True), (large, "graph", False), (small, "graph", False)):
        with pytest.raises(GraphTooLargeError, match="in the time that is left of max_seconds") as found:
            find_route(cells, plain, route, exact=exact, deadline=late)
        assert found.value.late


def test_estimates_that_would_take_too_long_say_so(monkeypatch):
    monkeypatch.setattr(routes, "ESTIMATE_SECONDS", -1.0)
    plain = rf.RandomUtility()
    for cells, words in (
        (menus(12, 30, 3), "the lattice is taken"),
        (menus(26, 60, 2), r"bounds are computed \(route"),
    ):
        cost = estimate_route(cells, plain, None)
        assert cost.route == "graph"
        assert np.isnan(cost.seconds)
        assert cost.note.startswith("too many to estimate: the graph of these menus has more than")
        assert re.search(words, cost.note)
    assert "where it is too large" not in estimate_route(menus(12, 30, 3), plain, "graph").note
    monkeypatch.undo()
    monkeypatch.setattr(routes, "ESTIMATE_BYTES", 1e4)
    assert estimate_route(menus(26, 40, 3), plain, None).note
    monkeypatch.setattr(routes, "DEFAULT_LIMIT", Limit(nodes=20))
    assert estimate_route(menus(26, 60, 2), plain, None) == find_route(menus(26, 60, 2), plain, None)[0]


def test_places_of_arcs_count():
    """Small menus of many items leave most places of a node empty, and a sweep passes over them."""
    cost, graph = find_route(menus(60, 14, 3), rf.RandomUtility(), None)
    assert graph.n_places > 2 * graph.n_arcs == 2 * cost.arcs
    assert cost.seconds > 2.1e-7 * graph.n_places
