"""Points of the central path and their derivatives for stacks of vectors: the smoothed projection.

For mu > 0 the smoothed projection of z is rho = Z k with

    k(mu, z) = argmin 1/2 || Z k - z ||_w^2 - mu sum log k   over unit flows k,

which differs from the projection by at most mu N in the objective, and is smooth: with Q = Z^T diag(w) Z and
D = mu / k^2,

    <h, (Q + D) dk> = <h, Z^T (w dz)>  for every zero-flow h,

so J = Z S Z^T diag(w) and J^T g = w Z S Z^T g, S the symmetric solution operator (for the input itself: the paper's
theorem stops at the linear term). Forward and backward solve with the same matrix, by conjugate gradients with a spanning
tree; the backward pass takes the tree that the forward pass ended with. Several samples are treated side by side, one in
each of the `rumflow.solvers.interior.lanes`.

The path is followed by primal-dual Newton steps with s = max(mu_now / 20, mu), then at mu until flows are known up to about
1e-12 of themselves (`ACCURACY`, or what the caller asks for). The tree is *lazy*: it is kept, also from one pass to the next,
until a solve takes clearly more iterations than the first with it. The systems on the way are solved in single precision, and in
double precision where that fails; those of derivatives, which are solved to the end, in double precision.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints
from rumflow.core.paths import uniform_flow
from rumflow.core.threads import run_threads, thread_count
from rumflow.solvers.interior.cg import diagonal_table
from rumflow.solvers.interior.lanes import Lanes, lane_count, make_lanes
from rumflow.solvers.interior.smoothed_path import (
    Samples,
    Workspace,
    centre_piece,
    make_samples,
    make_workspace,
    tangent_piece,
)

#: In which precision Newton systems are solved, one after the other, and what a solve reaches.
_ATTEMPTS = (np.float32, 1e-5), (np.float64, 1e-14)
#: The largest relative error of a flow, and the error of a derivative relative to its right side.
ACCURACY = 1e-12, 1e-11
#: Samples that one thread takes at a time.
_PIECE = 128


class Centre(NamedTuple):
    """A point of the central path, to begin from or to differentiate at."""

    flow: Array  # (n, 2^(n-1)), > 0
    tree: NDArray[np.int32]  # (3, 2^n): order, parent and edge of `Tree`


class SmoothedProjector:
    """Smoothed projections of stacks over the same cells: `solve`, and `tangent` for the derivatives."""

    def __init__(
        self, n: int, weights: Array, mu: float, threads: int | None = None, accuracy: tuple[float, float] = ACCURACY
    ) -> None:
        self.n: int = n
        self.mu: float = mu
        self.threads: int = thread_count(threads)
        self.accuracy: tuple[float, float] = accuracy
        self.weights = weights
        self.table: Array = diagonal_table(weights, n, 1)
        self.uniform: Array = uniform_flow(n)

    def _run(self, task: Callable[..., None], own: Ints, dtype: type) -> None:
        """Run `task(some of these samples, work arrays ...)` on all of them, in pieces."""
        step = max(1, min(_PIECE, -(-len(own) // self.threads)))
        count = lane_count(self.n, step, dtype)

        def run(part: Ints) -> None:
            lanes = make_lanes(self.n, self.weights, count, dtype)
            task(part, make_workspace(self.n), make_samples(self.n, count), lanes)

        run_threads(run, [own[i : i + step] for i in range(0, len(own), step)], self.threads)

    def solve(
        self, targets: Array, starts: Sequence[Centre | None] | None = None
    ) -> tuple[Array, Array, NDArray[np.int32]]:
        """Probabilities, flows and trees of a stack (B, n, 2^(n-1))."""
        size = len(targets)
        flows, rhos = np.empty_like(targets), np.empty_like(targets)
        flows[:] = self.uniform
        trees = np.zeros((size, 3, 1 << self.n), np.int32)
        has_tree = np.zeros(size, np.bool_)
        for i, start in enumerate(starts or ()):
            if start is not None:
                flows[i], trees[i], has_tree[i] = start.flow, start.tree, True
        if len(self.weights):
            targets = np.where(self.weights > 0, targets, 0.0)

        found = np.zeros(size, np.bool_)
        for dtype, reach in _ATTEMPTS:
            left = np.flatnonzero(~found)
            if dtype is np.float64:  # where the first attempt ended is no place to begin
                flows[left], has_tree[left] = self.uniform, False

            def task(own: Ints, work: Workspace, at: Samples, lanes: Lanes, reach: float = reach) -> None:
                done, parts = found[own], (flows[own], trees[own], rhos[own])
                centre_piece(
                    targets[own], self.weights, self.table, self.mu, work, at, lanes, reach, self.accuracy[0], *parts[:2],
                    has_tree[own], done, parts[2],
                )  # fmt: skip
                found[own], flows[own], trees[own], rhos[own] = done, *parts

            self._run(task, left, dtype)
        if not found.all():
            warnings.warn(
                f"sample {int(np.argmin(found))}: the smoothed projection was not found to full accuracy: "
                "take a larger smoothing, or inputs of a smaller scale",
                RuntimeWarning,
                stacklevel=2,
            )
        return rhos, flows, trees

    def tangent(self, flows: Array, trees: NDArray[np.int32], rows: Array, by_flow: Array | None = None) -> Array:
        """S times each of a stack of vectors, in place (`rumflow.solvers.derivatives`); `by_flow`: the same for the flow."""
        none = np.empty((0, *rows.shape[1:]))

        def task(own: Ints, work: Workspace, at: Samples, lanes: Lanes) -> None:
            g, other = rows[own], none if by_flow is None else by_flow[own]
            tangent_piece(self.table, self.mu, work, at, lanes, self.accuracy[1], flows[own], trees[own], g, other)
            rows[own] = g
            if by_flow is not None:
                by_flow[own] = other

        self._run(task, np.arange(len(rows)), np.float64)
        return rows
