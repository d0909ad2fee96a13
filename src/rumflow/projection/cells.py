"""Many projections of the same recorded cells, on any route: callers need not know which.

Cells are the pairs (menu, item) that were recorded, in a fixed order: menu by menu, items ascending. A stack of problems is an
array (B, C) of numbers per cell. Mixtures are those of the route, rankings as paths or types, and only good for starts.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask, Mixture, Paths
from rumflow.core.certificate import Certificate
from rumflow.core.graph_cells import Cells
from rumflow.core.lattice import Lattice
from rumflow.core.paths import decompose, flow_from_paths, orders_from_paths, paths_from_orders
from rumflow.core.threads import run_threads, thread_count
from rumflow.data.labels import Item
from rumflow.data.menus import masks_of, unique_menus
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.models.random_utility import RandomUtility
from rumflow.projection.batch import ProjectionBatch, project_many
from rumflow.projection.graph import is_plain
from rumflow.projection.graph_results import MOST_ITEMS_OF_ARRAYS
from rumflow.projection.results import Status, status_of
from rumflow.solvers.dispatch import find_route
from rumflow.solvers.graphs import Effort, GraphFit, ModelProjector

#: Projectors from other processes that are kept for further work.
_MOST_REBUILT = 4


@dataclass(frozen=True, eq=False)
class CellFits:
    """The projections of a stack of problems."""

    projector: CellProjector
    certificates: list[Certificate]
    status: list[Status]
    mixtures: list[Mixture]  # for starts; empty where the data are inside the model
    _batch: ProjectionBatch | None = field(default=None, repr=False)
    _graph_fits: list[GraphFit] = field(default_factory=list, repr=False)

    @property
    def objective(self) -> Array:
        """(B,): 1/2 sum w (rho - rho_hat)^2."""
        return np.array([c.objective for c in self.certificates])

    @cached_property
    def fitted(self) -> Array:
        """(B, C): fitted probabilities of the cells."""
        own = self.projector
        if self._batch is not None:
            return np.asarray(self._batch.rho[:, own.numbers], np.float64)
        return np.array([fit.table[own.menu, own.column] for fit in self._graph_fits])

    def mixture(self, i: int) -> Mixture:
        """The fit of problem i as a mixture of types, also where the solver needed none: one among many."""
        found = self.mixtures[i]
        return found if len(found[1]) or self._batch is None else decompose(self.flow(i))

    def flow(self, i: int) -> Array:
        """The fit of problem i as a flow on the lattice, in the internal layout; for random utility with few items."""
        own = self.projector
        if self._batch is not None:
            return own.lattice.cells_to_internal(self._batch.flow[i])
        if not own.model.is_random_utility or own.n > MOST_ITEMS_OF_ARRAYS:
            raise InputError(
                f"rho and flow over all menus are there for random utility with up to {MOST_ITEMS_OF_ARRAYS} items; "
                "take fitted, the probabilities of the observed menus"
            )
        types, weights = self.mixtures[i]
        return flow_from_paths(paths_from_orders(own.model.orders(own.cells, types)), weights)


class CellProjector:
    """A model on recorded cells: `solve` projects numbers per cell. The graph, if there is one, is built when first needed.

    membership   (m, n): the menus, in ascending order of their bit masks, each of two items or more.
    recorded     (m, n): which cells were recorded.
    model, route as for `project`; cone: mixtures with any total.
    remainders   what was chosen from a menu but not recorded is a cell, too, with item -1, after the others of its menu. Not on
                 the lattice, where it is a sum of several: without a route, the graph, or bounds where that is too large.

    Other processes build the graph again, once each: it is larger than what it is made from.
    """

    def __init__(
        self,
        membership: Mask,
        recorded: Mask,
        items: Sequence[Item],
        model: Model | None = None,
        route: str | None = None,
        cone: bool = False,
        remainders: bool = False,
    ) -> None:
        self.plain = is_plain(model, route)
        self.model: Model = RandomUtility() if model is None else model
        self.cells = Cells(membership, recorded, items)
        self.cone = cone
        self._asked = (membership, recorded, tuple(items), model, route, cone, remainders)
        self.menu, self.column = np.nonzero(self.cells.item >= (-1 if remainders else 0))
        self.item = self.cells.item[self.menu, self.column]
        self._building = Lock()
        self._workspaces: SimpleQueue[list[Any]] = SimpleQueue()

    def __reduce__(self) -> tuple[Callable[..., CellProjector], tuple[Any, ...]]:
        return _rebuild, self._identity

    @cached_property
    def _identity(self) -> tuple[str, tuple[Any, ...]]:
        *asked, _, cone, remainders = self._asked
        route = "bounded" if self.bounded else "lattice" if self.graph is None else "graph"
        found = (*asked, route, cone, remainders)
        return hashlib.sha256(pickle.dumps(found)).hexdigest(), found

    @property
    def n(self) -> int:
        """Number of items."""
        return self.cells.n_items

    @property
    def graph(self) -> ModelProjector | None:
        """The model on its graphs; None where the lattice is used."""
        with self._building:
            return self._graph

    @cached_property
    def _graph(self) -> ModelProjector | None:
        *_, route, cone, remainders = self._asked
        return find_route(self.cells, self.model, route, cone, remainders=remainders)[1]

    @property
    def bounded(self) -> bool:
        """Are there only bounds on the distance?"""
        graph = self.graph
        return graph is not None and graph.bounded

    @property
    def size(self) -> int:
        """Edges of the lattice, or arcs of the graphs: what a pass costs."""
        return self.n << (self.n - 1) if self.graph is None else self.graph.n_arcs

    @cached_property
    def lattice(self) -> Lattice:
        """All menus."""
        return Lattice(self.n)

    @cached_property
    def numbers(self) -> Ints:
        """(C,): the numbers of the cells in `Lattice.cells`."""
        return cell_numbers(self.n, masks_of(self.cells.membership)[self.menu], np.maximum(self.item, 0))

    def with_cells(self, members: Mask, asked: Mask) -> CellProjector:
        """The same with more recorded cells: the rows of `members` are menus, new or not, those of `asked` their cells."""
        membership, recorded, items, model, route, cone, _ = self._asked
        menus, rows = unique_menus(np.vstack([membership, members]))
        seen = np.zeros(menus.shape, np.bool_)
        seen[rows[: len(membership)]] = recorded
        for row, cells in zip(rows[len(membership) :], asked, strict=True):
            seen[row] |= cells
        return CellProjector(menus, seen, items, model, route, cone)

    def on_simplex(self) -> CellProjector:
        """The same with mixtures that add up to 1."""
        membership, recorded, items, model, route, _, remainders = self._asked
        return CellProjector(membership, recorded, items, model, route, False, remainders)

    def inner_point(self) -> Array:
        """(C,): a point in the relative interior of the model, that of the flow which divides evenly at every node."""
        assert self.graph is not None
        return np.asarray(self.graph.inner_point()[self.menu, self.column], np.float64)

    def choices_of(self, types: Paths) -> Ints:
        """(k, m): what the types of a mixture choose from every menu, to be read by `takes`."""
        if self.graph is not None:
            return np.asarray(types, np.int64)
        order = orders_from_paths(types)
        chosen = np.empty((len(types), len(self.cells.membership)), np.int64)
        rank = np.empty(self.n, np.int64)
        for k, own in enumerate(order):
            rank[own] = np.arange(self.n)
            chosen[k] = np.where(self.cells.membership, rank, self.n).argmin(axis=1)
        return chosen

    def takes(self, chosen: Ints, piece: slice = slice(None)) -> Array:
        """(k, C): 1.0 where a type takes the cell, for all cells or a piece of them."""
        mark = self.column if self.graph is not None else self.item
        return np.asarray(chosen[:, self.menu[piece]] == mark[piece], np.float64)

    def to_array(self, values: Array) -> Array:
        """Numbers per cell as an (m, n) array, NaN on what was not recorded."""
        array = np.full(self.cells.membership.shape, np.nan)
        own = self.item >= 0
        array[self.menu[own], self.item[own]] = values[own]
        return array

    def to_lattice(self, values: Array, singles: float = 0.0) -> Array:
        """Numbers per cell, (..., C), as vectors over all N cells of the lattice: `singles` in menus of one item, else 0."""
        full = np.zeros((*values.shape[:-1], self.lattice.n_cells))
        if singles:
            item = np.arange(self.n)
            full[..., cell_numbers(self.n, np.int64(1) << item, item)] = singles
        own = self.item >= 0
        full[..., self.numbers[own]] = values[..., own]
        for k in np.flatnonzero(~own):  # what is said of a remainder is said of every item in it
            menu = self.menu[k]
            rest = np.flatnonzero(self.cells.membership[menu] & ~self.cells.recorded[menu])
            full[..., cell_numbers(self.n, masks_of(self.cells.membership[menu : menu + 1]), rest)] = values[
                ..., k, None
            ]
        return full

    def solve(
        self,
        stack: Array,
        weights: Array,
        *,
        tol: float = 1e-9,
        start: Mixture | None = None,
        threads: int | None = 1,
        only_upper: bool = False,
    ) -> CellFits:
        """Project each row of a stack (B, C), all with the same weights (C,), 0 on cells that do not count.

        `start`: a mixture of an earlier fit, to begin each from. `only_upper`: where there are only bounds, none from below is
        needed. Ctrl-C raises.
        """
        graph = self.graph
        if graph is None:
            return self._solve_lattice(stack, weights, tol, start, threads)
        found: list[GraphFit | None] = [None] * len(stack)
        w = self._table(weights)
        count = thread_count(threads)

        def task(i: int) -> None:
            try:
                workspaces = self._workspaces.get_nowait()
            except Empty:
                workspaces = graph.workspaces()
            found[i] = graph.solve(
                self._table(stack[i]),
                w,
                tol=tol,
                start=start,
                threads=1 if len(stack) > 1 else count,
                workspaces=workspaces,
                effort=Effort(only_upper=only_upper),
            )
            self._workspaces.put(workspaces)

        run_threads(task, range(len(stack)), count)
        fits = [fit for fit in found if fit is not None]
        if any(fit.reason == "interrupted" for fit in fits):
            raise KeyboardInterrupt
        return CellFits(
            self,
            [fit.certificate for fit in fits],
            [status_of(fit.certificate, tol, fit.reason) for fit in fits],
            [(fit.types, fit.weights) for fit in fits],
            None,
            fits,
        )

    def _table(self, values: Array) -> Array:
        table = np.zeros(self.cells.shape)
        table[self.menu, self.column] = values
        return table

    def _solve_lattice(
        self, stack: Array, weights: Array, tol: float, start: Mixture | None, threads: int | None
    ) -> CellFits:
        # On the simplex a menu of one item has probability 1 in every RUM: it is added as if observed, which changes nothing and
        # makes complete data complete.
        single = 0.0 if self.cone else 1.0
        w = self.to_lattice(weights, single * float(weights[weights > 0].min()))
        batch = project_many(
            self.to_lattice(stack, single),
            None if not self.cone and bool((w == 1).all()) else w,
            tol,
            cone=self.cone,
            start=None if start is None else [start] * len(stack),
            throw=False,
            threads=threads,
        )
        if Status.INTERRUPTED in batch.status:
            raise KeyboardInterrupt
        return CellFits(self, batch.certificates, batch.status, batch.mixtures, batch)


_rebuilt: dict[str, CellProjector] = {}
_rebuilding = Lock()


def _rebuild(key: str, asked: tuple[Any, ...]) -> CellProjector:
    """A projector that came from another process: one for all pieces of work that need it."""
    with _rebuilding:
        if key not in _rebuilt:
            while len(_rebuilt) >= _MOST_REBUILT:
                del _rebuilt[next(iter(_rebuilt))]
            _rebuilt[key] = CellProjector(*asked)
        return _rebuilt[key]


def cell_numbers(n: int, mask: Ints, item: Ints) -> Ints:
    """The position of each cell (mask, item) in `Lattice(n).cells`."""
    before = np.zeros(1 << n, np.int64)
    np.cumsum(np.bitwise_count(np.arange((1 << n) - 1)), out=before[1:])
    number: Ints = before[mask] + np.bitwise_count(mask & ((np.int64(1) << item) - 1))
    return number
