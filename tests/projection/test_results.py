"""What a fit offers on the lattice and on a graph: samples, types, labels, violations, and how far the data are at least."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.paths import orders_from_paths, paths_from_orders
from rumflow.models import random_utility
from tests.reference.incomplete import some_data


def test_samples_and_rankings():
    fit = rf.project(rf.simulate.noisy_rankings(5, seed=1))
    drawn = fit.sample(5000, seed=0)
    assert drawn.shape == (5000, 5)
    assert (np.sort(drawn, axis=1) == np.arange(5)).all()
    first = np.bincount(drawn[:, 0], minlength=5) / 5000
    assert first == pytest.approx(fit.rho[31], abs=0.05)
    orders = fit.rankings.orders
    assert (orders_from_paths(paths_from_orders(orders)) == orders).all()
    assert (np.diff(fit.rankings.weights) <= 0).all()


def test_samples_on_a_graph():
    """Rankings are drawn by their weights, the same ones for the same seed."""
    data = rf.simulate.random_menus(12, 8, 4, seed=1)
    fit = rf.project(data)
    assert fit.method == "graph"
    drawn = fit.sample(4000, seed=0)
    assert (drawn == fit.sample(4000, seed=0)).all()
    assert (drawn != fit.sample(4000, seed=1)).any()
    assert drawn.shape == (4000, 12)
    orders, weights = fit.rankings.orders, fit.rankings.weights
    shares = np.array([(drawn == order).all(axis=1).mean() for order in orders])
    assert shares.sum() == pytest.approx(1.0)
    assert shares == pytest.approx(weights, abs=0.04)
    for row, fitted in zip(fit.membership, fit.fitted, strict=True):
        taken = drawn[np.arange(4000), np.argmax(row[drawn], axis=1)]
        assert np.bincount(taken, minlength=12) / 4000 == pytest.approx(np.nan_to_num(fitted), abs=0.04)
    assert fit.sample(0).shape == (0, 12)
    with pytest.raises(rf.InputError, match="size=-1"):
        fit.sample(-1)


def test_types_without_rankings_have_no_samples():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}, ("a", "c"): {"a": 3, "c": 7}})
    fit = rf.project(data, model=rf.Types([["a", "c"], ["b", "a"]]))
    with pytest.raises(rf.InputError, match="have no rankings"):
        fit.sample(3)


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_the_least_distance(route):
    data = rf.simulate.random_menus(10, 30, 4, draws=20, seed=0)
    best = rf.project(data, route=route)
    assert best.lower_distance == best.distance
    early = rf.project(data, route=route, max_seconds=1e-6, throw=False)
    assert early.status is rf.Status.MAX_SECONDS
    assert early.lower_distance == pytest.approx(np.sqrt(2 * max(early.objective - early.gap, 0.0)))
    assert early.lower_distance <= best.distance <= early.distance
    assert early.lower_distance < early.distance


def test_the_least_distance_of_bounds(hard):
    data, optimum = hard
    fit = rf.project(data, route="bounded", throw=False)
    assert fit.status is rf.Status.BOUNDED
    assert 0 < fit.lower_distance < fit.distance
    assert fit.lower_distance <= np.sqrt(2 * optimum) * (1 + 1e-9)


def test_labels_reach_the_result():
    data = rf.ChoiceData.from_counts(
        {
            ("tea", "milk"): {"tea": 31, "milk": 9},
            ("tea", "milk", "gin"): {"tea": 5, "milk": 15, "gin": 20},
            ("gin", "milk"): {"gin": 10, "milk": 30},
        }
    )
    fit = rf.project(data)
    assert fit.items == ("tea", "milk", "gin")
    shares = fit.probabilities(["gin", "milk"])
    assert set(shares) == {"gin", "milk"}
    assert sum(shares.values()) == pytest.approx(1)
    assert fit.rankings.labelled(1)[0][0][0] in fit.items
    menu, item, observed, fitted = fit.misfits(1)[0]
    assert set(menu) <= set(fit.items)
    assert item in menu
    assert abs(observed - fitted) > 0.01
    with pytest.raises(rf.InputError, match=r"item 'rum' is unknown: the items are \{tea, milk, gin\}"):
        fit.probabilities(["rum"])
    weighted = rf.project(data, weights="counts")
    assert weighted.objective == pytest.approx(40 * fit.objective)
    with pytest.raises(rf.InputError, match="these data are incomplete"):
        fit.violations()


def test_violations_are_the_negative_polynomials():
    rho = rf.simulate.dirichlet(4, 2)
    values = rf.block_marschak(rho)
    found = rf.project(rho).violations()
    assert len(found) == (values < 0).sum()
    menu, item, worst = found[0]
    assert worst == values.min()
    assert values[rf.Lattice(4).mask(menu), item] == worst


def test_everything_a_fit_offers():
    rng = np.random.default_rng(3)
    labels = tuple("abcdefghij")
    data = some_data(rng, 10, 30, partly=True, labels=labels)
    fit = rf.project(data, route="graph")
    assert fit.menus == data.menus
    assert np.array_equal(fit.membership, data.membership)
    assert np.array_equal(fit.frequencies, data.frequencies, equal_nan=True)
    # Types, rankings and fitted probabilities say the same.
    order, share = fit.rankings.orders, fit.rankings.weights
    assert share.sum() == pytest.approx(1)
    assert (np.diff(share) <= 0).all()
    fitted = np.zeros(data.counts.shape)
    for k, ranking in enumerate(order):
        for i, row in enumerate(data.membership):
            item = next(x for x in ranking if row[x])
            fitted[i, item] += share[k]
            assert fit.types[k, i] == (item if row.sum() == 1 or not np.isnan(data.counts[i, item]) else -1)
    known = ~np.isnan(fit.fitted)
    assert np.array_equal(
        known, ~np.isnan(data.counts) | (data.membership & (data.membership.sum(axis=1) == 1)[:, None])
    )
    assert np.abs(fitted - fit.fitted)[known].max() < 1e-12
    for i, menu in enumerate(data.menus):
        found = fit.probabilities(menu)
        assert tuple(found) == menu
        assert sum(found.values()) == pytest.approx(1)
        assert list(found.values()) == pytest.approx(fitted[i, data.membership[i]].tolist(), abs=1e-12)
    # Where a ranking is decided no swap further down changes a choice, and one more item does.
    for ranking, decided in zip(order, fit.decided, strict=True):
        closed = [next(p for p, x in enumerate(ranking) if row[x]) for row in data.membership if row.sum() > 1]
        assert decided == (10 if max(closed) >= 8 else max(closed) + 1)
    some, decided, number = fit.heaviest(3)
    assert number == len(share)
    np.testing.assert_array_equal(some.orders, order[:3])
    np.testing.assert_array_equal(some.weights, share[:3])
    np.testing.assert_array_equal(decided, fit.decided[:3])
    unseen = next(m for m in (("a", "b"), ("a", "c"), ("a", "d"), ("b", "e")) if m not in data.menus)
    x, y = (labels.index(z) for z in unseen)
    first = share[np.argmax(order == x, axis=1) < np.argmax(order == y, axis=1)].sum()
    assert fit.probabilities(unseen)[unseen[0]] == pytest.approx(first)
    # rho and flow over all menus, up to 22 items.
    assert np.abs(fit.rho[data.masks] - fitted).max() < 1e-12
    assert fit.flow.min() >= 0
    assert np.abs(rf.block_marschak(fit.rho) - fit.flow).max() < 1e-12
    # The worst cells first.
    difference = np.abs(data.frequencies - fitted)
    menu, item, observed, value = fit.misfits(1)[0]
    assert abs(observed - value) == pytest.approx(np.nanmax(difference))
    assert menu in data.menus
    assert item in menu
    assert len(fit.misfits(4)) == 4
    # Scores by hand.
    score = fit.score(data)
    chosen = ~np.isnan(data.counts) & (data.counts > 0)
    with np.errstate(divide="ignore"):
        by_hand = (data.counts[chosen] * np.log(fitted[chosen])).sum()
    assert score.loglik == pytest.approx(by_hand)
    assert score.n_observations == data.n_observations
    square = np.nansum(data.totals[:, None] * (data.frequencies - fitted) ** 2) / data.totals.sum()
    assert score.squared_error == pytest.approx(square)
    with pytest.raises(rf.InputError, match="'z' is not among the items"):
        fit.score(rf.ChoiceData.from_counts({("a", "z"): {"a": 1}}))
    table = fit.to_frame(data, backend="dict")
    assert list(table) == ["menu_id", "menu", "item", "observed", "fitted", "count"]
    several = data.membership & (data.membership.sum(axis=1, keepdims=True) > 1)
    assert len(table["menu"]) == several.sum()
    assert sum(v for v in table["count"] if v is not None) == np.nansum(data.counts[several])
    half = rf.ChoiceData(data.items, data.membership[::2], data.counts[::2], data.totals[::2])
    counts = fit.to_frame(half, backend="dict")["count"]
    assert sum(v for v in counts if v is not None) == np.nansum(half.counts[several[::2]])
    with pytest.raises(rf.InputError, match="not those of the fit"):
        fit.to_frame(some_data(rng, 9, 5))
    with pytest.raises(rf.InputError, match="'all' and 'observed'"):
        fit.to_frame(menus="some")
    assert "method='graph'" in repr(fit)
    assert not fit.complete
    assert not fit.weighted


def test_separate_menus_are_summarised_without_all_their_rankings(monkeypatch):
    """Two hundred triples with shares of their own have four hundred rankings; a summary shows the heaviest of them."""
    rng = np.random.default_rng(0)
    menus = rng.permutation(600).reshape(200, 3).tolist()
    data = rf.ChoiceData.from_counts(
        {tuple(menu): dict(zip(menu, rng.integers(1, 900, 3).tolist(), strict=True)) for menu in menus}
    )
    fit = rf.project(data)
    rankings, decided, number = fit.heaviest(5)
    again = rf.project(data)
    assert number == len(again.rankings.weights) > 300
    np.testing.assert_array_equal(rankings.orders, again.rankings.orders[:5])
    np.testing.assert_allclose(rankings.weights, again.rankings.weights[:5], rtol=1e-12)
    np.testing.assert_array_equal(decided, again.decided[:5])
    completed = []
    plain = random_utility.rankings_of_types
    monkeypatch.setattr(
        random_utility,
        "rankings_of_types",
        lambda cells, above, types: completed.append(len(types)) or plain(cells, above, types),
    )
    assert f"of {number} rankings" in fit.summary()
    assert max(completed) <= 10
