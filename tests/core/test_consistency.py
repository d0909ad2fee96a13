"""Scores of persons against all rankings, and Afriat's index against a fine grid."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumflow.core.consistency import (
    afriat_index,
    close_relation,
    count_cycles,
    obeys,
    score_choices,
    score_purchases,
    search_set,
)


def drawn(seed, n, count):
    rng = np.random.default_rng(seed)
    menus = [sorted(rng.choice(n, rng.integers(2, n + 1), replace=False).tolist()) for _ in range(count)]
    return menus, [int(rng.choice(menu)) for menu in menus], rng.integers(1, 4, count).astype(float)


def scored(menus, chosen, weight, n):
    start = np.cumsum([0, *map(len, menus)])
    scores = np.empty((1, 4))
    item, numbers = np.concatenate(menus).astype(np.int64), np.arange(len(menus))
    score_choices(start, item, np.array([0, len(menus)]), numbers, np.array(chosen), weight, n, scores)
    return scores[0]


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 9))
@settings(max_examples=60)
def test_no_ranking_makes_more_choices_or_needs_fewer_swaps(seed, n, count):
    menus, chosen, weight = drawn(seed, n, count)
    most, fewest = 0.0, np.inf
    for order in permutations(range(n)):
        place = np.argsort(order)
        passed = [sum(place[y] < place[x] for y in menu) for menu, x in zip(menus, chosen, strict=True)]
        most = max(most, float(weight[np.array(passed) == 0].sum()))
        fewest = min(fewest, float(weight @ np.array(passed)))
    wins = {(x, y) for menu, x in zip(menus, chosen, strict=True) for y in menu if y != x}
    cycles = sum((y, x) in wins for x, y in wins) / 2
    for x, y, z in combinations(range(n), 3):
        cycles += {(x, y), (y, z), (z, x)} <= wins
        cycles += {(x, z), (z, y), (y, x)} <= wins
    assert scored(menus, chosen, weight, n).tolist() == [weight.sum(), most, fewest, cycles]


def test_large_tangles_are_left_out_and_several_small_ones_are_not():
    circle = [sorted((k, (k + 1) % 25)) for k in range(25)]
    assert np.isnan(scored(circle, list(range(25)), np.ones(25), 25)[1:3]).all()
    assert scored(circle, list(range(25)), np.ones(25), 25)[3] == 0
    threes = [[3 * k + i, 3 * k + (i + 1) % 3] for k in range(10) for i in range(3)]
    chosen = [menu[0] for menu in threes]
    assert scored([sorted(menu) for menu in threes], chosen, np.ones(30), 30).tolist() == [30, 20, 10, 10]


def plain_obeys(p, q, e):
    cost = p @ q.T
    n = len(p)
    at_least = [[e * cost[t, t] >= cost[t, s] - 1e-15 for s in range(n)] for t in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                at_least[i][j] |= at_least[i][k] and at_least[k][j]
    return not any(at_least[t][s] and e * cost[s, s] > cost[s, t] + 1e-15 for t in range(n) for s in range(n))


@given(st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=40)
def test_afriats_index_is_the_last_efficiency_that_obeys(seed, count):
    rng = np.random.default_rng(seed)
    p, q = rng.uniform(0.2, 2, (count, 2)), rng.uniform(0, 2, (count, 2))
    scores = np.empty(1)
    score_purchases(np.array([0, count]), p, q, scores)
    grid = np.linspace(0, 1, 401)[1:]
    held = [e for e in grid if plain_obeys(p, q, e)]
    last = max(held, default=0.0)
    assert last - 1e-9 <= scores[0] <= last + 1 / 400 + 1e-9


def test_kernels_by_hand():
    ratio = np.array([[1.0, 0.8], [0.9, 1.0]])
    assert not obeys(ratio, 1.0)
    assert obeys(ratio, 0.85)
    assert afriat_index(ratio) == pytest.approx(0.9)
    relation = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    close_relation(relation, 3)
    assert relation.tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    wins = np.array([[0, 1.0, 0], [0, 0, 2.0], [1.0, 0, 0]])
    assert count_cycles(wins, 3) == 1
    found = search_set(np.arange(3), wins, np.array([3, 6, 5]), np.array([0, 1, 2]), np.array([1.0, 2.0, 1.0]), 3)
    assert found == (3.0, 1.0)
