"""The certificate of a projection, computed from the returned flow alone.

With g = w (rho - rho_hat) and f the objective, convexity gives for every RUM rho'

    f(rho) - f(rho') <= <g, rho - rho'> <= <g, rho> - (cost of the cheapest ranking for the costs Z^T g),

so the right-hand side, the *gap*, bounds how far f(rho) is above the optimum; and ||rho - rho*||_w^2 <= gap. Nothing a solver
says enters.

Over the cone of RUMs (any total) the dual is max <y, rho_hat>_w - 1/2 ||y||_w^2 over y with <y, a>_w <= 0 for every ranking a.
The residual y = rho_hat - rho misses that by eps = max(0, -cheapest); minus eps / w on every observed cell it is feasible, for
a ranking chooses at least one observed cell or counts 0. The duality gap is then <g, rho> + eps sum rho + 1/2 eps^2 sum 1/w,
the sums over observed cells.
"""

from __future__ import annotations

from copy import copy
from math import isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Mixture
from rumflow.core.compile import leaf
from rumflow.core.paths import cheapest_below, down_pass, flow_from_paths, squeeze
from rumflow.core.problem import Problem, Stop, data_size, is_rum_distance, least_weight, rounding_floor
from rumflow.core.transforms import transform_row, zeta, zeta_adjoint

_ONE_CALL = 12  # up to this many items one kernel call is faster than threads


class Certificate(NamedTuple):
    """What holds for a flow, whichever solver computed it.

    Attributes
    ----------
    objective : float
        1/2 sum w (rho - rho_hat)^2.
    gap : float
        Certified: objective - optimum <= gap.
    floor : float
        A gap below this is rounding.
    least_flow : float
        Smallest entry of the flow.
    menu_error : float
        Largest distance of the sum of a menu's probabilities from 1.
    size : float
        sum w |rho_hat| min(|rho_hat|, 1), by which rounding is measured.
    scale : float
        Sum of the weights: no two RUMs are further apart than this.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> certificate = rf.project(data).certificate
    >>> certificate.gap <= 1e-9 * certificate.objective, certificate.least_flow >= 0
    (True, True)
    """

    objective: float
    gap: float
    floor: float
    least_flow: float
    menu_error: float
    size: float
    scale: float

    def is_optimal(self, stop: Stop) -> bool:
        """Say whether the gap is small enough for what was asked. Converged means this, whatever a solver says.

        The tolerance is relative to the objective, or to the size of RUM where the data lie far outside of it. No distance
        is negative, so the objective itself is a bound as well: it counts where the data are RUM up to rounding.

        Parameters
        ----------
        stop : Stop
            The relative tolerance `tol`, and optionally the absolute `floor` to use instead of that of the certificate; and
            the `threshold` of which only the side matters.

        Returns
        -------
        bool
        """
        mark = stop.threshold
        if mark is not None and (self.objective <= mark or self.objective - self.gap > mark):
            return isfinite(self.objective)
        goal = max(stop.tol * min(self.objective, self.scale), self.floor if stop.floor is None else stop.floor)
        return isfinite(self.objective) and min(self.gap, self.objective) <= goal

    @property
    def is_rum(self) -> bool:
        """Whether the data are RUM up to rounding."""
        return is_rum_distance(self.objective, self.size)


@leaf
def menu_error(rho, n, expected):
    """Largest distance of a menu's sum from what it should be."""
    worst = 0.0
    for menu in range(1, 1 << n):
        total = 0.0
        for x in range(n):
            if (menu >> x) & 1:
                total += rho[x, squeeze(menu, x)]
        worst = max(worst, abs(total - expected))
    return worst


@leaf
def _residual_row(rho, target, weights):
    """w (rho - rho_hat) in place of rho, for one row.

    Returns sum w (rho - rho_hat)^2, and over the observed cells sum rho, sum 1 / w and sum w (rho - rho_hat) rho.
    """
    square = mass = inverse = inner = 0.0
    for j in range(rho.shape[0]):
        w = 1.0 if weights.shape[0] == 0 else weights[j]
        if w > 0.0:
            difference = rho[j] - target[j]
            square += w * difference * difference
            mass += rho[j]
            inverse += 1.0 / w
            inner += w * difference * rho[j]
            rho[j] = w * difference
        else:
            rho[j] = 0.0
    return square, mass, inverse, inner


@leaf
def certify_small(flow, target, weights, cone, work, below):
    """The certificate of a small problem: objective, gap, least flow, menu error, data size. `work`, `below`: scratch."""
    n, half = flow.shape
    none = below[:0]
    least = np.inf
    for x in range(n):
        for j in range(half):
            work[x, j] = flow[x, j]
            least = min(least, flow[x, j])
        transform_row(work[x], n - 1, 1.0, np.bool_(False))
    expected = 1.0
    if cone:
        expected = 0.0
        for x in range(n):
            expected += flow[x, half - 1]
    error = menu_error(work, n, expected)
    square = mass = inverse = inner = 0.0
    for x in range(n):
        a, b, c, _ = _residual_row(work[x], target[x], weights[x] if weights.shape[0] else none)
        square += a
        mass += b
        inverse += c
        transform_row(work[x], n - 1, 1.0, np.bool_(True))
        for j in range(half):
            inner += work[x, j] * flow[x, j]
    down_pass(work, below, n, np.int64(0), np.int64(1 << n))
    gap = gap_bound(inner, below[below.shape[0] - 1], cone, mass, inverse)
    return 0.5 * square, gap, least, error, data_size(target, weights)


