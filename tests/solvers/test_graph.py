"""Projections onto models: against all their types, against the lattice; groups of menus, limits, interrupts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumflow as rf
from rumflow.core.compile import clock
from rumflow.core.graph import GraphTooLargeError, cells_of_types, follow_type
from rumflow.core.graph_cells import Cells
from rumflow.core.graph_certificate import describe_mixture
from rumflow.core.problem import Problem, Stop
from rumflow.errors import InputError
from rumflow.models import open_menus
from rumflow.models.linear_utility import LinearUtility
from rumflow.models.random_utility import RandomUtility
from rumflow.models.rankings import choice_probabilities
from rumflow.models.single_peaked import SinglePeaked
from rumflow.models.types import Types
from rumflow.solvers import graph as graph_module
from rumflow.solvers.active_set.solve import Workspace
from rumflow.solvers.bounded.geometry import BoundedGeometry
from rumflow.solvers.geometry import USER_OPTIONS
from rumflow.solvers.graph import GraphGeometry, solve_graph
from rumflow.solvers.graph_fits import couple
from rumflow.solvers.resources import Resources
from tests.reference.graphs import (
    is_single_peaked,
    orders,
    projection,
    random_cells,
    random_tables,
    respects,
    type_of_order,
    types_of,
)
from tests.reference.solved import solve_one


def random_model(kind, n, m, rng, cells):
    """A model, and the rankings that are its types."""
    if kind == "rum":
        return RandomUtility(), orders(n)
    if kind == "above":
        path = rng.permutation(n).tolist()
        pairs = list(pairwise(path))[: rng.integers(1, 3)] if n > 1 else []
        return RandomUtility(pairs), orders(n, respects(pairs))
    if kind == "peaked":
        axis = rng.permutation(n).tolist()
        return SinglePeaked(axis), [tuple(axis[i] for i in order) for order in orders(n, is_single_peaked)]
    if kind == "linear":
        order = rng.permutation(n).tolist()
        return LinearUtility({x: order.index(x) for x in range(n)}), [tuple(order), tuple(order[::-1])]
    some = [tuple(rng.permutation(n).tolist()) for _ in range(8)]
    table = [[next(x for x in order if cells.membership[j, x]) for j in range(m)] for order in some]
    return Types(table), some


@settings(max_examples=120, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 9), st.booleans(), st.booleans(), st.booleans(),
    st.sampled_from(["rum", "above", "peaked", "linear", "types"]),
)  # fmt: skip
def test_projection_equals_enumeration(seed, n, m, partly, weighted, cone, kind):
    rng = np.random.default_rng(seed)
    cells = random_cells(rng, n, m, partly, size=rng.uniform(0.2, 0.8))
    model, rankings = random_model(kind, n, m, rng, cells)
    types = {type_of_order(cells, order) for order in rankings}
    geometry = GraphGeometry(model, cells, cone=cone)
    if len(geometry.graphs) == 1:
        assert types_of(geometry.graphs[0]) == types
    target, weights = random_tables(rng, cells, weighted)
    fit = solve_one(geometry, target, weights, tol=1e-11)
    table, objective = projection(sorted(types), cells.shape, target, weights, cone)
    assert fit.certificate.objective == pytest.approx(objective, rel=1e-9, abs=1e-14)
    used = weights > 0
    np.testing.assert_allclose(fit.table[used], table[used], atol=1e-7)
    assert fit.certificate.gap <= 1e-10 * objective + fit.certificate.floor + 1e-18
    assert {tuple(row) for row in fit.types.tolist()} <= types
    assert cone or fit.weights.sum() == pytest.approx(1.0, abs=1e-14)
    if kind == "types":
        with pytest.raises(InputError, match="no rankings"):
            model.orders(cells, fit.types)
    else:
        found = model.orders(cells, fit.types)
        assert {tuple(order) for order in found.tolist()} <= set(rankings)
        assert np.array_equal(cells.types_of_orders(found), fit.types)
        probabilities = choice_probabilities(found, fit.weights, cells.membership)
        np.testing.assert_allclose(cells.to_table(probabilities)[used], fit.table[used], atol=1e-12)


def incomplete(rng, n, m):
    """Random menus with random frequencies, for the lattice and for graphs."""
    masks = np.append(rng.choice(np.arange(1, (1 << n) - 1), m, replace=False), (1 << n) - 1)
    member = (masks[:, None] >> np.arange(n) & 1).astype(bool)
    rho = rng.exponential(size=member.shape) ** 2 * member
    rho /= rho.sum(axis=1, keepdims=True)
    array = np.full((1 << n, n), np.nan)
    array[masks] = rho
    return masks, member, rho, array


@pytest.mark.parametrize("n", [4, 6, 8, 9, 10])
def test_projection_equals_that_on_the_lattice(n):
    rng = np.random.default_rng(n)
    for trial in range(30 if n < 10 else 10):
        masks, member, rho, array = incomplete(rng, n, int(rng.integers(1, min(40, 2**n - 2))))
        scale = rng.uniform(0.1, 4.0, len(masks))[:, None] if trial % 2 else np.ones((len(masks), 1))
        full = np.zeros((1 << n, n))
        full[masks] = scale * member
        lattice = rf.project(array, weights=full, tol=1e-12, throw=False, route="lattice")
        cells = Cells(member)
        weights = cells.to_table(scale * member)
        fit = solve_one(GraphGeometry(RandomUtility(), cells), cells.to_table(rho), weights, tol=1e-12)
        assert fit.certificate.objective == pytest.approx(lattice.objective, rel=1e-9, abs=1e-18)
        np.testing.assert_allclose(fit.table, cells.to_table(lattice.rho[masks]), atol=1e-7)


def test_hundreds_of_items():
    rng = np.random.default_rng(0)
    member = rng.random((80, 200)) >= 0.05
    cells = Cells(member)
    population = np.array([rng.permutation(200) for _ in range(30)])
    target = cells.to_table(choice_probabilities(population, np.full(30, 1 / 30), member))
    geometry = GraphGeometry(RandomUtility(), cells)
    assert geometry.n_nodes < 2000
    exact = solve_one(geometry, target, cells.to_table(member.astype(float)))
    assert exact.certificate.is_rum
    noisy = np.abs(target + 0.01 * rng.normal(size=target.shape))
    fit = solve_one(geometry, noisy, cells.to_table(member.astype(float)))
    assert fit.certificate.gap <= 1e-9 * fit.certificate.objective
    found = geometry.model.orders(cells, fit.types)
    assert (np.sort(found, axis=1) == np.arange(200)).all()
    other = rng.random((5, 200)) < 0.3
    asked = choice_probabilities(found, fit.weights, other)
    np.testing.assert_allclose(asked.sum(axis=1), 1.0, atol=1e-12)
    assert (asked[~other] == 0).all()


def groups():
    """Two groups of menus without a common item, one menu apart."""
    member = np.zeros((7, 9), bool)
    member[[0, 0, 2, 2, 2, 4, 4], [0, 1, 1, 2, 3, 0, 3]] = True
    member[[1, 1, 3, 3, 5, 5], [4, 5, 5, 6, 4, 6]] = True
    member[6, [7, 8]] = True
    return Cells(member)


def test_groups_are_projected_apart():
    cells = groups()
    rng = np.random.default_rng(3)
    target, weights = random_tables(rng, cells, weighted=True)
    geometry = GraphGeometry(RandomUtility(), cells)
    assert [group.tolist() for group in geometry.menus] == [[0, 2, 4], [1, 3, 5], [6]]
    apart = solve_one(geometry, target, weights, tol=1e-12)
    graph = RandomUtility().geometry(cells)
    together = solve_graph(graph, Problem(target, weights), Stop(1e-12))
    joint = cells_of_types(together.paths, together.weights, cells.shape)
    np.testing.assert_allclose(apart.table, joint, atol=1e-8)
    assert all(follow_type(graph, row, np.empty(20, np.int64)) > 0 for row in apart.types)
    linked = RandomUtility(above=[(3, 4)])
    assert [group.tolist() for group in linked.parts(cells)] == [[0, 1, 2, 3, 4, 5], [6]]
    again = solve_one(geometry, target, weights, tol=1e-12, start=(apart.types, apart.weights))
    assert again.rounds <= 6
    np.testing.assert_allclose(again.table, apart.table, atol=1e-9)


def test_groups_that_fall_apart_later_go_one_after_the_other():
    member = np.zeros((11, 11), bool)
    member[:10, :10] = np.eye(10, dtype=bool) | np.eye(10, k=1, dtype=bool)
    member[9, 0] = True
    member[10, :] = True
    graph = RandomUtility().geometry(Cells(member))
    assert graph.n_nodes < 300  # over 2^10 without groups


def test_coupled_mixtures_keep_their_shares():
    rng = np.random.default_rng(1)
    parts = [(rng.integers(0, 3, (k, 2)).astype(np.int32), rng.dirichlet(np.ones(k))) for k in (4, 1, 6)]
    menus = [np.array([0, 3]), np.array([1, 5]), np.array([2, 4])]
    (types, weights), number = couple(parts, menus)
    assert len(weights) == number <= 9
    (some, shares), _ = couple(parts, menus, 3)
    heaviest = np.argsort(-weights, kind="stable")[:3]
    np.testing.assert_array_equal(some, types[heaviest])
    np.testing.assert_array_equal(shares, weights[heaviest])
    assert weights.sum() == pytest.approx(1.0)
    for (own, lam), group in zip(parts, menus, strict=True):
        for row in np.unique(own, axis=0):
            share = weights[(types[:, group] == row).all(axis=1)].sum()
            assert share == pytest.approx(lam[(own == row).all(axis=1)].sum())


def test_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("rumflow.core.graph._THREADED", 1)
    rng = np.random.default_rng(9)
    cells = random_cells(rng, 20, 25)
    target, weights = random_tables(rng, cells)
    geometry = GraphGeometry(RandomUtility(), cells)
    one, two = (solve_one(geometry, target, weights, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.types, two.types)
    assert np.array_equal(one.weights, two.weights)


def test_time_limit_and_interrupt():
    rng = np.random.default_rng(4)
    cells = random_cells(rng, 20, 25)
    target, weights = random_tables(rng, cells)
    geometry = GraphGeometry(RandomUtility(), cells)
    assert solve_one(geometry, target, weights, deadline=0.0).reason == "max_seconds"

    def stop(progress):
        if progress.round == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_one(geometry, target, weights, report=stop)
    fit = solve_one(geometry, target, weights, report=stop, partial=True)
    assert fit.reason == "interrupted"
    assert fit.weights.sum() == pytest.approx(1.0)


def test_one_interrupt_ends_all_groups_of_menus():
    """Two groups without a common item: after Ctrl-C in the first the second is not begun."""
    rng = np.random.default_rng(4)
    table = random_cells(rng, 6, 8).membership
    cells = Cells(np.block([[table, np.zeros_like(table)], [np.zeros_like(table), table]]))
    target, weights = random_tables(rng, cells)
    geometry = GraphGeometry(RandomUtility(), cells)
    assert len(geometry.parts) == 2
    rounds = []

    def stop(progress):
        rounds.append(progress.round)
        raise KeyboardInterrupt

    fit = solve_one(geometry, target, weights, report=stop, partial=True)
    assert fit.reason == "interrupted"
    assert rounds == [1]
    assert fit.weights.sum() == pytest.approx(1.0)


def test_a_workspace_can_be_used_again():
    rng = np.random.default_rng(6)
    cells = random_cells(rng, 8, 12)
    graph = RandomUtility().geometry(cells)
    workspace = Workspace(graph)
    for _ in range(3):
        target, weights = random_tables(rng, cells)
        again = solve_graph(graph, Problem(target, weights), Stop(1e-9), workspace=workspace)
        fresh = solve_graph(graph, Problem(target, weights), Stop(1e-9))
        assert np.array_equal(again.weights, fresh.weights)


def test_other_weights_share_graphs_and_workspaces():
    cells = Cells([[True, True, False], [True, True, True]])
    geometry = GraphGeometry(RandomUtility(), cells)
    other = geometry.weighted(2 * geometry.weights)
    assert other.graphs is geometry.graphs
    assert other.workspaces is geometry.workspaces
    own = other.workspaces.take()
    other.workspaces.give_back(own)
    other.solve(np.zeros((2, *cells.shape)), Stop(1e-9))
    assert other.workspaces.take() is own
    other.workspaces.give_back(own)
    other.solve(np.zeros((1, *cells.shape)), Stop(1e-9))
    assert other.workspaces.take() is not own  # a single problem leaves nothing behind


def test_what_was_not_begun_costs_no_sweep_each(monkeypatch):
    """Of hundreds that Ctrl-C left: their gap is the objective, which is certified, for no distance is negative."""
    cells = Cells(np.array([[True, True, False], [True, True, True]]), None, "abc")
    geometry = GraphGeometry(rf.RandomUtility(), cells)
    targets = np.random.default_rng(0).dirichlet(np.ones(3), (50, 2))
    targets[:, 0, 2] = 0.0
    sweeps = []
    plain = graph_module.cheapest_type
    monkeypatch.setattr(graph_module, "cheapest_type", lambda *given: sweeps.append(1) or plain(*given))
    fits = geometry.solve(targets, Stop(1e-9), options=USER_OPTIONS._replace(begin=False))
    assert set(fits.reasons) == {"interrupted"}
    assert len(sweeps) == len(geometry.parts)
    solved = geometry.solve(targets, Stop(1e-9))
    for mine, best, target in zip(fits.certificates, solved.certificates, targets, strict=True):
        assert mine.gap == mine.objective >= best.objective - 1e-12
        assert mine.objective == pytest.approx(geometry.certify(fits.mixtures[0], target).objective)


@pytest.mark.parametrize("make", [GraphGeometry, BoundedGeometry])
def test_groups_that_were_not_begun_have_the_certificates_of_each(make):
    cells = groups()
    target, weights = random_tables(np.random.default_rng(4), cells, weighted=True)
    geometry = make(RandomUtility(), cells).weighted(weights)
    fits = geometry.solve(target[None], Stop(1e-9), options=USER_OPTIONS._replace(begin=False))
    for p, own in enumerate(fits.parts[0]):
        problem = geometry.part_problem(target, p)
        rho = cells_of_types(*own.mixture, problem.target.shape)
        objective = 0.5 * (problem.weights * (rho - problem.target) ** 2).sum()
        expected = describe_mixture(own.mixture, rho, problem, objective, objective)
        assert own.certificate == pytest.approx(expected, rel=1e-14)
    assert fits.reasons == ["interrupted"]


def test_groups_after_the_time_is_over(monkeypatch):
    """The first group is solved, whatever the time; the others are described together, in one call."""
    cells = groups()
    geometry = GraphGeometry(RandomUtility(), cells)
    target, _ = random_tables(np.random.default_rng(5), cells)
    asked = []
    plain = GraphGeometry._not_begun
    monkeypatch.setattr(
        GraphGeometry, "_not_begun", lambda self, which, *given: asked.append(which) or plain(self, which, *given)
    )
    (fit,) = geometry.solve(target[None], Stop(1e-9), resources=Resources(1, clock() - 1.0)).parts
    assert asked == [range(1, 3)]
    assert [one.reason for one in fit[1:]] == ["max_seconds"] * 2


def test_shares_of_separate_menus_need_no_mixture_over_all_of_them():
    """A thousand pairs with shares of their own have a thousand types together: a table of their squares."""
    m = 1000
    member = np.zeros((m, 2 * m), bool)
    member[np.repeat(np.arange(m), 2), np.arange(2 * m)] = True
    share = np.random.default_rng(0).random(m)
    geometry = GraphGeometry(RandomUtility(), Cells(member))
    fits = geometry.solve(np.column_stack([share, 1.0 - share])[None], Stop(1e-9))
    np.testing.assert_allclose(fits.rho[0, :, 0], share, atol=1e-12)
    assert fits.certificates[0].is_rum
    assert "mixtures" not in vars(fits)
    np.testing.assert_allclose(cells_of_types(*fits.mixtures[0], geometry.shape), fits.rho[0], atol=1e-12)


def test_what_is_free_is_looked_up_once_for_all_groups(monkeypatch):
    """It takes longer than a small graph; what the first graphs take is not free for the next."""
    looked = []
    monkeypatch.setattr(open_menus, "available_memory", lambda: looked.append(1) or 2**20)
    geometry = GraphGeometry(RandomUtility(), groups())
    assert len(looked) == 1
    taken = sum(graph.n_bytes for graph in geometry.graphs[:2])
    monkeypatch.setattr(open_menus, "available_memory", lambda: 2 * taken)
    with pytest.raises(GraphTooLargeError):
        GraphGeometry(RandomUtility(), groups())


def test_memory_of_a_graph_counts_those_of_other_menus(monkeypatch):
    first = RandomUtility().geometry(groups().part(np.array([0, 2, 4])))
    monkeypatch.setattr(open_menus, "available_memory", lambda: 2 * first.n_bytes)
    with pytest.raises(
        GraphTooLargeError, match=f"beside 1 graphs of other menus with {first.n_nodes} nodes"
    ) as caught:
        GraphGeometry(RandomUtility(), groups())
    assert caught.value.nodes > first.n_nodes
    assert caught.value.bytes > first.n_bytes


def test_a_threshold_holds_where_menus_were_recorded_in_part():
    """Shares that do not add up to 1 because some were not recorded have no surplus to give up first."""
    cells = Cells([[True] * 4, [True, True, True, False]], [[True, True, True, False], [True] * 3 + [False]])
    geometry = GraphGeometry(RandomUtility(), cells)
    target = np.array([[0.7, 0.1, 0.1, 0.0], [0.1, 0.5, 0.4, 0.0]])
    full = geometry.solve(target[None], Stop(1e-12)).certificates[0].objective
    below = geometry.solve(target[None], Stop(1e-12, None, 4 * full)).certificates[0]
    above = geometry.solve(target[None], Stop(1e-12, None, full / 4)).certificates[0]
    assert full <= below.objective <= 4 * full
    assert above.objective - above.gap > full / 4
