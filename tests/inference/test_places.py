"""Points and types on the lattice and on the graph."""

from itertools import permutations

import numpy as np
import pytest
from rumflow.inference.places import find_place

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.core.paths import paths_from_orders
from rumflow.inference import places
from tests.reference.examples import FIRST, SECOND


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_points_are_mixed(route):
    place = places.find_place(rf.simulate.random_menus(4, 4, 3, seed=1), None, route)
    inside = place.middle()
    types, weights = place.mixture(inside)
    ends = inside, place.point((types, weights)), place.point((types[:1], np.ones(1)))
    for a, b in permutations(ends, 2):
        mixed = place.mix(a, b, 0.3)
        assert place.rho(mixed) == pytest.approx(0.7 * place.rho(a) + 0.3 * place.rho(b), abs=1e-12)
        assert place.mixture(mixed)[1].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_places_by_hand(route):
    """FIRST has {a}, {a, b} and {b, c}; 60 % rank a, b, c and 40 % c, b, a."""
    place = find_place(FIRST, None, route)
    orders = np.array([[0, 1, 2], [2, 1, 0]])
    mixture = (
        paths_from_orders(orders) if route == "lattice" else Cells(FIRST.membership[1:]).types_of_orders(orders),
        np.array([0.6, 0.4]),
    )
    point = place.point(mixture)
    expected = [[1.0, np.nan, np.nan], [0.6, 0.4, np.nan], [np.nan, 0.6, 0.4]]
    np.testing.assert_allclose(place.gather(place.rho(point)), expected, atol=1e-15)
    uniform = [[1.0, np.nan, np.nan], [0.5, 0.5, np.nan], [np.nan, 0.5, 0.5]]
    np.testing.assert_allclose(place.gather(place.rho(place.middle())), uniform, atol=1e-15)
    quarter = place.mix(point, place.middle(), 0.25)
    np.testing.assert_allclose(place.gather(place.rho(quarter))[1, 0], 0.75 * 0.6 + 0.25 * 0.5, atol=1e-15)
    values = place.spread(FIRST.counts, np.zeros(3))
    assert values.sum() == 12.0  # the nine of {a} leave no choice
    cost = place.spread(np.where(FIRST.membership, [[9, 9, 9], [1, 2, 9], [9, 5, 3]], np.nan), np.zeros(3))
    assert place.cheapest(cost) == 4.0  # a from {a, b} and c from {b, c}
    assert (
        place.cheapest(place.spread(np.where(FIRST.membership, [[0, 0, 0], [1, 2, 0], [0, 3, 8]], np.nan), np.zeros(3)))
        == 4.0
    )
    ranked, weights = place.rankings(point)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights @ (np.argsort(ranked, axis=1)[:, 0] < np.argsort(ranked, axis=1)[:, 1])) == pytest.approx(0.6)
    found, _ = place.project(
        place.spread(np.where(FIRST.membership, 1.0, np.nan), np.zeros(3)), place.rho(point), 1e-12, None
    )
    np.testing.assert_allclose(place.gather(place.rho(found)), expected, atol=1e-5)
    again = place.fresh()
    np.testing.assert_allclose(again.gather(again.rho(again.middle())), uniform, atol=1e-15)
    inside = place.mixture(quarter)
    np.testing.assert_allclose(
        place.gather(place.rho(place.point(inside))), place.gather(place.rho(quarter)), atol=1e-6
    )
    assert place.flow(point).shape == (3, 4)


def test_remainders_have_a_place_on_the_graph_only():
    place = find_place(SECOND, None, None)
    table = place.spread(SECOND.counts, np.array([0.0, 4.0]))
    assert table.tolist() == [[5.0, 15.0, 0.0], [4.0, 2.0, 4.0]]
    with pytest.raises(rf.InputError, match="but no cell on the lattice"):
        find_place(SECOND, None, "lattice")
    # Every way through the graph is as likely: at first a, b or c, then what is left.
    np.testing.assert_allclose(place.rho(place.middle()), [[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]], atol=1e-15)
