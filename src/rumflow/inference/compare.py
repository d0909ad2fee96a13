"""Models side by side: how far the data are from each, and how likely they are under the best of its mixtures.

Where the types of one model are types of another, its distance is at least as large. Whether a distance is more than chance
explains is what a test of each model says (`rumflow.rum_test`), with the same seed for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_replicates, check_seconds, check_threads, check_tol
from rumflow.core.compile import clock
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.patience import OutOfTimeError, limited
from rumflow.core.seeds import ZERO, Seed, entropy
from rumflow.data.accept import DataLike, as_data
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import count_items
from rumflow.errors import InputError
from rumflow.inference.likelihood import ImpossibleChoiceError, maximise_likelihood
from rumflow.inference.notes import ASSUMPTION
from rumflow.inference.plan import JobOptions, Plan
from rumflow.inference.result import RumTest
from rumflow.inference.source import Source
from rumflow.inference.test import run_test
from rumflow.models.model import Model
from rumflow.models.nesting import lies_in
from rumflow.output.names import how_many
from rumflow.output.progress import Reporter, Stage
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.projection.cost import find_or_stop
from rumflow.projection.observations import observe
from rumflow.projection.results import Projection
from rumflow.projection.single import fit_observations
from rumflow.projection.status import Status
from rumflow.solvers.geometry import USER_OPTIONS
from rumflow.solvers.resources import Progress, Resources


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Result):
    """Projections of the same data onto several models.

    Attributes
    ----------
    fits : dict of str to Projection
        By name of the model.
    tests : dict of str to RumTest
        Of each model; empty where no replicates were asked for.
    logliks : dict of str to float
        The largest log-likelihood of each model: None where no certified value was found, no entry where it was not asked for
        or does not exist.
    interrupted : bool
        Whether Ctrl-C came before all was computed; the other models have what was done by then.
    nested : tuple of pairs
        Names (inner, outer) of models of which the first certainly lies in the second, on these menus: its types are among those
        of the other. Others may be nested as well.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> rf.compare_models(data, {"every ranking": rf.RandomUtility()}).table["model"]
    ['every ranking']
    """

    _listed = "models"

    fits: dict[str, Projection]
    tests: dict[str, RumTest]
    logliks: dict[str, float | None]
    interrupted: bool = False
    nested: tuple[tuple[str, str], ...] = ()

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns model, distance, pvalue (if tested), loglik (if it exists), gap, types (if any), nodes, seconds, status."""
        names = ("model", "distance", "pvalue", "loglik", "gap", "types", "nodes", "seconds", "status")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for name, fit in self.fits.items():
            nodes = fit.geometry.n_nodes
            pvalue = float(self.tests[name].pvalue) if name in self.tests else None
            loglik = self.logliks.get(name)
            types = len(fit.types) if fit.model.has_types else None
            row = (name, fit.distance, pvalue, loglik, fit.gap, types, nodes, fit.seconds, str(fit.status))
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        given = {"pvalue": bool(self.tests), "loglik": bool(self.logliks)}
        return {name: column for name, column in columns.items() if given.get(name, True)}

    def parts(self) -> list[str | Table]:
        """Return the table of the summary."""
        return [self.as_table()]

    def as_table(self) -> Table:
        """Return the comparison for the terminal."""
        shown = {name: column for name, column in self.table.items() if name not in ("gap", "seconds")}
        first = next(iter(self.fits.values()))
        shown["distance"] = [
            0.0 if fit.inside else fit.distance for fit in self.fits.values()
        ]  # not what rounding leaves
        apart = [fit for fit in self.fits.values() if not fit.inside]
        worst = max((fit.gap / max(fit.objective, fit.certificate.floor, 1e-300) for fit in apart), default=0.0)
        unit = ", weighted" if first.weighted else ""
        rows = [list(row) for row in zip(*shown.values(), strict=True)]
        note = "A distance of 0 means that the model explains every observed share."
        if apart and np.isfinite(worst):
            note += f" Certified: no squared distance can be smaller by more than a part {worst:.0e} of it."
        unknown = [name for name, value in self.logliks.items() if value is None]
        if unknown:
            note += f" Log-likelihood left empty: not found to a certified 1e-6 for {', '.join(unknown)}."
        without = [name for name, fit in self.fits.items() if not fit.model.has_types]
        if without:
            note += f" No types{' and no log-likelihood' if self.logliks else ''}: {', '.join(without)}, given by inequalities."
        if any(value == -np.inf for value in self.logliks.values()):
            note += " Log-likelihood -inf: a choice was made that no type of the model makes."
        for name, test in self.tests.items():
            if test.interrupted:
                note += f" Interrupted: the test of {name} has only {how_many(test.n_boot, 'replicate')}."
        menus = how_many(len(first.membership), "menu")
        title = f"Distance of the data to {how_many(len(rows), 'model')} ({count_items(first.items)}, {menus}{unit})"
        words = {"pvalue": "p-value", "loglik": "log-likelihood"}
        if any(test.rejects() for test in self.tests.values()):
            note = f"{note} {ASSUMPTION}"
        return Table(title, [words.get(name, name) for name in shown], rows, note)

    def __repr__(self) -> str:
        return f"ModelComparison({', '.join(f'{name!r}: {fit.distance:.6g}' for name, fit in self.fits.items())})"

    def plot(self, ax: Any = None) -> Any:
        """Plot the distances as bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from rumflow.output.plots import plot_models

        return plot_models(self, ax)


def compare_models(
    data: DataLike | ArrayLike,
    models: Mapping[str, Model | None],
    weights: str | ArrayLike | None = None,
    tol: float = 1e-9,
    max_seconds: float | None = None,
    progress: bool | Callable[[Progress], None] = False,
    threads: int | None = None,
    *,
    n_boot: int = 0,
    seed: Seed = ZERO,
    rng: Seed = None,
    likelihood: bool = True,
    cluster: Any = "auto",
) -> ModelComparison:
    """Project the data onto each of several models, and test each.

    Parameters
    ----------
    data : ChoiceData or array_like
        As for `rumflow.project`.
    models : mapping of str to Model
        By name: {"RUM": RandomUtility(), "one axis": SinglePeaked(axis)}. None as a model is random utility.
    weights : str or array_like, optional
        As for `rumflow.project`. With None the distances are unweighted, and the tests have their own default.
    tol : float, default 1e-9
        As for `rumflow.project`.
    max_seconds : float, optional
        For each model, its projection and its likelihood; the table has what was computed by then, with its gap and status.
        Tests take as long as their replicates do.
    progress : bool or callable, default False
        As for `rumflow.project`.
    threads : int, optional
        As for `rumflow.project`.
    n_boot : int, default 0
        Bootstrap replicates of a test of each model, with the same `seed`; 0: no tests and no p-values.
    seed, rng : int or numpy.random.Generator, default 0
        Of the tests. Two names of the same: give one.
    likelihood : bool, default True
        Compute also the largest log-likelihood of each model, where the data are counts, the projection ended in time, and
        (for menus recorded in part) the graph is not too large. It is -inf where a choice was made that no type makes,
        certified to 1e-6 of a unit (as by `fit_likelihood`) elsewhere, and None where that was not reached.
    cluster : {"auto"}, bool, None or array_like, default "auto"
        As for `rumflow.rum_test`: True keeps the choices of a subject together in the replicates.

    Returns
    -------
    ModelComparison

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> models = {"every ranking": rf.RandomUtility(), "one axis": rf.SinglePeaked(["a", "b", "c"])}
    >>> comparison = rf.compare_models(data, models)
    >>> {name: round(fit.distance, 4) for name, fit in comparison.fits.items()}
    {'every ranking': 0.1852, 'one axis': 0.1852}
    """
    if not isinstance(models, Mapping) or not models:
        raise InputError("models: a mapping of names to models is needed, such as {'RUM': rumflow.RandomUtility()}")
    tol, n_boot = check_tol(tol), check_replicates(n_boot, least=0)
    check_seconds(max_seconds)
    check_threads(threads)
    number = entropy(seed, rng)
    data = as_data(data)
    if n_boot and not isinstance(data, ChoiceData):
        raise InputError("n_boot: a test needs ChoiceData; an array of probabilities has no sample sizes")
    fits: dict[str, Projection] = {}
    tests: dict[str, RumTest] = {}
    logliks: dict[str, float | None] = {}
    counted = likelihood and isinstance(data, ChoiceData)
    interrupted = False
    for name, model in models.items():
        if model is not None and not hasattr(model, "geometry"):
            raise InputError(f"models: {name!r} is a {type(model).__name__}, not a model such as RandomUtility()")
        deadline = None if max_seconds is None else clock() + max_seconds
        try:
            with Reporter(progress, tol) as report:
                fit = _fit(data, model, weights, tol, Resources(threads, deadline, report))
            fits[str(name)] = fit
            interrupted = fit.interrupted
            if n_boot and isinstance(data, ChoiceData) and not interrupted:
                chosen = "auto" if weights is None else weights
                plan = Plan(n_boot, weights=chosen, cluster=cluster, seed=number, model=model)
                test = run_test(Source({0: data}), plan, JobOptions(threads=threads, progress=progress is True))
                tests[str(name)], interrupted = test, test.interrupted
            exact = fit.geometry.exact and fit.status is Status.OPTIMAL and fit.model.has_types
            if counted and exact and isinstance(data, ChoiceData) and not interrupted:
                with limited(np.inf if deadline is None else deadline), Stage(progress is True, "the likelihood"):
                    logliks[str(name)] = _loglik(data, model)
        except InputError as fault:
            raise InputError(f"model {name!r}: {fault}") from None
        except KeyboardInterrupt:
            if not fits:
                raise KeyboardInterrupt("interrupted before the first projection: there is no result yet") from None
            interrupted = True
        if interrupted:
            break
    found = {name: value for name, value in logliks.items() if value is None or not np.isnan(value)}
    nested = () if interrupted else _nested(data, models)
    return ModelComparison(fits, tests, found, interrupted, nested)


def _nested(data: ChoiceData | ArrayLike, models: Mapping[str, Model | None]) -> tuple[tuple[str, str], ...]:
    """Pairs of models, the first of which certainly lies in the second."""
    if len(models) < 2:
        return ()
    own = {str(name): observe(data, model)[1] for name, model in models.items()}
    cells = observe(data, None)[0].cells
    return tuple((one, two) for one in own for two in own if one != two and lies_in(own[one], own[two], cells))


def _fit(
    data: ChoiceData | ArrayLike,
    model: Model | None,
    weights: str | ArrayLike | None,
    tol: float,
    resources: Resources,
) -> Projection:
    """The projection onto a model, as far as it comes in time."""
    observations, own = observe(data, model)
    geometry, built = find_or_stop(observations, own, None, deadline=resources.deadline)
    options = USER_OPTIONS
    if not built:
        options, resources = options._replace(begin=False), resources._replace(deadline=clock())
    return fit_observations(observations, geometry, weights, tol, options=options, resources=resources)


def _loglik(data: ChoiceData, model: Model | None) -> float | None:
    """The largest log-likelihood; None where it is not found, NaN where there is none to be found."""
    try:
        found = maximise_likelihood(data, model)
        if found.interrupted:
            raise KeyboardInterrupt
        return found.loglik if found.converged else None
    except ImpossibleChoiceError:
        return -np.inf
    except OutOfTimeError:
        return None
    except GraphTooLargeError as fault:  # menus recorded in part need it, also where the projection does not
        return None if fault.late else np.nan
