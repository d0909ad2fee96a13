"""Where problems of few items are solved: the arrays of `rumflow.solvers.small.solve`, and the ways in and out of them.

*Lanes.* A number per cell is held transposed, row = column m of the internal layout, eight lanes = items, so that every butterfly
of a transform is eight lanes wide. With fewer than eight items the other lanes stay 0.

*A ranking is one machine word*, byte x = its column in row x.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints
from rumflow.core.compile import inlined, leaf, reduction
from rumflow.core.paths import squeeze
from rumflow.core.problem import weight_range
from rumflow.solvers.active_set.factor import row_start
from rumflow.solvers.active_set.state import KernelProblem

MOST_ITEMS = 8
BATCH = 8  # rankings that enter between two lattice passes
_LINE = 64  # bytes of a line of the cache
_SPREAD = 1e5  # where weights differ by more than this factor the inverse loses its accuracy too soon


class SmallProblem(NamedTuple):
    """What a stack of problems shares; all in lanes, `weights` and `table` without entries where every weight is 1."""

    weights: Array
    table: Array  # T = Z^T w
    order: Ints  # (2^n,): menus, small ones first
    layer: Ints  # (n + 2,): where each size begins
    down: Ints  # (N, 2): for each menu in order, its edges: place in the lanes, menu below
    up: Ints  # (N, 2): for each menu, layers from the full menu on: place of the edge above, menu above
    scale: float  # sum of the weights: no two RUMs are further apart
    ridge: float
    most: int = np.iinfo(np.int64).max  # active rankings beyond which others take over


class SmallWorkspace(NamedTuple):
    """The arrays of one solve. The first `count[0]` entries are in use; M^{-1}, y and e are 0 beyond them."""

    count: NDArray[np.int64]  # type: ignore[assignment]  # (1,)
    target: Array  # rho_hat in lanes
    cost: Array  # Z^T w (rho - rho_hat) in lanes
    below: Array  # (2^n,): cheapest way from each menu to the empty one, and
    above: Array  # from the full menu to it
    edge: NDArray[np.int64]  # (2, 2^n): the first edge of each
    columns: NDArray[np.uint8]  # (capacity, 8): the active rankings, and
    words: NDArray[np.uint64]  # (capacity,): the same memory
    weights: Array  # lam
    inverse: Array  # (capacity, capacity): M^{-1}
    carried: Array  # (2, capacity): y and e
    scratch: Array  # (4, capacity)
    unit: Array  # (4, capacity): the vectors u of entering rankings
    new_columns: NDArray[np.uint8]  # (8, 8): entering rankings, and
    new_words: NDArray[np.uint64]  # (8,): the same memory
    new_weights: Array  # (8,)
    residual: Array  # (8,): their r
    menus: NDArray[np.int64]  # (8,): the middle menus they go through
    first_paths: NDArray[np.int32]  # (4, n): rankings to begin with


@lru_cache(maxsize=MOST_ITEMS)
def _edges(n: int) -> tuple[Ints, Ints, Ints, Ints]:
    """The edges of the lattice in the order of the dynamic programmes, menus by size: see `SmallProblem`."""
    menus = np.arange(1 << n)
    size = np.bitwise_count(menus)
    order = np.argsort(size, kind="stable")
    member = (order[:, None] >> np.arange(n) & 1).astype(np.bool_)
    place = 8 * squeeze.py_func(order[:, None], np.arange(n)) + np.arange(n)
    other = order[:, None] ^ 1 << np.arange(n)
    layer = np.searchsorted(size[order], np.arange(n + 2))
    down = np.stack([place[member], other[member]], axis=1)
    rows = np.concatenate([np.arange(layer[s], layer[s + 1]) for s in range(n - 1, -1, -1)])
    outside = ~member[rows]
    up = np.stack([place[rows][outside], other[rows][outside]], axis=1)
    return order, layer, down, up


def is_small(n: int, weights: Array) -> bool:
    """Are there few items, and weights close enough together, for this solver?"""
    if n > MOST_ITEMS or not len(weights):
        return n <= MOST_ITEMS
    _, least, largest = weight_range(weights)
    return largest <= _SPREAD * least


def make_small(problem: KernelProblem) -> SmallProblem:
    """A problem of at most `MOST_ITEMS` items in the form of these kernels; its target goes to a `SmallWorkspace` instead."""
    n = problem.target.shape[0]

    def lanes(rows: Array) -> Array:
        if not len(rows):
            return np.empty(0)
        out = np.zeros((rows.shape[1], 8))
        out[:, :n] = rows.T
        return out.ravel()

    scale = float(problem.weights.sum()) if len(problem.weights) else float(n << (n - 1))
    return SmallProblem(lanes(problem.weights), lanes(problem.table), *_edges(n), scale, problem.ridge)


def _aligned(shape: int | tuple[int, ...], kind: type = np.float64) -> NDArray[Any]:
    """Zeros that begin where a line of the cache does: wherever else they lie, solves take up to a tenth longer."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    memory = np.zeros(size + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(kind).reshape(shape)


