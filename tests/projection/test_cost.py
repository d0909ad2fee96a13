"""What a projection will cost, before anything is solved, and the geometry that goes with it."""

import time
import tracemalloc

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph import GraphTooLargeError
from rumflow.models.open_menus import Limit
from rumflow.projection.cost import find_geometry, find_or_stop
from rumflow.projection.observations import Observations
from rumflow.solvers import routes


def test_cost_is_known_before():
    begin = time.process_time()
    data = rf.simulate.random_menus(20, 50, 8, seed=0)
    cost = rf.estimate_cost(data)
    assert time.process_time() - begin < 300  # compiling included
    fit = rf.project(data)
    assert cost.route == "graph"
    assert (cost.nodes, cost.arcs) == (fit.geometry.n_nodes, fit.geometry.n_arcs)
    assert rf.estimate_cost(data, route="lattice").arcs == 20 << 19


@pytest.mark.parametrize(
    ("data", "route", "nodes"),
    [
        (rf.simulate.dirichlet(10, 0), "lattice", 1 << 10),
        (rf.simulate.random_menus(8, 5, 3, seed=0), "lattice", 1 << 8),
        (rf.simulate.random_menus(30, 8, 5, seed=0), "graph", None),
    ],
)
def test_the_cost_is_that_of_the_geometry(data, route, nodes):
    cost, fit = rf.estimate_cost(data), rf.project(data)
    assert cost.route == fit.geometry.route == route
    assert (cost.nodes, cost.arcs) == (fit.geometry.n_nodes, fit.geometry.n_arcs)
    assert nodes in (None, cost.nodes)
    assert cost.bytes > 0
    assert cost.seconds > 0


def test_larger_samples_cost_more():
    data = [rf.simulate.random_menus(20, 30, 5, draws=draws, seed=0) for draws in (10, 100, 10_000)]
    seconds = [rf.estimate_cost(one).seconds for one in data]
    assert seconds == sorted(seconds)
    assert seconds[0] < seconds[1] < seconds[2]


def itineraries(m, seed):
    """Choices from menus of 5 to 30 of 100 items, one choice each: no two menus alike."""
    rng = np.random.default_rng(seed)
    worth = rng.gumbel(size=100)
    counts = {}
    for _ in range(m):
        menu = np.sort(rng.choice(100, rng.integers(5, 31), replace=False))
        taken = int(menu[np.argmax(worth[menu] + rng.gumbel(size=len(menu)))])
        counts[tuple(menu.tolist())] = {x: int(x == taken) for x in menu.tolist()}
    return rf.ChoiceData.from_counts(counts)


@pytest.mark.parametrize(("m", "seed"), [(12, 1), (12, 2), (13, 0), (13, 1)])
def test_an_estimate_of_itineraries_is_the_work_of_the_solve(m, seed):
    """Within a factor of three: passes over the graph, and 9 ns for each place of an arc in a pass, as was measured."""
    data = itineraries(m, seed)
    cost, fit = rf.estimate_cost(data), rf.project(data)
    assert (cost.route, fit.method, fit.status) == ("graph", "graph", rf.Status.OPTIMAL)
    work = 9e-9 * fit.iterations * fit.geometry.n_places
    assert 1 / 3 < work / cost.seconds < 3
    assert fit.geometry.n_bytes < cost.bytes < 2 * fit.geometry.n_bytes + 1e7


@pytest.mark.parametrize(("last", "step"), [(60, 1), (200, 1), (200, 4)])
def test_an_estimate_of_menus_within_menus_counts_their_types(last, step):
    """A shop that grows: the graph is small, and the active set of many types takes the time."""
    rng = np.random.default_rng(0)
    menus = [np.arange(k) for k in range(2, last, step)]
    shares = [
        np.bincount(np.argmax(rng.gumbel(size=(100, len(m))) - 2 * m / len(m), 1), minlength=len(m)) for m in menus
    ]
    data = rf.ChoiceData.from_counts(
        {
            tuple(m.tolist()): dict(zip(m.tolist(), own.tolist(), strict=True))
            for m, own in zip(menus, shares, strict=True)
        }
    )
    cost, fit = rf.estimate_cost(data), rf.project(data)
    types = len(fit.mixture[1])
    work = 5e-10 * types**3 + 1.4e-7 * types**2 + 9e-9 * fit.iterations * fit.geometry.n_places
    assert 1 / 3 < (8e-4 + work) / cost.seconds < 3
    assert cost.bytes > fit.geometry.n_bytes + 8 * types**2 / 2


