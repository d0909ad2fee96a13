"""Many tests at once, and one distribution for several groups against one each.

With m tests and ordered p-values p_(1) <= ... <= p_(m), the adjusted p-values are

    Holm                 max over j <= i of  min(1, (m - j + 1) p_(j))      no false rejection at all, with probability 1 - level
    Benjamini-Hochberg   min over j >= i of  min(1, m p_(j) / j)            the share of false ones among the rejections
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_level
from rumflow.core.arrays import Array
from rumflow.core.seeds import Seed, entropy
from rumflow.data.accept import DataLike, as_data
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.errors import InputError
from rumflow.inference.convention import Convention, Tau, find_convention
from rumflow.inference.homogeneity import HomogeneityTest, run_homogeneity
from rumflow.inference.jobs import run
from rumflow.inference.notes import ASSUMPTION
from rumflow.inference.plan import JobOptions, Plan
from rumflow.inference.pvalue import depends_on_tau, replicates_needed, too_few
from rumflow.inference.result import RumTest
from rumflow.inference.sample import Sizes, named_groups, own_sizes
from rumflow.inference.source import Source
from rumflow.inference.test import GRAPH, finish_test, prepare_test, run_test
from rumflow.models.model import Model
from rumflow.output.names import how_many
from rumflow.output.progress import Stage
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.text import visible

_NAMED = 3  # tests whose verdict depends on tau, one by one


def holm(pvalues: ArrayLike) -> Array:
    """Adjust p-values by Holm's step-down rule.

    Parameters
    ----------
    pvalues : array_like of shape (m,)
        The p-values.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _check(pvalues)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def benjamini_hochberg(pvalues: ArrayLike) -> Array:
    """Adjust p-values for the false discovery rate.

    Parameters
    ----------
    pvalues : array_like of shape (m,)
        The p-values.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    p = _check(pvalues)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


def _check(pvalues: ArrayLike) -> Array:
    p = np.asarray(pvalues, np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("p-values: a list of numbers from 0 to 1 is needed")
    return p


@dataclass(frozen=True, eq=False, repr=False)
class RumTests(Result):
    """Tests of many data sets, with p-values adjusted for their number.

    `tests[name]` is the test of one data set.

    Attributes
    ----------
    names : tuple
        Names of the data sets.
    tests : tuple of RumTest
        One test for each.
    seed : int
        The seed of all of them.
    seconds : float
        Time taken.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> tests = rf.rum_test_many({"young": data, "old": data}, n_boot=19, seed=1)
    >>> tests.names, tests["old"].pvalue
    (('young', 'old'), 0.05)
    """

    _named = ("seed", "seconds")
    _listed = "tests"

    names: tuple[Item, ...]
    tests: tuple[RumTest, ...]
    seed: int
    seconds: float

    def __len__(self) -> int:
        return len(self.tests)

    def __getitem__(self, name: Item) -> RumTest:
        if name not in self.names:
            raise InputError(
                f"no test is named {name!r}; names are {', '.join(map(repr, self.names[:8]))}{', ...' * (len(self) > 8)}"
            )
        return self.tests[self.names.index(name)]

    @property
    def statistics(self) -> Array:
        """(m,): the statistics."""
        return np.array([t.statistic for t in self.tests])

    @property
    def pvalues(self) -> Array:
        """(m,): the p-values, at the first tau."""
        return np.array([t.pvalue for t in self.tests])

    @property
    def holm(self) -> Array:
        """(m,): p-values adjusted by Holm's rule."""
        return holm(self.pvalues)

    @property
    def benjamini_hochberg(self) -> Array:
        """(m,): p-values adjusted for the false discovery rate."""
        return benjamini_hochberg(self.pvalues)

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row per test: name, statistic, pvalue, holm, benjamini_hochberg, tau, n_boot, depends_on_tau (at the 5 % level)."""
        columns = {"name": list(self.names), "statistic": self.statistics.tolist(), "pvalue": self.pvalues.tolist()}
        columns |= {"holm": self.holm.tolist(), "benjamini_hochberg": self.benjamini_hochberg.tolist()}
        columns |= {"tau": [test.tau for test in self.tests], "n_boot": [test.n_boot for test in self.tests]}
        return columns | {"depends_on_tau": [test.rejects().depends_on_tau for test in self.tests]}

    def parts(self) -> list[str | Table]:
        """Return the summary at the 5 % level."""
        return [self.summary()]

    def summary(self, level: float = 0.05) -> str:
        """Return a table, and how many tests reject.

        Parameters
        ----------
        level : float, default 0.05
            The level of the tests.

        Returns
        -------
        str
        """
        level = check_level(level)
        names = [visible(name) for name in self.names]
        width = max(map(len, [*names, "name"]))
        several = any(len(test.taus) > 1 for test in self.tests)
        lines = [f"{'name':<{width}}  statistic   p-value      Holm        BH" + "   p over tau" * several]
        for name, test, h, b in zip(names, self.tests, self.holm, self.benjamini_hochberg, strict=True):
            line = f"{name:<{width}}  {test.statistic:9.4g}  {test.pvalue:8.4f}  {h:8.4f}  {b:8.4f}"
            lines.append(line + f"   {test.pvalues.min():.4f} to {test.pvalues.max():.4f}" * several)
        count = [int((p <= level).sum()) for p in (self.pvalues, self.holm, self.benjamini_hochberg)]
        lines.append(
            f"Of {len(self)} tests at the {100 * level:g} % level, {count[0]} reject random utility singly, "
            f"{count[1]} after Holm, {count[2]} after Benjamini-Hochberg."
        )
        if count[0]:
            lines.append(ASSUMPTION)
        lines += self._on_tau(level)
        done = min((test.n_boot for test in self.tests), default=0)
        if self.tests and (few := too_few(done, level)):
            lines.append(f"With so few replicates no test can reject: {few}.")
        elif self.tests and (limit := len(self) / (1 + done)) > level:
            lines.append(
                "With so few replicates no test can reject after Holm's rule: "
                f"the smallest adjusted p-value is {min(limit, 1):.3g}."
            )
        return "\n".join(lines)

    def _on_tau(self, level: float) -> list[str]:
        """The tests whose verdict, singly, depends on tau."""
        found = [
            (name, depends_on_tau(t.taus, t.pvalues, level)) for name, t in zip(self.names, self.tests, strict=True)
        ]
        said = [f"{visible(name)}: {text[0].lower()}{text[1:]}" for name, text in found if text]
        more = len(said) - _NAMED
        return [*said[:_NAMED], *([f"The same holds for {more} more."] if more > 0 else [])]

    def __repr__(self) -> str:
        return f"RumTests({len(self)} tests, seconds={self.seconds:.2g})"


def rum_test_many(
    data: Sequence[DataLike] | Mapping[Any, DataLike],
    n_boot: int = 999,
    tau: Tau = "auto",
    weights: str | ArrayLike | None = "auto",
    cluster: bool | str = "auto",
    seed: Seed = None,
    n_jobs: int = 1,
    progress: bool = False,
    *,
    rng: Seed = None,
    draws: str = "auto",
    resample: str = "menu",
    convention: str | Convention | None = None,
    sizes: Sizes = None,
    tol: float = 1e-9,
    threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    model: Model | None = None,
    route: str | None = None,
) -> RumTests:
    """Run `rum_test` on each of many data sets, and adjust the p-values.

    Parameters
    ----------
    data : sequence or mapping of ChoiceData
        The keys of a mapping name the tests.
    cluster : bool or "auto", default "auto"
        True: resample by the subject ids of the data; "auto" decides for each data set, as `rum_test` does.
    n_boot, tau, weights, seed, rng, n_jobs, progress, draws, resample, convention, sizes, tol, threads, checkpoint, model, route
        As for `rum_test`. Data set number d draws from the d-th child of the seed: its p-value does not depend on the
        workers, nor on the data sets after it.

    Returns
    -------
    RumTests

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> tests = rf.rum_test_many({"young": data, "old": data}, n_boot=19, seed=1)
    >>> tests.pvalues, tests.holm
    (array([0.05, 0.05]), array([0.1, 0.1]))
    """
    jobs = JobOptions(n_jobs, threads, checkpoint, progress)
    kind, number = find_convention(convention, draws), entropy(seed, rng)
    return _run_tests(
        as_data(data), Plan(n_boot, tau, weights, cluster, resample, kind, tol, number, model, route, sizes), jobs
    )


def _run_tests(data: Sequence[ChoiceData] | Mapping[Any, ChoiceData], plan: Plan, jobs: JobOptions) -> RumTests:
    """A test of each data set; the replicates of all of them are one list of work."""
    begin = time.perf_counter()
    names, sets = named_groups(data)
    prepared = []
    with Stage(jobs.progress, GRAPH) as stage:
        for d, (name, one, own) in enumerate(zip(names, sets, own_sizes(names, plan.sizes), strict=True)):
            say = partial(_say, stage, f"test {d + 1} of {len(sets)}")
            try:
                prepared.append(prepare_test(Source({name: one}), replace(plan, sizes=own), (d,), say))
            except InputError as fault:
                raise InputError(f"data set {name!r}: {fault}") from None
    collected = run([p.replicator for p in prepared], plan.n_boot, jobs)
    seconds = time.perf_counter() - begin
    tests = tuple(finish_test(p, c, seconds / len(prepared)) for p, c in zip(prepared, collected, strict=True))
    return RumTests(names, tests, plan.seed, seconds)


def _say(stage: Stage, which: str, what: str) -> None:
    stage.say(f"{which}: {what}")


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison(Result):
    """One distribution for all groups, compared with one for each.

    Attributes
    ----------
    together : RumTest
        Null hypothesis: one RUM for all groups.
    each : RumTests
        Null hypotheses: a RUM for this group. None of them after Ctrl-C in the first test.
    homogeneity : HomogeneityTest or None
        Null hypothesis: all groups choose alike, whether or not a RUM does. None after Ctrl-C in a test before it, and where
        there is one group.
    groups : dict
        The data of each group, by its name.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> comparison = rf.compare_groups({"young": data, "old": data}, n_boot=19, seed=1)
    >>> comparison.each.names
    ('young', 'old')
    """

    together: RumTest
    each: RumTests
    homogeneity: HomogeneityTest | None = None
    groups: dict[Any, ChoiceData] = field(default_factory=dict)
    _listed = "tests"

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns of `RumTests.table`: a row for all groups together, without adjusted p-values, and one for each group."""
        test, each = self.together, self.each.table
        first = {"name": "all groups", "statistic": test.statistic, "pvalue": test.pvalue, "tau": test.tau}
        first["n_boot"] = test.n_boot
        return {name: [first.get(name), *column] for name, column in each.items()}

    def parts(self) -> list[str | Table]:
        """Return the summary at the 5 % level."""
        return [self.summary()]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the replicates as lists, texts and numbers, for JSON."""
        return super().to_dict() | {
            "together": self.together.to_dict(),
            "homogeneity": None if self.homogeneity is None else self.homogeneity.to_dict(),
            "seed": self.each.seed,
        }

    def summary(self, level: float = 0.05) -> str:
        """Return what the tests say: whether groups differ, and whether the model holds within them and for all together.

        Parameters
        ----------
        level : float, default 0.05
            The level of the tests.

        Returns
        -------
        str
            There is no verdict where the replicates are too few for the level.
        """
        together, needed = self.together, replicates_needed(check_level(level), max(len(self.each), 1))
        several = ", ".join(f"{p:.4g} at tau = {t:.3g}" for t, p in zip(together.taus, together.pvalues, strict=True))
        lines = [self.homogeneity.summary(level)] if self.homogeneity else ["Whether the groups differ was not tested."]
        done = min((test.n_boot for test in self.each.tests), default=0)
        if (self.each.holm <= level).any():
            lines.append("Random utility is rejected within at least one group.")
        elif done < needed:
            lines.append(
                "Whether random utility holds within every group is not decided: Holm's rule needs at least "
                f"{needed} replicates for {how_many(len(self.each), 'group')}, and {done} were made."
            )
        else:
            lines.append("Random utility within the groups is not rejected.")
        rejected, few = together.rejects(level), too_few(together.n_boot, level, together.statistic)
        verdict = f"neither rejected nor not: {few}" if few else "rejected" if rejected else "not rejected"
        on_tau = depends_on_tau(together.taus, together.pvalues, level)
        said_below = (self.each.pvalues <= level).any()
        return "\n".join(
            [
                *lines,
                f"One distribution of rankings for all groups is {verdict}.",
                f"  all groups together: statistic {together.statistic:.6g}, p-value {several}",
                *([f"All groups together: {on_tau[0].lower()}{on_tau[1:]}"] if on_tau else []),
                *([ASSUMPTION] if rejected and not said_below else []),
                *together.notes,
                self.each.summary(level),
            ]
        )

    def __repr__(self) -> str:
        return f"GroupComparison(together={self.together!r}, each={self.each!r}, homogeneity={self.homogeneity!r})"


def compare_groups(
    groups: Sequence[DataLike] | Mapping[Any, DataLike],
    n_boot: int = 999,
    tau: Tau = "auto",
    weights: str | ArrayLike | None = "auto",
    cluster: bool | str = "auto",
    seed: Seed = None,
    n_jobs: int = 1,
    progress: bool = False,
    *,
    rng: Seed = None,
    **options: Any,
) -> GroupComparison:
    """Test one distribution for several groups (one stacked projection), one for each of them, and whether the groups differ.

    Parameters
    ----------
    groups : sequence or mapping of ChoiceData
        The groups; the keys of a mapping name them.
    n_boot, tau, weights, cluster, seed, rng, n_jobs, progress
        As for `rum_test` and `rum_test_many`.
    **options
        The other arguments of these. A checkpoint has other files beside it, with the endings .each and .homogeneity.

    Returns
    -------
    GroupComparison

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> comparison = rf.compare_groups({"young": data, "old": data}, n_boot=19, seed=1)
    >>> comparison.together.pvalue, comparison.each["old"].pvalue
    (0.05, 0.05)
    """
    jobs = JobOptions(n_jobs, options.pop("threads", None), options.pop("checkpoint", None), progress)
    kind = find_convention(options.pop("convention", None), options.pop("draws", "auto"))
    plan = Plan(n_boot, tau, weights, cluster, convention=kind, seed=entropy(seed, rng), **options)
    groups = as_data(groups)
    named = dict(zip(*named_groups(groups), strict=True))
    source = Source(named)
    together = run_test(source, plan, jobs)
    if together.interrupted:
        return GroupComparison(together, RumTests((), (), plan.seed, 0.0), groups=named)
    each = _run_tests(groups, plan, _beside(jobs, "each"))
    if any(test.interrupted for test in each.tests) or len(each) < 2:
        return GroupComparison(together, each, groups=named)
    return GroupComparison(together, each, run_homogeneity(source, plan, _beside(jobs, "homogeneity")), named)


def _beside(jobs: JobOptions, ending: str) -> JobOptions:
    """The same with another checkpoint, beside the first: a file has one list of replicates."""
    return jobs if jobs.checkpoint is None else replace(jobs, checkpoint=f"{os.fspath(jobs.checkpoint)}.{ending}")
