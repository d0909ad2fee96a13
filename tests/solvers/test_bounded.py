"""Random utility without a graph: local search against a plain twin, bounds and splits against enumeration."""

from itertools import chain, combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumflow as rf
from rumflow import simulate
from rumflow.core.compile import clock
from rumflow.core.graph_cells import Cells
from rumflow.core.pairs import Cycles
from rumflow.core.preferences import NOTHING_KNOWN
from rumflow.core.problem import Problem, Stop
from rumflow.models.open_menus import Limit
from rumflow.projection.observations import Observations
from rumflow.solvers.bounded import search as search_module
from rumflow.solvers.bounded import split as split_module
from rumflow.solvers.bounded.bound import Bounder
from rumflow.solvers.bounded.geometry import BoundedGeometry
from rumflow.solvers.bounded.groups import bound_groups, largest_group
from rumflow.solvers.bounded.neighbours import find_neighbours
from rumflow.solvers.bounded.ordering import OrderingProgram
from rumflow.solvers.bounded.prices import SearchPrices
from rumflow.solvers.bounded.search import KICK, find_cheap, make_board, random_orders
from rumflow.solvers.bounded.solve import BoundedSolver
from rumflow.solvers.bounded.split import Split
from rumflow.solvers.bounded.tables import PairTables
from rumflow.solvers.graph import GraphGeometry
from rumflow.solvers.resources import Resources
from tests.reference.bounded_cases import TINY, small_data
from tests.reference.graphs import orders, random_cells, random_tables, respects, type_of_order
from tests.reference.solved import solve_one

PAIRS = [(0, 2), (2, 4), (1, 3)]


def closed(n, pairs):
    return rf.RandomUtility(pairs).known(tuple(range(n)))


def by_item(cells, cost):
    return np.where(cells.column >= 0, np.take_along_axis(cost, np.maximum(cells.column, 0), axis=1), 0.0)


def some_prices(rng, cells):
    """Random prices of the recorded cells; of some menus they are all equal."""
    cost = cells.to_table(rng.normal(size=cells.membership.shape))
    cost[rng.random(len(cost)) < 0.2] = 0.0
    return cost


def plain_price(cells, price, order):
    return sum(price[j, next(x for x in order if members[x])] for j, members in enumerate(cells.membership))


def plain_descend(cells, price, order, pairs):
    """One item after the other to its best place, every place tried by pricing the whole ranking."""
    quiet, x, n = 0, 0, len(order)
    while quiet < n:
        now = plain_price(cells, price, order)
        rest = [y for y in order if y != x]
        best, best_order = np.inf, None
        for q in range(n - 1, -1, -1):
            trial = [*rest[:q], x, *rest[q:]]
            if respects(pairs)(trial) and plain_price(cells, price, trial) < best:
                best, best_order = plain_price(cells, price, trial), trial
        quiet = 0 if best < now else quiet + 1
        order = best_order if best < now else order
        x = (x + 1) % n
    return order


def plain_search(cells, price, order, kicks, pairs):
    found, best, n = [], None, len(order)
    for r in range(len(kicks) + 1):
        trial = list(order)
        for t in range(KICK if r else 0):
            x = int(kicks[r - 1][2 * t] * n)
            rest = [y for y in trial if y != x]
            places = [q for q in range(n) if respects(pairs)([*rest[:q], x, *rest[q:]])]
            q = places[int(kicks[r - 1][2 * t + 1] * len(places))]
            trial = [*rest[:q], x, *rest[q:]]
        trial = plain_descend(cells, price, trial, pairs)
        found.append(plain_price(cells, price, trial))
        if best is None or found[-1] < best:
            best, order = found[-1], trial
    return found, order


@pytest.mark.parametrize("pairs", [[], PAIRS])
def test_search_equals_its_twin(rng, pairs):
    for _ in range(8):
        cells = random_cells(rng, 6, int(rng.integers(2, 9)), partly=True)
        cost = np.where(cells.item >= 0, rng.integers(-9, 10, cells.shape), 0.0)  # whole numbers: ties, and no rounding
        price = by_item(cells, cost)
        start = random_orders(rng, 3, 6, closed(6, pairs))
        assert all(respects(pairs)(list(order)) for order in start)
        kicks = rng.random((3, 4, 2 * KICK))
        improved = start.copy()
        by_cell = price[cells.offered.menu, cells.offered.item]
        types, prices = find_cheap(make_board(cells, closed(6, pairs)), by_cell, improved, kicks, 1)
        for s in range(3):
            expected, order = plain_search(cells, price, start[s].tolist(), kicks[s], pairs)
            assert prices[5 * s : 5 * s + 5].tolist() == expected
            assert improved[s].tolist() == order
        for row, value in zip(types, prices, strict=True):
            assert cost[np.arange(len(row)), row].sum() == value


