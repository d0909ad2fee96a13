"""The most likely weights of given types, each to its own last digits.

    maximise  F(w) = sum over cells of  count log rho - N sum(w)  over w >= 0,    rho(cell) = sum of w over the types that take it

N is the number of choices: F is largest where the weights add up to 1 and the likelihood is largest. There no type costs more
than N, where its *price* is the sum of count / rho over what it takes. A barrier mu sum(log w) is added and lowered step by step;
Newton's method in relative changes z = dw / w solves

    (B B' + mu) z = w (price - N) + mu,      B(t, cell) = w_t sqrt(count) / rho  where type t takes the cell

whose right side has an error in proportion to w_t: a share of 1e-11 comes out to as many digits as one of 1. A projection cannot
do that, as its rounding is that of the largest cell; and the certificate, which divides counts by probabilities, needs it.

With k types the solution for mu has price = N - mu / w and sum(w) = 1 + k mu / N: made to add up to 1, no type costs more than
N + k mu.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular

from rumflow.core.arrays import Array, Ints
from rumflow.core.patience import check_patience

_FIRST = 1e-3  # the first barrier, k mu, as a part of N
_MOST_STEPS = 40  # with each barrier
_EPS = float(np.finfo(float).eps)


def most_likely_weights(takes: Ints, counts: Array, weights: Array, accuracy: float, first: float = np.inf) -> Array:
    """(k,): weights with which no type costs more than N + accuracy, or as near as rounding allows.

    takes     (k, m): the numbers of the cells that each type takes
    counts    of all cells; what was never chosen has no part in the likelihood, nor have cells that no type takes
    weights   (k,): where to begin, all positive
    first     the first barrier, k mu, where less than usual will do: how much more than N a type costs now
    """
    cells = np.unique(takes)
    cells = cells[counts[cells] > 0]
    number = np.full(len(counts), -1)
    number[cells] = np.arange(len(cells))
    matrix = np.zeros((len(takes), len(cells)))
    row, menu = np.nonzero(number[takes] >= 0)
    matrix[row, number[takes[row, menu]]] = 1.0
    count = counts[cells]
    total, k = float(count.sum()), len(takes)
    w: Array = weights
    last = 0.5 * accuracy / k
    mu = max(min(_FIRST * total, first) / k, last)
    while True:
        # No price is negative, so that no weight is below mu / N at the solution; from further below it is many steps away.
        w = _centre(matrix, count, np.maximum(w, mu / total), mu)
        if mu <= last:
            break
        mu = max(0.1 * mu, last)
    return np.asarray(w / w.sum(), np.float64)


def _centre(matrix: Array, count: Array, w: Array, mu: float) -> Array:
    """The weights where F(w) + mu sum(log w) is largest, from others."""
    total = float(count.sum())
    for _ in range(_MOST_STEPS):
        check_patience()  # with thousands of types a step takes seconds
        rho = w @ matrix
        slope = w * (matrix @ (count / rho) - total) + mu
        z = _step(w[:, None] * matrix * (np.sqrt(count) / rho), slope, mu)
        gain, least = float(slope @ z), float(z.min())
        step = min(1.0, -0.9 / least) if least < 0 else 1.0
        while True:
            change = step * z
            rise = float((count * np.log1p((w * change) @ matrix / rho)).sum()) - total * float((w * change).sum())
            rise += mu * float(np.log1p(change).sum())
            if rise >= 1e-4 * step * gain - 8 * _EPS * total:
                break
            step *= 0.5
            if step < 1e-12:
                return w
        w = w * (1.0 + change)
        if gain <= 1e-3 * mu:
            break
    return w


def _step(scaled: Array, slope: Array, mu: float) -> Array:
    """The solution z of (B B' + mu) z = slope.

    The factor is made of B itself: B B' would hide counts of 1 beside 1e12 in its rounding, and have no factor at all.
    """
    k = len(scaled)
    unit = np.sqrt((scaled * scaled).sum(axis=1) + mu)
    rows = np.concatenate([scaled.T, np.sqrt(mu) * np.eye(k)]) / unit
    rows = rows[np.argsort(-np.abs(rows).max(axis=1), kind="stable")]  # large rows first: small ones keep their digits
    factor = qr(rows, mode="r", overwrite_a=True, check_finite=False)[0][:k]
    half = solve_triangular(factor, slope / unit, trans="T", check_finite=False)
    found: Array = solve_triangular(factor, half, check_finite=False) / unit
    return found