@leaf
def certify_stack(flows, targets, weights, cone, work, below, out):
    """Certificates of small problems one after another, as rows of `out`."""
    for i in range(flows.shape[0]):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3], out[i, 4] = certify_small(
            flows[i], targets[i], weights, cone, work, below
        )


@leaf
def gap_bound(inner, cheapest, cone, mass, inverse):
    """The bounds of the module's docstring; they hold for any number that no type's price is below."""
    if not cone:
        return max(inner - cheapest, 0.0)
    miss = max(0.0, -cheapest)
    return max(inner + miss * mass + 0.5 * miss * miss * inverse, 0.0)


class Certifier:
    """Certificates of flows for data with the same weights, onto RUM or onto its cone."""

    def __init__(self, n: int, weights: Array, cone: bool = False, threads: int | None = None) -> None:
        self.n: int = n
        self.weights: Array = weights
        self.cone: bool = cone
        self.threads: int | None = threads
        self._least = least_weight(weights)
        self._scale = float(weights.sum()) if len(weights) else float(n << (n - 1))

    def with_threads(self, threads: int | None) -> Certifier:
        """The same with another number of threads."""
        if threads == self.threads:
            return self
        other = copy(self)
        other.threads = threads
        return other

    def __call__(self, flow: Array, target: Array) -> Certificate:
        """The certificate of one flow, both in the internal layout."""
        if self.n <= _ONE_CALL:
            work, below = np.empty_like(flow), np.empty(1 << self.n)
            return self.make(*certify_small(flow, target, self.weights, self.cone, work, below))
        return self._large(flow.copy(), target)

    def mixture(self, mixture: Mixture, target: Array) -> Certificate:
        """The certificate of a mixture of rankings; without a second array for its flow where there are many items."""
        flow = flow_from_paths(*mixture)
        return self(flow, target) if self.n <= _ONE_CALL else self._large(flow, target)

    def _large(self, work: Array, target: Array) -> Certificate:
        """The certificate of a flow, which is used up."""
        n, weights = self.n, self.weights
        least, total = float(work.min()), float(work[:, -1].sum())
        zeta(work, self.threads)
        error = menu_error(work, n, total if self.cone else 1.0)
        row = np.empty(0)
        parts = [_residual_row(work[x], target[x], weights[x] if len(weights) else row) for x in range(n)]
        square, mass, inverse, inner = (float(sum(part)) for part in zip(*parts, strict=True))
        zeta_adjoint(work, self.threads)
        gap = gap_bound(inner, float(cheapest_below(work, self.threads)[-1]), self.cone, mass, inverse)
        return self.make(0.5 * square, gap, least, error, data_size(target, weights))

    def stack(self, flows: Array, targets: Array, numbers: Array) -> None:
        """Those of small problems in one call, as rows of five numbers each, from which `make` makes a certificate."""
        work, below = np.empty(flows.shape[1:]), np.empty(1 << self.n)
        certify_stack(flows, targets, self.weights, self.cone, work, below, numbers)

    def make(self, objective: float, gap: float, least: float, error: float, size: float) -> Certificate:
        """A certificate from its numbers."""
        floor = rounding_floor(size, self._least)
        return Certificate(objective, gap, floor, least, error, size, self._scale)

    def floors(self, numbers: Array) -> Array:
        """(B,): what counts as rounding, for a stack of numbers."""
        floors: Array = rounding_floor(numbers[:, 4], self._least)  # type: ignore[arg-type, assignment]
        return floors

    def are_optimal(self, numbers: Array, stop: Stop) -> NDArray[np.bool_]:
        """(B,): `Certificate.is_optimal` for a stack of numbers."""
        objective, gap = numbers[:, 0], numbers[:, 1]
        least = rounding_floor(numbers[:, 4], self._least) if stop.floor is None else stop.floor  # type: ignore[arg-type]
        goal = np.maximum(stop.tol * np.minimum(objective, self._scale), least)
        small = np.fmin(gap, objective) <= goal
        if stop.threshold is not None:
            small |= (objective <= stop.threshold) | (objective - gap > stop.threshold)
        found: NDArray[np.bool_] = np.isfinite(objective) & small
        return found


def certify(problem: Problem, flow: Array, threads: int | None = None) -> Certificate:
    """The certificate of a flow for one problem."""
    return Certifier(problem.n, problem.weights, problem.cone, threads)(flow, problem.target)
