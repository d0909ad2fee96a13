"""`project_many`: many projections, side by side in threads; those over the same cells are one stack."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_option, check_tol
from rumflow.core.arrays import Array, Mixture
from rumflow.core.compile import clock
from rumflow.core.lattice import Lattice
from rumflow.core.memory import batch_bytes, require_memory
from rumflow.core.problem import Stop
from rumflow.core.threads import thread_count
from rumflow.data.accept import DataLike, as_data
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError, NotConvergedError
from rumflow.models.model import Model, require_model
from rumflow.output.progress import Counter
from rumflow.projection.batch_results import ProjectionBatch
from rumflow.projection.cost import find_or_stop
from rumflow.projection.observations import Observations, observe
from rumflow.projection.results import Projection
from rumflow.projection.stacks import read_stack, read_weights, require_finite
from rumflow.projection.starts import mixture_of, stack_starts
from rumflow.projection.status import INTERRUPTED_AT_THE_END, Status
from rumflow.solvers.active_set.on_lattice import pool_size
from rumflow.solvers.bounded.geometry import BoundedGeometry
from rumflow.solvers.geometry import USER_OPTIONS, Fits, Geometry
from rumflow.solvers.lattice import LatticeGeometry, plain_lattice
from rumflow.solvers.resources import ONE_THREAD, Resources
from rumflow.solvers.routes import ROUTES

_ALWAYS_FITS = 1 << 16  # numbers, in whatever stack: not worth counting bytes


def project_many(
    targets: ArrayLike | DataLike | Iterable[DataLike],
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
        Raise NotConvergedError if some projection is not "optimal", and after Ctrl-C.
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
    targets = as_data(targets)
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
        batch = ProjectionBatch(time.perf_counter() - begin, cone, found)
    else:
        views, fits, flat = _stack(problems, weights, tol, n, cone, start, Resources(threads), progress)
        batch = ProjectionBatch(time.perf_counter() - begin, cone, views, fits, flat)
    if throw:
        _raise_unless_done(batch)
    return batch


def _raise_unless_done(batch: ProjectionBatch) -> None:
    """An error that says how many are not optimal, and why; one after Ctrl-C in any case, so that nothing goes on."""
    short = [i for i, status in enumerate(batch.status) if status is not Status.OPTIMAL]
    if short:
        why = f"{len(short)} of {len(batch)} projections did not converge, the first of them number {short[0]}: "
        why += batch.status[short[0]].explain("tol", "start")
    elif batch.interrupted:
        why = INTERRUPTED_AT_THE_END
    else:
        return
    raise NotConvergedError(f"{why}; pass throw=False to get all of them with their certified gaps", batch)


def _stack(
    targets: ArrayLike,
    weights: ArrayLike | None,
    tol: float,
    n: int | None,
    cone: bool,
    start: ProjectionBatch | Projection | Sequence[Mixture | None] | None,
    resources: Resources,
    progress: bool,
) -> tuple[list[Projection], Fits, bool]:
    """A stack of arrays over all menus, on the lattice: its projections, all together, and whether it came as cells."""
    rows, flat = read_stack(targets, None if n is None else Lattice(n), asked=n is not None)
    lattice, count = Lattice(rows.shape[1]), len(rows)
    w = read_weights(weights, lattice)
    if rows.size > _ALWAYS_FITS:
        workers = min(thread_count(resources.threads), count)
        needed = batch_bytes(lattice.n, count, len(w) > 0, pool_size(lattice.n), workers)
        require_memory(needed - rows.nbytes, f"{count} projections for n = {lattice.n} items")
    require_finite(rows)
    if len(w):
        rows = np.where(w > 0, rows, 0.0)
    geometry = LatticeGeometry(lattice.n, w, cone) if len(w) else plain_lattice(lattice.n, cone)
    with Counter(progress, count, "projections") as counter:
        fits = geometry.solve(
            rows,
            Stop(tol),
            starts=stack_starts(start, count, lattice),
            options=USER_OPTIONS,
            resources=resources._replace(advance=counter.add),
        )
    seen = w > 0 if len(w) else None
    views = [
        Projection(Observations.on_lattice(target, seen), fits, i, tol, 0.0) for i, target in enumerate(fits.targets)
    ]
    return views, fits, flat


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
        with Counter(self.progress, len(data), "projections") as counter:
            return self._project(data, weights, model, route, counter.add)

    def _project(
        self,
        data: list[Any],
        weights: str | ArrayLike | None,
        model: Model | None,
        route: str | None,
        advance: Callable[[int], None],
    ) -> list[Projection]:
        begin = time.perf_counter()
        same: dict[Any, list[tuple[int, Observations]]] = {}  # data sets that share a graph
        models: dict[Any, Model] = {}
        require_model(model)
        check_option(route, "route", (None, *ROUTES))
        self._check_start(len(data))
        for i, one in enumerate(data):
            try:
                observations, own = observe(one, model)
                observations.weigh(weights)  # what is wrong with weights is said before anything is solved
                key = _cells_key(observations, isinstance(one, BudgetData))
            except InputError as fault:
                raise InputError(f"data set {i}: {fault}") from None
            models.setdefault(key, own)
            same.setdefault(key, []).append((i, observations))
        found: list[Projection | None] = [None] * len(data)
        options = USER_OPTIONS
        for key, members in same.items():
            i = members[0][0]
            weighing = ONE_THREAD
            try:
                geometry, built = self._geometry(members[0][1], models[key], route, options.begin)
                if not built:
                    options, weighing = options._replace(begin=False), weighing._replace(deadline=clock())
                stacks: dict[bytes, list[tuple[int, Observations, Array, Array]]] = {}
                for i, observations in members:
                    target, w = observations.lay_out(geometry, weights, weighing)
                    stacks.setdefault(w.tobytes(), []).append((i, observations, target, w))
            except InputError as fault:
                raise InputError(f"data set {i}: {fault}") from None
            for stack in stacks.values():
                own_geometry = geometry.weighted(stack[0][3])
                fits = own_geometry.solve(
                    np.array([target for _, _, target, _ in stack]),
                    Stop(self.tol),
                    starts=[self._start(i, own_geometry) for i, *_ in stack],
                    options=options,
                    resources=Resources(self.threads, advance=advance),
                )
                if "interrupted" in fits.reasons:
                    options = options._replace(begin=False)
                for k, (i, observations, _, _) in enumerate(stack):
                    found[i] = Projection(observations, fits, k, self.tol, time.perf_counter() - begin)
        return [fit for fit in found if fit is not None]

    @staticmethod
    def _geometry(observations: Observations, model: Model, route: str | None, begin: bool) -> tuple[Geometry, bool]:
        """Where data sets are projected, and whether they are: after Ctrl-C no graph is built that can be done without."""
        if not begin and model.is_random_utility:
            return BoundedGeometry(model, observations.cells), False
        return find_or_stop(observations, model, route)

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
