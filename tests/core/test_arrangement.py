"""Patches of budgets against a trial of every sign vector, and by hand."""

import numpy as np
import pytest

from rumflow.core.arrangement import find_patches, merge_equal
from rumflow.core.rational_types import count_types, link_budgets
from rumflow.errors import InputError
from tests.reference.budgets import patches_by_trial, random_prices


@pytest.mark.parametrize("goods", [2, 3, 4])
def test_patches_are_those_of_a_trial_of_every_sign_vector(rng, goods):
    for n in (1, 2, 3, 4, 5):
        prices = random_prices(rng, n, goods)
        found = find_patches(prices)
        rows = list(zip(found.budget.tolist(), map(tuple, found.signs.tolist()), strict=True))
        assert len(rows) == len(set(rows))
        assert set(rows) == patches_by_trial(prices)


def test_corners_lie_on_their_side(rng):
    prices = random_prices(rng, 6, 4)
    found = find_patches(prices)
    for i, (j, signs) in enumerate(zip(found.budget, found.signs, strict=True)):
        corners = found.corners[found.first[i] : found.first[i + 1]]
        assert corners.sum(axis=1) == pytest.approx(1)
        values = (corners / prices[j]) @ prices.T - 1
        assert (values * signs >= -1e-8).all()
        assert (values.mean(axis=0) * signs)[signs != 0].min() > 0


def test_budgets_that_cross_in_one_point_make_no_patch_between_them():
    # Three lines through the bundle (1, 1): six pieces, two a budget, and none in between.
    prices = np.array([[0.3, 0.7], [0.5, 0.5], [0.7, 0.3]])
    assert len(find_patches(prices).signs) == 6
    # Four planes through the line x1 = x2, x3 = 1, up to rounding.
    prices = np.array([[a, 0.6 - a, 0.4] for a in (0.1, 0.2, 0.3 + 1e-15, 0.45)])
    assert len(find_patches(prices).signs) == 8
    # Moved a little, they make a patch more on both sides of a budget.
    prices[1] *= 1 + 1e-4
    assert len(find_patches(prices).signs) > 8


def test_equal_and_nested_budgets():
    assert merge_equal(np.array([[1.0, 2], [1, 3], [1, 2], [1, 2 + 1e-12]])).tolist() == [0, 1, 0, 0]
    nested = find_patches(np.array([[1.0, 1, 1], [2, 2, 2], [3, 3, 3]]))
    assert nested.signs.tolist() == [[0, 1, 1], [-1, 0, 1], [-1, -1, 0]]
    assert count_types(nested.signs, nested.budget).number == 1
    assert [group.tolist() for group in link_budgets(nested.signs, nested.budget)] == [[0], [1], [2]]


def test_two_budgets_of_two_goods_by_hand():
    """x + 2 y = 1 and 2 x + y = 1 cross at (1/3, 1/3): each has a patch below the other, and one above."""
    found = find_patches(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert found.budget.tolist() == [0, 0, 1, 1]
    assert found.signs.tolist() == [[0, -1], [0, 1], [-1, 0], [1, 0]]
    assert found.first.tolist() == [0, 2, 4, 6, 8]
    shares = [
        {tuple(np.round(c, 9)) for c in found.corners[a:b]} for a, b in zip(found.first, found.first[1:], strict=False)
    ]
    third = round(1 / 3, 9), round(2 / 3, 9)
    assert shares == [{(0.0, 1.0), third}, {(1.0, 0.0), third}, {(1.0, 0.0), third[::-1]}, {(0.0, 1.0), third[::-1]}]
    apart = find_patches(np.array([[1.0, 1.0], [2.0, 2.0]]))
    assert apart.signs.tolist() == [[0, 1], [-1, 0]]


def test_patches_of_random_budgets_are_the_signs_that_occur(rng):
    """Of random bundles on the budgets every sign vector is a patch, and every patch has a bundle: the mean of its corners."""
    prices = rng.uniform(0.5, 2.0, (4, 3))
    found = find_patches(prices)
    for j in range(4):
        own = found.signs[found.budget == j]
        y = rng.dirichlet(np.ones(3), 4000)
        drawn = np.sign(y / prices[j] @ prices.T - 1).astype(int)
        drawn[:, j] = 0
        assert {tuple(row) for row in drawn.tolist()} <= {tuple(row) for row in own.tolist()}
    for i, (j, signs) in enumerate(zip(found.budget, found.signs, strict=True)):
        corners = found.corners[found.first[i] : found.first[i + 1]]
        assert corners.sum(axis=1) == pytest.approx(1.0)
        assert len(corners) >= 3
        above = corners.mean(axis=0) / prices[j] @ prices.T - 1
        assert [0 if k == j else int(np.sign(v)) for k, v in enumerate(above)] == signs.tolist()


def test_equal_budgets_and_crossings_up_to_rounding(monkeypatch):
    near, far = [1.0 + 0.9e-9, 2.0], [1.0 + 1.1e-9, 2.0]
    assert merge_equal(np.array([[1.0, 2.0], [2.0, 1.0], near, [2.0, 1.0]])).tolist() == [0, 1, 0, 1]
    assert merge_equal(np.array([[1.0, 2.0], [2.0, 1.0], far, far])).tolist() == [0, 1, 2, 2]
    # A third budget through the crossing of two others makes no patch between them.
    through = np.array([[1.0, 2.0], [2.0, 1.0], [1.5, 1.5 + 1e-10]])
    assert [int((find_patches(through).budget == j).sum()) for j in range(3)] == [2, 2, 2]
    beside = np.array([[1.0, 2.0], [2.0, 1.0], [1.5, 1.6]])
    assert [int((find_patches(beside).budget == j).sum()) for j in range(3)] == [3, 3, 3]
    monkeypatch.setattr("rumflow.core.arrangement.MOST_PATCHES", 8)
    with pytest.raises(InputError, match=r"3 budgets with 2 goods have too many patches \(at most 8 are"):
        find_patches(beside)
    monkeypatch.setattr("rumflow.core.arrangement.MOST_PATCHES", 9)
    assert len(find_patches(beside).budget) == 9
