"""Random utility without a graph: local search against a plain twin, bounds against enumeration, fits against the graph route."""

import json
import pickle
import time
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.graphs import orders, random_cells, random_tables, respects, type_of_order

import rumflow as rf
from rumflow.cli.main import main
from rumflow.core.compile import clock
from rumflow.core.graph_cells import Cells
from rumflow.core.problem import Problem
from rumflow.inference import test as test_module
from rumflow.inference.jobs import Collected
from rumflow.inference.restricted import Restricted
from rumflow.inference.sample import build_sample
from rumflow.models.open_menus import Limit
from rumflow.solvers import dispatch
from rumflow.solvers.bounded import bound as bounds_module
from rumflow.solvers.bounded import split as split_module
from rumflow.solvers.bounded.bound import Bound, Bounder
from rumflow.solvers.bounded.groups import bound_groups
from rumflow.solvers.bounded.ordering import OrderingProgram
from rumflow.solvers.bounded.prices import SearchPrices
from rumflow.solvers.bounded.projector import BoundedProjector
from rumflow.solvers.bounded.search import KICK, find_cheap, make_board, random_orders
from rumflow.solvers.bounded.solve import BoundedSolver
from rumflow.solvers.bounded.split import Split
from rumflow.solvers.graphs import Effort, ModelProjector

TINY = Limit(nodes=2)
PAIRS = [(0, 2), (2, 4), (1, 3)]


def closed(n, pairs):
    return rf.RandomUtility(pairs).preferences(tuple(range(n)))


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
        start = random_orders(rng, 3, closed(6, pairs))
        assert all(respects(pairs)(list(order)) for order in start)
        kicks = rng.random((3, 4, 2 * KICK))
        improved = start.copy()
        types, prices = find_cheap(make_board(cells, closed(6, pairs)), price, improved, kicks, 1)
        for s in range(3):
            expected, order = plain_search(cells, price, start[s].tolist(), kicks[s], pairs)
            assert prices[5 * s : 5 * s + 5].tolist() == expected
            assert improved[s].tolist() == order
        for row, value in zip(types, prices, strict=True):
            assert cost[np.arange(len(row)), row].sum() == value


def test_random_rankings_respect_known_preferences_and_differ(rng):
    found = random_orders(rng, 300, closed(5, PAIRS))
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
    exact = ModelProjector(model, cells, cone=cone).solve(target, weights).certificate
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
    exact = ModelProjector(rf.RandomUtility(), cells).solve(target, weights).certificate.objective
    assert exact == pytest.approx(0.7**2 / 3)  # y(0, 1) + y(1, 2) + y(2, 0) = 2.7 instead of 2
    values = list(Split(rf.RandomUtility(), cells, Problem(target, weights), 0).bounds(None, 1))
    assert max(values) == pytest.approx(exact, rel=2e-3)
    assert max(values) <= exact * (1 + 1e-12)


def solver_for(cells, model, limit=TINY):
    return BoundedSolver(SearchPrices(cells, model.preferences(cells.items)), Bounder(model, cells, limit))


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
    exact = ModelProjector(model, cells, cone=cone).solve(target, weights, tol=1e-10).certificate
    found = solver_for(cells, model, limit).solve(Problem(target, weights, cone), tol=1e-9, threads=1)
    optimum = exact.objective - exact.gap, exact.objective
    rounding = 1e-12 * max(exact.size, 1.0)
    assert found.certificate.objective >= optimum[0] - rounding
    assert found.certificate.objective - found.certificate.gap <= optimum[1] + rounding
    assert found.reason in ("done", "bounded", "stalled")
    assert found.certificate.objective == pytest.approx(exact.objective, rel=1e-6, abs=1e-9)
    model.orders(cells, found.types)  # raises where one is no ranking of the model


def small_data(seed=0, n=12, m=25, size=3, draws=10):
    return rf.simulate.random_menus(n, m, size, draws=draws, seed=seed)


