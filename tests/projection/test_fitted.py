"""What fits offer however they were found: probabilities of any menu against their rankings, and scores by hand."""

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
