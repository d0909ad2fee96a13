"""Names for the arrays that everything else is made of."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Paths = NDArray[np.int32]  #: (k, n): rankings as paths on the lattice (`rumflow.core.paths`)
Mixture = tuple[Paths, Array]  #: paths and their weights


def nan_where_masked(values: Any) -> Any:
    """A NumPy masked array with NaN where it is masked, also inside lists and tuples; anything else as it is.

    `np.asarray` would drop the mask without a word.
    """
    masked = sys.modules.get("numpy.ma")
    if masked is None:  # not loaded: nobody can have made one
        return values
    if isinstance(values, masked.MaskedArray):
        return values.astype(np.float64).filled(np.nan)
    if isinstance(values, list | tuple) and any(hasattr(v, "mask") or isinstance(v, list | tuple) for v in values):
        return [nan_where_masked(v) for v in values]
    return values
