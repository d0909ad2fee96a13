"""Weak orders: paths of the graph against all weak orders, projections against enumeration, blocks, limits."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.models.weak_orders import WeakOrders
from tests.reference.graphs import types_of
from tests.reference.pairs import nearest_mixture, random_pairs, weak_shares

MODEL = rf.WeakOrders()


def tied_cells(a, b, n):
    """Cells of pairs with ties as an outcome, which is the last item."""
    ends = np.sort(np.stack([a, b], axis=1), axis=1)
    ends = ends[np.lexsort((ends[:, 0], ends[:, 1]))]
    items = np.column_stack([ends, np.full(len(ends), n)])
    return Cells.of_menus(Menus(3 * np.arange(len(ends) + 1), items.reshape(-1).astype(np.int32), n + 1), None,
                          (*range(n), rf.TIE)), ends  # fmt: skip


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("share", [0.6, 1.0])
def test_paths_are_the_weak_orders(n, share):
    cells, ends = tied_cells(*random_pairs(np.random.default_rng(n), n, share), n)
    every = {tuple(row.argmax(axis=1).tolist()) for row in weak_shares(*ends.T, n)}
    graph = MODEL.geometry(cells)
    assert {tuple(int(c) for c in row) for row in types_of(graph)} == every
    items = len(np.unique(ends))
    assert graph.n_arcs == 3**items - 2**items


def counted(ends, rng, n):
    """Five draws from each pair."""
    counts = {}
    for a, b in ends.tolist():
        wins = rng.multinomial(5, rng.dirichlet(np.full(3, 0.7))).tolist()
        counts[a, b, rf.TIE] = dict(zip((a, b, rf.TIE), wins, strict=True))
    return rf.ChoiceData.from_counts(counts, items=(rf.TIE, *range(n)))


@pytest.mark.parametrize("seed", range(8))
def test_distances_are_those_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = 3 + seed % 2
    a, b = random_pairs(rng, n, 0.9)
    data = counted(np.sort(np.stack([a, b], axis=1), axis=1), rng, n)
    place = {menu: j for j, menu in enumerate(data.menus)}
    ends = np.array([menu[1:] for menu in place])
    shares = data.shares.reshape(-1, 3)[:, [1, 2, 0]]
    weights = rng.uniform(0.2, 2.0, data.frequencies.shape)
    own = np.take_along_axis(weights, np.column_stack([ends + 1, np.zeros(len(ends), int)]), axis=1)
    types = weak_shares(*ends.T, n).reshape(-1, 3 * len(ends))
    fit = rf.project(data, np.where(np.isnan(data.frequencies), 0, weights), model=MODEL)
    assert fit.distance == pytest.approx(nearest_mixture(shares.reshape(-1), own.reshape(-1), types), abs=1e-6)
    lower = rf.project(data, np.where(np.isnan(data.frequencies), 0, weights), model=rf.TriangleInequalities())
    assert lower.distance <= fit.distance + 1e-7
    if n == 3:
        assert lower.distance == pytest.approx(fit.distance, abs=1e-7)


def test_blocks_have_a_graph_each():
    """Three triangles that share single items, over seven items in all."""
    ends = np.array([(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5), (4, 6), (5, 6)])
    data = counted(ends, np.random.default_rng(1), 7)
    fit = rf.project(data, model=MODEL)
    assert len(fit.geometry.graphs) == 3
    one = rf.Types([[data.items[c] for c in row] for row in _choices(ends, data)])
    assert fit.distance == pytest.approx(rf.project(data, model=one).distance, abs=1e-8)


def _choices(ends, data):
    """What weak orders take from the menus of the data: those of the nine pairs, each once."""
    rows = np.array([menu[1:] for menu in data.menus])
    won = np.unique(weak_shares(*rows.T, 7).argmax(axis=2), axis=0)
    return np.where(won == 2, 0, np.where(won == 0, rows[:, 0], rows[:, 1]) + 1)


def test_the_inner_point_is_one_third_and_fits_are_described():
    cells, _ = tied_cells(*random_pairs(np.random.default_rng(0), 4), 4)
    assert WeakOrders().inner_point(cells) == pytest.approx(1 / 3)
    assert WeakOrders() == MODEL
    assert MODEL.describe() == {"name": "WeakOrders"}


def test_what_is_refused():
    data = rf.simulate.tied_pairs(11, draws=3, seed=0)
    with pytest.raises(rf.InputError, match=r"11 of the items.*TriangleInequalities\(\) takes any number"):
        rf.project(data, model=MODEL)
    assert rf.project(rf.simulate.tied_pairs(30, 12, draws=3, seed=1), model=MODEL).distance < 1
    with pytest.raises(rf.InputError, match="for pairs with ties as an outcome"):
        rf.project(rf.ChoiceData.from_counts({("a", "b"): {"a": 1}}), model=MODEL)
