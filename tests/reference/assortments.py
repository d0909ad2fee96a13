"""Best assortments by enumeration: a linear programme over all rankings for every menu that the limits allow.

`compare` and `compare_level` set `rf.best_assortment` beside it on random problems: incomplete data (rational or sampled, some
menus recorded in part), an outside option, limits. The first takes the probabilities as they are, the second samples of 20 to 500
choices a menu and all populations that are not rejected.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import linprog

import rumflow as rf
from rumflow.inference.confidence import BoundsOptions
from rumflow.inference.plausible import find_band


def choices_of(orders, membership):
    """(k, m): what each ranking takes from each menu."""
    rank = np.argsort(orders, axis=1)
    return np.stack([np.flatnonzero(row)[rank[:, np.flatnonzero(row)].argmin(axis=1)] for row in membership], axis=1)


def worst_revenues(membership, recorded, values, revenue, menus, orders=None, band=None):
    """The least revenue of each of `menus` over mixtures of all rankings with the given values on the recorded cells.

    band   instead of the values: those not rejected, a `Band` of `rumflow.inference.plausible`.
    """
    n = membership.shape[1]
    orders = np.array(list(permutations(range(n)))) if orders is None else orders
    taken = choices_of(orders, membership)
    taken = np.where(recorded[np.arange(len(membership)), taken], taken, -1)
    types, group = np.unique(taken, axis=0, return_inverse=True)
    menu, item = np.nonzero(recorded)
    cells = (types[:, menu] == item).T.astype(float)
    if band is None:
        limits: dict[str, Any] = {
            "A_eq": np.vstack([cells, np.ones(len(types))]),
            "b_eq": np.append(values[menu, item], 1.0),
        }
    else:
        sums = band.sums.toarray()[:, menu * n + item] @ cells
        limits = {"A_ub": np.vstack([sums, -sums]), "b_ub": np.append(band.most, -band.least)}
        limits |= {"A_eq": np.ones((1, len(types))), "b_eq": [1.0]}
    found = []
    solve: Any = linprog
    for row in menus:
        cost = np.full(len(types), np.inf)
        np.minimum.at(cost, group.ravel(), revenue[choices_of(orders, row[None])[:, 0]])
        answer = solve(cost, **limits)
        assert answer.status == 0
        found.append(answer.fun)
    return np.array(found)


def random_case(n, seed):
    """Data over n items (item 0 is the outside option), revenues and limits; some rational, some noisy, some recorded in part."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    membership = rng.random((count, n)) < rng.uniform(0.4, 0.8)
    membership[:, 0] |= rng.random(count) < 0.9
    membership[0, :2] = True
    membership = np.unique(membership[membership.sum(axis=1) >= 2], axis=0)
    k = int(rng.integers(2, 40))
    weights = rng.dirichlet(np.ones(k))
    taken = choices_of(np.array([rng.permutation(n) for _ in range(k)]), membership)
    shares = np.zeros(membership.shape)
    for j in range(len(membership)):
        shares[j] = np.bincount(taken[:, j], weights, n)
    if rng.random() < 0.5:
        for j, row in enumerate(membership):
            shares[j, row] = rng.multinomial(40, shares[j, row] / shares[j, row].sum()) / 40
    table = np.full((1 << n, n), np.nan)
    masks = membership @ (1 << np.arange(n))
    table[masks] = np.where(membership, shares, 0.0)
    if rng.random() < 0.3:
        large = int(membership.sum(axis=1).argmax())
        if membership[large].sum() >= 4:
            table[masks[large], np.flatnonzero(membership[large])[:2]] = np.nan
    revenue = np.append(0.0, rng.integers(1, 12, n - 1).astype(float))
    limits: dict[str, Any] = {}
    if rng.random() < 0.4:
        limits["max_size"] = int(rng.integers(1, n))
    if rng.random() < 0.3:
        limits["must"] = (int(rng.integers(1, n)),)
    if rng.random() < 0.4:
        limits["never_together"] = [tuple(int(x) for x in rng.choice(np.arange(1, n), 2, replace=False))]
    return table, revenue, limits


def allowed_menus(n, limits):
    """All menus with item 0 that keep the limits."""
    menus = []
    for mask in range(1, 1 << n, 2):
        row = np.array([mask >> x & 1 for x in range(n)], bool)
        fine = row.sum() - 1 <= limits.get("max_size", n) and row[list(limits.get("must", ()))].all()
        if fine and all(row[list(group)].sum() <= 1 for group in limits.get("never_together", ())):
            menus.append(row)
    return np.array(menus)


def compare(n, seed, model=None, orders=None):
    """The answer and what enumeration says: the highest worst case, and that of the menu found; `orders`: those of the model."""
    table, revenue, limits = random_case(n, seed)
    fit = rf.project(table, tol=1e-12, model=model)
    membership = rf.Lattice(n).membership
    masks = np.flatnonzero((~np.isnan(table) & membership).any(axis=1) & (membership.sum(axis=1) >= 2))
    recorded = ~np.isnan(table[masks]) & membership[masks]
    values = np.zeros(recorded.shape)
    for own, row in zip(values, membership[masks], strict=True):
        for x, share in fit.probabilities(np.flatnonzero(row).tolist()).items():
            own[x] = share
    found = rf.best_assortment(fit, revenue, 0, **limits)
    menus = allowed_menus(n, limits)
    worst = worst_revenues(membership[masks], recorded, values, revenue, menus, orders)
    own = worst[(menus == np.array([x in found.menu for x in range(n)])).all(axis=1)]
    return found, float(worst.max()), float(own[0]), limits


def compare_level(n, seed, confidence=0.9, model=None, orders=None):
    """The same over the populations that are not rejected, for samples of 20 to 500 choices a menu; best is NaN where all are.

    model, orders   another model, and all its rankings.
    """
    table, revenue, limits = random_case(n, seed)
    rng = np.random.default_rng([seed, 1])
    membership = rf.Lattice(n).membership
    masks = np.flatnonzero((~np.isnan(table) & membership).any(axis=1) & (membership.sum(axis=1) >= 2))
    menus, known = membership[masks], ~np.isnan(table[masks]) & membership[masks]
    counts, size = np.full(known.shape, np.nan), rng.integers(20, 500, len(masks))
    for j, row in enumerate(known):
        shares = np.append(table[masks[j]][row], 0.0)
        shares[-1] = max(1.0 - shares.sum(), 0.0)
        counts[j, row] = rng.multinomial(size[j], shares / shares.sum())[:-1]
    data = rf.ChoiceData(tuple(range(n)), menus, counts, size.astype(float))
    found = rf.best_assortment(data, revenue, 0, confidence=confidence, n_boot=199, model=model, **limits)
    if found.confidence is None:
        return found, np.nan, np.nan, limits
    band = find_band(data, menus, known, revenue, BoundsOptions(confidence=confidence, n_boot=199, seed=0, model=model))
    allowed = allowed_menus(n, limits)
    worst = worst_revenues(menus, known, None, revenue, allowed, orders, band)
    own = worst[(allowed == np.array([x in found.menu for x in range(n)])).all(axis=1)]
    return found, float(worst.max()), float(own[0]), limits
