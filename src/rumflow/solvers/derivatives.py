"""Derivatives of the projection: one symmetric operator S, applied before or after the weights.

    J t = S W t,        J^T g = W S g,        W = diag(w)

*On a face.* With V the span of the differences of the active rankings, the projection moves like the w-orthogonal projector onto
V, so S = V (V^T W V)^{-1} V^T. In terms of the factor M = L L^T of the active set: collect s_i = <a_i, .>, solve M d = s + const
with sum d = 0, return the mixture sum_i d_i a_i. Where a ranking outside the active set is priced as cheap as those inside
(strict complementarity fails), this is one element of the generalised Jacobian.

*Inside RUM* data are their own projection: J only restores the menu sums.

*On the central path*, at barrier mu, S = Z (Q + D)^{-1} Z^T on zero-flows, Q = Z^T W Z and D = multipliers / flow.

S acts on stacks (B, n, 2^(n-1)) in the internal layout. The rows of cells that were not observed are the derivative of the fit
that was returned; the columns there are 0.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rumflow.core.arrays import Array, Mixture
from rumflow.core.graph import cells_of_types
from rumflow.core.problem import Problem
from rumflow.core.transforms import zeta, zeta_adjoint
from rumflow.solvers.active_set.on_graph import make_graph_problem
from rumflow.solvers.active_set.solve import Workspace
from rumflow.solvers.batch.projector import BatchProjector
from rumflow.solvers.batch.result import Faces
from rumflow.solvers.graphs import ModelProjector, restrict
from rumflow.solvers.interior.ipm import IpmResult, solve_newton
from rumflow.solvers.tangent import span_types, tangent_weights


class Tangent(Protocol):
    """S for a stack of projections."""

    def __call__(self, rows: Array, *, forward: bool) -> Array:
        """S times each vector of a stack, which is overwritten.

        forward   the vectors are 0 where nothing was observed; otherwise the results do not matter there.
        """
        ...


class FaceTangent:
    """S on the faces of a stack of exact projections."""

    def __init__(self, projector: BatchProjector, faces: Faces) -> None:
        self._projector, self._faces = projector, faces

    def __call__(self, rows: Array, *, forward: bool) -> Array:
        """S times each vector."""
        return self._projector.tangent(self._faces, rows, forward=forward)


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


class GraphTangent:
    """S on the face of one projection onto a choice graph, for tables of cells; separate groups of menus have a face each."""

    def __init__(
        self, projector: ModelProjector, mixture: Mixture, target: Array, weights: Array, inside: bool
    ) -> None:
        self._parts = []
        for graph, part, menus in zip(projector.graphs, projector.parts, projector.menus, strict=True):
            own = np.ascontiguousarray(target[menus, : part.width]), np.ascontiguousarray(weights[menus, : part.width])
            problem = Problem(*own)
            types, lam = restrict(mixture, menus)
            rho = cells_of_types(types, lam, part.shape)
            cost = np.where(own[1] > 0, own[1] * (rho - own[0]), 0.0)
            # An affinely independent set has at most as many types as there are cells beyond one per menu, and one more.
            workspace = Workspace(graph, int(part.count.sum()) - len(menus) + 9)
            span_types(
                make_graph_problem(problem), graph, workspace, (types, lam), np.zeros_like(cost) if inside else cost
            )
            self._parts.append((menus, part, workspace))

    def __call__(self, rows: Array, *, forward: bool) -> Array:
        """S times each vector."""
        out = np.zeros_like(rows)
        for menus, part, workspace in self._parts:
            active = workspace.active
            k, d = int(active.count[0]), np.empty(len(active.weights))
            for row, product in zip(rows, out, strict=True):
                tangent_weights(active, np.ascontiguousarray(row[menus, : part.width]), d)
                product[menus, : part.width] = cells_of_types(active.paths[:k], d[:k], part.shape)
        return out
