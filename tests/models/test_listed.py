"""Lists of types: what was not recorded is one cell, equal types are one, and lists that are too long are refused."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.listed import MOST_TYPES, Listed, keep_to, require_few
from rumflow.models.open_menus import Limit
from tests.reference.graphs import random_cells, types_of
from tests.reference.linear import sweep


class Everything(Listed):
    """Takes any place of three from one menu."""

    known_items = ("a", "b", "c")

    def choices(self, cells, limit=None):
        return np.array([[2], [0], [1]], np.int32)


def test_places_become_columns_and_equal_types_one():
    whole = Cells([[True, True, True]])
    partly = Cells([[True, True, True]], [[False, True, False]])
    assert types_of(Everything().geometry(whole)) == {(0,), (1,), (2,)}
    assert types_of(Everything().geometry(partly)) == {(0,), (1,)}


def test_rankings_of_types_are_those_of_the_model():
    """Of a type, one of the directions' rankings that takes the same; items without attributes come last."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5, 2))
    model, every = rf.LinearUtility(dict(enumerate(points))), {tuple(row) for row in sweep(points).tolist()}
    cells = random_cells(rng, 5, 4, True)
    types = model.rows(cells)
    orders = model.orders(cells, types)
    assert {tuple(row) for row in orders.tolist()} <= every
    assert np.array_equal(cells.types_of_orders(orders), types)
    lonely = Cells([[True, True, False], [False, False, True]], None, (0, 1, "z"))
    assert model.orders(lonely, model.rows(lonely))[:, 2].tolist() == [2, 2]
    alone = Cells([[True]], None, ("z",))
    assert model.orders(alone, model.rows(alone)).tolist() == [[0]]


def test_rankings_where_there_are_none():
    cells = Cells([[True, True]], None, ("a", "b"))
    with pytest.raises(InputError, match="linear utility: type 0 is not what anybody takes"):
        rf.LinearUtility({"a": 1, "b": 2}, [1]).orders(cells, np.zeros((1, 1), np.int32))
    by_menu = rf.LinearUtility({(("a", "b"), "a"): 1, (("a", "b"), "b"): 2})
    with pytest.raises(InputError, match="these types have no rankings"):
        by_menu.orders(cells, np.zeros((1, 1), np.int32))


def test_long_lists_are_refused_with_their_number():
    require_few(MOST_TYPES - 2, 10, Limit(bytes=1e12), "a rule", "leave out menus")
    with pytest.raises(
        GraphTooLargeError, match=r"a rule: 1,000,000 types on 10 menus, more than can be listed .1,000,000"
    ):
        require_few(1_000_000, 10, Limit(bytes=1e12), "a rule", "leave out menus")
    with pytest.raises(GraphTooLargeError, match=r"about 5,000 types on 10 menus, more than can be listed .12"):
        require_few(5_000, 10, Limit(bytes=1e4), "a rule", "leave out menus", exact=False)
    with pytest.raises(GraphTooLargeError, match=r"a rule: 1.0e\+20 types"):
        require_few(1e20, 10, Limit(), "a rule", "leave out menus")


def test_time():
    keep_to(Limit(), "a rule")
    with pytest.raises(GraphTooLargeError, match="a rule: the time was over"):
        keep_to(Limit(deadline=-1.0), "a rule")
