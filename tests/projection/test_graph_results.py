"""Everything that a fit on a graph offers."""

import numpy as np
import pytest

import rumflow as rf
from tests.reference.incomplete import some_data


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
