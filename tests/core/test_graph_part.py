"""Sweeps over a part of a graph against plain twins: the same ways where the part holds them, none that the graph has not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumflow.core.graph import extract_type, make_sweep, run_sweep
from rumflow.core.graph_part import make_part, sweep_part
from tests.reference.graph_models import MODELS
from tests.reference.graphs import arcs_of, cheapest_ways, random_cells, types_of

cases = st.tuples(
    st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 5), st.booleans(), st.sampled_from(sorted(MODELS))
)


def ways_over(graph, part, cost):
    """Cheapest ways to and from every node over the arcs of a part, arc by arc."""
    _, _, price = cheapest_ways(graph, cost)
    real = np.flatnonzero(graph.head < graph.n_nodes)
    kept = set(part.arcs.tolist())
    below, above = np.full(graph.n_nodes, np.inf), np.full(graph.n_nodes, np.inf)
    above[0] = below[-1] = 0.0
    arcs = [
        (tail, head, price[i])
        for i, (arc, (tail, head, _)) in enumerate(zip(real.tolist(), arcs_of(graph), strict=True))
        if arc in kept
    ]
    for tail, head, own in arcs:
        above[head] = min(above[head], above[tail] + own)
    for tail, head, own in reversed(arcs):
        below[tail] = min(below[tail], own + below[head])
    return above, below


@settings(max_examples=60, deadline=None)
@given(cases, st.floats(0.0, 1.0))
def test_sweeps_over_a_part_equal_their_twin(case, share):
    seed, n, m, partly, model = case
    rng = np.random.default_rng(seed)
    cells = random_cells(rng, n, m, partly)
    graph = MODELS[model](n).geometry(cells)
    cost = rng.normal(size=graph.shape)
    sweep = make_sweep(graph)
    cheapest = run_sweep(graph, cost, sweep)
    through = sweep.above[:-1] + sweep.below[:-1]
    limit = cheapest + share * (through[np.isfinite(through)].max() - cheapest) + 1e-9
    part = make_part(graph, sweep, limit)
    # Every type up to that price leads over the part: at the same prices nothing is lost.
    near = through <= limit
    assert sweep_part(graph, part, cost, sweep) == pytest.approx(cheapest, abs=1e-12)
    np.testing.assert_allclose((sweep.above + sweep.below)[:-1][near], through[near], atol=1e-12)
    # At others: the cheapest ways over the part's own arcs.
    cost = rng.normal(size=graph.shape)
    found = sweep_part(graph, part, cost, sweep)
    above, below = ways_over(graph, part, cost)
    assert found == sweep.below[0] == pytest.approx(below[0], abs=1e-12)
    both = np.isfinite(above) & np.isfinite(below)
    np.testing.assert_allclose((sweep.above + sweep.below)[:-1], np.where(both, above + below, np.inf), atol=1e-12)
    types = types_of(graph)
    for node in np.flatnonzero(both):
        row = np.full(graph.shape[0], -1, np.int32)
        extract_type(graph, sweep, node, row)
        assert tuple(row.tolist()) in types
        assert cost[np.arange(len(row)), row].sum() == pytest.approx(above[node] + below[node], abs=1e-12)


def test_a_part_without_a_way_says_so():
    rng = np.random.default_rng(0)
    graph = MODELS["rows"](4).geometry(random_cells(rng, 4, 4, False))
    sweep = make_sweep(graph)
    cost = rng.normal(size=graph.shape)
    cheapest = run_sweep(graph, cost, sweep)
    part = make_part(graph, sweep, cheapest - 1.0)
    assert part.nodes.tolist() == [0, graph.n_nodes - 1]
    assert sweep_part(graph, part, cost, sweep) == np.inf
    assert np.isinf((sweep.above + sweep.below)[:-1]).all()
