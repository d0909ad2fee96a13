"""Names for the arrays that everything else is made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Paths = NDArray[np.int32]  #: (k, n): rankings as paths on the lattice (`rumflow.core.paths`)
Mixture = tuple[Paths, Array]  #: paths and their weights
