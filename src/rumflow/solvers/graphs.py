"""Projections onto models given as choice graphs: one graph, or several where the observed menus fall apart.

Where menus fall into groups whose types combine freely, the projection onto the simplex is that of each group alone (on the cone
the total weight ties them together). The mixtures of the groups are then coupled into one mixture of types over all menus, with
at most as many types as the groups have together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mixture, Paths
from rumflow.core.certificate import Certificate
from rumflow.core.graph import Graph, cells_of_types, follow_type, inner_point
from rumflow.core.graph_cells import Cells
from rumflow.core.graph_certificate import certify_types
from rumflow.core.problem import SOLVER_FLOOR, Problem, data_size
from rumflow.models.model import Model
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit
from rumflow.solvers.active_set.solve import Outcome, Progress, Workspace, make_graph_problem, solve_rankings


def solve_graph(
    graph: Graph,
    problem: Problem,
    *,
    tol: float = 1e-9,
    floor: float | None = None,
    start: Mixture | None = None,
    deadline: float | None = None,
    report: Callable[[Progress], None] | None = None,
    threads: int | None = None,
    workspace: Workspace | None = None,
) -> Outcome:
    """Project tables of cells onto the types of a graph; the fitted cells are `cells_of_types` of the outcome's mixture."""
    least = SOLVER_FLOOR * float(data_size(problem.target, problem.weights)) if floor is None else floor
    return solve_rankings(
        make_graph_problem(problem),
        Workspace(graph) if workspace is None else workspace,
        tol=tol,
        floor=least,
        start=start,
        deadline=deadline,
        report=report,
        threads=threads,
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


class GraphFit(NamedTuple):
    """A projection onto a model: the types of the fit, its cells, and what is certified."""

    types: Paths  # (k, m): the cell taken from each menu
    weights: Array  # (k,)
    table: Array  # (m, width): the fitted cells
    certificate: Certificate
    reason: str
    rounds: int


class Effort(NamedTuple):
    """What only bounds take (`rumflow.solvers.bounded`)."""

    seed: int = 0  # of the search
    lower: float = 0.0  # a lower bound of the optimum that is known already
    only_upper: bool = False  # find a mixture, and leave its gap at the objective


NO_EFFORT = Effort()


class PartFit(NamedTuple):
    """A projection of some of the menus: the types of the fit, and what is certified."""

    types: Paths
    weights: Array
    certificate: Certificate
    reason: str
    rounds: int


class ModelProjector:
    """A model on observed cells: its graphs, built once, and projections onto them."""

    #: Are gaps bounds on the price of the cheapest type, rather than that price itself? (`rumflow.solvers.bounded`)
    bounded = False

    def __init__(self, model: Model, cells: Cells, *, cone: bool = False, limit: Limit = DEFAULT_LIMIT) -> None:
        self.model, self.cells, self.cone = model, cells, cone
        whole = [np.arange(len(cells.membership))]
        self.menus = whole if cone else model.parts(cells)
        self.parts = [cells] if len(self.menus) == 1 else [cells.part(group) for group in self.menus]
        self._prepare(limit)

    def _prepare(self, limit: Limit) -> None:
        self._graphs = [self.model.geometry(part, limit) for part in self.parts]

    @property
    def graphs(self) -> list[Graph]:
        """One graph for each part."""
        return self._graphs

    def workspaces(self) -> list[Any]:
        """What `solve` can use again, one for each part."""
        return [Workspace(graph) for graph in self.graphs]

    def inner_point(self) -> Array:
        """A table in the relative interior: the model's, or that of the flow which divides evenly at every node."""
        known = self.model.inner_point(self.cells)
        if known is not None:
            return known
        table = np.zeros(self.cells.shape)
        for graph, part, menus in zip(self.graphs, self.parts, self.menus, strict=True):
            table[menus, : part.width] = inner_point(graph)
        return table

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

    def certify(self, mixture: Mixture, target: Array, weights: Array) -> Certificate:
        """The certificate of a mixture of types over all menus."""
        return _total(
            [
                certify_types(
                    graph, restrict(mixture, group), Problem(*part_of(target, weights, part, group), self.cone)
                )
                for graph, part, group in zip(self.graphs, self.parts, self.menus, strict=True)
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

    def solve(
        self,
        target: Array,
        weights: Array,
        *,
        tol: float = 1e-9,
        start: Mixture | None = None,
        deadline: float | None = None,
        report: Callable[[Progress], None] | None = None,
        threads: int | None = None,
        workspaces: Sequence[Any] | None = None,
        effort: Effort = NO_EFFORT,
    ) -> GraphFit:
        """Project a table of cells, given the table of their weights; `tol`: relative gap of each part.

        `workspaces`: those of the method, to be used again.
        """
        rooms = self.workspaces() if workspaces is None else workspaces
        found = []
        for i, (part, group) in enumerate(zip(self.parts, self.menus, strict=True)):
            problem = Problem(*part_of(target, weights, part, group), self.cone)
            begin = None if start is None else restrict(start, group)
            found.append(self._solve_part(i, problem, tol, begin, deadline, report, threads, rooms[i], effort))
        mixtures = [(one.types, one.weights) for one in found]
        types, lam = mixtures[0] if len(mixtures) == 1 else couple(mixtures, self.menus)
        reason = next((one.reason for one in found if one.reason != "done"), "done")
        table = cells_of_types(types, lam, self.cells.shape)
        certificate = _total([one.certificate for one in found])
        return GraphFit(types, lam, table, certificate, reason, sum(one.rounds for one in found))

    def _solve_part(
        self,
        i: int,
        problem: Problem,
        tol: float,
        start: Mixture | None,
        deadline: float | None,
        report: Callable[[Progress], None] | None,
        threads: int | None,
        workspace: Any,
        effort: Effort,
    ) -> PartFit:
        found = solve_graph(
            self.graphs[i],
            problem,
            tol=tol,
            start=start,
            deadline=deadline,
            report=report,
            threads=threads,
            workspace=workspace,
        )
        certificate = certify_types(self.graphs[i], (found.paths, found.weights), problem)
        return PartFit(found.paths, found.weights, certificate, found.reason, found.rounds)


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


def _total(parts: list[Certificate]) -> Certificate:
    """The certificate of separate projections together."""
    columns = list(zip(*parts, strict=True))
    objective, gap, floor, size, scale = (float(sum(columns[i])) for i in (0, 1, 2, 5, 6))
    return Certificate(objective, gap, floor, min(columns[3]), max(columns[4]), size, scale)
