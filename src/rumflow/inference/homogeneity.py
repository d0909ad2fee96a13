"""Do several groups choose alike? A test of one population for all of them against one each, given the model.

With J(p) the squared distance of all groups together to one member of the model, and J_g that of group g alone,

    T(p) = J(p) - sum over groups of J_g(p)  >=  0

is what it costs that the groups share one member. A model that is false costs both sides alike, so that T speaks of differences
only, and only of those that the model does not blur.

Replicates draw every group, with the sizes of its own menus, from the *pooled shares*: of all choices from a menu, in whatever
group, the share of each item. They are alike by construction, and as far from the model as the groups are together. (The nearest
member of the model would be the wrong place to draw from: where the model is false, T is larger among groups drawn there than
among groups that are alike.) But the pooled shares q have followed the choices, in two ways that make T too small among samples
drawn from them, and both are taken back:

1. They are further from the model than the population is, by their noise. With eta the tightened fit to q (`tightened_centre`),
   and e the mean squared distance of pooled samples drawn from it, samples come from eta + sqrt(max(0, 1 - e / J(q))) (q - eta).
2. Samples of m choices from a menu vary less around them than around the population, by (m - 1) / m: deviations are stretched by
   sqrt(m / (m - 1)), m the choices of all groups from the menu.

The distances of T are those to the model itself, not to a tightened set. No theorem says that this test keeps its level;
`python -m studies.experiments.homogeneity` measures how often groups that are alike are called different.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_level
from rumflow.core.arrays import Array, Mask, Mixture
from rumflow.core.seeds import Seed, entropy
from rumflow.data.accept import DataLike, as_data
from rumflow.data.labels import Item
from rumflow.errors import InputError
from rumflow.inference.convention import find_convention, find_taus
from rumflow.inference.jobs import run
from rumflow.inference.notes import unfinished
from rumflow.inference.plan import JobOptions, Plan
from rumflow.inference.pvalue import pvalue, too_few
from rumflow.inference.pvalue import replicates_needed as replicates_needed  # noqa: PLC0414 (pages take it from here)
from rumflow.inference.relevant import groups_that_meet, relevant_part
from rumflow.inference.replicate import Replicator, distances, tightened_centre
from rumflow.inference.resample import Sampler, generators
from rumflow.inference.sample import Sample, named_groups
from rumflow.inference.source import Source
from rumflow.inference.words import nothing_or
from rumflow.output.progress import Stage
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.text import visible

_KEY, _NOISE_KEY = (
    (0, 0),
    (0, 1),
)  # of the seed: tests of the groups have keys of one number, that of all together has none
_NAMED = 3  # groups named in a sentence
_NOISE = 99  # samples for the mean of the noise in a distance


class Excess(NamedTuple):
    """T of a stack of frequencies."""

    statistic: Array  # (b,)
    rounding: Array  # (b,) differences below this are rounding
    gap_together: Array  # (b,) certified: J is at most this much less
    gap_each: Array  # (b,) certified: the sum of all J_g is at most this much less
    certified: Mask  # (b,)


def excess(sample: Sample, p: Array, tol: float, start: Mixture | None = None, threads: int | None = 1) -> Excess:
    """T of every row of p, (b, S) frequencies without NaN."""
    together = distances(sample, p, 0.0, tol, start, threads)
    statistic, rounding, certified = together.statistic.copy(), together.rounding.copy(), together.certified.copy()
    gap = np.zeros(len(p))
    group = sample.unit_group[sample.unit]
    for g in range(sample.n_groups):
        weights = np.where(group == g, sample.weights, 0.0)
        if not (weights > 0).any():  # all its menus have vanished
            continue
        own = distances(replace(sample, weights=weights), p, 0.0, tol, start, threads)
        statistic -= own.statistic
        rounding += own.rounding
        gap += own.gap
        certified &= own.certified
    return Excess(np.maximum(statistic, 0.0), rounding, together.gap, gap, certified | (not sample.projector.exact))


def pooled_shares(sample: Sample, p: Array) -> Array:
    """(b, S): for rows of frequencies, the share of each slot's item among the choices of all groups that recorded it."""
    size, count = sample.sizes[sample.unit], len(sample.centre)
    sums = np.array([np.bincount(sample.column, size * row, count) for row in p])
    return np.asarray((sums / np.bincount(sample.column, size, count))[:, sample.column], np.float64)


