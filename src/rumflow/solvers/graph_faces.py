"""The faces of projections onto choice graphs, and the derivatives on them; every group of menus has a face of its own.

The face of data inside the model is the model itself, the same for all: it is found once.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Mixture, Paths
from rumflow.core.graph import cells_of_types, cheapest_type
from rumflow.core.problem import Problem, data_size, is_rum_distance
from rumflow.core.threads import run_threads, thread_count
from rumflow.solvers.active_set.kernels import start_from
from rumflow.solvers.active_set.solve import Workspace, make_graph_problem
from rumflow.solvers.geometry import Faces, Keep
from rumflow.solvers.graph_fits import Face
from rumflow.solvers.span import GraphFace, span
from rumflow.solvers.tangent import tangent_types

_NO_FACTOR = np.empty(0)


class GraphFaces:
    """Faces of the projections of a `rumflow.solvers.graph.GraphGeometry`, with its weights."""

    def __init__(self, geometry: Any) -> None:
        self._geometry = geometry
        self._models: list[Face | None] = [None] * len(geometry.parts)
        self._lock = Lock()

    def tangent(self, faces: Faces, rows: Array, threads: int | None) -> Array:
        """S times each of a stack of tables."""
        out, every = np.zeros_like(rows), self.unpack(faces)

        def task(i: int) -> None:
            for p, face in enumerate(every[i]):
                part, menus = self._geometry.parts[p], self._geometry.menus[p]
                types, factor = self._model_face(p) if face is None else face
                if len(types) and not len(factor):
                    factor = self._factor(p, types)
                table = np.empty(part.shape)
                tangent_types(types, factor, part.cut(rows[i], menus), table)
                out[i, menus, : part.width] = table

        run_threads(task, range(len(rows)), thread_count(threads))
        return out

    def pack(self, faces: Sequence[Sequence[Face | None]]) -> Faces:
        """Faces as arrays."""
        count = np.array([[0 if face is None else len(face.types) for face in own] for own in faces], np.int64)
        flat = [[face for face in own if face is not None] for own in faces]
        types = [np.concatenate([face.types.reshape(-1) for face in own] or [np.empty(0, np.int32)]) for own in flat]
        factor = [np.concatenate([face.factor for face in own] or [_NO_FACTOR]) for own in flat]
        return Faces.gather(count.reshape(len(faces), len(self._geometry.parts)), types, factor)

    def unpack(self, packed: Faces) -> list[list[Face | None]]:
        """The way back."""
        menus = [len(group) for group in self._geometry.menus]
        found: list[list[Face | None]] = []
        for *count, first, begin in packed.counts.tolist():
            own: list[Face | None] = []
            at, there = first, begin
            for k, m in zip(count, menus, strict=True):
                length = k * (k + 1) // 2
                kept = packed.factor[there : there + length] if begin >= 0 else _NO_FACTOR
                own.append(Face(packed.types[at : at + k * m].reshape(k, m), kept) if k else None)
                at, there = at + k * m, there + length
            found.append(own)
        return found

    def find(self, fits: Any, i: int) -> list[Face | None]:
        """The faces of a solved problem, one for each group of menus."""
        if fits.keep is Keep.FACES:
            return [one.face for one in fits.parts[i]]
        if fits.inside[i]:
            return [None] * len(self._geometry.parts)
        found: list[Face | None] = []
        workspaces = self._geometry.workspaces.take()
        for p in range(len(workspaces)):
            workspace = self._geometry.workspace_of(workspaces, p)
            problem, mixture = self._geometry.part_problem(fits.targets[i], p), fits.parts[i][p].mixture
            _begin(problem, workspace, mixture)
            found.append(self._span(p, workspace, problem, _difference(problem, mixture)))
        self._geometry.workspaces.give_back(workspaces)
        return found

    def of_solved(self, p: int, workspace: Workspace, problem: Problem, mixture: Mixture) -> Face | None:
        """The face of a problem just solved in a workspace; None: the data are inside the model."""
        difference = _difference(problem, mixture)
        objective = 0.5 * float((problem.weights * difference**2).sum())
        if is_rum_distance(objective, float(data_size(*problem[:2]))):
            return None
        return self._span(p, workspace, problem, difference)

    def _span(self, p: int, workspace: Workspace, problem: Problem, difference: Array) -> Face:
        """The face on which the types are cheapest for w times the difference, from the active types of the workspace."""
        # An affinely independent set has at most as many types as there are cells beyond one per menu, and one more.
        most = int(self._geometry.parts[p].count.sum()) - len(self._geometry.menus[p]) + 1
        span(
            make_graph_problem(problem),
            workspace,
            GraphFace(self._geometry.graphs[p], problem.weights * difference),
            most,
        )
        return Face(workspace.mixture()[0], workspace.factor())

    def _model_face(self, p: int) -> Face:
        """The face that is the whole model."""
        with self._lock:
            found = self._models[p]
            if found is None:
                problem = self._geometry.part_problem(np.zeros_like(self._geometry.weights), p)
                workspace = Workspace(self._geometry.graphs[p])
                _, row = cheapest_type(self._geometry.graphs[p], problem.target, 1)
                _begin(problem, workspace, (row[None], np.ones(1)))
                found = self._models[p] = self._span(p, workspace, problem, np.zeros(problem.target.shape))
            return found

    def _factor(self, p: int, types: Paths) -> Array:
        problem = self._geometry.part_problem(np.zeros_like(self._geometry.weights), p)
        workspaces = self._geometry.workspaces.take()
        workspace = self._geometry.workspace_of(workspaces, p)
        _begin(problem, workspace, (types, np.ones(len(types))))
        factor: Array = workspace.factor()
        self._geometry.workspaces.give_back(workspaces)
        return factor


def _difference(problem: Problem, mixture: Mixture) -> Array:
    """rho - rho_hat where it counts."""
    rho = cells_of_types(*mixture, problem.target.shape)
    return np.where(problem.weights > 0, rho - problem.target, 0.0)


def _begin(problem: Problem, workspace: Workspace, mixture: Mixture) -> None:
    """Make these types active, with their factor."""
    workspace.reserve(len(mixture[1]))
    start_from(make_graph_problem(problem), workspace.active, *mixture)
