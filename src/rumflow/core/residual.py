"""The residual w (rho - rho_hat) of a row of cells, from which every solver takes its prices.

Certificates do not use it: they have loops of their own, so that no mistake is shared with what they judge.
"""

from __future__ import annotations

from rumflow.core.compile import leaf, reduction


@reduction
def _square(row):
    total = 0.0
    for j in range(row.shape[0]):
        total += row[j] * row[j]
    return total


@reduction
def weighted_square(weights, row):
    """sum w row^2."""
    total = 0.0
    for j in range(row.shape[0]):
        total += weights[j] * row[j] * row[j]
    return total


@leaf
def residual_row(row, target, weights):
    """w (row - target) in place of the row, and 1/2 sum w (row - target)^2. Weights without entries are all 1.

    Where a weight is 0 the target may be anything, also NaN.
    """
    if weights.shape[0] > 0:
        for j in range(row.shape[0]):
            row[j] = row[j] - target[j] if weights[j] > 0.0 else 0.0
        objective = 0.5 * weighted_square(weights, row)
        for j in range(row.shape[0]):
            row[j] *= weights[j]
    else:
        for j in range(row.shape[0]):
            row[j] -= target[j]
        objective = 0.5 * _square(row)
    return objective
