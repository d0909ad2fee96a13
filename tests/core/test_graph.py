"""Choice graphs against plain twins and by hand: sweeps, types, prices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumflow import RandomUtility, SinglePeaked
from rumflow.core import graph
from rumflow.core.graph import cheapest_type, extract_type, follow_type, inner_point, make_sweep, run_sweep
from rumflow.core.graph_build import build_graph
from rumflow.core.graph_cells import Cells
from rumflow.core.graph_certificate import plain_cheapest
from tests.reference.graph_models import MODELS
from tests.reference.graphs import arcs_of, behaviour, cheapest_ways, paths_of, random_cells, types_of

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


@pytest.mark.parametrize("model", [RandomUtility(), SinglePeaked(range(20))])
def test_prices_of_twenty_items_in_pieces(model, monkeypatch):
    monkeypatch.setattr(graph, "_THREADED", 1)
    rng = np.random.default_rng(0)
    menus = np.zeros((3, 20), bool)
    menus[0, [0, 5, 17]] = menus[1, [5, 18, 19]] = menus[2, [0, 19]] = True
    cells = Cells(menus)
    own = model.geometry(cells)
    cost = rng.integers(-9, 10, own.shape).astype(float)
    types = [tuple(row) for row in cells.types_of_orders(np.array([rng.permutation(20) for _ in range(300)])).tolist()]
    sweeps = []
    for count in (1, 2, 3):
        sweep = graph.make_sweep(own)
        price = graph.run_sweep(own, cost, sweep, count)
        real = own.head < own.n_nodes
        sweeps.append((price, sweep.price[real].tolist(), sweep.above[:-1].tolist(), sweep.below[:-1].tolist()))
    assert sweeps[0] == sweeps[1] == sweeps[2]
    if isinstance(model, RandomUtility):
        assert sweeps[0][0] == min(sum(cost[j, c] for j, c in enumerate(row)) for row in types)
    for count in (1, 2):
        down = graph.make_sweep(own)
        assert graph.run_sweep(own, cost, down, count, up=False) == sweeps[0][0]
        assert np.isinf(down.above).all()


def test_a_choice_graph_by_hand():
    """Two menus of two cells each, decided one after the other; the second way to node 1 fills the same cells."""
    arcs = [(0, 1, [0]), (0, 1, [1]), (1, 2, [2]), (1, 2, [3])]
    own = build_graph(3, arcs, (2, 2))
    assert (own.n_nodes, own.n_arcs) == (3, 4)
    assert own.first.tolist() == [0, 2, 4, 4]
    assert own.head.tolist() == [1, 1, 2, 2]
    assert own.label.tolist() == [1, 2, 3, 4]
    assert own.parent.tolist() == [0] * 5
    assert own.cell.tolist() == [0, 0, 1, 2, 3]
    arrays = [np.asarray(a).nbytes for a in own[2:]]
    assert own.n_bytes == sum(arrays) + 8 * (5 + 4) + 28 * 3
    cost = np.array([[3.0, 1.0], [2.0, 5.0]])
    price, row = graph.cheapest_type(own, cost)
    assert (price, row.tolist()) == (3.0, [1, 0])
    assert graph.inner_point(own).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert graph.cells_of_types(np.array([[1, 0], [1, 1]]), np.array([0.25, 0.5]), (2, 2)).tolist() == [
        [0, 0.75],
        [0.25, 0.5],
    ]
    found = np.full(3, -7)
    assert graph.follow_type(own, np.array([1, 1], np.int32), found) == 2
    assert found.tolist() == [1, 3, -7]
    assert graph.follow_type(own, np.array([1, 5], np.int32), found) == -1
