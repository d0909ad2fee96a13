"""Conjugate gradients for the Newton systems of the interior point method, preconditioned by a spanning tree.

Given a weight per cell w >= 0 and a scaling D > 0 per edge, solve for the zero-flow k

    <h, (Q + D) k> = <h, r>  for every zero-flow h,        Q = Z^T diag(w) Z,

in coordinates: k = E v with E a basis of the zero-flows, that is E^T (Q + D) E v = E^T r. There are two bases.

*Tree*: v lives on the co-tree and E = L extends it (`rumflow.core.tree`). The preconditioner is a diagonal m on the co-tree.
In the paper's coordinates this is M = A_m^T diag(m) A_m, with the same iterates, at two transforms per iteration where
the paper needs four.

    tree          m = max(D, 1), the tree light in D                          (the paper's)
    tree-scaled   m = D + T, the tree light in D + T,  T = diag(Q) = Z^T w    (2^(|E| - 1) when every weight is 1)

*Paper*: v = xi on all cells but each menu's largest item, E = K B (`tests/reference/operators.py`). Four transforms
per iteration.

    none          m = 1
    jacobi        m = diag(E^T (Q + D) E)

A step costs one pass each for: the direction, its balance on menus, the sweep up the tree, (Q + D), the sweep down, and
the update of solution and residual. The solution is kept as a flow, so what comes out is conserved whatever the
accuracy.

Tried on Newton systems from real runs, and left out: the exact diagonal of L^T (Q + D) L (as many iterations as D + T); other
powers of T in the tree (the same); D + T on all edges, not only the co-tree, by a dense Laplacian (half the iterations,
each many times dearer); a dense block for the co-tree edges with D < T (2 to 13 iterations, but the block is most of the
matrix when the face is large); (L^T Q L)^-1 = K P K^T on the co-tree, masked by T / (D + T) (up to four times fewer
iterations, each 2.5 times dearer: ahead at 93 % free edges, behind at 72 %).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.compile import clock, kernel, reduction
from rumflow.core.patience import check_interrupt
from rumflow.core.problem import NO_WEIGHTS, Stop
from rumflow.core.reduced import add_largest, fill_largest
from rumflow.core.residual import weighted_square
from rumflow.core.threads import run_threads, thread_count
from rumflow.core.transforms import moebius, moebius_adjoint, transform_row, zeta_adjoint
from rumflow.core.tree import (
    Tree,
    divergence,
    menu_parts,
    minimum_spanning_tree,
    row_parts,
    subtract_differences,
    sweep_down,
    sweep_up,
)
from rumflow.errors import InputError

PRECONDITIONERS = ("none", "jacobi", "tree", "tree-scaled")


class System(NamedTuple):
    """Q + D on the zero-flows, a basis for these, and the inverse of the diagonal preconditioner."""

    scaling: Array  # D, (n, 2^(n-1))
    weights: Array  # w; no rows when every weight is 1
    inverse: Array  # 1 / m, and 0 off the coordinates of the basis
    tree: Tree | None  # None: the paper's basis K B
    threads: int


class CgResult(NamedTuple):
    """Where conjugate gradients stopped."""

    flow: Array  # the zero-flow k
    residual: Array  # E^T (r - (Q + D) k) on the coordinates of the basis
    iterations: int
    error: float  # sqrt(<residual, M^-1 residual>)
    goal: float  # the error that was to be reached
    status: str  # "converged", "max_iterations", "deadline", "stopped", "stalled", "breakdown"


@reduction
def dot(a, b):
    """<a, b>."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@kernel
def gram_one(row, start, stop, h):
    """`gram_row` for the bit of value h, on row[start:stop]."""
    for base in range(start, stop, 2 * h):
        for j in range(base, base + h):
            row[j] += row[j + h]
            row[j + h] += row[j]


@kernel
def gram_two(row, start, stop, h):
    """`gram_row` for the bits of value h and 2 h: half the trips to memory."""
    for base in range(start, stop, 4 * h):
        for j in range(base, base + h):
            a, b, c, d = row[j], row[j + h], row[j + 2 * h], row[j + 3 * h]
            a += b
            b += a
            c += d
            d += c
            a += c
            c += a
            b += d
            d += b
            row[j], row[j + h], row[j + 2 * h], row[j + 3 * h] = a, b, c, d


@kernel
def gram_row(row, bits):
    """Z^T Z on one row of 2^bits numbers, in place: a Kronecker product of [[1, 1], [1, 2]], half the work of Z and
    then Z^T.

    The low bits are done block by block inside the cache, then the high ones over the whole row.
    """
    size = 1 << bits
    low = min(bits, 12)
    for phase in range(2):
        first, last, step = (0, low, 1 << low) if phase == 0 else (low, bits, size)
        for start in range(0, size, step):
            for bit in range(first, last - 1, 2):
                gram_two(row, start, start + step, 1 << bit)
            if (last - first) % 2:
                gram_one(row, start, start + step, 1 << (last - 1))