def test_random_rankings_respect_known_preferences_and_differ(rng):
    found = random_orders(rng, 300, 5, closed(5, PAIRS))
    assert {tuple(order) for order in found.tolist()} == set(orders(5, respects(PAIRS)))


@settings(max_examples=30)
@given(
    st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 12), st.booleans(), st.sampled_from([[], [(0, 1)], PAIRS])
)
def test_no_bound_is_above_the_cheapest_type(seed, n, m, partly, pairs):
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in pairs if max(pair) < n]
    cells = random_cells(rng, n, m, partly)
    cost = some_prices(rng, cells)
    types = np.array([type_of_order(cells, order) for order in orders(n, respects(pairs))])
    true = cost[np.arange(m), types].sum(axis=1).min()
    model = rf.RandomUtility(pairs)
    whole = bound_groups(model, cells, cost)
    assert whole.exact
    assert whole.bound == pytest.approx(true, abs=1e-12)
    last = -np.inf
    bounder = Bounder(model, cells, TINY)
    for found in chain(bounder.bounds(cost), bounder.branch(cost)):
        assert found.value <= true + 1e-12
        assert all(respects(pairs)(list(order)) for order in found.orders.tolist())
        last = found.value
    assert last == pytest.approx(true, abs=1e-6 * (1 + np.abs(cost).sum()))  # branch and cut ends only at the optimum


def test_the_relaxation_is_exact_for_pairs_of_five_items(rng):
    """The inequalities of three items describe the mixtures of rankings of up to five items on all pairs."""
    member = np.array([[x in pair for x in range(5)] for pair in [(a, b) for a in range(5) for b in range(a)]])
    cells = Cells(member)
    program = OrderingProgram(cells, closed(5, []))
    for _ in range(10):
        cost = rng.normal(size=cells.shape)
        types = np.array([type_of_order(cells, order) for order in orders(5)])
        true = cost[np.arange(len(member)), types].sum(axis=1).min()
        assert program.relax(by_item(cells, cost)).bound == pytest.approx(true, abs=1e-11)


def test_bounds_without_time(rng):
    cells = random_cells(rng, 6, 10)
    cost = some_prices(rng, cells)
    assert list(Bounder(rf.RandomUtility(), cells, TINY).bounds(cost, clock() - 1)) == []
    assert OrderingProgram(cells, closed(6, [])).relax(by_item(cells, cost), clock() - 1) is None


@settings(max_examples=15)
@given(
    st.integers(0, 10**6),
    st.integers(3, 7),
    st.integers(3, 14),
    st.booleans(),
    st.booleans(),
    st.sampled_from([[], PAIRS]),
)
def test_no_split_is_above_the_optimum(seed, n, m, partly, cone, pairs):
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in pairs if max(pair) < n]
    cells = random_cells(rng, n, m, partly)
    target, weights = random_tables(rng, cells, weighted=True)
    model = rf.RandomUtility(pairs)
    exact = solve_one(GraphGeometry(model, cells, cone=cone), target, weights).certificate
    split = Split(model, cells, Problem(target, weights, cone), 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_module, "SPLIT_LIMIT", Limit(nodes=4))
        values = list(split.bounds(None, 1))
    assert max(values) <= exact.objective * (1 + 1e-9) + 1e-12
    assert max(values) >= values[0]
    # With room for all menus in one group the bound is exact, up to the gap of a group.
    values = list(Split(model, cells, Problem(target, weights, cone), 0).bounds(None, 1))
    assert max(values) == pytest.approx(exact.objective, rel=3e-3, abs=1e-12)


