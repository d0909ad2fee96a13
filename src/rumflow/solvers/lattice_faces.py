"""The faces of projections on the lattice, and the derivatives on them: `rumflow.solvers.derivatives` has the mathematics.

A face is kept as rankings that span it, with the inverse of their matrix for few items, else its Cholesky factor; where there
was no memory for these they are computed again.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Ints, Mixture, Paths
from rumflow.core.lattice import Lattice
from rumflow.core.membership import menu_shares
from rumflow.core.paths import flow_from_paths
from rumflow.core.threads import run_threads, thread_count
from rumflow.core.transforms import moebius, zeta, zeta_adjoint
from rumflow.solvers.active_set.kernels import start_from
from rumflow.solvers.active_set.solve import Workspace
from rumflow.solvers.active_set.state import KernelProblem
from rumflow.solvers.batch.kernels import FACE, INSIDE, Start, complete_face, from_flow, load, tangent_piece, to_edges
from rumflow.solvers.batch.result import LatticeFits, cut_stack, no_start
from rumflow.solvers.geometry import Faces
from rumflow.solvers.small.solve import begin_small
from rumflow.solvers.small.workspace import store_rankings
from rumflow.solvers.span import LatticeFace, span
from rumflow.solvers.tangent import face_dimension, span_face, tangent_weights


class LatticeFaces:
    """Faces of the projections of a `rumflow.solvers.lattice.LatticeGeometry`, with its weights."""

    def __init__(self, geometry: Any) -> None:
        self._geometry = geometry
        self._weights: Array = geometry.weights
        self._problem: KernelProblem = geometry.kernel._replace(target=np.zeros(geometry.shape))

    @cached_property
    def share(self) -> Array:
        """How P_S spreads a menu's surplus over its cells; nothing in the cone, where menus may add up to anything."""
        if self._geometry.cone:
            return np.zeros(self._geometry.shape)
        lattice = Lattice(self._geometry.n)
        weights = lattice.from_internal(self._weights) if len(self._weights) else lattice.membership.astype(float)
        return lattice.to_internal(menu_shares(lattice.membership, weights))

    def tangent(self, faces: Faces, rows: Array, by_flow: Array | None, *, forward: bool, threads: int | None) -> Array:
        """S times each of a stack of vectors, in place.

        by_flow   what stands for the flow beside the probabilities, in place as well: gradients become changes.
        """
        geometry, n = self._geometry, self._geometry.n
        none = np.empty((0, *rows.shape[1:]))
        kind, atoms = np.ascontiguousarray(faces.counts.T)
        paths = faces.types.reshape(len(rows), faces.types.shape[1] // n, n)
        count = thread_count(threads)

        def task(piece: range) -> None:
            here = slice(piece.start, piece.stop)
            own = kind[here], atoms[here], paths[here], faces.factor[here]
            flows = none if by_flow is None else by_flow[here]
            if geometry.small is None:
                self._tangent_large(own, rows[here], flows, forward)
                return
            small, work = geometry.small_workspaces.take(), np.empty(rows.shape[1:])
            arrays = (self._weights, self.share, geometry.complete, forward, small, work, *own, rows[here], flows)
            tangent_piece(geometry.small, *arrays)
            geometry.small_workspaces.give_back(small)

        run_threads(task, cut_stack(len(rows), count), count)
        return rows

    def _tangent_large(
        self, faces: tuple[Ints, Ints, Paths, Array], rows: Array, by_flow: Array, forward: bool
    ) -> None:
        kind, atoms, paths, factor = faces
        workspace = self._geometry.workspaces.take()
        workspace.reserve(int(atoms.max(initial=0)))
        weights, active, work = self._weights, workspace.active, workspace.cost
        none = np.empty((0, rows.shape[2]))
        for i, g in enumerate(rows):
            inside, k = bool(kind[i] == INSIDE), int(atoms[i])
            own = by_flow[i] if len(by_flow) else none
            if to_edges(weights, self.share, self._geometry.complete, inside, forward, g, own, work):
                if factor.shape[1]:
                    load(active, paths[i, :k], factor[i, : k * (k + 1) // 2])
                else:
                    start_from(self._problem, active, paths[i, :k], np.ones(k))
                k = int(active.count[0])
                d = active.scratch[2]
                tangent_weights(active, g, d)
                g[:] = flow_from_paths(active.paths[:k], d[:k])
                if len(own):
                    own[:] = g
                from_flow(weights, inside, forward, g, work)
            elif len(own):
                own[:] = moebius(g.copy())
        self._geometry.workspaces.give_back(workspace)

    def find(self, fits: LatticeFits, i: int) -> Start:
        """Rankings that span the face of a solved problem."""
        if fits.kind[i] == INSIDE and self._geometry.complete:
            return no_start(self._geometry.n)
        return self.of_solved(fits.mixture(i), fits.flow(i), int(fits.kind[i]), fits.targets[i])

    def of_solved(
        self, mixture: Mixture, flow: Array, kind: int, target: Array, solved_in: Workspace | None = None
    ) -> Start:
        """Rankings with what the derivatives need: enough of them to span the face, and their matrix.

        solved_in   where the mixture was found, as the solver left it: there is a factor already.
        """
        geometry = self._geometry
        if geometry.small is not None:
            small = geometry.small_workspaces.take()
            begin_small(geometry.small, small, *mixture)
            complete_face(geometry.small, small, target, flow, geometry.complete, kind == FACE)
            k = int(small.count[0])
            start = Start(np.empty((k, geometry.n), np.int32), np.empty(k), np.empty(k * (k + 1) // 2))
            store_rankings(small, *start)
            geometry.small_workspaces.give_back(small)
            return start
        if solved_in is not None and solved_in.holds(mixture):
            return self._span(solved_in, flow, kind, target)
        workspace = geometry.workspaces.take()
        workspace.reserve(len(mixture[1]))
        start_from(self._problem, workspace.active, *mixture)
        start = self._span(workspace, flow, kind, target)
        geometry.workspaces.give_back(workspace)
        return start

    def _span(self, workspace: Workspace, flow: Array, kind: int, target: Array) -> Start:
        """The active rankings of the workspace, and others until they span the face; what lies inside needs none."""
        if kind == FACE and self._geometry.complete:
            dimension = int(face_dimension(flow, workspace.below))
            while workspace.active.count[0] <= dimension and dimension + 8 > len(workspace.active.weights):
                workspace.grow()
            if workspace.active.count[0] <= dimension:
                span_face(self._problem, workspace.active, flow, dimension)
        elif kind == FACE:
            difference = zeta(flow.copy()) - np.where(self._weights > 0, target, 0.0)
            face = LatticeFace(zeta_adjoint(self._weights * difference))
            span(self._problem, workspace, face, int((self._weights > 0).sum()) + 1)
        return Start(*workspace.mixture(), workspace.factor())
