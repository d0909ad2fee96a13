"""Many projections over the same cells, side by side in threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Array, Mask, Mixture
from rumflow.core.certificate import Certificate
from rumflow.core.lattice import MAX_ITEMS, Lattice, items_of
from rumflow.core.memory import batch_bytes, require_memory
from rumflow.core.paths import orders_from_paths, paths_from_orders, unsqueeze
from rumflow.core.problem import NO_WEIGHTS
from rumflow.core.threads import thread_count
from rumflow.core.transforms import zeta
from rumflow.data.labels import format_menu
from rumflow.errors import InputError, NotConvergedError
from rumflow.output.progress import Counter
from rumflow.projection.inputs import LARGEST, as_floats, check_tol, check_weights
from rumflow.projection.lattice_results import LatticeProjection
from rumflow.projection.results import Projection, Status, status_of
from rumflow.solvers.active_set.on_lattice import pool_size
from rumflow.solvers.batch.kernels import Keep, Start
from rumflow.solvers.batch.projector import BatchProjector
from rumflow.solvers.batch.result import Faces
from rumflow.solvers.derivatives import FaceTangent, jvp, vjp
from rumflow.solvers.small.workspace import MOST_ITEMS


@dataclass(frozen=True, eq=False, repr=False)
class ProjectionBatch:
    """The projections of a stack of problems. `rho` and `flow` have the form of the input: (B, 2^n, n) or (B, N).

    >>> import rumflow as rf
    >>> batch = rf.project_many([rf.simulate.dirichlet(3, seed=i) for i in range(4)])
    >>> len(batch), batch.rho.shape, batch.distance.round(3)
    (4, (4, 8, 3), array([0.444, 0.052, 0.019, 0.463]))
    """

    lattice: Lattice
    certificates: list[Certificate]
    status: list[Status]
    iterations: NDArray[np.int64]  #: lattice passes of each problem
    seconds: float
    inside: Mask  #: the data are RUM themselves, up to rounding and menu sums other than 1
    mixtures: list[Mixture]  #: paths and weights of each problem, empty where the data are RUM; see `start`
    cone: bool
    _projector: BatchProjector = field(repr=False)
    _flows: Array = field(repr=False)  # (B, n, 2^(n-1))
    _targets: Array = field(repr=False)
    _flat: bool = field(repr=False)

    def __len__(self) -> int:
        return len(self._flows)

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
        """(B,): certified, objective - optimum <= gap."""
        return np.array([c.gap for c in self.certificates])

    @property
    def flow(self) -> Array:
        """Block-Marschak polynomials, every entry >= 0."""
        return self._shape(self._flows)

    @property
    def rho(self) -> Array:
        """Projected probabilities."""
        rows = self._flows.reshape(-1, self._flows.shape[-1]).copy()
        return self._shape(zeta(rows).reshape(self._flows.shape))

    @cached_property
    def _tangent(self) -> FaceTangent:
        if self.cone:
            raise InputError("derivatives are those of the projection onto RUM; this batch was projected onto the cone")
        inputs = zip(self.mixtures, self._flows, self.inside.tolist(), self._targets, strict=True)
        faces = [self._projector.face(*one) for one in inputs]
        return FaceTangent(self._projector, Faces.joined(faces))

    def jvp(self, t: ArrayLike) -> Array:
        """Jacobian of each projection times its row of t; see `Projection.jvp`."""
        return self._shape(jvp(self._tangent, self._projector.weights, self._rows(t)))

    def vjp(self, g: ArrayLike) -> Array:
        """Transposed Jacobian of each projection times its row of g."""
        return self._shape(vjp(self._tangent, self._projector.weights, self._rows(g)))

    def _rows(self, vectors: ArrayLike) -> Array:
        rows, _ = _to_internal(vectors, self.lattice)
        if len(rows) != len(self):
            raise InputError(f"{len(rows)} vectors for {len(self)} projections")
        return rows

    def _shape(self, rows: Array) -> Array:
        if self._flat:
            return self.lattice.internal_to_cells(rows)
        return np.array([self.lattice.from_internal(row, 1) for row in rows]).reshape(len(rows), *self.lattice.shape)

    def __repr__(self) -> str:
        solved = sum(status is Status.OPTIMAL for status in self.status)
        return (
            f"ProjectionBatch({len(self)} problems, n={self.lattice.n}, {solved} optimal, seconds={self.seconds:.2g})"
        )


_ALWAYS_FITS = 1 << 16  # numbers, in whatever stack: not worth counting bytes
_ITEMS = {n << (n - 1): n for n in range(1, MAX_ITEMS + 1)}  # by the number of cells


@lru_cache(maxsize=4)
def _projector(n: int, threads: int, cone: bool) -> BatchProjector:
    return BatchProjector(n, NO_WEIGHTS, threads, cone)


def project_many(
    targets: ArrayLike,
    weights: ArrayLike | None = None,
    tol: float = 1e-9,
    *,
    n: int | None = None,
    cone: bool = False,
    start: ProjectionBatch | Projection | Sequence[Mixture | None] | None = None,
    throw: bool = True,
    threads: int | None = None,
    progress: bool = False,
) -> ProjectionBatch:
    """Project a stack of vectors onto the random utility models, all over the same cells.

    targets   (B, 2^n, n) arrays or (B, N) cell vectors (`Lattice(n).cells`); any finite numbers, not only probabilities.
    weights   None (1 everywhere) or one array (2^n, n), or (N,) cells, for all problems; 0 = not observed.
    n         number of items; needed where a stack of cell vectors could also be one array over all menus, such as (16, 4).
    cone      project onto the cone of RUMs: mixtures with any total instead of 1.
    start     an earlier batch of the same length, one projection for all, or a mixture (or None) for each.

    Problems run side by side in threads; results have the same bits for any number of them, and for a batch of one. Ctrl-C ends
    with what is done, the rest marked as interrupted; with throw=True as a NotConvergedError that holds the batch as `fit`.

    >>> import rumflow as rf
    >>> shares = [rf.simulate.dirichlet(3, seed=i) for i in range(4)]
    >>> rf.project_many(shares).distance.round(3)
    array([0.444, 0.052, 0.019, 0.463])
    """
    begin = time.perf_counter()
    tol, workers = check_tol(tol), thread_count(threads)
    rows, flat = _to_internal(targets, None if n is None else Lattice(n), asked=n is not None)
    lattice = Lattice(rows.shape[1])
    count = len(rows)
    w = _weights(weights, lattice)
    if rows.size > _ALWAYS_FITS:
        needed = batch_bytes(lattice.n, count, len(w) > 0, pool_size(lattice.n), min(workers, count))
        require_memory(needed - rows.nbytes, f"{count} projections for n = {lattice.n} items")
    _require_finite(rows, lattice)
    if len(w):
        rows = np.where(w > 0, rows, 0.0)
    small = not len(w) and lattice.n <= MOST_ITEMS
    projector = _projector(lattice.n, workers, cone) if small else BatchProjector(lattice.n, w, workers, cone)
    counter = Counter(progress, count, "projections")
    result = projector.solve(
        rows,
        _starts(start, count, lattice),
        tol=tol,
        keep=Keep.RANKINGS,
        certify=True,
        partial=True,
        advance=counter.add,
    )
    certificates = [certificate for certificate in result.certificates if certificate is not None]
    reasons = ["interrupted" if cut else "stalled" for cut in result.interrupted.tolist()]
    batch = ProjectionBatch(
        lattice=lattice,
        certificates=certificates,
        status=[status_of(certificate, tol, why) for certificate, why in zip(certificates, reasons, strict=True)],
        iterations=result.rounds,
        seconds=time.perf_counter() - begin,
        inside=result.inside & (not cone),
        mixtures=[(one.paths, one.weights) for one in result.starts()],
        cone=cone,
        _projector=projector,
        _flows=result.flows,
        _targets=rows,
        _flat=flat,
    )
    status = batch.status
    if throw and any(s is not Status.OPTIMAL for s in status):
        first = next(i for i, s in enumerate(status) if s is not Status.OPTIMAL)
        raise NotConvergedError(
            f"{sum(s is not Status.OPTIMAL for s in status)} of {count} projections did not converge, the first of them "
            f"number {first}: {status[first].explanation}; pass throw=False to get all of them with their certified gaps",
            batch,
        )
    return batch


def _to_internal(values: ArrayLike, lattice: Lattice | None, asked: bool = False) -> tuple[Array, bool]:
    """A stack in the internal layout, and whether it came as cells; `asked`: the lattice was named by the argument n."""
    array = as_floats(values, "a stack of problems")
    n = array.shape[-1] if array.ndim == 2 else 0
    whole = (1 << n, n) if 0 < n <= MAX_ITEMS else None
    if array.ndim == 3 and 1 <= array.shape[2] <= MAX_ITEMS and array.shape[1] == 1 << array.shape[2]:
        own = Lattice(array.shape[2])
        rows = np.empty((len(array), *own.internal_shape))
        for i, one in enumerate(array):
            rows[i] = own.to_internal(one, 1)
        flat = False
    elif array.ndim == 2 and array.shape[1] in _ITEMS:
        own = Lattice(_ITEMS[array.shape[1]])
        if array.shape == whole and lattice is None:
            raise InputError(
                f"an array of shape {array.shape} is either one problem of {n} items or a stack of {len(array)} "
                f"problems of {own.n} items: pass array[None] for the former, n={own.n} for the latter"
            )
        rows, flat = own.cells_to_internal(array), True
    else:
        hint = "; for a single array over all menus pass array[None], or use project()" if array.shape == whole else ""
        raise InputError(
            "a stack of problems has shape (B, 2^n, n), or (B, N) with N = n 2^(n-1) cells; "
            f"this one has shape {array.shape}{hint}"
        )
    if lattice is not None and own != lattice:
        what = f"n={lattice.n}: the problems are those of" if asked else f"projections for n = {lattice.n}, vectors for"
        raise InputError(f"{what} n = {own.n} items")
    return rows, flat


def _require_finite(rows: Array, lattice: Lattice) -> None:
    fine = np.abs(rows) <= LARGEST
    if not fine.all():
        i, x, column = (int(v) for v in np.argwhere(~fine)[0])
        menu = unsqueeze.py_func(column, x)
        raise InputError(
            f"problem {i}: menu {format_menu(items_of(menu))} (mask {menu}), item {x} is {rows[i, x, column]}; "
            f"every number must be finite, at most {LARGEST:g} (mark unobserved cells by weight 0)"
        )


def _weights(weights: ArrayLike | None, lattice: Lattice) -> Array:
    if weights is None:
        return NO_WEIGHTS
    array = as_floats(weights, "weights")
    if array.shape == (lattice.n_cells,):
        array = lattice.from_internal(lattice.cells_to_internal(array))
    return check_weights(lattice, array, tuple(range(lattice.n)))


def _starts(
    start: ProjectionBatch | Projection | Sequence[Mixture | None] | None, count: int, lattice: Lattice
) -> list[Start | None] | None:
    if start is None:
        return None
    if isinstance(start, LatticeProjection | ProjectionBatch) and start.lattice != lattice:
        raise InputError(f"start: a fit for n = {start.lattice.n} items, problems for n = {lattice.n}")
    if isinstance(start, LatticeProjection):
        return [Start(*start.mixture, np.empty(0))] * count
    if isinstance(start, Projection):
        raise InputError("start: a fit over few menus of many items cannot start projections over all menus")
    mixtures: Sequence[Mixture | None] = start.mixtures if isinstance(start, ProjectionBatch) else start
    if len(mixtures) != count:
        raise InputError(f"start: {len(mixtures)} mixtures for {count} problems")
    checked: dict[int, Start | None] = {}  # many problems often begin from the same mixture
    for i, mixture in enumerate(mixtures):
        if id(mixture) not in checked:
            empty = mixture is None or len(mixture[1]) == 0
            checked[id(mixture)] = None if empty else _check_mixture(i, mixture, lattice)  # type: ignore[arg-type]
    return [checked[id(mixture)] for mixture in mixtures]


def _check_mixture(i: int, mixture: Mixture, lattice: Lattice) -> Start:
    """A kernel trusts its paths: they must be rankings of these items."""
    paths, weights = np.asarray(mixture[0]), np.asarray(mixture[1], np.float64)
    n = lattice.n
    fine = paths.ndim == 2 and paths.shape == (len(weights), n) and np.issubdtype(paths.dtype, np.integer)
    if fine:
        paths = np.ascontiguousarray(paths, np.int32)
        fine = bool((paths >= 0).all() and (paths < 1 << (n - 1)).all())
        fine = fine and bool((paths_from_orders(orders_from_paths(paths)) == paths).all())
    if not fine or not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
        raise InputError(
            f"start: mixture {i} must be paths of rankings of {n} items, (k, {n}) int32, and k weights >= 0, not all 0"
        )
    keep = weights > 0
    return Start(paths[keep], weights[keep], np.empty(0))
