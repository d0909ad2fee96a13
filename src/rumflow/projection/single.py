"""The nearest random utility model to given choice probabilities.

    minimise  1/2 sum over cells (D, x) of  w(D, x) (rho(D, x) - rho_hat(D, x))^2   over all RUMs rho

with w >= 0, and w = 0 on cells that were not observed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import as_floats, check_number, check_option, check_seconds, check_threads, check_tol
from rumflow.core.arrays import Array
from rumflow.core.compile import clock
from rumflow.core.lattice import Lattice
from rumflow.core.problem import NO_WEIGHTS, Stop
from rumflow.core.seeds import ZERO, Seed, either, entropy
from rumflow.core.transforms import moebius
from rumflow.data.accept import DataLike, as_data
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError, NotConvergedError
from rumflow.models.model import Model
from rumflow.output.progress import Reporter
from rumflow.projection.cost import find_geometry, find_or_stop
from rumflow.projection.fitted import Rankings
from rumflow.projection.inputs import items_from_shape
from rumflow.projection.observations import Observations, observe
from rumflow.projection.results import Projection
from rumflow.projection.starts import known_bound, mixture_of
from rumflow.projection.status import INTERRUPTED_AT_THE_END, Status
from rumflow.solvers.dispatch import METHODS
from rumflow.solvers.geometry import FIT_OPTIONS, USER_OPTIONS, Geometry, SolveOptions
from rumflow.solvers.resources import ALL_THREADS, ONE_THREAD, Progress, Resources


def project(
    data: DataLike | ArrayLike,
    weights: str | ArrayLike | None = None,
    method: str = "auto",
    tol: float = 1e-9,
    max_seconds: float | None = None,
    throw: bool = True,
    progress: bool | Callable[[Progress], None] = False,
    *,
    start: Rankings | Projection | None = None,
    threads: int | None = None,
    model: Model | None = None,
    route: str | None = None,
    seed: Seed = ZERO,
    rng: Seed = None,
) -> Projection:
    """Project choice probabilities onto the random utility models.

    Parameters
    ----------
    data : ChoiceData, BudgetData, array_like, path, data frame or dict
        An array has shape (2^n, n): row = menu bit mask, NaN = not observed. A path (or `"datasets:NAME"`), a data frame, a
        dict of columns and a dict of counts are read as by `ChoiceData.from_csv`, `from_frame` and `from_counts`. For
        BudgetData the result is the nearest rational demand; its menus are the budgets, its items their patches.
    weights : {None, "counts", "inverse-variance"} or array_like, default None
        None: 1 on every observed cell. "counts": the menu's sample size. "inverse-variance": the weights of Pearson's
        statistic, N_D / p with p the fit for "counts", moved towards uniform by one observation per item. An array
        shaped like `data.frequencies`, or over all menus: any weights >= 0, where 0 means not observed.
    method : {"auto", "rankings", "ipm"}, default "auto"
        "rankings": exact active set, best where the optimal face is small (data far from RUM, small samples). "ipm":
        interior point method with tree-preconditioned conjugate gradients, for large faces (large samples). "auto": the
        first, and the second where the active set outgrows it.
    tol : float, default 1e-9
        Stop when gap <= tol * objective, or when the gap is rounding: 64 units in the last place of
        1/2 sum w rho_hat^2.
    max_seconds : float, optional
        Stop after this time with the best point so far, as Ctrl-C does. None: no limit.
    throw : bool, default True
        Raise NotConvergedError unless the status is "optimal", and after Ctrl-C. False returns the best point with its status.
    progress : bool or callable, default False
        True for a line on the terminal, or a function that is called after every round.
    start : Rankings or Projection, optional
        An earlier fit to start from, or its rankings.
    threads : int, optional
        Threads for the passes over lattice or graph; the result is the same for any number.
    model : Model, optional
        Which types of choosers exist. None: all rankings, `RandomUtility()`.
    route : {None, "lattice", "graph", "bounded", "inequalities"}, default None
        None chooses by cost. "lattice": all menus, up to 24 items; needed for `method`. "graph": costs as much as what
        was observed, for any number of items. "bounded": see Notes. "inequalities": that of `TriangleInequalities`.
    seed, rng : int or numpy.random.Generator, default 0
        Seed of the search on the route "bounded". Two names of the same: give one.

    Returns
    -------
    Projection
        The nearest point of the model, with its certificate.

    Raises
    ------
    InputError
        If an argument is not accepted.
    NotConvergedError
        If `throw` is True and the status is not "optimal", or after Ctrl-C; its attribute `fit` holds the best point so far.

    Notes
    -----
    The problem is::

        minimise  1/2 sum over cells (D, x) of  w(D, x) (rho(D, x) - rho_hat(D, x))^2   over all members rho of the model

    with w >= 0, and w = 0 on cells that were not observed.

    The route "bounded" is for random utility where the graph is too large (many small menus over many items). Rankings
    are then found by search, and the gap is a bound that need not come within `tol`. In that case the status is
    "bounded" (or "max_seconds"), which throw=True raises like any other status that is not "optimal". A later call with
    start=fit continues from there. Without max_seconds the last kind of bound is given half a minute.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> fit = rf.project(data)
    >>> round(fit.distance, 4), fit.gap <= 1e-9 * fit.objective
    (0.1852, True)
    >>> {item: round(share, 2) for item, share in fit.probabilities(["a", "b"]).items()}
    {'a': 0.39, 'b': 0.61}
    """
    begin = time.perf_counter()
    check_option(method, "method", METHODS)
    max_seconds = check_seconds(max_seconds)
    seed = either(seed, rng)
    tol = check_tol(tol)
    if threads is not None:
        check_threads(threads)
    options = USER_OPTIONS
    if method != "auto" or seed != 0:
        options = options._replace(method=method, seed=entropy(seed))
    resources = ALL_THREADS
    if threads is not None or max_seconds is not None:
        resources = Resources(threads, None if max_seconds is None else clock() + max_seconds)

    def run(resources: Resources) -> Projection:
        observations, own = observe(as_data(data), model)
        geometry, built = find_or_stop(observations, own, route, method, resources.deadline)
        asked = options
        if not built:
            asked, resources = options._replace(begin=False), resources._replace(deadline=clock())
        return fit_observations(observations, geometry, weights, tol, start, asked, resources, begin)

    if progress:
        with Reporter(progress, tol) as report:
            fit = run(resources._replace(report=report))
    else:
        fit = run(resources)
    if throw and (fit.interrupted or (fit.fits.reasons[0] != "done" and fit.status is not Status.OPTIMAL)):
        why = INTERRUPTED_AT_THE_END if fit.status is Status.OPTIMAL else fit.status.explanation
        raise NotConvergedError(
            f"{why} (gap {fit.gap:.2g}, objective {fit.objective:.6g}, after {fit.seconds:.1f} s); "
            "the best point so far is the attribute `fit` of this error, or pass throw=False",
            fit,
        )
    return fit


def fit_observations(
    observations: Observations,
    geometry: Geometry,
    weights: str | ArrayLike | None = None,
    tol: float = 1e-9,
    start: Rankings | Projection | None = None,
    options: SolveOptions = FIT_OPTIONS,
    resources: Resources = ONE_THREAD,
    begin: float | None = None,
) -> Projection:
    """Project observations on a geometry; `begin`: when the clock for `seconds` started."""
    begin = time.perf_counter() if begin is None else begin
    target, w = observations.lay_out(geometry, weights, resources)
    if weights is not None and observations.data is None and geometry.has_all_menus:
        observations = Observations.on_lattice(target, w > 0)  # a weight of 0 says that a cell was not observed
    own = geometry if w is NO_WEIGHTS else geometry.weighted(w)
    starts = None
    if start is not None:
        starts = [mixture_of(start, own)]
        options = options._replace(lower=known_bound(start, own, target))
    fits = own.solve(target[None], Stop(tol), starts=starts, options=options, resources=resources)
    return Projection(observations, fits, 0, tol, time.perf_counter() - begin)


def project_exact(
    data: ChoiceData | BudgetData | ArrayLike,
    weights: str | ArrayLike | None = None,
    tol: float = 1e-9,
    *,
    model: Model | None = None,
    route: str | None = None,
) -> Projection:
    """The projection for what needs the optimum itself: an error where the graph is too large, none where the gap is.

    Ctrl-C raises.
    """
    observations, own = observe(data, model)
    geometry = find_geometry(observations, own, route, exact=True)
    return fit_observations(observations, geometry, weights, tol, resources=Resources(None))


def block_marschak(rho: DataLike | ArrayLike) -> Array:
    """Compute the Block-Marschak polynomials of complete choice probabilities.

    Parameters
    ----------
    rho : ChoiceData or array_like
        Probabilities of every menu; an array has shape (2^n, n).

    Returns
    -------
    ndarray of shape (2^n, n)
        The polynomials K rho. The probabilities are RUM exactly when none of them is negative.

    Raises
    ------
    InputError
        If some cells were not observed.

    Examples
    --------
    >>> rho = [[0, 0], [1, 0], [0, 1], [0.3, 0.7]]
    >>> block_marschak(rho).tolist()
    [[0.0, 0.0], [0.7, 0.0], [0.0, 0.30000000000000004], [0.3, 0.7]]
    """
    rho = as_data(rho)
    if isinstance(rho, ChoiceData):
        array = Observations(rho).over_all_menus()
    else:
        array = as_floats(rho, "rho")
        items_from_shape(array.shape)
    lattice = Lattice(array.shape[1])
    rows = lattice.to_internal(array)
    if np.isnan(rows).any():
        raise InputError("the Block-Marschak polynomials need every menu; some cells were not observed")
    return lattice.from_internal(moebius(rows))


def is_rum(rho: DataLike | ArrayLike, tol: float = 1e-9) -> bool:
    """Say whether probabilities are consistent with random utility.

    Parameters
    ----------
    rho : ChoiceData or array_like
        Probabilities of all menus or of some; an array has shape (2^n, n), with NaN for what was not observed.
    tol : float, default 1e-9
        Complete data: no Block-Marschak polynomial may be below -tol. Incomplete data: they must lie within a distance
        tol of a RUM.

    Returns
    -------
    bool

    Raises
    ------
    NotConvergedError
        If the distance could be computed only as a range that contains tol.

    Examples
    --------
    >>> import rumflow as rf
    >>> rf.is_rum(rf.simulate.rankings_mixture(4, seed=0)), rf.is_rum(rf.simulate.dirichlet(4, seed=0))
    (True, False)
    """
    check_number(tol, "tol", 0, np.inf, "[)")
    observations, model = observe(as_data(rho), None)
    geometry = find_geometry(observations, model)
    if geometry.has_all_menus:
        target, weights = observations.lay_out(geometry, None)
        if not len(weights) or (weights > 0).all():
            return bool(moebius(target.copy()).min() >= -tol)
    fit = fit_observations(observations, geometry, resources=Resources(None))
    if fit.distance > tol and 2 * (fit.objective - fit.gap) <= tol * tol and fit.status is not Status.OPTIMAL:
        raise NotConvergedError(
            f"is_rum: the distance is at most {fit.distance:.3g}, but it is not certified to be above tol={tol:g}: "
            f"{fit.status.explain('tol')}",
            fit,
        )
    return fit.distance <= tol
