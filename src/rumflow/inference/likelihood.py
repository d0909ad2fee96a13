"""Maximum likelihood over the random utility models.

    maximise  L(rho) = sum over cells (D, x) of  count(D, x) log rho(D, x)   over all RUMs rho

What was not recorded of a menu is a cell of its own, the remainder: its count is what is missing to the menu's total, its
probability that of all the items without a count together.

L is concave, and is maximised by weighted projections (`rumflow.inference.likelihood_solver`).

*Certificate.* For any RUM rho', L(rho') - L(rho) <= <grad L(rho), rho' - rho> = <count / rho, rho'> - n_observations, so

    gap = (dearest type for the prices count / rho of the cells) - n_observations

bounds how far L(rho) is below the maximum: one dynamic programme, whatever the solver did. It is computed to about
64 eps n_observations, and a fit has converged where it is at most the tolerance or that, whichever is larger: `State.goal` of
`rumflow.inference.likelihood_solver`, the only place that says so.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rumflow.check import check_absolute_tol, check_replicates, check_whole
from rumflow.core.arrays import Array, Mask, Mixture
from rumflow.core.menus import Menus
from rumflow.core.seeds import Seed, entropy
from rumflow.core.threads import run_threads, thread_count
from rumflow.data.accept import DataLike, as_data
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError, RumflowError
from rumflow.inference.likelihood_solver import MOST_ROUNDS, CountedCells, maximise, remainders
from rumflow.inference.pvalue import pvalue
from rumflow.inference.resample import generators
from rumflow.models.budgets import model_of_budgets
from rumflow.models.model import Model
from rumflow.output.progress import Counter, Stage
from rumflow.output.result import Result
from rumflow.projection.fitted import Fitted
from rumflow.solvers.geometry import Geometry


@dataclass(frozen=True, eq=False, repr=False)
class LikelihoodFit(Fitted):
    """The most likely member of a model, with its certificate.

    On menus that were not observed its probabilities are one value among many; on observed cells with choices they are
    unique.

    Attributes
    ----------
    loglik : float
        The log-likelihood.
    loglik_saturated : float
        The log-likelihood of the observed frequencies themselves.
    gap : float
        Certified: maximum - loglik <= gap.
    iterations : int
        Number of weighted projections.
    converged : bool
        Whether gap <= tol.
    interrupted : bool
        Whether Ctrl-C came before that.
    tol : float
        The tolerance that was asked for, or 1.4e-14 of the number of choices where that is larger: the log-likelihood is not
        known better.
    seconds : float
        Time taken.
    data : ChoiceData
        The choices.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}})
    >>> fit = rf.fit_likelihood(data)
    >>> round(fit.loglik, 3), fit.converged
    (-22.493, True)
    """

    _named = ("items", "loglik", "loglik_saturated", "lr_statistic", "gap", "iterations", "converged", "tol", "seconds")
    _listed = "cells"

    loglik: float
    loglik_saturated: float
    gap: float
    iterations: int
    converged: bool
    tol: float
    seconds: float
    data: ChoiceData
    _cells: CountedCells
    _point: Any
    interrupted: bool = False

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns menu, item, count, observed and fitted, of the recorded cells."""
        menus, known = self.data.offered, ~np.isnan(self.data.count)
        names = self.data.menus
        count, total = self.data.count[known], self.data.totals[menus.menu[known]]
        columns: dict[str, list[Any]] = {"menu": [names[j] for j in menus.menu[known].tolist()]}
        columns["item"] = [self.items[x] for x in menus.item[known].tolist()]
        numbers = {"count": count, "observed": count / total, "fitted": self.fitted_cells[known]}
        return columns | {name: values.tolist() for name, values in numbers.items()}

    def _title(self) -> str:
        return (
            f"The most likely model: log-likelihood {self.loglik:.6g}, {self.loglik_gap:.4g} below that of the shares themselves"
            f" (certified to {self.gap:.1e})"
        )

    @property
    def loglik_gap(self) -> float:
        """How much better the saturated model is, loglik_saturated - loglik."""
        return self.loglik_saturated - self.loglik

    @property
    def lr_statistic(self) -> float:
        """The likelihood ratio statistic, 2 (loglik_saturated - loglik)."""
        return 2 * max(self.loglik_gap, 0.0)

    @property
    def _offered(self) -> Menus:
        return self.data.offered

    @cached_property
    def fitted_cells(self) -> Array:
        """`fitted` without what is outside the menus: one number per cell, menu after menu, in each the items in their order."""
        return self._cells.gather(self.geometry.rho(self._point))

    @cached_property
    def _flow(self) -> Array:
        return self.geometry.flow(self._point)

    @cached_property
    def mixture(self) -> Mixture:
        """Types in the form of the geometry, and their weights. One mixture among many with these probabilities."""
        return self.geometry.mixture(self._point)

    @property
    def geometry(self) -> Geometry:
        """The model on the observed menus."""
        return self._cells.geometry

    @property
    def items(self) -> tuple[Item, ...]:
        """The labels of the items."""
        return self.data.items

    @property
    def membership(self) -> Mask:
        """(m, n): the observed menus, as rows of truth values."""
        return self.data.membership

    def lr_test(
        self,
        n_boot: int = 999,
        seed: Seed = None,
        *,
        rng: Seed = None,
        threads: int | None = None,
        progress: bool = False,
    ) -> LikelihoodRatioTest:
        """Test the model against the saturated one by a parametric bootstrap of the likelihood ratio.

        Samples of the same sizes are drawn from the fitted model and refitted. The fit usually lies on the boundary of RUM,
        where this bootstrap is not known to be exact; `rum_test` tightens for that.

        Parameters
        ----------
        n_boot : int, default 999
            Number of replicates.
        seed, rng : int or numpy.random.Generator, optional
            None draws one, which is kept in the result. Two names of the same: give one.
        threads : int, optional
            Number of threads; the result is the same for any number.
        progress : bool, default False
            Show a line on standard error that counts the replicates.

        Returns
        -------
        LikelihoodRatioTest

        Raises
        ------
        InputError
            If the sample sizes are not whole numbers.
        """
        n_boot, workers = check_replicates(n_boot), thread_count(threads)
        begin = time.perf_counter()
        number = entropy(seed, rng)
        sizes = self.data.totals
        if (sizes != np.round(sizes)).any():
            raise InputError(
                "the likelihood ratio test draws samples of the same sizes: they must be whole numbers of choices"
            )
        menus, known = self.data.offered, ~np.isnan(self.data.count)
        place = menus.menu, np.arange(len(known)) - menus.start[menus.menu]
        # What was not recorded is drawn as one more cell, the last.
        shares = np.zeros((len(menus), int(menus.sizes.max()) + 1))
        shares[place] = np.where(known, np.maximum(self.fitted_cells, 0.0), 0.0)
        partly = menus.count(~known) > 0
        shares[:, -1] = np.where(partly, np.maximum(1.0 - shares.sum(axis=1), 0.0), 0.0)
        shares /= shares.sum(axis=1, keepdims=True)
        null = np.full(n_boot, np.nan)
        failed = np.zeros(n_boot, np.bool_)
        start = self.mixture

        def replicate(i: int) -> None:
            rng = generators(number, (), [i])[0]
            counts = np.where(known, rng.multinomial(sizes.astype(np.int64), shares)[place], np.nan)
            data = ChoiceData.from_cells(self.items, menus, counts, sizes)
            state = maximise(data, self._cells, max(self.tol, 1e-5), start)
            if state.interrupted:
                raise KeyboardInterrupt
            null[i] = 2 * max(state.saturated - state.value, 0.0)
            failed[i] = not state.converged
            counter.add(1)

        interrupted = False
        with Counter(progress, n_boot, "replicates") as counter:
            try:
                run_threads(replicate, range(n_boot), workers)
            except KeyboardInterrupt:
                interrupted = True
        null = null[~np.isnan(null)]
        if not len(null):
            raise KeyboardInterrupt("interrupted before the first replicate was done: there is no result yet")
        statistic = self.lr_statistic
        return LikelihoodRatioTest(
            statistic,
            pvalue(statistic, null, 2 * max(self.gap, 0.0) + 1e-9),
            null,
            number,
            int(failed.sum()),
            time.perf_counter() - begin,
            interrupted,
        )

    def __repr__(self) -> str:
        return (
            f"LikelihoodFit(n={self.data.n}, loglik={self.loglik:.6f}, loglik_saturated={self.loglik_saturated:.6f}, "
            f"gap={self.gap:.2g}, iterations={self.iterations})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class LikelihoodRatioTest(Result):
    """The likelihood ratio of RUM against the saturated model, with its parametric bootstrap.

    Attributes
    ----------
    statistic : float
        2 (loglik_saturated - loglik).
    pvalue : float
        (1 + number of replicates >= statistic) / (1 + B).
    null_distribution : ndarray of shape (B,)
        The replicates' statistics.
    seed : int
        The same seed gives the same result.
    failed : int
        Replicates whose certificate stayed above the tolerance.
    seconds : float
        Time taken.
    interrupted : bool
        Whether Ctrl-C stopped the test; it has the replicates done by then.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}})
    >>> rf.fit_likelihood(data).lr_test(n_boot=9, seed=1)
    LikelihoodRatioTest(statistic=0, pvalue=1, n_boot=9)
    """

    _named = ("seed", "seconds")

    statistic: float
    pvalue: float
    null_distribution: Array
    seed: int
    failed: int
    seconds: float
    interrupted: bool = False

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row: statistic, pvalue, n_boot, failed."""
        row = {"statistic": self.statistic, "pvalue": self.pvalue, "n_boot": len(self.null_distribution)}
        return {name: [value] for name, value in (row | {"failed": self.failed}).items()}

    def _title(self) -> str:
        return "Likelihood ratio of the model against the shares themselves, with its bootstrap"

    def __repr__(self) -> str:
        count = len(self.null_distribution)
        return f"LikelihoodRatioTest(statistic={self.statistic:.6g}, pvalue={self.pvalue:.4g}, n_boot={count})"


def fit_likelihood(
    data: DataLike,
    tol: float = 1e-6,
    *,
    max_iterations: int = MOST_ROUNDS,
    throw: bool = True,
    model: Model | None = None,
    route: str | None = None,
    progress: bool = False,
) -> LikelihoodFit:
    """Fit the most likely random utility model to choice counts.

    Parameters
    ----------
    data : ChoiceData or BudgetData
        Menus may have been recorded in part, if their totals are known; what is missing counts as one cell.
    tol : float, default 1e-6
        Stop when the certified gap, maximum - loglik, is at most tol (in units of the log-likelihood). Rounding leaves 1.4e-14
        of the number of choices open: where that is larger (more than 7e7 choices, for the default) it is used in place of
        tol. The attribute `tol` of the result has the one that was used.
    max_iterations : int, default 200
        The largest number of projections.
    throw : bool, default True
        Raise where the tolerance is not met in `max_iterations` projections; False returns the best point with its gap.
    model, route : optional
        As for `project`.
    progress : bool, default False
        Show a line on standard error that says what is done.

    Returns
    -------
    LikelihoodFit

    Raises
    ------
    InputError
        If the data are not counts, or a choice was made that no type of the model makes.
    LikelihoodError
        If `throw` is True and the tolerance is not met, or Ctrl-C came first; its attribute `fit` holds the best point.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}})
    >>> fit_likelihood(data).rho[3].round(6).tolist()
    [0.75, 0.25]
    """
    tol, most = check_absolute_tol(tol), check_whole(max_iterations, "max_iterations")
    data = as_data(data)
    if isinstance(data, BudgetData):
        if data.is_smoothed:
            raise InputError(
                "data: smoothed demand has no counts and so no likelihood; read the budgets with degree=0 for plain frequencies"
            )
        model, data = model_of_budgets(data, model), data.choices
    if not isinstance(data, ChoiceData):
        raise InputError(f"data: a ChoiceData with counts is needed, not {type(data).__name__}")
    with Stage(progress, "the likelihood"):
        fit = maximise_likelihood(data, model, route, tol, most)
    if throw and not fit.converged:
        if fit.interrupted:
            raise LikelihoodError(
                f"it was interrupted after {fit.iterations} projections (gap {fit.gap:.2g}); the best point so far is the "
                "attribute `fit` of this error, or pass throw=False",
                fit,
            )
        more = ", or more max_iterations" if fit.iterations >= most else ""
        raise LikelihoodError(
            f"the certified gap {fit.gap:.2g} stayed above tol={fit.tol:g} after {fit.iterations} projections: "
            f"ask for a larger tol{more}; the best point so far is the attribute `fit` of this error, or pass throw=False",
            fit,
        )
    return fit


def maximise_likelihood(
    data: ChoiceData, model: Model | None = None, route: str | None = None, tol: float = 1e-6, most: int = MOST_ROUNDS
) -> LikelihoodFit:
    """The best point after at most so many projections, converged or not."""
    begin = time.perf_counter()
    cells = CountedCells(data, model, route)
    inner = cells.gather(cells.geometry.rho(cells.geometry.middle()))
    menus, name = data.offered, "random utility" if model is None else repr(model)
    impossible = (np.nan_to_num(data.count) > 0) & (inner == 0)
    if impossible.any():
        cell = int(impossible.argmax())
        menu, item = menus.labels_of(int(menus.menu[cell]), data.items), data.items[menus.item[cell]]
        raise ImpossibleChoiceError(
            f"menu {format_menu(menu)}: {item!r} was chosen {data.count[cell]:g} times, but no "
            f"type of {name} takes it: the likelihood is 0 whatever the mixture"
        )
    rest = remainders(data)
    for row in np.flatnonzero((rest > 0) & (menus.sizes > 1) & (menus.sums(inner) > 1 - 1e-12)):
        raise ImpossibleChoiceError(
            f"menu {format_menu(menus.labels_of(int(row), data.items))}: {rest[row]:g} choices were not recorded, but no type of "
            f"{name} takes an item without a count: the likelihood is 0 whatever the mixture"
        )
    state = maximise(data, cells, tol, most=most)
    return LikelihoodFit(
        loglik=state.value,
        loglik_saturated=state.saturated,
        gap=state.gap,
        iterations=state.rounds,
        converged=state.converged,
        tol=state.goal,
        seconds=time.perf_counter() - begin,
        data=data,
        _cells=cells,
        _point=state.point,
        interrupted=state.interrupted,
    )


class ImpossibleChoiceError(InputError):
    """A choice was made that no type of the model makes."""


class LikelihoodError(RumflowError, RuntimeError):
    """The likelihood was not maximised to the tolerance.

    It is a RuntimeError as well.

    Attributes
    ----------
    fit : LikelihoodFit
        The best point.

    Examples
    --------
    >>> import rumflow as rf
    >>> menus = {("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}}
    >>> try:
    ...     rf.fit_likelihood(rf.ChoiceData.from_counts(menus), max_iterations=1)
    ... except rf.RumflowError as error:
    ...     print(type(error).__name__, error.fit.converged)
    LikelihoodError False
    """

    def __init__(self, message: str, fit: LikelihoodFit) -> None:
        super().__init__(message)
        self.fit = fit
