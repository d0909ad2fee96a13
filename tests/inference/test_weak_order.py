"""Likelihood ratios of transitivity against maximisation over all orders, and p-values against all samples."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

import rumflow as rf
from rumflow.inference.weak_order import best_order, count_pairs, majority_pvalues, ratio_pvalue, strong_ratio
from tests.reference.pairs import random_pairs


def counts(seed, n, draws=12, part=1.0):
    rng = np.random.default_rng(seed)
    a, b = random_pairs(rng, n, part)
    k = rng.integers(0, draws + 1, len(a))
    return rf.ChoiceData.from_counts(
        {(int(u), int(v)): {int(u): int(x), int(v): draws - int(x)} for u, v, x in zip(a, b, k, strict=True)},
        items=range(n),
    )


def log_likelihood(pairs, p):
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return float((pairs.size * (pairs.share * np.log(p) + (1 - pairs.share) * np.log(1 - p))).sum())


@pytest.mark.parametrize("seed", range(6))
def test_the_weak_ratio_is_that_of_the_best_order(seed):
    pairs = count_pairs(counts(seed, 4))
    best = -np.inf
    for order in permutations(range(4)):
        place = np.argsort(order)
        ahead = place[pairs.first] < place[pairs.second]
        p = np.where(ahead, np.maximum(pairs.share, 0.5), np.minimum(pairs.share, 0.5))
        best = max(best, log_likelihood(pairs, p))
    found = best_order(pairs, 1)
    assert 2 * found.cost == pytest.approx(2 * (log_likelihood(pairs, pairs.share) - best), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_strong_ratio_is_that_of_a_general_solver_over_all_orders(seed):
    pairs = count_pairs(counts(seed, 3, 20))
    best = -np.inf
    for order in permutations(range(3)):
        place = np.argsort(order)
        sign = np.where(place[pairs.first] < place[pairs.second], 1, -1)
        distance = np.abs(place[pairs.first] - place[pairs.second])
        far, near = int(np.argmax(distance)), np.flatnonzero(distance == 1)
        share = 0.5 + sign * (pairs.share - 0.5)
        along = pairs._replace(share=share)
        rules = [{"type": "ineq", "fun": lambda x, e=e, far=far: x[far] - x[e]} for e in near]
        start = np.full(3, 0.7)
        found = minimize(
            lambda x, along=along: -log_likelihood(along, x), start, bounds=[(0.5, 1)] * 3, constraints=rules, tol=1e-12
        )
        best = max(best, -found.fun)
    assert strong_ratio(pairs, []) == pytest.approx(2 * (log_likelihood(pairs, pairs.share) - best), abs=1e-4)


def test_the_strong_ratio_of_more_orders_is_no_larger():
    pairs = count_pairs(counts(1, 8, part=0.7))
    rng = np.random.default_rng(0)
    orders = [rng.permutation(8) for _ in range(5)]
    found = [strong_ratio(pairs, orders[: k + 1]) for k in range(5)]
    assert found == sorted(found, reverse=True)
    assert strong_ratio(pairs, [best_order(pairs, 1).order]) >= 2 * best_order(pairs, 1).lower - 1e-9


def test_the_pvalue_is_the_share_of_all_samples_that_reach_the_ratio():
    sizes = [4, 5, 6]
    data = {("a", "b"): {"a": 3, "b": 1}, ("b", "c"): {"b": 4, "c": 1}, ("a", "c"): {"a": 1, "c": 5}}
    pairs = count_pairs(rf.ChoiceData.from_counts(data))
    ratio = 2 * best_order(pairs, 1).lower
    exact = 0.0
    for k in product(*(range(m + 1) for m in sizes)):
        chance = np.prod([binom.pmf(x, m, 0.5) for x, m in zip(k, sizes, strict=True)])
        lost = sum(
            m * (np.log(2) + sum(q * np.log(q) for q in (x / m, 1 - x / m) if q > 0))
            for x, m in zip(k, sizes, strict=True)
            if 2 * x < m
        )
        exact += chance * (2 * lost >= ratio - 1e-9)
    found = ratio_pvalue(pairs, ratio, 40_000, np.random.default_rng(0))
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 40_000))
    assert ratio_pvalue(pairs, 0.0, 10, np.random.default_rng(0)) == 1.0
    assert ratio_pvalue(pairs, 1e9, 99, np.random.default_rng(0)) == 0.01


def test_pairs_on_no_circle_do_not_count():
    data = {("a", "b"): {"a": 3, "b": 1}, ("b", "c"): {"b": 4, "c": 1}, ("a", "c"): {"a": 1, "c": 5}}
    more = data | {("c", "d"): {"c": 50, "d": 50}, ("d", "e"): {"d": 50, "e": 50}}
    one, two = (
        ratio_pvalue(count_pairs(rf.ChoiceData.from_counts(own)), 1.0, 200, np.random.default_rng(0))
        for own in (data, more)
    )
    assert one == two


def test_majorities_have_binomial_pvalues():
    share, size = np.array([0.9, 0.5, 0.0, 0.55]), np.array([10.0, 10.0, 10.0, 10.0])
    assert majority_pvalues(share, size) == pytest.approx([11 / 1024, 638 / 1024, 1.0, 638 / 1024])


def test_a_share_of_one_item_is_enough_and_larger_menus_are_refused():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 1}, ("c",): {"c": 4}})
    assert count_pairs(data).share.tolist() == [0.75]
    partial = data.replace(counts=np.where(data.offered.item == 0, np.nan, data.count))
    assert count_pairs(partial).share.tolist() == [0.75]
    with pytest.raises(rf.InputError, match=r"\{a, b, c\} offers 3 items: transitivity is about pairs"):
        count_pairs(rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 3}, ("a", "b"): {"a": 1}}))
    with pytest.raises(rf.InputError, match="no pair"):
        count_pairs(rf.ChoiceData.from_counts({("c",): {"c": 4}}))
