"""What a projection found: probabilities, flow, mixture of rankings, certificate, derivatives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Array, Mixture
from rumflow.core.certificate import Certificate
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.membership import inside_tolerance
from rumflow.core.paths import decompose, orders_from_paths, sample
from rumflow.core.problem import Stop
from rumflow.core.seeds import Seed, generator
from rumflow.core.transforms import moebius, zeta
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.output.frames import make_frame
from rumflow.projection.inputs import Prepared
from rumflow.projection.table import fit_table
from rumflow.solvers.batch.projector import BatchProjector
from rumflow.solvers.derivatives import FaceTangent, InteriorTangent, Tangent, jvp, vjp
from rumflow.solvers.interior.ipm import IpmResult

_NO_MIXTURE: Mixture = (np.empty((0, 0), np.int32), np.empty(0))


class Status(StrEnum):
    """How a projection ended."""

    OPTIMAL = "optimal"
    STALLED = "stalled"
    MAX_SECONDS = "max_seconds"
    INTERRUPTED = "interrupted"

    @property
    def explanation(self) -> str:
        """Cause and remedy."""
        return {
            Status.OPTIMAL: "the certified gap is within the tolerance",
            Status.STALLED: "rounding stopped the progress before the tolerance was met: ask for a larger tol, "
            "or bring the weights closer together",
            Status.MAX_SECONDS: "the time limit max_seconds came first: allow more time, ask for a larger tol, "
            "or pass the rankings found so far as start",
            Status.INTERRUPTED: "it was interrupted: pass the rankings found so far as start to go on",
        }[self]


class Rankings(NamedTuple):
    """A mixture of rankings, heaviest first. One among many that give the same probabilities when n >= 4."""

    orders: NDArray[np.int64]  # (k, n) item numbers, best first
    weights: Array  # (k,)
    items: tuple[Item, ...]

    def labelled(self, count: int | None = None) -> list[tuple[tuple[Item, ...], float]]:
        """The `count` heaviest rankings with labels, best item first, and their weights."""
        return [
            (tuple(self.items[x] for x in order), float(weight))
            for order, weight in zip(self.orders[:count], self.weights[:count], strict=True)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Projection:
    """The nearest RUM, with its certificate.

    On menus that were not observed `rho` is what the returned mixture of rankings gives; other values fit the data as well.
    """

    certificate: Certificate  #: computed from `flow` and the data, not by the solver
    status: Status
    method: str
    iterations: int  #: lattice passes (rankings) or steps (ipm)
    seconds: float
    tol: float
    problem: Prepared
    _flow: Array = field(repr=False)  # internal layout
    _mixture: tuple[NDArray[np.int32], Array] | None = field(repr=False)
    _rho: Array | None = field(repr=False, default=None)  # internal layout, where it is known better than from the flow
    interior: IpmResult | None = field(
        repr=False, default=None
    )  #: where the interior point method left off, with its trace
    inside: bool = False  #: the data are RUM themselves, up to rounding and menu sums other than 1

    @property
    def objective(self) -> float:
        """1/2 sum w (rho - rho_hat)^2."""
        return self.certificate.objective

    @property
    def distance(self) -> float:
        """sqrt(2 objective): the weighted L2 distance of the data to RUM."""
        return float(np.sqrt(2 * self.objective))

    @property
    def gap(self) -> float:
        """Certified: objective - optimum <= gap."""
        return self.certificate.gap

    @property
    def items(self) -> tuple[Item, ...]:
        """The labels of the items."""
        return self.problem.items

    @property
    def lattice(self) -> Lattice:
        """The lattice of menus."""
        return self.problem.lattice

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
    def mixture(self) -> tuple[NDArray[np.int32], Array]:
        """Paths (see `rumflow.core.paths`) and weights of a mixture with these probabilities."""
        return decompose(self._flow) if self._mixture is None else self._mixture

    @cached_property
    def rankings(self) -> Rankings:
        """A mixture of rankings with these probabilities: one among many when n >= 4, with few rankings."""
        paths, weights = self.mixture
        heaviest = np.argsort(-weights, kind="stable")
        return Rankings(orders_from_paths(paths[heaviest]), weights[heaviest], self.items)

    def sample(self, size: int, seed: Seed = None) -> NDArray[np.int64]:
        """`size` rankings drawn from the fitted flow, as rows of item numbers, best first."""
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise InputError(f"size={size!r}: a number of rankings, 0 or more, is needed")
        return orders_from_paths(sample(self._flow, int(size), generator(seed)))

    def menu_mask(self, menu: Iterable[Item]) -> int:
        """The bit mask of a menu given by labels."""
        if isinstance(menu, str) or not isinstance(menu, Iterable):
            raise InputError(f"menu {menu!r}: give a menu as a list of items, such as {list(self.items[:2])!r}")
        members = tuple(menu)
        position = {label: x for x, label in enumerate(self.items)}
        for item in members:
            if item not in position:
                raise InputError(f"item {item!r} is unknown: the items are {format_menu(self.items)}")
        if len(set(members)) < len(members):
            twice = next(item for i, item in enumerate(members) if item in members[:i])
            raise InputError(f"menu {format_menu(members)}: item {twice!r} stands twice")
        return self.lattice.mask(position[item] for item in members)

    def probabilities(self, menu: Iterable[Item]) -> dict[Item, float]:
        """The fitted choice probabilities of one menu, by label."""
        mask = self.menu_mask(menu)
        return {self.items[x]: float(self.rho[mask, x]) for x in items_of(mask)}

    @cached_property
    def _tangent(self) -> Tangent:
        if self.interior is not None and not self.inside:
            return InteriorTangent(self.interior)
        projector = BatchProjector(self.lattice.n, self.problem.weights, 1)
        mixture = _NO_MIXTURE if self.inside and projector.complete else self.mixture
        return FaceTangent(projector, projector.face(mixture, self._flow, self.inside))

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
        if not self.problem.complete:
            raise InputError("the Block-Marschak polynomials need every menu; these data are incomplete")
        values = self.lattice.from_internal(moebius(self.problem.target.copy()))
        worst = np.argsort(values, axis=None, kind="stable")[:count]
        found = []
        for mask, x in zip(*np.unravel_index(worst, values.shape), strict=True):
            if values[mask, x] >= -inside_tolerance(self.lattice.n):
                break
            found.append((tuple(self.items[y] for y in items_of(mask)), self.items[x], float(values[mask, x])))
        return found

    def misfits(self, count: int | None = None) -> list[tuple[tuple[Item, ...], Item, float, float]]:
        """The observed cells furthest from the fit, worst first: menu, item, observed, fitted."""
        difference = np.abs(np.nan_to_num(self.observed - self.rho))
        found = []
        for mask, x in zip(
            *np.unravel_index(np.argsort(-difference, axis=None, kind="stable")[:count], difference.shape), strict=True
        ):
            if difference[mask, x] == 0:
                break
            menu = tuple(self.items[y] for y in items_of(mask))
            found.append((menu, self.items[x], float(self.observed[mask, x]), float(self.rho[mask, x])))
        return found

    def to_frame(self, data: ChoiceData | None = None, menus: str = "all", backend: str = "pandas") -> Any:
        """A data frame of menus, items, observed and fitted probabilities; see `rumflow.projection.table.fit_table`."""
        counts = None if data is None else (data.masks, data.counts)
        return make_frame(fit_table(self.items, self.observed, self.rho, self.flow, counts, menus), backend)

    def plot(self, ax: Any = None) -> Any:
        """Observed against fitted probabilities; see `rumflow.output.plots` for more pictures."""
        from rumflow.output.plots import plot_fit

        return plot_fit(self, ax)

    def __repr__(self) -> str:
        return (
            f"Projection(n={self.lattice.n}, distance={self.distance:.6g}, objective={self.objective:.6g}, "
            f"gap={self.gap:.2g}, status={self.status.value!r}, method={self.method!r}, seconds={self.seconds:.2g})"
        )


def status_of(certificate: Certificate, tol: float, reason: str) -> Status:
    """Converged means certified, whatever the solver thought."""
    if certificate.is_optimal(Stop(tol)):
        return Status.OPTIMAL
    return {"max_seconds": Status.MAX_SECONDS, "interrupted": Status.INTERRUPTED}.get(reason, Status.STALLED)
