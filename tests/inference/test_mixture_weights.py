"""Most likely weights of given types: by hand, to the last digits of small shares, and against EM."""

import numpy as np
import pytest

from rumflow.core.patience import OutOfTimeError, limited
from rumflow.inference.mixture_weights import most_likely_weights


def test_shares_of_one_menu_are_frequencies():
    """Three types that take one of three items each: shares are frequencies, whatever their size."""
    takes, counts = np.array([[0], [1], [2]]), np.array([3.0, 1e12, 40.0])
    found = most_likely_weights(takes, counts, np.array([0.2, 0.5, 0.3]), 1e-2)
    assert found == pytest.approx(counts / counts.sum(), rel=1e-12)


def test_a_type_without_use_gets_next_to_nothing():
    """Types aa, bb and ab over two menus; of {a, b} 6 took a and 4 took b, of the other one all took b."""
    takes, counts = np.array([[0, 2], [1, 3], [0, 3]]), np.array([6.0, 4.0, 0.0, 20.0])
    found = most_likely_weights(takes, counts, np.full(3, 1 / 3), 1e-9)
    assert found == pytest.approx([0.0, 0.4, 0.6], abs=1e-10)


def test_types_that_are_the_same_share_their_weight():
    takes, counts = np.array([[0], [0], [1]]), np.array([6.0, 2.0])
    found = most_likely_weights(takes, counts, np.full(3, 1 / 3), 1e-9)
    assert found[:2].sum() == pytest.approx(0.75)


@pytest.mark.parametrize("seed", range(8))
def test_against_em(seed):
    rng = np.random.default_rng(seed)
    menus, width, k = 4, 3, int(rng.integers(2, 9))
    takes = rng.integers(0, width, (k, menus)) + width * np.arange(menus)
    counts = np.zeros(menus * width)
    counts[takes.reshape(-1)] = rng.integers(1, 30, takes.size)  # no cell that no type takes
    share = np.full(k, 1 / k)
    matrix = np.zeros((k, menus * width))
    np.put_along_axis(matrix, takes, 1.0, axis=1)
    seen = counts > 0
    for _ in range(20_000):
        share *= matrix[:, seen] @ (counts[seen] / (share @ matrix[:, seen])) / counts.sum()
    found = most_likely_weights(takes, counts, np.full(k, 1 / k), 1e-9)
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0).all()
    logliks = [float(counts[seen] @ np.log(w @ matrix[:, seen])) for w in (found, share)]
    assert logliks[0] >= logliks[1] - 1e-9
    assert logliks[0] == pytest.approx(logliks[1], abs=1e-3)
    assert (matrix[:, seen] @ (counts[seen] / (found @ matrix[:, seen]))).max() <= counts.sum() + 1e-8


def test_a_limit_of_time_holds_between_two_steps():
    with limited(-np.inf), pytest.raises(OutOfTimeError):
        most_likely_weights(np.array([[0], [1]]), np.array([6.0, 2.0]), np.full(2, 0.5), 1e-9)
