"""Choice graphs against plain twins: sweeps, types, prices, certificates, and the checks of graphs given by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.graphs import (
    arcs_of,
    behaviour,
    cheapest_ways,
    open_menus,
    paths_of,
    random_cells,
    random_tables,
    types_of,
)

from rumflow.core.graph import (
    cells_of_types,
    cheapest_type,
    extract_type,
    follow_type,
    inner_point,
    make_sweep,
    run_sweep,
)
from rumflow.core.graph_build import build_graph, label_arcs
from rumflow.core.graph_cells import Cells
from rumflow.core.graph_certificate import certify_table, certify_types, plain_cheapest
from rumflow.core.problem import Problem
from rumflow.errors import InputError
from rumflow.models.choice_graph import ChoiceGraph
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked

MODELS = {
    "rows": lambda n: RandomUtility(),
    "above": lambda n: RandomUtility([(0, 1)] if n > 1 else []),
    "labels": lambda n: SinglePeaked(range(n)),
}
cases = st.tuples(
    st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5), st.booleans(), st.sampled_from(sorted(MODELS))
)


def make(case):
    seed, n, m, partly, model = case
    rng = np.random.default_rng(seed)
    cells = random_cells(rng, n, m, partly)
    return rng, cells, MODELS[model](n).geometry(cells)


@settings(max_examples=60, deadline=None)
@given(cases)
def test_sweeps_equal_their_twin(case):
    rng, _, graph = make(case)
    cost = rng.normal(size=graph.shape)
    sweep = make_sweep(graph)
    cheapest = run_sweep(graph, cost, sweep)
    above, below, price = cheapest_ways(graph, cost)
    real = graph.head < graph.n_nodes
    assert real.sum() == graph.n_arcs == len(price)
    np.testing.assert_allclose(sweep.price[real], price, atol=1e-12)
    np.testing.assert_allclose(sweep.above[:-1], above, atol=1e-12)
    np.testing.assert_allclose(sweep.below[:-1], below, atol=1e-12)
    assert cheapest == sweep.below[0]
    assert plain_cheapest(graph, cost) == pytest.approx(below[0], abs=1e-12)
    for node in range(graph.n_nodes):
        row = np.full(graph.shape[0], -1, np.int32)
        extract_type(graph, sweep, node, row)
        assert cost[np.arange(len(row)), row].sum() == pytest.approx(above[node] + below[node], abs=1e-12)
    price, row = cheapest_type(graph, cost)
    assert (cost * behaviour(row, graph.shape)).sum() == pytest.approx(price, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(cases)
def test_paths_are_followed_and_others_refused(case):
    rng, cells, graph = make(case)
    types = types_of(graph)
    arcs = np.empty(graph.n_nodes, np.int64)
    for row in types:
        count = follow_type(graph, np.array(row, np.int32), arcs)
        assert count > 0
        nodes = [0, *graph.head[arcs[:count]].tolist()]
        assert nodes[-1] == graph.n_nodes - 1
        assert all(graph.first[u] <= a < graph.first[u + 1] for u, a in zip(nodes, arcs[:count], strict=False))
    for _ in range(10):
        row = rng.integers(0, cells.count)
        assert (follow_type(graph, row.astype(np.int32), arcs) > 0) == (tuple(row.tolist()) in types)


@settings(max_examples=30, deadline=None)
@given(cases)
def test_inner_point_divides_evenly(case):
    _, _, graph = make(case)
    out = {}
    for tail, _, _ in arcs_of(graph):
        out[tail] = out.get(tail, 0) + 1
    expected = np.zeros(graph.shape)
    for path in paths_of(graph):
        chance = np.prod([1 / out[tail] for tail, _, _ in path])
        for _, _, cells in path:
            for menu, column in cells.items():
                expected[menu, column] += chance
    np.testing.assert_allclose(inner_point(graph), expected, atol=1e-12)


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


@pytest.mark.parametrize("model", sorted(MODELS))
def test_same_bits_for_any_number_of_threads(model, monkeypatch):
    monkeypatch.setattr("rumflow.core.graph._THREADED", 1)
    rng = np.random.default_rng(1)
    cells = random_cells(rng, 18, 12)
    graph = MODELS[model](18).geometry(cells)
    cost = rng.normal(size=graph.shape)
    results = []
    for threads in (1, 2, 3):
        sweep = make_sweep(graph)
        run_sweep(graph, cost, sweep, threads)
        results.append(sweep)
    for other in results[1:]:
        real = graph.head < graph.n_nodes
        assert np.array_equal(results[0].price[real], other.price[real])
        for name in ("above", "below", "arc_in", "arc_out", "tail"):
            assert np.array_equal(getattr(results[0], name), getattr(other, name)), name


@pytest.mark.parametrize("cone", [False, True])
@pytest.mark.parametrize("model", sorted(MODELS))
def test_certificate_equals_its_twin(model, cone):
    rng = np.random.default_rng(7)
    for _ in range(5):
        cells = random_cells(rng, 5, 4, partly=True)
        graph = MODELS[model](5).geometry(cells)
        target, weights = random_tables(rng, cells, weighted=True)
        everything = np.array(sorted(types_of(graph)), np.int32)
        types = everything[rng.integers(len(everything), size=3)]
        lam = rng.dirichlet(np.ones(3)) * (1.7 if cone else 1.0)
        rho = sum(w * behaviour(row, graph.shape) for w, row in zip(lam, types, strict=True))
        np.testing.assert_allclose(cells_of_types(types, lam, graph.shape), rho, atol=1e-15)
        g = weights * (rho - target)
        cheapest = min((g * behaviour(row, graph.shape)).sum() for row in everything)
        gap = (g * rho).sum() - cheapest
        if cone:
            eps, used = max(0.0, -cheapest), weights > 0
            gap = (g * rho).sum() + eps * rho[used].sum() + eps**2 / 2 * (1 / weights[used]).sum()
        found = certify_types(graph, (types, lam), Problem(target, weights, cone))
        assert found.objective == pytest.approx(0.5 * (weights * (rho - target) ** 2).sum(), rel=1e-12)
        assert found.gap == pytest.approx(max(gap, 0.0), rel=1e-10)
        assert found.least_flow == lam.min()
        assert found.menu_error <= 1e-15
        assert certify_table(graph, rho, target, weights, cone) == pytest.approx((found.objective, found.gap))


def test_certificate_of_no_types():
    """The vertex of the cone: all probabilities 0, and optimal where the data are below 0."""
    cells = random_cells(np.random.default_rng(3), 4, 3)
    graph = RandomUtility().geometry(cells)
    target, weights = random_tables(np.random.default_rng(4), cells, weighted=True)
    nobody = np.empty((0, graph.shape[0]), np.int32), np.empty(0)
    found = certify_types(graph, nobody, Problem(-np.abs(target), weights, cone=True))
    assert found.objective == pytest.approx(0.5 * (weights * target**2).sum(), rel=1e-12)
    assert found.gap == found.least_flow == found.menu_error == 0.0


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


def test_cells_outside_the_table():
    with pytest.raises(InputError, match=r"arc 0 .* cell 9 is not among 0 .. 3"):
        build_graph(2, [(0, 1, [9])], (2, 2))


def test_cells():
    cells = Cells([[1, 1, 0, 1], [0, 1, 1, 1]], [[1, 0, 0, 1], [0, 1, 1, 1]])
    assert cells.shape == (2, 3)
    assert cells.column.tolist() == [[0, 2, -1, 1], [-1, 0, 1, 2]]
    assert cells.item.tolist() == [[0, 3, -1], [1, 2, 3]]
    array = np.arange(8.0).reshape(2, 4)
    assert cells.to_table(array).tolist() == [[0, 3, 0], [5, 6, 7]]
    back = cells.to_array(cells.to_table(array))
    assert np.array_equal(np.isnan(back), ~cells.recorded)
    assert np.array_equal(back[cells.recorded], array[cells.recorded])
    assert cells.items_of_types(np.array([[2, 0], [1, 2]], np.int32)).tolist() == [[-1, 1], [3, 3]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([True, False],), "a .menus, items. table"),
        (([[True, True], [False, False]],), "menu 1 is empty"),
        (([[True, True]], [[True]]), "recorded: shape"),
        (([[True, False]], [[True, True]], ("x", "y")), r"menu 0 \{x\}: item 'y' is recorded but not in the menu"),
        (([[True, False]], None, ("x",)), "items: 2 labels"),
    ],
)
def test_wrong_cells(arguments, message):
    with pytest.raises(InputError, match=message):
        Cells(*arguments)
