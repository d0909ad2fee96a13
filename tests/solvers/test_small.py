"""The kernels for few items against plain twins, and the two exact solvers against each other."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumflow as rf
from rumflow.core.certificate import certify
from rumflow.core.compile import leaf
from rumflow.core.paths import cheapest_above, cheapest_below, flow_from_paths, paths_from_orders
from rumflow.core.problem import NO_WEIGHTS, SOLVER_FLOOR, Problem
from rumflow.core.transforms import moebius, zeta, zeta_adjoint
from rumflow.solvers.active_set.solve import Goal, Workspace, make_problem, solve_rankings
from rumflow.solvers.batch.kernels import INSIDE, solve_piece
from rumflow.solvers.geometry import Keep
from rumflow.solvers.small import solve as small
from rumflow.solvers.small import workspace
from rumflow.solvers.small.lanes import extract_ranking, price_cells, price_menus, transform_lanes
from rumflow.solvers.small.solve import leave, powers
from tests.reference.pieces import PieceOfStack


def random_paths(n, k, rng):
    return paths_from_orders(np.array([rng.permutation(n) for _ in range(k)]))


def setting(n, rng, weighted=False, cone=False):
    """A problem with random data, its form for few items, and a workspace for it."""
    target = rng.normal(0.3, 0.3, (n, 1 << (n - 1)))
    weights = rng.uniform(0.5, 2.0, target.shape) if weighted else NO_WEIGHTS
    problem = make_problem(Problem(target, weights, cone))
    place = workspace.make_workspace(n)
    workspace.load_target(place, target)
    return problem, workspace.make_small(problem), place


def matrix(problem, paths):
    """M = G + c 1 1^T from the flows of the rankings, without the formula for its entries."""
    one = np.ones(1)
    rho = np.array([zeta(flow_from_paths(path[None], one)) for path in paths])
    w = problem.weights if len(problem.weights) else np.ones_like(rho[0])
    return np.einsum("iab,ab,jab->ij", rho, w, rho) + problem.ridge


def held(place, n):
    k = int(place.count[0])
    return place.columns[:k, :n].astype(np.int32), place.weights[:k].copy(), place.inverse[:k, :k].copy()


def assert_inverse(problem, place, n):
    """M^{-1} and M^{-1} 1 are what they should be, and 0 beyond the rankings in use."""
    paths, _, inverse = held(place, n)
    k = len(paths)
    assert inverse @ matrix(problem, paths) == pytest.approx(np.eye(k), abs=1e-9)
    assert place.carried[0, :k] == pytest.approx(inverse.sum(axis=1), abs=1e-10)
    assert not place.inverse[k:].any()
    assert not place.inverse[:, k:].any()
    assert not place.carried[:, k:].any()


@leaf
def run_transform(values, adjoint):
    transform_lanes(values, adjoint)


@leaf
def run_prices(problem, place):
    objective = price_cells(problem, place)
    price_menus(problem, place)
    return objective


@leaf
def run_extract(place, menu, columns):
    extract_ranking(place, menu, columns)


@leaf
def run_powers(words, out):
    for i in range(words.shape[0]):
        out[i] = powers(words[i])


@leaf
def run_leave(place, gone):
    leave(place, gone)


@pytest.mark.parametrize("n", range(1, 9))
def test_transforms_in_lanes(n, rng):
    rows = rng.normal(size=(n, 1 << (n - 1)))
    for adjoint, plain in ((False, zeta), (True, zeta_adjoint)):
        values = np.zeros((1 << (n - 1), 8))
        values[:, :n] = rows.T
        run_transform(values.reshape(-1), adjoint)
        assert pytest.approx(plain(rows.copy()), abs=1e-12) == values[:, :n].T
        assert not values[:, n:].any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", range(1, 9))
def test_prices_of_cells_and_menus(n, weighted, rng):
    problem, few, place = setting(n, rng, weighted)
    paths, lam = random_paths(n, 5, rng), rng.dirichlet(np.ones(5))
    place.columns[:5, :n], place.weights[:5], place.count[0] = paths, lam, 5
    objective = run_prices(few, place)
    difference = zeta(flow_from_paths(paths, lam)) - problem.target
    w = problem.weights if weighted else np.ones_like(difference)
    cost = zeta_adjoint(w * difference)
    assert objective == pytest.approx(0.5 * np.sum(w * difference**2))
    assert pytest.approx(cost, abs=1e-11) == place.cost.reshape(-1, 8)[:, :n].T
    assert place.below == pytest.approx(cheapest_below(cost), abs=1e-10)
    assert place.above == pytest.approx(cheapest_above(cost), abs=1e-10)
    menus = np.arange(1 << n)
    prices = cheapest_above(cost) + cheapest_below(cost)
    for menu in menus:
        path = np.zeros(8, np.uint8)
        run_extract(place, menu, path)
        assert cost[np.arange(n), path[:n]].sum() == pytest.approx(prices[menu], abs=1e-10)


def test_powers_of_every_byte_in_every_place(rng):
    seven = np.arange(128, dtype=np.uint64)
    for byte in range(8):
        out = np.empty(128)
        run_powers(seven << np.uint64(8 * byte), out)
        assert (out == 2.0 ** np.bitwise_count(seven) + 7).all()
    columns = rng.integers(0, 128, (500, 8)).astype(np.uint8)
    out = np.empty(500)
    run_powers(columns.view(np.uint64).ravel(), out)
    assert (out == (2.0 ** np.bitwise_count(columns)).sum(axis=1)).all()


@pytest.mark.parametrize(("weighted", "cone"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 8])
def test_entering_and_leaving_keep_the_inverse(n, weighted, cone, rng):
    problem, few, place = setting(n, rng, weighted, cone)
    most = min(24, (n << (n - 1)) - (1 << n) + 2)
    small.begin_small(few, place, random_paths(n, 3 * most, rng), np.ones(3 * most))
    assert_inverse(problem, place, n)
    while place.count[0] > 1:
        paths, weights, _ = held(place, n)
        gone = int(rng.integers(place.count[0]))
        run_leave(place, gone)
        assert_inverse(problem, place, n)
        left = np.delete(np.arange(len(paths)), gone)
        assert sorted(map(tuple, held(place, n)[0])) == sorted(map(tuple, paths[left]))
        assert sorted(held(place, n)[1]) == sorted(weights[left])
    small.begin_small(few, place, random_paths(n, 5, rng), np.ones(5))
    assert_inverse(problem, place, n)
    assert n < 8 or place.count[0] == 5


def test_rankings_that_depend_on_others_are_left_out(rng):
    problem, few, place = setting(4, rng)
    every = paths_from_orders(np.array([list(order) for order in permutations(range(4))]))
    small.begin_small(few, place, np.concatenate([every, every]), np.ones(48))
    assert place.count[0] == 4 * 8 - 16 + 2  # the dimension of RUM, plus one
    assert_inverse(problem, place, 4)
    assert place.weights[: place.count[0]].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [3, 6, 8])
def test_what_is_stored_is_what_is_loaded(n, rng):
    problem, few, place = setting(n, rng)
    small.begin_small(few, place, random_paths(n, 12, rng), rng.uniform(size=12))
    paths, weights, inverse = held(place, n)
    k = len(paths)
    stored = np.empty((k, n), np.int32), np.empty(k), np.empty(k * (k + 1) // 2)
    workspace.store_rankings(place, *stored)
    assert (stored[0] == paths).all()
    flow = np.empty((n, 1 << (n - 1)))
    workspace.store_flow(place, flow)
    assert flow == pytest.approx(flow_from_paths(paths, weights))
    other = workspace.make_workspace(n)
    small.begin_small(few, other, random_paths(n, 20, rng), np.ones(20))
    workspace.load_small(other, *stored)
    assert_inverse(problem, other, n)
    assert (held(other, n)[1] == weights).all()
    assert held(other, n)[2] == pytest.approx(inverse)


FAMILIES = {
    "dirichlet": lambda n, seed: rf.simulate.dirichlet(n, seed=seed),
    "noisy": lambda n, seed: rf.simulate.noisy_rankings(n, seed=seed),
    "logit": lambda n, seed: rf.simulate.mixed_logit(n, draws=3000, seed=seed),
}


def solve_few_items(problem, tol, floor, start=None):
    """The kernel alone, on one problem: flow, rankings, weights, and whether the data need none."""
    starts = None if start is None else [start]
    piece = PieceOfStack(problem.target[None], problem.weights, Keep.MIXTURES, 6000, tol, floor, problem.cone, starts)
    assert piece.run(solve_piece) == 1
    paths, weights, _ = piece.rankings(0)
    return piece.flows[0], paths, weights, piece.kind[0] == INSIDE


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [2, 3, 5, 6, 7, 8])
def test_both_solvers_agree(family, n):
    target = rf.Lattice(n).to_internal(FAMILIES[family](n, 3))
    rng = np.random.default_rng(n)
    for weights in (NO_WEIGHTS, rng.uniform(0.1, 10.0, target.shape), rng.integers(0, 3, target.shape).astype(float)):
        weights[:, :1] = 1.0
        problem = Problem(target, weights)
        floor = SOLVER_FLOOR * float(np.sum((weights if len(weights) else 1.0) * target**2))
        flow, paths, shares, inside = solve_few_items(problem, 1e-12, floor)
        two = solve_rankings(make_problem(problem), Workspace(n), Goal(1e-12, floor))
        first, second = certify(problem, flow), certify(problem, flow_from_paths(two.paths, two.weights))
        assert first.gap <= max(1e-12 * first.objective, first.floor)
        assert second.gap <= max(1e-12 * second.objective, second.floor)
        assert first.objective == pytest.approx(second.objective, rel=1e-11, abs=first.floor)
        if inside and problem.complete:
            assert len(paths) == 0
            assert flow == pytest.approx(moebius(target.copy()), abs=1e-14)
        else:
            assert flow == pytest.approx(flow_from_paths(paths, shares), abs=1e-15)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_a_start_does_not_change_the_answer(n, seed):
    rng = np.random.default_rng(seed)
    problem = Problem(rng.normal(0.3, 0.4, (n, 1 << (n - 1))))
    cold, paths, shares, _ = solve_few_items(problem, 1e-12, 1e-16)
    for start in ((paths, shares), (random_paths(n, 30, rng), rng.uniform(size=30))):
        warm, *_ = solve_few_items(problem, 1e-12, 1e-16, start)
        assert zeta(warm.copy()) == pytest.approx(zeta(cold.copy()), abs=1e-6)
        a, b = (certify(problem, found) for found in (cold, warm))
        assert a.objective == pytest.approx(b.objective, rel=1e-11)


def test_a_start_of_more_rankings_than_there_is_space_for(rng):
    problem = Problem(rf.Lattice(4).to_internal(rf.simulate.dirichlet(4, seed=0)))
    cold, *_ = solve_few_items(problem, 1e-12, 1e-16)
    warm, *_ = solve_few_items(problem, 1e-12, 1e-16, (random_paths(4, 5000, rng), np.ones(5000)))
    assert certify(problem, warm).objective == pytest.approx(certify(problem, cold).objective)


def test_arrays_of_a_workspace_begin_where_lines_of_the_cache_do():
    for n in (1, 3, 8):
        made = workspace.make_workspace(n)
        assert all(array.ctypes.data % 64 == 0 for array in made)
        assert not made.inverse.any()
        made.columns[2, 3] = 7
        assert made.words[2] == 7 << 24


def test_weights_far_apart_are_left_to_the_factor():
    assert workspace.is_small(8, NO_WEIGHTS)
    assert not workspace.is_small(9, NO_WEIGHTS)
    assert workspace.is_small(6, np.array([[1.0, 0.0, 9e4]]))
    assert not workspace.is_small(6, np.array([[1.0, 0.0, 1.1e5]]))
