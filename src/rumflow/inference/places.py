"""Where the likelihood is maximised: the lattice of all menus, or a choice graph. Both offer the same few operations.

Numbers per cell are arrays of the place's own layout. A *point* of the model is a flow on the lattice. On a graph it is a mixture
of types and a share of the inner point, where the search begins: a point that no few types make up.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from rumflow.core.arrays import Array, Ints, Mixture
from rumflow.core.graph import Graph, cells_of_types, inner_point
from rumflow.core.graph_cells import Cells
from rumflow.core.graph_certificate import plain_cheapest
from rumflow.core.lattice import Lattice
from rumflow.core.memory import likelihood_bytes, require_memory
from rumflow.core.paths import (
    cheapest_below,
    decompose,
    flow_from_paths,
    orders_from_paths,
    paths_from_orders,
    squeeze,
    uniform_flow,
)
from rumflow.core.problem import Problem, Stop
from rumflow.core.transforms import zeta, zeta_adjoint
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.projection.graph import choose_route
from rumflow.projection.graph_results import MOST_ITEMS_OF_ARRAYS
from rumflow.solvers.active_set.on_lattice import pool_size
from rumflow.solvers.active_set.solve import Workspace
from rumflow.solvers.dispatch import solve
from rumflow.solvers.graphs import solve_graph

_TOL = 1e-14  # relative; the accuracy asked for ends a projection earlier


class Place(Protocol):
    """A model on the observed menus."""

    def fresh(self) -> Place:
        """The same with arrays of its own, for another thread."""

    def spread(self, array: Array, rest: Array) -> Array:
        """Numbers per cell from an (m, n) array, and (m,) of the remainders; 0 where it has NaN, and on menus of one item."""

    def gather(self, rho: Array) -> Array:
        """The way back: (m, n), NaN outside the menus, 1 on menus of one item."""

    def middle(self) -> Any:
        """A point in the interior."""

    def point(self, mixture: Mixture) -> Any:
        """A mixture as a point."""

    def mix(self, a: Any, b: Any, step: float) -> Any:
        """a + step (b - a)."""

    def rho(self, point: Any) -> Array:
        """The probabilities of a point."""

    def project(
        self, weights: Array, target: Array, accuracy: float, start: Mixture | None
    ) -> tuple[Any, Mixture | None]:
        """The nearest point, up to an objective `accuracy` too large, and its mixture; Ctrl-C raises."""

    def cheapest(self, cost: Array) -> float:
        """The price of the cheapest type."""

    def mixture(self, point: Any) -> Mixture:
        """A point as a mixture."""

    def rankings(self, point: Any) -> tuple[Ints, Array]:
        """A point as rankings, best item first, and their weights."""

    def flow(self, point: Any) -> Array:
        """A point as a flow on the lattice, in the internal layout."""


def find_place(data: ChoiceData, model: Model | None, route: str | None) -> Place:
    """Lattice or graph, by cost; the graph where the remainder of some menu counts."""
    if (np.isnan(data.counts) & data.membership).any():
        if route == "lattice":
            raise InputError(
                "route='lattice': the rest of a menu that was recorded in part has a likelihood of its own, but no cell on the "
                "lattice; accepted are None and 'graph'"
            )
        route = "graph" if route is None else route
    chosen = choose_route(data, model, route, exact=True) if (data.membership.sum(axis=1) > 1).any() else None
    if chosen is None:
        return _OnLattice(data)
    projector = chosen[1]
    whole = len(projector.graphs) == 1
    graph = projector.graphs[0] if whole else projector.model.geometry(projector.cells)
    return _OnGraph(data, projector.model, projector.cells, graph)


class _OnLattice:
    """All menus; mixtures are rankings as paths."""

    def __init__(self, data: ChoiceData) -> None:
        needed = likelihood_bytes(data.n, len(data.counts), pool_size(data.n))
        require_memory(needed, f"the likelihood for n = {data.n} items")
        self._data, self._lattice = data, Lattice(data.n)
        self._workspace = Workspace(data.n)
        self._row, self._item = np.nonzero(data.membership & (data.membership.sum(axis=1) > 1)[:, None])
        self._column = squeeze.py_func(data.masks[self._row], self._item)

    def fresh(self) -> _OnLattice:
        return _OnLattice(self._data)

    def spread(self, array: Array, rest: Array) -> Array:
        values = np.zeros(self._lattice.internal_shape)
        values[self._item, self._column] = np.nan_to_num(array[self._row, self._item])
        return values

    def gather(self, rho: Array) -> Array:
        array = np.where(self._data.membership, 1.0, np.nan)
        array[self._row, self._item] = rho[self._item, self._column]
        return array

    def middle(self) -> Array:
        return uniform_flow(self._lattice.n)

    def point(self, mixture: Mixture) -> Array:
        return flow_from_paths(*mixture)

    def mix(self, a: Array, b: Array, step: float) -> Array:
        return a + step * (b - a)

    def rho(self, point: Array) -> Array:
        return zeta(point.copy())

    def project(
        self, weights: Array, target: Array, accuracy: float, start: Mixture | None
    ) -> tuple[Array, Mixture | None]:
        problem = Problem(target, weights)
        solved = solve(problem, Stop(_TOL, accuracy), start=start, workspace=self._workspace, threads=1)
        if solved.reason == "interrupted":
            raise KeyboardInterrupt
        return solved.flow, solved.mixture

    def cheapest(self, cost: Array) -> float:
        return float(cheapest_below(zeta_adjoint(cost), 1)[-1])

    def mixture(self, point: Array) -> Mixture:
        return decompose(point)

    def rankings(self, point: Array) -> tuple[Ints, Array]:
        paths, weights = decompose(point)
        return orders_from_paths(paths), weights

    def flow(self, point: Array) -> Array:
        return point


class _Point(NamedTuple):
    types: Any
    weights: Array
    rest: float  # the share of the inner point


class _OnGraph:
    """The observed menus; mixtures are types."""

    def __init__(self, data: ChoiceData, model: Model, cells: Cells, graph: Graph, inner: Array | None = None) -> None:
        self._data, self._model, self._cells, self._graph = data, model, cells, graph
        self._rows = np.flatnonzero(data.membership.sum(axis=1) > 1)
        self._inner = inner_point(graph) if inner is None else inner
        self._workspace = Workspace(graph)

    def fresh(self) -> _OnGraph:
        return _OnGraph(self._data, self._model, self._cells, self._graph, self._inner)

    def spread(self, array: Array, rest: Array) -> Array:
        table = self._cells.to_table(np.nan_to_num(array[self._rows]))
        partly = np.flatnonzero(self._cells.remainder >= 0)
        table[partly, self._cells.remainder[partly]] = rest[self._rows[partly]]
        return table

    def gather(self, rho: Array) -> Array:
        array = np.where(self._data.membership, 1.0, np.nan)
        array[self._rows] = self._cells.to_array(rho)
        return array

    def middle(self) -> _Point:
        return _Point(np.empty((0, self._graph.shape[0]), np.int32), np.empty(0), 1.0)

    def point(self, mixture: Mixture) -> _Point:
        return _Point(*mixture, 0.0)

    def mix(self, a: _Point, b: _Point, step: float) -> _Point:
        return _Point(
            np.vstack([a.types, b.types]),
            np.concatenate([(1 - step) * a.weights, step * b.weights]),
            (1 - step) * a.rest + step * b.rest,
        )

    def rho(self, point: _Point) -> Array:
        return cells_of_types(point.types, point.weights, self._graph.shape) + point.rest * self._inner

    def project(self, weights: Array, target: Array, accuracy: float, start: Mixture | None) -> tuple[_Point, Mixture]:
        found = solve_graph(
            self._graph,
            Problem(target, weights),
            tol=_TOL,
            floor=accuracy,
            start=start,
            threads=1,
            workspace=self._workspace,
        )
        if found.reason == "interrupted":
            raise KeyboardInterrupt
        mixture = found.paths, found.weights
        return self.point(mixture), mixture

    def cheapest(self, cost: Array) -> float:
        return float(plain_cheapest(self._graph, cost))

    def mixture(self, point: _Point) -> Mixture:
        if point.rest == 0:
            return point.types, point.weights
        rho = self.rho(point)
        ones = (np.arange(self._cells.width) < self._cells.count[:, None]).astype(np.float64)
        return self.project(ones, rho, 1e-18, None)[1]

    def rankings(self, point: _Point) -> tuple[Ints, Array]:
        types, weights = self.mixture(point)
        return self._model.orders(self._cells, types), weights

    def flow(self, point: _Point) -> Array:
        if not self._model.is_random_utility or self._data.n > MOST_ITEMS_OF_ARRAYS:
            raise InputError(
                f"rho and flow over all menus are there for random utility with up to {MOST_ITEMS_OF_ARRAYS} items; "
                "take fitted (the observed menus) or probabilities(menu)"
            )
        orders, weights = self.rankings(point)
        return flow_from_paths(paths_from_orders(orders), weights)
