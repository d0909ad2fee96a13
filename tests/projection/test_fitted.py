"""What fits offer however they were found: probabilities of any menu against their rankings, and scores by hand."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest

import rumflow as rf


def all_fits():
    data = rf.simulate.random_menus(6, 9, 3, draws=40, seed=3)
    return [
        *(rf.project(data, route=route) for route in ("lattice", "graph")),
        *(rf.fit_likelihood(data, route=route) for route in ("lattice", "graph")),
    ]


def shares_by_hand(fit, menu):
    """The share of the rankings that take each item of a menu."""
    numbers = [fit.items.index(label) for label in menu]
    found = dict.fromkeys(menu, 0.0)
    for order, share in zip(fit.rankings.orders, fit.rankings.weights, strict=True):
        found[fit.items[next(x for x in order if x in numbers)]] += share
    return found


@pytest.mark.parametrize("k", range(4))
def test_probabilities_of_any_menu_are_those_of_the_rankings(k):
    fit = all_fits()[k]
    for size in (1, 2, 3, 5):
        for menu in combinations(fit.items, size):
            found = fit.probabilities(reversed(menu))  # any iterable, in any order
            assert list(found) == list(menu)
            assert found == pytest.approx(shares_by_hand(fit, menu), abs=1e-12)
    assert fit.menu_mask(fit.items[1:3]) == 6
    assert fit.rho[6, 1] == pytest.approx(fit.probabilities(fit.items[1:3])[fit.items[1]], abs=1e-12)
    assert np.abs(rf.block_marschak(fit.rho) - fit.flow).max() < 1e-12
    for broken, message in (((99,), "item 99 is unknown"), ((fit.items[0],) * 2, "appears twice")):
        with pytest.raises(rf.InputError, match=message):
            fit.probabilities(broken)


@pytest.mark.parametrize("k", range(4))
def test_scores(k):
    fit = all_fits()[k]
    other = rf.simulate.random_menus(6, 7, 4, draws=10, seed=8)
    loglik = square = impossible = 0.0
    for menu, row, counts in zip(other.menus, other.membership, other.counts, strict=True):
        shares, total = fit.probabilities(menu), counts[row].sum()
        for label, count in zip(menu, counts[row], strict=True):
            square += total * (count / total - shares[label]) ** 2
            impossible += count * (shares[label] == 0)
            loglik += count * np.log(shares[label]) if count and shares[label] else 0.0
    score = fit.score(other)
    assert score.loglik == (-np.inf if impossible else pytest.approx(loglik))
    assert score.squared_error == pytest.approx(square / other.n_observations)
    assert (score.n_observations, score.n_impossible) == (other.n_observations, impossible)
    with pytest.raises(rf.InputError, match="'z' is not among the items"):
        fit.score(rf.ChoiceData.from_counts({(0, "z"): {"z": 1}}))


def test_shares_by_cell_are_those_of_the_table():
    """Also with menus of one item, and with items whose share was not recorded."""
    nan = np.nan
    counts = np.array([[3, nan, nan, nan], [4, 6, nan, nan], [1, nan, nan, nan], [nan, 4, 2, 5]])
    member = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]], np.bool_)
    data = rf.ChoiceData(tuple("abcd"), member, counts, np.array([3.0, 10.0, 9.0, 11.0]))
    for route in ("lattice", "graph"):
        fit = rf.project(data, route=route)
        assert np.array_equal(fit.fitted_cells, fit.fitted[fit.membership], equal_nan=True)
        assert fit.menus == data.menus
        rows, columns = np.nonzero(np.nan_to_num(np.abs(fit.frequencies - fit.fitted)) > 0)
        assert {(fit.menus[i], fit.items[x]) for i, x in zip(rows, columns, strict=True)} == {
            row[:2] for row in fit.misfits()
        }
        assert fit.probabilities(["b", "a"])["a"] == pytest.approx(fit.fitted[data.menus.index(("a", "b")), 0])


def test_fits_of_many_items_need_no_table_of_menus_and_items():
    """4,000 pairs among 20,000 items: a table would take 640 MB."""
    data = rf.simulate.random_menus(20_000, 4_000, 2, draws=5, seed=1)
    fit = rf.project(data, model=rf.TriangleInequalities())
    tracemalloc.start()
    try:
        assert "Distance" in fit.summary() or "consistent" in fit.summary()
        frame = fit.to_frame(data, backend="dict")
        shares = fit.probabilities(data.menus[7])
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    assert len(frame["item"]) == 8_000
    assert frame["count"] == data.count.tolist()
    assert sum(shares.values()) == pytest.approx(1.0)