@kernel
def hessian_rows(flow, out, scaling, weights, partial, first, last):
    """out = (Q + D) flow in rows first..last-1; <flow, out> of each row into `partial`."""
    bits = flow.shape[0] - 1
    adjoint = bits < 0  # False, but not a literal: those are compiled one by one
    for x in range(first, last):
        own, row = flow[x], out[x]
        for j in range(row.shape[0]):
            row[j] = own[j]
        if weights.shape[0] > 0:
            transform_row(row, bits, 1.0, adjoint)
            for j in range(row.shape[0]):
                row[j] *= weights[x, j]
            transform_row(row, bits, 1.0, not adjoint)
        else:
            gram_row(row, bits)
        d = scaling[x]
        for j in range(row.shape[0]):
            row[j] += d[j] * own[j]
        partial[x] = dot(own, row)


@kernel
def direction_rows(direction, residual, inverse, beta, first, last):
    """p <- M^-1 r + beta p on the coordinates, 0 elsewhere."""
    for x in range(first, last):
        p, r, m = direction[x], residual[x], inverse[x]
        for j in range(p.shape[0]):
            p[j] = m[j] * r[j] + beta * p[j] if m[j] > 0.0 else 0.0


@kernel
def update_rows(node, potentials, image, direction, solution, residual, inverse, step, partial, first, last):
    """k += step p, r -= step E^T (Q + D) p; <r, M^-1 r> of each row into `partial`.

    The image is (Q + D) p, and `node` its potentials if it is still to be restricted to the co-tree.
    """
    for x in range(first, last):
        y, p, k, r, m = image[x], direction[x], solution[x], residual[x], inverse[x]
        if potentials:
            subtract_differences(image, node, x, x + 1)
        for j in range(r.shape[0]):
            k[j] += step * p[j]
            r[j] -= step * y[j]
        partial[x] = weighted_square(m, r)


def diagonal_table(weights: Array, n: int, threads: int | None = None) -> Array:
    """T = diag(Z^T diag(w) Z) = Z^T w; weights without rows are all 1."""
    table = weights.copy() if len(weights) else np.ones((n, 1 << (n - 1)))
    return zeta_adjoint(table, threads)


def build_system(
    scaling: Array,
    weights: Array = NO_WEIGHTS,
    preconditioner: str = "tree-scaled",
    *,
    table: Array | None = None,
    tree: Tree | None = None,
    threads: int | None = None,
) -> System:
    """The system for a scaling D and weights w (no rows: all 1) with one of `PRECONDITIONERS`.

    `table` is T, if known. A `tree` from an earlier system may be used again; it takes a few more iterations.
    """
    n = scaling.shape[0]
    count = thread_count(threads)
    if preconditioner not in PRECONDITIONERS:
        raise InputError(f"preconditioner {preconditioner!r} is unknown: take one of {', '.join(PRECONDITIONERS)}")
    if preconditioner in ("none", "jacobi"):
        inverse = _paper_inverse(scaling, weights, preconditioner == "jacobi")
        return System(scaling, weights, inverse, None, count)
    if preconditioner == "tree":
        diagonal = np.maximum(scaling, 1.0)
    else:
        diagonal = scaling + (diagonal_table(weights, n, count) if table is None else table)
    if tree is None:
        tree = minimum_spanning_tree(diagonal)
    inverse = np.divide(1.0, diagonal, out=diagonal)
    inverse[tree.edges] = 0.0
    return System(scaling, weights, inverse, tree, count)


def _paper_inverse(scaling: Array, weights: Array, jacobi: bool) -> Array:
    """1 / diag(H), or 1, on all cells but each menu's largest item.

    A column of K B is +-1 on (E, x) and on (E, max D) for all E <= D that hold x, max D: its diagonal entry is the sum
    of w over the two cells and of D over those edges.
    """
    n = scaling.shape[0]
    if jacobi:
        diagonal = zeta_adjoint(scaling.copy())
        diagonal += weights if len(weights) else 1.0
        add_largest(diagonal, n, 1.0)
    else:
        diagonal = np.ones_like(scaling)
    inverse: Array = 1.0 / diagonal
    for x in range(n):
        inverse[x, : 1 << x] = 0.0  # the columns of row x below 2^x are the menus whose largest item is x
    return inverse


def apply_hessian(system: System, flow: Array, out: Array) -> float:
    """out = (Q + D) flow, without a basis; returns <flow, out>."""
    partial = np.empty(len(flow))
    run_threads(
        lambda part: hessian_rows(flow, out, system.scaling, system.weights, partial, part[0], part[1]),
        row_parts(len(flow), system.threads),
        system.threads,
    )
    return float(partial.sum())


_STOP = Stop(1e-8)


