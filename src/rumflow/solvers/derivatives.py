"""Derivatives of the projection: one symmetric operator S, applied before or after the weights.

    J t = S W t,        J^T g = W S g,        W = diag(w)

*On a face.* With V the span of the differences of the active rankings, the projection moves like the w-orthogonal projector onto
V, so S = V (V^T W V)^{-1} V^T. In terms of the factor M = L L^T of the active set: collect s_i = <a_i, .>, solve M d = s + const
with sum d = 0, return the mixture sum_i d_i a_i. V must span all types of the face: those of weight 0 that are missing are added
(`rumflow.solvers.span`, `rumflow.solvers.tangent`). Where a face of the data is not the face of the fit (strict complementarity
fails), this is one element of the generalised Jacobian.

*Inside RUM* data are their own projection: J only restores the menu sums.

*On the central path*, at barrier mu, S = Z (Q + D)^{-1} Z^T on zero-flows, Q = Z^T W Z and D = multipliers / flow.

S acts on stacks (B, n, 2^(n-1)) in the internal layout. The rows of cells that were not observed are the derivative of the fit
that was returned; the columns there are 0.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.transforms import zeta, zeta_adjoint
from rumflow.solvers.geometry import Faces, Geometry
from rumflow.solvers.interior.ipm import IpmResult, solve_newton


class Tangent(Protocol):
    """S for a stack of projections."""

    def __call__(self, rows: Array, *, forward: bool) -> Array:
        """S times each vector of a stack, which is overwritten.

        forward   the vectors are 0 where nothing was observed; otherwise the results do not matter there.
        """
        ...


class FaceTangent:
    """S on the faces of a stack of exact projections."""

    def __init__(self, geometry: Geometry, faces: Faces) -> None:
        self._geometry, self._faces = geometry, faces

    def __call__(self, rows: Array, *, forward: bool) -> Array:
        """S times each vector."""
        return self._geometry.tangent(self._faces, rows, forward=forward)


class InteriorTangent:
    """S at the point where the interior point method stopped, for one projection."""

    def __init__(self, state: IpmResult) -> None:
        self._state = state

    def __call__(self, rows: Array, *, forward: bool) -> Array:
        """S times each vector."""
        return np.array([zeta(solve_newton(self._state, zeta_adjoint(row))) for row in rows])


def jvp(tangent: Tangent, weights: Array, rows: Array) -> Array:
    """J t for each t of a stack, which is overwritten."""
    if len(weights):
        rows *= weights
    return tangent(rows, forward=True)


def vjp(tangent: Tangent, weights: Array, rows: Array) -> Array:
    """J^T g for each g of a stack, which is overwritten."""
    product = tangent(rows, forward=False)
    if len(weights):
        product *= weights
    return product
