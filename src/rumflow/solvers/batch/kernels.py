"""The kernels of `rumflow.solvers.lattice`: a piece of a stack of projections, and its derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.core.compile import kernel, leaf
from rumflow.core.membership import inside_flow, normalise_menus
from rumflow.core.paths import squeeze
from rumflow.core.problem import RELATIVE_RUM_TOLERANCE, SOLVER_FLOOR, data_size
from rumflow.core.transforms import transform_row
from rumflow.solvers.active_set.factor import row_start, solve_forward
from rumflow.solvers.small.lanes import price_cells, price_menus
from rumflow.solvers.small.solve import begin_peeled, begin_small, solve_small
from rumflow.solvers.small.workspace import load_small, load_target, store_flow, store_rankings
from rumflow.solvers.tangent import face_dimension, span_small, span_tight_small, tangent_small

#: Where a problem ended: within RUM, on a face of it, nowhere, because its active set outgrew its use, or at a point of the
#: central path.
INSIDE, FACE, LEFT, PATH = 0, 1, 2, 3


class Start(NamedTuple):
    """Rankings to begin from; `factor` (with few items the inverse), packed, is empty where it is not known."""

    paths: NDArray[np.int32]  # (k, n)
    weights: Array  # (k,)
    factor: Array  # (k (k + 1) / 2,) or (0,)


class Piece(NamedTuple):
    """Where the results of a piece of a stack go, one entry per problem."""

    flows: Array  # (b, n, 2^(n-1))
    rhos: Array
    kind: NDArray[np.int64]  # INSIDE, FACE or LEFT
    count: NDArray[np.int64]  # type: ignore[assignment]  # rankings kept
    rounds: NDArray[np.int64]
    stalled: NDArray[np.bool_]  # not known to be solved


@leaf
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


@leaf
def load(active, paths, factor):
    """Rankings whose factor is known, with all that `tangent_weights` needs of them."""
    k = paths.shape[0]
    active.count[0] = k
    one = active.carried[0]
    for i in range(k):
        for x in range(paths.shape[1]):
            active.paths[i, x] = paths[i, x]
        active.start[i] = row_start(i)
        one[i] = 1.0
    for j in range(row_start(k)):
        active.factor[j] = factor[j]
    solve_forward(active.factor, active.start, np.int64(0), k, one)


@leaf
def measure(flow, rho, target, weights):
    """The probabilities of a flow; 1/2 sum w (rho - z)^2. No rows of weights: all 1."""
    n = flow.shape[0]
    square = 0.0
    for x in range(n):
        for j in range(rho.shape[1]):
            rho[x, j] = flow[x, j]
        transform_row(rho[x], n - 1, 1.0, np.bool_(False))
        for j in range(rho.shape[1]):
            w = 1.0 if weights.shape[0] == 0 else weights[x, j]
            if w > 0.0:
                difference = rho[x, j] - target[x, j]
                square += w * difference * difference
    return 0.5 * square


@leaf
def span_solved(problem, workspace, flow, complete, outside):
    """Rankings of weight 0 join the active ones until they span the face; what lies inside needs none.

    Without unobserved cells the flow in use says which rankings are on the face, otherwise their prices do.
    """
    if outside and complete:
        dimension = face_dimension(flow, workspace.below)
        if workspace.count[0] <= dimension:
            span_small(problem, workspace, flow, dimension)
    elif outside:
        span_tight_small(problem, workspace)


@kernel
def complete_face(problem, workspace, target, flow, complete, outside):
    """The same for rankings found elsewhere, which are active already."""
    load_target(workspace, target)
    price_cells(problem, workspace)
    price_menus(problem, workspace)
    span_solved(problem, workspace, flow, complete, outside)


@leaf
def solve_piece(
    problem,
    weights,
    complete,
    workspace,
    targets,
    where,
    start,
    tol,
    floor,
    tolerance,
    keep,
    hold,
    out,
    flat,
    used,
    first,
    resume,
    faces,
):
    """Solve problems first.. of a piece and, if `keep`, append their rankings to `flat`, from used[0] (rankings) and used[1]
    (inverses) on; `hold`: those of problems that are left, too. Targets end with menus that add up to 1. A floor below 0:
    rounding.

    With faces=True the rankings span the face, and their inverses are kept. None leaves the code for this out of the kernel,
    a sixth of the time to compile it.

    Returns the problem at which `flat` was full (call again with longer arrays and resume=True), or the length of the
    piece.
    """
    n = targets.shape[1]
    for i in range(first, targets.shape[0]):
        if not resume:
            target, flow, rho = targets[i], out.flows[i], out.rhos[i]
            if problem.ridge > 0.0:
                normalise_menus(target, weights, n)
            out.stalled[i] = False
            out.rounds[i] = 0
            if complete and inside_flow(target, flow, workspace.below, tolerance):
                measure(flow, rho, target, weights)
                out.kind[i], out.count[i] = INSIDE, 0
                continue
            load_target(workspace, target)
            size = data_size(target, weights)
            a, b = where[i, 0], where[i + 1, 0]
            if where[i + 1, 1] > where[i, 1]:
                load_small(workspace, start.paths[a:b], start.weights[a:b], start.factor[where[i, 1] : where[i + 1, 1]])
            elif complete and a == b:
                begin_peeled(problem, workspace, flow)  # K target, from the membership test
            else:
                begin_small(problem, workspace, start.paths[a:b], start.weights[a:b])
            out.rounds[i], out.stalled[i] = solve_small(
                problem, workspace, tol, SOLVER_FLOOR * size if floor < 0.0 else floor
            )
            store_flow(workspace, flow)
            objective = measure(flow, rho, target, weights)
            out.kind[i] = INSIDE if objective <= RELATIVE_RUM_TOLERANCE * size else FACE
            out.count[i] = 0
            if out.stalled[i] and workspace.count[0] > problem.most:
                out.kind[i] = LEFT
                if not hold:
                    continue
            elif faces is not None:
                span_solved(problem, workspace, flow, complete, out.kind[i] == FACE)
            out.count[i] = workspace.count[0]
        resume = False
        if keep:
            k = out.count[i]
            length = 0 if faces is None else row_start(k)
            at, there = used[0], used[1]
            if at + k > flat.weights.shape[0] or there + length > flat.factor.shape[0]:
                return i
            store_rankings(
                workspace, flat.paths[at : at + k], flat.weights[at : at + k], flat.factor[there : there + length]
            )
            used[0], used[1] = at + k, there + length
    return targets.shape[0]


@leaf
def to_edges(weights, share, complete, inside, forward, g, by_flow, work):
    """g and a gradient by the flow (no rows: none; used up) to edge costs, in place; False where g is S g already.

    Inside RUM S is that of menu sums, S g = P_S^T (g + K^T g_flow) / w. With cells that were not observed this holds for those
    that were, put aside in `work`; the face answers for the rest: `forward`, their rows (g is 0 there), else their columns.
    """
    n, half = g.shape
    if inside and complete:
        if by_flow.shape[0] > 0:
            for x in range(n):
                transform_row(by_flow[x], n - 1, -1.0, np.bool_(True))
                for j in range(half):
                    g[x, j] += by_flow[x, j]
        add_to_zero_adjoint(g, share, n)
        if weights.shape[0] > 0:
            for x in range(n):
                for j in range(half):
                    g[x, j] /= weights[x, j]
        return False
    if inside:
        for x in range(n):
            for j in range(half):
                seen = weights[x, j] > 0.0
                work[x, j] = g[x, j] if seen else 0.0
                g[x, j] = 0.0 if seen and not forward else g[x, j]
        add_to_zero_adjoint(work, share, n)
        for x in range(n):
            for j in range(half):
                work[x, j] = work[x, j] / weights[x, j] if weights[x, j] > 0.0 else 0.0
    for x in range(n):
        transform_row(g[x], n - 1, 1.0, np.bool_(True))
        if by_flow.shape[0] > 0:
            for j in range(half):
                g[x, j] += by_flow[x, j]
    return True


@leaf
def from_flow(weights, inside, forward, g, work):
    """The flow of the tangent weights to S g, in place."""
    n, half = g.shape
    for x in range(n):
        transform_row(g[x], n - 1, 1.0, np.bool_(False))
        if inside:
            for j in range(half):
                g[x, j] = work[x, j] + (0.0 if forward and weights[x, j] > 0.0 else g[x, j])


@kernel
def tangent_piece(problem, weights, share, complete, forward, workspace, work, counts, paths, inverse, rows, by_flow):
    """S times each row of a piece, in place; `by_flow` (no rows: none) goes from gradients by the flow to changes of the flow.

    On a face S g = Z A d with M d = A^T (Z^T g + g_flow) + const, A the flows of the active rankings; A d is the change of the
    flow. `counts` has kind and number of rankings, and where they and their inverse begin, as in `Faces`.
    """
    n = rows.shape[1]
    none = np.empty(0)
    no_rows = np.empty((0, rows.shape[2]))
    for i in range(rows.shape[0]):
        g, inside, k, at, there = rows[i], counts[i, 0] == INSIDE, counts[i, 1], counts[i, 2], counts[i, 3]
        own = by_flow[i] if by_flow.shape[0] > 0 else no_rows
        if to_edges(weights, share, complete, inside, forward, g, own, work):
            active = paths[at : at + k * n].reshape((k, n))
            if there >= 0:
                load_small(workspace, active, none, inverse[there : there + row_start(k)])
            else:
                begin_small(problem, workspace, active, np.ones(k))
            tangent_small(problem, workspace, g)
            store_flow(workspace, g)
            for x in range(own.shape[0]):
                for j in range(own.shape[1]):
                    own[x, j] = g[x, j]
            from_flow(weights, inside, forward, g, work)
        else:
            for x in range(own.shape[0]):
                for j in range(own.shape[1]):
                    own[x, j] = g[x, j]
                transform_row(own[x], own.shape[0] - 1, -1.0, np.bool_(False))
