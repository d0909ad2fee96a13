"""Menus recorded in part: what was not recorded as a cell of its own, in the likelihood and in Pearson's statistic."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

import rumflow as rf
from rumflow.data.menus import masks_of, membership_of
from rumflow.inference import compare_groups, fit_likelihood, rum_test


def partly_recorded(n, seed, size=200, partly=0.6):
    """Choices from some menus of n items that are no random utility, with cells left out; at least one cell a menu is kept."""
    rng = np.random.default_rng(seed)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << n)) >= 2)
    masks = np.sort(rng.choice(masks, min(7, len(masks)), replace=False))
    inside = membership_of(masks, n)
    shares = np.where(inside, rng.exponential(size=inside.shape), 0.0)
    sizes = np.full(len(masks), float(size))
    counts = np.where(inside, rng.multinomial(size, shares / shares.sum(axis=1, keepdims=True)), np.nan)
    for row, menu in zip(counts, inside, strict=True):
        if rng.random() < partly:
            lost = rng.choice(np.flatnonzero(menu), rng.integers(1, menu.sum()), replace=False)
            row[lost] = np.nan
    return rf.ChoiceData(tuple("abcd"[:n]), inside, counts, sizes)


def enumerate_cells(data):
    """Counts of all cells, remainders included, and what each ranking takes of them."""
    counts, rows = [], []
    orders = list(permutations(range(data.n)))
    for menu, own, total in zip(data.membership, data.counts, data.totals, strict=True):
        best = np.array([next(y for y in order if menu[y]) for order in orders])
        for x in np.flatnonzero(~np.isnan(own)):
            counts.append(own[x])
            rows.append(best == x)
        if (np.isnan(own) & menu).any():
            counts.append(total - np.nansum(own))
            rows.append(np.isnan(own)[best])
    return np.array(counts), np.array(rows, float)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [3, 4])
def test_likelihood_is_that_of_a_general_solver(n, seed):
    data = partly_recorded(n, seed)
    counts, takes = enumerate_cells(data)
    seen = counts > 0

    def loss(weights):
        return -float(counts[seen] @ np.log(np.maximum(takes[seen] @ weights, 1e-12)))

    def slope(weights):
        return -(counts[seen] / np.maximum(takes[seen] @ weights, 1e-12)) @ takes[seen]

    size = takes.shape[1]
    found = minimize(
        loss,
        np.full(size, 1 / size),
        jac=slope,
        method="SLSQP",
        bounds=[(0, 1)] * size,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(size)},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    fit = fit_likelihood(data)
    assert fit.gap <= 1e-6
    assert fit.loglik == pytest.approx(-found.fun, abs=2e-4)
    assert fit.loglik >= -found.fun - 1e-5  # certified: nothing is better
    # The certificate by enumeration: the dearest ranking.
    probabilities = takes @ np.array(
        [fit.rankings.weights @ _is(fit.rankings.orders, o) for o in permutations(range(n))]
    )
    price = (counts[seen] / probabilities[seen]) @ takes[seen]
    assert price.max() - counts.sum() <= 1e-4
    saturated = counts[seen] @ np.log(counts[seen] / np.repeat(200.0, seen.sum()))
    assert fit.loglik_saturated == pytest.approx(saturated)
    assert np.isnan(fit.fitted).tolist() == np.isnan(data.counts).tolist()


def _is(orders, order):
    return (orders == np.array(order)).all(axis=1).astype(float)


def test_a_remainder_changes_the_answer():
    """a from {a, b, c} was recorded 60 times of 100, b from {a, b} 40 of 100: a loses between the menus only if b gained."""
    inside = np.array([[True, True, False], [True, True, True]])
    counts = np.array([[30.0, 70.0, np.nan], [60.0, np.nan, np.nan]])
    data = rf.ChoiceData(tuple("abc"), inside, counts, np.array([100.0, 100.0]))
    fit = fit_likelihood(data)
    # Regularity binds: P(a from ab) = P(a from abc) = 90 / 200, by hand.
    assert fit.fitted[:, 0] == pytest.approx([0.45, 0.45], abs=1e-5)
    assert fit.loglik == pytest.approx(90 * np.log(0.45) + 110 * np.log(0.55), abs=1e-6)
    assert fit.lr_test(99, seed=0).pvalue == 0.01
    calm = rf.ChoiceData(tuple("abc"), inside, np.array([[52.0, 48, np.nan], [53, np.nan, np.nan]]), data.totals)
    assert fit_likelihood(calm).lr_test(99, seed=0).pvalue > 0.2


def test_errors_of_the_likelihood():
    inside = np.array([[True, True, False], [True, True, True]])
    data = rf.ChoiceData(tuple("abc"), inside, np.array([[30.0, 70, np.nan], [60, np.nan, np.nan]]), np.full(2, 100.0))
    with pytest.raises(rf.InputError, match="accepted are None and 'graph'"):
        fit_likelihood(data, route="lattice")
    first = rf.RandomUtility(above=[("a", "b"), ("a", "c")])
    data = rf.ChoiceData(tuple("abc"), inside, np.array([[100.0, 0, np.nan], [60, np.nan, np.nan]]), np.full(2, 100.0))
    with pytest.raises(rf.InputError, match="40 choices were not recorded, but no type"):
        fit_likelihood(data, model=first)
    table = rf.compare_models(data, {"RUM": None, "a first": first})
    assert table.logliks["RUM"] == pytest.approx(fit_likelihood(data).loglik, abs=1e-5)
    assert table.logliks["a first"] == -np.inf


def pearson_by_enumeration(result, tables):
    """The statistic of groups with partly recorded menus: non-negative least squares over all rankings."""
    sample = result.sample
    n = len(sample.items)
    masks = masks_of(sample.menus)[sample.unit_menu[sample.unit]]
    groups = sample.unit_group[sample.unit]
    matrix = []
    for mask, item, group in zip(masks, sample.item, groups, strict=True):
        best = [next(y for y in order if mask >> y & 1) for order in permutations(range(n))]
        lost = tables[group][int(mask)]
        matrix.append([float(b == item if item >= 0 else b in lost) for b in best])
    root = np.sqrt(sample.weights)
    heavy = np.vstack([root[:, None] * np.array(matrix), np.full(len(matrix[0]), 1e4)])
    return nnls(heavy, np.append(root * sample.frequency, 1e4))[1] ** 2


def test_pearson_of_groups_has_the_remainders():
    data = [partly_recorded(4, 5), partly_recorded(4, 5, size=80)]
    other = data[1]
    counts = np.where(np.isnan(data[0].counts), np.nan, np.random.default_rng(0).integers(5, 20, other.counts.shape))
    groups = {"one": data[0], "two": rf.ChoiceData(other.items, other.membership, counts, other.totals)}
    result = rum_test(groups, n_boot=19, weights="inverse-variance", seed=0)
    partly = (np.isnan(counts) & other.membership).any(axis=1)
    assert (result.sample.item < 0).sum() == 2 * partly.sum() > 0
    lost = {
        int(mask): set(np.flatnonzero(inside & np.isnan(own)))
        for mask, inside, own in zip(other.masks, other.membership, counts, strict=True)
    }
    assert result.statistic == pytest.approx(pearson_by_enumeration(result, [lost, lost]), rel=1e-4)
    assert not any("Groups recorded different" in note for note in result.notes)
    each = compare_groups(groups, 19, weights="inverse-variance", seed=0)
    assert (each.together.statistic, len(each.each)) == (result.statistic, 2)
    # Recorded differently, remainders are not one cell: they have no weight, and the summary says so.
    more = counts.copy()
    menu = int(np.argmax((np.isnan(counts) & other.membership).sum(axis=1)))
    more[menu, np.flatnonzero(np.isnan(counts[menu]) & other.membership[menu])[0]] = 5.0
    assert np.isnan(more[menu]).sum() > (~other.membership[menu]).sum()
    differ = {"one": data[0], "two": rf.ChoiceData(other.items, other.membership, more, other.totals)}
    mixed = rum_test(differ, n_boot=19, weights="inverse-variance", seed=0)
    assert (mixed.sample.item < 0).sum() == 2 * partly.sum() - 2
    assert "Groups recorded different items" in mixed.summary()
    assert "Groups recorded different items" not in rum_test(differ, n_boot=19, seed=0).summary()


def test_pearson_keeps_the_route():
    data = partly_recorded(4, 1)
    exact = rum_test(data, n_boot=19, weights="inverse-variance", seed=0)
    bounded = rum_test(data, n_boot=19, weights="inverse-variance", seed=0, route="bounded")
    assert (exact.bounded, bounded.bounded) == (False, True)
    assert bounded.statistic == pytest.approx(exact.statistic, rel=1e-5)
    assert bounded.pvalue >= exact.pvalue
    assert (exact.sample.item == bounded.sample.item).all()
