"""Graphs from lists of arcs: labels of arcs, and what is refused."""

import numpy as np
import pytest

from rumflow.core.graph_build import build_graph, label_arcs
from rumflow.errors import InputError


def test_labels_hold_the_cells_of_their_arcs():
    rng = np.random.default_rng(2)
    sets = [sorted(rng.choice(20, rng.integers(0, 6), replace=False).tolist()) for _ in range(50)]
    start = np.concatenate([[0], np.cumsum([len(s) for s in sets])])
    label, parent, cell = label_arcs(start, np.array([c for s in sets for c in s]), 20)
    for own, last in zip(sets, label.tolist(), strict=True):
        found, i = [], last
        while i:
            assert parent[i] < i
            found.append(int(cell[i]))
            i = int(parent[i])
        assert found[::-1] == own
    assert len(parent) <= 1 + sum(len(s) for s in sets)


def test_cells_outside_the_table():
    with pytest.raises(InputError, match=r"arc 0 .* cell 9 is not among 0 .. 3"):
        build_graph(2, [(0, 1, [9])], (2, 2))


def test_labels_are_shared_by_arcs_that_begin_alike():
    label, parent, cell = label_arcs(np.array([0, 2, 4, 4, 5]), np.array([3, 5, 3, 6, 4]), 8)
    assert label.tolist() == [3, 4, 0, 2]
    assert parent.tolist() == [0, 0, 0, 1, 1]
    assert cell.tolist() == [0, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("nodes", "arcs", "words"),
    [
        (1, [], "at least 2 nodes, the first and the last, not 1"),
        (2, [(0, 2, [0])], r"arc 0: node 2 is not among 0 .. 1"),
        (2, [(-1, 1, [0])], r"arc 0: node -1 is not among 0 .. 1"),
        (2, [(0, 1, [4])], r"cell 4 is not among 0 .. 3"),
        (2, [(0, 1, [-1])], r"cell -1 is not among 0 .. 3"),
        (2, [(0, 1, [0, 1])], "arc 0 from node 0 to 1 decides menu 0 twice"),
        (2, [(0, 1, [2, 3])], "arc 0 from node 0 to 1 decides menu 1 twice"),
        (3, [(0, 1, [0]), (1, 2, [1, 2])], "arc 1 from node 1 to 2 decides menu 0, which a way to node 1 has decided"),
        (3, [(0, 1, [0]), (0, 1, [2]), (1, 2, [])], r"one way to node 1 decides menu 1, another does not \(arc 1"),
        (2, [(0, 1, [0])], "no path decides menu 1:"),
        (2, [(0, 1, [2])], "no path decides menu 0:"),
        (3, [(0, 2, [0, 2]), (1, 2, [])], "node 1 cannot be reached from node 0"),
        (3, [(0, 2, [0, 2]), (0, 1, [])], "node 1 leads nowhere: no way to node 2"),
        (4, [(0, 1, []), (1, 2, []), (2, 1, []), (2, 3, [0, 2])], "cycle: (1 -> 2 -> 1|2 -> 1 -> 2)"),
    ],
)
def test_what_is_wrong_with_arcs(nodes, arcs, words):
    with pytest.raises(InputError, match=words):
        build_graph(nodes, arcs, (2, 2))
