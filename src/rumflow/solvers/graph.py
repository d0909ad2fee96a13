"""Any model on the choice graphs of the observed menus: projections of stacks, and their derivatives.

Where menus fall into groups whose types combine freely, the projection onto the simplex is that of each group alone (on the cone
the total weight ties them together). The mixtures of the groups are then coupled into one mixture of types over all menus, with
at most as many types as the groups have together.

As on the lattice (`rumflow.solvers.lattice`) three steps per problem: menus whose cells all count give up their surplus, the
active set runs from a start where one is given, and what the derivatives need is kept: types that span the face, and the
factor of their matrix. The face of data inside the model is the model itself, the same for all: it is found once. Every group of
menus has a face of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, NamedTuple, Self

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask, Mixture, Paths
from rumflow.core.certificate import Certificate
from rumflow.core.graph import Graph, cells_of_types, cheapest_type, follow_type, inner_point
from rumflow.core.graph_cells import Cells
from rumflow.core.graph_certificate import certify_types, plain_cheapest
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.problem import RELATIVE_RUM_TOLERANCE, SOLVER_FLOOR, Problem, Stop, data_size
from rumflow.core.threads import run_threads, thread_count
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit
from rumflow.solvers.active_set.kernels import start_from
from rumflow.solvers.active_set.solve import Goal, Outcome, Workspace, make_graph_problem, solve_rankings
from rumflow.solvers.geometry import (
    DEFAULT_OPTIONS,
    Faces,
    Fits,
    Geometry,
    Keep,
    SolveOptions,
    keeps_factors,
)
from rumflow.solvers.resources import ONE_THREAD, Resources
from rumflow.solvers.span import GraphFace, span
from rumflow.solvers.tangent import tangent_types

#: Up to so many items a mixture of rankings has `rho` and `flow` over all menus.
MOST_ITEMS_OF_ARRAYS = 22

_NO_FACTOR = np.empty(0)


class Face(NamedTuple):
    """Types that span a face, and the factor of their matrix (empty: to be computed again)."""

    types: Paths  # (k, menus)
    factor: Array  # (k (k + 1) / 2,)


class Point(NamedTuple):
    """A mixture of types and a share of the inner point, which no few types make up."""

    types: Paths
    weights: Array
    rest: float


class PartStarts(tuple[Any, ...]):
    """Mixtures to begin from: types and weights of one group of menus after the other."""

    def part(self, p: int) -> Mixture:
        """Those of a group."""
        return self[2 * p], self[2 * p + 1]


class PartFit(NamedTuple):
    """A projection of some of the menus: the types of the fit, and what is certified, where it was asked for."""

    types: Paths
    weights: Array
    certificate: Certificate | None
    reason: str
    rounds: int
    face: Face | None = None  # None: the data are inside the model, or no face was asked for

    @property
    def mixture(self) -> Mixture:
        """Types and weights."""
        return self.types, self.weights


def solve_graph(
    graph: Graph,
    problem: Problem,
    stop: Stop,
    *,
    start: Mixture | None = None,
    workspace: Workspace | None = None,
    resources: Resources = ONE_THREAD,
) -> Outcome:
    """Project tables of cells onto the types of a graph; the fitted cells are `cells_of_types` of the outcome's mixture."""
    least = SOLVER_FLOOR * float(data_size(problem.target, problem.weights)) if stop.floor is None else stop.floor
    return solve_rankings(
        make_graph_problem(problem),
        Workspace(graph) if workspace is None else workspace,
        Goal(stop.tol, least),
        start=start,
        resources=resources,
    )


def couple(mixtures: Sequence[Mixture], menus: Sequence[Ints]) -> Mixture:
    """One mixture of types over all menus from mixtures over groups of menus: shares of the groups are paired in order."""
    ends = np.unique(np.concatenate([np.cumsum(weights)[:-1] for _, weights in mixtures]))
    total = float(mixtures[0][1].sum())
    edges = np.concatenate([[0.0], ends[(ends > 0) & (ends < total)], [total]])
    types = np.empty((len(edges) - 1, sum(len(group) for group in menus)), np.int32)
    for (own, weights), group in zip(mixtures, menus, strict=True):
        place = np.searchsorted(np.cumsum(weights)[:-1], edges[:-1], side="right")
        types[:, group] = own[place]
    return types, np.diff(edges)


