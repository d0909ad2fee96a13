"""The graph of open menus has the nodes of its plain twin, many words of menus, and a limit."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumflow.core.compile import clock
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.core.preferences import NOTHING_KNOWN, close_pairs
from rumflow.models import open_menus as open_menus_module
from rumflow.models.open_menus import Limit
from rumflow.models.random_utility import RandomUtility
from tests.reference.graphs import open_menus, random_cells


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 7), st.booleans())
def test_open_menus_has_the_nodes_of_its_twin(seed, n, m, known):
    rng = np.random.default_rng(seed)
    cells = random_cells(rng, n, m, size=0.35)
    above = [(0, 1), (1, 2)] if known and n > 2 else []
    graph = RandomUtility(above).geometry(cells)
    nodes, arcs = open_menus(cells, above)
    assert (graph.n_nodes, graph.n_arcs) == (len(nodes), arcs)


def test_many_menus_take_many_words():
    rng = np.random.default_rng(5)
    cells = random_cells(rng, 9, 150, size=0.5)
    graph = RandomUtility().geometry(cells)
    nodes, arcs = open_menus(cells)
    assert (graph.n_nodes, graph.n_arcs) == (len(nodes), arcs)


def test_a_graph_that_is_too_large_says_how_far_it_got():
    rng = np.random.default_rng(0)
    member = np.zeros((79, 27), bool)
    for row in member:
        row[rng.choice(27, 2, replace=False)] = True
    cells = Cells(member)
    with pytest.raises(GraphTooLargeError, match="larger than 50,000 nodes") as found:
        RandomUtility().geometry(cells, Limit(nodes=50_000))
    assert found.value.nodes > 50_000
    assert found.value.arcs > found.value.done > 0
    with pytest.raises(GraphTooLargeError, match="larger than 5 MiB"):
        RandomUtility().geometry(cells, Limit(bytes=5 * 2**20))
    assert not found.value.late
    with pytest.raises(GraphTooLargeError, match="larger than can be built in the time that is left") as found:
        RandomUtility().geometry(cells, Limit(deadline=clock()))
    assert found.value.late


def large(n, m, seed=0):
    """The masks of so many menus, all different."""
    masks = np.sort(np.random.default_rng(seed).choice(np.arange(3, 1 << n), m, replace=False))
    masks = masks[masks & (masks - 1) != 0]
    return Cells((masks[:, None] >> np.arange(n)) & 1 == 1)


def test_many_menus_take_no_table_of_pairs_of_menus():
    """Links from menu to menu would take 400 MB here, and 1.6 GB while they are made."""
    cells = large(16, 20_000)
    tracemalloc.start()
    try:
        with pytest.raises(GraphTooLargeError, match="larger than 25,000 nodes"):
            RandomUtility().geometry(cells, Limit(nodes=25_000))
        assert tracemalloc.get_traced_memory()[1] < 250e6
    finally:
        tracemalloc.stop()


def test_more_menus_than_nodes_are_refused_before_anything_is_made():
    cells = large(14, 3000)
    for limit, words in ((Limit(nodes=2000), "larger than 2,000 nodes"), (Limit(bytes=1e6), "larger than 1 MiB")):
        with pytest.raises(GraphTooLargeError, match=words) as found:
            RandomUtility().geometry(cells, limit)
        assert found.value.done == 0
        assert found.value.nodes == len(cells)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 12), st.sampled_from([0.2, 0.35, 0.6]))
def test_every_menu_has_a_node(seed, n, m, size):
    """What the refusal stands on: without known preferences there are more nodes than menus."""
    cells = random_cells(np.random.default_rng(seed), n, m, size=size)
    if len({tuple(row) for row in cells.membership}) == len(cells):
        assert RandomUtility().geometry(cells).n_nodes > len(cells)


def test_steps_between_checks_make_the_same_graph(monkeypatch):
    cells = random_cells(np.random.default_rng(2), 9, 30, size=0.4)
    whole = RandomUtility().geometry(cells)
    monkeypatch.setattr(open_menus_module, "_WORDS_A_CALL", 1)
    pieces = RandomUtility().geometry(cells)
    assert all(np.array_equal(a, b) for a, b in zip(whole, pieces, strict=True))


def test_tables_that_take_longer_than_the_time_that_is_left_are_not_begun():
    """3,000 pairs of 3,001 items in a chain: tables of hundreds of megabytes, which a tenth of a second does not fill."""
    m = 3000
    first = np.arange(m, dtype=np.int32)
    pairs = Menus(2 * np.arange(m + 1), np.stack([first, first + 1], axis=1).reshape(-1), m + 1)
    tracemalloc.start()
    with pytest.raises(GraphTooLargeError, match="in the time that is left") as caught:
        RandomUtility().geometry(Cells.of_menus(pairs), Limit(deadline=clock() + 0.1))
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()
    assert caught.value.late


def test_menus_that_block_an_item_have_one_that_everybody_prefers():
    cells = random_cells(np.random.default_rng(0), 7, 100, partly=False)
    known = close_pairs(np.array([(0, 3), (3, 5), (6, 5), (1, 2)]), 7)
    words = open_menus_module._menu_words(cells, np.arange(7), known)
    member, above = cells.membership.T, known.table(7)
    blocking = np.array([member[above[:, x]].any(axis=0) for x in range(7)])
    near = np.array([member[above[:, x] | above[x] | (np.arange(7) == x)].any(axis=0) for x in range(7)])
    np.testing.assert_array_equal(words.blocking, open_menus_module.as_words(blocking))
    np.testing.assert_array_equal(words.near, open_menus_module.as_words(near))


def test_menus_become_words_without_a_table_of_truth_values():
    cells = random_cells(np.random.default_rng(0), 7, 100, partly=False)
    items = np.unique(cells.offered.item).astype(np.int64)
    words = open_menus_module._menu_words(cells, items, NOTHING_KNOWN)
    np.testing.assert_array_equal(words.having, open_menus_module.as_words(cells.membership[:, items].T))
