"""The bootstrap test of random utility.

The null hypothesis is that the choice probabilities of the population lie in the polytope R of RUMs. The statistic is

    J = scale * min over rho in R of  sum over recorded cells of  w (frequency - rho)^2,

a squared distance in the norm of the weights. Its distribution under the null depends on where in R the truth lies, so replicates
are drawn from the point of the tightened set tau r + (1 - tau) R nearest to the data (r: uniform rankings), or a simpler one near
it where menus are unequal, and measured to that same set: see `rumflow.inference.replicate`, `rumflow.inference.thin` and
`rumflow.inference.resample`. Other models take the place of R as they are. Menus and items that have no influence on J leave
before tau and everything after it is computed: see `rumflow.inference.relevant`.

Departures from the printed algorithm, which centres at P(pi - tau r) + tau r:
1. that point has menus that add up to 1 + tau, outside R; here the centre is tau r + (1 - tau) P((pi - tau r) / (1 - tau));
2. replicates are measured to the tightened set, not to R;
3. choices are drawn menu by menu with that menu's sample size (or by row, or by subject), not as one multinomial over cells, and
   from the centre itself, not from the observed frequencies: a menu with one choice has its noise in the replicates too;
4. the projection minimises the weighted norm itself, not L2 with weights put on afterwards;
5. p = (1 + count) / (1 + B), never 0.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_option
from rumflow.core.seeds import Seed, entropy
from rumflow.data.accept import DataLike, as_data
from rumflow.data.budgets import BudgetData
from rumflow.errors import InputError
from rumflow.inference.budgets import budget_source
from rumflow.inference.convention import Convention, Tau
from rumflow.inference.jobs import Collected, run
from rumflow.inference.linear import STATISTICS, LinearSource
from rumflow.inference.notes import kept_in
from rumflow.inference.plan import JobOptions, Plan
from rumflow.inference.pvalue import pvalue
from rumflow.inference.relevant import relevant_part
from rumflow.inference.replicate import Distances, Replicator
from rumflow.inference.result import RumTest
from rumflow.inference.sample import Sample, Sizes, named_groups
from rumflow.inference.source import Source
from rumflow.models.budgets import model_of_budgets
from rumflow.models.model import Model
from rumflow.output.progress import Stage

#: What is done first, as the line of progress says it.
GRAPH = "the graph of the menus"


class Prepared(NamedTuple):
    """Everything up to the replicates."""

    source: Source
    plan: Plan
    whole: Sample  # all data; what the replicator has may be a part of it
    replicator: Replicator
    observed: Distances


def rum_test(
    data: DataLike | Sequence[DataLike],
    n_boot: int = 999,
    tau: Tau = "auto",
    weights: str | ArrayLike | None = "auto",
    cluster: Any = "auto",
    seed: Seed = None,
    n_jobs: int = 1,
    progress: bool = False,
    *,
    rng: Seed = None,
    statistic: str = "distance",
    draws: str = "auto",
    resample: str = "menu",
    convention: str | Convention | None = None,
    sizes: Sizes = None,
    tol: float = 1e-9,
    threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    model: Model | None = None,
    route: str | None = None,
) -> RumTest:
    """Test whether choices come from some random utility model.

    Parameters
    ----------
    data : ChoiceData, sequence or mapping of ChoiceData, or BudgetData
        Several ChoiceData: one distribution for all these groups, frames or periods. BudgetData: rational choice from
        budgets, where smoothed demand is tested as `rumflow.inference.budgets` describes.
    n_boot : int, default 999
        Number of bootstrap replicates B.
    tau : {"auto", "thinned", "mean", "smallest"}, float, or a sequence of these, default "auto"
        How far the set is tightened, 0 <= tau < 1. Of several values each has its draws and its p-value; the first is the
        test. For the rules see Notes.
    weights : {"auto", None, "counts", "inverse-variance"} or array_like, default "auto"
        "auto": "counts", the menu's sample size. None: 1 on every cell. "inverse-variance": N_D / p with p the fitted
        probability, moved towards uniform by one observation per item, so that the statistic is Pearson's, with what was
        not recorded of a menu as a separate cell; the same weights for all replicates. Or a (2^n, n) array, or one shaped
        like `data.frequencies`. Only with "counts" are fits thinned (`Convention.thin`).
    cluster : {"auto"}, bool, None or array_like, default "auto"
        Resample whole subjects: True for the subject ids of the data, or one id per row. False or None: choices are
        independent. "auto": True where the data say who made every choice, and some made several from the menus tested;
        False for conventions that reproduce a published test, and with resample="row". The summary says so.
    seed, rng : int or numpy.random.Generator, optional
        The result is the same for any n_jobs, threads, or backend. None draws one, which is kept in the
        result. Two names of the same: give one.
    n_jobs : int, default 1
        1: threads of this process. Otherwise joblib workers, in whatever backend joblib's `parallel_config` names.
    progress : bool, default False
        Show a line on standard error that says what is done, and counts the replicates.
    statistic : {"distance", "fsst"}, default "distance"
        "fsst": the largest violated inequality in standard deviations, after Fang, Santos, Shaikh and Torgovitsky (2023),
        without tau, weights and convention; `rumflow.inference.linear` has two departures from what they prove to be
        uniformly valid. For choices and all rankings.
    draws : {"auto", "null", "empirical"}, default "auto"
        "auto": the draws of the convention. "null" (the default convention): replicate choices are drawn from the tightened
        fit, menu by menu. "empirical": from the observed choices, recentred on that fit; it rejects true models too often
        where some menus have few choices.
    resample : {"menu", "row", "cluster"}, default "menu"
        "menu": each menu's choices, as many as observed. "row": all choices of a group together, so that the sizes of the
        menus vary. "cluster": whole subjects. Rows whose weights are fractions (survey weights) are not drawn from the
        fit: their deviations from it get random signs, by "row" after drawing rows with replacement.
    convention : str or Convention, optional
        Set, cells, scale, centre, weights, draws and tau under one name: "default", "recentred" (the default of version
        0.1), "abkk", "kitamura-stoye", or a `Convention`. Other arguments take precedence over it.
    sizes : optional
        Sample sizes, where the data are probabilities: a number, or one for each menu; for several groups that differ, a
        dict of these by the group's name.
    tol : float, default 1e-9
        Relative gap to which the projections are certified.
    threads : int, optional
        Number of threads.
    checkpoint : path, optional
        A file that keeps the replicates done; the same call with the same file continues where it stopped.
    model : Model, optional
        The model that is tested: which types of choosers exist. None: all rankings.
    route : {None, "lattice", "graph", "bounded", "inequalities"}, default None
        None chooses by cost between "lattice" (all menus, up to 24 items) and "graph" (any number of items); see
        `project`. "bounded", where the graph is too large: the p-value compares the least that the statistic can be with
        the most that each replicate can be, which can only make it larger. On pairs None takes the triangle inequalities
        (`TriangleInequalities`) in that case, and the summary says so.

    Returns
    -------
    RumTest
        A `BudgetTest` for BudgetData. Ctrl-C returns the test with the replicates done so far, marked `interrupted`, or
        raises where there is none yet; a checkpoint keeps them.

    Raises
    ------
    InputError
        If an argument is not accepted, or the data leave nothing to test.

    Notes
    -----
    The p-value is (1 + number of replicates >= statistic) / (1 + B).

    tau="thinned" is the mean of 0.4 m^(-1/5) over the menus, m the choices from a menu, at least 3 (the subjects, when
    resampling by subject), up to 0.525 in place of 0.4 for menus of two or three items, times 1 - u/2 where menus are
    unequal and weights "counts" (`Convention`). "mean" is the same without the factor for unequal menus. "smallest" is
    sqrt(log m / m), m the smallest menu. "auto" is the rule of the convention ("thinned" by default), and with it 0 and
    twice as much.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> test = rf.rum_test(data, n_boot=99, seed=1)
    >>> test.pvalue < 0.05, test.rejects(0.05)
    (True, True)
    """
    jobs = JobOptions(n_jobs, threads, checkpoint, progress)
    linear = check_option(statistic, "statistic", STATISTICS) == "fsst"
    data = as_data(data)
    source: Source
    if isinstance(data, BudgetData):
        if linear:
            raise InputError("statistic='fsst': it is for choices from menus; accepted for budgets is 'distance'")
        source, model = budget_source(data, convention, resample), model_of_budgets(data, model)
        if route is not None or sizes is not None:
            name, value = ("route", route) if route is not None else ("sizes", sizes)
            raise InputError(f"{name}={value!r}: budgets determine the graph and the numbers of households; omit it")
    else:
        source = Source(dict(zip(*named_groups(data), strict=True)))
    kind, number = source.convention(convention, draws), entropy(seed, rng)
    plan = Plan(n_boot, tau, weights, cluster, resample, kind, tol, number, model, route, sizes)
    return run_test(LinearSource(source.groups, plan) if linear else source, plan, jobs)


def run_test(source: Source, plan: Plan, jobs: JobOptions) -> RumTest:
    """The steps of a test, whatever its data are."""
    begin = time.perf_counter()
    with Stage(jobs.progress, GRAPH) as stage:
        prepared = prepare_test(source, plan, say=stage.say)
    collected = run([prepared.replicator], plan.n_boot, jobs)[0]
    return finish_test(prepared, collected, time.perf_counter() - begin)


def prepare_test(
    source: Source, plan: Plan, key: tuple[int, ...] = (), say: Callable[[str], None] = lambda what: None
) -> Prepared:
    """Everything up to the replicates, which draw from the child `key` of the seed; `say` is told what is being done."""
    say(GRAPH)
    whole = source.sample(plan)
    sample = relevant_part(whole)
    plan = source.resolve(plan, sample)
    sampler = source.sampler(sample, plan)
    observed, replicator = source.measure(sample, sampler, plan, key, say)
    return Prepared(source, plan, whole, replicator, observed)


def finish_test(prepared: Prepared, collected: Collected, seconds: float) -> RumTest:
    """The result, from the replicates that were done."""
    source, plan, whole, replicator, observed = prepared
    sample, sampler = replicator.sample, replicator.sampler
    words = source.resampled(sampler, plan), source.describe(plan.chosen_weights)
    notes = (*source.notes(sample, sampler, replicator.taus[0], plan), *kept_in(collected.kept))
    return source.result(make_result(replicator, observed, collected, *words, notes, seconds, whole))


def make_result(
    replicator: Replicator,
    observed: Distances,
    collected: Collected,
    resample: str,
    weights: str,
    notes: tuple[str, ...],
    seconds: float,
    whole: Sample | None = None,
) -> RumTest:
    """Put a result together from the replicates that were done; `whole`: all data, None if the replicator has them."""
    done = collected.done
    null = collected.statistic[:, done]
    statistic = float(observed.statistic[0])
    if statistic <= observed.rounding[0]:
        statistic = 0.0
    least = statistic
    if not replicator.sample.projector.exact:
        # What is certified of the data against upper bounds of the replicates.
        least = max(statistic - float(observed.gap[0]), 0.0)
    values = np.array([pvalue(least, row, float(observed.rounding[0])) for row in null])
    return RumTest(
        statistic=statistic,
        taus=replicator.taus,
        pvalues=values,
        null_distributions=null,
        n_boot=int(done.sum()),
        failed=int((~collected.certified[:, done]).any(axis=0).sum()),
        vanished=int((collected.vanished[done] > 0).sum()),
        interrupted=collected.interrupted,
        seed=replicator.seed,
        resample=resample,
        weights=weights,
        notes=notes,
        gap=float(observed.gap[0]),
        seconds=seconds,
        sample=replicator.sample,
        whole=replicator.sample if whole is None else whole,
        _fits=observed.fits,
    )