def common_population(sample: Sample, sampler: Sampler, tol: float, seed: int) -> tuple[Array, Mixture]:
    """(S,): what replicates of all groups are drawn from, and a mixture to start projections from."""
    behind, own = np.bincount(sample.unit_menu, sampler.n_independent), sample.projector.cells.offered.sizes
    tau = find_taus("auto", behind.astype(np.float64), own.astype(np.float64), sample.convention)[0]
    pooled = pooled_shares(sample, sample.frequency[None])
    eta, start = tightened_centre(replace(sample, frequency=pooled[0]), tau, tol)
    far = float(distances(sample, pooled, 0.0, tol, start, only_upper=True).statistic[0])
    drawn = sampler.draw(generators(seed, _NOISE_KEY, range(_NOISE)), eta)
    drawn = pooled_shares(sample, np.where(np.isnan(drawn), eta, drawn))
    noise = float(distances(sample, drawn, tau, tol, start, only_upper=True).statistic.mean())
    return eta + (np.sqrt(1.0 - noise / far) if far > noise else 0.0) * (pooled[0] - eta), start


class ExcessReplicator(Replicator):
    """Replicates of T."""

    def draw(self, generators: Sequence[np.random.Generator], t: int) -> Array:
        """(b, S): frequencies, with the deviations that m choices have from a population they were not pooled into."""
        sample, centre = self.sample, self.centres[t]
        behind = np.bincount(sample.unit_menu, self.sampler.n_independent)[sample.unit_menu[sample.unit]]
        few = np.maximum(behind, 2.0)
        return np.asarray(centre + np.sqrt(few / (few - 1.0)) * (super().draw(generators, t) - centre), np.float64)

    def measure(self, sample: Sample, p: Array, t: int) -> tuple[Array, Mask]:
        """T, or the most that it can be where there are only bounds on distances."""
        found = excess(sample, p, self.tol, self.starts[t])
        return found.statistic + (0.0 if sample.projector.exact else found.gap_each), found.certified


