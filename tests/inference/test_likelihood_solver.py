"""Cells, steps and remainders of the likelihood, by hand; the maximum itself is tried in `test_likelihood.py`."""

from itertools import pairwise

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.core.paths import paths_from_orders
from rumflow.core.problem import Stop
from rumflow.inference.likelihood_solver import CountedCells, State, maximise, remainders
from rumflow.solvers.geometry import Keep, SolveOptions
from tests.reference.examples import FIRST, SECOND

PARTLY = rf.ChoiceData(
    ("a", "b", "c"),
    np.array([[True, True, False], [True, True, True]]),
    np.array([[6.0, 4.0, np.nan], [3.0, np.nan, np.nan]]),
    np.array([10.0, 8.0]),
)


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_cells_by_hand(route):
    """FIRST has {a}, {a, b} and {b, c}; 60 % rank a, b, c and 40 % c, b, a."""
    cells = CountedCells(FIRST, None, route)
    own = cells.geometry
    assert own.route == route
    orders = np.array([[0, 1, 2], [2, 1, 0]])
    types = paths_from_orders(orders) if route == "lattice" else Cells(FIRST.membership[1:]).types_of_orders(orders)
    point = own.point_of((types, np.array([0.6, 0.4])))
    expected = [1.0, 0.6, 0.4, 0.6, 0.4]
    np.testing.assert_allclose(cells.gather(own.rho(point)), expected, atol=1e-15)
    uniform = [1.0, 0.5, 0.5, 0.5, 0.5]
    np.testing.assert_allclose(cells.gather(own.rho(own.middle())), uniform, atol=1e-15)
    values = cells.spread(FIRST.count, np.zeros(3))
    assert values.sum() == 12.0  # the nine of {a} leave no choice
    cost = cells.spread(np.array([9.0, 1, 2, 5, 3]), np.zeros(3))
    assert own.cheapest(cost) == 4.0  # a from {a, b} and c from {b, c}
    cost = cells.spread(np.array([0.0, 1, 2, 3, 8]), np.zeros(3))
    assert own.cheapest(cost) == 4.0
    weights = cells.spread(np.ones(5), np.zeros(3))
    fits = own.weighted(weights).solve(
        own.rho(point)[None], Stop(1e-12, 1e-12), options=SolveOptions(keep=Keep.MIXTURES)
    )
    np.testing.assert_allclose(cells.gather(own.rho(own.point(fits))), expected, atol=1e-5)


def test_remainders_have_a_cell_on_the_graph_only():
    cells = CountedCells(SECOND, None, None)
    table = cells.spread(SECOND.count, np.array([0.0, 4.0]))
    assert table.tolist() == [[5.0, 15.0, 0.0], [4.0, 2.0, 4.0]]
    with pytest.raises(rf.InputError, match="which the lattice does not have"):
        CountedCells(SECOND, None, "lattice")
    # Every way through the graph is as likely: at first a, b or c, then what is left.
    rho = cells.geometry.rho(cells.geometry.middle())
    np.testing.assert_allclose(rho, [[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]], atol=1e-15)


def test_what_was_not_recorded():
    assert remainders(PARTLY).tolist() == [0.0, 5.0]
    complete = rf.ChoiceData(("a", "b"), np.array([[True, True]]), np.array([[6.0, 3.0]]), np.array([10.0]))
    assert remainders(complete).tolist() == [0.0]
    tiny = rf.ChoiceData(PARTLY.items, PARTLY.membership, PARTLY.counts, np.array([10.0, 3.0 + 1e-9]))
    assert remainders(tiny).tolist() == [0.0, 0.0]
    small = rf.ChoiceData(PARTLY.items, PARTLY.membership, PARTLY.counts, np.array([10.0, 3.0 + 1e-6]))
    assert remainders(small)[1] == pytest.approx(1e-6)
    whole = rf.ChoiceData(PARTLY.items, PARTLY.membership, 1e11 * PARTLY.counts, np.array([1e12, 3e11 + 2]))
    assert remainders(whole).tolist() == [0.0, 2.0]


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_the_likelihood_at_the_middle(route):
    """From {a, b} 24 and 16, from {a, b, c} 50, 30, 20: uniform chances at first."""
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 24, "b": 16}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    state = State(data, CountedCells(data, None, route), 1e-6)
    assert state.value == pytest.approx(40 * np.log(1 / 2) + 100 * np.log(1 / 3))
    saturated = sum(k * np.log(p) for k, p in ((24, 0.6), (16, 0.4), (50, 0.5), (30, 0.3), (20, 0.2)))
    assert state.saturated == pytest.approx(saturated)
    assert state.total == 140.0
    # The dearest ranking: a first earns 2 * 24 + 3 * 50 of the prices count / rho.
    assert state.certify() == pytest.approx(2 * 24 + 3 * 50 - 140)
    assert state.loglik(np.zeros_like(state.rho)) == -np.inf
    assert state.rounds == 0
    state.move(state.sizes, state.observed, 1e-12)
    assert state.rounds == 1
    assert state.value == pytest.approx(saturated, abs=1e-6)  # the frequencies are those of a model
    assert state.certify() <= 1e-4


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_a_type_that_only_a_small_cell_needs(route):
    """Beside a million choices of a before b before c: one of c from {a, b, c}. The first types do not take it."""
    menus = {("a", "b"): {"a": 10**6, "b": 0}, ("a", "b", "c"): {"a": 10**6, "b": 0, "c": 1}}
    data = rf.ChoiceData.from_counts(menus)
    cells = CountedCells(data, None, route)
    state = State(data, cells, 1e-6)
    order = np.array([[0, 1, 2]])
    types = paths_from_orders(order) if route == "lattice" else Cells(data.membership).types_of_orders(order)
    state.mixture = types, np.ones(1)
    taken = cells.takes(types)
    assert state.counts.reshape(-1)[taken].tolist() == [[10**6, 10**6]]
    assert state.enter()
    assert state.rounds == 1
    assert state.certify() <= 1e-6
    # {a, b}: c before a before b leaves a. So only {a, b, c} has a choice to explain, and its frequencies are rational.
    assert state.value == pytest.approx(10**6 * np.log(10**6 / (10**6 + 1)) - np.log(10**6 + 1), abs=1e-9)


def test_the_best_point_is_kept_when_time_is_over():
    rng = np.random.default_rng(0)
    inside = rf.Lattice(4).membership[3:]
    inside = inside[inside.sum(axis=1) > 1]
    counts = np.where(inside, np.floor(10 ** rng.uniform(0, 9, inside.shape)), np.nan)
    data = rf.ChoiceData(tuple("abcd"), inside, counts, np.nansum(counts, axis=1))
    cells = CountedCells(data, None, None)
    gaps = [maximise(data, cells, 1e-6, most=most).gap for most in range(12)]
    assert all(later <= earlier for earlier, later in pairwise(gaps))
