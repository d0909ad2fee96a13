"""Stacks of projections onto the choice graphs of a model, all with the same weights, and their derivatives.

As on the lattice (`rumflow.solvers.batch.projector`) three steps per problem: menus whose cells all count give up their surplus,
the active set runs from a start where one is given, and what the derivatives need is kept: types that span the face, and the
factor of their matrix. The face of data inside the model is the model itself, the same for all: it is found once. Where the
observed menus fall apart every group has a face of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints, Mixture, Paths
from rumflow.core.graph import Graph, cells_of_types, cheapest_type
from rumflow.core.graph_cells import Cells
from rumflow.core.graph_certificate import certify_types
from rumflow.core.problem import RELATIVE_RUM_TOLERANCE, Problem, data_size
from rumflow.core.threads import run_threads, thread_count
from rumflow.solvers.active_set.kernels import start_from
from rumflow.solvers.active_set.on_graph import make_graph_problem
from rumflow.solvers.active_set.solve import Workspace
from rumflow.solvers.batch.projector import ACCEPTED, DEFAULT_TOL
from rumflow.solvers.batch.result import keeps_factors
from rumflow.solvers.graphs import ModelProjector, part_of, restrict, solve_graph
from rumflow.solvers.span import GraphFace, span
from rumflow.solvers.tangent import tangent_types

_NO_FACTOR = np.empty(0)


class Face(NamedTuple):
    """Types that span a face, and the factor of their matrix (empty: to be computed again)."""

    types: Paths  # (k, menus)
    factor: Array  # (k (k + 1) / 2,)


class GraphFaces(NamedTuple):
    """The faces of a stack, for each problem those of all graphs one after another, padded to one length."""

    counts: Ints  # (B, graphs): how many types; 0: inside, the face is the model
    types: NDArray[np.int32]  # (B, T)
    factor: Array  # (B, F), or (B, 0): to be computed again


class GraphResult(NamedTuple):
    """A solved stack."""

    tables: Array  # (B, menus, width)
    mixtures: list[list[Mixture]]  # for each problem one per graph
    faces: list[list[Face | None]]  # likewise, where they were asked for; None: inside


class GraphBatch:
    """One projector for stacks over the same cells with the same weights: `solve`, and `tangent` for the derivatives."""

    def __init__(self, projector: ModelProjector, weights: Array, threads: int | None = None) -> None:
        self.projector, self.weights = projector, weights
        self.threads = thread_count(threads)
        cells = projector.cells
        # How a menu spreads its surplus: in the proportions 1/w; not at all where a cell does not count.
        own = np.arange(cells.width) < cells.count[:, None]
        inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)
        inverse[(own & (weights == 0)).any(axis=1)] = 0.0
        total = inverse.sum(axis=1, keepdims=True)
        self._share = np.divide(inverse, total, out=np.zeros_like(inverse), where=total > 0)
        self._workspaces: SimpleQueue[list[Workspace]] = SimpleQueue()
        self._models: list[Face | None] = [None] * len(projector.graphs)
        self._lock = Lock()

    def solve(
        self,
        targets: Array,
        starts: Sequence[Sequence[Mixture] | None] | None = None,
        *,
        tol: float = DEFAULT_TOL,
        keep: bool = False,
    ) -> GraphResult:
        """Project a stack (B, menus, width); `starts`: mixtures to begin from, one per graph; `keep`: the faces."""
        size = len(targets)
        tables = np.empty_like(targets)
        mixtures: list[list[Mixture]] = [[] for _ in range(size)]
        faces: list[list[Face | None]] = [[] for _ in range(size)]
        short: dict[int, str] = {}
        surplus = (targets.sum(axis=2, keepdims=True) - 1.0) * self._share
        targets = targets - surplus

        def task(i: int) -> None:
            rooms = self._take()
            start = None if starts is None else starts[i]
            for p, room in enumerate(rooms):
                graph, part, menus = self._part(p)
                problem = Problem(*part_of(targets[i], self.weights, part, menus))
                outcome = solve_graph(
                    graph,
                    problem,
                    tol=tol,
                    start=None if start is None else start[p],
                    threads=1 if size > 1 else self.threads,
                    workspace=room,
                )
                if outcome.reason == "interrupted":
                    raise KeyboardInterrupt
                mixture = outcome.paths, outcome.weights
                if outcome.reason != "done":
                    certificate = certify_types(graph, mixture, problem)
                    if not certificate.is_optimal(ACCEPTED):
                        short[i] = f"a certified gap of {certificate.gap:.2g} (objective {certificate.objective:.6g})"
                mixtures[i].append(mixture)
                rho = cells_of_types(*mixture, part.shape)
                tables[i, menus, : part.width] = rho
                if keep:
                    difference = np.where(problem.weights > 0, rho - problem.target, 0.0)
                    objective = 0.5 * float((problem.weights * difference**2).sum())
                    inside = objective <= RELATIVE_RUM_TOLERANCE * float(data_size(*problem[:2]))
                    faces[i].append(None if inside else self._span(p, room, problem, problem.weights * difference))
            self._workspaces.put(rooms)

        run_threads(task, range(size), self.threads)
        for i in sorted(short):
            warnings.warn(
                f"sample {i}: rounding stopped the projection at {short[i]}; bring the weights closer together",
                RuntimeWarning,
                stacklevel=2,
            )
        return GraphResult(tables, mixtures, faces)

    def face(self, mixture: Mixture, target: Array, inside: bool) -> list[Face | None]:
        """The faces of one solved problem, given its mixture over all menus."""
        found: list[Face | None] = []
        rooms = self._take()
        for p, room in enumerate(rooms):
            _, part, menus = self._part(p)
            if inside:
                found.append(None)
                continue
            problem = Problem(*part_of(target, self.weights, part, menus))
            types, lam = restrict(mixture, menus)
            room.reserve(len(lam))
            start_from(make_graph_problem(problem), room.active, types, lam)
            difference = np.where(problem.weights > 0, cells_of_types(types, lam, part.shape) - problem.target, 0.0)
            found.append(self._span(p, room, problem, problem.weights * difference))
        self._workspaces.put(rooms)
        return found

    def tangent(self, faces: Sequence[Sequence[Face | None]], rows: Array) -> Array:
        """S times each of a stack of tables."""
        out = np.zeros_like(rows)

        def task(i: int) -> None:
            for p, face in enumerate(faces[i]):
                _, part, menus = self._part(p)
                types, factor = self._model(p) if face is None else face
                if len(types) and not len(factor):
                    factor = self._factor(p, types)
                table = np.empty(part.shape)
                tangent_types(types, factor, np.ascontiguousarray(rows[i][menus, : part.width]), table)
                out[i, menus, : part.width] = table

        run_threads(task, range(len(rows)), self.threads)
        return out

    def pack(self, faces: Sequence[Sequence[Face | None]]) -> GraphFaces:
        """Faces as arrays."""
        count = np.array([[0 if face is None else len(face.types) for face in own] for own in faces], np.int64)
        flat = [[face for face in own if face is not None] for own in faces]
        types = [np.concatenate([face.types.reshape(-1) for face in own] or [np.empty(0, np.int32)]) for own in flat]
        factor = [np.concatenate([face.factor for face in own] or [_NO_FACTOR]) for own in flat]
        length = max(map(len, factor), default=0)
        if not keeps_factors(len(faces), length):
            factor, length = [_NO_FACTOR] * len(faces), 0
        packed = GraphFaces(
            count.reshape(len(faces), len(self.projector.graphs)),
            np.zeros((len(faces), max(map(len, types), default=0)), np.int32),
            np.zeros((len(faces), length)),
        )
        for i in range(len(faces)):
            packed.types[i, : len(types[i])] = types[i]
            packed.factor[i, : len(factor[i])] = factor[i]
        return packed

    def unpack(self, packed: GraphFaces) -> list[list[Face | None]]:
        """The way back."""
        menus = [len(group) for group in self.projector.menus]
        found: list[list[Face | None]] = []
        for count, types, factor in zip(*packed, strict=True):
            own: list[Face | None] = []
            at = there = 0
            for k, m in zip(count.tolist(), menus, strict=True):
                length = k * (k + 1) // 2
                kept = factor[there : there + length] if len(factor) else _NO_FACTOR
                own.append(Face(types[at : at + k * m].reshape(k, m), kept) if k else None)
                at, there = at + k * m, there + length
            found.append(own)
        return found

    def _part(self, p: int) -> tuple[Graph, Cells, Ints]:
        own = self.projector
        return own.graphs[p], own.parts[p], own.menus[p]

    def _take(self) -> list[Workspace]:
        try:
            return self._workspaces.get_nowait()
        except Empty:
            return [Workspace(graph) for graph in self.projector.graphs]

    def _span(self, p: int, room: Workspace, problem: Problem, cost: Array) -> Face:
        """The face on which the types are cheapest, from the active types of `room`."""
        graph, part, menus = self._part(p)
        # An affinely independent set has at most as many types as there are cells beyond one per menu, and one more.
        most = int(part.count.sum()) - len(menus) + 1
        span(make_graph_problem(problem), room, GraphFace(graph, cost), most)
        active, k = room.active, int(room.active.count[0])
        return Face(active.paths[:k].copy(), active.factor[: k * (k + 1) // 2].copy())

    def _model(self, p: int) -> Face:
        """The face that is the whole model."""
        with self._lock:
            found = self._models[p]
            if found is None:
                graph, part, menus = self._part(p)
                problem = Problem(*part_of(np.zeros_like(self.weights), self.weights, part, menus))
                room = Workspace(graph)
                _, row = cheapest_type(graph, problem.target, 1)
                start_from(make_graph_problem(problem), room.active, row[None], np.ones(1))
                found = self._models[p] = self._span(p, room, problem, np.zeros(part.shape))
            return found

    def _factor(self, p: int, types: Paths) -> Array:
        _, part, menus = self._part(p)
        problem = Problem(*part_of(np.zeros_like(self.weights), self.weights, part, menus))
        rooms = self._take()
        room = rooms[p]
        room.reserve(len(types))
        start_from(make_graph_problem(problem), room.active, types, np.ones(len(types)))
        k = int(room.active.count[0])
        factor = room.active.factor[: k * (k + 1) // 2].copy()
        self._workspaces.put(rooms)
        return factor
