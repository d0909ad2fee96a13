"""Certificates on choice graphs against a plain twin."""

import numpy as np
import pytest

from rumflow.core.graph import cells_of_types, prices_by_item
from rumflow.core.graph_certificate import certify_types, plain_cheapest, price_nodes
from rumflow.core.patience import OutOfTimeError
from rumflow.core.problem import Problem
from rumflow.models.random_utility import RandomUtility
from tests.reference.graph_models import MODELS
from tests.reference.graphs import behaviour, random_cells, random_tables, types_of


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


def test_certificate_of_no_types():
    """The vertex of the cone: all probabilities 0, and optimal where the data are below 0."""
    cells = random_cells(np.random.default_rng(3), 4, 3)
    graph = RandomUtility().geometry(cells)
    target, weights = random_tables(np.random.default_rng(4), cells, weighted=True)
    nobody = np.empty((0, graph.shape[0]), np.int32), np.empty(0)
    found = certify_types(graph, nobody, Problem(-np.abs(target), weights, cone=True))
    assert found.objective == pytest.approx(0.5 * (weights * target**2).sum(), rel=1e-12)
    assert found.gap == found.least_flow == found.menu_error == 0.0


@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_pass_in_pieces_is_a_pass(model):
    rng = np.random.default_rng(5)
    cells = random_cells(rng, 5, 4, partly=True)
    graph = MODELS[model](5).geometry(cells)
    cost = rng.normal(size=graph.shape)
    prices = prices_by_item(graph.column, cost) if len(graph.base) else cost
    for most in (1, 2, 7):
        below = np.full(graph.n_nodes + 1, np.inf)
        below[graph.n_nodes - 1] = 0.0
        node, pieces = graph.n_nodes - 2, 0
        while node >= 0:
            before, node, pieces = node, price_nodes(graph, prices, below, node, most), pieces + 1
            assert node < before
        assert pieces > 1
        assert below[0] == plain_cheapest(graph, cost)


def test_a_pass_that_is_ended_leaves_the_objective_as_gap(monkeypatch):
    monkeypatch.setattr("rumflow.core.graph_certificate._ARCS_A_LOOK", 3)
    cells = random_cells(np.random.default_rng(3), 4, 3)
    graph = RandomUtility().geometry(cells)
    problem = Problem(*random_tables(np.random.default_rng(4), cells, weighted=True), False)
    someone = np.array(sorted(types_of(graph))[:1], np.int32), np.ones(1)

    def look():
        raise OutOfTimeError("the time is up")

    whole, ended = certify_types(graph, someone, problem), certify_types(graph, someone, problem, look)
    assert ended.gap == ended.objective == whole.objective
    assert whole.gap != whole.objective
