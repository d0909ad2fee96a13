"""Data that are RUM already, or are once their menus add up to 1.

RUM lies in the affine space where every menu adds up to 1, so data and their projection onto this space have the same projection
onto RUM. Where the latter has no negative Block-Marschak polynomial it is the answer.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array, Mask
from rumflow.core.compile import kernel, leaf
from rumflow.core.paths import conserve_kernel, squeeze
from rumflow.core.problem import Problem
from rumflow.core.transforms import moebius, transform_row

_ONE_CALL = 12  # up to this many items one kernel call is faster than threads


def inside_tolerance(n: int) -> float:
    """Rounding of a Block-Marschak polynomial: an alternating sum of up to 2^(n-1) probabilities."""
    return float(1.8e-15 * 2.0 ** (n / 2))


@leaf
def menu_surplus(rho, weights, n, menu):
    """What a menu's sum misses to 1, over the sum of 1 / w: 0 where it adds up, or where a cell was not observed."""
    weighted = weights.shape[0] > 0
    total = inverse = 0.0
    for x in range(n):
        if (menu >> x) & 1:
            column = squeeze(menu, x)
            total += rho[x, column]
            if not weighted:
                inverse += 1.0
            elif weights[x, column] > 0.0:
                inverse += 1.0 / weights[x, column]
            else:
                return 0.0
    return (1.0 - total) / inverse if abs(total - 1.0) > 1e-15 * n else 0.0


@leaf
def menus_add_up(rho, weights, n):
    """Would `normalise_menus` leave everything alone?"""
    for menu in range(1, 1 << n):  # noqa: SIM110  # compiled
        if menu_surplus(rho, weights, n, menu) != 0.0:
            return False
    return True


@leaf
def normalise_menus(rho, weights, n):
    """The w-orthogonal projection onto menus that add up to 1, in place.

    What adds up already is left alone, and so are menus with a cell that was not observed. No rows of weights: all 1.
    """
    for menu in range(1, 1 << n):
        share = menu_surplus(rho, weights, n, menu)
        if share != 0.0:
            for x in range(n):
                if (menu >> x) & 1:
                    column = squeeze(menu, x)
                    rho[x, column] += share / weights[x, column] if weights.shape[0] > 0 else share


@leaf
def inside_flow(rho, flow, through, tolerance):
    """Are complete data with menu sums of 1 RUM? Then `flow` is theirs, free of rounding; otherwise it is K rho."""
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


def menu_shares(member: Mask, weights: Array) -> Array:
    """How menus, rows of cells, spread their surplus: in the proportions 1/w; not at all where a cell does not count."""
    inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=member & (weights > 0))
    inverse[(member & (weights == 0)).any(axis=1)] = 0.0
    total = inverse.sum(axis=1, keepdims=True)
    shares: Array = np.divide(inverse, total, out=np.zeros_like(inverse), where=total > 0)
    return shares


def rum_membership(problem: Problem, threads: int | None = None) -> tuple[Array, Array | None]:
    """The data with menus that add up to 1, and their flow where they are RUM, which makes them the answer.

    This test works for complete data only.
    """
    target, weights, n = problem.target, problem.weights, problem.n
    tolerance, complete = inside_tolerance(n), problem.complete
    if n <= _ONE_CALL:
        rho, flow = np.empty_like(target), np.empty_like(target)
        return rho, flow if _try_inside(target, weights, complete, rho, flow, tolerance) else None
    rho = target
    if not menus_add_up(target, weights, n):
        rho = target.copy()
        normalise_menus(rho, weights, n)
    # Row by row: most data are not RUM, and with many items memory is scarce.
    if not complete or any(moebius(rho[x : x + 1].copy(), 1).min() < -tolerance for x in range(n)):
        return rho, None
    flow = moebius(rho.copy(), threads)
    conserve_kernel(flow, n, np.empty(1 << n))
    return rho, flow