@pytest.mark.parametrize("weights", [None, "counts"])
@pytest.mark.parametrize("model", [None, rf.RandomUtility([(0, 1), (3, 2)])])
def test_project(weights, model):
    data = small_data()
    fit = rf.project(data, weights, route="bounded", model=model)
    graph = rf.project(data, weights, route="graph", model=model)
    assert fit.method == "bounded"
    assert fit.status is rf.Status.OPTIMAL
    assert abs(fit.objective - graph.objective) <= fit.gap + graph.gap
    assert np.nanmax(np.abs(fit.fitted - graph.fitted)) < 1e-6
    assert "method='bounded'" in repr(fit)
    assert f"gap={fit.gap:.2g}" in repr(fit)
    assert fit.types.shape == (len(fit.rankings.weights), len(data.menus))
    menu = data.menus[3]
    assert sum(fit.probabilities(menu).values()) == pytest.approx(1)
    assert fit.score(data).squared_error == pytest.approx(graph.score(data).squared_error, rel=1e-6)


def test_menus_that_fall_apart():
    a, b = small_data(1, 6, 8, 3), small_data(2, 6, 8, 3)
    member = np.zeros((16, 12), bool)
    member[:8, :6], member[8:, 6:] = a.membership, b.membership
    counts = np.full(member.shape, np.nan)
    counts[:8, :6], counts[8:, 6:] = a.counts, b.counts
    data = rf.ChoiceData(tuple(range(12)), member, counts, np.concatenate([a.totals, b.totals]))
    fit, graph = rf.project(data, route="bounded"), rf.project(data, route="graph")
    assert len(fit.projector.parts) == 2
    assert fit.status is rf.Status.OPTIMAL
    assert abs(fit.objective - graph.objective) <= fit.gap + graph.gap
    assert fit.certificate.menu_error < 1e-12


def test_seeds_and_threads():
    data = small_data()
    first = rf.project(data, route="bounded", seed=1, threads=1)
    again = rf.project(data, route="bounded", seed=1, threads=2)
    other = rf.project(data, route="bounded", seed=2, threads=1)
    assert np.array_equal(first.mixture[0], again.mixture[0])
    assert np.array_equal(first.mixture[1], again.mixture[1])
    assert first.gap == again.gap
    assert other.objective == pytest.approx(first.objective, rel=1e-8)
    with pytest.raises(rf.InputError, match="seed"):
        rf.project(data, route="bounded", seed=-1)


@pytest.fixture(scope="module")
def random_shares():
    """Shares that are no sample of anything, and their objective on the graph route."""
    member = rf.simulate.random_menus(10, 45, 4, seed=3).membership
    shares = np.random.default_rng(5).exponential(size=member.shape) * member
    shares = np.where(member, shares / shares.sum(axis=1, keepdims=True), np.nan)
    data = rf.ChoiceData(tuple("abcdefghij"), member, shares, np.ones(len(member)))
    return data, rf.project(data, route="graph").objective


@pytest.fixture
def hard(random_shares, monkeypatch):
    """The same with bounds that leave a gap: no graph of a group, no branch and cut."""
    keep = Bounder.__init__
    monkeypatch.setattr(Bounder, "__init__", lambda self, model, cells: keep(self, model, cells, TINY))
    monkeypatch.setattr(bounds_module, "BRANCH_SECONDS", 0.0)
    monkeypatch.setattr(split_module, "SPLIT_LIMIT", Limit(nodes=100))
    monkeypatch.setattr(split_module, "_MOST_CUTS", 8)
    return random_shares


def test_what_is_not_certified_is_not_called_optimal(hard):
    data, optimum = hard
    fit = rf.project(data, route="bounded", throw=False)
    assert fit.status is rf.Status.BOUNDED
    assert fit.gap > 1e-3 * fit.objective
    assert fit.objective - fit.gap <= optimum * (1 + 1e-9)
    assert fit.objective == pytest.approx(optimum, rel=1e-6)
    with pytest.raises(rf.NotConvergedError, match="too large") as caught:
        rf.project(data, route="bounded")
    assert caught.value.fit.objective == fit.objective
    assert rf.project(data, route="bounded", tol=0.999).status is rf.Status.OPTIMAL


