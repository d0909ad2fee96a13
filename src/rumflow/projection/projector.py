"""`Projector`: a model on recorded cells, built once and handed to whatever projects: fits, tests, likelihood, bounds, layers.

Cells are the pairs (menu, item) that were recorded, in a fixed order: menu by menu, items ascending. A stack of problems is an
array (B, C) of numbers per cell. The projector knows its geometry and keeps it for every set of weights that was asked for last;
callers need not know which it is.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask, Paths
from rumflow.core.graph_cells import Cells
from rumflow.core.problem import Stop
from rumflow.data.menus import unique_menus
from rumflow.models.model import Model, require_model
from rumflow.models.random_utility import RANDOM_UTILITY
from rumflow.projection.observations import lattice_positions
from rumflow.solvers.geometry import Cost, Fits, Geometry, Keep, SolveOptions
from rumflow.solvers.resources import Resources
from rumflow.solvers.routes import check_route, find_route

#: Projectors from other processes that are kept for further work.
_MOST_REBUILT = 4

#: Sets of weights whose tables a projector keeps.
_MOST_WEIGHTED = 4


class Projector:
    """A model on recorded cells: `solve` projects numbers per cell. The geometry is built when it is first needed.

    cells        menus of two items or more in ascending order of their bit masks, and what was recorded of them.
    model, route as for `project`; cone: mixtures with any total.
    remainders   what was chosen from a menu but not recorded is a cell, too, with item -1, after the others of its menu. Not on
                 the lattice, where it is a sum of several: without a route, the graph, or bounds where that is too large.

    Other processes build the graph again, once each: it is larger than what it is made from.
    """

    def __init__(
        self,
        cells: Cells,
        model: Model | None = None,
        route: str | None = None,
        cone: bool = False,
        remainders: bool = False,
    ) -> None:
        require_model(model)
        self.model: Model = RANDOM_UTILITY if model is None else model
        check_route(self.model, route)
        self.cells: Cells = cells
        self.cone: bool = cone
        self._asked = (cells, model, route, cone, remainders)
        self.menu: Ints
        self.column: Ints
        self.menu, self.column = np.nonzero(cells.item >= (-1 if remainders else 0))
        self.item: Ints = cells.item[self.menu, self.column]
        self._building = Lock()
        self._built: tuple[Cost, Geometry] | None = None
        self._weighted: OrderedDict[bytes, Geometry] = OrderedDict()

    def __reduce__(self) -> tuple[Callable[..., Projector], tuple[Any, ...]]:
        return _rebuild, self._identity

    @cached_property
    def _identity(self) -> tuple[str, tuple[Any, ...]]:
        cells, model, _, cone, remainders = self._asked
        found = (cells, model, self.geometry.route, cone, remainders)
        return hashlib.sha256(pickle.dumps(found)).hexdigest(), found

    @property
    def n(self) -> int:
        """Number of items."""
        return self.cells.n_items

    @property
    def geometry(self) -> Geometry:
        """Where the projection is found."""
        return (self._built or self._build())[1]

    @property
    def cost(self) -> Cost:
        """The route, and what a projection will cost."""
        return (self._built or self._build())[0]

    def _build(self) -> tuple[Cost, Geometry]:
        with self._building:
            if self._built is None:
                *_, route, cone, remainders = self._asked
                self._built = find_route(self.cells, self.model, route, cone, remainders=remainders)
            return self._built

    @property
    def exact(self) -> bool:
        """Is the distance known, not only bounded?"""
        return self.geometry.exact

    @property
    def size(self) -> int:
        """Edges of the lattice, or arcs of the graphs: what a pass costs."""
        return int(self.geometry.n_arcs)

    @cached_property
    def positions(self) -> Ints:
        """(C,): where the cells are in the flattened layout of the geometry."""
        return self.geometry.positions(self.menu, self.item, self.cells)

    def with_cells(self, members: Mask, asked: Mask) -> Projector:
        """The same with more recorded cells: the rows of `members` are menus, new or not, those of `asked` their cells."""
        cells, model, route, cone, _ = self._asked
        membership, recorded = cells.membership, cells.recorded
        menus, rows = unique_menus(np.vstack([membership, members]))
        seen = np.zeros(menus.shape, np.bool_)
        seen[rows[: len(membership)]] = recorded
        for row, own in zip(rows[len(membership) :], asked, strict=True):
            seen[row] |= own
        return Projector(Cells(menus, seen, cells.items), model, route, cone)

    def on_cells(self, cells: Cells) -> Projector:
        """The same on other cells."""
        _, model, route, cone, remainders = self._asked
        return Projector(cells, model, route, cone, remainders)

    def on_simplex(self) -> Projector:
        """The same with mixtures that add up to 1."""
        cells, model, route, cone, remainders = self._asked
        return Projector(cells, model, route, False, remainders) if cone else self

    def inner_point(self) -> Array:
        """(C,): a point in the relative interior of the model."""
        return np.asarray(self.geometry.inner_point().reshape(-1)[self.positions], np.float64)

    def choices_of(self, types: Paths) -> Ints:
        """(k, m): what the types of a mixture choose from every menu, to be read by `takes`."""
        return self.geometry.choices(types, self.cells)

    def takes(self, chosen: Ints, piece: slice = slice(None)) -> Array:
        """(k, C): 1.0 where a type takes the cell, for all cells or a piece of them."""
        return np.asarray(chosen[:, self.menu[piece]] == self.column[piece], np.float64)

    def to_array(self, values: Array) -> Array:
        """Numbers per cell as an (m, n) array, NaN on what was not recorded."""
        array = np.full(self.cells.membership.shape, np.nan)
        own = self.item >= 0
        array[self.menu[own], self.item[own]] = values[own]
        return array

    def to_lattice(self, values: Array) -> Array:
        """Numbers per cell (C,) in the internal layout of the lattice, (n, 2^(n-1)); 0 elsewhere."""
        n, masks = self.n, self.cells.offered.masks()
        rows = np.zeros(n << (n - 1))
        own = self.item >= 0
        rows[lattice_positions(n, masks[self.menu[own]], self.item[own])] = values[own]
        for k in np.flatnonzero(~own):  # what is said of a remainder is said of every item in it
            menu = self.menu[k]
            rest = np.flatnonzero(self.cells.membership[menu] & ~self.cells.recorded[menu])
            rows[lattice_positions(n, masks[menu], rest)] = values[k]
        return rows.reshape(n, -1)

    def cheapest(self, prices: Array) -> float:
        """The price of the cheapest type for prices per cell (C,)."""
        table = self.geometry.blank(0.0)
        table.reshape(-1)[self.positions] = prices
        return self.geometry.cheapest(table)

    def weighted(self, weights: Array) -> Geometry:
        """The geometry with weights (C,), 0 on cells that do not count; kept for those asked for last."""
        key = weights.tobytes()
        with self._building:
            if key in self._weighted:
                self._weighted.move_to_end(key)
                return self._weighted[key]
        # On the simplex a menu of one item has probability 1 in every RUM: it is added as if observed, which changes nothing and
        # makes complete data complete.
        table = self.geometry.blank(0.0 if self.cone else float(weights[weights > 0].min()))
        table.reshape(-1)[self.positions] = weights
        found = self.geometry.weighted(table)
        with self._building:
            self._weighted[key] = found
            while len(self._weighted) > _MOST_WEIGHTED:
                self._weighted.popitem(last=False)
        return found

    def solve(
        self,
        stack: Array,
        weights: Array,
        *,
        tol: float = 1e-9,
        start: Any = None,
        threads: int | None = 1,
        only_upper: bool = False,
        threshold: float | None = None,
    ) -> Fits:
        """Project each row of a stack (B, C), all with the same weights (C,), 0 on cells that do not count.

        `start`: a mixture of an earlier fit, to begin each from (where the model has no types, one of `Fits.starts`).
        `only_upper`: where there are only bounds, none from below is needed. `threshold`: a solve may end once it is known on
        which side of this objective the optimum is. Ctrl-C raises.
        """
        geometry = self.weighted(weights)
        blank = geometry.blank(0.0 if self.cone else 1.0)
        targets = np.empty((len(stack), *blank.shape))
        targets[:] = blank
        targets.reshape(len(stack), -1)[:, self.positions] = stack
        fits = geometry.solve(
            targets,
            Stop(tol, None, threshold),
            starts=None if start is None else [start] * len(stack),
            options=SolveOptions(keep=Keep.MIXTURES, only_upper=only_upper),
            resources=Resources(threads),
        )
        fits.cells = self.positions
        return fits


_rebuilt: dict[str, Projector] = {}
_rebuilding = Lock()


def _rebuild(key: str, asked: tuple[Any, ...]) -> Projector:
    """A projector that came from another process: one for all pieces of work that need it."""
    with _rebuilding:
        if key not in _rebuilt:
            while len(_rebuilt) >= _MOST_REBUILT:
                del _rebuilt[next(iter(_rebuilt))]
            _rebuilt[key] = Projector(*asked)
        return _rebuilt[key]
