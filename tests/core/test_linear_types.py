"""Cones of linear utilities: against random directions, linear programmes, and the number of orders that projections have."""

from itertools import combinations

import numpy as np
import pytest

from rumflow.core.linear_types import (
    _subsets,
    choose_directions,
    count_directions,
    make_directions,
    pairs_within,
    unique_rows,
)
from tests.reference.linear import directions_take, is_taken


def random_menus(rng, k, grid):
    """Menus of points, all different within a menu; with numbers of a grid many hyperplanes meet."""
    sizes = rng.integers(1, 5, size=int(rng.integers(1, 6)))
    start = np.concatenate([[0], np.cumsum(sizes)])
    points = rng.normal(size=(start[-1], k))
    if grid:
        cube = np.stack(np.meshgrid(*[np.arange(5.0)] * k), axis=-1).reshape(-1, k)
        menus = [cube[rng.choice(len(cube), size, replace=False)] for size in sizes]
        points = np.vstack(menus)
    return points, start


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_types_are_those_of_all_directions(k, grid):
    for seed in range(8):
        rng = np.random.default_rng([seed, k])
        points, start = random_menus(rng, k, grid)
        signs = rng.integers(-1, 2, size=k) if seed % 2 else np.zeros(k, np.int64)
        problem = make_directions(points, start, signs)
        rows = choose_directions(problem)[:, : len(start) - 1]
        found = set(map(tuple, rows.tolist()))
        assert len(found) == len(rows)
        assert directions_take(points, start, signs) <= found
        assert all(is_taken(points, start, signs, row) for row in found)


def cover(n, k):
    """Orders of n points in general position by their values in a direction of R^k."""
    return 1 if n == 1 else 0 if k == 0 else cover(n - 1, k) + (n - 1) * cover(n - 1, k - 1)


@pytest.mark.parametrize(("n", "k"), [(5, 1), (6, 2), (5, 3), (6, 3), (5, 4), (4, 5)])
def test_all_pairs_give_covers_number_of_orders(n, k):
    points = np.random.default_rng(n).normal(size=(n, k))
    pairs = np.array(list(combinations(range(n), 2)))
    problem = make_directions(points[pairs].reshape(-1, k), 2 * np.arange(len(pairs) + 1), np.zeros(k, np.int64))
    assert len(choose_directions(problem)) == cover(n, k)
    assert cover(5, 3) == 72


def test_attributes_without_influence_change_nothing():
    """The same number for all items of every menu, other units, and copies of attributes."""
    rng = np.random.default_rng(0)
    points, start = rng.normal(size=(12, 2)), 3 * np.arange(5)
    wider = np.column_stack([1e6 * points[:, 0], np.repeat(rng.normal(size=4), 3), 1e-3 * points[:, 1], points[:, 0]])
    rows = choose_directions(make_directions(points, start, np.zeros(2, np.int64)))
    assert np.array_equal(choose_directions(make_directions(wider, start, np.zeros(4, np.int64))), rows)


def test_the_middle_of_a_line_is_never_taken():
    points = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    assert choose_directions(make_directions(points, np.array([0, 3]), np.zeros(2, np.int64))).tolist() == [[0], [2]]


def test_the_estimate_is_near_the_number():
    for seed, (k, m) in enumerate([(2, 60), (3, 30), (4, 10)]):
        points = np.random.default_rng(seed).normal(size=(3 * m, k))
        problem = make_directions(points, 3 * np.arange(m + 1), np.zeros(k, np.int64))
        number = len(choose_directions(problem))
        assert 0.6 * number < count_directions(problem) < 1.6 * number


def test_menus_without_a_choice_have_one_type():
    problem = make_directions(np.ones((2, 3)), np.array([0, 1, 2]), np.zeros(3, np.int64))
    assert choose_directions(problem).tolist() == [[0, 0]]


def test_whoever_looks_may_stop_it():
    def stop():
        raise KeyboardInterrupt

    problem = make_directions(np.eye(3), np.array([0, 3]), np.zeros(3, np.int64))
    with pytest.raises(KeyboardInterrupt):
        choose_directions(problem, stop)


def test_pairs_and_subsets_are_all_of_them():
    assert [pair.tolist() for pair in pairs_within(np.array([0, 1, 4]))] == [[1, 1, 2], [2, 3, 3]]
    for n, size, step in [(6, 3, 4), (7, 1, 3), (5, 2, 1), (4, 4, 100)]:
        found = [tuple(row) for piece in _subsets(n, size, step) for row in piece.tolist()]
        assert sorted(found) == list(combinations(range(n), size))
        assert len(found) == len(set(found))


def test_rows_come_once_and_in_order():
    assert unique_rows(np.array([[2, 1], [0, 300], [2, 1], [0, 2]], np.int32)).tolist() == [[0, 2], [0, 300], [2, 1]]


def test_hyperplanes_that_depend_on_each_other_do_not_cross_freely():
    """On a ray where p ties with q below r, three menus tie whose differences are d, e and d + e: not all sides exist."""
    for seed in range(4):
        d, e, *rest = np.random.default_rng(seed).normal(size=(5, 4))
        zero = np.zeros(4)
        points, start = np.array([zero, d, zero, e, zero, d + e, *rest]), np.array([0, 2, 4, 6, 9])
        rows = choose_directions(make_directions(points, start, np.zeros(4, np.int64)))
        assert all(is_taken(points, start, np.zeros(4, np.int64), row) for row in rows)
        assert len(rows) == 6 * 3
