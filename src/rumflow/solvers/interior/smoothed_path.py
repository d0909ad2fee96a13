"""Newton steps along the central path, and its derivative, for samples side by side: the kernels of the smoothed projection.

`rumflow.solvers.interior.smoothed` says what is computed. Each lane has a sample of its own, at a step of its own: when its
system is solved, the sample moves on to its next system, or makes room for the next sample of the stack.

A Newton step that changes no flow by more than a share t of itself, from a system solved up to a share e, leaves an error of
about t max(t, e). The next system need not be solved more accurately than that; once it is below `finest` the point is found:
with 1e-12 finite differences with steps of 1e-6, as gradients are tested with, agree up to 1e-6. Steps are made conserved in
double precision, whatever the lanes compute in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Mask
from rumflow.core.compile import kernel
from rumflow.core.paths import conserve_kernel
from rumflow.core.residual import residual_row
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
from rumflow.solvers.interior.lanes import iterate, load, load_tree, rest, take_solution

_MOST_STEPS = 100


class Workspace(NamedTuple):
    """The arrays that one thread works with, for one sample at a time."""

    cost: Array  # (n, 2^(n-1)); so are the next four
    scaling: Array
    inverse: Array
    residual: Array
    step: Array
    node: Array  # (2^n,)
    carried: Array
    edges: Mask  # (n, 2^(n-1))


class Samples(NamedTuple):
    """Where the sample of each lane is; arrays with a row per lane."""

    number: NDArray[np.int64]  # in the stack; -1: none
    steps: NDArray[np.int64]  # Newton steps so far
    iterations: NDArray[np.int64]  # of conjugate gradients in this system
    build: Mask  # a new tree is needed
    now: Array  # the mean of k lam
    aim: Array  # the barrier of this step
    digits: Array  # how accurate this step is to be
    error: Array  # expected before it, relative to the flow
    usual: Array  # iterations per digit with a new tree
    goal: Array  # for <r, M^-1 r>
    lam: Array  # (L, n, 2^(n-1)): multipliers


def make_workspace(n: int) -> Workspace:
    """Empty arrays for n items."""
    shape = n, 1 << (n - 1)
    vectors, nodes = [np.empty(shape) for _ in range(5)], [np.empty(1 << n) for _ in range(2)]
    return Workspace._make([*vectors, *nodes, np.empty(shape, np.bool_)])


def make_samples(n: int, lanes: int) -> Samples:
    """No samples yet."""
    whole, numbers = [np.zeros(lanes, np.int64) for _ in range(2)], [np.zeros(lanes) for _ in range(6)]
    lam = np.empty((lanes, n, 1 << (n - 1)))
    return Samples._make([np.full(lanes, -1), *whole, np.zeros(lanes, np.bool_), *numbers, lam])


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
def restrict(work, tree):
    """L^T on the right side: its values on the co-tree; on the tree they mean nothing."""
    sweep_down(tree, work.node, work.carried, work.residual.reshape(-1))
    subtract_differences(work.residual, work.node, 0, work.residual.shape[0])


@kernel
def extend(work, tree):
    """L on the step of a lane: its values on the tree, in double precision, so that it is conserved."""
    n = work.step.shape[0]
    divergence(work.step, work.node, n, 0, 1 << n)
    sweep_up(tree, work.node, work.carried, work.step.reshape(-1))


@kernel
def begin_step(at, lane, flow, target, weights, table, mu, tree, work, lanes, reach, finest):
    """The Newton system at `flow` into a lane. A new sample (no steps yet) is centred first.

    It begins at a mu that fits the slope there, well above it: then it is soon on the path. From a point of the path with
    a tree, at mu itself.
    """
    n, half = flow.shape
    lam = at.lam[lane]
    gradient(flow, target, weights, work.cost)
    if at.steps[lane] == 0:
        now = mu
        if at.build[lane]:
            slope = 0.0
            for x in range(n):
                for j in range(half):
                    slope += flow[x, j] * abs(work.cost[x, j])
            now = max(mu, 5.0 * slope / flow.size)
        for x in range(n):
            for j in range(half):
                lam[x, j] = now / flow[x, j]
        at.now[lane] = now
        at.error[lane] = 1.0
        at.usual[lane] = 0.0
    aim = max(0.05 * at.now[lane], mu) if at.now[lane] > 2.0 * mu else mu
    for x in range(n):
        for j in range(half):
            inverse = 1.0 / flow[x, j]
            work.scaling[x, j] = lam[x, j] * inverse
            work.residual[x, j] = aim * inverse - work.cost[x, j]
    precondition(work, tree, table, at.build[lane])
    if at.build[lane] or at.steps[lane] == 0:
        load_tree(lanes, lane, tree)
    restrict(work, tree)
    rz = load(lanes, lane, work.scaling, work.inverse, work.residual)
    digits = 0.1
    if aim == mu:
        error = at.error[lane]
        digits = min(digits, max(0.1 * error, finest / error, 10.0 * reach))
    at.aim[lane] = aim
    at.digits[lane] = digits
    at.goal[lane] = digits * digits * rz
    at.iterations[lane] = 0
    at.steps[lane] += 1


@kernel
def end_step(at, lane, flow, mu, tree, work, lanes, finest):
    """Take the step of a lane. Returns 1 when the point k(mu) is found, -1 when it never will be, else 0."""
    take_solution(lanes, lane, work.step)
    extend(work, tree)
    aim, digits = at.aim[lane], at.digits[lane]
    now, by_flow, relative = move(flow, at.lam[lane], work.step, aim)
    if not np.isfinite(now):
        return -1
    pace = at.iterations[lane] / -np.log(digits)
    if at.build[lane] or at.usual[lane] == 0.0:
        at.usual[lane] = pace
    at.build[lane] = aim > mu or pace > 1.3 * at.usual[lane] + 0.3
    at.now[lane] = now
    left = relative * max(relative, digits)
    at.error[lane] = min(left, 1.0) if by_flow == 1.0 else 1.0
    return 1 if aim == mu and by_flow == 1.0 and left <= finest else 0


@kernel
def is_unsolved(at, lane, lanes):
    """Whether the system of a lane needs another iteration, which is counted."""
    if lanes.rz[lane] > at.goal[lane] and at.iterations[lane] < 40 * lanes.node.shape[0]:
        at.iterations[lane] += 1
        return True
    return False


@kernel
def centre_piece(targets, weights, table, mu, work, at, lanes, reach, finest, flows, trees, has_tree, found, rhos):
    """The points k(mu) of a piece of a stack, from `flows`, with their `trees` where there are any."""
    n = table.shape[0]
    next_sample = 0
    busy = True
    while busy:
        busy = False
        for lane in range(at.number.shape[0]):
            i = at.number[lane]
            if i >= 0:
                if is_unsolved(at, lane, lanes):
                    busy = True
                    continue
                tree = Tree(work.edges, trees[i, 0], trees[i, 1], trees[i, 2])
                state = end_step(at, lane, flows[i], mu, tree, work, lanes, finest)
                if state == 0 and at.steps[lane] < _MOST_STEPS:
                    begin_step(at, lane, flows[i], targets[i], weights, table, mu, tree, work, lanes, reach, finest)
                    busy = True
                    continue
                found[i] = state == 1
                conserve_kernel(flows[i], n, work.node)
                for x in range(n):
                    rhos[i, x] = flows[i, x]
                    transform_row(rhos[i, x], n - 1, 1.0, np.bool_(False))
                at.number[lane] = -1
            if next_sample < targets.shape[0]:
                i = at.number[lane] = next_sample
                next_sample += 1
                at.steps[lane] = 0
                at.build[lane] = not has_tree[i]
                tree = Tree(work.edges, trees[i, 0], trees[i, 1], trees[i, 2])
                begin_step(at, lane, flows[i], targets[i], weights, table, mu, tree, work, lanes, reach, finest)
                busy = True
            elif i >= 0:
                rest(lanes, lane)
        if busy:
            iterate(lanes)


@kernel
def begin_tangent(at, lane, flow, g, by_flow, table, mu, tree, work, lanes, finest):
    """The system with the right side Z^T g + g_flow into a lane."""
    n, half = flow.shape
    for x in range(n):
        work.residual[x] = g[x]
        transform_row(work.residual[x], n - 1, 1.0, np.bool_(True))
        for j in range(half):
            work.scaling[x, j] = mu / (flow[x, j] * flow[x, j])
            work.residual[x, j] += by_flow[x, j] if by_flow.shape[0] > 0 else 0.0
    precondition(work, tree, table, False)
    load_tree(lanes, lane, tree)
    restrict(work, tree)
    rz = load(lanes, lane, work.scaling, work.inverse, work.residual)
    at.goal[lane] = finest**2 * rz
    at.iterations[lane] = 0


@kernel
def tangent_piece(table, mu, work, at, lanes, finest, flows, trees, rows, by_flow):
    """Z (Q + D)^-1 (Z^T g + g_flow) in place of each g of `rows`, the same without Z in place of g_flow (no rows: 0)."""
    n = table.shape[0]
    next_sample = 0
    busy = True
    while busy:
        busy = False
        for lane in range(at.number.shape[0]):
            i = at.number[lane]
            if i >= 0:
                if is_unsolved(at, lane, lanes):
                    busy = True
                    continue
                take_solution(lanes, lane, work.step)
                extend(work, Tree(work.edges, trees[i, 0], trees[i, 1], trees[i, 2]))
                for x in range(n):
                    rows[i, x] = work.step[x]
                    transform_row(rows[i, x], n - 1, 1.0, np.bool_(False))
                if by_flow.shape[0] > 0:
                    by_flow[i] = work.step
                at.number[lane] = -1
            if next_sample < rows.shape[0]:
                i = at.number[lane] = next_sample
                next_sample += 1
                tree = Tree(work.edges, trees[i, 0], trees[i, 1], trees[i, 2])
                other = by_flow[i] if by_flow.shape[0] > 0 else work.step[:0]
                begin_tangent(at, lane, flows[i], rows[i], other, table, mu, tree, work, lanes, finest)
                busy = True
            elif i >= 0:
                rest(lanes, lane)
        if busy:
            iterate(lanes)
