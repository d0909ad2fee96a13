"""Points of the central path and their derivatives for stacks of vectors: the smoothed projection.

For mu > 0 the smoothed projection of z is rho = Z k with

    k(mu, z) = argmin 1/2 || Z k - z ||_w^2 - mu sum log k   over unit flows k,

which differs from the projection by at most mu N in the objective, and is smooth: with Q = Z^T diag(w) Z and
D = mu / k^2,

    <h, (Q + D) dk> = <h, Z^T (w dz)>  for every zero-flow h,

so J = Z S Z^T diag(w) and J^T g = w Z S Z^T g, S the symmetric solution operator (for the input itself: the paper's
theorem stops at the linear term). Forward and backward solve with the same matrix, by conjugate gradients with the tree
of `rumflow.solvers.interior.cg`; the backward pass takes the tree that the forward pass ended with.

The path is followed by primal-dual Newton steps with s = max(mu_now / 10, mu), then at mu until the largest relative
step of a flow is below 1e-6. The tree is *lazy*: it is kept, also from one pass to the next, until a solve takes
clearly more iterations than the first with it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.core.compile import kernel, leaf, reduction
from rumflow.core.paths import conserve_kernel, uniform_flow
from rumflow.core.residual import residual_row
from rumflow.core.threads import run_threads, thread_count
from rumflow.core.transforms import transform_row
from rumflow.core.tree import (
    Tree,
    breadth_first,
    divergence,
    spanning_edges,
    subtract_differences,
    sweep_down,
    sweep_up,
)
from rumflow.solvers.interior.cg import diagonal_table, dot

_BACKWARD_TOL = 1e-11


class Centre(NamedTuple):
    """A point of the central path, to begin from or to differentiate at."""

    flow: Array  # (n, 2^(n-1)), > 0
    tree: NDArray[np.int32]  # (3, 2^n): order, parent and edge of `Tree`


class Workspace(NamedTuple):
    """The arrays that one thread works with."""

    cost: Array
    lam: Array
    inverse: Array
    scaling: Array
    direction: Array
    image: Array
    solution: Array
    residual: Array
    node: Array
    carried: Array
    lanes: Array


def make_workspace(n: int) -> Workspace:
    """Empty arrays for n items."""
    half = 1 << (n - 1)
    shapes: list[tuple[int, ...]] = [(n, half)] * 8
    shapes += [(2 * half,), (2 * half,), (n * half,)]
    return Workspace(*map(np.empty, shapes))


@kernel
def build_tree(diagonal, tree, n):
    """The spanning tree that is light in `diagonal`."""
    spanning_edges(diagonal, tree.edges, n)
    breadth_first(tree.edges, tree.order, tree.parent, tree.edge, n)


@kernel
def precondition(work, tree, table, build):
    """1 / (D + T) on the co-tree, 0 on the tree, which is built first if asked for."""
    n = table.shape[0]
    for x in range(n):
        for j in range(table.shape[1]):
            work.inverse[x, j] = work.scaling[x, j] + table[x, j]
    if build:
        build_tree(work.inverse, tree, n)
    for x in range(n):
        for j in range(table.shape[1]):
            work.inverse[x, j] = 1.0 / work.inverse[x, j]
    flat = work.inverse.reshape(-1)
    for i in range(1, tree.edge.shape[0]):
        e = tree.edge[i]
        flat[e if e >= 0 else ~e] = 0.0


@leaf
def gram_lanes(lanes, n):
    """Z^T Z on all rows at once, laid out with the items side by side: the number of item x in column j stands at n j + x.

    The two halves of each butterfly are then long stretches, whatever the bit.
    """
    step = n
    while step < lanes.shape[0]:
        for start in range(0, lanes.shape[0], 2 * step):
            low, high = lanes[start : start + step], lanes[start + step : start + 2 * step]
            for j in range(low.shape[0]):
                total = low[j] + high[j]
                low[j] = total
                high[j] += total
        step *= 2


@leaf
def sum_lanes(lanes, n, adjoint):
    """The same for Z, superset sums, or Z^T."""
    step = n
    while step < lanes.shape[0]:
        for start in range(0, lanes.shape[0], 2 * step):
            low, high = lanes[start : start + step], lanes[start + step : start + 2 * step]
            if adjoint:
                for j in range(low.shape[0]):
                    high[j] += low[j]
            else:
                for j in range(low.shape[0]):
                    low[j] += high[j]
        step *= 2


@leaf
def hessian(flow, out, scaling, weights, lanes):
    """out = (Q + D) flow; `lanes` is scratch for as many numbers."""
    n, half = flow.shape
    for x in range(n):
        own, column = flow[x], lanes[x:]
        for j in range(half):
            column[n * j] = own[j]
    if weights.shape[0] > 0:
        sum_lanes(lanes, n, False)
        for x in range(n):
            w, column = weights[x], lanes[x:]
            for j in range(half):
                column[n * j] *= w[j]
        sum_lanes(lanes, n, True)
    else:
        gram_lanes(lanes, n)
    for x in range(n):
        own, row, d, column = flow[x], out[x], scaling[x], lanes[x:]
        for j in range(half):
            row[j] = column[n * j] + d[j] * own[j]


@reduction
def weighted_square(weights, values):
    """sum w v^2."""
    total = 0.0
    for j in range(values.shape[0]):
        total += weights[j] * values[j] * values[j]
    return total


@kernel
def gradient(flow, target, weights, cost):
    """cost = Z^T w (Z flow - z)."""
    bits = flow.shape[0] - 1
    for x in range(flow.shape[0]):
        row = cost[x]
        row[:] = flow[x]
        transform_row(row, bits, 1.0, np.bool_(False))
        residual_row(row, target[x], weights[x] if weights.shape[0] else row[:0])
        transform_row(row, bits, 1.0, np.bool_(True))


@kernel
def move(flow, lam, step, aim):
    """The longest steps along dk = step and dlam = aim / k - lam - (lam / k) dk, up to 1 and 0.995 of the way to 0.

    Returns the new mean of k lam, the length of the flow's step, and the largest |dk| / k.
    """
    shrink = shrink_lam = relative = total = 0.0
    for x in range(flow.shape[0]):
        for j in range(flow.shape[1]):
            change = step[x, j] / flow[x, j]
            change_lam = aim / (flow[x, j] * lam[x, j]) - 1.0 - change
            shrink = max(shrink, -change)
            shrink_lam = max(shrink_lam, -change_lam)
            relative = max(relative, abs(change))
    by_flow = 1.0 if shrink <= 0.995 else 0.995 / shrink
    by_lam = 1.0 if shrink_lam <= 0.995 else 0.995 / shrink_lam
    for x in range(flow.shape[0]):
        for j in range(flow.shape[1]):
            change_lam = aim / flow[x, j] - lam[x, j] * (1.0 + step[x, j] / flow[x, j])
            flow[x, j] += by_flow * step[x, j]
            lam[x, j] += by_lam * change_lam
            total += flow[x, j] * lam[x, j]
    return total / flow.size, by_flow, relative


@kernel
def conjugate_gradients(work, weights, tree, tol, most):
    """Solve for `work.solution`, the right side in `work.residual` (overwritten); the iterations."""
    n = work.residual.shape[0]
    sweep_down(tree, work.node, work.carried, work.residual.reshape(-1))
    subtract_differences(work.residual, work.node, 0, n)
    work.solution[:] = 0.0
    work.direction[:] = 0.0
    inverse, residual = work.inverse.reshape(-1), work.residual.reshape(-1)
    direction, image, solution = work.direction.reshape(-1), work.image.reshape(-1), work.solution.reshape(-1)
    rz = weighted_square(inverse, residual)
    goal = tol * tol * rz
    beta = 0.0
    count = 0
    while rz > goal and count < most:
        for j in range(direction.shape[0]):
            # 0 on the tree, which is filled in below.
            direction[j] = inverse[j] * residual[j] + (beta * direction[j] if inverse[j] > 0.0 else 0.0)
        divergence(work.direction, work.node, n, 0, 1 << n)
        sweep_up(tree, work.node, work.carried, direction)
        hessian(work.direction, work.image, work.scaling, weights, work.lanes)
        curvature = dot(direction, image)
        if not curvature > 0.0:
            break
        sweep_down(tree, work.node, work.carried, image)
        subtract_differences(work.image, work.node, 0, n)
        step = rz / curvature
        for j in range(solution.shape[0]):
            solution[j] += step * direction[j]
            residual[j] -= step * image[j]
        new = weighted_square(inverse, residual)
        beta = new / rz
        rz = new
        count += 1
    return count


@kernel
def follow_path(target, weights, table, mu, flow, tree, has_tree, work, most_steps):
    """Newton steps from `flow` to the point k(mu), in place; True when it is found."""
    n, half = flow.shape
    gradient(flow, target, weights, work.cost)
    # Begin centred, at the mu that fits the slope there; from a point of the path with a tree, at mu itself.
    now = mu
    if not has_tree:
        slope = 0.0
        for x in range(n):
            for j in range(half):
                slope += flow[x, j] * abs(work.cost[x, j])
        now = max(mu, slope / flow.size)
    for x in range(n):
        for j in range(half):
            work.lam[x, j] = now / flow[x, j]
    usual = pace = 0.0
    build = not has_tree
    relative = 1.0
    for _ in range(most_steps):
        aim = max(0.1 * now, mu) if now > 2.0 * mu else mu
        for x in range(n):
            for j in range(half):
                work.scaling[x, j] = work.lam[x, j] / flow[x, j]
                work.residual[x, j] = aim / flow[x, j] - work.cost[x, j]
        build = build or (usual > 0 and pace > 1.3 * usual + 0.3)
        precondition(work, tree, table, build)
        # No step need be more accurate than Newton's method is there: its error is of the order of the square of the step.
        digits = max(min(0.03 * relative, 1e-2), 1e-6) if aim == mu else 1e-2
        last = conjugate_gradients(work, weights, tree, digits, 40 * flow.size)
        pace = last / -np.log(digits)
        if build or usual == 0:
            usual = pace
        build = aim > mu
        now, by_flow, relative = move(flow, work.lam, work.solution, aim)
        if not np.isfinite(now):
            return False
        if aim == mu and by_flow == 1.0 and relative <= 1e-6:
            return True
        gradient(flow, target, weights, work.cost)
    return False


@kernel
def centre_piece(targets, weights, table, mu, uniform, work, edges, flows, trees, has_tree, found, rhos):
    """The points k(mu) of a piece of a stack: from `flows` and `trees` where `has_tree`, else from the uniform flow."""
    n = uniform.shape[0]
    for i in range(targets.shape[0]):
        tree = Tree(edges, trees[i, 0], trees[i, 1], trees[i, 2])
        found[i] = False
        if has_tree[i]:
            found[i] = follow_path(targets[i], weights, table, mu, flows[i], tree, True, work, 25)
        if not found[i]:
            flows[i] = uniform
            found[i] = follow_path(targets[i], weights, table, mu, flows[i], tree, False, work, 100)
        conserve_kernel(flows[i], n, work.node)
        for x in range(n):
            rhos[i, x] = flows[i, x]
            transform_row(rhos[i, x], n - 1, 1.0, np.bool_(False))


@kernel
def tangent_centres(weights, table, mu, work, edges, flows, trees, rows, by_flow, tol):
    """Z (Q + D)^-1 (Z^T g + g_flow) in place of each g of `rows`, the same without Z in place of g_flow (no rows: 0)."""
    n, half = table.shape
    for i in range(rows.shape[0]):
        tree = Tree(edges, trees[i, 0], trees[i, 1], trees[i, 2])
        g, flow = rows[i], flows[i]
        for x in range(n):
            transform_row(g[x], n - 1, 1.0, np.bool_(True))
            for j in range(half):
                work.residual[x, j] = g[x, j] + (by_flow[i, x, j] if by_flow.shape[0] > 0 else 0.0)
                work.scaling[x, j] = mu / (flow[x, j] * flow[x, j])
        precondition(work, tree, table, False)
        conjugate_gradients(work, weights, tree, tol, 40 * flow.size)
        for x in range(n):
            g[x] = work.solution[x]
            if by_flow.shape[0] > 0:
                by_flow[i, x] = work.solution[x]
            transform_row(g[x], n - 1, 1.0, np.bool_(False))


class SmoothedProjector:
    """Smoothed projections of stacks over the same cells: `solve`, and `tangent` for the derivatives."""

    def __init__(self, n: int, weights: Array, mu: float, threads: int | None = None) -> None:
        self.n, self.mu, self.threads = n, mu, thread_count(threads)
        self.weights = weights
        self.table = diagonal_table(weights, n, 1)
        self.uniform = uniform_flow(n)

    def _pieces(self, size: int) -> list[slice]:
        step = max(1, min(32, size // (8 * self.threads)))
        return [slice(i, min(i + step, size)) for i in range(0, size, step)]

    def solve(
        self, targets: Array, starts: Sequence[Centre | None] | None = None
    ) -> tuple[Array, Array, NDArray[np.int32]]:
        """Probabilities, flows and trees of a stack (B, n, 2^(n-1))."""
        size = len(targets)
        flows, rhos = np.empty_like(targets), np.empty_like(targets)
        trees = np.zeros((size, 3, 1 << self.n), np.int32)
        has_tree, found = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        for i, start in enumerate(starts or ()):
            if start is not None:
                flows[i], trees[i], has_tree[i] = start.flow, start.tree, True
        if len(self.weights):
            targets = np.where(self.weights > 0, targets, 0.0)

        def task(span: slice) -> None:
            edges = np.empty(self.uniform.shape, np.bool_)
            centre_piece(
                targets[span], self.weights, self.table, self.mu, self.uniform, make_workspace(self.n), edges, flows[span],
                trees[span], has_tree[span], found[span], rhos[span],
            )  # fmt: skip

        run_threads(task, self._pieces(size), self.threads)
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

        def task(span: slice) -> None:
            edges = np.empty(self.uniform.shape, np.bool_)
            tangent_centres(
                self.weights, self.table, self.mu, make_workspace(self.n), edges, flows[span], trees[span], rows[span],
                none if by_flow is None else by_flow[span], _BACKWARD_TOL,
            )  # fmt: skip

        run_threads(task, self._pieces(len(rows)), self.threads)
        return rows
