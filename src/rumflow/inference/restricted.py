"""The model with the value of one linear functional given: projections onto R_theta = {rho in R: <c, rho> = theta}.

*One cell.* Where c is a single cell, and weights differ by less than 5e7, that cell joins the data with the frequency theta and
a weight so large that the projection lands in R_theta; the statistic is then low by about one part in `_HEAVY`.

*Any functional.* By a multiplier: the point of R that minimises 1/2 sum w (p - rho)^2 + m <c, rho> is a projection of p moved
against c, and <c, rho> falls as m grows, piecewise linearly. Regula falsi finds the m at which it is theta, for all rows of a
stack side by side. Cells of c that were not recorded get a small weight, `_LIGHT` of the largest, so that they can be moved too.

*The inner point.* For a functional of one menu D of a random utility model r_theta mixes the uniform rankings given what they
choose from D, with shares q_x proportional to exp(m c(x)) and m such that sum q_x c(x) = theta: every ranking has a share,
whatever theta. The chance that x is the best of D and y the best of E is, with s = |D u E|,

    1/s  if y = x;     [x not in E] / (s |E|) + [y not in D] / (s |D|)  otherwise:

one of the two is the best of the union, and the other one the best of its menu among the rest. For functionals of several menus,
and for other models, r_theta lies between the inner point r of the model and a point where the functional is largest or smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from rumflow.check import MOST_SPREAD
from rumflow.core.arrays import Array, Ints, Mask
from rumflow.data.labels import tie_number
from rumflow.data.menus import find_menus
from rumflow.errors import InputError
from rumflow.inference.sample import Sample, find_cells, find_centre
from rumflow.solvers.geometry import Fits

_HEAVY = 2e4
_LIGHT = 1e-3
_FAR = 1e4
_TOL = 1e-7
_ROUNDS = 40  # of regula falsi; ten do, as a rule
_STEEPEST = 1e6  # shares so tilted are those of an end


Solve = Callable[[Array, Array], Fits]  # of a stack, with weights


class Measured(NamedTuple):
    """Frequencies against a tightened R_theta."""

    statistic: Array  # (b,)
    nearest: Array  # (b, S): the nearest point, slot by slot
    start: Any  # the first of the projections, to begin others from


class Restricted:
    """A sample's model with <c, rho> given; c is a number for each cell of some menus, observed or not.

    menus, coefficients   (q, n): the menus as rows of truth values, and c.
    """

    def __init__(self, sample: Sample, menus: Mask, coefficients: Array) -> None:
        if sample.n_groups != 1:
            raise InputError("a functional can be bounded for one group at a time")
        old = sample.projector
        seen = coefficients != 0
        if not old.model.has_types and tie_number(sample.items) >= 0:
            seen = menus & seen.any(axis=1)[:, None]  # pairs with ties are held by two outcomes or more
        new = old.with_cells(menus, seen)
        if not new.exact:
            raise InputError(
                "confidence: the graph of the observed and the asked menus is too large, and intervals need exact distances; "
                "leave out menus"
            )
        rows = find_menus(new.cells.membership, np.vstack([old.cells.membership, menus]))
        own, asked = rows[: len(old.cells.membership)], rows[len(old.cells.membership) :]
        self.projector = new
        self.column: Ints = find_cells(new, own[old.menu], old.item)[sample.column]
        self._w = np.zeros(len(new.menu))
        self._w[self.column] = sample.weights
        self._slot_weights, self._scale = sample.weights, sample.scale
        spread = float(self._w.max() / self._w[self._w > 0].min())
        if spread > MOST_SPREAD * _LIGHT:
            raise InputError(
                f"confidence: weights of menus differ by a factor of {spread:.1g}, and intervals need one below "
                f"{MOST_SPREAD * _LIGHT:.0e}; leave out menus with few choices, or ask for bounds without intervals, "
                "confidence=None (--confidence none)"
            )
        self._c = np.zeros(len(new.menu))
        j, x = np.nonzero(seen)
        self._free = np.zeros(len(new.menu), np.bool_)  # cells that are asked for and have no weight of their own
        self._free[find_cells(new, asked[j], x)] = True
        self._free &= self._w == 0
        self._light = _LIGHT * float(self._w[self._w > 0].min())  # lighter than anything recorded
        j, x = np.nonzero(coefficients)
        np.add.at(self._c, find_cells(new, asked[j], x), coefficients[j, x])
        self._inner = find_centre(new, "rankings")
        single = np.count_nonzero(self._c) == 1 and spread * _HEAVY <= MOST_SPREAD
        self.cell: int = int(np.flatnonzero(self._c)[0]) if single else -1
        self._extremes = [self._extreme(sign) for sign in (-1.0, 1.0)]
        self.least: float
        self.most: float
        self.least, self.most = (float(self._c @ e) for e in self._extremes)
        self._given: tuple[Array, Array] | None = None
        concerned = np.flatnonzero(coefficients.any(axis=1))
        if new.model.all_rankings and len(concerned) == 1:
            menu, own_c = menus[concerned[0]], coefficients[concerned[0]]
            items = np.flatnonzero(menu)
            joint = [uniform_joint(menu, int(x), new.cells.membership[new.menu], new.item) for x in items]
            self._given = own_c[items], len(items) * np.array(joint)

    def _extreme(self, sign: float) -> Array:
        """A point of the model where sign <c, rho> is largest: the projection of one far away."""
        far = self._inner + sign * _FAR * self._c / np.abs(self._c).max()
        return np.asarray(self.projector.solve(far[None], np.ones(len(far))).fitted[0], np.float64)

    def inner(self, theta: float) -> Array:
        """A point inside R_theta, cell by cell."""
        if self._given is not None:
            c, given = self._given
            return np.asarray(tilted_shares(c, theta) @ given, np.float64)
        middle = float(self._c @ self._inner)
        end = self._extremes[int(theta > middle)]
        reach = float(self._c @ end) - middle
        step = 0.0 if reach == 0 else (theta - middle) / reach
        return np.asarray(self._inner + step * (end - self._inner), np.float64)

    def measure(self, p: Array, theta: float, tau: float, threads: int | None = 1, start: Any = None) -> Measured:
        """Statistics of frequencies (b, S) against tau r_theta + (1 - tau) R_theta, and the nearest points.

        start   that of an earlier measurement near by.
        """
        inner = self.inner(theta)
        target = np.zeros((len(p), len(inner)))
        target[:, self.column] = (p - tau * inner[self.column]) / (1 - tau)
        find = self._by_weight if self.cell >= 0 else self._by_multiplier
        fitted, first = find(target, theta, inner, lambda moved, weights: self._solve(moved, weights, threads, start))
        nearest = (tau * inner + (1 - tau) * fitted)[:, self.column]
        return Measured(self._scale * ((p - nearest) ** 2 @ self._slot_weights), nearest, first)

    def _solve(self, moved: Array, weights: Array, threads: int | None, start: Any) -> Fits:
        return self.projector.solve(moved, weights, tol=_TOL, start=start, threads=threads)

    def _by_weight(self, target: Array, theta: float, inner: Array, solve: Solve) -> tuple[Array, Any]:
        heavy = _HEAVY * float(self._w.max())
        weights, c = np.where(self._free, self._light, self._w), self.cell
        moved = np.where(self._free, inner, target)
        weights[c] = self._w[c] + heavy
        moved[:, c] = (self._w[c] * target[:, c] + heavy * theta / self._c[c]) / weights[c]
        fits = solve(moved, weights / weights.max())
        return fits.fitted, start_of(fits)

    def _by_multiplier(self, target: Array, theta: float, inner: Array, solve: Solve) -> tuple[Array, Any]:
        c = self._c
        weights = np.where(self._free, self._light, self._w) / self._w.max()
        target = np.where(self._free, inner, target)
        push = np.where(weights > 0, c / np.where(weights > 0, weights, 1.0), 0.0)
        nearest = np.empty(target.shape)
        first: list[Any] = []

        def excess(rows: Ints, multiplier: Array) -> Array:
            fits = solve(target[rows] - multiplier[:, None] * push, weights)
            nearest[rows] = fits.fitted
            if not first:
                first.append(start_of(fits))
            return np.asarray(nearest[rows] @ c - theta, np.float64)

        find_roots(excess, len(target), 1.0 / float(c @ push), 1e-6 * (self.most - self.least))
        return nearest, first[0]


def start_of(fits: Fits) -> Any:
    """What projections near the first of a stack can start from."""
    return fits.mixtures[0] if fits.geometry.model.has_types else fits.starts[0]


def find_roots(function: Callable[[Ints, Array], Array], count: int, slope: float, allowed: float) -> Array:
    """Where falling functions are 0, up to `allowed`, by regula falsi (Illinois) from 0 on, for `count` of them side by side.

    function   takes the numbers of some of them and a place for each, and gives their values there.
    slope      a first guess of 1 / their slope.
    """
    at = np.zeros(count)
    value = function(np.arange(count), at)
    rows = np.flatnonzero(np.abs(value) > allowed)
    ends, values = np.full((2, count), np.nan), np.full((2, count), np.nan)  # left (value > 0) and right ends
    last = np.full(count, -1)
    step = slope * np.abs(value)
    for _ in range(_ROUNDS):
        if len(rows) == 0:
            break
        side = (value[rows] < 0).astype(np.int64)
        same = rows[(last[rows] == side)]
        values[1 - last[same], same] *= 0.5  # the other end has stayed twice: draw the next point towards it
        ends[side, rows], values[side, rows], last[rows] = at[rows], value[rows], side
        left, right = ends[:, rows]
        with np.errstate(invalid="ignore"):
            inside = left + (right - left) * values[0, rows] / (values[0, rows] - values[1, rows])
        step[rows] *= 4
        at[rows] = np.where(np.isnan(right), left + step[rows], np.where(np.isnan(left), right - step[rows], inside))
        value[rows] = function(rows, at[rows])
        rows = rows[np.abs(value[rows]) > allowed]
    return at


def tilted_shares(c: Array, mean: float) -> Array:
    """Shares proportional to exp(m c), with this mean of c; all of them on the largest or smallest c at the ends of its range."""
    span = float(np.ptp(c)) or 1.0
    x = (c - c.min()) / span
    wanted = (mean - float(c.min())) / span

    def shares(m: float) -> Array:
        powers = np.exp(m * x - (m * x).max())
        return np.asarray(powers / powers.sum(), np.float64)

    low, high = shares(-_STEEPEST), shares(_STEEPEST)
    if not low @ x < wanted < high @ x:
        return low if wanted <= low @ x else high
    return shares(float(brentq(lambda m: float(shares(m) @ x) - wanted, -_STEEPEST, _STEEPEST)))


def uniform_joint(menu: Mask, item: int, menus: Mask, items: Ints) -> Array:
    """Chance under uniform rankings that `item` is the best of `menu` and, for each cell (E, y), y the best of E.

    menu, menus   a row, and a row per cell, of truth values.
    """
    union = (menus | menu).sum(axis=1).astype(float)
    first = np.where(menus[:, item], 0.0, 1.0 / (union * menus.sum(axis=1)))
    second = np.where(menu[items], 0.0, 1.0 / (union * menu.sum()))
    return np.asarray(np.where(items == item, 1.0 / union, first + second), np.float64)