@dataclass(frozen=True, eq=False, repr=False)
class HomogeneityTest(Result):
    """A bootstrap test of "all groups choose alike", given the model.

    Attributes
    ----------
    names : tuple
        Names of the groups.
    statistic : float
        Squared distance of all groups to one member of the model, less the sum of those of each group to its own.
    pvalue : float
        (1 + number of replicates at least as large) / (1 + B).
    null_distribution : ndarray of shape (B,)
        The replicates' statistics.
    failed : int
        Replicates with a distance that is not certified.
    vanished : int
        Replicates in which at least one menu vanished; they are measured on the menus that are left.
    interrupted : bool
        Whether Ctrl-C stopped the test.
    seed : int
        The same seed gives the same result, with any number of workers.
    seconds : float
        Time taken.
    apart : tuple
        Names of groups that are not compared: none of their menus bears on those of another group.

    Examples
    --------
    >>> import rumflow as rf
    >>> young = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 20, "b": 60, "c": 20}})
    >>> old = rf.ChoiceData.from_counts({("a", "b"): {"a": 75, "b": 25}, ("a", "b", "c"): {"a": 60, "b": 20, "c": 20}})
    >>> test = rf.compare_groups({"young": young, "old": old}, n_boot=99, seed=1).homogeneity
    >>> test.pvalue, test.rejects(0.05)
    (0.01, True)
    """

    names: tuple[Item, ...]
    statistic: float
    pvalue: float
    null_distribution: Array
    failed: int
    vanished: int
    interrupted: bool
    seed: int
    seconds: float
    apart: tuple[Item, ...] = ()
    _named = (
        "names", "testable", "apart", "statistic", "pvalue", "n_boot", "failed", "vanished", "interrupted", "seed", "seconds",
    )  # fmt: skip
    _listed = "tests"

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row: statistic, pvalue, n_boot, failed."""
        return {name: [getattr(self, name)] for name in ("statistic", "pvalue", "n_boot", "failed")}

    def parts(self) -> list[str | Table]:
        """Return the summary at the 5 % level."""
        return [self.summary()]

    @property
    def n_boot(self) -> int:
        """Replicates done (fewer than asked for after Ctrl-C)."""
        return len(self.null_distribution)

    @property
    def testable(self) -> bool:
        """Whether there are groups to compare; otherwise the statistic is 0 whatever they chose, and nothing was drawn."""
        return len(self.apart) < len(self.names)

    def rejects(self, level: float = 0.05) -> bool:
        """Say whether the groups differ: whether "all choose alike" is rejected.

        Parameters
        ----------
        level : float, default 0.05
            The level of the test.

        Returns
        -------
        bool
        """
        return self.pvalue <= check_level(level)

    def summary(self, level: float = 0.05) -> str:
        """Return the test in words; no verdict where the replicates are too few for the level.

        Parameters
        ----------
        level : float, default 0.05
            The level of the test.

        Returns
        -------
        str
        """
        level = check_level(level)
        if not self.testable:
            return "Whether the groups differ cannot be tested: no menus of one group bear on those of another."
        if few := too_few(self.n_boot, level, self.statistic):
            verdict = f"Whether the groups differ is not decided: {few}"
        elif self.rejects(level):
            verdict = "The groups differ: that all of them choose alike is rejected"
        else:
            verdict = "That all groups choose alike is not rejected"
        lines = [
            f"{verdict} at the {100 * level:g} % level.",
            f"  homogeneity of {len(self.names)} groups: statistic {nothing_or(self.statistic):.6g}, p-value {self.pvalue:.4g} "
            f"({self.n_boot} replicates, drawn from the pooled shares)",
        ]
        if self.apart:
            named = ", ".join(visible(name) for name in self.apart[:_NAMED]) + ", ..." * (len(self.apart) > _NAMED)
            whose = "its menus bear" if len(self.apart) == 1 else "their menus bear"
            lines.append(f"Nothing is said of {named}: none of {whose} on those of another group.")
        return "\n".join(lines + unfinished(self.failed, self.interrupted, self.n_boot))

    def __repr__(self) -> str:
        return f"HomogeneityTest(statistic={self.statistic:.6g}, pvalue={self.pvalue:.4g}, n_boot={self.n_boot})"


def homogeneity_test(
    groups: Sequence[DataLike] | Mapping[Any, DataLike],
    n_boot: int = 999,
    weights: str | ArrayLike | None = "auto",
    cluster: bool | str = "auto",
    seed: Seed = None,
    n_jobs: int = 1,
    progress: bool = False,
    **options: Any,
) -> HomogeneityTest:
    """Test whether several groups choose alike, given the model.

    Parameters
    ----------
    groups : sequence or mapping of ChoiceData
        Two groups or more; the keys of a mapping name them.
    n_boot, weights, cluster, seed, n_jobs, progress
        As for `rum_test`.
    **options
        The other arguments of it, but for tau: nothing is tightened.

    Returns
    -------
    HomogeneityTest

    Raises
    ------
    InputError
        If there is only one group, or an argument is not accepted.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> homogeneity_test({"young": data, "old": data}, n_boot=99, seed=1).pvalue
    1.0
    """
    jobs = JobOptions(n_jobs, options.pop("threads", None), options.pop("checkpoint", None), progress)
    kind = find_convention(options.pop("convention", None), options.pop("draws", "auto"))
    plan = Plan(n_boot, 0.0, weights, cluster, convention=kind, seed=entropy(seed), **options)
    return run_homogeneity(Source(dict(zip(*named_groups(as_data(groups)), strict=True))), plan, jobs)


def run_homogeneity(source: Source, plan: Plan, jobs: JobOptions) -> HomogeneityTest:
    """The steps of the test."""
    begin = time.perf_counter()
    if len(source.groups) < 2:
        raise InputError("groups: there is only one; two or more are needed to compare them")
    with Stage(jobs.progress, "the groups together and each") as stage:
        sample = relevant_part(source.sample(plan))
        plan = source.resolve(plan, sample)
        sampler = source.sampler(sample, plan)
        meet = groups_that_meet(sample)
        apart = tuple(name for name, own in zip(sample.names, meet.tolist(), strict=True) if not own)
        if not meet.any():
            # Distances add up over blocks, and every block is one group's: the difference is 0 in every sample.
            seconds = time.perf_counter() - begin
            return HomogeneityTest(sample.names, 0.0, 1.0, np.zeros(0), 0, 0, False, plan.seed, seconds, apart)
        stage.say("the statistic of homogeneity")
        observed = excess(sample, sample.frequency[None], plan.tol, threads=None)
        stage.say("what groups that are alike are drawn from")
        centre, start = common_population(sample, sampler, plan.tol, plan.seed)
    replicator = ExcessReplicator(sample, sampler, (0.0,), centre[None], (start,), plan.tol, plan.seed, _KEY)
    collected = run([replicator], plan.n_boot, jobs)[0]
    done = collected.done
    null, rounding = collected.statistic[0, done], float(observed.rounding[0])
    statistic = float(observed.statistic[0]) if observed.statistic[0] > rounding else 0.0
    least = statistic if sample.projector.exact else max(statistic - float(observed.gap_together[0]), 0.0)
    return HomogeneityTest(
        names=sample.names,
        statistic=statistic,
        pvalue=pvalue(least, null, rounding),
        null_distribution=null,
        failed=int((~collected.certified[0, done]).sum()),
        vanished=int((collected.vanished[done] > 0).sum()),
        interrupted=collected.interrupted,
        seed=plan.seed,
        seconds=time.perf_counter() - begin,
        apart=apart,
    )
