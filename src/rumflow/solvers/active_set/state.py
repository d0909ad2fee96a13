"""What the kernels of the active set work on: the problem, the active types with their factor, and the pool."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.core.problem import weight_range

# A type whose pivot is below this share of its norm depends on the active ones. Where weights differ much, types that differ in
# light cells only have small pivots without depending on each other.
PIVOT, SPREAD_PIVOT, _SPREAD = 1e-11, 1e-13, 1e4


class KernelProblem(NamedTuple):
    """What is to be approximated, in tables of cost[position, column].

    On the lattice without weights (all 1), `weights` and `table` have no rows; on a graph `table` has one row.
    """

    target: Array  # rho_hat, (n, 2^(n-1)) on the lattice, (menus, width) on a graph; anything where the weight is 0
    weights: Array
    table: Array  # for Gram entries: T = Z^T w on the lattice, the weights of all cells in one row on a graph
    ridge: float  # c; 0: any total weight (the cone)
    pivot: float  # least pivot, as a share of the diagonal


def least_pivot(weights: Array) -> float:
    """`Problem.pivot` for these weights."""
    _, least, largest = weight_range(weights)
    return SPREAD_PIVOT if largest > _SPREAD * least else PIVOT


class Active(NamedTuple):
    """The active set; the first `count[0]` entries of each array are in use, up to the common capacity."""

    count: NDArray[np.int64]  # type: ignore[assignment]  # (1,)
    paths: NDArray[np.int32]  # (capacity, positions)
    weights: Array  # lam
    carried: Array  # (2, capacity): u = L^{-1} 1 and e = L^{-1} r
    factor: Array  # rows of L, packed but for what `kernels.improve` does to them
    start: NDArray[np.int64]  # where each row of L begins
    moved: Array  # change of each weight since the pool was last priced
    slot: NDArray[np.int64]  # the row of `Pool.gram` that belongs to each type
    free: NDArray[np.int64]  # unused slots: free[count:]
    scratch: Array  # (4, capacity)
    fresh: NDArray[np.int64]  # (1,): 1 where the factor has just been built


class Pool(NamedTuple):
    """Violated types, and on the lattice their Gram products with the active ones (on a graph `columns`, `gram` are empty)."""

    paths: NDArray[np.int32]  # (size, positions)
    columns: NDArray[np.int32]  # (positions, size): the same, transposed, for vector instructions
    gradient: Array  # (size,)
    open: NDArray[np.bool_]  # may enter
    gram: Array  # (capacity, size): one row per slot


def make_pool(size: int, positions: int, capacity: int = 0) -> Pool:
    """An empty pool of `size` types; with Gram products for an active set of this capacity."""
    return Pool(
        paths=np.empty((size, positions), np.int32),
        columns=np.empty((positions if capacity else 0, size), np.int32),
        gradient=np.empty(size),
        open=np.empty(size, np.bool_),
        gram=np.empty((capacity, size)),
    )
