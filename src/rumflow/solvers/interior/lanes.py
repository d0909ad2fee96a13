"""Conjugate gradients for several Newton systems of the same lattice at once, one in each lane.

Each system is that of `rumflow.solvers.interior.cg` in the basis of a spanning tree: (Q + D) k = r on zero-flows, with a scaling
D, a tree and a right side of its own. The lanes lie side by side, so that every loop is long and every machine instruction treats
several systems: the number of item x, column j and lane l stands at [x, j L + l], that of menu m at [m L + l].

Lanes share nothing: what a lane computes has the same bits whatever the others do, and however many there are. A system that is
solved makes room for the next one (`load`) while the others go on.

In single precision a step takes two thirds of the time. It reaches about 1e-5 of the right side, which is more than a Newton step
needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.core.compile import leaf

Floats = NDArray[np.float32] | NDArray[np.float64]

#: Bytes of the numbers side by side, a cache line, and of an array with which all arrays stay close to the processor.
_LINE, _BYTES = 64, 1 << 17


class Lanes(NamedTuple):
    """The arrays of L systems, in single or double precision. In a lane at rest they are 0."""

    weights: Floats  # (n, 2^(n-1) L), or no rows: all 1
    scaling: Floats  # D, (n, 2^(n-1) L); so are the next five
    inverse: Floats  # of the preconditioner, 0 on the tree
    residual: Floats
    direction: Floats
    image: Floats
    solution: Floats
    node: Floats  # (2^n L,)
    menu: NDArray[np.uint32]  # (2^n L,): the trees from the root to the leaves; a place in `node`
    parent: NDArray[np.uint32]  # the same
    edge: NDArray[np.uint32]  # a place in the flat arrays above
    sign: Floats  # 1 where the menu is the upper end of the edge, else -1
    row: Floats  # (2^(n-1) L,): one number per lane, repeated
    sums: Floats  # (2^(n-1) L,): sums over items, to be folded
    each: Floats  # (L,): one number per lane
    rz: Floats  # (L,): the squared error <r, M^-1 r>
    beta: Floats  # (L,)


def lane_count(n: int, systems: int, dtype: type) -> int:
    """How many systems of n items to solve side by side."""
    size = np.dtype(dtype).itemsize
    return max(1, min(_LINE // size, _BYTES // (size * (n << (n - 1))), systems))


def make_lanes(n: int, weights: Array, count: int, dtype: type) -> Lanes:
    """Lanes at rest."""
    half = (1 << (n - 1)) * count
    vectors: list[Floats] = [np.zeros((n, half), dtype) for _ in range(6)]
    # A lane that is not in use runs along with the others, so its tree points at places of its own.
    own = np.arange(2 * half, dtype=np.uint32) % np.uint32(count)
    tree = [own.copy() for _ in range(3)]
    rest: list[Floats] = [np.zeros(size, dtype) for size in (2 * half, half, half, count, count, count)]
    parts = [np.repeat(weights, count, axis=1).astype(dtype), *vectors, np.zeros(2 * half, dtype), *tree, *rest]
    return Lanes._make(parts)


@leaf
def load_tree(lanes, lane, tree):
    """Put a spanning tree into a lane."""
    width = lanes.rz.shape[0]
    for i in range(tree.order.shape[0]):
        e, at = tree.edge[i], i * width + lane
        lanes.menu[at] = tree.order[i] * width + lane
        lanes.parent[at] = tree.order[tree.parent[i]] * width + lane
        lanes.edge[at] = (e if e >= 0 else ~e) * width + lane
        lanes.sign[at] = 1.0 if e >= 0 else -1.0


@leaf
def load(lanes, lane, scaling, inverse, residual):
    """Begin with a system in a lane; its right side is restricted to the co-tree. Returns <r, M^-1 r>."""
    width = lanes.rz.shape[0]
    rz = 0.0
    for x in range(scaling.shape[0]):
        d, m, r, k, p = lanes.scaling[x], lanes.inverse[x], lanes.residual[x], lanes.solution[x], lanes.direction[x]
        for j in range(scaling.shape[1]):
            at = j * width + lane
            d[at] = scaling[x, j]
            m[at] = inverse[x, j]
            r[at] = residual[x, j]
            k[at] = 0.0
            p[at] = 0.0
            rz += inverse[x, j] * residual[x, j] * residual[x, j]
    lanes.rz[lane] = rz
    lanes.beta[lane] = 0.0
    return rz


@leaf
def rest(lanes, lane):
    """Leave a lane empty."""
    width = lanes.rz.shape[0]
    for x in range(lanes.inverse.shape[0]):
        m, p, r = lanes.inverse[x], lanes.direction[x], lanes.residual[x]
        for at in range(lane, m.shape[0], width):
            m[at] = 0.0
            p[at] = 0.0
            r[at] = 0.0
    lanes.rz[lane] = 0.0


@leaf
def take_solution(lanes, lane, out):
    """The solution of a lane on the co-tree, 0 on the tree."""
    width = lanes.rz.shape[0]
    for x in range(out.shape[0]):
        k, m = lanes.solution[x], lanes.inverse[x]
        for j in range(out.shape[1]):
            at = j * width + lane
            out[x, j] = k[at] if m[at] > 0.0 else 0.0


@leaf
def repeat(values, row):
    """The numbers of the lanes again and again."""
    width = values.shape[0]
    for start in range(0, row.shape[0], width):
        for lane in range(width):
            row[start + lane] = values[lane]


@leaf
def fold(row, values):
    """The sum of `row` in each lane, always in the same order; the row is used up."""
    step = row.shape[0] // 2
    while step >= values.shape[0]:
        low, high = row[:step], row[step : 2 * step]
        for j in range(step):
            low[j] += high[j]
        step //= 2
    for lane in range(values.shape[0]):
        values[lane] = row[lane]


@leaf
def gram_row(row, width):
    """Z^T Z on a row of lanes: for each bit the matrix [[1, 1], [1, 2]]."""
    step = width
    while step < row.shape[0]:
        for start in range(0, row.shape[0], 2 * step):
            low, high = row[start : start + step], row[start + step : start + 2 * step]
            for j in range(step):
                total = low[j] + high[j]
                low[j] = total
                high[j] += total
        step *= 2


@leaf
def sum_row(row, width, adjoint):
    """Z, superset sums, or Z^T on a row of lanes."""
    step = width
    while step < row.shape[0]:
        for start in range(0, row.shape[0], 2 * step):
            low, high = row[start : start + step], row[start + step : start + 2 * step]
            if adjoint:
                for j in range(step):
                    high[j] += low[j]
            else:
                for j in range(step):
                    low[j] += high[j]
        step *= 2


@leaf
def find_directions(lanes, width):
    """p <- M^-1 r + beta p off the trees, 0 on them; then what leaves each menu less what arrives."""
    node, beta = lanes.node, lanes.row
    repeat(lanes.beta, beta)
    for j in range(node.shape[0]):
        node[j] = 0.0
    step = width
    for x in range(lanes.direction.shape[0]):
        p, r, m = lanes.direction[x], lanes.residual[x], lanes.inverse[x]
        for j in range(p.shape[0]):
            p[j] = m[j] * r[j] + beta[j] * p[j] if m[j] > 0.0 else m[j]  # no 0.0, which is double
        for start in range(0, p.shape[0], step):
            part, low, high = p[start : start + step], node[2 * start : 2 * start + step], node[2 * start + step :]
            for j in range(step):
                low[j] -= part[j]
            for j in range(step):
                high[j] += part[j]
        step *= 2


@leaf
def sweep_up(lanes, width):
    """Leaves to root: the directions on the trees."""
    node, flow = lanes.node, lanes.direction.reshape(-1)
    for i in range(node.shape[0] - 1, width - 1, -1):
        balance = node[lanes.menu[i]]
        node[lanes.parent[i]] += balance
        flow[lanes.edge[i]] = -lanes.sign[i] * balance


@leaf
def apply_hessian(lanes, width):
    """The image (Q + D) p of the directions, and <p, (Q + D) p> of every lane in `each`."""
    total = lanes.sums
    for j in range(total.shape[0]):
        total[j] = 0.0
    for x in range(lanes.direction.shape[0]):
        p, out, d = lanes.direction[x], lanes.image[x], lanes.scaling[x]
        for j in range(p.shape[0]):
            out[j] = p[j]
        if lanes.weights.shape[0] > 0:
            sum_row(out, width, False)
            w = lanes.weights[x]
            for j in range(p.shape[0]):
                out[j] *= w[j]
            sum_row(out, width, True)
        else:
            gram_row(out, width)
        for j in range(p.shape[0]):
            out[j] += d[j] * p[j]
            total[j] += p[j] * out[j]
    fold(total, lanes.each)


@leaf
def sweep_down(lanes, width):
    """Root to leaves: potentials of the menus whose differences are the image on the trees."""
    node, image = lanes.node, lanes.image.reshape(-1)
    for lane in range(width):
        node[lane] = 0.0
    for i in range(width, node.shape[0]):
        node[lanes.menu[i]] = node[lanes.parent[i]] + lanes.sign[i] * image[lanes.edge[i]]


@leaf
def update(lanes, width):
    """k += step p, r -= step L^T (Q + D) p with the steps in `each`, which becomes <r, M^-1 r>."""
    node, total, steps = lanes.node, lanes.sums, lanes.row
    repeat(lanes.each, steps)
    for j in range(total.shape[0]):
        total[j] = 0.0
    step = width
    for x in range(lanes.direction.shape[0]):
        p, y, k, r, m = lanes.direction[x], lanes.image[x], lanes.solution[x], lanes.residual[x], lanes.inverse[x]
        for start in range(0, p.shape[0], step):
            part, low, high = y[start : start + step], node[2 * start : 2 * start + step], node[2 * start + step :]
            for j in range(step):
                part[j] -= high[j] - low[j]
        for j in range(p.shape[0]):
            k[j] += steps[j] * p[j]
        for j in range(p.shape[0]):
            r[j] -= steps[j] * y[j]
            total[j] += m[j] * r[j] * r[j]
        step *= 2
    fold(total, lanes.each)


@leaf
def iterate(lanes):
    """One step of conjugate gradients in every lane. Where the curvature is lost the error is set to 0: it ends there."""
    width = lanes.rz.shape[0]
    each, rz = lanes.each, lanes.rz
    find_directions(lanes, width)
    sweep_up(lanes, width)
    apply_hessian(lanes, width)
    for lane in range(width):
        if each[lane] > 0.0:
            each[lane] = rz[lane] / each[lane]
        else:
            each[lane] = rz[lane] = 0.0
    sweep_down(lanes, width)
    update(lanes, width)
    for lane in range(width):
        if rz[lane] > 0.0:
            lanes.beta[lane] = each[lane] / rz[lane]
            rz[lane] = each[lane]