def test_split_of_a_cycle():
    member = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], bool)
    cells = Cells(member)
    target, weights = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]]), np.ones((3, 2))
    exact = solve_one(GraphGeometry(rf.RandomUtility(), cells), target, weights).certificate.objective
    assert exact == pytest.approx(0.7**2 / 3)  # y(0, 1) + y(1, 2) + y(2, 0) = 2.7 instead of 2
    values = list(Split(rf.RandomUtility(), cells, Problem(target, weights), 0).bounds(None, 1))
    assert max(values) == pytest.approx(exact, rel=2e-3)
    assert max(values) <= exact * (1 + 1e-12)


def solver_for(cells, model, limit=TINY):
    return BoundedSolver(SearchPrices(cells, model.known(cells.items)), Bounder(model, cells, limit))


@settings(max_examples=12)
@given(
    st.integers(0, 10**6),
    st.integers(3, 8),
    st.integers(2, 14),
    st.booleans(),
    st.booleans(),
    st.sampled_from([[], [(0, 1)], [(0, 2), (2, 1)]]),
    st.sampled_from([TINY, Limit(nodes=10_000)]),
)
def test_objective_is_that_of_the_graph_within_the_gaps(seed, n, m, partly, cone, pairs, limit):
    rng = np.random.default_rng(seed)
    cells = random_cells(rng, n, m, partly)
    target, weights = random_tables(rng, cells, weighted=True)
    model = rf.RandomUtility(pairs)
    exact = solve_one(GraphGeometry(model, cells, cone=cone), target, weights, tol=1e-10).certificate
    found = solver_for(cells, model, limit).solve(Problem(target, weights, cone), Stop(1e-9))
    optimum = exact.objective - exact.gap, exact.objective
    rounding = 1e-12 * max(exact.size, 1.0)
    assert found.certificate.objective >= optimum[0] - rounding
    assert found.certificate.objective - found.certificate.gap <= optimum[1] + rounding
    assert found.reason in ("done", "bounded", "stalled")
    assert found.certificate.objective == pytest.approx(exact.objective, rel=1e-6, abs=1e-9)
    model.orders(cells, found.types)  # raises where one is no ranking of the model


def test_only_upper_bounds():
    data = small_data()
    geometry = BoundedGeometry(rf.RandomUtility(), Observations(data).cells)
    target = geometry.cells.to_table(np.nan_to_num(data.frequencies))
    weights = geometry.cells.to_table(np.ones(data.counts.shape))
    found = solve_one(geometry, target, weights, only_upper=True).certificate
    assert found.gap == found.objective
    point = geometry.inner_point()
    assert point.sum(axis=1) == pytest.approx(1)
    assert np.abs(point[:, :3] - 1 / 3).max() < 0.05


def searched(monkeypatch, looks, deadline=None, threads=1):
    """What a search of one problem finds, with so many looks between two checks of the clock."""
    monkeypatch.setattr(search_module, "_LOOKS_A_CALL", looks)
    rng = np.random.default_rng(3)
    cells = random_cells(rng, 8, 20, size=0.4)
    price = rng.normal(size=len(cells.place))
    start = random_orders(rng, 40, 8, closed(8, PAIRS))
    kicks = rng.random((40, 3, 2 * KICK))
    found = find_cheap(make_board(cells, closed(8, PAIRS)), price, start, kicks, threads, deadline)
    return cells, price, start, found


