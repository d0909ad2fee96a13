"""Random utility where the graph is too large: what `rumflow.solvers.graph` offers, with bounds in place of exact gaps."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Ints, Mixture, Paths
from rumflow.core.blocks import blocks_of
from rumflow.core.certificate import Certificate
from rumflow.core.compile import clock
from rumflow.core.graph import Graph, cells_of_types
from rumflow.core.pair_certificate import pair_problem
from rumflow.core.problem import Problem, Stop
from rumflow.errors import InputError
from rumflow.models.open_menus import Limit
from rumflow.models.random_utility import RandomUtility
from rumflow.solvers.bounded.bound import Bounder
from rumflow.solvers.bounded.prices import SearchPrices
from rumflow.solvers.bounded.search import random_orders
from rumflow.solvers.bounded.solve import BoundedSolver, Fitted
from rumflow.solvers.geometry import SolveOptions
from rumflow.solvers.graph import GraphGeometry
from rumflow.solvers.graph_fits import PartFit, restrict
from rumflow.solvers.resources import Resources

_USUAL_TYPES = 4000  # at most, where there is no other limit than time
_INNER_RANKINGS = 4096  # of which the inner point is the mean


class BoundedGeometry(GraphGeometry):
    """Random utility on observed cells whose graph is too large: mixtures by search, and lower bounds."""

    route: str = "bounded"
    exact: bool = False

    def _prepare(self, limit: Limit) -> None:
        if not self.model.is_random_utility:
            raise InputError(f"route='bounded': it is available for RandomUtility only, not for {self.model.name}")
        self._known = self.model.known(self.cells.items)

    def _groups(self) -> list[Ints]:
        """Of all rankings on pairs: blocks, which share single items at most (`rumflow.models.relevance` says why)."""
        if not (self.model.all_rankings and (self.cells.offered.sizes == 2).all()):
            return super()._groups()
        block = blocks_of(self.cells.offered)
        order = np.argsort(block, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(block[order])) + 1)

    @property
    def graphs(self) -> list[Graph]:
        """There are none."""
        raise InputError(
            f"the graph of these {len(self.cells)} menus is too large to build: route='bounded' gives bounds on the "
            "distance, but no derivatives, no likelihood and no bounds on other menus; leave out menus or items"
        )

    @property
    def n_nodes(self) -> int:
        """No graph, no nodes."""
        return 0

    @property
    def n_arcs(self) -> int:
        """What a search costs, in place of arcs: the cells of all menus, once for each item of the menu."""
        return int((self.cells.offered.sizes**2).sum())

    @property
    def n_bytes(self) -> int:
        """Memory of an active set of as many types as are usual, of what a search finds, and of the programmes for bounds."""
        types = min(int((self.cells.count - 1).sum()) + 1, _USUAL_TYPES)
        return int(6e7 + 25_000 * len(self.cells) + 16 * types**2)

    def _make_workspace(self, p: int) -> BoundedSolver:
        """A solver for a part, over the items that it offers."""
        cells, items = self.parts[p].compact()
        known = self._known.cut(items)
        if len(items) == self.cells.n_items or self.model.all_rankings:
            model = self.model
        else:
            model = RandomUtility((cells.items[a], cells.items[b]) for a, b in zip(*known.pairs(), strict=True))
        return BoundedSolver(SearchPrices(cells, known), Bounder(model, cells))

    def _normalise(self, targets: Array) -> Array:
        """Bounds are those of the data as they were given."""
        return targets

    def inner_point(self) -> Array:
        """The mean of many random rankings of the model."""
        orders = random_orders(np.random.default_rng(0), _INNER_RANKINGS, self.cells.n_items, self._known)
        types = self.cells.types_of_orders(orders)
        return cells_of_types(types, np.full(len(types), 1.0 / len(types)), self.cells.shape)

    def count_foreign(self, types: Paths) -> int:
        """How many of these types are none of the model's."""
        foreign = 0
        for row in types:
            try:
                self.model.orders(self.cells, row[None])
            except InputError:
                foreign += 1
        return foreign

    def _is_free(self, problem: Problem) -> bool:
        """Is this part a single pair, of which all shares are possible?"""
        return self.model.all_rankings and problem.target.shape == (1, 2) and not problem.cone

    def certify(self, mixture: Mixture, target: Array, lower: float | None = None) -> Certificate:
        """The certificate of a mixture of types over all menus, given a lower bound of the optimum."""
        return Fitted(mixture, Problem(target, self.weights, self.cone)).certify(lower or 0.0)

    def quick_bound(self, mixture: Mixture, target: Array) -> float:
        """A lower bound of the optimum by the quickest method, at a mixture of types over all menus."""
        lower = 0.0
        for p, group in enumerate(self.menus):
            problem = self.part_problem(target, p)
            left = Fitted(restrict(mixture, group), problem).left
            if self._is_free(problem):
                lower += left.objective
                continue
            price = next(iter(Bounder(self.model, self.parts[p]).bounds(left.cost))).value
            solver: BoundedSolver = self._make_workspace(p)
            lower += max(left.objective - left.gap(price), solver.pair_bound(problem, Stop(1e-9)), 0.0)
        return lower

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
        if self._is_free(problem):
            return _fit_pair(problem)
        if resources.deadline is not None:
            # Every part has its share of the time that is left, by its size.
            left = (resources.deadline - clock()) * float(self._sizes[p] / self._ahead[p])
            resources = resources._replace(deadline=clock() + left)
        known = options if len(self.parts) == 1 else options._replace(lower=0.0)
        solver: BoundedSolver = workspace
        return solver.solve(problem, stop, start=start, resources=resources, options=known)

    @cached_property
    def _sizes(self) -> Array:
        """Cells of each part."""
        count = self.cells.count
        return np.array([count[group].sum() for group in self.menus], np.float64)

    @cached_property
    def _ahead(self) -> Array:
        """Cells of each part and of those behind it."""
        return np.cumsum(self._sizes[::-1])[::-1]

    def _certified(self, p: int, fit: PartFit, target: Array, spent: float) -> PartFit:
        """The solver's bounds are certificates already; a part that was not begun has none."""
        if fit.certificate is not None:
            return fit
        return fit._replace(certificate=Fitted(fit.mixture, self.part_problem(target, p)).certify(0.0))

    @cached_property
    def _some_type(self) -> Paths:
        orders = random_orders(np.random.default_rng(0), 1, self.cells.n_items, self._known)
        row: Paths = self.cells.types_of_orders(orders)[0]
        return row

    def _any_type(self, p: int) -> Paths:
        """A type of a part: that of a random ranking."""
        row: Paths = self._some_type[self.menus[p]]
        return row


def _fit_pair(problem: Problem) -> PartFit:
    """The projection of a single pair: any shares from 0 to 1 are those of a population."""
    p = pair_problem(problem.target, problem.weights).p
    share = float(np.clip(p, 0.0, 1.0)[0]) if len(p) else 0.5
    types, weights = np.array([[0], [1]], np.int32), np.array([share, 1.0 - share])
    mixture = types[weights > 0], weights[weights > 0]
    found = Fitted(mixture, problem)
    return PartFit(*mixture, found.certify(found.left.objective), "done", 0)
