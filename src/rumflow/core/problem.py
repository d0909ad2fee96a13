"""The problem that every solver solves, and when it counts as solved.

    minimise  f(rho) = 1/2 sum over cells of  w (rho - rho_hat)^2   over the RUMs, or over their cone (any total instead of 1)

All arrays are in the internal layout (`rumflow.core.lattice`). Weights without rows say that every cell counts 1; a weight of 0
says that a cell was not observed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.compile import leaf

#: Every cell counts 1.
NO_WEIGHTS = np.empty((0, 0))

#: Data nearer to RUM than this share of `data_size` are taken to be RUM.
RELATIVE_RUM_TOLERANCE = 1e-24

#: Solvers aim at a gap of this share of `data_size`: a good deal lower than what passes as rounding.
SOLVER_FLOOR = 0.5e-16

_ROUNDING = 32 * float(np.finfo(float).eps)

#: Rounding may not excuse an error of more than this in the probability of any observed cell.
CELL_ERROR = 1e-3


class Problem(NamedTuple):
    """One projection."""

    target: Array  # rho_hat, (n, 2^(n-1)); anything where the weight is 0
    weights: Array = NO_WEIGHTS
    cone: bool = False

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.target)

    @property
    def complete(self) -> bool:
        """Has every cell been observed?"""
        return is_complete(self.weights)


class Stop(NamedTuple):
    """A solve ends when its gap is within max(tol * objective, floor); without a floor, when the gap is rounding.

    Where there is a threshold, it is enough to know on which side of it the optimum is.
    """

    tol: float
    floor: float | None = None
    threshold: float | None = None


@leaf
def _positive(weights):
    """How many weights in a row are positive; the smallest of them, and the largest."""
    count, least, largest = 0, np.inf, 0.0
    for w in weights:
        if w > 0.0:
            count += 1
            least = min(least, w)
            largest = max(largest, w)
    return count, least, largest


def weight_range(weights: Array) -> tuple[int, float, float]:
    """How many of these weights are positive; the smallest of them, and the largest. Several times as quick as NumPy."""
    found: tuple[int, float, float] = _positive(weights.ravel())
    return found


def is_complete(weights: Array) -> bool:
    """Does every cell have a positive weight? No rows: all 1."""
    return not len(weights) or weight_range(weights)[0] == weights.size


def least_weight(weights: Array) -> float:
    """The smallest positive weight."""
    return weight_range(weights)[1] if len(weights) else 1.0


@leaf
def data_size(target, weights):
    """sum w |rho_hat| min(|rho_hat|, 1) over the observed cells: sum w rho_hat^2 for probabilities.

    The gap is a sum of terms w (rho - rho_hat) rho with rho <= 1, so its rounding is some units in the last place of this.
    """
    total = 0.0
    for x in range(target.shape[0]):
        for j in range(target.shape[1]):
            value = abs(target[x, j])
            if weights.shape[0] == 0:
                total += value * min(value, 1.0)
            elif weights[x, j] > 0.0:
                total += weights[x, j] * value * min(value, 1.0)
    return total


def rounding_floor(size: float, least: float) -> float:
    """A gap this small is rounding, given `data_size` and `least_weight`: 64 units in the last place of half the size.

    The squared error of a cell is at most gap / w. Where weights differ so much that rounding in the heavy cells would hide
    errors beyond `CELL_ERROR` in the light ones, only a smaller gap is excused.
    """
    rounding, most = _ROUNDING * size, CELL_ERROR * CELL_ERROR * least
    return min(rounding, most) if isinstance(size, float) else np.minimum(rounding, most)


def is_rum_distance(objective: float, size: float) -> bool:
    """Is the distance zero up to rounding? Some units in the last place of the data, squared."""
    return objective <= RELATIVE_RUM_TOLERANCE * size
