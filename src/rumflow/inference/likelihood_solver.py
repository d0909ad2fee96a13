"""How the likelihood is maximised: weighted projections, each followed by a step as far as the likelihood rises.

    maximise  L(rho) = sum over cells (D, x) of  count(D, x) log rho(D, x)   over all RUMs rho

A concave function on a polytope. Two second-order models of L at the current point rho_k lead to a weighted projection each:

    Fisher scoring   weights N_D / rho_k,         target the observed frequencies
    Newton           weights count / rho_k^2,     target 2 rho_k  (cells never chosen have weight 0)

A few rounds of the first, robust far from the optimum, then the second, which is quadratic near it: -L is self-concordant, so
steps cut by a line search get there. Both are solved over the whole polytope, so faces take care of themselves. All this
is the same on the lattice of all menus and on a choice graph.

The rounding of a projection is that of its largest cells. Where probabilities, or counts, are many powers of ten apart, that
hides types which only small cells need, and leaves prices count / rho of these cells wrong in their first digits although L is
right to its last. From there on, instead of another projection, the dearest types are taken in, and the weights of all types are
found by a method that has no such trouble (`rumflow.inference.mixture_weights`), for each group of menus that combine freely on
its own (`rumflow.inference.type_groups`): the graph has these groups apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask, Mixture, Paths
from rumflow.core.memory import likelihood_bytes, require_memory
from rumflow.core.patience import check_patience
from rumflow.core.problem import Stop
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.inference.type_groups import TypeGroup, join_groups
from rumflow.models.model import Model
from rumflow.projection.cost import find_geometry
from rumflow.projection.observations import observe
from rumflow.solvers.active_set.on_lattice import pool_size
from rumflow.solvers.geometry import Geometry, Keep, SolveOptions
from rumflow.solvers.graph import GraphGeometry
from rumflow.solvers.lattice import plain_lattice

#: The largest number of projections, unless another is asked for.
MOST_ROUNDS = 200

_SCORING_ROUNDS = 4
_TOL = 1e-14  # relative; the accuracy asked for ends a projection earlier
_MOST_NUMBERS = 1 << 25  # types times cells, where weights are found beside the projections
_TYPES_A_ROUND = 20  # that are taken in before the certificate is computed again
_OPTIONS = SolveOptions(keep=Keep.MIXTURES, certify=False)


class CountedCells:
    """The recorded cells of the menus that leave a choice, on the geometry where the likelihood is maximised."""

    def __init__(self, data: ChoiceData, model: Model | None, route: str | None) -> None:
        observations, own = observe(data, model)
        if np.isnan(data.count).any():
            if route == "lattice":
                raise InputError(
                    "route='lattice': what was not recorded of a menu is a separate cell of the likelihood, which the lattice "
                    "does not have; accepted are None and 'graph'"
                )
            route = "graph" if route is None else route
        several = bool((data.offered.sizes > 1).any())
        if route is None and several and len(own.parts(observations.cells)) > 1:
            route = "graph"  # which has groups of menus apart
        self.geometry = find_geometry(observations, own, route, exact=True) if several else plain_lattice(data.n)
        if self.geometry.has_all_menus:
            needed = likelihood_bytes(data.n, len(data.totals), pool_size(data.n))
            require_memory(needed, f"the likelihood for n = {data.n} items")
        self._observations = observations
        cell, position = observations.places(self.geometry)
        menus, graph = observations.menus, self.geometry
        #: Menus of two items or more, in groups whose types combine freely; the lattice has them all in one.
        self.groups: list[Ints] = (
            graph.menus if isinstance(graph, GraphGeometry) else [np.arange(int((menus.sizes > 1).sum()))]
        )
        chosen = menus.sizes[menus.menu[cell]] > 1
        self._cell, self._position = cell[chosen], position[chosen]

    def spread(self, given: Array, rest: Array) -> Array:
        """Numbers in the layout, from those of all cells (cells,), and (m,) of the remainders; 0 elsewhere."""
        values = self.geometry.blank(0.0)
        values.reshape(-1)[self._position] = given[self._cell]
        if not self.geometry.has_all_menus:
            own = self._observations.cells
            partly = np.flatnonzero(own.remainder >= 0)
            values[partly, own.remainder[partly]] = rest[self._observations.rows[partly]]
        return values

    def takes(self, types: Paths) -> Ints:
        """(k, m): where in the flattened layout the cell is that each type takes from each menu of two items or more."""
        own = self._observations.cells
        item = own.items_of_types(self.geometry.choices(types, own).astype(np.int32))
        menu = np.broadcast_to(np.arange(len(own)), item.shape)
        return self.geometry.positions(menu.reshape(-1), item.reshape(-1), own).reshape(item.shape)

    def gather(self, rho: Array) -> Array:
        """The way back: (cells,), NaN on what was not recorded, 1 on menus of one item."""
        menus = self._observations.menus
        values = np.where(menus.sizes[menus.menu] == 1, 1.0, np.nan)
        values[self._cell] = rho.reshape(-1)[self._position]
        return values


class State:
    """A point of the polytope, its likelihood and its certificate; `goal`: the gap that is small enough."""

    def __init__(self, data: ChoiceData, cells: CountedCells, tol: float) -> None:
        self.geometry: Geometry = cells.geometry
        self._cells = cells
        rest = remainders(data)
        self.counts: Array = cells.spread(data.count, rest)
        self.sizes: Array = cells.spread(data.totals[data.offered.menu], data.totals)
        self.observed: Array = cells.spread(data.shares, rest / data.totals)
        self.chosen: Mask = self.counts > 0
        self.total: float = float(self.counts.sum())
        c, f = self.counts[self.chosen], self.observed[self.chosen]
        self.saturated: float = float((c * np.log(f)).sum())
        self.rounds = 0
        self.mixture: Mixture | None = None
        self.gap = np.inf
        self.interrupted = False  # by Ctrl-C: this is the best point by then
        self.goal: float = max(tol, 64 * float(np.finfo(float).eps) * self.total)  # N choices: no gap is known better
        self.put(self.geometry.middle())

    @property
    def converged(self) -> bool:
        """Is the gap as small as was asked for?"""
        return bool(self.gap <= self.goal)

    def put(self, point: Any) -> None:
        """Go to a point."""
        self.rho: Array = self.geometry.rho(point)
        self.point = point
        self.value = self.loglik(self.rho)

    def loglik(self, rho: Array) -> float:
        """L, minus infinity where something chosen has no probability."""
        p = rho[self.chosen]
        return float((self.counts[self.chosen] * np.log(p)).sum()) if (p > 0).all() else -np.inf

    def certify(self) -> float:
        """The gap at the current point."""
        cost = np.zeros_like(self.rho)
        cost[self.chosen] = -self.counts[self.chosen] / self.rho[self.chosen]
        self.gap = max(-self.geometry.cheapest(cost) - self.total, 0.0)
        return self.gap

    def enter(self) -> bool:
        """Take in the dearest types and find the most likely weights of all; False where that takes too much memory."""
        types, weights = self.geometry.mixture(self.point) if self.mixture is None else self.mixture
        if len(types) * int(self.chosen.sum()) > _MOST_NUMBERS:
            return False
        groups = self._groups(types, weights)
        for _ in range(_TYPES_A_ROUND):
            check_patience()
            if not self._enter_one(groups):
                break
        self.mixture = join_groups(groups, self._cells.groups)
        self.rounds += 1
        self.put(self.geometry.point_of(self.mixture))
        return True

    def _groups(self, types: Paths, weights: Array) -> list[TypeGroup]:
        """A mixture as seen on each group of menus. The accuracies add up to half the goal at most."""
        takes, counts = self._cells.takes(types), self.counts.reshape(-1)
        menus = self._cells.groups
        if len(menus) == 1:
            return [TypeGroup(types, takes, weights, counts, self.total, 0.5 * self.goal)]
        totals = [float(self.counts[own].sum()) for own in menus]
        shares = [0.25 * (total / self.total + 1 / len(menus)) for total in totals]
        return [
            TypeGroup(types[:, own], takes[:, own], weights, counts, total, share * self.goal)
            for own, total, share in zip(menus, totals, shares, strict=True)
        ]

    def _enter_one(self, groups: list[TypeGroup]) -> bool:
        """Take in the dearest type, first those that take what no type takes; False where nothing is left to do."""
        counts = self.counts.reshape(-1)
        while True:
            rho = np.zeros(self.rho.size)
            for one in groups:
                one.add_to(rho)
            missing = (counts > 0) & (rho == 0)
            prices = np.zeros_like(rho)
            np.divide(counts, rho, out=prices, where=(counts > 0) & ~missing)
            cost = -missing.astype(np.float64) if missing.any() else -prices
            new = self.geometry.cheapest_type(cost.reshape(self.rho.shape))
            takes = self._cells.takes(new[None])[0]
            several = len(groups) > 1
            own = [(new[menus], takes[menus]) if several else (new, takes) for menus in self._cells.groups]
            if not missing.any():
                return any([one.improve(*row, prices) for one, row in zip(groups, own, strict=True)])
            for one, row in zip(groups, own, strict=True):
                if missing[row[1]].any():
                    one.add(*row)

    def move(self, weights: Array, target: Array, accuracy: float) -> None:
        """Project, then go as far that way as the likelihood rises."""
        starts = None if self.mixture is None else [self.mixture]
        own = self.geometry.weighted(weights)
        fits = own.solve(target[None], Stop(_TOL, accuracy), starts=starts, options=_OPTIONS)
        point = own.point(fits)
        self.mixture = fits.mixtures[0] if len(fits.mixtures[0][1]) else None
        self.rounds += 1
        rho = self.geometry.rho(point)
        slope = float((self.counts[self.chosen] / self.rho[self.chosen] * (rho - self.rho)[self.chosen]).sum())
        # Near the maximum the gain of a step is below the rounding of L itself: what is not a loss beyond rounding passes.
        slack = 8 * float(np.finfo(float).eps) * abs(self.value)
        step = 1.0
        while step > 1e-9:
            trial = self.rho + step * (rho - self.rho)
            value = self.loglik(trial)
            if value >= self.value + 1e-4 * step * slope - slack:
                self.put(point if step == 1.0 else self.geometry.blend(self.point, point, step))
                self.value = value
                return
            step *= 0.5


def maximise(
    data: ChoiceData, cells: CountedCells, tol: float, start: Mixture | None = None, most: int = MOST_ROUNDS
) -> State:
    """The best point after at most so many projections, or the first whose gap is at most `tol`; `start`: where to begin."""
    state = State(data, cells, tol)
    if state.total == 0:
        state.gap = 0.0
        return state
    if start is not None:
        # Mixed with a point inside, so that nothing chosen has probability 0.
        own = cells.geometry
        state.put(own.blend(own.point_of(start), state.point, 0.1))
        state.mixture = start
    goal = state.goal
    best, highest, still, nearest, entering = np.inf, -np.inf, 0, state.point, False
    try:
        while state.certify() > goal and state.rounds < most and still < 8:
            check_patience()
            better = state.gap < 0.9 * best or state.value > highest + max(1e-3 * goal, 1e-7 * state.gap)
            nearest = state.point if state.gap <= best else nearest
            still = 0 if better else still + (state.rounds > _SCORING_ROUNDS)
            best, highest = min(best, state.gap), max(highest, state.value)
            # Newton steps that gain nothing worth the gap have met the rounding of their projections: from here on types are
            # taken in, as another projection would lose them again.
            entering = entering or still > 0
            if entering and state.enter():
                continue
            accuracy = max(min(1e-3 * state.gap, 1.0), 0.05 * goal)
            if state.rounds < _SCORING_ROUNDS:
                low = 0.5 / np.maximum(state.sizes, 1.0)
                weights = state.sizes / np.maximum(state.rho, low)
                state.move(weights, state.observed, accuracy)
            else:
                weights, target = np.zeros_like(state.rho), np.zeros_like(state.rho)
                weights[state.chosen] = state.counts[state.chosen] / state.rho[state.chosen] ** 2
                target[state.chosen] = 2.0 * state.rho[state.chosen]
                state.move(weights, target, accuracy)
    except KeyboardInterrupt:
        state.interrupted = True
    if state.gap > best:
        state.put(nearest)
        state.certify()
    return state


def remainders(data: ChoiceData) -> Array:
    """(m,): how many choices from each menu were not recorded; 0 where all were."""
    left = np.maximum(data.totals - data.offered.sums(data.count), 0.0)
    partly = data.offered.count(np.isnan(data.count)) > 0
    rounding = (left <= 1e-9 * data.totals) & ((left < 1) | (left != np.round(left)))  # of shares that were multiplied
    return np.where(partly & ~rounding, left, 0.0)