@dataclass(eq=False)
class GraphFits(Fits):
    """A solved stack on choice graphs."""

    parts: list[list[PartFit]]  # of each problem, one for each group of menus
    keep: Keep = Keep.MIXTURES

    @cached_property
    def certificates(self) -> list[Certificate]:
        """One for each problem."""
        return [
            total_certificate([one.certificate for one in own])  # type: ignore[misc]
            if own and all(one.certificate is not None for one in own)
            else self.geometry.certify(self.mixtures[i], self.targets[i])
            for i, own in enumerate(self.parts)
        ]

    @cached_property
    def inside(self) -> Mask:
        """(B,): the data are in the model themselves."""
        return np.array([certificate.is_rum for certificate in self.certificates], np.bool_)

    @cached_property
    def rho(self) -> Array:
        """(B, menus, width): fitted cells."""
        shape = self.geometry.shape
        return np.array([cells_of_types(*own, shape) for own in self.mixtures]).reshape(len(self), *shape)

    @cached_property
    def mixtures(self) -> list[Mixture]:
        """Types over all menus, and their weights."""
        return [
            own[0].mixture if len(own) == 1 else couple([one.mixture for one in own], self.geometry.menus)
            for own in self.parts
        ]

    @property
    def starts(self) -> list[PartStarts]:
        """What the next stack can start from."""
        return [PartStarts(array for one in own for array in one.mixture) for own in self.parts]

    def mixture(self, i: int) -> Mixture:
        """Types over all menus, and their weights."""
        return self.mixtures[i]

    def flow(self, i: int) -> Array:
        """The mixture of problem i as a flow on the lattice, where its types are rankings of few items."""
        flow: Array = self.geometry.flow(Point(*self.mixtures[i], 0.0))
        return flow

    @cached_property
    def faces(self) -> Faces:
        """Types that span the faces."""
        packed: Faces = self.geometry.pack([self.geometry.faces_of(self, i) for i in range(len(self))])
        return packed


@dataclass(eq=False)
class _Shared:
    """What a geometry shares with those of other weights."""

    workspaces: SimpleQueue[list[Any]] = field(default_factory=SimpleQueue)
    lock: Any = field(default_factory=Lock)


