"""The certificate of a projection, computed from the returned flow alone.

With g = w (rho - rho_hat) and f the objective, convexity gives for every RUM rho'

    f(rho) - f(rho') <= <g, rho - rho'> <= <g, rho> - (cost of the cheapest ranking for the costs Z^T g),

so the right-hand side, the *gap*, bounds how far f(rho) is above the optimum; and ||rho - rho*||_w^2 <= gap. Nothing a solver
says enters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow._jit import kernel
from rumflow.paths import cheapest_below, down_pass, squeeze
from rumflow.transforms import transform_row, zeta, zeta_adjoint

Array = NDArray[np.float64]


class Certificate(NamedTuple):
    """What holds of a flow, whoever made it."""

    objective: float  # 1/2 sum w (rho - rho_hat)^2
    gap: float  # objective - optimum <= gap
    floor: float  # a gap below this is rounding
    least_flow: float  # smallest entry of the flow
    menu_error: float  # largest |sum of a menu's probabilities - 1|


@kernel
def menu_error(rho, n):
    """Largest distance of a menu's sum from 1."""
    worst = 0.0
    for menu in range(1, 1 << n):
        total = 0.0
        for x in range(n):
            if (menu >> x) & 1:
                total += rho[x, squeeze(menu, x)]
        worst = max(worst, abs(total - 1.0))
    return worst


@kernel
def _residual_row(rho, target, weights):
    """w (rho - rho_hat) in place of rho, for one row; sum w (rho - rho_hat)^2 and sum w rho_hat^2."""
    square = size = 0.0
    for j in range(rho.shape[0]):
        w = 1.0 if weights.shape[0] == 0 else weights[j]
        if w > 0.0:
            difference = rho[j] - target[j]
            square += w * difference * difference
            size += w * target[j] * target[j]
            rho[j] = w * difference
        else:
            rho[j] = 0.0
    return square, size


@kernel
def certify_stack(flows, targets, weights, work, below, out):
    """Certificates of small problems one after another: rows of `out` are the fields of `Certificate`."""
    n = work.shape[0]
    none = np.empty(0)
    for i in range(flows.shape[0]):
        work[:] = flows[i]
        for x in range(n):
            transform_row(work[x], n - 1, 1.0, False)
        error = menu_error(work, n)
        square = size = inner = 0.0
        for x in range(n):
            part, own = _residual_row(work[x], targets[i, x], weights[x] if weights.shape[0] else none)
            square += part
            size += own
            transform_row(work[x], n - 1, 1.0, True)
            for j in range(work.shape[1]):
                inner += work[x, j] * flows[i, x, j]
        down_pass(work, below, n, 0, 1 << n)
        out[i, 0] = 0.5 * square
        out[i, 1] = max(inner - below[below.shape[0] - 1], 0.0)
        out[i, 2] = size
        out[i, 3] = flows[i].min()
        out[i, 4] = error


def certify(flow: Array, target: Array, weights: Array | None, threads: int | None = None) -> Certificate:
    """The certificate of a flow, given the data; all in the internal layout, `weights` None for 1 everywhere."""
    n = flow.shape[0]
    none = np.empty(0)
    work = zeta(flow.copy(), threads)
    error = menu_error(work, n)
    parts = [_residual_row(work[x], target[x], none if weights is None else weights[x]) for x in range(n)]
    square, size = (float(sum(part)) for part in zip(*parts, strict=True))
    cost = zeta_adjoint(work, threads)
    inner = sum(float(np.sum(cost[x] * flow[x])) for x in range(n))
    cheapest = float(cheapest_below(cost, threads)[-1])
    return Certificate(0.5 * square, max(inner - cheapest, 0.0), rounding_floor(size), float(flow.min()), error)


def rounding_floor(size: float) -> float:
    """A gap this small is rounding, given size = sum w rho_hat^2: 64 units in the last place of 1/2 size."""
    return 32 * float(np.finfo(float).eps) * size
