"""A projection on the lattice of all menus: probabilities, flow, mixture of rankings, derivatives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import check_whole
from rumflow.core.arrays import Array, Ints, Mask, Mixture
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.membership import inside_tolerance
from rumflow.core.paths import decompose, flow_from_paths, orders_from_paths, sample
from rumflow.core.seeds import Seed, generator
from rumflow.core.transforms import moebius, zeta
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.errors import InputError
from rumflow.output.frames import make_frame
from rumflow.projection.inputs import Prepared
from rumflow.projection.results import Projection, Rankings
from rumflow.projection.table import fit_table
from rumflow.solvers.batch.projector import BatchProjector
from rumflow.solvers.derivatives import FaceTangent, InteriorTangent, Tangent, jvp, vjp
from rumflow.solvers.interior.ipm import IpmResult

_NO_MIXTURE: Mixture = (np.empty((0, 0), np.int32), np.empty(0))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LatticeProjection(Projection):
    """The nearest RUM on the lattice of all menus; `rho` and `flow` are the data's own where these are RUM already."""

    problem: Prepared
    _mixture: Mixture | None
    _given_flow: Array | None = None  # internal layout; None: that of the mixture
    _rho: Array | None = None  # internal layout, where it is known better than from the flow
    interior: IpmResult | None = None  #: where the interior point method left off, with its trace

    @cached_property
    def _flow(self) -> Array:
        if self._given_flow is not None:
            return self._given_flow
        return flow_from_paths(*self.mixture)

    @property
    def lattice(self) -> Lattice:
        """The lattice of menus."""
        return self.problem.lattice

    @property
    def complete(self) -> bool:
        """Was every cell of every menu observed?"""
        return self.problem.complete

    @property
    def weighted(self) -> bool:
        """Do some observed cells count more than others?"""
        return not set(np.unique(self.problem.weights)) <= {0.0, 1.0}

    @cached_property
    def rho(self) -> Array:
        """(2^n, n) projected probabilities, 0 outside the menu; the data themselves where they are RUM already."""
        return self.lattice.from_internal(zeta(self._flow.copy()) if self._rho is None else self._rho)

    @cached_property
    def flow(self) -> Array:
        """(2^n, n) Block-Marschak polynomials of the projection, every entry >= 0."""
        return self.lattice.from_internal(self._flow)

    @cached_property
    def observed(self) -> Array:
        """(2^n, n) the data; NaN where not observed, 0 outside the menu."""
        target = self.problem.target
        if len(self.problem.weights):
            target = np.where(self.problem.weights > 0, target, np.nan)
        return self.lattice.from_internal(target)

    @cached_property
    def mixture(self) -> Mixture:
        """Paths (see `rumflow.core.paths`) and weights of a mixture with these probabilities."""
        if self._mixture is not None:
            return self._mixture
        assert self._given_flow is not None
        return decompose(self._given_flow)

    @cached_property
    def rankings(self) -> Rankings:
        """A mixture of rankings with these probabilities: one among many when n >= 4, with few rankings."""
        paths, weights = self.mixture
        heaviest = np.argsort(-weights, kind="stable")
        return Rankings(orders_from_paths(paths[heaviest]), weights[heaviest], self.items)

    def sample(self, size: int, seed: Seed = None) -> NDArray[np.int64]:
        """`size` rankings drawn from the fitted flow, as rows of item numbers, best first."""
        return orders_from_paths(sample(self._flow, check_whole(size, "size"), generator(seed)))

    def menu_mask(self, menu: Iterable[Item]) -> int:
        """The bit mask of a menu given by labels."""
        return self.lattice.mask(self.members(menu).tolist())

    def probabilities(self, menu: Iterable[Item]) -> dict[Item, float]:
        """The fitted choice probabilities of one menu, by label."""
        mask = self.menu_mask(menu)
        return {self.items[x]: float(self.rho[mask, x]) for x in items_of(mask)}

    @cached_property
    def _masks(self) -> Ints:
        """The observed menus: those of the data, or of an array those of two items or more."""
        if self.problem.masks is not None:
            return self.problem.masks
        seen = ~np.isnan(self.observed) & self.lattice.membership
        return np.flatnonzero(seen.any(axis=1) & (self.lattice.membership.sum(axis=1) >= 2))

    @property
    def membership(self) -> Mask:
        """(m, n): the observed menus, as rows of truth values."""
        rows: Mask = self.lattice.membership[self._masks]
        return rows

    @property
    def frequencies(self) -> Array:
        """(m, n): the data on the observed menus, NaN on what was not recorded."""
        return np.where(self.membership, self.observed[self._masks], np.nan)

    @property
    def fitted(self) -> Array:
        """(m, n): fitted probabilities of the observed menus, NaN outside them."""
        return np.where(self.membership, self.rho[self._masks], np.nan)

    @property
    def types(self) -> Ints:
        """(k, m): the item each ranking of the mixture takes from each observed menu, in the order of `rankings`."""
        orders = self.rankings.orders
        rank = np.argsort(orders, axis=1)
        taken = [np.where(row, rank, self.n).argmin(axis=1) for row in self.membership]
        return np.array(taken, np.int64).reshape(-1, len(orders)).T

    @cached_property
    def _tangent(self) -> Tangent:
        if self.interior is not None and not self.inside:
            return InteriorTangent(self.interior)
        if self.method == "ipm" and not self.inside:
            raise InputError(
                "this fit was loaded from a file, which does not hold what the derivatives of the interior point method need: "
                "project the data again, with method='rankings' or start=fit"
            )
        projector = BatchProjector(self.lattice.n, self.problem.weights, 1)
        mixture = _NO_MIXTURE if self.inside and projector.complete else self.mixture
        return FaceTangent(projector, projector.face(mixture, self._flow, self.inside, self.problem.target))

    def jvp(self, t: ArrayLike) -> Array:
        """Change of rho when the data move by t, (2^n, n) to (2^n, n): the Jacobian of the projection times t.

        The Jacobian is the w-orthogonal projector onto the tangent space of the face of `rho`; where strict
        complementarity fails it is one element of the generalised Jacobian. After the interior point method it is that of the
        last point on the central path, which tends to the same as the gap closes.
        """
        return self.lattice.from_internal(jvp(self._tangent, self.problem.weights, self._rows(t))[0])

    def vjp(self, g: ArrayLike) -> Array:
        """Gradient by the data, given the gradient g by rho: the transposed Jacobian times g."""
        return self.lattice.from_internal(vjp(self._tangent, self.problem.weights, self._rows(g))[0])

    def _rows(self, vector: ArrayLike) -> Array:
        return self.lattice.to_internal(vector)[None]

    def violations(self, count: int | None = None) -> list[tuple[tuple[Item, ...], Item, float]]:
        """The Block-Marschak inequalities that the data violate, worst first: menu, item, value (complete data only)."""
        if not self.complete:
            raise InputError(
                "the Block-Marschak polynomials need every menu, and these data are incomplete; see fit.misfits()"
            )
        values = self.lattice.from_internal(moebius(self.problem.target.copy()))
        worst = np.argsort(values, axis=None, kind="stable")[:count]
        found = []
        for mask, x in zip(*np.unravel_index(worst, values.shape), strict=True):
            if values[mask, x] >= -inside_tolerance(self.lattice.n):
                break
            found.append((tuple(self.items[y] for y in items_of(mask)), self.items[x], float(values[mask, x])))
        return found

    def to_frame(self, data: ChoiceData | None = None, menus: str = "all", backend: str = "pandas") -> Any:
        """A data frame of menus, items, observed and fitted probabilities; see `rumflow.projection.table.fit_table`."""
        counts = None if data is None else (data.masks, data.counts)
        return make_frame(fit_table(self.items, self.observed, self.rho, self.flow, counts, menus), backend)

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        problem, arrays = self.problem, dict[str, NDArray[Any]]()
        if len(problem.weights) and not problem.complete:
            cells = np.flatnonzero(problem.weights)
            arrays |= {"cells": cells, "target": problem.target.flat[cells], "weights": problem.weights.flat[cells]}
        else:
            arrays["target"] = problem.target
            if len(problem.weights):
                arrays["weights"] = problem.weights
        if problem.masks is not None:
            arrays["masks"] = problem.masks
        if self._mixture is None:
            arrays["flow"] = self._flow
        else:
            arrays |= {"orders": self.rankings.orders, "shares": self.rankings.weights}
        if self._rho is not None:
            arrays["rho"] = self._rho
        return {"complete": problem.complete}, arrays