def test_the_gap_is_what_the_bound_leaves(random_shares, monkeypatch):
    """A bound that is 0.25 too low on the price of the cheapest type leaves 0.25, whatever the objective."""
    data, optimum = random_shares

    def bounds(self, cost, deadline=None):
        true = bound_groups(self.model, self.cells, cost)
        assert true.exact
        yield Bound(true.bound - 0.25, true.orders[:0], "groups")

    monkeypatch.setattr(Bounder, "bounds", bounds)
    monkeypatch.setattr(Bounder, "branch", lambda *_: iter(()))
    monkeypatch.setattr(Split, "bounds", lambda *_: iter(()))
    fit = rf.project(data, route="bounded", throw=False)
    assert fit.objective == pytest.approx(optimum, rel=1e-9)
    assert optimum > 0.25
    assert fit.gap == pytest.approx(0.25, rel=1e-6)


def test_is_rum_says_nothing_that_is_not_certified(monkeypatch):
    data = rf.simulate.random_menus(26, 40, 2, seed=0)
    monkeypatch.setattr(dispatch, "DEFAULT_LIMIT", Limit(nodes=1000))
    assert rf.is_rum(data)
    monkeypatch.setattr(Bounder, "bounds", lambda *_: iter(()))
    monkeypatch.setattr(Bounder, "branch", lambda *_: iter(()))
    monkeypatch.setattr(Split, "bounds", lambda *_: iter(()))
    around = np.zeros((3, 26), bool)
    around[[0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 0, 2]] = True
    counts = np.where(around, 0.0, np.nan)
    counts[[0, 1, 2], [0, 1, 2]] = 10.0  # a above b above c above a
    other = ~(data.membership[:, None] == around).all(axis=2).any(axis=1)
    cycle = rf.ChoiceData(
        data.items,
        np.vstack([around, data.membership[other]]),
        np.vstack([counts, data.counts[other]]),
        np.concatenate([np.full(3, 10.0), data.totals[other]]),
    )
    with pytest.raises(rf.NotConvergedError, match="nothing says"):
        rf.is_rum(cycle)


def test_time_limit(hard):
    data, optimum = hard
    begin = time.perf_counter()
    fit = rf.project(data, route="bounded", max_seconds=0.1, throw=False)
    assert time.perf_counter() - begin < 5
    assert fit.status is rf.Status.MAX_SECONDS
    assert fit.objective >= optimum * (1 - 1e-9)
    assert fit.objective - fit.gap <= optimum


def test_progress_says_what_is_certified(hard):
    data, optimum = hard
    seen = []
    fit = rf.project(data, route="bounded", throw=False, progress=seen.append)
    assert all(now.objective - now.gap <= optimum * (1 + 1e-9) for now in seen)
    assert seen[0].gap == seen[0].objective
    assert seen[-1].gap == pytest.approx(fit.gap)
    assert [now.round for now in seen] == sorted(now.round for now in seen)


@pytest.mark.parametrize("when", ["search", "bound"])
def test_interruption_keeps_the_best_point(hard, monkeypatch, when):
    data, optimum = hard

    def stop(now):
        if now.round == 5:
            raise KeyboardInterrupt

    def stop_bound(*_, **__):
        raise KeyboardInterrupt

    if when == "bound":
        monkeypatch.setattr(Bounder, "bounds", stop_bound)
    fit = rf.project(data, route="bounded", throw=False, progress=stop if when == "search" else False)
    assert fit.status is rf.Status.INTERRUPTED
    assert fit.objective >= optimum * (1 - 1e-9)
    assert fit.gap == fit.objective  # nothing was certified yet


