"""The kernels of `rumflow.solvers.batch`: a piece of a stack of projections, and the way back through it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow._jit import kernel
from rumflow.certificate import NEARBY, SOLVER_FLOOR, weighted_norm
from rumflow.inside import inside_flow, normalise_menus
from rumflow.paths import add_paths, squeeze
from rumflow.solvers.active_set import Problem, begin, iterate, start_from
from rumflow.solvers.factor import row_start, solve_forward
from rumflow.solvers.tangent import face_dimension, span_face, tangent_weights
from rumflow.transforms import transform_row

Array = NDArray[np.float64]

INSIDE, FACE = 0, 1


class Start(NamedTuple):
    """Rankings to begin from; `factor` is empty where it is not at hand."""

    paths: NDArray[np.int32]  # (k, n)
    weights: Array  # (k,)
    factor: Array  # (k (k + 1) / 2,) or (0,)


@kernel
def add_to_zero_adjoint(rows, share, n):
    """The transposed derivative of P_S: every cell of a menu gives up the `share`-weighted mean of the menu. In place."""
    for menu in range(1, 1 << n):
        mean = 0.0
        for x in range(n):
            if (menu >> x) & 1:
                column = squeeze(menu, x)
                mean += share[x, column] * rows[x, column]
        if mean != 0.0:
            for x in range(n):
                if (menu >> x) & 1:
                    column = squeeze(menu, x)
                    if share[x, column] > 0.0:
                        rows[x, column] -= mean


@kernel
def load(active, paths, lam, factor):
    """Make rankings active whose factor is known."""
    k = paths.shape[0]
    active.count[0] = k
    for i in range(active.free.shape[0]):
        active.free[i] = i
    one = active.carried[0]
    for i in range(k):
        active.paths[i] = paths[i]
        active.weights[i] = lam[i] if lam.shape[0] > 0 else 0.0
        active.slot[i] = i
        one[i] = 1.0
    active.factor[: row_start(k)] = factor
    solve_forward(active.factor, np.int64(0), k, one)


@kernel
def finish(problem, flow, rho, count, paths, lam):
    """Flow and probabilities of a mixture; 1/2 sum w (rho - z)^2."""
    n = flow.shape[0]
    flow[:] = 0.0
    add_paths(flow, paths, lam, count, 0, n)
    total = 0.0
    for x in range(n):
        rho[x] = flow[x]
        transform_row(rho[x], n - 1, 1.0, np.bool_(False))
        for j in range(rho.shape[1]):
            w = 1.0 if problem.weights.shape[0] == 0 else problem.weights[x, j]
            if w > 0.0:
                difference = rho[x, j] - problem.target[x, j]
                total += w * difference * difference
    return 0.5 * total


@kernel
def solve_piece(
    shared, complete, active, pool, cost, above, below, targets, where, start, tol, tolerance, keep, flows, rhos,
    kind, count, rounds, flat, used, stalled, first, resume,
):  # fmt: skip
    """Solve problems first.. of a piece and append their rankings to `flat`, from used[0] (rankings) and used[1]
    (factor) on; keep: 0 nothing, 1 rankings, 2 their factors as well.

    Returns the problem at which `flat` was full (call again with more room and resume=True), or the length of the
    piece.
    """
    n = targets.shape[1]
    for i in range(first, targets.shape[0]):
        if not resume:
            target = targets[i]
            if shared.ridge > 0.0:
                normalise_menus(target, shared.weights, n)
            stalled[i] = False
            rounds[i] = 0
            active.count[0] = 0
            if complete and inside_flow(target, flows[i], below, tolerance):
                for x in range(n):
                    rhos[i, x] = flows[i, x]
                    transform_row(rhos[i, x], n - 1, 1.0, np.bool_(False))
                kind[i], count[i] = INSIDE, 0
                continue
            problem = Problem(target, shared.weights, shared.table, shared.menus, shared.ridge)
            size = weighted_norm(target, shared.weights)
            floor = SOLVER_FLOOR * size
            a, b = where[i, 0], where[i + 1, 0]
            if where[i + 1, 1] > where[i, 1]:
                load(active, start.paths[a:b], start.weights[a:b], start.factor[where[i, 1] : where[i + 1, 1]])
            else:
                begin(problem, active, cost, below, start.paths[a:b], start.weights[a:b])
            active.fresh[0] = 1  # not at its minimum, but not worn either
            rounds[i], stalled[i] = iterate(problem, active, pool, cost, above, below, tol, floor)
            objective = finish(problem, flows[i], rhos[i], active.count[0], active.paths, active.weights)
            kind[i] = INSIDE if objective <= NEARBY * size else FACE
            if keep > 0 and complete and kind[i] == FACE:
                dimension = face_dimension(flows[i], below)
                if active.count[0] <= dimension:
                    span_face(problem, active, flows[i], dimension)
            count[i] = active.count[0]
        resume = False
        if keep > 0:
            k = count[i]
            length = row_start(k) if keep > 1 else 0
            at, there = used[0], used[1]
            if at + k > flat.weights.shape[0] or there + length > flat.factor.shape[0]:
                return i
            flat.paths[at : at + k] = active.paths[:k]
            flat.weights[at : at + k] = active.weights[:k]
            flat.factor[there : there + length] = active.factor[:length]
            used[0], used[1] = at + k, there + length
    return targets.shape[0]


@kernel
def pack_piece(flat, count, paths, factor):
    """From one after another to one row a problem."""
    at = there = 0
    for i in range(count.shape[0]):
        k = count[i]
        paths[i, :k] = flat.paths[at : at + k]
        paths[i, k:] = 0
        if factor.shape[1] > 0:
            factor[i, : row_start(k)] = flat.factor[there : there + row_start(k)]
            factor[i, row_start(k) :] = 0.0
        at += k
        there += row_start(k)


@kernel
def pull_piece(shared, share, complete, active, work, kind, count, paths, factor, by_rho, by_flow):
    """Gradients by the targets, in place of the gradients by rho; `by_flow` (no rows: none) is used up.

    J^T g = w Z A d with M d = A^T (Z^T g + g_flow) + const, A the flows of the active rankings; inside RUM P_S^T (g +
    K^T g_flow). Inside with cells that are not observed: P_S^T of what is observed, and the face for the rest.
    """
    n = by_rho.shape[1]
    half = by_rho.shape[2]
    none = np.empty(0)
    for i in range(by_rho.shape[0]):
        g = by_rho[i]
        inside = kind[i] == INSIDE
        if inside and complete:
            if by_flow.shape[0] > 0:
                for x in range(n):
                    transform_row(by_flow[i, x], n - 1, -1.0, np.bool_(True))
                    for j in range(half):
                        g[x, j] += by_flow[i, x, j]
            add_to_zero_adjoint(g, share, n)
            continue
        if inside:
            for x in range(n):
                for j in range(half):
                    seen = shared.weights[x, j] > 0.0
                    work[x, j] = g[x, j] if seen else 0.0
                    g[x, j] = 0.0 if seen else g[x, j]
            add_to_zero_adjoint(work, share, n)
        for x in range(n):
            transform_row(g[x], n - 1, 1.0, np.bool_(True))
            if by_flow.shape[0] > 0:
                for j in range(half):
                    g[x, j] += by_flow[i, x, j]
        k = count[i]
        if factor.shape[1] > 0:
            load(active, paths[i, :k], none, factor[i, : row_start(k)])
        else:
            start_from(shared, active, paths[i, :k], np.ones(k))
        d = active.scratch[2]
        tangent_weights(active, g, d)
        g[:] = 0.0
        add_paths(g, active.paths, d, active.count[0], 0, n)
        for x in range(n):
            transform_row(g[x], n - 1, 1.0, np.bool_(False))
            for j in range(half):
                if shared.weights.shape[0] > 0:
                    g[x, j] *= shared.weights[x, j]
                if inside:
                    g[x, j] += work[x, j]
