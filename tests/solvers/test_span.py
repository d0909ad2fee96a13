"""Types that span a face, where the active ones are too few: the kernels and the search, against enumeration."""

from itertools import permutations

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph import make_sweep, run_sweep
from rumflow.core.problem import Problem as Projection
from rumflow.solvers import span
from rumflow.solvers.active_set.kernels import start_from
from rumflow.solvers.active_set.on_graph import make_graph_problem
from rumflow.solvers.active_set.on_lattice import LatticePrices, make_problem
from rumflow.solvers.active_set.solve import Workspace
from rumflow.solvers.batch.kernels import complete_face
from rumflow.solvers.small.solve import begin_small
from rumflow.solvers.small.workspace import make_small, make_workspace
from rumflow.solvers.tangent import tangent_types
from tests.reference import lattice as reference
from tests.reference.graphs import arcs_of, cheapest_ways, random_cells, types_of

FORMS = {"compiled": lambda function: function, "plain": lambda function: function.py_func}


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


def prices(shape, used, rng):
    """Prices with many ties, so that many types are cheapest."""
    return np.where(used, rng.integers(0, 3, shape) * (rng.random(shape) < 0.5), 0.0)


def rank(rows):
    return int(np.linalg.matrix_rank(rows - rows[0], tol=1e-8))


MODELS = [rf.RandomUtility(), rf.RandomUtility([(0, 2)]), rf.SinglePeaked([1, 3, 0, 2, 4])]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_the_face_of_a_graph(model, seed):
    rng = np.random.default_rng(seed)
    cells = random_cells(rng, 5, 6)
    graph = model.geometry(cells)
    types = np.array(sorted(types_of(graph)), np.int32)
    weights = cells.to_table(rng.uniform(0.5, 2.0, cells.membership.shape) * (rng.random(cells.membership.shape) < 0.8))
    cost = prices(cells.shape, weights > 0, rng)
    cost_of = cost[np.arange(len(cost)), types].sum(axis=1)
    face = types[cost_of == cost_of.min()]
    tables = np.zeros((len(face), *cells.shape))
    tables[np.arange(len(face))[:, None], np.arange(len(cost)), face] = 1.0
    flat = (np.sqrt(weights) * tables).reshape(len(face), -1)
    problem = make_graph_problem(Projection(np.zeros(cells.shape), weights))
    workspace = Workspace(graph)
    start_from(problem, workspace.active, face[:1], np.ones(1))
    span.span(problem, workspace, span.GraphFace(graph, cost), 1000)
    k = int(workspace.active.count[0])
    found = {tuple(row) for row in workspace.active.paths[:k].tolist()}
    assert found <= {tuple(row) for row in face.tolist()}
    assert k == rank(flat) + 1
    # S = V (V^T W V)^+ V^T on the cells.
    spread = (tables - tables[0]).reshape(len(face), -1).T
    s = spread @ np.linalg.pinv(spread.T @ (weights.reshape(-1, 1) * spread), rcond=1e-10) @ spread.T
    t, out = weights * rng.normal(size=cells.shape), np.empty(cells.shape)
    factor = workspace.active.factor[: k * (k + 1) // 2]
    for function in (tangent_types, tangent_types.py_func):
        function(workspace.active.paths[:k], factor, t, out)
        counted = (weights > 0).reshape(-1)
        assert out.reshape(-1)[counted] == pytest.approx((s @ t.reshape(-1))[counted], abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("how", ["small", "large"])
def test_the_face_of_a_lattice_with_unobserved_cells(how, seed):
    n = 4
    rng = np.random.default_rng(seed)
    orders = list(permutations(range(n)))
    paths = np.array([reference.path_of(order) for order in orders])
    rho = np.array([reference.ranking_rows(order) for order in orders])
    weights = rng.uniform(0.5, 2.0, rho.shape[1:]) * (rng.random(rho.shape[1:]) < 0.6)
    price = prices(weights.shape, weights > 0, rng)
    cost_of = (rho * price).sum(axis=(1, 2))
    on_face = np.flatnonzero(cost_of == cost_of.min())
    flat = (np.sqrt(weights) * rho[on_face]).reshape(len(on_face), -1)
    target = np.where(weights > 0, rho[on_face[0]] - np.divide(price, weights, where=weights > 0, out=0 * weights), 0.0)
    problem = make_problem(Projection(target, weights))
    if how == "small":
        few, room = make_small(problem), make_workspace(n)
        begin_small(few, room, paths[on_face[:1]], np.ones(1))
        complete_face(few, room, target, np.zeros_like(target), False, True)
        k = int(room.count[0])
        found = room.columns[:k, :n].tolist()
        assert not room.weights[1:k].any()
    else:
        workspace = Workspace(n)
        start_from(problem, workspace.active, paths[on_face[:1]], np.ones(1))
        span.span(problem, workspace, span.LatticeFace(reference.subset_sums(price)), 1000)
        k = int(workspace.active.count[0])
        found = workspace.active.paths[:k].tolist()
    assert {tuple(row) for row in found} <= {tuple(row) for row in paths[on_face].tolist()}
    assert k == rank(flat) + 1


def test_arcs_and_edges_outside_a_face(form, rng):
    cells = random_cells(rng, 5, 5)
    for model in MODELS:
        graph = model.geometry(cells)
        cost = prices(cells.shape, True, rng)
        sweep = make_sweep(graph)
        run_sweep(graph, cost, sweep)
        outside = np.zeros(len(graph.head), np.bool_)
        form(span.costly_arcs)(graph, sweep, outside)
        above, below, price = cheapest_ways(graph, cost)
        dear = [
            above[tail] + p + below[head] > below[0] for (tail, head, _), p in zip(arcs_of(graph), price, strict=True)
        ]
        there = graph.head < graph.n_nodes
        assert outside[there].tolist() == dear
        assert outside[~there].all()
    edge = LatticePrices(4)
    edge.cost[:] = rng.integers(0, 3, edge.cost.shape)
    edge.sweep(1)
    outside = np.zeros(edge.cost.shape, np.bool_)
    form(span.costly_edges)(edge.cost, edge.above, edge.below, outside)
    paths = np.array([reference.path_of(order) for order in permutations(range(4))])
    price = edge.cost[np.arange(4), paths].sum(axis=1)
    inside = np.zeros_like(outside)
    for path in paths[price == price.min()]:
        inside[np.arange(4), path] = True
    assert (outside == ~inside).all()


def test_dependent_types_do_not_join(form, rng):
    cells = random_cells(rng, 4, 4)
    graph = rf.RandomUtility().geometry(cells)
    types = np.array(sorted(types_of(graph)), np.int32)
    problem = make_graph_problem(Projection(np.zeros(cells.shape), cells.to_table(np.ones((4, 4)))))
    workspace = Workspace(graph)
    start_from(problem, workspace.active, types[:1], np.ones(1))
    joined = form(span.add_types)(problem, workspace.active, np.concatenate([types, types]), 2 * len(types), 100)
    tables = np.zeros((len(types), *cells.shape))
    tables[np.arange(len(types))[:, None], np.arange(4), types] = 1.0
    assert joined == rank(tables.reshape(len(types), -1))
    start_from(problem, workspace.active, types[:1], np.ones(1))
    assert form(span.add_types)(problem, workspace.active, types, len(types), 2) == 1