def pcg(
    system: System,
    rhs: Array,
    stop: Stop = _STOP,
    *,
    max_iterations: int = 100_000,
    start: CgResult | None = None,
    verify: bool = True,
    deadline: float = math.inf,
    callback: Callable[[int, float, Array], object] | None = None,
) -> CgResult:
    """Solve the system for `rhs` (a number per edge; only its values on zero-flows matter).

    Stops when sqrt(<res, M^-1 res>) <= max(stop.tol * the same of the right side, stop.floor). With `verify` the residual is then
    computed afresh from the solution, and the steps go on from it if it is not there ("stalled": not there three
    times). `start`: a solution to begin with and its residual for *this* right side. `deadline`: on the clock of
    `rumflow.core.compile.clock`. `callback(iteration, error, flow)` after every step; a true value ends the solve ("stopped").
    """
    run = _Run(system, *rhs.shape)
    residual = rhs.copy()
    run.restrict(residual)
    goal = max(stop.tol * math.sqrt(run.measure(residual)), stop.floor or 0.0)
    solution, direction, image = np.zeros_like(rhs), np.zeros_like(rhs), np.empty_like(rhs)
    if start is not None:
        solution[:], residual[:] = start.flow, start.residual
    rz, beta = run.measure(residual), 0.0
    iterations = refreshed = 0
    status = "converged"
    while True:
        if not math.isfinite(rz):
            status = "breakdown"
            break
        if math.sqrt(rz) <= goal:
            if not verify or iterations == 0:
                break
            apply_hessian(system, solution, image)
            np.subtract(rhs, image, out=residual)
            run.restrict(residual)
            rz, beta = run.measure(residual), 0.0
            refreshed += 1
            if math.sqrt(rz) <= 1.01 * goal:
                break
            if refreshed > 3:
                status = "stalled"
                break
        if iterations >= max_iterations:
            status = "max_iterations"
            break
        check_interrupt()
        if clock() > deadline:
            status = "deadline"
            break
        run.advance(direction, residual, beta)
        curvature = apply_hessian(system, direction, image)
        if not (curvature > 0.0 and math.isfinite(curvature)):
            status = "breakdown"
            break
        before = rz
        rz = run.update(image, direction, solution, residual, rz / curvature)
        beta = rz / before
        iterations += 1
        if callback is not None and callback(iterations, math.sqrt(rz), solution):
            status = "stopped"
            break
    return CgResult(solution, residual, iterations, math.sqrt(rz), goal, status)


def restart(system: System, result: CgResult, change: Array) -> CgResult:
    """The same solution as a start for the right side plus `change`."""
    extra = change.copy()
    _Run(system, *change.shape).restrict(extra)
    extra += result.residual
    return result._replace(residual=extra)


class _Run:
    """The parts of a step, and the work space they share."""

    def __init__(self, system: System, n: int, half: int) -> None:
        self.system, self.n = system, n
        self.rows, self.menus = row_parts(n, system.threads), menu_parts(n, system.threads)
        self.node, self.carried, self.partial = np.zeros(2 * half), np.empty(2 * half), np.empty(n)

    def _each(self, task: Callable[[tuple[int, int]], object], parts: list[tuple[int, int]]) -> None:
        run_threads(task, parts, self.system.threads)

    def restrict(self, values: Array) -> None:
        """E^T in place; values off the coordinates mean nothing."""
        tree = self.system.tree
        if tree is None:
            moebius_adjoint(values)
            add_largest(values, self.n, -1.0)
        else:
            sweep_down(tree, self.node, self.carried, values.reshape(-1))
            self._each(lambda part: subtract_differences(values, self.node, *part), self.rows)

    def measure(self, residual: Array) -> float:
        """<r, M^-1 r>."""
        return self.update(residual, residual, residual, residual, 0.0)

    def advance(self, direction: Array, residual: Array, beta: float) -> None:
        """The next direction M^-1 r + beta p, as a flow."""
        system = self.system
        if system.tree is None:
            step = system.inverse * residual
            fill_largest(step, self.n)
            moebius(step)
            direction *= beta
            direction += step
            return
        self._each(lambda part: direction_rows(direction, residual, system.inverse, beta, *part), self.rows)
        self._each(lambda part: divergence(direction, self.node, self.n, *part), self.menus)
        sweep_up(system.tree, self.node, self.carried, direction.reshape(-1))

    def update(self, image: Array, direction: Array, solution: Array, residual: Array, step: float) -> float:
        """k += step p, r -= step E^T (Q + D) p, given image = (Q + D) p (step 0: only measure); <r, M^-1 r>."""
        system, inverse, partial = self.system, self.system.inverse, self.partial
        tree = system.tree
        potentials = step != 0.0 and tree is not None
        if tree is not None and potentials:
            sweep_down(tree, self.node, self.carried, image.reshape(-1))
        elif step != 0.0:
            self.restrict(image)
        vectors = (image, direction, solution, residual, inverse)
        self._each(lambda part: update_rows(self.node, potentials, *vectors, step, partial, *part), self.rows)
        return float(partial.sum())
