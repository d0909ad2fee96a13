"""Random utility, with and without known preferences: its types are those of the rankings that respect them."""

import pickle

import numpy as np
import pytest

from rumflow.core import memory
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.errors import InputError
from rumflow.models.random_utility import RandomUtility
from tests.reference.graphs import orders, random_cells, respects, type_of_order, types_of


@pytest.mark.parametrize("above", [[], [(0, 1)], [(2, 0), (0, 3)]])
@pytest.mark.parametrize("partly", [False, True])
def test_types_are_those_of_all_rankings_that_respect_the_preferences(above, partly):
    for seed in range(4):
        cells = random_cells(np.random.default_rng(seed), 4, 3, partly)
        expected = {type_of_order(cells, order) for order in orders(4, respects(above))}
        assert types_of(RandomUtility(above).geometry(cells)) == expected


@pytest.mark.parametrize("seed", range(30))
def test_parts_are_menus_that_items_or_preferences_link(seed):
    """The plain twin joins two groups as long as a menu of one is linked with a menu of the other."""
    rng = np.random.default_rng(seed)
    n, m = 12, 6
    menus = [frozenset(rng.choice(n, 2, replace=False).tolist()) for _ in range(m)]
    ranks = rng.permutation(n)
    pairs = [(a, b) for a, b in rng.integers(n, size=(seed % 5, 2)).tolist() if ranks[a] < ranks[b]]
    model = RandomUtility(pairs)
    above = model.preferences(tuple(range(n)))
    linked = [
        [bool(one & two) or any(above[a, b] or above[b, a] for a in one for b in two) for two in menus] for one in menus
    ]
    groups = [{j} for j in range(m)]
    while joined := next(
        ((g, h) for g in groups for h in groups if g is not h and any(linked[i][j] for i in g for j in h)), None
    ):
        groups = [g for g in groups if g not in joined] + [joined[0] | joined[1]]
    cells = Cells([[x in menu for x in range(n)] for menu in menus])
    assert [part.tolist() for part in model.parts(cells)] == sorted(sorted(group) for group in groups)


def test_preferences_that_follow_from_others():
    above = RandomUtility([("a", "b"), ("b", "c"), ("c", "d"), ("e", "c")]).preferences(tuple("abcdef"))
    found = {"abcdef"[a] + "abcdef"[b] for a, b in np.argwhere(above)}
    assert found == {"ab", "bc", "cd", "ec", "ac", "ad", "bd", "ed"}


def test_no_preferences_take_no_table():
    items = tuple(range(200_000))
    assert RandomUtility().known(items).over.shape == (0, 0)
    known = RandomUtility([(7, 150_000), (150_000, 3)]).known(items)
    assert known.named.tolist() == [3, 7, 150_000]
    assert known.over.tolist() == [[False, False, False], [True, False, True], [True, False, False]]


def test_a_preference_among_many_items_is_projected_without_a_table():
    """A table of all pairs would take 10 GB, and its closure twice that."""
    cells = Cells.of_menus(Menus(np.array([0, 100_000, 100_002]), np.append(np.arange(100_000), [0, 1]), 100_000))
    model = RandomUtility([(0, 1)])
    assert [part.tolist() for part in model.parts(cells)] == [[0, 1]]
    assert sorted(map(tuple, types_of(model.geometry(cells.part(np.array([1])))))) == [(0,)]


def test_memory_is_asked_for_before_it_is_taken(monkeypatch):
    model = RandomUtility([(x, x + 1) for x in range(2000)])
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000_000)
    with pytest.raises(InputError, match="known preferences among 2,001 items needs about 122 MiB"):
        model.known(tuple(range(2001)))
    with pytest.raises(InputError, match="a table of all pairs of 100,000 items"):
        RandomUtility([(0, 1)]).preferences(tuple(range(100_000)))


def test_what_follows_is_computed_once():
    model = RandomUtility([("a", "b"), ("b", "c")])
    assert model.known(tuple("abc")) is model.known(tuple("abc"))
    assert pickle.loads(pickle.dumps(model)) == model


def test_chains_of_pairs_are_one_part():
    n = 3000
    order = np.random.default_rng(0).permutation(n)
    member = np.zeros((n - 1, n), bool)
    member[np.arange(n - 1), order[:-1]] = member[np.arange(n - 1), order[1:]] = True
    parts = RandomUtility().parts(Cells(member))
    assert [part.tolist() for part in parts] == [list(range(n - 1))]
