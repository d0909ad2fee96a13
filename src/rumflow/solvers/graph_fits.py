"""Solved stacks on choice graphs: the fits of groups of menus, and what they are together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask, Mixture, Paths
from rumflow.core.certificate import Certificate
from rumflow.core.graph import cells_of_types
from rumflow.solvers.geometry import Faces, Fits, Keep


class Face(NamedTuple):
    """Types that span a face, and the factor of their matrix (empty: to be computed again)."""

    types: Paths  # (k, menus)
    factor: Array  # (k (k + 1) / 2,)


class Point(NamedTuple):
    """A mixture of types and a share of the inner point, which no few types make up."""

    types: Paths
    weights: Array
    rest: float


class PartStarts(tuple[Any, ...]):
    """Mixtures to begin from: types and weights of one group of menus after the other."""

    def part(self, p: int) -> Mixture:
        """Those of a group."""
        return self[2 * p], self[2 * p + 1]


class PartFit(NamedTuple):
    """A projection of some of the menus: the types of the fit, and what is certified, where it was asked for."""

    types: Paths
    weights: Array
    certificate: Certificate | None
    reason: str
    rounds: int
    face: Face | None = None  # None: the data are inside the model, or no face was asked for

    @property
    def mixture(self) -> Mixture:
        """Types and weights."""
        return self.types, self.weights


def couple(mixtures: Sequence[Mixture], menus: Sequence[Ints], most: int | None = None) -> tuple[Mixture, int]:
    """One mixture of types over all menus from mixtures over groups of menus: shares of the groups are paired in order.

    With `most` only the heaviest types, in the order of their weights: there may be as many as groups. And how many there are.
    """
    ends = np.unique(np.concatenate([np.cumsum(weights)[:-1] for _, weights in mixtures]))
    total = float(mixtures[0][1].sum())
    edges = np.concatenate([[0.0], ends[(ends > 0) & (ends < total)], [total]])
    shares = np.diff(edges)
    chosen = np.arange(len(shares)) if most is None else np.argsort(-shares, kind="stable")[:most]
    types = np.empty((len(chosen), sum(len(group) for group in menus)), np.int32)
    for (own, weights), group in zip(mixtures, menus, strict=True):
        place = np.searchsorted(np.cumsum(weights)[:-1], edges[chosen], side="right")
        types[:, group] = own[place]
    return (types, shares[chosen]), len(shares)


def restrict(mixture: Mixture, menus: Ints) -> Mixture:
    """A mixture as seen on some of the menus: types that are equal there become one."""
    if len(menus) == mixture[0].shape[1]:
        return mixture
    types, place = np.unique(mixture[0][:, menus], axis=0, return_inverse=True)
    weights = np.zeros(len(types))
    np.add.at(weights, place.reshape(-1), mixture[1])
    return types, weights


def total_certificate(parts: Sequence[Certificate]) -> Certificate:
    """The certificate of separate projections together."""
    columns = list(zip(*parts, strict=True))
    objective, gap, floor, size, scale = (float(sum(columns[i])) for i in (0, 1, 2, 5, 6))
    return Certificate(objective, gap, floor, min(columns[3]), max(columns[4]), size, scale)


@dataclass(eq=False)
class GraphFits(Fits):
    """A solved stack on choice graphs."""

    parts: list[list[PartFit]]  # of each problem, one for each group of menus
    keep: Keep = Keep.MIXTURES
    made_flows: dict[int, Array] = field(default_factory=dict, repr=False)

    @cached_property
    def certificates(self) -> list[Certificate]:
        """One for each problem."""
        return [
            total_certificate([one.certificate for one in own])  # type: ignore[misc]
            if own and all(one.certificate is not None for one in own)
            else self.geometry.certify(self.mixtures[i], self.targets[i])
            for i, own in enumerate(self.parts)
        ]

    @cached_property
    def inside(self) -> Mask:
        """(B,): the data are in the model themselves."""
        return np.array([certificate.is_rum for certificate in self.certificates], np.bool_)

    @cached_property
    def rho(self) -> Array:
        """(B, menus, width): fitted cells, one group of menus after the other: a mixture over all menus has more types."""
        rho: Array = np.zeros((len(self), *self.geometry.shape))
        for table, own in zip(rho, self.parts, strict=True):
            for one, menus in zip(own, self.geometry.menus, strict=True):
                table[menus] = cells_of_types(*one.mixture, (len(menus), rho.shape[2]))
        return rho

    @cached_property
    def mixtures(self) -> list[Mixture]:
        """Types over all menus, and their weights."""
        return [
            own[0].mixture if len(own) == 1 else couple([one.mixture for one in own], self.geometry.menus)[0]
            for own in self.parts
        ]

    def heaviest(self, i: int, count: int) -> tuple[Mixture, int]:
        """The heaviest types over all menus, and how many there are."""
        if "mixtures" in self.__dict__ or len(self.parts[i]) == 1:
            return super().heaviest(i, count)
        return couple([one.mixture for one in self.parts[i]], self.geometry.menus, count)

    @property
    def starts(self) -> list[PartStarts]:
        """What the next stack can start from."""
        return [PartStarts(array for one in own for array in one.mixture) for own in self.parts]

    def flow(self, i: int) -> Array:
        """The mixture of problem i as a flow on the lattice, where its types are rankings of few items; made once."""
        if i not in self.made_flows:
            self.made_flows[i] = self.geometry.flow(Point(*self.mixtures[i], 0.0))
        return self.made_flows[i]

    @cached_property
    def faces(self) -> Faces:
        """Types that span the faces."""
        own = self.geometry.faces
        packed: Faces = own.pack([own.find(self, i) for i in range(len(self))])
        return packed
