"""What a projection will cost, before anything is solved, and the geometry that goes with it."""

import time

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph import GraphTooLargeError
from rumflow.models.open_menus import Limit
from rumflow.projection.cost import find_geometry
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
