"""Rational types of budgets are counted and linked as by brute force."""

from itertools import product

import numpy as np
import pytest

from rumflow.core import rational_types
from rumflow.core.arrangement import find_patches
from rumflow.errors import InputError


def brute_force_types(signs, budget):
    """All choices of a patch from every budget without a cycle: how many, and the share that takes each patch."""
    n = signs.shape[1]
    number, taken = 0, np.zeros(len(signs))
    for chosen in product(*(np.flatnonzero(budget == j).tolist() for j in range(n))):
        ahead = {j: {k for k in range(n) if signs[chosen[j], k] < 0} for j in range(n)}
        left = set(range(n))
        while free := [j for j in left if not ahead[j] & left]:
            left -= set(free)
        if not left:
            number += 1
            taken[list(chosen)] += 1
    return number, taken / max(number, 1)


@pytest.mark.parametrize("seed", range(4))
def test_rational_types_are_counted(seed):
    prices = np.random.default_rng(seed).uniform(0.5, 2.0, (4, 3))
    found = find_patches(prices)
    number, mean = brute_force_types(found.signs, found.budget)
    counted = rational_types.count_types(found.signs, found.budget)
    assert counted.number == number
    assert counted.mean == pytest.approx(mean, abs=1e-15)


def test_groups_of_budgets_and_their_limits(monkeypatch):
    two = find_patches(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert [group.tolist() for group in rational_types.link_budgets(two.signs, two.budget)] == [[0, 1]]
    apart = find_patches(np.array([[1.0, 1.0], [2.0, 2.0]]))
    assert [group.tolist() for group in rational_types.link_budgets(apart.signs, apart.budget)] == [[0], [1]]
    assert rational_types.sets_below(np.array([[0, -1, -1], [1, 0, -1], [1, 1, 0]])).tolist() == [6, 4, 0]
    # 1 + 2 + 2 + 1 terms: at the start one patch of either budget is allowed.
    assert rational_types.count_types(two.signs, two.budget).number == 3
    assert rational_types.count_types(two.signs, two.budget, 9).number == 3
    with pytest.raises(InputError, match="2 budgets that cross each other have too many orders"):
        rational_types.count_types(two.signs, two.budget, 8)
    with pytest.raises(InputError, match="no type takes a patch from every budget without a cycle"):
        rational_types.count_types(np.array([[0, -1], [-1, 0]]), np.array([0, 1]))
    monkeypatch.setattr(rational_types, "MOST_LINKED", 2)
    assert rational_types.count_types(two.signs, two.budget).number == 3
    monkeypatch.setattr(rational_types, "MOST_LINKED", 1)
    with pytest.raises(InputError, match="2 budgets cross each other, directly or through others; at most 1"):
        rational_types.count_types(two.signs, two.budget)
