"""How much of the population can be rational?

The observed behaviour splits into a rational part and a rest, frequency = s rho + (1 - s) rest with rho a RUM and the rest any
behaviour at all. The largest possible s is

    max s   such that   s rho(D, x) <= frequency(D, x) on every observed cell,  rho RUM:

1 exactly when the frequencies are RUM. It describes the frequencies as they are: sampling noise alone keeps it below 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array
from rumflow.core.lattice import Lattice
from rumflow.core.paths import decompose, orders_from_paths
from rumflow.core.transforms import zeta
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.projection.inputs import prepare
from rumflow.projection.results import Rankings
from rumflow.projection.single import project_lattice
from rumflow.solvers.linear_programs import maximise_packing


@dataclass(frozen=True, eq=False, repr=False)
class RationalShare:
    """The largest share of the population that a RUM explains."""

    share: float
    upper: float  #: certified: no RUM explains more than this
    items: tuple[Item, ...]
    observed: Array = field(repr=False)  #: (2^n, n) the data, NaN where not observed
    _flow: Array = field(repr=False)  # of s rho, internal layout

    @property
    def gap(self) -> float:
        """upper - share."""
        return max(self.upper - self.share, 0.0)

    @property
    def part(self) -> Array:
        """(2^n, n) the rational part s rho, at most the data on every observed cell. One among many, as a rule."""
        return Lattice(len(self.items)).from_internal(zeta(self._flow.copy()))

    @property
    def rankings(self) -> Rankings:
        """The rational part as a mixture of rankings; the weights add up to the share."""
        paths, weights = decompose(self._flow)
        heaviest = np.argsort(-weights, kind="stable")
        return Rankings(orders_from_paths(paths[heaviest]), weights[heaviest], self.items)

    def __repr__(self) -> str:
        return f"RationalShare(share={self.share:.6f}, upper={self.upper:.6f})"


def rationalizable_share(data: ChoiceData | ArrayLike) -> RationalShare:
    """The largest share of the population whose behaviour a RUM can explain, whatever the rest does.

    data     ChoiceData, or a (2^n, n) array of probabilities with NaN for what was not observed.
    """
    problem = prepare(data, None)
    lattice = problem.lattice
    seen = np.ones(lattice.n_cells, np.bool_)
    if len(problem.weights):
        seen = lattice.internal_to_cells(problem.weights) > 0
    target = lattice.internal_to_cells(problem.target)
    seen &= np.bitwise_count(lattice.cells[:, 0]) >= 2
    observed = lattice.from_internal(lattice.cells_to_internal(np.where(seen, target, np.nan)))
    fit = project_lattice(data, throw=False)
    cells = np.flatnonzero(seen)
    if len(cells) == 0:  # no menu leaves a choice
        return RationalShare(1.0, 1.0, problem.items, observed, lattice.to_internal(fit.flow))
    found = maximise_packing(lattice, cells, target[cells], fit.mixture)
    return RationalShare(
        min(found.value, 1.0), min(max(found.bound, found.value), 1.0), problem.items, observed, found.flow
    )
