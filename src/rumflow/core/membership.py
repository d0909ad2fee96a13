"""Data that are RUM already, or are once their menus add up to 1.

RUM lies in the affine space where every menu adds up to 1, so data and their projection onto this space have the same projection
onto RUM. Where the latter has no negative Block-Marschak polynomial it is the answer.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.compile import kernel, leaf
from rumflow.core.paths import conserve_kernel, squeeze
from rumflow.core.problem import Problem
from rumflow.core.transforms import moebius, transform_row

_ONE_CALL = 12  # up to this many items one kernel call is faster than threads


def inside_tolerance(n: int) -> float:
    """Rounding of a Block-Marschak polynomial: an alternating sum of up to 2^(n-1) probabilities."""
    return float(1.8e-15 * 2.0 ** (n / 2))


@leaf
def normalise_menus(rho, weights, n):
    """The w-orthogonal projection onto menus that add up to 1, in place.

    What adds up already is left alone, and so are menus with a cell that was not observed. No rows of weights: all 1.
    """
    weighted = weights.shape[0] > 0
    for menu in range(1, 1 << n):
        total = inverse = 0.0
        whole = True
        for x in range(n):
            if (menu >> x) & 1:
                column = squeeze(menu, x)
                total += rho[x, column]
                if not weighted:
                    inverse += 1.0
                elif weights[x, column] > 0.0:
                    inverse += 1.0 / weights[x, column]
                else:
                    whole = False
        if whole and abs(total - 1.0) > 1e-15 * n:
            share = (1.0 - total) / inverse
            for x in range(n):
                if (menu >> x) & 1:
                    column = squeeze(menu, x)
                    rho[x, column] += share / weights[x, column] if weighted else share


@leaf
def inside_flow(rho, flow, through, tolerance):
    """The flow of complete data with menu sums of 1, free of rounding, if they are RUM; where they are not False, and K rho."""
    n = rho.shape[0]
    least = 0.0
    for x in range(n):
        for j in range(flow.shape[1]):
            flow[x, j] = rho[x, j]
        transform_row(flow[x], n - 1, -1.0, np.bool_(False))
        for j in range(flow.shape[1]):
            least = min(least, flow[x, j])
    if least < -tolerance:
        return False
    conserve_kernel(flow, n, through)
    return True


@kernel
def _try_inside(target, weights, complete, rho, flow, tolerance):
    n = target.shape[0]
    for x in range(n):
        for j in range(target.shape[1]):
            rho[x, j] = target[x, j]
    normalise_menus(rho, weights, n)
    return complete and inside_flow(rho, flow, np.empty(1 << n), tolerance)


def rum_membership(problem: Problem, threads: int | None = None) -> tuple[Array, Array | None]:
    """The data with menus that add up to 1, and their flow where they are RUM, which makes them the answer.

    Only complete data can be told to be RUM this way.
    """
    target, weights, n = problem.target, problem.weights, problem.n
    tolerance, complete = inside_tolerance(n), problem.complete
    if n <= _ONE_CALL:
        rho, flow = np.empty_like(target), np.empty_like(target)
        return rho, flow if _try_inside(target, weights, complete, rho, flow, tolerance) else None
    rho = target.copy()
    normalise_menus(rho, weights, n)
    if not complete:
        return rho, None
    flow = moebius(rho.copy(), threads)
    if flow.min() < -tolerance:
        return rho, None
    conserve_kernel(flow, n, np.empty(1 << n))
    return rho, flow