def test_saved_fits_go_on(hard, tmp_path):
    data, _ = hard
    early = rf.project(data, route="bounded", max_seconds=0.1, throw=False)
    early.save(tmp_path / "fit.npz")
    loaded = rf.load(tmp_path / "fit.npz")
    assert loaded.method == "bounded"
    assert loaded.projector.bounded
    assert loaded.objective == pytest.approx(early.objective, rel=1e-12)
    assert loaded.gap == pytest.approx(early.gap, rel=1e-9)
    later = rf.project(data, route="bounded", start=loaded, throw=False)
    assert later.objective <= loaded.objective
    assert later.objective - later.gap >= loaded.objective - loaded.gap - 1e-12
    known = later.objective - later.gap
    # A bound that is known stays, where data and model are the same; and only there.
    again = rf.project(data, route="bounded", start=later, max_seconds=1e-6, throw=False)
    assert again.objective - again.gap >= known - 1e-12
    other = rf.project(data, "counts", route="bounded", start=later, max_seconds=1e-6, throw=False, model=None)
    assert other.status in (rf.Status.MAX_SECONDS, rf.Status.BOUNDED)
    # That of an exact fit as well.
    exact = rf.project(data, route="bounded", start=rf.project(data, route="graph"), max_seconds=1e-6)
    assert exact.objective == pytest.approx(later.objective, rel=1e-9)


def test_route_where_the_graph_is_too_large(monkeypatch):
    data = rf.simulate.random_menus(26, 60, 2, seed=0)
    monkeypatch.setattr(dispatch, "DEFAULT_LIMIT", Limit(nodes=1000))
    cost = rf.estimate_cost(data)
    assert cost.route == "bounded"
    assert cost.nodes == cost.arcs == 0
    fit = rf.project(data)
    assert fit.method == "bounded"
    assert fit.status is rf.Status.OPTIMAL
    with pytest.raises(rf.InputError, match="larger than 1,000 nodes"):
        rf.project(data, route="graph")
    with pytest.raises(rf.InputError, match="larger than 1,000 nodes"):
        rf.rationalizable_share(data)
    with pytest.raises(rf.InputError, match="larger than 1,000 nodes"):
        rf.bounds(data, (0, 1, 2))
    with pytest.raises(rf.InputError, match="larger than 1,000 nodes"):
        rf.fit_likelihood(data)
    sample = build_sample(data, None, rf.Convention())
    with pytest.raises(rf.InputError, match="confidence: the graph"):
        Restricted(sample, data.membership[:1], np.where(data.membership[:1], 1.0, 0.0))


def test_layers_refuse(monkeypatch):
    pytest.importorskip("torch")
    from rumflow.torch import AxiomLayer

    monkeypatch.setattr(dispatch, "DEFAULT_LIMIT", Limit(nodes=1000))
    menus = rf.simulate.random_menus(26, 60, 2, seed=0).menus
    with pytest.raises(rf.InputError, match="larger than 1,000 nodes"):
        AxiomLayer(rf.RandomUtility(), menus, 26)


def test_what_needs_a_graph_refuses():
    data = small_data()
    fit = rf.project(data, route="bounded")
    for derivative in (fit.jvp, fit.vjp):
        with pytest.raises(rf.InputError, match="route 'bounded'"):
            derivative(np.zeros(data.membership.shape))
    with pytest.raises(rf.InputError, match="route 'bounded'"):
        rf.bounds(fit, (0, 1, 2))
    for call in (rf.fit_likelihood, rf.rationalizable_share, lambda data, **more: rf.bounds(data, (0, 1), **more)):
        with pytest.raises(rf.InputError, match="route='bounded'"):
            call(data, route="bounded")
    with pytest.raises(rf.InputError, match="SinglePeaked"):
        rf.project(data, route="bounded", model=rf.SinglePeaked(data.items))
    with pytest.raises(rf.InputError, match="too large"):
        _ = fit.projector.graphs


def test_starts_of_other_kinds():
    data = small_data()
    graph = rf.project(data, route="graph")
    fit = rf.project(data, route="bounded", start=graph)
    assert fit.objective == pytest.approx(graph.objective, rel=1e-9)
    assert rf.project(data, route="graph", start=fit).objective == pytest.approx(graph.objective, rel=1e-9)
    assert rf.project(data, route="bounded", start=graph.rankings).objective == pytest.approx(graph.objective, rel=1e-9)
    order = graph.rankings.orders[0]
    against = rf.RandomUtility([(int(order[1]), int(order[0]))])
    with pytest.raises(rf.InputError, match="not possible in"):
        rf.project(data, route="bounded", start=graph, model=against)


