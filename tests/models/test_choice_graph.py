"""A graph given by hand as a model, and what is wrong with some."""

import pytest

from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.choice_graph import ChoiceGraph
from tests.reference.graphs import types_of

CELLS = Cells([[True, True, False], [False, True, True]], items=("a", "b", "c"))
AB, BC = 0, 1
GOOD = [(0, 1, [(AB, "a")]), (0, 1, [(AB, "b")]), (1, 2, [(BC, "b")]), (1, 2, [(BC, "c")])]


def test_own_graph():
    graph = ChoiceGraph(3, GOOD).geometry(CELLS)
    assert types_of(graph) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    by_items = [(tail, head, [(("ab", "bc")[menu], item) for menu, item in cells]) for tail, head, cells in GOOD]
    assert types_of(ChoiceGraph(3, by_items).geometry(CELLS)) == types_of(graph)
    # Nodes may be numbered in any order between the first and the last.
    turned = [(0, 2, [(AB, "a")]), (2, 1, []), (1, 3, [(BC, "c")])]
    assert types_of(ChoiceGraph(4, turned).geometry(CELLS)) == {(0, 1)}


@pytest.mark.parametrize(
    ("nodes", "arcs", "message"),
    [
        (1, [], "at least 2 nodes"),
        (4, [*GOOD, (1, 3, []), (3, 1, [])], "cycle: 1 -> 3 -> 1|cycle: 3 -> 1 -> 3"),
        (3, [*GOOD, (1, 0, [])], "cycle"),
        (4, [(t, 3 if h == 2 else h, c) for t, h, c in GOOD] + [(2, 3, [])], "node 2 cannot be reached"),
        (4, [(t, 3 if h == 2 else h, c) for t, h, c in GOOD] + [(0, 2, [])], "node 2 leads nowhere"),
        (3, [*GOOD, (0, 5, [])], "arc 4: node 5"),
        (
            3,
            [*GOOD, (1, 2, [(AB, "a"), (BC, "b")])],
            r"arc 4 from node 1 to 2 decides menu 0 \{a, b\}, which a way to node 1",
        ),
        (3, [*GOOD, (1, 2, [(BC, "b"), (BC, "c")])], r"arc 4 from node 1 to 2 decides menu 1 \{b, c\} twice"),
        (3, [*GOOD, (1, 2, [])], r"one way to node 2 decides menu 1 \{b, c\}, another does not"),
        (3, [(0, 1, []), (1, 2, [(AB, "a")])], r"no path decides menu 1 \{b, c\}"),
        (3, [*GOOD, (1, 2, [(BC, "a")])], r"arc 4: item 'a' is not in menu 1 \{b, c\}"),
        (3, [*GOOD, (1, 2, [(7, "a")])], "arc 4: 7 is none of the 2 observed menus"),
        (3, [*GOOD, (1, 2, [("ac", "a")])], "arc 4: 'ac' is none of the 2 observed menus"),
        (3, [*GOOD, (1, 2, ["b"])], "arc 4: a cell is a pair"),
        (3, [*GOOD, (1, 2)], "arc 4: .from node, to node, cells. is needed"),
    ],
)
def test_what_is_wrong_with_a_graph(nodes, arcs, message):
    with pytest.raises(InputError, match=message):
        ChoiceGraph(nodes, arcs).geometry(CELLS)
