"""Bounds with unknowns without a weight hold for any multipliers: against all rankings of few items."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumflow.core.pairs import Cycles
from rumflow.core.table_certificate import table_bound
from tests.reference.pairs import nearest_mixture


def population(n, menus):
    """(n!, pairs + cells): for every ranking who is above whom, and what it takes from the menus."""
    pairs = list(combinations(range(n), 2))
    rows = []
    for order in permutations(range(n)):
        rank = np.argsort(order)
        taken = [float(x == min(menu, key=rank.__getitem__)) for menu in menus for x in menu]
        rows.append([*(float(rank[a] < rank[b]) for a, b in pairs), *taken])
    return pairs, np.array(rows)


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_any_multipliers_bound_the_distance_from_below(seed):
    rng = np.random.default_rng(seed)
    n, menus = 4, [(0, 1, 2), (1, 2, 3), (0, 1, 2, 3), (0, 3)]
    pairs, types = population(n, menus)
    cell = {(j, x): len(pairs) + k for k, (j, x) in enumerate((j, x) for j, menu in enumerate(menus) for x in menu)}
    arc = {pair: 2 * e for e, pair in enumerate(pairs)} | {pair[::-1]: 2 * e + 1 for e, pair in enumerate(pairs)}
    rows = [[arc[x, z], 2 * cell[j, x] + 1] for j, menu in enumerate(menus) for x in menu for z in menu if z != x]
    rows += [[2 * cell[j, x] for x in menu] for j, menu in enumerate(menus)]
    rows += [[arc[a, b], arc[b, c], arc[c, a]] for a, b, c in permutations(range(n), 3)]
    rows += [[entry] for entry in range(2 * types.shape[1])]
    held = Cycles(np.append(0, np.cumsum([len(row) for row in rows])), np.concatenate(rows).astype(np.int32))
    for one in types:  # every row holds for every ranking
        value = np.where(held.arc & 1, 1 - one[held.arc >> 1], one[held.arc >> 1])
        assert (np.bincount(held.row, value) >= (held.sizes > 1)).all()
    p = np.append(rng.random(len(pairs)), rng.random(len(cell)))
    weights = np.append(np.zeros(len(pairs)), rng.uniform(0.2, 2.0, len(cell)) * (rng.random(len(cell)) < 0.8))
    lam = rng.exponential(size=len(rows)) * (rng.random(len(rows)) < 0.3) * rng.choice([0.01, 0.1, 1.0])
    counts = weights > 0
    best = 0.5 * nearest_mixture(p[counts], weights[counts], types[:, counts]) ** 2
    assert table_bound(held, lam, p, weights) <= best + 1e-7


@pytest.mark.parametrize("lam", [[-0.1], [np.nan]])
def test_a_broken_multiplier_is_refused(lam):
    with pytest.raises(ValueError, match="multiplier"):
        table_bound(Cycles(np.array([0, 1]), np.array([0], np.int32)), np.array(lam), np.zeros(1), np.ones(1))