def test_a_search_in_pieces_is_the_same_search(monkeypatch):
    *_, whole, found = searched(monkeypatch, 1 << 24)
    *_, pieces, again = searched(monkeypatch, 1)
    np.testing.assert_array_equal(whole, pieces)
    for a, b in zip(found, again, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_that_is_late_ends_with_what_it_has(monkeypatch, threads):
    cells, price, _, (types, prices) = searched(monkeypatch, 1, clock() - 1, threads)
    assert 0 < len(types) < 40
    for row, own in zip(types, prices, strict=True):
        cell = [next(c for c in range(*cells.offered.start[j : j + 2]) if cells.place[c] == row[j]) for j in range(20)]
        assert own == pytest.approx(price[cell].sum())
    assert GraphGeometry(rf.RandomUtility(PAIRS), cells).count_foreign(types) == 0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_bounds_that_are_late_are_bounds(seed):
    rng = np.random.default_rng(seed)
    cells = random_cells(rng, 5, 7, size=0.4)
    cost = some_prices(rng, cells)
    model = rf.RandomUtility()
    true = min(plain_price(cells, by_item(cells, cost), order) for order in orders(5))
    late = bound_groups(model, cells, cost, TINY, clock() - 1)
    assert late.bound <= true + 1e-12
    assert not late.exact or late.bound == pytest.approx(true)
    assert largest_group(model, cells, np.arange(7), TINY._replace(deadline=clock() - 1), 7) is None
    problem = Problem(np.where(cells.filled, 0.3, 0.0), cells.filled.astype(float), False)
    assert list(Split(model, cells, problem, 0).bounds(clock() - 1, 1)) == []


def test_parts_have_their_own_items_and_preferences():
    """Groups of menus are searched without the items of the others; what is found is that of the whole."""
    member = np.zeros((6, 9), bool)
    for row, menu in zip(member, [(0, 1), (1, 2), (0, 2), (4, 5, 6), (4, 6), (5, 6)], strict=True):
        row[list(menu)] = True
    cells = Cells(member)
    model = rf.RandomUtility([(0, 8), (8, 1), (6, 5)])
    geometry = BoundedGeometry(model, cells)
    assert len(geometry.parts) == 2
    rng = np.random.default_rng(0)
    target = np.where(cells.filled, rng.random(cells.shape), 0.0)
    found, exact = (own.solve(target[None], Stop(1e-9)) for own in (geometry, GraphGeometry(model, cells)))
    assert found.objective[0] == pytest.approx(exact.objective[0], rel=1e-7)
    assert found.gap[0] <= 1e-8 * found.objective[0]
    assert geometry.workspace_of([None, None], 0).prices.cells.n_items == 3
    assert geometry.workspace_of([None, None], 1).prices.known.table(3).tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0]]


def test_parts_that_the_time_did_not_reach_have_a_type():
    member = np.zeros((400, 800), bool)
    member[np.arange(400), 2 * np.arange(400)] = member[np.arange(400), 2 * np.arange(400) + 1] = True
    for geometry in (
        BoundedGeometry(rf.RandomUtility(), Cells(member)),
        GraphGeometry(rf.RandomUtility(), Cells(member)),
    ):
        fits = geometry.solve(np.full((1, 400, 2), 0.5), Stop(1e-9), resources=Resources(1, clock() - 1))
        assert fits.reasons == ["max_seconds"]
        assert sum(one.rounds == 0 for one in fits.parts[0]) >= 399
        assert fits.objective[0] == pytest.approx(0.25 * 400, rel=0.01)
        assert fits.gap[0] >= fits.objective[0] * (1 - 1e-12)


def three_and_more(seed, n=5):
    """Some menus of three and more items with random shares."""
    rng = np.random.default_rng(seed)
    every = [menu for size in (2, 3, 4) for menu in combinations(range(n), size)]
    menus = [every[k] for k in rng.choice(len(every), 8, replace=False)]
    menus = [menu for menu in menus if len(menu) > 2] + menus[:2]
    counts = {menu: dict(zip(menu, rng.dirichlet(np.full(len(menu), 0.5)).tolist(), strict=True)) for menu in menus}
    return rf.ChoiceData.from_counts(counts, items=range(n))


@pytest.mark.parametrize("seed", range(6))
def test_pairs_within_menus_bound_the_distance(seed):
    data = three_and_more(seed)
    cells = Cells.of_menus(data.offered, None, data.items)
    target, weights = cells.to_table(data.frequencies), np.where(cells.filled, 1.0, 0.0)
    found = PairTables(cells).project(target, weights)
    exact = rf.project(data, route="graph")
    assert 0 < found.bound <= exact.objective + 1e-9
    assert (found.table.sum(axis=1)[(weights > 0).any(axis=1)] >= 1 - 1e-3).all()
    assert PairTables(cells).project(target, weights, clock() - 1).bound == 0.0  # no time, and nothing is proven
    split = Split(rf.RandomUtility(), cells, Problem(target, weights), 0, PairTables(cells))
    better = list(split.bounds(None, 1))
    plain = list(Split(rf.RandomUtility(), cells, Problem(target, weights), 0).bounds(None, 1))
    assert better[0] != plain[0]  # the pairs count among the cuts
    assert max(better) <= exact.objective + 1e-9


