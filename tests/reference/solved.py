"""One problem, solved on a geometry and taken out of its stack of one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Paths
from rumflow.core.certificate import Certificate
from rumflow.core.problem import Stop
from rumflow.solvers.geometry import Keep, SolveOptions
from rumflow.solvers.resources import Resources


class One(NamedTuple):
    """What is known of the problem."""

    table: Array
    types: Paths
    weights: Array
    certificate: Certificate
    reason: str
    rounds: int


def solve_one(geometry, target, weights=None, tol=1e-9, start=None, only_upper=False, partial=False, **resources):
    """Project one table; without weights those of the geometry itself. Further arguments: see `Resources`."""
    own = geometry if weights is None else geometry.weighted(weights)
    options = SolveOptions(keep=Keep.MIXTURES, only_upper=only_upper, partial=partial)
    starts = None if start is None else [start]
    fits = own.solve(target[None], Stop(tol), starts=starts, options=options, resources=Resources(**resources))
    assert len(fits) == len(fits.certificates) == len(fits.mixtures) == 1
    assert np.array_equal(fits.targets, target[None])
    return One(fits.rho[0], *fits.mixtures[0], fits.certificates[0], fits.reasons[0], int(fits.rounds[0]))
