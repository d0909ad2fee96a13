"""`project_many`: many projections, side by side in threads; those over the same cells are one stack."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import LARGEST, as_floats, check_option, check_tol
from rumflow.core.arrays import Array, Mask, Mixture
from rumflow.core.certificate import Certificate
from rumflow.core.lattice import MAX_ITEMS, Lattice, items_of
from rumflow.core.memory import batch_bytes, require_memory
from rumflow.core.paths import orders_from_paths, paths_from_orders, unsqueeze
from rumflow.core.problem import NO_WEIGHTS, Stop
from rumflow.core.threads import thread_count
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import format_menu
from rumflow.errors import InputError, NotConvergedError
from rumflow.models.model import Model, require_model
from rumflow.output.progress import Counter
from rumflow.projection.cost import find_geometry
from rumflow.projection.inputs import check_weights
from rumflow.projection.observations import Observations, observe
from rumflow.projection.results import Projection, Status
from rumflow.projection.single import mixture_of
from rumflow.solvers.active_set.on_lattice import pool_size
from rumflow.solvers.batch.kernels import Start
from rumflow.solvers.derivatives import FaceTangent, jvp, vjp
from rumflow.solvers.geometry import Fits, Geometry, Keep, SolveOptions
from rumflow.solvers.lattice import LatticeGeometry, plain_lattice
from rumflow.solvers.resources import Resources
from rumflow.solvers.routes import ROUTES


@dataclass(frozen=True, eq=False, repr=False)
class ProjectionBatch:
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
    _tol: float = field(repr=False)
    _given: list[Projection] | None = field(repr=False)  # of data sets
    _fits: Fits | None = field(default=None, repr=False)  # of a stack of arrays
    _flat: bool = field(default=False, repr=False)

    def __len__(self) -> int:
        return len(self._fits or self._given or ())

    @cached_property
    def _projections(self) -> list[Projection]:
        return [self._view(i) for i in range(len(self))] if self._given is None else self._given

    def _view(self, i: int) -> Projection:
        """A problem of a stack of arrays."""
        assert self._fits is not None
        weights, own = self._fits.geometry.weights, self._fits.targets[i]
        seen = weights > 0 if len(weights) else None
        return Projection(Observations.on_lattice(own, seen), self._fits, i, self._tol, 0.0)

    def __getitem__(self, i: int) -> Projection:
        return self._projections[i]

    @cached_property
    def certificates(self) -> list[Certificate]:
        """The certificate of each problem."""
        return [fit.certificate for fit in self._projections] if self._fits is None else self._fits.certificates

    @cached_property
    def status(self) -> list[Status]:
        """How each projection ended."""
        return [fit.status for fit in self._projections]

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
        if self._fits is not None:
            return self._fits.mixtures
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
        return self._shape(self._fits.flows)  # type: ignore[attr-defined]

    @property
    def rho(self) -> Array:
        """Projected probabilities."""
        if self._fits is None:
            return np.array([fit.rho for fit in self._projections])
        return self._shape(self._fits.rho)

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
        return self._shape(jvp(tangent, self._fits.geometry.weights, self._rows(t)))

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
        return self._shape(vjp(tangent, self._fits.geometry.weights, self._rows(g)))

    def _each(self, vectors: ArrayLike) -> Sequence[Any]:
        rows: Any = np.asarray(vectors)
        if len(rows) != len(self):
            raise InputError(f"{len(rows)} vectors for {len(self)} projections")
        return rows  # type: ignore[no-any-return]

    def _rows(self, vectors: ArrayLike) -> Array:
        rows, _ = _to_internal(vectors, self.lattice)
        self._each(rows)
        return rows

    def _shape(self, rows: Array) -> Array:
        lattice = Lattice(rows.shape[1])
        if self._flat:
            return lattice.internal_to_cells(rows)
        return np.array([lattice.from_internal(row, 1) for row in rows]).reshape(len(rows), *lattice.shape)

    def __repr__(self) -> str:
        solved = sum(status is Status.OPTIMAL for status in self.status)
        return (
            f"ProjectionBatch({len(self)} problem{'s'[: len(self) != 1]}, {solved} optimal, seconds={self.seconds:.2g})"
        )


_ALWAYS_FITS = 1 << 16  # numbers, in whatever stack: not worth counting bytes
_ITEMS = {n << (n - 1): n for n in range(1, MAX_ITEMS + 1)}  # by the number of cells


def project_many(
    targets: ArrayLike | ChoiceData | BudgetData | Iterable[ChoiceData],
    weights: str | ArrayLike | None = None,
    tol: float = 1e-9,
    *,
    n: int | None = None,
    cone: bool = False,
    start: ProjectionBatch | Projection | Sequence[Mixture | None] | None = None,
    throw: bool = True,
    threads: int | None = None,
    progress: bool = False,
    model: Model | None = None,
    route: str | None = None,
) -> ProjectionBatch:
    """Project many problems onto a model: arrays over the same cells, or data sets.

    Parameters
    ----------
    targets : array_like, or iterable of ChoiceData
        (B, 2^n, n) arrays or (B, N) cell vectors (`Lattice(n).cells`); any finite numbers, not only probabilities. Or a
        list of ChoiceData, with the same menus or not; those with the same menus share one graph.
    weights : str or array_like, optional
        For arrays: None (1 everywhere) or one array (2^n, n), or (N,) cells, for all problems; 0 = not observed. For
        data sets: as for `project`.
    tol : float, default 1e-9
        As for `project`.
    n : int, optional
        Number of items; needed where a stack of cell vectors could also be one array over all menus, such as (16, 4).
    cone : bool, default False
        For arrays: project onto the cone of RUMs, which are mixtures with any total instead of 1.
    start : ProjectionBatch, Projection or sequence of mixtures, optional
        An earlier batch of the same length, one projection for all, or for arrays a mixture (or None) for each.
    throw : bool, default True
        Raise NotConvergedError if some projection is not "optimal".
    threads : int, optional
        Problems run side by side in threads; results have the same bits for any number of threads, and for a batch of
        one.
    progress : bool, default False
        Show a line on standard error that counts the problems done.
    model, route : optional
        As for `project`. With either of them, arrays are probabilities over all menus, with NaN for what was not
        observed.

    Returns
    -------
    ProjectionBatch

    Raises
    ------
    InputError
        If an argument is not accepted.
    NotConvergedError
        If `throw` is True and some projection is not "optimal", or after Ctrl-C; its attribute `fit` holds the batch.
        With throw=False, Ctrl-C returns what is done, the rest marked as interrupted.

    Examples
    --------
    >>> import rumflow as rf
    >>> shares = [rf.simulate.dirichlet(3, seed=i) for i in range(4)]
    >>> rf.project_many(shares).distance.round(3)
    array([0.444, 0.052, 0.019, 0.463])
    >>> rf.project_many([rf.simulate.random_menus(12, 5, 3, seed=i) for i in range(2)]).inside
    array([ True,  True])
    """
    begin = time.perf_counter()
    tol, threads = check_tol(tol), thread_count(threads)
    problems: Any = [targets] if isinstance(targets, ChoiceData | BudgetData) else targets
    if isinstance(problems, Iterator):
        problems = list(problems)
    listed = not isinstance(problems, np.ndarray) and isinstance(problems, Iterable) and not isinstance(problems, str)
    if (
        (listed and any(isinstance(one, ChoiceData | BudgetData) for one in problems))
        or model is not None
        or route is not None
    ):
        for name, value, default in (("cone", cone, False), ("n", n, None)):
            if value is not default:
                raise InputError(f"{name}={value!r}: it is for stacks of arrays on the lattice; omit it here")
        found = _DataSets(tol, threads, progress, start).project(list(problems), weights, model, route)
        batch = ProjectionBatch(time.perf_counter() - begin, cone, tol, found)
    else:
        fits, flat = _stack(problems, weights, tol, n, cone, start, Resources(threads), progress)
        batch = ProjectionBatch(time.perf_counter() - begin, cone, tol, None, fits, flat)
    count, status = len(batch), [] if not throw else batch.status
    if any(s is not Status.OPTIMAL for s in status):
        first = next(i for i, s in enumerate(status) if s is not Status.OPTIMAL)
        raise NotConvergedError(
            f"{sum(s is not Status.OPTIMAL for s in status)} of {count} projections did not converge, the first of them "
            f"number {first}: {status[first].explanation}; pass throw=False to get all of them with their certified gaps",
            batch,
        )
    return batch


def _stack(
    targets: ArrayLike,
    weights: ArrayLike | None,
    tol: float,
    n: int | None,
    cone: bool,
    start: ProjectionBatch | Projection | Sequence[Mixture | None] | None,
    resources: Resources,
    progress: bool,
) -> tuple[Fits, bool]:
    """A stack of arrays over all menus, on the lattice."""
    rows, flat = _to_internal(targets, None if n is None else Lattice(n), asked=n is not None)
    lattice, count = Lattice(rows.shape[1]), len(rows)
    w = _weights(weights, lattice)
    if rows.size > _ALWAYS_FITS:
        workers = min(thread_count(resources.threads), count)
        needed = batch_bytes(lattice.n, count, len(w) > 0, pool_size(lattice.n), workers)
        require_memory(needed - rows.nbytes, f"{count} projections for n = {lattice.n} items")
    _require_finite(rows, lattice)
    if len(w):
        rows = np.where(w > 0, rows, 0.0)
    geometry = LatticeGeometry(lattice.n, w, cone) if len(w) else plain_lattice(lattice.n, cone)
    counter = Counter(progress, count, "projections")
    fits = geometry.solve(
        rows,
        Stop(tol),
        starts=_starts(start, count, lattice),
        options=_OPTIONS,
        resources=resources._replace(advance=counter.add),
    )
    return fits, flat


_OPTIONS = SolveOptions(keep=Keep.MIXTURES, partial=True)


@dataclass(frozen=True)
class _DataSets:
    """Projections of data sets, those over the same cells as one stack."""

    tol: float
    threads: int | None
    progress: bool
    start: ProjectionBatch | Projection | Sequence[Mixture | None] | None

    def project(
        self, data: list[Any], weights: str | ArrayLike | None, model: Model | None, route: str | None
    ) -> list[Projection]:
        """Project all of them."""
        begin = time.perf_counter()
        counter = Counter(self.progress, len(data), "projections")
        stacks: dict[Any, list[tuple[int, Observations, Array]]] = {}
        geometries: dict[Any, Geometry] = {}
        require_model(model)
        check_option(route, "route", (None, *ROUTES))
        self._check_start(len(data))
        for i, one in enumerate(data):
            try:
                observations, own = observe(one, model)
                key = _cells_key(observations, isinstance(one, BudgetData))
                if key not in geometries:
                    geometries[key] = find_geometry(observations, own, route)
                target, w = observations.lay_out(geometries[key], weights)
            except InputError as fault:
                raise InputError(f"data set {i}: {fault}") from None
            stacks.setdefault((key, w.tobytes()), []).append((i, observations, target))
            geometries[key, w.tobytes()] = geometries[key].weighted(w)
        found: list[Projection | None] = [None] * len(data)
        options = _OPTIONS
        for key, stack in stacks.items():
            geometry = geometries[key]
            fits = geometry.solve(
                np.array([target for _, _, target in stack]),
                Stop(self.tol),
                starts=[self._start(i, geometry) for i, _, _ in stack],
                options=options,
                resources=Resources(self.threads, advance=counter.add),
            )
            if "interrupted" in fits.reasons:
                options = options._replace(begin=False)
            for k, (i, observations, _) in enumerate(stack):
                found[i] = Projection(observations, fits, k, self.tol, time.perf_counter() - begin)
        return [fit for fit in found if fit is not None]

    def _check_start(self, count: int) -> None:
        if isinstance(self.start, ProjectionBatch) and len(self.start) != count:
            raise InputError(f"start: a batch of {len(self.start)} projections for {count} data sets")

    def _start(self, i: int, geometry: Geometry) -> Mixture | None:
        start = self.start
        if isinstance(start, ProjectionBatch):
            start = start[i]
        if start is None or isinstance(start, Projection):
            return None if start is None else mixture_of(start, geometry)
        raise InputError("start: with data sets, an earlier batch or a projection is needed")


def _cells_key(observations: Observations, budgets: bool) -> Any:
    """What data sets have in common that share a graph; budgets bring a model each."""
    if budgets:
        return id(observations)
    menus, recorded = observations.menus, ~np.isnan(observations.shares)
    return observations.items, menus.start.tobytes(), menus.item.tobytes(), recorded.tobytes()


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
    if isinstance(start, ProjectionBatch | Projection):
        n = start.n if isinstance(start, Projection) else start.lattice.n
        if n != lattice.n:
            raise InputError(f"start: a fit for n = {n} items, problems for n = {lattice.n}")
    if isinstance(start, Projection):
        if not start.geometry.has_all_menus:
            raise InputError("start: a fit over few menus of many items cannot start projections over all menus")
        return [Start(*start.mixture, np.empty(0))] * count
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