def test_only_upper_bounds():
    data = small_data()
    projector = BoundedProjector(rf.RandomUtility(), rf.projection.observed.observe(data).cells)
    target = projector.cells.to_table(np.nan_to_num(data.frequencies))
    weights = projector.cells.to_table(np.ones(data.counts.shape))
    found = projector.solve(target, weights, effort=Effort(only_upper=True)).certificate
    assert found.gap == found.objective
    point = projector.inner_point()
    assert point.sum(axis=1) == pytest.approx(1)
    assert np.abs(point[:, :3] - 1 / 3).max() < 0.05


def test_command_line(tmp_path, capsys):
    small_data().to_csv(tmp_path / "choices.csv")
    assert main(["project", str(tmp_path / "choices.csv"), "--route", "bounded"]) == 0
    shown = capsys.readouterr()
    assert "route bounded" in shown.out
    assert "optimal" in shown.out
    assert "rankings by search, and bounds" in shown.err
    assert main(["project", str(tmp_path / "choices.csv"), "--route", "bounded", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["method"] == "bounded"
    assert found["gap"] <= 1e-9 * found["objective"] + 1e-12
    limited = ["--max-seconds", "1e-6", "--tol", "1e-12"]
    assert main(["project", str(tmp_path / "choices.csv"), "--route", "bounded", *limited]) == 2
    assert "max_seconds" in capsys.readouterr().out


@pytest.mark.parametrize("convention", ["default", "kitamura-stoye"])
def test_the_test_is_that_of_the_graph_and_conservative(convention):
    data = small_data(draws=20)
    options = {"n_boot": 9, "seed": 3, "convention": convention, "tau": 0.1}
    exact = rf.rum_test(data, route="graph", **options)
    found = rf.rum_test(data, route="bounded", **options)
    assert found.bounded
    assert not exact.bounded
    assert found.pvalue >= exact.pvalue
    assert found.failed == 0
    assert found.statistic == pytest.approx(exact.statistic, rel=1e-6)
    assert found.null_distribution == pytest.approx(exact.null_distribution, rel=1e-5, abs=1e-9)
    assert "conservative" in found.summary()
    assert "conservative" not in exact.summary()
    again = rf.rum_test(data, route="bounded", threads=2, **options)
    assert np.array_equal(again.null_distribution, found.null_distribution)
    assert pickle.loads(pickle.dumps(found.sample.projector)).bounded  # as workers see it


@pytest.mark.parametrize("weights", ["counts", None])
def test_a_test_with_a_wide_gap(hard, monkeypatch, weights):
    """Replicates of all sizes up to twice the statistic: those count that reach the least that the statistic can be."""
    data, optimum = hard
    data = rf.ChoiceData(data.items, data.membership, np.round(1000 * data.counts), np.full(len(data.counts), 1000.0))
    unit = 2 * 1000 * (1 if weights == "counts" else len(data.counts))
    null = np.linspace(0.0, 2.0, 200) * unit * optimum
    made = Collected(null[None], np.ones((1, 200), bool), np.zeros(200, int))
    monkeypatch.setattr(test_module, "run", lambda *_, **__: [made])
    found = rf.rum_test(data, n_boot=200, seed=0, tau=0.1, route="bounded", weights=weights)
    exact = rf.rum_test(data, n_boot=200, seed=0, tau=0.1, route="graph", weights=weights)
    least = found.statistic - found.gap
    assert least < 0.95 * exact.statistic
    assert f"can be, {least:.6g}" in found.summary()
    assert found.pvalue == (1 + (null >= least * (1 - 1e-8)).sum()) / 201
    assert found.pvalue > exact.pvalue + 0.02


def test_a_test_with_known_preferences():
    data = small_data(draws=20)
    model = rf.RandomUtility([(0, 1), (3, 2)])
    found = rf.rum_test(data, n_boot=5, seed=3, route="bounded", model=model, tau=0.1)
    exact = rf.rum_test(data, n_boot=5, seed=3, route="graph", model=model, tau=0.1)
    assert found.statistic == pytest.approx(exact.statistic, rel=1e-6)
    assert np.abs(found.sample.centre - exact.sample.centre).max() < 0.3  # another inner point of the same model
