"""The faces of projections on the lattice, and the derivatives on them: `rumflow.solvers.derivatives` has the mathematics.

A face is kept as rankings that span it, with the inverse of their matrix for few items, else its Cholesky factor; where there
was no memory for these they are computed again. Of a problem that the interior point method or the smoothed projection solved a
point of the central path is kept: there S = Z (Q + D)^{-1} Z^T, which tends to that of the face as the gap closes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Mixture
from rumflow.core.lattice import Lattice
from rumflow.core.membership import menu_shares
from rumflow.core.paths import flow_from_paths
from rumflow.core.threads import run_threads, thread_count
from rumflow.core.transforms import moebius, zeta, zeta_adjoint
from rumflow.solvers.active_set.kernels import start_from
from rumflow.solvers.active_set.solve import Workspace
from rumflow.solvers.active_set.state import KernelProblem
from rumflow.solvers.batch.kernels import (
    FACE,
    INSIDE,
    PATH,
    Start,
    complete_face,
    from_flow,
    load,
    tangent_piece,
    to_edges,
)
from rumflow.solvers.batch.result import LatticeFits, cut_stack, no_start
from rumflow.solvers.geometry import Faces
from rumflow.solvers.interior.smoothed import SmoothedProjector
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
        on_path = faces.counts[:, 0] == PATH
        if not on_path.any():
            self._tangent_on_faces(faces, rows, by_flow, forward, threads)
            return rows
        for own in (on_path, ~on_path):
            part, flows = rows[own], None if by_flow is None else by_flow[own]
            here = faces._replace(counts=faces.counts[own])
            if own is on_path:
                self._tangent_on_path(here, part, flows, threads)
            elif len(part):
                self._tangent_on_faces(here, part, flows, forward, threads)
            rows[own] = part
            if by_flow is not None:
                by_flow[own] = flows
        return rows

    def _tangent_on_path(self, faces: Faces, rows: Array, by_flow: Array | None, threads: int | None) -> None:
        n = self._geometry.n
        length = (3 << n) + 2 * rows[0].size
        points = faces.types[faces.counts[:, 2, None] + np.arange(length)]
        trees = points[:, : 3 << n].reshape(-1, 3, 1 << n)
        radius = np.ascontiguousarray(points[:, 3 << n :]).view(np.float64).reshape(rows.shape)
        for bits in np.unique(faces.counts[:, 1]):
            own = faces.counts[:, 1] == bits
            accuracy = float(np.array([bits]).view(np.float64)[0])
            part, flows = rows[own], None if by_flow is None else by_flow[own]
            solver = SmoothedProjector(n, self._weights, 1.0, threads, (accuracy, accuracy))
            rows[own] = solver.tangent(radius[own], trees[own], part, flows)
            if by_flow is not None:
                by_flow[own] = flows

    def _tangent_on_faces(
        self, faces: Faces, rows: Array, by_flow: Array | None, forward: bool, threads: int | None
    ) -> None:
        geometry = self._geometry
        none = np.empty((0, *rows.shape[1:]))
        count = 1 if len(rows) == 1 else thread_count(threads)

        def task(piece: range) -> None:
            here = slice(piece.start, piece.stop)
            counts, flows = faces.counts[here], none if by_flow is None else by_flow[here]
            if geometry.small is None:
                self._tangent_large(faces._replace(counts=counts), rows[here], flows, forward)
                return
            small, work = geometry.small_workspaces.take(), np.empty(rows.shape[1:])
            tangent_piece(
                geometry.small, self._weights, self.share, geometry.complete, forward, small, work, counts, faces.types,
                faces.factor, rows[here], flows,
            )  # fmt: skip
            geometry.small_workspaces.give_back(small)

        run_threads(task, cut_stack(len(rows), count), count)

    def _tangent_large(self, faces: Faces, rows: Array, by_flow: Array, forward: bool) -> None:
        workspace = self._geometry.workspaces.take()
        workspace.reserve(int(faces.counts[:, 1].max(initial=0)))
        weights, active, work = self._weights, workspace.active, workspace.cost
        none = np.empty((0, rows.shape[2]))
        for i, g in enumerate(rows):
            kind, k, at, there = faces.counts[i].tolist()
            inside, paths = kind == INSIDE, faces.types[at : at + k * len(g)].reshape(k, len(g))
            own = by_flow[i] if len(by_flow) else none
            if to_edges(weights, self.share, self._geometry.complete, inside, forward, g, own, work):
                if there >= 0:
                    load(active, paths, faces.factor[there : there + k * (k + 1) // 2])
                else:
                    start_from(self._problem, active, paths, np.ones(k))
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
        if fits.kind[i] == PATH or (fits.kind[i] == INSIDE and self._geometry.complete):
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
