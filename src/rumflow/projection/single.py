"""The nearest random utility model to given choice probabilities.

    minimise  1/2 sum over cells (D, x) of  w(D, x) (rho(D, x) - rho_hat(D, x))^2   over all RUMs rho

with w >= 0, and w = 0 on cells that were not observed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Array
from rumflow.core.certificate import Certificate, certify, is_exact
from rumflow.core.compile import announce_compilation
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.membership import find_inside, inside_tolerance
from rumflow.core.paths import decompose, orders_from_paths, paths_from_orders, sample
from rumflow.core.seeds import Seed, generator
from rumflow.core.threads import check_threads
from rumflow.core.transforms import moebius, zeta, zeta_adjoint
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError, NotConvergedError
from rumflow.output.frames import make_frame
from rumflow.output.progress import Reporter
from rumflow.projection.inputs import Prepared, as_floats, items_from_shape, prepare
from rumflow.projection.table import fit_table
from rumflow.solvers.active_set.kernels import improve
from rumflow.solvers.active_set.solve import Progress
from rumflow.solvers.derivatives import Face, exact_product, make_face
from rumflow.solvers.dispatch import METHODS, solve
from rumflow.solvers.interior.ipm import IpmResult, solve_newton
from rumflow.solvers.small.solve import solve_from
from rumflow.solvers.small.workspace import is_small


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
        if self.problem.weights is not None:
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
    def _face(self) -> Face:
        return make_face(self.problem.target, self.problem.weights, *self.mixture)

    def jvp(self, t: ArrayLike) -> Array:
        """Change of rho when the data move by t, (2^n, n) to (2^n, n): the Jacobian of the projection times t.

        The Jacobian is the w-orthogonal projector onto the tangent space of the face of `rho`; where strict
        complementarity fails it is one element of the generalised Jacobian. After the interior point method it is that of the
        last point on the central path, which tends to the same as the gap closes.
        """
        return self._product(t, transpose=False)

    def vjp(self, g: ArrayLike) -> Array:
        """Gradient by the data, given the gradient g by rho: the transposed Jacobian times g."""
        return self._product(g, transpose=True)

    def _product(self, vector: ArrayLike, *, transpose: bool) -> Array:
        rows = self.lattice.to_internal(vector)
        weights = self.problem.weights
        if self.inside:
            product = exact_product(self.lattice, rows, weights, lambda: self._face, transpose=transpose)
        elif self.interior is not None:
            # J = Z (Q + D)^{-1} Z^T W on zero-flows, D = multipliers / flow: the derivative of the point on the central path.
            if weights is not None and not transpose:
                rows *= weights
            product = zeta(solve_newton(self.interior, zeta_adjoint(rows)))
            if weights is not None and transpose:
                product *= weights
        else:
            product = self._face.product(rows, transpose=transpose)
        return self.lattice.from_internal(product)

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


def project(
    data: ChoiceData | ArrayLike,
    weights: str | ArrayLike | None = None,
    method: str = "auto",
    tol: float = 1e-9,
    max_seconds: float | None = None,
    throw: bool = True,
    progress: bool | Callable[[Progress], None] = False,
    *,
    start: Rankings | Projection | None = None,
    threads: int | None = None,
) -> Projection:
    """Project choice probabilities onto the random utility models.

    data      ChoiceData, or a (2^n, n) array of probabilities: row = menu bit mask, NaN = not observed.
    weights   None: 1 on every observed cell. "counts": the menu's sample size. An array like the data: any weights >= 0,
              0 = not observed.
    method    "rankings": exact active set, best where the optimal face is small (data far from RUM, small samples).
              "ipm": interior point method with tree-preconditioned conjugate gradients, for large faces (large samples).
              "auto": the first, and the second where the active set outgrows it.
    tol       stop when gap <= tol * objective (or when the gap is rounding: 64 units in the last place of 1/2 sum w rho_hat^2).
    max_seconds, Ctrl-C   end with the best point so far; with throw=True as a NotConvergedError that holds it as `fit`.
    progress  True for a line on the terminal, or a function called after every round.
    start     an earlier fit to begin from, or its rankings.
    threads   for the lattice passes; the result is the same for any number.
    """
    begin = time.perf_counter()
    if method not in METHODS:
        raise InputError(f"method={method!r}: accepted are {', '.join(map(repr, METHODS))}")
    tol = check_tol(tol)
    if max_seconds is not None and not (isinstance(max_seconds, int | float) and max_seconds > 0):
        raise InputError(f"max_seconds={max_seconds!r}: a positive number of seconds is needed, or None")
    check_threads(threads)
    problem = prepare(data, weights)
    done = announce_compilation(solve_from if is_small(problem.lattice.n, problem.weights) else improve)
    if problem.complete:
        found = find_inside(problem.target, problem.weights, threads)
        if found is not None:
            certificate = certify(found.flow, problem.target, problem.weights, threads)
            seconds = time.perf_counter() - begin
            return Projection(
                certificate,
                Status.OPTIMAL,
                "moebius",
                0,
                seconds,
                tol,
                problem,
                found.flow,
                None,
                found.rho,
                inside=True,
            )
    with Reporter(progress, tol) as report:
        solved = solve(
            problem,
            method,
            tol=tol,
            deadline=None if max_seconds is None else begin + max_seconds,
            start=None if start is None else _check_start(start, problem.lattice.n),
            report=report,
            threads=threads,
        )
    done()
    certificate = certify(solved.flow, problem.target, problem.weights, threads)
    fit = Projection(
        certificate,
        status_of(certificate, tol, solved.reason),
        solved.method,
        solved.iterations,
        time.perf_counter() - begin,
        tol,
        problem,
        solved.flow,
        solved.mixture,
        inside=is_exact(certificate),
        interior=solved.interior,
    )
    if throw and fit.status is not Status.OPTIMAL:
        raise NotConvergedError(
            f"{fit.status.explanation} (gap {fit.gap:.2g}, objective {fit.objective:.6g}, after {fit.seconds:.1f} s); "
            "the best point so far is the attribute `fit` of this error, or pass throw=False",
            fit,
        )
    return fit


def status_of(certificate: Certificate, tol: float, reason: str) -> Status:
    """Converged means certified, whatever the solver thought."""
    finite = isfinite(certificate.objective + certificate.gap + certificate.floor)
    if finite and certificate.gap <= max(tol * certificate.objective, certificate.floor):
        return Status.OPTIMAL
    return {"max_seconds": Status.MAX_SECONDS, "interrupted": Status.INTERRUPTED}.get(reason, Status.STALLED)


def check_tol(tol: float) -> float:
    """A relative tolerance, checked."""
    if isinstance(tol, bool) or not isinstance(tol, int | float | np.floating) or not 0 < tol < 1:
        raise InputError(f"tol={tol!r}: a number between 0 and 1 is needed")
    return float(tol)


def _check_start(start: Rankings | Projection, n: int) -> tuple[NDArray[np.int32], Array]:
    given = start.rankings if isinstance(start, Projection) else start
    if not hasattr(given, "orders") or not hasattr(given, "weights"):
        raise InputError(f"start: an earlier fit or its rankings are needed, not {type(start).__name__}")
    orders, weights = np.asarray(given.orders), np.asarray(given.weights, np.float64)
    if orders.ndim != 2 or orders.shape[1] != n or len(orders) != len(weights) or len(weights) == 0:
        raise InputError(
            f"start: orders of shape (k, {n}) and k weights are needed, k >= 1; got {orders.shape}, {weights.shape}"
        )
    if not (np.sort(orders, axis=1) == np.arange(n)).all():
        raise InputError(f"start: every ranking must hold each of the items 0 to {n - 1} once")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise InputError("start: the weights must be 0 or more, and not all 0")
    keep = weights > 0
    return paths_from_orders(orders[keep].astype(np.int64)), weights[keep] / weights.sum()


def block_marschak(rho: ArrayLike) -> Array:
    """(2^n, n) Block-Marschak polynomials K rho of complete choice probabilities; RUM exactly when none is negative.

    >>> rho = [[0, 0], [1, 0], [0, 1], [0.3, 0.7]]
    >>> block_marschak(rho).tolist()
    [[0.0, 0.0], [0.7, 0.0], [0.0, 0.30000000000000004], [0.3, 0.7]]
    """
    array = as_floats(rho, "rho")
    lattice = Lattice(items_from_shape(array.shape))
    rows = lattice.to_internal(array)
    if np.isnan(rows).any():
        raise InputError("the Block-Marschak polynomials need every menu; some cells are NaN (not observed)")
    return lattice.from_internal(moebius(rows))


def is_rum(rho: ChoiceData | ArrayLike, tol: float = 1e-9) -> bool:
    """Are these probabilities consistent with random utility?

    Complete: no Block-Marschak polynomial below -tol. Incomplete: within a distance tol of a RUM.
    """
    problem = prepare(rho, None)
    if problem.complete:
        return bool(moebius(problem.target.copy()).min() >= -tol)
    return project(rho, throw=False).distance <= tol
