"""Solved stacks on path inequalities: shares of pairs, with the cycles and multipliers that prove them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Mask
from rumflow.core.certificate import Certificate
from rumflow.core.pairs import Cycles
from rumflow.solvers.geometry import Faces, Fits
from rumflow.solvers.inequalities.faces import face_rows, pack_rows


class PairFit(NamedTuple):
    """Unknowns of the pairs that count, and what proves that no others are nearer by more than the gap."""

    x: Array
    cycles: Cycles
    multipliers: Array


@dataclass(eq=False)
class InequalityFits(Fits):
    """A solved stack on path inequalities."""

    found: list[PairFit]
    made: list[Certificate | None]  # where they were asked for

    @cached_property
    def certificates(self) -> list[Certificate]:
        """One for each problem."""
        return [
            self.geometry.certify(fit, target) if made is None else made
            for fit, target, made in zip(self.found, self.targets, self.made, strict=True)
        ]

    @cached_property
    def inside(self) -> Mask:
        """(B,): the data obey the inequalities themselves."""
        return np.array([certificate.is_rum for certificate in self.certificates], np.bool_)

    @cached_property
    def rho(self) -> Array:
        """(B, menus, width): shares; where a pair has no weight, in the middle of what the others leave."""
        return np.array([self.geometry.to_table(fit.x) for fit in self.found]).reshape(-1, *self.geometry.shape)

    @property
    def starts(self) -> Sequence[tuple[NDArray[Any], ...]]:
        """Cycles and multipliers."""
        return [(fit.cycles.start, fit.cycles.arc, fit.multipliers) for fit in self.found]

    @cached_property
    def faces(self) -> Faces:
        """Rows that hold with equality; none where the data are inside."""
        packed = [
            pack_rows(Cycles.none() if inside else face_rows(self.geometry.pairs, *fit))
            for fit, inside in zip(self.found, self.inside, strict=True)
        ]
        rows = [row for _, row in packed]
        return Faces.gather(np.array([counts for counts, _ in packed]), rows, [np.empty(0)] * len(rows))
