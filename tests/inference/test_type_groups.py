"""Types taken in one after another, and groups joined to one mixture: by hand."""

import numpy as np
import pytest

from rumflow.inference.type_groups import TypeGroup, join_groups


def make_group(accuracy=1e-9):
    """A menu of three items, taken 6, 3 and 1 times; at first the only types take the first item, twice, and the second."""
    counts = np.array([6.0, 3.0, 1.0])
    types, takes = np.array([[0], [0], [1]], np.int32), np.array([[0], [0], [1]])
    return TypeGroup(types, takes, np.array([0.3, 0.2, 0.5]), counts, 10.0, accuracy), counts


def test_types_that_take_the_same_are_one():
    group, _ = make_group()
    assert group.types.tolist() == [[0], [1]]
    assert group.weights.tolist() == [0.5, 0.5]
    rho = np.zeros(3)
    group.add_to(rho)
    assert rho.tolist() == [0.5, 0.5, 0.0]


def test_a_type_is_taken_in_once():
    group, _ = make_group()
    new = np.array([2], np.int32), np.array([2])
    assert group.add(*new)
    assert group.weights == pytest.approx([0.475, 0.475, 0.05])  # half of 1 in 10
    assert not group.add(*new)


def test_weights_become_frequencies():
    group, counts = make_group()
    group.add(np.array([2], np.int32), np.array([2]))
    rounds = 0
    while True:
        rho = np.zeros(3)
        group.add_to(rho)
        dearest = int((counts / rho).argmax())
        if not group.improve(np.array([dearest], np.int32), np.array([dearest]), counts / rho):
            break
        rounds += 1
    assert 1 < rounds < 15
    assert group.weights == pytest.approx([0.6, 0.3, 0.1], abs=1e-9)
    assert (counts / rho).max() <= 10 + 1e-9


def test_small_shares_keep_their_digits_in_a_joined_mixture():
    takes = np.array([[0], [1]])
    small = TypeGroup(np.array([[0], [1]], np.int32), takes, np.array([1 - 1e-14, 1e-14]), np.ones(2), 2.0, 1e-9)
    other = TypeGroup(np.array([[0], [1]], np.int32), takes, np.array([1 - 3e-13, 3e-13]), np.ones(2), 2.0, 1e-9)
    types, weights = join_groups([small, other], [np.array([0]), np.array([1])])
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)
    assert weights[types[:, 0] == 1].sum() == pytest.approx(1e-14, rel=1e-14, abs=0)
    assert weights[types[:, 1] == 1].sum() == pytest.approx(3e-13, rel=1e-14, abs=0)
    alone = join_groups([small], [np.array([0])])
    assert alone[0] is small.types
    assert alone[1] is small.weights
