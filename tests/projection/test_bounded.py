"""Projections by bounds alone: what is certified, statuses, time limits, saved fits, and what needs a graph."""

import time
from collections import OrderedDict

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.patience import limited
from rumflow.inference.restricted import Restricted
from rumflow.inference.sample import build_sample
from rumflow.models import open_menus
from rumflow.models.open_menus import Limit
from rumflow.solvers import routes
from rumflow.solvers.bounded.bound import Bound, Bounder
from rumflow.solvers.bounded.groups import bound_groups
from rumflow.solvers.bounded.solve import BoundedSolver
from rumflow.solvers.bounded.split import Split
from tests.reference.bounded_cases import small_data


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
    assert len(fit.geometry.parts) == 2
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
        yield Bound(true.bound - 0.25, true.orders[:0])

    monkeypatch.setattr(Bounder, "bounds", bounds)
    monkeypatch.setattr(Bounder, "branch", lambda *_: iter(()))
    monkeypatch.setattr(Split, "bounds", lambda *_: iter(()))
    fit = rf.project(data, route="bounded", throw=False)
    assert fit.objective == pytest.approx(optimum, rel=1e-9)
    assert optimum > 0.25
    assert fit.gap == pytest.approx(0.25, rel=1e-6)


def test_is_rum_says_nothing_that_is_not_certified(monkeypatch):
    data = rf.simulate.random_menus(26, 40, 2, seed=0)
    monkeypatch.setattr(routes, "DEFAULT_LIMIT", Limit(nodes=1000))
    assert rf.is_rum(data)
    monkeypatch.setattr(Bounder, "bounds", lambda *_: iter(()))
    monkeypatch.setattr(Bounder, "branch", lambda *_: iter(()))
    monkeypatch.setattr(Split, "bounds", lambda *_: iter(()))
    monkeypatch.setattr(BoundedSolver, "pair_bound", lambda *_: 0.0)
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
    with pytest.raises(rf.NotConvergedError, match="not certified to be above"):
        rf.is_rum(cycle)


@pytest.mark.parametrize("seconds", [1e-9, 0.1])
def test_time_limit(hard, seconds):
    """At once, and in the middle of the search on most machines."""
    data, optimum = hard
    fit = rf.project(data, route="bounded", max_seconds=seconds, throw=False)
    assert fit.status is rf.Status.MAX_SECONDS or seconds > 1e-9
    assert fit.objective >= optimum * (1 - 1e-9)
    assert fit.objective - fit.gap <= optimum


def test_progress_says_what_is_certified(hard):
    data, optimum = hard
    seen = []
    fit = rf.project(data, route="bounded", throw=False, progress=seen.append)
    assert all(now.objective - now.gap <= optimum * (1 + 1e-9) for now in seen)
    assert seen[0].gap < seen[0].objective  # the first bound is there before the search
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
    assert 0 < fit.objective - fit.gap < optimum  # the first bound is there before the search


def test_saved_fits_go_on(hard, tmp_path):
    data, _ = hard
    early = rf.project(data, route="bounded", max_seconds=0.1, throw=False)
    early.save(tmp_path / "fit.npz")
    loaded = rf.load(tmp_path / "fit.npz")
    assert loaded.method == "bounded"
    assert not loaded.geometry.exact
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
    monkeypatch.setattr(routes, "DEFAULT_LIMIT", Limit(nodes=1000))
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


def test_what_needs_a_graph_refuses():
    data = small_data()
    fit = rf.project(data, route="bounded")
    for derivative in (fit.jvp, fit.vjp):
        with pytest.raises(rf.InputError, match=r"route.'bounded'"):
            derivative(np.zeros(data.membership.shape))
    with pytest.raises(rf.InputError, match=r"route.'bounded'"):
        rf.bounds(fit, (0, 1, 2))
    for call in (rf.fit_likelihood, rf.rationalizable_share, lambda data, **more: rf.bounds(data, (0, 1), **more)):
        with pytest.raises(rf.InputError, match=r"route.'bounded'"):
            call(data, route="bounded")
    with pytest.raises(rf.InputError, match="single-peaked preferences"):
        rf.project(data, route="bounded", model=rf.SinglePeaked(data.items))
    with pytest.raises(rf.InputError, match="too large"):
        _ = fit.geometry.graphs


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


def sparse_pairs(n, m):
    """A data set of that many items which hang together: no graph, and minutes of search."""
    return rf.simulate.random_menus(n, m, 2, draws=5, seed=0)


@pytest.mark.parametrize(("n", "m"), [(600, 800), (1000, 3000), (3000, 4000)])
def test_a_limit_of_time_holds_where_a_search_would_take_minutes(n, m):
    data = sparse_pairs(n, m)
    rf.project(sparse_pairs(40, 200), max_seconds=1, throw=False)  # kernels
    begin = time.process_time()
    fit = rf.project(data, max_seconds=0.5, throw=False)
    assert time.process_time() - begin < 15
    assert fit.status is rf.Status.MAX_SECONDS
    assert 0 <= fit.objective - fit.gap <= fit.objective
    assert np.nansum(fit.fitted, axis=1) == pytest.approx(np.ones(m))


