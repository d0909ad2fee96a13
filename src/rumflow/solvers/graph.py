"""Any model on the choice graphs of the observed menus: projections of stacks, and their derivatives.

Where menus fall into groups whose types combine freely, the projection onto the simplex is that of each group alone (on the cone
the total weight ties them together). The mixtures of the groups are then coupled into one mixture of types over all menus, with
at most as many types as the groups have together.

As on the lattice (`rumflow.solvers.lattice`) three steps per problem: menus whose cells all count give up their surplus, the
active set runs from a start where one is given, and what the derivatives need is kept: types that span the face, and the
factor of their matrix (`rumflow.solvers.graph_faces`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Ints, Mixture, Paths
from rumflow.core.certificate import Certificate
from rumflow.core.compile import clock
from rumflow.core.graph import Graph, GraphTooLargeError, cells_of_types, cheapest_type, follow_type, inner_point
from rumflow.core.graph_cells import Cells
from rumflow.core.graph_certificate import certify_types, plain_cheapest
from rumflow.core.membership import menu_shares
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.problem import SOLVER_FLOOR, Problem, Stop, data_size, least_weight, rounding_floor
from rumflow.core.threads import run_threads, thread_count
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit
from rumflow.solvers.active_set.solve import Goal, Outcome, Workspace, make_graph_problem, solve_rankings
from rumflow.solvers.geometry import DEFAULT_OPTIONS, Faces, Keep, SolveOptions, TableGeometry
from rumflow.solvers.graph_faces import GraphFaces
from rumflow.solvers.graph_fits import GraphFits, PartFit, PartStarts, Point, restrict, total_certificate
from rumflow.solvers.resources import ONE_THREAD, Resources, Spares, watch_certificate

#: Up to so many items a mixture of rankings has `rho` and `flow` over all menus.
MOST_ITEMS_OF_ARRAYS = 22


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
        Goal(stop.tol, least, threshold=np.nan if stop.threshold is None else stop.threshold),
        start=start,
        resources=resources,
    )


class Parts:
    """The cells of groups of menus by number, each made when it is first needed: there may be as many groups as menus."""

    def __init__(self, cells: Cells, menus: Sequence[Ints]) -> None:
        self._cells = cells
        self._menus = menus
        self._made: dict[int, Cells] = {0: cells} if len(menus) == 1 else {}

    def __len__(self) -> int:
        """Number of groups."""
        return len(self._menus)

    def __iter__(self) -> Iterator[Cells]:
        return (self[p] for p in range(len(self)))

    def __getitem__(self, p: int) -> Cells:
        """Those of a group."""
        own = self._made.get(p)
        if own is None:
            own = self._made[p] = self._cells.part(self._menus[p])
        return own


class GraphGeometry(TableGeometry):
    """A model on observed cells, its graphs built once; see `rumflow.solvers.geometry.Geometry`."""

    route: str = "graph"
    exact: bool = True
    keep_to_start = Keep.NOTHING

    def __init__(self, model: Model, cells: Cells, *, cone: bool = False, limit: Limit = DEFAULT_LIMIT) -> None:
        self.model: Model = model
        self.cells: Cells = cells
        self.cone: bool = cone
        self.menus: list[Ints] = [np.arange(len(cells))] if cone else self._groups()
        self.parts: Parts = Parts(cells, self.menus)
        self._prepare(limit)
        self.workspaces = Spares(self._make_workspaces)  # shared by geometries of other weights
        self._set_weights((cells.item >= 0).astype(np.float64))

    def _groups(self) -> list[Ints]:
        """Menus in groups whose types combine freely."""
        return self.model.parts(self.cells)

    def _prepare(self, limit: Limit) -> None:
        self._graphs: list[Graph] = []
        left = limit.most_bytes  # what is free takes long to look up, and parts may be many
        for part in self.parts:
            try:
                graph = self.model.geometry(part, limit._replace(bytes=max(left, 0.0)))
            except GraphTooLargeError as error:
                if len(self.menus) > 1 and limit.late():  # not that this graph is large, which may be of a pair
                    words = f"the time was up before all graphs of {len(self.menus):,} groups of menus were built"
                    error = GraphTooLargeError(words, error.nodes, error.arcs, error.bytes, error.done, late=True)
                raise error.beside(self._graphs) from None
            self._graphs.append(graph)
            left -= graph.n_bytes

    def _set_weights(self, weights: Array) -> None:
        self.weights = weights
        self.faces = GraphFaces(self)
        self.__dict__.pop("_share", None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("workspaces", "faces")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.workspaces = Spares(self._make_workspaces)
        self.faces = GraphFaces(self)

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
    def n_places(self) -> int:
        """What a sweep passes over: arcs, and in graphs of rows also those that a node does not have."""
        return sum(len(graph.head) for graph in self.graphs)

    @property
    def n_bytes(self) -> int:
        """Memory of all graphs and of one sweep over each."""
        return sum(graph.n_bytes for graph in self.graphs)

    @cached_property
    def _share(self) -> Array:
        """How a menu spreads its surplus: in the proportions 1/w; not at all where a cell does not count, nor on the cone."""
        return np.zeros_like(self.weights) if self.cone else menu_shares(self.cells.filled, self.weights)

    def _normalise(self, targets: Array) -> Array:
        """Targets with menus that add up to 1, where all of their cells count."""
        surplus = targets.sum(axis=2, keepdims=True) - 1.0
        surplus[np.abs(surplus) <= 1e-15 * self.cells.width] = 0.0
        surplus *= self._share.any(axis=1, keepdims=True)
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
        if normalised is not targets or len(self.parts) > 1:
            stop = stop._replace(threshold=None)  # it is one of the whole distance
        threads = thread_count(resources.threads)
        one = resources._replace(threads=1 if size > 1 else threads)

        stopped = [] if options.begin else [True]  # filled by whoever hears Ctrl-C

        def task(i: int) -> None:
            if stopped:
                return
            workspaces = self.workspaces.take()
            begin, since = None if starts is None else starts[i], clock()
            found: list[PartFit] = []
            for p in range(len(self.parts)):
                late = p > 0 and one.deadline is not None and clock() > one.deadline
                if stopped or (late and begin is None and options.keep is not Keep.FACES):
                    why = "interrupted" if stopped else "max_seconds"
                    found += self._not_begun(range(p, len(self.parts)), targets[i], why)
                    break
                problem = self.part_problem(normalised[i], p)
                start = (
                    None
                    if begin is None
                    else begin.part(p)
                    if isinstance(begin, PartStarts)
                    else restrict(begin, self.menus[p])
                )
                if late and start is None:
                    own = self._not_begun(range(p, p + 1), targets[i], "max_seconds")[0]
                else:
                    workspace = self.workspace_of(workspaces, p)
                    own = self._solve_part(p, problem, stop, start, workspace, one, options)
                if own.reason == "interrupted":
                    if not partial:
                        raise KeyboardInterrupt
                    stopped.append(True)
                if options.certify or own.reason != "done":
                    own = self._certified(p, own, targets[i], clock() - since)
                if options.keep is Keep.FACES:
                    own = own._replace(
                        face=self.faces.of_solved(p, self.workspace_of(workspaces, p), problem, own.mixture)
                    )
                found.append(own)
                if size == 1:
                    workspaces[p] = None
            parts[i] = found
            if size > 1:  # a single problem leaves nothing behind
                self.workspaces.give_back(workspaces)
            if resources.advance is not None:
                resources.advance(1)

        try:
            run_threads(task, range(size), threads)
        except KeyboardInterrupt:
            if not partial:
                raise
        parts = [
            own or self._not_begun(range(len(self.parts)), target, "interrupted")
            for own, target in zip(parts, targets, strict=True)
        ]
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

    def _certified(self, p: int, fit: PartFit, target: Array, spent: float) -> PartFit:
        """With the certificate for the data as they were given; a fit that was stopped after `spent` seconds gets it soon."""
        look = watch_certificate(fit.reason, spent)
        certificate = certify_types(self.graphs[p], fit.mixture, self.part_problem(target, p), look)
        return fit._replace(certificate=certificate)

    @staticmethod
    def _reason(parts: Sequence[PartFit], stop: Stop) -> str:
        """Why a problem ended; what is certified to be short of its goal has stalled, whatever the solver says."""
        reason = next((one.reason for one in parts if one.reason != "done"), "done")
        made = [one.certificate for one in parts if one.certificate is not None]
        short = reason == "done" and len(made) == len(parts) and not total_certificate(made).is_optimal(stop)
        return "stalled" if short else reason

    def _not_begun(self, groups: range, target: Array, reason: str) -> list[PartFit]:
        """Any type at all, for parts that were not begun when Ctrl-C came, or the time was over.

        No distance is negative, so their objectives bound their gaps: there may be tens of thousands of parts, and a sweep
        over each takes long. For the same reason they are priced together.
        """
        menus = np.concatenate([self.menus[p] for p in groups])
        types = [self._any_type(p) for p in groups]
        end = np.cumsum([len(row) for row in types])
        begin = np.append(0, end[:-1])
        target, weights = target[menus], self.weights[menus]
        rho = np.arange(self.cells.width) == np.concatenate(types)[:, None]
        left = np.where(weights > 0, rho - target, 0.0)
        objective = np.add.reduceat(0.5 * (weights * left * left).sum(axis=1), begin).tolist()
        scale = np.add.reduceat(weights.sum(axis=1), begin).tolist()
        found, alone = [], np.ones(1)
        for own, value, total, first, last in zip(types, objective, scale, begin, end, strict=True):
            size = float(data_size(target[first:last], weights[first:last]))
            floor = rounding_floor(size, least_weight(weights[first:last]))
            certificate = Certificate(value, value, floor, 1.0, 0.0, size, total)
            found.append(PartFit(own[None], alone, certificate, reason, 0))
        return found

    def _any_type(self, p: int) -> Paths:
        """A type of a part, the same each time."""
        known = self.__dict__.setdefault("_some_types", {})
        if p not in known:
            known[p] = cheapest_type(self.graphs[p], np.zeros(self.parts[p].shape), 1)[1]
        found: Paths = known[p]
        return found

    def part_problem(self, target: Array, p: int) -> Problem:
        """The tables of a group of menus."""
        part, menus = self.parts[p], self.menus[p]
        return Problem(part.cut(target, menus), part.cut(self.weights, menus), self.cone)

    def _make_workspaces(self) -> list[Any]:
        """What solves work in, one for each group of menus, each made when it is needed."""
        return [None] * len(self.parts)

    def workspace_of(self, workspaces: list[Any], p: int) -> Any:
        """That of a group."""
        if workspaces[p] is None:
            workspaces[p] = self._make_workspace(p)
        return workspaces[p]

    def _make_workspace(self, p: int) -> Any:
        return Workspace(self.graphs[p])

    def certify(self, mixture: Mixture, target: Array, lower: float | None = None) -> Certificate:
        """The certificate of a mixture of types over all menus; gaps are exact here, whatever bound is known."""
        return total_certificate(
            [
                certify_types(graph, restrict(mixture, group), self.part_problem(target, p))
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
        groups = zip(self.graphs, self.parts, self.menus, strict=True)
        return float(sum(plain_cheapest(graph, part.cut(cost, menus)) for graph, part, menus in groups))

    def cheapest_type(self, cost: Array) -> Paths:
        """The cheapest type, as a row of columns."""
        row = np.empty(self.shape[0], np.int32)
        for graph, part, menus in zip(self.graphs, self.parts, self.menus, strict=True):
            row[menus] = cheapest_type(graph, part.cut(cost, menus), 1)[1]
        return row

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

    def tangent(
        self, faces: Faces, rows: Array, by_flow: Array | None = None, *, forward: bool, threads: int | None = 1
    ) -> Array:
        """S times each of a stack of tables; there is no flow."""
        return self.faces.tangent(faces, rows, threads)

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
        options, ones = SolveOptions(certify=False), self.cells.filled.astype(np.float64)
        even = self.weighted(ones).solve(self.rho(point)[None], Stop(1e-14, 1e-18), options=options)
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
