"""Data by observed menus: what choice graphs work on, for any number of items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_option
from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.graph_cells import Cells
from rumflow.core.lattice import MAX_ITEMS, Lattice
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.errors import InputError
from rumflow.projection.inputs import as_floats, items_from_shape, read_array, require_weights


class Observed(NamedTuple):
    """Data by observed menus."""

    items: tuple[Item, ...]
    membership: Mask  # (m, n)
    frequencies: Array  # (m, n), NaN on what was not recorded
    rows: Ints  # the menus of two items or more
    cells: Cells  # of these
    sizes: Array | None  # (m,)


def observe(data: ChoiceData | ArrayLike) -> Observed:
    """The observed menus of data, or those of two items or more of a (2^n, n) array with NaN for what was not observed."""
    if isinstance(data, ChoiceData):
        items, membership, frequencies, sizes = data.items, data.membership, data.frequencies, data.totals
    else:
        array = np.ascontiguousarray(as_floats(data, "data"))
        lattice = Lattice(items_from_shape(array.shape))
        read_array(lattice, array, tuple(range(lattice.n)))  # for its checks
        seen = ~np.isnan(array) & lattice.membership
        masks = np.flatnonzero(seen.any(axis=1) & (lattice.membership.sum(axis=1) > 1))
        items, membership, sizes = tuple(range(lattice.n)), lattice.membership[masks], None
        frequencies = np.where(seen[masks], array[masks], np.nan)
    return gather(items, membership, frequencies, sizes)


def gather(items: tuple[Item, ...], membership: Mask, frequencies: Array, sizes: Array | None) -> Observed:
    """Observed menus with the cells that were recorded of them."""
    rows = np.flatnonzero(membership.sum(axis=1) > 1)
    if len(rows) == 0:
        raise InputError("no menu of two or more items was observed: every menu leaves no choice")
    recorded = ~np.isnan(frequencies)
    return Observed(items, membership, frequencies, rows, Cells(membership[rows], recorded[rows], items), sizes)


def cell_weights(observed: Observed, weights: str | ArrayLike | None) -> Array:
    """(m, n): weights of the recorded cells, 0 elsewhere."""
    recorded = ~np.isnan(observed.frequencies)
    if weights is None:
        return recorded.astype(np.float64)
    if isinstance(weights, str):
        check_option(weights, "weights", (None, "counts"), f"an array of shape {recorded.shape}")
        if observed.sizes is None:
            raise InputError("weights='counts' needs ChoiceData: an array of probabilities has no sample sizes")
        w = recorded * observed.sizes[:, None]
    else:
        w = as_floats(weights, "weights")
        n = len(observed.items)
        if n <= MAX_ITEMS and w.shape == (1 << n, n) != recorded.shape:
            w = w[observed.membership @ (1 << np.arange(n))]
        if w.shape != recorded.shape:
            raise InputError(f"weights: an array of shape {recorded.shape} is needed, not {w.shape}")
        w = np.where(observed.membership, w, 0.0)
        unseen = (w > 0) & ~recorded
        if unseen.any():
            i, x = (int(v) for v in np.argwhere(unseen)[0])
            raise InputError(
                f"weights: {_name(observed, i, x)} has weight {w[i, x]:g} but was not recorded; give it weight 0"
            )
    require_weights(w, lambda i: _name(observed, *divmod(i, w.shape[1])))
    return np.asarray(w, np.float64)


def _name(observed: Observed, menu: int, item: int) -> str:
    members = ", ".join(str(observed.items[x]) for x in np.flatnonzero(observed.membership[menu]))
    return f"menu {{{members}}}, item {observed.items[item]!r}"