def make_workspace(n: int) -> SmallWorkspace:
    """Arrays for any problem of n items: an affinely independent set is no larger than the dimension of RUM, plus one."""
    capacity = ((n << (n - 1)) - (1 << n) + 2 + BATCH + 15) // 16 * 16 + 16
    columns, new_columns = _aligned((capacity, 8), np.uint8), _aligned((BATCH, 8), np.uint8)
    return SmallWorkspace(
        count=_aligned(1, np.int64),
        target=_aligned(8 << (n - 1)),
        cost=_aligned(8 << (n - 1)),
        below=_aligned(1 << n),
        above=_aligned(1 << n),
        edge=_aligned((2, 1 << n), np.int64),
        columns=columns,
        words=columns.view(np.uint64).ravel(),
        weights=_aligned(capacity),
        inverse=_aligned((capacity, capacity)),
        carried=_aligned((2, capacity)),
        scratch=_aligned((4, capacity)),
        unit=_aligned((4, capacity)),
        new_columns=new_columns,
        new_words=new_columns.view(np.uint64).ravel(),
        new_weights=_aligned(BATCH),
        residual=_aligned(BATCH),
        menus=_aligned(BATCH, np.int64),
        first_paths=_aligned((4, n), np.int32),
    )


@inlined
def padded(k):
    """k rounded up to what vector loops take at a time."""
    return (k + 7) & ~7


@reduction
def total(vector, count):
    """The sum of the first `count` entries."""
    s = 0.0
    for i in range(count):
        s += vector[i]
    return s


@inlined
def clear(workspace):
    """No active rankings."""
    width = padded(workspace.count[0])
    for i in range(width):
        workspace.carried[0, i] = 0.0
        workspace.carried[1, i] = 0.0
        for j in range(width):
            workspace.inverse[i, j] = 0.0
    workspace.count[0] = 0


@leaf
def load_target(workspace, target):
    """Data in the internal layout to lanes."""
    for j in range(target.shape[1]):
        for x in range(target.shape[0]):
            workspace.target[8 * j + x] = target[x, j]


@leaf
def load_small(workspace, paths, lam, inverse):
    """Make rankings active whose inverse is known, packed."""
    clear(workspace)
    k = paths.shape[0]
    workspace.count[0] = k
    for i in range(k):
        for x in range(paths.shape[1]):
            workspace.columns[i, x] = paths[i, x]
        workspace.weights[i] = lam[i] if lam.shape[0] > 0 else 0.0
        start = row_start(i)
        for j in range(i + 1):
            workspace.inverse[i, j] = workspace.inverse[j, i] = inverse[start + j]
    for i in range(k):
        workspace.carried[0, i] = total(workspace.inverse[i], k)


@leaf
def store_rankings(workspace, paths, weights, inverse):
    """The active rankings out of the workspace; their inverse, packed, where `inverse` has space for it."""
    k = workspace.count[0]
    for i in range(k):
        for x in range(paths.shape[1]):
            paths[i, x] = workspace.columns[i, x]
        weights[i] = workspace.weights[i]
    if inverse.shape[0] > 0:
        for i in range(k):
            start = row_start(i)
            for j in range(i + 1):
                inverse[start + j] = workspace.inverse[i, j]


@leaf
def store_flow(workspace, flow):
    """The flow of the active rankings."""
    flow[:] = 0.0
    for i in range(workspace.count[0]):
        for x in range(flow.shape[0]):
            flow[x, workspace.columns[i, x]] += workspace.weights[i]
