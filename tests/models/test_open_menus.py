"""The graph of open menus has the nodes of its plain twin, many words of menus, and a limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumflow.core.compile import clock
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
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
