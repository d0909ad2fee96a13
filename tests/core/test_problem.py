"""Sizes, weights and rounding floors of problems by hand."""

import numpy as np
import pytest

from rumflow.core.problem import (
    NO_WEIGHTS,
    Problem,
    data_size,
    is_complete,
    is_rum_distance,
    least_weight,
    rounding_floor,
    weight_range,
)


def test_sizes_and_floors_by_hand():
    target = np.array([[0.5, -2.0], [np.nan, 1.0]])
    weights = np.array([[2.0, 3.0], [0.0, 4.0]])
    assert data_size(target, weights) == 2 * 0.25 + 3 * 2.0 + 4.0
    assert data_size(np.array([[0.5, -2.0]]), NO_WEIGHTS) == 0.25 + 2.0
    assert least_weight(weights) == 2.0
    assert least_weight(NO_WEIGHTS) == 1.0
    assert is_complete(NO_WEIGHTS)
    assert not is_complete(weights)
    assert is_complete(weights + 1)
    eps = np.finfo(float).eps
    assert rounding_floor(3.0, 1.0) == 32 * eps * 3.0
    assert rounding_floor(1e12, 1e-3) == pytest.approx(1e-9)
    assert is_rum_distance(1e-24, 1.0)
    assert not is_rum_distance(1.1e-24, 1.0)
    problem = Problem(np.zeros((3, 4)), np.array([[1.0, 0.0, 1.0, 1.0]] * 3))
    assert problem.n == 3
    assert not problem.complete
    assert Problem(np.zeros((3, 4))).complete


def test_ranges_of_weights_equal_those_of_numpy(rng):
    for shape in ((1, 1), (3, 4), (6, 32)):
        weights = np.where(rng.random(shape) < 0.3, 0.0, rng.lognormal(0, 5, shape))
        weights[0, 0] = 1.0
        seen = weights[weights > 0]
        assert weight_range(weights) == (len(seen), seen.min(), seen.max())
        assert weight_range(weights.T) == weight_range(weights)
    assert weight_range(np.zeros((2, 2))) == (0, np.inf, 0.0)
    assert weight_range(NO_WEIGHTS) == (0, np.inf, 0.0)
