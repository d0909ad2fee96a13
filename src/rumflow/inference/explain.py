"""Which choices are in conflict: sets of menus that no population of utility maximisers can have chosen from like this.

The projection says how far the data are from random utility, the test whether that is more than chance. This says *why*: an
irreducible set of menus that is a conflict by itself (`rumflow.inference.conflicts.search`), the inequality that its shares
violate (`conflicts.inequality`), the classic pattern that it is (`conflicts.patterns`), and how much of the distance each menu
carries.

Exact shares (probabilities without sample sizes, or level=None) are in conflict when no population has them. Every sample of a
true model is, in that sense. In samples a set of menus is therefore a conflict when its own test rejects random utility at
`level`: see `conflicts.subsets`. The p-value of a set that was searched for is not adjusted for the search; that of all menus
together needs no adjustment, and where it does not reject, no conflict is named. That test looks for anything at all, so among
hundreds of menus one pair that is off may be lost in it: such a pair is a *lead* where it is off by more than the number of such
comparisons explains (`conflicts.small`).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_level, check_replicates, check_threads, check_whole
from rumflow.core.seeds import ZERO, Seed, either, entropy
from rumflow.data.accept import DataLike, as_data
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.inference.confidence import has_counts
from rumflow.inference.conflicts.inequality import highest, make_inequality, negative_terms, slack_terms
from rumflow.inference.conflicts.patterns import find_pattern
from rumflow.inference.conflicts.result import Conflict, Explanation
from rumflow.inference.conflicts.search import Found, Search
from rumflow.inference.conflicts.subsets import TOLERANCE, Sampling, Subsets, by_item, half_samples
from rumflow.inference.cycles import CycleExplanation, explain_cycles
from rumflow.inference.resample import resolve_cluster
from rumflow.models.budgets import model_of_budgets
from rumflow.models.model import Model, require_model
from rumflow.output.progress import Counter

#: Menus without which the distance is measured, and without which the data are tested, beside those of the conflicts: the most
#: influential ones.
MOST_LEFT_OUT, MOST_TESTED = 100, 10

#: A smaller part of the squared distance is none.
NOTHING = 1e-12

#: Items up to which complete data are also explained by Block-Marschak terms.
MOST_TERM_ITEMS = 16


def explain(
    data: DataLike | ArrayLike,
    level: float | None = 0.05,
    n_boot: int = 199,
    *,
    most: int = 3,
    halves: int = 20,
    cluster: bool | str = "auto",
    seed: Seed = ZERO,
    rng: Seed = None,
    model: Model | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Explanation | CycleExplanation:
    """Find the menus whose choices cannot come from one population of utility maximisers.

    Parameters
    ----------
    data : ChoiceData, BudgetData or array_like
        An array has shape (2^n, n): row = menu bit mask, NaN = not observed. For BudgetData budgets are the menus and their
        patches the items; smoothed demand needs level=None.
    level : float or None, default 0.05
        Level of the tests that decide what a conflict is in a sample. None: the shares are taken as exact; so are those of
        data without sample sizes.
    n_boot : int, default 199
        Replicates of each test; fewer are drawn where the answer is clear before. The p-values of the conflicts and of
        all menus together have all of them.
    most : int, default 3
        The largest number of conflicts to list.
    halves : int, default 20
        Half-samples in which the search is repeated, to say how often each menu is named; 0: none, and none where the data
        as a whole are not rejected. They are not bootstrap
        samples, which are rejected too often: see `rumflow.inference.conflicts.subsets.half_samples`.
    cluster : bool or "auto", default "auto"
        True: whole subjects are drawn, in tests and half-samples. "auto": where they are known and made several choices.
    seed, rng : int or numpy.random.Generator, default 0
        The result is the same for any number of threads. Two names of the same: give one.
    model : Model, optional
        None for random utility, or another model on a choice graph: a conflict is then what no population of it has, a
        single menu may be one, and the inequality holds for every type of the model. For `TriangleInequalities` the
        answer is a `CycleExplanation`: the cycles of pairs that bind, with their prices; `halves` does not matter.
    threads : int, optional
        Number of threads.
    progress : bool, default False
        Show a line on standard error.

    Returns
    -------
    Explanation or CycleExplanation
        Ctrl-C returns what is known by then, marked `interrupted`, or raises where that is nothing.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> explanation = rf.explain(data, n_boot=99, halves=0)
    >>> explanation.conflicts[0].menus
    (('a', 'b'), ('a', 'b', 'c'))
    >>> explanation.conflicts[0].pattern.name
    'attraction'
    """
    begin = time.perf_counter()
    require_model(model)
    check_whole(most, "most", 1)
    check_whole(halves, "halves")
    check_threads(threads)
    data = as_data(data)
    if isinstance(data, BudgetData):
        if data.is_smoothed and level is not None:
            raise InputError(
                "explain: demand that was smoothed over expenditure is no sample of choices, which its tests draw; take plain "
                "frequencies, degree=0 (--degree 0)"
            )
        model, data = model_of_budgets(data, model), data.choices
    own, sampling = _check(data, level, n_boot, cluster, either(seed, rng))
    if model is not None and not model.has_types:
        return explain_cycles(own, model, sampling, most, threads, progress)
    with Counter(progress, None, "sets of menus tried") as counter:
        subsets = Subsets(
            own, None if model is None or model.all_rankings else model, sampling, threads, lambda: counter.add(1)
        )
        if not subsets.whole.sample.projector.exact:
            raise InputError(
                "explain needs exact distances, but the graph of these menus is too large, so there are only bounds "
                "(route 'bounded'); leave out menus or items, such as rare ones"
            )
        run = _Stages(subsets, most, halves if sampling is not None else 0, progress)
        try:
            run.find()
        except KeyboardInterrupt:
            raise KeyboardInterrupt("interrupted before the first conflict was found: there is no result yet") from None
    try:
        if not run.interrupted:
            run.leave_out()
            run.repeat()
    except KeyboardInterrupt:
        run.interrupted = True
    return Explanation(
        conflicts=tuple(run.conflicts),
        complete=run.complete,
        leads=tuple(tuple(subsets.data.menus[row] for row in menus) for menus in run.leads),
        influence=run.influence(),
        block_marschak=tuple(negative_terms(subsets.data, TOLERANCE)) if run.has_terms else None,
        distance=subsets.whole.distance,
        pvalue=None if sampling is None else subsets.whole.pvalue,
        level=None if sampling is None else sampling.level,
        n_boot=0 if sampling is None else sampling.n_boot,
        halves=run.done,
        rejected=run.rejected,
        seed=0 if sampling is None else sampling.seed,
        items=subsets.data.items,
        n_observations=None if sampling is None else subsets.data.n_observations,
        interrupted=run.interrupted,
        seconds=time.perf_counter() - begin,
        model=subsets.model,
        n_independent={}
        if sampling is None
        else dict(zip(subsets.data.menus, subsets.n_independent.tolist(), strict=True)),
        by_subject=sampling is not None and sampling.cluster,
    )


class _Stages:
    """The stages, one after the other, and what they have found so far."""

    def __init__(self, subsets: Subsets, most: int, halves: int, progress: bool) -> None:
        self.subsets, self.most, self.halves, self.progress = subsets, most, halves, progress
        self.found: list[tuple[int, ...]] = []
        self.conflicts: list[Conflict] = []
        self.leads: list[tuple[int, ...]] = []
        self.complete = False
        self.interrupted = False
        self.share = np.zeros(len(subsets.data.totals))
        self.without: dict[int, tuple[float, float | None]] = {}
        self.named = np.zeros(len(subsets.data.totals))
        self.search = Search(subsets)
        self.done = self.rejected = 0

    def find(self) -> None:
        """The conflicts."""
        whole = self.subsets.whole
        if whole.statistic > 0:
            self.share = whole.contributions / whole.contributions.sum()
        found = Found([], True)
        search = self.search
        if not whole.is_conflict and not self.subsets.exact:
            self.leads = search.leads(self.most)
        if whole.is_conflict:
            menus_so_far: list[tuple[int, ...]] = []
            try:
                found = search.several(self.most, menus_so_far)
            except KeyboardInterrupt:
                if not menus_so_far:
                    raise
                self.interrupted = True
                found = Found(sorted(menus_so_far, key=len), False)
            for menus in found.menus:
                self.conflicts.append(self._describe(menus))
                self.found.append(menus)
        self.complete = found.complete

    def _describe(self, menus: tuple[int, ...]) -> Conflict:
        """A conflict in full; after Ctrl-C as far as it is known."""
        if not self.interrupted:
            try:
                return _describe(self.search, menus, self.has_terms)
            except KeyboardInterrupt:
                self.interrupted = True
        return _describe(self.search, menus, self.has_terms, brief=True)

    @property
    def has_terms(self) -> bool:
        """Are the data complete, of few enough items, and the model all rankings?"""
        subsets, n = self.subsets, self.subsets.data.n
        complete = n <= MOST_TERM_ITEMS and len(subsets.data.totals) == 2**n - 1 - n
        return complete and subsets.model is None and bool(subsets.recorded.all())

    def leave_out(self) -> None:
        """Distance and p-value of the data less one menu."""
        subsets = self.subsets
        order = np.argsort(-self.share, kind="stable")
        carrying = [int(row) for row in order if self.share[row] > NOTHING][:MOST_LEFT_OUT]
        tested = {row for menus in self.found for row in menus} | set(carrying[:MOST_TESTED])
        with Counter(self.progress, len(carrying), "menus left out") as counter:
            for row in carrying:
                rest = np.delete(np.arange(len(self.share)), row)
                left = subsets.of_menus(rest) if len(rest) else None
                p = None
                if row in tested and subsets.whole.is_conflict and not subsets.exact:
                    p = 1.0 if left is None else left.verdict
                self.without[row] = 0.0 if left is None else left.distance, p
                counter.add(1)

    def repeat(self) -> None:
        """How often each menu is named in half of the choices."""
        data, sampling = self.subsets.data, self.subsets.sampling
        if not self.halves or sampling is None or not self.subsets.whole.is_conflict:
            return
        with Counter(self.progress, self.halves, "half-samples") as counter:
            for half, rows in half_samples(data, sampling.cluster, sampling.seed, self.halves):
                subsets = Subsets(half, self.subsets.model_on(rows), sampling, self.subsets.threads)
                menus = Search(subsets, self.search.small).first()
                if menus is not None:
                    self.rejected += 1
                    self.named[rows[subsets.rows[list(menus)]]] += 1
                self.done += 1
                counter.add(1)

    def influence(self) -> dict[str, list[Any]]:
        """The table by menu. A menu that carries nothing leaves the distance as it is."""
        subsets, data = self.subsets, self.subsets.data
        order = np.argsort(-self.share, kind="stable").tolist()
        same = [(subsets.whole.distance if share <= NOTHING else None, None) for share in self.share]
        without = [self.without.get(row, same[row]) for row in order]
        return {
            "menu": [data.offered.labels_of(row, data.items) for row in order],
            "choices": [None if subsets.exact else float(data.totals[row]) for row in order],
            "share": [float(self.share[row]) for row in order],
            "distance_without": [distance for distance, _ in without],
            "pvalue_without": [p for _, p in without],
            "named": [float(self.named[row] / self.done) if self.done else None for row in order],
            "conflicts": [[k for k, menus in enumerate(self.found, 1) if row in menus] for row in order],
        }


def _describe(search: Search, menus: tuple[int, ...], has_terms: bool, brief: bool = False) -> Conflict:
    """A conflict with its cells, inequality and pattern; `brief`: with all cells of its menus, and nothing is tested any more."""
    subsets, data = search.subsets, search.subsets.data
    kept = subsets.of_menus(menus).kept if brief else search.cells(menus)
    # Standard errors are those of single choices, which repeated or weighted ones are not.
    weighted = data.rows is not None and bool((data.rows.weight != 1.0).any())
    single = subsets.sampling is not None and not subsets.sampling.cluster and not weighted
    model = subsets.model_on(np.array(menus))
    inequality, coefficients = make_inequality(data, kept, subsets.of(kept).normal, model, single)
    # The patterns are those of choices that no ranking makes; another model may be violated by less.
    offered, cells = data.offered.take(np.array(menus))
    bound = inequality.bound if model is None else highest(offered, coefficients[cells], data.items, None)
    own = subsets.of_menus(menus)
    labels = dict(zip(menus, offered.labels(data.items), strict=True))
    return Conflict(
        menus=tuple(labels.values()),
        cells=tuple((labels[data.offered.menu[c]], data.items[data.offered.item[c]]) for c in np.flatnonzero(kept)),
        shares=tuple(
            {data.items[x]: share for x, share in by_item(data, data.shares, row).items() if not np.isnan(share)}
            for row in menus
        ),
        inequality=inequality,
        pattern=find_pattern(data, menus, coefficients) if inequality.value > bound else None,
        distance=own.distance,
        pvalue=None if subsets.exact else own.pvalue,
        irreducible=not brief and search.is_irreducible(menus),
        block_marschak=tuple(slack_terms(data, coefficients, TOLERANCE)) if has_terms else None,
    )


def _check(
    data: ChoiceData | ArrayLike,
    level: float | None,
    n_boot: int,
    cluster: bool | str,
    seed: Seed,
) -> tuple[ChoiceData, Sampling | None]:
    """The data, and how they are sampled: None for exact shares."""
    own = data if isinstance(data, ChoiceData) else ChoiceData.from_matrix(data)
    if level is not None:
        check_level(level, below=0.5, also=", or None for exact shares")
    check_replicates(n_boot)
    cluster = bool(resolve_cluster(cluster, [own])) if isinstance(cluster, str) and cluster == "auto" else cluster
    if not isinstance(cluster, bool):
        raise InputError(f"cluster={cluster!r}: accepted are True (by the subjects of the data), False and 'auto'")
    if cluster and (own.rows is None or own.rows.subject is None):
        raise InputError("cluster=True: these data have no subjects; name their column with subject= when reading them")
    if level is None or not isinstance(data, ChoiceData) or not has_counts(data):
        return own, None
    if level * (1 + n_boot) < 1:
        least = int(np.ceil(1 / level)) - 1
        raise InputError(
            f"n_boot={n_boot}: no test of so few replicates rejects at level={level:g}; take {least} or more"
        )
    return own, Sampling(float(level), int(n_boot), entropy(seed), cluster)
