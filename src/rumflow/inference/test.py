"""The bootstrap test of random utility.

The null hypothesis is that the choice probabilities of the population lie in the polytope R of RUMs. The statistic is

    J = scale * min over rho in R of  sum over recorded cells of  w (frequency - rho)^2,

a squared distance in the norm of the weights. Its distribution under the null depends on where in R the truth lies, so replicates
are centred on the point of the tightened set tau r + (1 - tau) R nearest to the data (r: uniform rankings), and measured to
that same set: see `rumflow.inference.replicate`. Other models take the place of R as they are.

Departures from the printed algorithm, which centres at P(pi - tau r) + tau r:
1. that point has menus that add up to 1 + tau, outside R; here the centre is tau r + (1 - tau) P((pi - tau r) / (1 - tau));
2. replicates are measured to the tightened set, not to R;
3. choices are resampled menu by menu with that menu's sample size (or by row, or by subject), not as one multinomial over cells;
4. the projection minimises the weighted norm itself, not L2 with weights put on afterwards;
5. p = (1 + count) / (1 + B), never 0.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.seeds import Seed, entropy
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.inference.jobs import run
from rumflow.inference.replicate import Distances, Replicator, distances, make_replicator
from rumflow.inference.resample import make_sampler
from rumflow.inference.result import RumTest, make_result
from rumflow.inference.sample import Convention, build_sample, find_convention, named_groups
from rumflow.models.model import Model

Tau = str | float | Sequence[str | float]


def rum_test(
    data: ChoiceData | Sequence[ChoiceData] | Mapping[Any, ChoiceData],
    n_boot: int = 999,
    tau: Tau = "auto",
    weights: str | ArrayLike | None = None,
    cluster: Any = None,
    seed: Seed = None,
    n_jobs: int = 1,
    progress: bool = False,
    *,
    resample: str = "menu",
    convention: str | Convention | None = None,
    sizes: float | ArrayLike | None = None,
    tol: float = 1e-9,
    threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    model: Model | None = None,
    route: str | None = None,
) -> RumTest:
    """Test whether choices come from some random utility model.

    data        ChoiceData; or a list or dict of them: one distribution for all these groups, frames or periods.
    n_boot      bootstrap replicates B; the p-value is (1 + #{replicates >= statistic}) / (1 + B).
    tau         how far the set is tightened, 0 <= tau < 1, or several values, each with its own p-value from the same draws.
                "auto": sqrt(log m / m), m the smallest number of choices from a menu, at least 3
                (of subjects, when resampling by subject).
    weights     None: 1 on every cell. "counts": the menu's sample size. "inverse-variance": N_D / p with p the fitted
                probability, moved towards uniform by one observation per item, so that the statistic is Pearson's; the same
                weights for all replicates. Or a (2^n, n) array, or one like `data.frequencies`.
    cluster     resample whole subjects: True for the data's own subject ids, or one id per row.
    resample    "menu": each menu's choices, as many as observed. "row": all choices of a group together. "cluster".
    convention  what a published statistic is made of: "default", "abkk", "kitamura-stoye", or a `Convention`.
    sizes       sample sizes, where the data are probabilities: a number, or one for each menu.
    n_jobs      1: threads of this process. Otherwise joblib workers, in whatever backend joblib's `parallel_config` names.
    checkpoint  a file that keeps the replicates done; the same call with the same file goes on where it stopped.
    model       which types of choosers there are: None for all rankings, or another model; it is what is tested.
    route       None chooses by cost: "lattice" (all menus, up to 24 items) or "graph" (any number of items); see `project`. Where
                the graph is too large, "bounded": the p-value compares the least that the statistic can be with the most that
                each replicate can be, which can only make it larger.
    seed        the result is the same for any n_jobs, threads, or backend. None draws one, kept in the result.

    Ctrl-C returns the test with the replicates done so far, marked `interrupted`.
    """
    begin = time.perf_counter()
    names, groups = named_groups(data)
    replicator, observed, how = prepare_test(
        groups if len(groups) > 1 else groups[0],
        tau,
        weights,
        cluster,
        resample,
        find_convention(convention),
        sizes,
        tol,
        entropy(seed),
        (),
        names,
        model,
        route,
    )
    collected = run([replicator], n_boot, n_jobs=n_jobs, threads=threads, checkpoint=checkpoint, progress=progress)[0]
    return make_result(replicator, observed, collected, how, describe_weights(weights), time.perf_counter() - begin)


def prepare_test(
    data: ChoiceData | Sequence[ChoiceData],
    tau: Tau,
    weights: str | ArrayLike | None,
    cluster: Any,
    resample: str,
    convention: Convention,
    sizes: float | ArrayLike | None,
    tol: float,
    seed: int,
    key: tuple[int, ...],
    names: Sequence[Any],
    model: Model | None,
    route: str | None,
) -> tuple[Replicator, Distances, str]:
    """Everything up to the replicates: the replicator, the observed statistic, and how choices are resampled."""
    if not 0 < tol < 1:
        raise InputError(f"tol={tol!r}: a number between 0 and 1 is needed")
    groups = [data] if isinstance(data, ChoiceData) else list(data)
    sample = build_sample(dict(zip(names, groups, strict=True)), weights, convention, sizes, model, route)
    sampler = make_sampler(sample, groups, resample, cluster)
    observed = distances(sample, sample.frequency[None], 0.0, tol, threads=None)
    taus = find_taus(tau, sampler.smallest, convention)
    how = "subject" if resample == "cluster" or not (cluster is None or cluster is False) else resample
    return make_replicator(sample, sampler, taus, tol, seed, key), observed, how


def find_taus(tau: Tau, smallest: float, convention: Convention) -> tuple[float, ...]:
    """The values of tau asked for; "auto" is sqrt(log m / m) with m = max(smallest, 3)."""
    wanted = [tau] if isinstance(tau, str) or np.ndim(tau) == 0 else list(tau)  # type: ignore[arg-type]
    if not wanted:
        raise InputError("tau: the list is empty; give 'auto', a number, or several of them")
    found = []
    for one in wanted:
        if isinstance(one, str):
            if one != "auto":
                raise InputError(f"tau={one!r}: accepted are 'auto', a number from 0 to below 1, or several of them")
            m = max(smallest, 3.0)
            found.append(float(np.sqrt(np.log(m) / m)))
        else:
            value = float(one) if isinstance(one, int | float | np.number) else np.nan
            if not (0 <= value < 1 or (convention.set == "cone" and 0 <= value < np.inf)):
                raise InputError(f"tau={one!r}: a number from 0 to below 1 is needed")
            found.append(value)
    return tuple(found)


def describe_weights(weights: str | ArrayLike | None) -> str:
    """How the weights were given, in words."""
    return "1 on every cell" if weights is None else weights if isinstance(weights, str) else "given"
