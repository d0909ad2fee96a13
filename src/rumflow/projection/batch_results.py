"""`ProjectionBatch`: the results of many projections, as arrays and one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Array, Mask, Mixture
from rumflow.core.certificate import Certificate
from rumflow.core.lattice import Lattice
from rumflow.errors import InputError
from rumflow.output.result import Result
from rumflow.projection.results import Projection
from rumflow.projection.stacks import read_stack, write_stack
from rumflow.projection.status import Status
from rumflow.solvers.derivatives import FaceTangent, jvp, vjp
from rumflow.solvers.geometry import Fits


@dataclass(frozen=True, eq=False, repr=False)
class ProjectionBatch(Result):
    """The projections of many problems; `batch[i]` is the i-th as a `Projection`.

    For a stack of arrays, `rho` and `flow` have the form of the input: (B, 2^n, n) or (B, N).

    Attributes
    ----------
    seconds : float
        Time taken by all of them.
    cone : bool
        Whether the projections are onto the cone of RUMs.

    Examples
    --------
    >>> import rumflow as rf
    >>> batch = rf.project_many([rf.simulate.dirichlet(3, seed=i) for i in range(4)])
    >>> len(batch), batch.rho.shape, batch.distance.round(3)
    (4, (4, 8, 3), array([0.444, 0.052, 0.019, 0.463]))
    >>> batch[1].rankings.orders.shape
    (5, 3)
    """

    seconds: float
    cone: bool
    _named = ("seconds", "cone")
    _listed = "projections"

    _projections: list[Projection] = field(repr=False)
    _fits: Fits | None = field(default=None, repr=False)  # of a stack of arrays
    _flat: bool = field(default=False, repr=False)  # it came as cells

    def __len__(self) -> int:
        return len(self._projections)

    def __getitem__(self, i: int) -> Projection:
        return self._projections[i]

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row per problem: problem (its number), distance, objective, gap, inside, iterations, status."""
        columns: dict[str, Any] = {"problem": np.arange(len(self)), "distance": self.distance}
        columns |= {"objective": self.objective, "gap": self.gap, "inside": self.inside, "iterations": self.iterations}
        return {name: column.tolist() for name, column in columns.items()} | {"status": list(map(str, self.status))}

    @property
    def certificates(self) -> list[Certificate]:
        """The certificate of each problem."""
        return [fit.certificate for fit in self._projections]

    @cached_property
    def status(self) -> list[Status]:
        """How each projection ended."""
        return [fit.status for fit in self._projections]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search for one of them."""
        return any(fit.interrupted for fit in self._projections)

    @property
    def iterations(self) -> NDArray[np.int64]:
        """(B,): number of passes for each problem."""
        return np.array([fit.iterations for fit in self._projections], np.int64)

    @property
    def inside(self) -> Mask:
        """(B,): whether the data satisfy the model, up to rounding and menu sums other than 1."""
        if self._fits is not None:
            return self._fits.inside
        return np.array([fit.inside for fit in self._projections], np.bool_)

    @property
    def mixtures(self) -> list[Mixture]:
        """Types and weights of each problem, to start from; empty where the data needed none."""
        return [fit.fits.mixtures[fit.index] for fit in self._projections]

    @property
    def lattice(self) -> Lattice:
        """The lattice of menus."""
        return Lattice(self[0].n if self._fits is None else self._fits.targets.shape[1])

    @property
    def objective(self) -> Array:
        """(B,): 1/2 sum w (rho - rho_hat)^2."""
        return np.array([c.objective for c in self.certificates])

    @property
    def distance(self) -> Array:
        """(B,): sqrt(2 objective)."""
        return np.sqrt(2 * self.objective)

    @property
    def gap(self) -> Array:
        """(B,): the certified gaps, upper bounds of objective - optimum."""
        return np.array([c.gap for c in self.certificates])

    @property
    def fitted(self) -> Array:
        """(B, m, n): fitted probabilities of the observed menus, where these are the same for all."""
        if len({fit.membership.tobytes() for fit in self._projections}) > 1:
            raise InputError("fitted: the problems have different menus; take them one by one, batch[i].fitted")
        return np.array([fit.fitted for fit in self._projections])

    @property
    def flow(self) -> Array:
        """Block-Marschak polynomials, every entry >= 0."""
        if self._fits is None:
            return np.array([fit.flow for fit in self._projections])
        return self._write(self._fits.flows)  # type: ignore[attr-defined]

    @property
    def rho(self) -> Array:
        """Projected probabilities."""
        if self._fits is None:
            return np.array([fit.rho for fit in self._projections])
        return self._write(self._fits.rho)

    @cached_property
    def _tangent(self) -> FaceTangent:
        if self.cone:
            raise InputError("derivatives are those of the projection onto RUM; this batch was projected onto the cone")
        assert self._fits is not None
        return FaceTangent(self._fits.geometry, self._fits.faces)

    def jvp(self, t: ArrayLike) -> Array:
        """Multiply the Jacobian of each projection by its row of t; see `Projection.jvp`.

        Parameters
        ----------
        t : array_like
            One row per problem, in the form of the input.

        Returns
        -------
        ndarray
            Of the shape of `t`.
        """
        if self._fits is None:
            return np.array([fit.jvp(own) for fit, own in zip(self._projections, self._each(t), strict=True)])
        tangent = self._tangent
        return self._write(jvp(tangent, self._fits.geometry.weights, self._rows(t)))

    def vjp(self, g: ArrayLike) -> Array:
        """Multiply the transposed Jacobian of each projection by its row of g; see `Projection.vjp`.

        Parameters
        ----------
        g : array_like
            One row per problem, in the form of the input.

        Returns
        -------
        ndarray
            Of the shape of `g`.
        """
        if self._fits is None:
            return np.array([fit.vjp(own) for fit, own in zip(self._projections, self._each(g), strict=True)])
        tangent = self._tangent
        return self._write(vjp(tangent, self._fits.geometry.weights, self._rows(g)))

    def _each(self, vectors: ArrayLike) -> Sequence[Any]:
        rows: Any = np.asarray(vectors)
        if len(rows) != len(self):
            raise InputError(f"{len(rows)} vectors for {len(self)} projections")
        return rows  # type: ignore[no-any-return]

    def _rows(self, vectors: ArrayLike) -> Array:
        rows, _ = read_stack(vectors, self.lattice)
        self._each(rows)
        return rows

    def _write(self, rows: Array) -> Array:
        return write_stack(rows, self._flat)

    def __repr__(self) -> str:
        solved = sum(status is Status.OPTIMAL for status in self.status)
        return (
            f"ProjectionBatch({len(self)} problem{'s'[: len(self) != 1]}, {solved} optimal, seconds={self.seconds:.2g})"
        )
