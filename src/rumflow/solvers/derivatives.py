"""Derivatives of the projection from the face it landed on.

With V the span of the differences of the active rankings, the projection moves like the w-orthogonal projector onto V,

    J = V (V^T W V)^{-1} V^T W,        J^T = W V (V^T W V)^{-1} V^T.

In terms of the factor M = L L^T of the active set: collect s_i = <a_i, .>, solve M d = s + const with sum d = 0, return the
mixture sum_i d_i a_i. Where a ranking outside the active set is priced as cheap as those inside (strict complementarity
fails), this is one element of the generalised Jacobian.

Data inside RUM are their own projection: there J only restores the menu sums (`normal_product`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.core.lattice import Lattice
from rumflow.core.paths import add_paths, flow_from_paths
from rumflow.core.transforms import zeta, zeta_adjoint
from rumflow.solvers.active_set.kernels import Problem, start_from
from rumflow.solvers.active_set.solve import Workspace, make_problem
from rumflow.solvers.tangent import face_dimension, span_face, tangent_weights


class Face:
    """The tangent space of a mixture of rankings, with its factor.

    With every cell observed it is that of the whole face, also where the mixture needs fewer rankings than span it.
    """

    def __init__(self, problem: Problem, paths: NDArray[np.int32], weights: Array) -> None:
        self._problem = problem
        n = problem.target.shape[0]
        flow = flow_from_paths(paths, weights)
        complete = bool((problem.weights > 0).all())  # no rows: every weight is 1
        dimension = int(face_dimension(flow, np.empty(1 << n))) if complete else 0
        workspace = Workspace(n, max(len(weights), dimension) + 8)
        start_from(problem, workspace.active, paths, weights)
        if workspace.active.count[0] <= dimension:
            span_face(problem, workspace.active, flow, dimension)
        self._active = workspace.active

    def product(self, rows: Array, *, transpose: bool) -> Array:
        """J (or J^T) times a vector in the internal layout."""
        weighted = self._problem.weights.shape[0] > 0
        cost = rows.copy()
        if weighted and not transpose:
            cost *= self._problem.weights
        zeta_adjoint(cost)
        k = int(self._active.count[0])
        d = np.empty(len(self._active.weights))
        tangent_weights(self._active, cost, d)
        cost[:] = 0.0
        add_paths(cost, self._active.paths, d, k, 0, cost.shape[0])
        zeta(cost)
        if weighted and transpose:
            cost *= self._problem.weights
        return cost


def exact_product(
    lattice: Lattice, rows: Array, weights: Array | None, face: Callable[[], Face], *, transpose: bool
) -> Array:
    """J (or J^T) where the data are RUM: `normal_product` on the observed cells, the face on those that are not."""
    if weights is None or (weights > 0).all():
        return normal_product(lattice, rows, weights, transpose=transpose)
    hidden = weights == 0
    if transpose:
        product = normal_product(lattice, np.where(hidden, 0.0, rows), weights, transpose=True)
        product += face().product(np.where(hidden, rows, 0.0), transpose=True)
    else:
        product = normal_product(lattice, rows, weights, transpose=False)
        product[hidden] = face().product(rows, transpose=False)[hidden]
    return product


def normal_product(lattice: Lattice, rows: Array, weights: Array | None, *, transpose: bool) -> Array:
    """J (or J^T) inside RUM: the w-orthogonal projector onto menu sums of zero; 0 on cells that are not observed."""
    array = lattice.from_internal(rows)
    observed = lattice.membership
    if weights is None:
        inverse = observed.astype(float)
    else:
        w = lattice.from_internal(weights)
        observed = observed & (w > 0)
        inverse = np.divide(1.0, w, out=np.zeros_like(w), where=observed)
    array = np.where(observed, array, 0.0)
    whole = (observed == lattice.membership).all(axis=1)
    share = np.zeros_like(array)
    np.divide(inverse, inverse.sum(axis=1, keepdims=True), out=share, where=observed & whole[:, None])
    if transpose:
        array -= observed * (share * array).sum(axis=1, keepdims=True)
    else:
        array -= share * array.sum(axis=1, keepdims=True)
    return lattice.to_internal(array)


def make_face(target: Array, weights: Array | None, paths: NDArray[np.int32], mixture: Array) -> Face:
    """The face of a mixture for the given data."""
    return Face(make_problem(target, weights), paths, mixture)
