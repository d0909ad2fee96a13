"""The paper's linear operators, as SciPy `LinearOperator`s.

Vectors over the N = n 2^(n-1) cells are in the order of `Lattice(n).cells` (menu ascending, then item). Reduced vectors
xi run over the d = N - (2^n - 1) cells whose item is not the largest of its menu, in the same order.

    B    (N, d)  (B xi)(D, x) = xi(D, x), and minus the sum of the menu's others at x = max D: every menu sums to 0
    R    (d, N)  drops the largest item of every menu: R B = 1, and rho = B R rho + u for rows that sum to 1
    u    (N,)    1 at the largest item of every menu: the chooser who ranks n-1 first, 0 last
    K    (N, N)  Block-Marschak (Moebius) transform; K B xi is a zero-flow, and every zero-flow is one
    A_m  (d, d)  the rows of K B on the co-tree of a spanning tree; A_m^-1 = R K^-1 L
    H    (d, d)  B^T W B + (K B)^T D (K B), the matrix of the Newton systems

They state and test the theory. The solver itself works in flow space
(`rumflow.solvers.interior.cg`), where an iteration needs two transforms and not four.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from rumflow.core.arrays import Array
from rumflow.core.lattice import Lattice
from rumflow.core.reduced import add_largest, fill_largest
from rumflow.core.transforms import moebius, moebius_adjoint, zeta, zeta_adjoint
from rumflow.core.tree import Tree
from tests.reference.trees import extend, extend_adjoint


def reduced_cells(n: int) -> NDArray[np.int64]:
    """Where the d reduced cells stand among the N cells."""
    menu, item = Lattice(n).cells.T
    positions: NDArray[np.int64] = np.nonzero(menu >> (item + 1))[0]
    return positions


def _operator(
    shape: tuple[int, int], matvec: Callable[[Array], Array], rmatvec: Callable[[Array], Array]
) -> LinearOperator:
    def flat(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
        return lambda vector: function(np.asarray(vector, np.float64).reshape(-1))

    return LinearOperator(shape, matvec=flat(matvec), rmatvec=flat(rmatvec), dtype=np.float64)


def operator_b(n: int) -> LinearOperator:
    """B, from reduced to full cells; B^T rho (D, x) = rho(D, x) - rho(D, max D)."""
    lattice, keep = Lattice(n), reduced_cells(n)

    def apply(xi: Array) -> Array:
        cells = np.zeros(lattice.n_cells)
        cells[keep] = xi
        rows = lattice.cells_to_internal(cells)
        fill_largest(rows, n)
        return lattice.internal_to_cells(rows)

    def adjoint(rho: Array) -> Array:
        rows = lattice.cells_to_internal(rho)
        add_largest(rows, n, -1.0)
        return lattice.internal_to_cells(rows)[keep]

    return _operator((lattice.n_cells, len(keep)), apply, adjoint)


def operator_r(n: int) -> LinearOperator:
    """R, from full to reduced cells."""
    lattice, keep = Lattice(n), reduced_cells(n)

    def adjoint(xi: Array) -> Array:
        cells = np.zeros(lattice.n_cells)
        cells[keep] = xi
        return cells

    return _operator((len(keep), lattice.n_cells), lambda rho: rho[keep], adjoint)


def vector_u(n: int) -> Array:
    """u: the largest item of every menu is chosen."""
    u = np.ones(Lattice(n).n_cells)
    u[reduced_cells(n)] = 0.0
    return u


def operator_k(n: int, inverse: bool = False) -> LinearOperator:
    """K, from probabilities to flows, or K^-1 = Z."""
    lattice = Lattice(n)
    forward, backward = (zeta, zeta_adjoint) if inverse else (moebius, moebius_adjoint)
    return _operator(
        (lattice.n_cells, lattice.n_cells),
        lambda v: lattice.internal_to_cells(forward(lattice.cells_to_internal(v))),
        lambda v: lattice.internal_to_cells(backward(lattice.cells_to_internal(v))),
    )


def cotree_cells(tree: Tree) -> NDArray[np.int64]:
    """Where the co-tree stands among the N cells: the rows of A_m, in order."""
    lattice = Lattice(len(tree.edges))
    positions: NDArray[np.int64] = np.nonzero(~tree.edges.reshape(-1)[lattice.cell_index])[0]
    return positions


def operator_l(tree: Tree) -> LinearOperator:
    """L, from values on the co-tree to the zero-flow that has them."""
    lattice, rows = Lattice(len(tree.edges)), cotree_cells(tree)

    def apply(values: Array) -> Array:
        cells = np.zeros(lattice.n_cells)
        cells[rows] = values
        return lattice.internal_to_cells(extend(tree, lattice.cells_to_internal(cells)))

    def adjoint(cells: Array) -> Array:
        return lattice.internal_to_cells(extend_adjoint(tree, lattice.cells_to_internal(cells)))[rows]

    return _operator((lattice.n_cells, len(rows)), apply, adjoint)


def operator_am(tree: Tree, inverse: bool = False) -> LinearOperator:
    """A_m, the rows of K B on the co-tree, or its inverse R K^-1 L."""
    n = len(tree.edges)
    rows = cotree_cells(tree)
    if inverse:
        return operator_r(n) @ operator_k(n, inverse=True) @ operator_l(tree)
    kb = operator_k(n) @ operator_b(n)

    def adjoint(values: Array) -> Array:
        cells = np.zeros(kb.shape[0])
        cells[rows] = values
        result: Array = kb.rmatvec(cells)
        return result

    return _operator((len(rows), kb.shape[1]), lambda xi: kb.matvec(xi)[rows], adjoint)


def operator_h(n: int, scaling: Array, weights: Array | None = None) -> LinearOperator:
    """H = B^T W B + (K B)^T D (K B), for D and w given on the cells (w None: all ones)."""
    b, k = operator_b(n), operator_k(n)

    def apply(xi: Array) -> Array:
        rho = b.matvec(xi)
        pull = k.rmatvec(scaling * k.matvec(rho))
        result: Array = b.rmatvec(pull + (rho if weights is None else weights * rho))
        return result

    return _operator((b.shape[1], b.shape[1]), apply, apply)


def preconditioner_m(tree: Tree, diagonal: Array) -> LinearOperator:
    """M^-1 for M = A_m^T diag(m) A_m, with m given on all cells and read on the co-tree."""
    inverse = operator_am(tree, inverse=True)
    m = diagonal[cotree_cells(tree)]

    def apply(v: Array) -> Array:
        result: Array = inverse.matvec(inverse.rmatvec(v) / m)
        return result

    return _operator(inverse.shape, apply, apply)