def test_on_three_items_they_say_everything():
    counts = {("a", "b"): (8, 2), ("b", "c"): (7, 3), ("a", "c"): (2, 8), ("a", "b", "c"): (1, 8, 1)}
    data = rf.ChoiceData.from_counts({menu: dict(zip(menu, row, strict=True)) for menu, row in counts.items()})
    cells = Cells.of_menus(data.offered, None, data.items)
    found = PairTables(cells).project(cells.to_table(data.frequencies), np.where(cells.filled, 1.0, 0.0))
    assert found.bound == pytest.approx(rf.project(data).objective, rel=1e-4)


def test_rows_of_pairs_within_menus_are_checked_and_cells_without_a_weight_are_free():
    data = three_and_more(1)
    counts = data.count.copy()
    counts[[0, 5]] = np.nan
    partly = data.replace(counts=counts)
    cells = Cells.of_menus(data.offered, ~np.isnan(counts), data.items)
    tables = PairTables(cells)
    target, weights = cells.to_table(partly.frequencies), np.where(cells.item >= 0, 1.0, 0.0)
    weights[2] = 0.0
    found = tables.project(target, weights)
    exact = rf.project(partly, np.nan_to_num(cells.to_array(weights)), route="graph")
    assert 0 <= found.bound <= exact.objective + 1e-9
    tables.check(tables.base)
    for row in ([0, 2], [2 * tables.n_pairs, 2 * tables.n_pairs + 2], [1, 2 * tables.n_pairs]):
        with pytest.raises(ValueError, match=r"row is none|follow"):
            tables.check(Cycles(np.array([0, 2]), np.array(row, np.int32)))


def test_the_first_bound_needs_no_search():
    data = simulate.random_menus(30, 60, 3, draws=5, seed=0)
    cells = Cells.of_menus(data.offered, None, data.items)
    solver = BoundedSolver(SearchPrices(cells, NOTHING_KNOWN), Bounder(rf.RandomUtility(), cells))
    problem = Problem(cells.to_table(data.frequencies), np.where(cells.filled, 1.0, 0.0))
    bound = solver.pair_bound(problem, Stop(1e-9))
    assert bound == pytest.approx(PairTables(cells).project(*problem[:2]).bound)
    assert bound > 0.05
    assert solver.pair_bound(problem._replace(cone=True), Stop(1e-9)) == 0.0


def test_menus_that_differ_by_one_item_bound_each_other():
    menus = [(0, 1, 2), (0, 1, 3), (0, 1, 2, 4), (0, 1, 2, 3), (1, 2, 3), (0, 1), (0, 2)]
    data = rf.ChoiceData.from_counts({menu: dict.fromkeys(menu, 1) for menu in menus})
    offered, found = data.offered, find_neighbours(data.offered)
    orders = np.array(list(permutations(range(5))))
    place = np.argsort(orders, axis=1)
    taken = np.empty((len(orders), len(offered.item)), bool)
    for j in range(len(offered)):
        own = slice(offered.start[j], offered.start[j + 1])
        best = place[:, offered.item[own]]
        taken[:, own] = best == best.min(axis=1, keepdims=True)
    above = (place[:, found.above] < place[:, found.below]) & (found.above >= 0)
    assert (taken[:, found.less] <= taken[:, found.more] | above).all()  # in every order
    assert (taken[:, found.less] & ~taken[:, found.more]).any(axis=0)[found.above >= 0].all()  # none without its pair
    assert (found.above == -1).sum() == 4 * 3  # a menu of three in one of four: regularity
    assert len(found.less) == 4 * 6 + 3 * 6 + 2 * 4  # and back; pairs of triples; both menus of four


def test_inequalities_between_menus_raise_the_bound():
    counts = {("a", "b", "c"): (8, 1, 1), ("a", "b", "d"): (1, 1, 8), ("b", "c", "d"): (1, 8, 1)}
    data = rf.ChoiceData.from_counts({menu: dict(zip(menu, row, strict=True)) for menu, row in counts.items()})
    cells = Cells.of_menus(data.offered, None, data.items)
    problem = cells.to_table(data.frequencies), np.where(cells.filled, 1.0, 0.0)
    tables = PairTables(cells)
    found = tables.project(*problem).bound
    assert 0.05 < found <= rf.project(data, route="graph").objective + 1e-9
    tables = PairTables(cells)
    sizes = tables.base.sizes
    tables.base = tables.base.take(np.flatnonzero((sizes == 2) | (np.arange(len(sizes)) >= len(sizes) - 3)))
    assert tables.project(*problem).bound < 0.9 * found
