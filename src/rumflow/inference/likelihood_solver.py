"""How the likelihood is maximised: weighted projections, each followed by a step as far as the likelihood rises.

    maximise  L(rho) = sum over cells (D, x) of  count(D, x) log rho(D, x)   over all RUMs rho

A concave function on a polytope. Two second-order models of L at the current point rho_k lead to a weighted projection each:

    Fisher scoring   weights N_D / rho_k,         target the observed frequencies
    Newton           weights count / rho_k^2,     target 2 rho_k  (cells never chosen have weight 0)

A few rounds of the first, robust far from the optimum, then the second, which is quadratic near it: -L is self-concordant, so
steps cut by a line search always get there. Both are solved over the whole polytope, so faces take care of themselves. All this
is the same on the lattice of all menus and on a choice graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Mixture
from rumflow.core.memory import likelihood_bytes, require_memory
from rumflow.core.problem import Stop
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.projection.cost import find_geometry
from rumflow.projection.observations import observe
from rumflow.solvers.active_set.on_lattice import pool_size
from rumflow.solvers.geometry import Keep, SolveOptions
from rumflow.solvers.lattice import plain_lattice

#: The largest number of projections, unless another is asked for.
MOST_ROUNDS = 200

_SCORING_ROUNDS = 4
_TOL = 1e-14  # relative; the accuracy asked for ends a projection earlier
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
        if (data.offered.sizes > 1).any():
            self.geometry = find_geometry(observations, own, route, exact=True)
        else:
            self.geometry = plain_lattice(data.n)
        if self.geometry.has_all_menus:
            needed = likelihood_bytes(data.n, len(data.totals), pool_size(data.n))
            require_memory(needed, f"the likelihood for n = {data.n} items")
        self._observations = observations
        cell, position = observations.places(self.geometry)
        menus = observations.menus
        several = menus.sizes[menus.menu[cell]] > 1
        self._cell, self._position = cell[several], position[several]

    def spread(self, given: Array, rest: Array) -> Array:
        """Numbers in the layout, from those of all cells (cells,), and (m,) of the remainders; 0 elsewhere."""
        values = self.geometry.blank(0.0)
        values.reshape(-1)[self._position] = given[self._cell]
        if not self.geometry.has_all_menus:
            own = self._observations.cells
            partly = np.flatnonzero(own.remainder >= 0)
            values[partly, own.remainder[partly]] = rest[self._observations.rows[partly]]
        return values

    def gather(self, rho: Array) -> Array:
        """The way back: (cells,), NaN on what was not recorded, 1 on menus of one item."""
        menus = self._observations.menus
        values = np.where(menus.sizes[menus.menu] == 1, 1.0, np.nan)
        values[self._cell] = rho.reshape(-1)[self._position]
        return values


class State:
    """A point of the polytope, its likelihood and its certificate."""

    def __init__(self, data: ChoiceData, cells: CountedCells) -> None:
        self.geometry = cells.geometry
        rest = remainders(data)
        self.counts = cells.spread(data.count, rest)
        self.sizes = cells.spread(data.totals[data.offered.menu], data.totals)
        self.observed = cells.spread(data.shares, rest / data.totals)
        self.chosen = self.counts > 0
        self.total = float(self.counts.sum())
        c, f = self.counts[self.chosen], self.observed[self.chosen]
        self.saturated = float((c * np.log(f)).sum())
        self.rounds = 0
        self.mixture: Mixture | None = None
        self.gap = np.inf
        self.put(self.geometry.middle())

    def put(self, point: Any) -> None:
        """Go to a point."""
        self.point, self.rho = point, self.geometry.rho(point)
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
    state = State(data, cells)
    if state.total == 0:
        state.gap = 0.0
        return state
    if start is not None:
        # Mixed with a point inside, so that nothing chosen has probability 0.
        own = cells.geometry
        state.put(own.blend(own.point_of(start), state.point, 0.1))
        state.mixture = start
    floor = 64 * float(np.finfo(float).eps) * state.total
    goal = max(tol, floor)
    best, last, still = np.inf, -np.inf, 0
    while state.certify() > goal and state.rounds < most and still < 8:
        # Rounding ends it where neither gap falls nor likelihood rises although Newton steps are as exact as they can be.
        better = state.gap < 0.9 * best or state.value > last + 1e-3 * goal
        still = 0 if better else still + (state.rounds > _SCORING_ROUNDS)
        best, last = min(best, state.gap), state.value
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
    return state


def remainders(data: ChoiceData) -> Array:
    """(m,): how many choices from each menu were not recorded; 0 where all were."""
    left = np.maximum(data.totals - data.offered.sums(data.count), 0.0)
    partly = data.offered.count(np.isnan(data.count)) > 0
    return np.where(partly & (left > 1e-9 * data.totals), left, 0.0)  # a smaller one is rounding
