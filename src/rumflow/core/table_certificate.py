"""Lower bounds of a distance from rows of entries, where some unknowns have no weight.

Let every row say that its entries add up to 1 or more (a single entry: to 0 or more), as in `rumflow.core.pairs`, for all
unknowns x of a population, which are shares. For multipliers lam >= 0 of rows, S their signs and short(x) what they lack at x,

    1/2 sum w (x - p)^2  >=  lam' short(x_0) - 1/2 sum over w > 0 of (S' lam)^2 / w - sum over w = 0 of max(0, S' lam),

where x_0 is p on unknowns with a weight w, and 0 on the others: these are between 0 and 1, and the minimum over them is at an
end.
It holds for any multipliers, whoever found them, and for any rows that hold for all populations.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.pairs import Cycles


def table_bound(rows: Cycles, multipliers: Array, p: Array, weights: Array) -> float:
    """The bound above; a ValueError where a multiplier is negative or not a number."""
    if not (np.isfinite(multipliers).all() and (multipliers >= 0).all()):
        raise ValueError("a multiplier is negative, or not a number")
    counts = weights > 0
    x = np.where(counts, p, 0.0)
    entry, row = rows.arc, rows.row
    v, lacks = entry >> 1, (entry & 1) == 1
    length = np.bincount(row, np.where(lacks, 1.0 - x[v], x[v]), len(multipliers))
    pull = np.bincount(v, np.where(lacks, -multipliers[row], multipliers[row]), len(x))
    short = (rows.sizes > 1) - length
    free = float(np.maximum(pull[~counts], 0.0).sum())
    return float(multipliers @ short) - 0.5 * float((pull[counts] ** 2 / weights[counts]).sum()) - free
