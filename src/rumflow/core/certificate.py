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

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.compile import leaf
from rumflow.core.paths import cheapest_below, down_pass, squeeze
from rumflow.core.transforms import transform_row, zeta, zeta_adjoint

#: Data nearer to RUM than this share of sum w rho_hat^2 are taken to be RUM.
NEARBY = 1e-24

#: Solvers aim at a gap of this share of sum w rho_hat^2: a good deal lower than what passes as rounding.
SOLVER_FLOOR = 0.5e-16

#: Stands for weights of 1 on every cell.
NO_WEIGHTS = np.empty((0, 0))

_SMALL = 12  # up to this many items one kernel call is faster than threads


class Certificate(NamedTuple):
    """What holds of a flow, whoever made it."""

    objective: float  # 1/2 sum w (rho - rho_hat)^2
    gap: float  # objective - optimum <= gap
    floor: float  # a gap below this is rounding
    least_flow: float  # smallest entry of the flow
    menu_error: float  # largest |sum of a menu's probabilities - 1|


@leaf
def weighted_norm(target, weights):
    """sum w rho_hat^2 over the observed cells; no rows of weights: all 1."""
    total = 0.0
    for x in range(target.shape[0]):
        for j in range(target.shape[1]):
            if weights.shape[0] == 0:
                total += target[x, j] * target[x, j]
            elif weights[x, j] > 0.0:
                total += weights[x, j] * target[x, j] * target[x, j]
    return total


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

    Returns sum w (rho - rho_hat)^2, sum w rho_hat^2, and over the observed cells sum rho and sum 1 / w.
    """
    square = size = mass = inverse = 0.0
    for j in range(rho.shape[0]):
        w = 1.0 if weights.shape[0] == 0 else weights[j]
        if w > 0.0:
            difference = rho[j] - target[j]
            square += w * difference * difference
            size += w * target[j] * target[j]
            mass += rho[j]
            inverse += 1.0 / w
            rho[j] = w * difference
        else:
            rho[j] = 0.0
    return square, size, mass, inverse


@leaf
def certify_small(flow, target, weights, cone, work, below):
    """The certificate of a small problem: objective, gap, sum w rho_hat^2, least flow, menu error. `work`, `below`: scratch."""
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
    square = size = mass = inverse = inner = 0.0
    for x in range(n):
        a, b, c, d = _residual_row(work[x], target[x], weights[x] if weights.shape[0] else none)
        square += a
        size += b
        mass += c
        inverse += d
        transform_row(work[x], n - 1, 1.0, np.bool_(True))
        for j in range(half):
            inner += work[x, j] * flow[x, j]
    down_pass(work, below, n, np.int64(0), np.int64(1 << n))
    cheapest = below[below.shape[0] - 1]
    if cone:
        miss = max(0.0, -cheapest)
        gap = inner + miss * mass + 0.5 * miss * miss * inverse
    else:
        gap = inner - cheapest
    return 0.5 * square, max(gap, 0.0), size, least, error


@leaf
def certify_stack(flows, targets, weights, cone, work, below, out):
    """Certificates of small problems one after another, as rows of `out`."""
    for i in range(flows.shape[0]):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3], out[i, 4] = certify_small(
            flows[i], targets[i], weights, cone, work, below
        )


def certify(flow: Array, target: Array, weights: Array | None, threads: int | None = None) -> Certificate:
    """The certificate of a flow, given the data; all in the internal layout, `weights` None for 1 everywhere."""
    n = flow.shape[0]
    if n <= _SMALL:
        work, below = np.empty_like(flow), np.empty(1 << n)
        w = NO_WEIGHTS if weights is None else weights
        objective, gap, size, least, error = map(float, certify_small(flow, target, w, False, work, below))
        return Certificate(objective, gap, rounding_floor(size), least, error)
    work = zeta(flow.copy(), threads)
    error = menu_error(work, n, 1.0)
    row = np.empty(0)
    parts = [_residual_row(work[x], target[x], row if weights is None else weights[x]) for x in range(n)]
    square, size, _, _ = (float(sum(part)) for part in zip(*parts, strict=True))
    cost = zeta_adjoint(work, threads)
    inner = sum(float(np.sum(cost[x] * flow[x])) for x in range(n))
    cheapest = float(cheapest_below(cost, threads)[-1])
    return Certificate(0.5 * square, max(inner - cheapest, 0.0), rounding_floor(size), float(flow.min()), error)


_ROUNDING = 32 * float(np.finfo(float).eps)


def rounding_floor(size: float) -> float:
    """A gap this small is rounding, given size = sum w rho_hat^2: 64 units in the last place of 1/2 size."""
    return _ROUNDING * size


def is_exact(certificate: Certificate) -> bool:
    """Is the distance zero up to rounding? Some units in the last place of the data, squared."""
    return certificate.objective <= NEARBY / _ROUNDING * certificate.floor
