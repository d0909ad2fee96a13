"""Block-Marschak inequalities that bind at a fit, with their multipliers.

The gradient of the statistic in the probabilities becomes a cost per edge of the lattice. Through an edge (menu, item) a ranking
pays the cost of the edge and of the cheapest way down from the menu that is left. The excess of that over the cheapest way down
from the menu itself is the multiplier of "the flow through this edge is not negative".
"""

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.paths import cheapest_below, squeeze
from rumflow.core.transforms import zeta_adjoint
from rumflow.inference.sample import Sample

_FLOOR = 1e-7  # multipliers below this part of the largest cost are rounding
_FLOWS = 1e-12  # flow above which an inequality does not bind


def binding_edges(
    sample: Sample, scale: float, flow: Array, fitted: Array, count: int | None = None
) -> list[tuple[tuple[int, ...], int, float]]:
    """Return (items of the menu, item, multiplier), strongest first.

    Parameters
    ----------
    sample : Sample
        The data that were fitted.
    scale : float
        What the squared distance is multiplied by.
    flow : ndarray of shape (n, 2^(n-1))
        The flow of the fit.
    fitted : ndarray of shape (s,)
        Its probabilities on the recorded cells.
    count : int, optional
        The largest number to list; None: all.
    """
    lattice = Lattice(len(flow))
    means, _, total = sample.pool(sample.frequency[None], sample.weights)
    gradient = 2 * scale * total * (fitted - means[0])
    cost = zeta_adjoint(sample.projector.to_lattice(gradient))
    below = cheapest_below(cost)
    mask, item = lattice.cells.T
    value = cost[item, squeeze.py_func(mask, item)] + below[mask ^ (np.int64(1) << item)] - below[mask]
    floor = _FLOOR * max(float(np.abs(cost).max()), 1e-300)
    value[(value <= floor) | (lattice.internal_to_cells(flow) > _FLOWS)] = 0.0
    order = np.argsort(-value, kind="stable")[: np.count_nonzero(value)][:count]
    return [(items_of(mask[c]), int(item[c]), float(value[c])) for c in order]