def test_itineraries_that_are_too_many_are_said_to_be(monkeypatch):
    monkeypatch.setattr(routes, "ESTIMATE_BYTES", 1e6)
    cost = rf.estimate_cost(itineraries(14, 0))
    assert np.isnan(cost.seconds)
    assert cost.note.startswith("too many to estimate: the graph of these menus has more than")


def test_a_geometry_without_a_table_of_menus():
    """Few items, and arrays without a gap, are for the lattice, whatever the menus."""
    few = Observations(rf.simulate.random_menus(8, 5, 3, seed=0))
    assert find_geometry(few, rf.RandomUtility()).route == "lattice"
    assert find_geometry(few, rf.RandomUtility(), "graph").route == "graph"
    assert find_geometry(few, rf.SinglePeaked(range(8))).route == "graph"
    whole = Observations(rf.simulate.dirichlet(10, 0))
    assert find_geometry(whole, rf.RandomUtility()).route == "lattice"
    assert "cells" not in vars(whole)
    some = Observations(rf.simulate.random_menus(12, 8, 3, seed=0))
    assert find_geometry(some, rf.RandomUtility()).route == "graph"
    assert find_geometry(some, rf.RandomUtility(), method="ipm").route == "lattice"


def test_bounds_only_where_they_are_enough(monkeypatch):
    monkeypatch.setattr(routes, "DEFAULT_LIMIT", Limit(nodes=1000))
    observations = Observations(rf.simulate.random_menus(26, 60, 2, seed=0))
    assert find_geometry(observations, rf.RandomUtility()).route == "bounded"
    with pytest.raises(GraphTooLargeError, match="The answer needs the whole graph: leave out menus or items"):
        find_geometry(observations, rf.RandomUtility(), exact=True)
    with pytest.raises(GraphTooLargeError) as caught:
        find_geometry(observations, rf.RandomUtility(), "graph")
    assert "whole graph" not in str(caught.value)
    assert np.isfinite(caught.value.nodes)


def test_an_estimate_of_many_menus_takes_little_memory():
    masks = np.sort(np.random.default_rng(0).choice(np.arange(3, 1 << 20), 60_000, replace=False))
    member = (masks[(masks & (masks - 1)) != 0][:, None] >> np.arange(20)) & 1 == 1
    counts = np.where(member & (np.cumsum(member, axis=1) == 1), 1.0, 0.0)
    data = rf.ChoiceData(tuple(range(20)), member, counts, np.ones(len(member)))
    tracemalloc.start()
    try:
        cost = rf.estimate_cost(data)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    assert cost.route == "lattice"
    assert not cost.note


@pytest.mark.parametrize("pairs", [[], [(0, 1)]])
def test_an_estimate_of_many_items_makes_no_table_of_items(pairs):
    n = 30_000 if not pairs else 300
    data = rf.simulate.random_menus(n, 2 * n, 2, draws=1, seed=0)
    tracemalloc.start()
    try:
        cost = rf.estimate_cost(data, rf.RandomUtility(pairs))
        assert tracemalloc.get_traced_memory()[1] < 500e6
    finally:
        tracemalloc.stop()
    assert cost.route == "bounded" or cost.note


def test_an_estimate_says_when_there_is_too_much_to_estimate(monkeypatch):
    monkeypatch.setattr(routes, "ESTIMATE_SECONDS", -1.0)
    cost = rf.estimate_cost(rf.simulate.random_menus(30, 60, 3, seed=0))
    assert "too many to estimate" in cost.note
    assert np.isnan(cost.seconds)


def test_after_ctrl_c_a_fit_needs_no_graph(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(routes, "GraphGeometry", interrupt)
    observations = Observations(rf.simulate.random_menus(12, 20, 3, seed=0))
    geometry, built = find_or_stop(observations, rf.RandomUtility(), None)
    assert geometry.route == "bounded"
    assert not built
    with pytest.raises(KeyboardInterrupt):
        find_or_stop(observations, rf.SinglePeaked(range(12)), None)