def test_a_limit_of_time_is_one_for_the_graph_too():
    """44 menus of three of 24 items: a graph of a million nodes."""
    data = rf.simulate.random_menus(24, 44, 3, draws=30, seed=0)
    with pytest.raises(rf.InputError, match="larger than can be built in the time that is left of max_seconds"):
        rf.project(data, max_seconds=0.01, route="graph")


@pytest.mark.parametrize("weights", [None, "inverse-variance"])
def test_ctrl_c_while_a_graph_is_built_leaves_a_fit(monkeypatch, weights):
    def interrupt(*_):
        raise KeyboardInterrupt

    data = rf.simulate.random_menus(12, 20, 3, seed=0)
    best = rf.project(data, weights)
    monkeypatch.setattr(open_menus, "expand", interrupt)
    monkeypatch.setattr(routes, "_kept", OrderedDict())
    fit = rf.project(data, weights, throw=False)
    assert fit.status is rf.Status.INTERRUPTED
    assert fit.objective - fit.gap <= best.objective <= fit.objective
    with pytest.raises(rf.NotConvergedError) as error:
        rf.project(data, weights)
    assert error.value.interrupted
    assert error.value.fit.objective == fit.objective
    known = rf.project(data, weights, model=rf.RandomUtility([(0, 1)]), throw=False)
    assert known.status is rf.Status.INTERRUPTED
    assert known.rankings.orders[0].tolist().index(0) < known.rankings.orders[0].tolist().index(1)
    graph = rf.project(data, weights, route="graph", throw=False)  # as on the lattice, where it comes before the start
    assert graph.status is rf.Status.INTERRUPTED


def drawn_pairs(n, m, draws, seed=0):
    """Pairs of a Bradley-Terry population."""
    rng = np.random.default_rng(seed)
    every = np.argwhere(np.triu(np.ones((n, n)), 1))
    worth = rng.normal(size=n)
    counts = {}
    for a, b in every[rng.choice(len(every), m, replace=False)].tolist():
        wins = int(rng.binomial(draws, 1 / (1 + np.exp(worth[b] - worth[a]))))
        counts[a, b] = {a: wins, b: draws - wins}
    return rf.ChoiceData.from_counts(counts, items=range(n))


def test_on_pairs_the_inequalities_are_the_bound_and_a_mixture_reaches_it():
    data = drawn_pairs(30, 200, 5)
    fit = rf.project(data, route="bounded")
    assert fit.status is rf.Status.OPTIMAL
    assert fit.distance == pytest.approx(rf.project(data, model=rf.TriangleInequalities()).distance, rel=1e-8)
    assert fit.geometry.count_foreign(fit.mixture[0]) == 0


def test_on_pairs_a_limit_of_time_leaves_both_bounds(tmp_path):
    data = drawn_pairs(150, 900, 5)
    fit = rf.project(data, route="bounded", max_seconds=1, throw=False)
    assert fit.seconds < 20  # 1 s was asked for
    lower = rf.project(data, model=rf.TriangleInequalities()).distance
    assert 0.1 < fit.lower_distance <= lower * (1 + 1e-9) <= fit.distance * (1 + 1e-8)
    fit.save(tmp_path / "fit")
    assert rf.load(tmp_path / "fit").lower_distance == pytest.approx(fit.lower_distance)


def test_blocks_of_pairs_are_fitted_one_by_one():
    """Two cycles that share an item, and two pairs that hang on them."""
    wins = {(0, 1): 9, (1, 2): 9, (0, 2): 1, (2, 3): 8, (3, 4): 9, (2, 4): 0, (4, 5): 10, (6, 7): 3}
    data = rf.ChoiceData.from_counts({(a, b): {a: k, b: 10 - k} for (a, b), k in wins.items()}, items=range(8))
    fit, graph = rf.project(data, "counts", route="bounded"), rf.project(data, "counts", route="graph")
    assert sorted(map(len, fit.geometry.menus)) == [1, 1, 3, 3]
    assert fit.distance == pytest.approx(graph.distance)
    assert fit.fitted == pytest.approx(graph.fitted, abs=1e-6, nan_ok=True)
    assert fit.geometry.count_foreign(fit.mixture[0]) == 0
    known = rf.RandomUtility(above=[(7, 6)])
    fit, graph = rf.project(data, model=known, route="bounded"), rf.project(data, model=known, route="graph")
    assert fit.distance == pytest.approx(graph.distance)
    assert fit.probabilities([6, 7])[7] == pytest.approx(1.0)


def test_time_that_is_up_between_groups_is_not_blamed_on_a_pair():
    data = rf.ChoiceData.from_counts({(2 * i, 2 * i + 1): {2 * i: 1, 2 * i + 1: 2} for i in range(30)})
    with (
        limited(-np.inf),
        pytest.raises(rf.InputError, match="time was up before all graphs of 30 groups of menus were built"),
    ):
        rf.project(data, route="graph")