class GraphGeometry(Geometry):
    """A model on observed cells, its graphs built once; see `rumflow.solvers.geometry.Geometry`."""

    route, exact, has_all_menus = "graph", True, False
    keep_to_start = Keep.NOTHING

    def __init__(self, model: Model, cells: Cells, *, cone: bool = False, limit: Limit = DEFAULT_LIMIT) -> None:
        self.model, self.cells, self.cone = model, cells, cone
        whole = [np.arange(len(cells.membership))]
        self.menus = whole if cone else model.parts(cells)
        self.parts = [cells] if len(self.menus) == 1 else [cells.part(group) for group in self.menus]
        self._prepare(limit)
        self._shared = _Shared()
        self._set_weights((cells.item >= 0).astype(np.float64))

    def _prepare(self, limit: Limit) -> None:
        self._graphs = [self.model.geometry(part, limit) for part in self.parts]

    def _set_weights(self, weights: Array) -> None:
        self.weights = weights
        self._model_faces: list[Face | None] = [None] * len(self.parts)
        self.__dict__.pop("_share", None)

    def weighted(self, weights: Array) -> Self:
        """The same graphs with other weights of cells."""
        other = copy(self)
        other._set_weights(weights)
        return other

    @property
    def shape(self) -> tuple[int, int]:
        """(menus, width): the shape of tables."""
        return self.cells.shape

    def blank(self, single: float) -> Array:
        """A table of zeros: menus of one item leave no choice and are in no graph."""
        return np.zeros(self.shape)

    @property
    def graphs(self) -> list[Graph]:
        """One graph for each part."""
        return self._graphs

    @property
    def n_nodes(self) -> int:
        """Nodes of all graphs."""
        return sum(graph.n_nodes for graph in self.graphs)

    @property
    def n_arcs(self) -> int:
        """Arcs of all graphs."""
        return sum(graph.n_arcs for graph in self.graphs)

    @property
    def n_bytes(self) -> int:
        """Memory of all graphs and of one sweep over each."""
        return sum(graph.n_bytes for graph in self.graphs)

    def positions(self, menu: Ints, item: Ints, cells: Cells) -> Ints:
        """Where cells are in the flattened tables; item -1 is the remainder."""
        column = np.where(item < 0, cells.remainder[menu], cells.column[menu, np.maximum(item, 0)])
        return np.asarray(menu * self.cells.width + column, np.int64)

    @cached_property
    def _share(self) -> Array:
        """How a menu spreads its surplus: in the proportions 1/w; not at all where a cell does not count, nor on the cone."""
        weights, cells = self.weights, self.cells
        if self.cone:
            return np.zeros_like(weights)
        own = np.arange(cells.width) < cells.count[:, None]
        inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)
        inverse[(own & (weights == 0)).any(axis=1)] = 0.0
        total = inverse.sum(axis=1, keepdims=True)
        share: Array = np.divide(inverse, total, out=np.zeros_like(inverse), where=total > 0)
        return share

    def _normalise(self, targets: Array) -> Array:
        """Targets with menus that add up to 1, where all of their cells count."""
        surplus = targets.sum(axis=2, keepdims=True) - 1.0
        surplus[np.abs(surplus) <= 1e-15 * self.cells.width] = 0.0
        if not surplus.any():
            return targets
        normalised: Array = targets - surplus * self._share
        return normalised

    def solve(
        self,
        targets: Array,
        stop: Stop,
        *,
        starts: Sequence[Mixture | PartStarts | None] | None = None,
        options: SolveOptions = DEFAULT_OPTIONS,
        resources: Resources = ONE_THREAD,
    ) -> GraphFits:
        """Project a stack (B, menus, width); a start is a mixture over all menus, or one for each group."""
        size, partial = len(targets), options.partial
        parts: list[list[PartFit]] = [[] for _ in range(size)]
        normalised = self._normalise(targets)
        threads = thread_count(resources.threads)
        one = resources._replace(threads=1 if size > 1 else threads)

        def task(i: int) -> None:
            workspaces = self._take()
            begin = None if starts is None else starts[i]
            found = []
            for p, workspace in enumerate(workspaces):
                problem = self._part_problem(normalised[i], p)
                start = (
                    None
                    if begin is None
                    else begin.part(p)
                    if isinstance(begin, PartStarts)
                    else restrict(begin, self.menus[p])
                )
                own = self._solve_part(p, problem, stop, start, workspace, one, options)
                if own.reason == "interrupted" and not partial:
                    raise KeyboardInterrupt
                if options.certify or own.reason != "done":
                    own = self._certified(p, own, targets[i])
                if options.keep is Keep.FACES:
                    own = own._replace(face=self._face(p, workspace, problem, own.mixture))
                found.append(own)
            parts[i] = found
            self._shared.workspaces.put(workspaces)
            if resources.advance is not None:
                resources.advance(1)

        try:
            run_threads(task, range(size), threads)
        except KeyboardInterrupt:
            if not partial:
                raise
            parts = [own or self._not_begun() for own in parts]
        reasons = [self._reason(own, stop) for own in parts]
        rounds = np.array([sum(one.rounds for one in own) for own in parts], np.int64)
        return GraphFits(self, targets, rounds, reasons, [self.route] * size, parts, options.keep)

    def _solve_part(
        self,
        p: int,
        problem: Problem,
        stop: Stop,
        start: Mixture | None,
        workspace: Any,
        resources: Resources,
        options: SolveOptions,
    ) -> PartFit:
        found = solve_graph(self.graphs[p], problem, stop, start=start, workspace=workspace, resources=resources)
        return PartFit(found.paths, found.weights, None, found.reason, found.rounds)

    def _certified(self, p: int, fit: PartFit, target: Array) -> PartFit:
        """With the certificate for the data as they were given."""
        return fit._replace(certificate=certify_types(self.graphs[p], fit.mixture, self._part_problem(target, p)))

    @staticmethod
    def _reason(parts: Sequence[PartFit], stop: Stop) -> str:
        """Why a problem ended; what is certified to be short of its goal has stalled, whatever the solver says."""
        reason = next((one.reason for one in parts if one.reason != "done"), "done")
        made = [one.certificate for one in parts if one.certificate is not None]
        short = reason == "done" and len(made) == len(parts) and not total_certificate(made).is_optimal(stop)
        return "stalled" if short else reason

    def _not_begun(self) -> list[PartFit]:
        """Any types at all, for a problem that was not begun when Ctrl-C came."""
        found = []
        for graph, part in zip(self.graphs, self.parts, strict=True):
            _, row = cheapest_type(graph, np.zeros(part.shape), 1)
            found.append(PartFit(row[None], np.ones(1), None, "interrupted", 0))
        return found

    def _part_problem(self, target: Array, p: int) -> Problem:
        """The tables of a group of menus."""
        return Problem(*part_of(target, self.weights, self.parts[p], self.menus[p]), self.cone)

    def _take(self) -> list[Any]:
        try:
            return self._shared.workspaces.get_nowait()
        except Empty:
            return self._workspaces()

    def _workspaces(self) -> list[Any]:
        return [Workspace(graph) for graph in self.graphs]

    def certify(self, mixture: Mixture, target: Array, lower: float | None = None) -> Certificate:
        """The certificate of a mixture of types over all menus; gaps are exact here, whatever bound is known."""
        return total_certificate(
            [
                certify_types(graph, restrict(mixture, group), self._part_problem(target, p))
                for p, (graph, group) in enumerate(zip(self.graphs, self.menus, strict=True))
            ]
        )

    def count_foreign(self, types: Paths) -> int:
        """How many of these types are none of the model's."""
        arcs = [np.empty(graph.n_nodes, np.int64) for graph in self.graphs]
        own = [
            all(
                follow_type(graph, np.ascontiguousarray(row[group]), path) >= 0
                for graph, group, path in zip(self.graphs, self.menus, arcs, strict=True)
            )
            for row in types
        ]
        return len(own) - sum(own)

    def inner_point(self) -> Array:
        """A table in the relative interior: what the model says, else the flow that divides evenly at every node."""
        given = self.model.inner_point(self.cells)
        return self._even if given is None else given

    @cached_property
    def _even(self) -> Array:
        table = np.zeros(self.shape)
        for graph, part, menus in zip(self.graphs, self.parts, self.menus, strict=True):
            table[menus, : part.width] = inner_point(graph)
        return table

    def orders(self, types: Paths) -> Ints:
        """(k, n): a ranking for each type; an InputError where types are no rankings."""
        return self.model.orders(self.cells, types)

    def choices(self, types: Paths, cells: Cells) -> Ints:
        """(k, m): types are rows of columns already."""
        return np.asarray(types, np.int64)

    def cheapest(self, cost: Array) -> float:
        """The price of the cheapest type."""
        tables = [
            np.ascontiguousarray(cost[own, : part.width]) for own, part in zip(self.menus, self.parts, strict=True)
        ]
        return float(sum(plain_cheapest(graph, own) for graph, own in zip(self.graphs, tables, strict=True)))

    def middle(self) -> Point:
        """The flow that divides evenly at every node."""
        return Point(np.empty((0, self.shape[0]), np.int32), np.empty(0), 1.0)

    def point(self, fits: Any) -> Point:
        """The mixture of the first fit."""
        types, weights = fits.mixtures[0]
        return Point(types, weights, 0.0)

    def point_of(self, mixture: Mixture) -> Point:
        """A mixture."""
        return Point(*mixture, 0.0)

    def blend(self, a: Point, b: Point, step: float) -> Point:
        """a + step (b - a)."""
        return Point(
            np.vstack([a.types, b.types]),
            np.concatenate([(1 - step) * a.weights, step * b.weights]),
            (1 - step) * a.rest + step * b.rest,
        )

    def rho(self, point: Point) -> Array:
        """The table of a point."""
        return cells_of_types(point.types, point.weights, self.shape) + point.rest * self._even

    def mixture(self, point: Point) -> Mixture:
        """A point as a mixture: where it has a share of the inner point, the nearest one with equal weights."""
        if point.rest == 0:
            return point.types, point.weights
        ones = (np.arange(self.cells.width) < self.cells.count[:, None]).astype(np.float64)
        even = self.weighted(ones).solve(self.rho(point)[None], Stop(1e-14, 1e-18), options=SolveOptions(certify=False))
        return even.mixtures[0]

    def flow(self, point: Point) -> Array:
        """A point as a flow on the lattice, for rankings of few items."""
        n = self.cells.n_items
        if not self.model.is_random_utility or n > MOST_ITEMS_OF_ARRAYS:
            raise InputError(
                f"`rho` and `flow` are available only for RandomUtility with at most {MOST_ITEMS_OF_ARRAYS} items; "
                "use `fitted` (the observed menus) or `probabilities(menu)`"
            )
        types, weights = self.mixture(point)
        return flow_from_paths(paths_from_orders(self.orders(types)), weights)

    def tangent(
        self, faces: Faces, rows: Array, by_flow: Array | None = None, *, forward: bool, threads: int | None = 1
    ) -> Array:
        """S times each of a stack of tables; there is no flow."""
        out, every = np.zeros_like(rows), self.unpack(faces)

        def task(i: int) -> None:
            for p, face in enumerate(every[i]):
                part, menus = self.parts[p], self.menus[p]
                types, factor = self._model_face(p) if face is None else face
                if len(types) and not len(factor):
                    factor = self._factor(p, types)
                table = np.empty(part.shape)
                tangent_types(types, factor, np.ascontiguousarray(rows[i][menus, : part.width]), table)
                out[i, menus, : part.width] = table

        run_threads(task, range(len(rows)), thread_count(threads))
        return out

    def pack(self, faces: Sequence[Sequence[Face | None]]) -> Faces:
        """Faces as arrays."""
        count = np.array([[0 if face is None else len(face.types) for face in own] for own in faces], np.int64)
        flat = [[face for face in own if face is not None] for own in faces]
        types = [np.concatenate([face.types.reshape(-1) for face in own] or [np.empty(0, np.int32)]) for own in flat]
        factor = [np.concatenate([face.factor for face in own] or [_NO_FACTOR]) for own in flat]
        length = max(map(len, factor), default=0)
        if not keeps_factors(len(faces), length):
            factor, length = [_NO_FACTOR] * len(faces), 0
        packed = Faces(
            count.reshape(len(faces), len(self.parts)),
            np.zeros((len(faces), max(map(len, types), default=0)), np.int32),
            np.zeros((len(faces), length)),
        )
        for i in range(len(faces)):
            packed.types[i, : len(types[i])] = types[i]
            packed.factor[i, : len(factor[i])] = factor[i]
        return packed

    def unpack(self, packed: Faces) -> list[list[Face | None]]:
        """The way back."""
        menus = [len(group) for group in self.menus]
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

    def faces_of(self, fits: GraphFits, i: int) -> list[Face | None]:
        """The faces of a solved problem, one for each group of menus."""
        if fits.keep is Keep.FACES:
            return [one.face for one in fits.parts[i]]
        inside, target = bool(fits.inside[i]), fits.targets[i]
        found: list[Face | None] = []
        workspaces = self._take()
        for p, workspace in enumerate(workspaces):
            problem, mixture = self._part_problem(target, p), fits.parts[i][p].mixture
            workspace.reserve(len(mixture[1]))
            start_from(make_graph_problem(problem), workspace.active, *mixture)
            found.append(None if inside else self._span(p, workspace, problem, _gradient(problem, mixture)))
        self._shared.workspaces.put(workspaces)
        return found

    def _face(self, p: int, workspace: Workspace, problem: Problem, mixture: Mixture) -> Face | None:
        """The face of a problem just solved in a workspace; None: the data are inside the model."""
        rho = cells_of_types(*mixture, self.parts[p].shape)
        difference = np.where(problem.weights > 0, rho - problem.target, 0.0)
        objective = 0.5 * float((problem.weights * difference**2).sum())
        if objective <= RELATIVE_RUM_TOLERANCE * float(data_size(*problem[:2])):
            return None
        return self._span(p, workspace, problem, problem.weights * difference)

    def _span(self, p: int, workspace: Workspace, problem: Problem, cost: Array) -> Face:
        """The face on which the types are cheapest, from the active types of the workspace."""
        # An affinely independent set has at most as many types as there are cells beyond one per menu, and one more.
        most = int(self.parts[p].count.sum()) - len(self.menus[p]) + 1
        span(make_graph_problem(problem), workspace, GraphFace(self.graphs[p], cost), most)
        active, k = workspace.active, int(workspace.active.count[0])
        return Face(active.paths[:k].copy(), active.factor[: k * (k + 1) // 2].copy())

    def _model_face(self, p: int) -> Face:
        """The face that is the whole model."""
        with self._shared.lock:
            found = self._model_faces[p]
            if found is None:
                problem = self._part_problem(np.zeros_like(self.weights), p)
                workspace = Workspace(self.graphs[p])
                _, row = cheapest_type(self.graphs[p], problem.target, 1)
                start_from(make_graph_problem(problem), workspace.active, row[None], np.ones(1))
                cost = np.zeros(self.parts[p].shape)
                found = self._model_faces[p] = self._span(p, workspace, problem, cost)
            return found

    def _factor(self, p: int, types: Paths) -> Array:
        problem = self._part_problem(np.zeros_like(self.weights), p)
        workspaces = self._take()
        workspace = workspaces[p]
        workspace.reserve(len(types))
        start_from(make_graph_problem(problem), workspace.active, types, np.ones(len(types)))
        k = int(workspace.active.count[0])
        factor: Array = workspace.active.factor[: k * (k + 1) // 2].copy()
        self._shared.workspaces.put(workspaces)
        return factor


def _gradient(problem: Problem, mixture: Mixture) -> Array:
    rho = cells_of_types(*mixture, problem.target.shape)
    return np.asarray(problem.weights * np.where(problem.weights > 0, rho - problem.target, 0.0), np.float64)


def part_of(target: Array, weights: Array, part: Cells, menus: Ints) -> tuple[Array, Array]:
    """The tables of some of the menus."""
    return np.ascontiguousarray(target[menus, : part.width]), np.ascontiguousarray(weights[menus, : part.width])


def restrict(mixture: Mixture, menus: Ints) -> Mixture:
    """A mixture as seen on some of the menus: types that are equal there become one."""
    if len(menus) == mixture[0].shape[1]:
        return mixture
    types, place = np.unique(mixture[0][:, menus], axis=0, return_inverse=True)
    weights = np.zeros(len(types))
    np.add.at(weights, place.reshape(-1), mixture[1])
    return types, weights


def total_certificate(parts: Sequence[Certificate]) -> Certificate:
    """The certificate of separate projections together."""
    columns = list(zip(*parts, strict=True))
    objective, gap, floor, size, scale = (float(sum(columns[i])) for i in (0, 1, 2, 5, 6))
    return Certificate(objective, gap, floor, min(columns[3]), max(columns[4]), size, scale)
