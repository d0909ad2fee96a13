"""The kernels of the active set on graphs against plain twins."""

import numpy as np
import pytest

from rumflow.core.graph import cells_of_types
from rumflow.core.graph_certificate import certify_types
from rumflow.core.problem import Problem, Stop
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked
from rumflow.solvers.active_set.kernels import account, gram_entry, matrix_row, start_from
from rumflow.solvers.active_set.on_graph import GraphPrices, price_cells
from rumflow.solvers.active_set.solve import Workspace, make_graph_problem
from rumflow.solvers.graph import solve_graph
from tests.reference.graphs import behaviour, cheapest_ways, random_cells, random_tables, types_of


@pytest.fixture(params=["rum", "peaked"])
def case(request):
    rng = np.random.default_rng(3)
    cells = random_cells(rng, 5, 6, partly=True)
    graph = (RandomUtility() if request.param == "rum" else SinglePeaked(range(5))).geometry(cells)
    target, weights = random_tables(rng, cells, weighted=True)
    types = np.array(sorted(types_of(graph)), np.int32)
    return rng, graph, make_graph_problem(Problem(target, weights)), types


def products(problem, types):
    """The Gram matrix by its definition."""
    tables = np.array([behaviour(row, problem.weights.shape).reshape(-1) for row in types])
    return tables * problem.weights.reshape(-1) @ tables.T


def test_gram_entries(case):
    rng, graph, problem, types = case
    gram = products(problem, types)
    found = np.array([[gram_entry(problem.table, p, q) for q in types] for p in types])
    np.testing.assert_allclose(found, gram, atol=1e-13)
    workspace = Workspace(graph)
    some = types[rng.permutation(len(types))[:3]]
    workspace.active.paths[:3] = some
    row = np.empty(3)
    matrix_row(problem, types[0], workspace.active, 0, 3, np.empty(len(types[0])), row)
    np.testing.assert_allclose(row, [gram_entry(problem.table, types[0], q) + problem.ridge for q in some], atol=1e-13)


def test_start_factors_the_matrix_of_independent_types(case):
    _, graph, problem, types = case
    workspace = Workspace(graph, len(types) + 8)
    start_from(problem, workspace.active, types, np.full(len(types), 1 / len(types)))
    chosen, weights = workspace.mixture()
    matrix = products(problem, chosen) + problem.ridge
    k = len(chosen)
    factor = np.zeros((k, k))
    factor[np.tril_indices(k)] = workspace.active.factor[: k * (k + 1) // 2]
    factor[np.diag_indices(k)] = 1 / factor[np.diag_indices(k)]
    np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-10 * problem.ridge)
    assert k == np.linalg.matrix_rank(products(problem, types) + problem.ridge, tol=1e-8 * problem.ridge)
    assert weights.sum() == pytest.approx(1.0)


def test_cost_table_and_its_changes(case):
    rng, graph, problem, types = case
    workspace = Workspace(graph)
    active, cost = workspace.active, workspace.cost
    k = 4
    active.paths[:k] = types[rng.permutation(len(types))[:k]]
    active.weights[:k] = rng.dirichlet(np.ones(k))
    rho = sum(w * behaviour(row, graph.shape) for w, row in zip(active.weights[:k], active.paths[:k], strict=True))
    objective = price_cells(problem, active.paths, active.weights, k, cost)
    residual = np.where(problem.weights > 0, rho - problem.target, 0.0)
    np.testing.assert_allclose(cost, problem.weights * residual, atol=1e-14)
    assert objective == pytest.approx(0.5 * (problem.weights * residual**2).sum())
    active.moved[:k] = rng.normal(size=k)
    change = sum(d * behaviour(row, graph.shape) for d, row in zip(active.moved[:k], active.paths[:k], strict=True))
    before = cost.copy()
    for i in range(k):
        account(problem, active, i, workspace.pool, 0, cost)
    np.testing.assert_allclose(cost - before, problem.weights * change, atol=1e-13)
    assert (active.moved[:k] == 0).all()


def test_pool_holds_different_violated_types_and_the_cheapest(case):
    _, graph, problem, types = case
    workspace = Workspace(graph)
    prices = workspace.prices
    prices.evaluate(problem, types[:1], np.ones(1), 1, 1)
    cheapest = prices.sweep(1)
    own = {tuple(row): (prices.cost * behaviour(row, graph.shape)).sum() for row in types}
    assert cheapest == pytest.approx(min(own.values()))
    nu = own[tuple(types[0])]
    size = prices.fill_pool(workspace.pool, nu)
    pool = [tuple(row) for row in workspace.pool.paths[:size]]
    assert len(set(pool)) == size > 0
    assert min(own[row] for row in pool) == pytest.approx(cheapest)
    assert all(own[row] <= nu - 0.1 * (nu - cheapest) + 1e-12 for row in pool)
    np.testing.assert_allclose(workspace.pool.gradient[:size], [own[row] for row in pool], atol=1e-13)
    # Each node's cheapest type is there, if it is violated enough.
    above, below, _ = cheapest_ways(graph, prices.cost)
    through = np.unique((above + below).round(9))
    wanted = {value for value in through if value <= nu - 0.1 * (nu - cheapest) - 1e-8}
    assert wanted <= {round(own[row], 9) for row in pool}


@pytest.mark.parametrize("model", [RandomUtility(), SinglePeaked(range(9))], ids=["rum", "peaked"])
def test_rounds_on_a_part_end_at_the_same_point(model, monkeypatch):
    """With rounds on a tenth of the nodes and without: the same projection, and the whole graph has the last word."""
    rng = np.random.default_rng(2)
    cells = random_cells(rng, 9, 14)
    graph = model.geometry(cells)
    problem = Problem(*random_tables(rng, cells, weighted=True))
    sweeps = []
    one_sweep = GraphPrices.sweep

    def sweep(self, threads, whole=True):
        sweeps.append(whole)
        return one_sweep(self, threads, whole)

    monkeypatch.setattr(GraphPrices, "sweep", sweep)
    found = []
    for least in (10**9, 0):
        monkeypatch.setattr("rumflow.solvers.active_set.on_graph._NARROWED", least)
        sweeps.clear()
        outcome = solve_graph(graph, problem, Stop(1e-11))
        assert outcome.reason == "done"
        assert sweeps[0]
        assert sweeps[-1]
        assert all(sweeps) == (least > 0)
        certificate = certify_types(graph, (outcome.paths, outcome.weights), problem)
        assert certificate.gap <= 1e-10 * certificate.objective
        found.append(cells_of_types(outcome.paths, outcome.weights, graph.shape))
    used = problem.weights > 0
    np.testing.assert_allclose(found[0][used], found[1][used], atol=1e-6)


def test_a_solve_does_not_depend_on_the_one_before(monkeypatch):
    """The part of one solve is not that of the next in the same workspace."""
    monkeypatch.setattr("rumflow.solvers.active_set.on_graph._NARROWED", 0)
    rng = np.random.default_rng(4)
    cells = random_cells(rng, 8, 12)
    graph = RandomUtility().geometry(cells)
    problems = [Problem(*random_tables(rng, cells)) for _ in range(2)]
    workspace = Workspace(graph)
    begun = [np.array(sorted(types_of(graph))[:1], np.int32), np.ones(1)]
    solve_graph(graph, problems[0], Stop(1e-2), start=begun, workspace=workspace)
    again = solve_graph(graph, problems[1], Stop(1e-9), start=begun, workspace=workspace)
    alone = solve_graph(graph, problems[1], Stop(1e-9), start=begun)
    assert np.array_equal(again.paths, alone.paths)
    assert np.array_equal(again.weights, alone.weights)
