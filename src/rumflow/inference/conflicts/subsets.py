"""Subsets of the data as problems of their own: how far is a set of cells from the model, and is that more than chance?

A set of cells is a mask like `data.count`. Menus without a cell in it are gone, other cells of its menus are not recorded, and
items that none of its menus offers are gone as well, so that a subset costs what it is, not what the whole is.

A subset is a *conflict* when no population of the model has its shares. Of exact shares: when the distance is above `TOLERANCE`
by more than the certified gap. Of samples: when the subset's own test rejects the model, the test being that of `rum_test` with
its defaults (weights "counts", replicates from the tightened fit). Replicates are drawn only as far as the answer needs them:
once enough of them have reached the statistic (20, and twice as many as a rejection allows), the p-value is their share of those
drawn (Besag and Clifford 1991). A *verdict* needs fewer still: it is settled once more have reached the statistic than a
rejection by all of them allows, and (1 + reached) / (1 + drawn) of at most half the level after any round is a clear rejection.
With 199 replicates at the 5 % level, true models whose p-value is uniform are then rejected in 5.1 % of cases instead of 5 %.
p-values that are reported of conflicts and of all menus have all their replicates. Of a replicate it matters only whether it
reaches the statistic: its projection ends as soon as that is certain.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus, add_up
from rumflow.core.threads import run_threads, thread_count
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.inference.convention import Convention
from rumflow.inference.relevant import relevant_part
from rumflow.inference.replicate import Distances, Replicator, distances, make_replicator
from rumflow.inference.resample import generators, make_sampler
from rumflow.inference.sample import Sample, build_sample, testable
from rumflow.models.model import Model

#: Distances of exact shares up to this are none: solvers stop at rounding, about 1e-7.
TOLERANCE = 1e-6

#: Replicates drawn at a time, and in one piece.
ROUND, PIECE = 26, 13

#: A p-value of at most this part of the level is a clear rejection, for which no more replicates are drawn.
CLEAR = 0.5

#: Edges and arcs of all subsets that are kept for further questions.
MOST_KEPT = 10_000_000

_TOL = 1e-9
_PLAIN = Convention(scale=1.0)


class Sampling(NamedTuple):
    """How the test of a subset is made."""

    level: float
    n_boot: int
    seed: int
    cluster: bool

    @property
    def enough(self) -> int:
        """Replicates as large as the statistic after which the p-value is known well enough."""
        return max(20, 2 * int(np.ceil(self.level * (1 + self.n_boot))))

    @property
    def settled(self) -> int:
        """Replicates as large as the statistic after which all of them together cannot reject any more."""
        return int(self.level * (1 + self.n_boot) * (1 + 1e-12))


@dataclass(eq=False)
class Subset:
    """Some cells of the data."""

    kept: Mask  # (cells,)
    whole: ChoiceData  # all cells
    sample: Sample
    sampling: Sampling | None
    threads: int
    _null: Array = field(default_factory=lambda: np.empty(0))

    @cached_property
    def measured(self) -> Distances:
        """The squared distance to the model (`statistic`), with its certificate."""
        return distances(self.sample, self.sample.frequency[None], 0.0, _TOL)

    @cached_property
    def statistic(self) -> float:
        """The squared distance to the model; 0 for rounding."""
        found = self.measured
        return 0.0 if found.statistic[0] <= found.rounding[0] else float(found.statistic[0])

    @property
    def distance(self) -> float:
        """The distance to the model."""
        return float(np.sqrt(self.statistic))

    @property
    def is_conflict(self) -> bool:
        """Can no population of the model have these shares (of samples: does the test reject it)?"""
        if self.sampling is None:
            return float(self.measured.statistic[0] - self.measured.gap[0]) > TOLERANCE**2
        return self.verdict <= self.sampling.level

    @cached_property
    def normal(self) -> Array:
        """(cells,): w (share - fit), the normal of the inequality that separates the shares from the model; 0 on other cells."""
        sample = self.sample
        values = np.zeros(len(self.kept))
        values[self.kept] = sample.weights * (sample.frequency - self.measured.fits.fitted[0][sample.column])
        return values

    @cached_property
    def contributions(self) -> Array:
        """(m,): what each menu adds to the squared distance."""
        sample = self.sample
        fitted = self.measured.fits.fitted[0][sample.column]
        part, menus = sample.weights * (sample.frequency - fitted) ** 2, self.whole.offered
        return add_up(menus.menu[self.kept], part, len(menus))

    @cached_property
    def pvalue(self) -> float:
        """(1 + reached) / (1 + B), or reached / drawn as soon as enough replicates reach the statistic."""
        assert self.sampling is not None
        if self.statistic == 0.0:
            return 1.0
        enough = self.sampling.enough
        reached = self._draw_until(enough, clear=0.0)
        if reached[-1] >= enough:
            return enough / (1 + int(np.searchsorted(reached, enough)))
        return (1 + int(reached[-1])) / (1 + len(reached))

    @cached_property
    def verdict(self) -> float:
        """The p-value as far as it takes to judge: that of the replicates drawn so far, once the answer is clear."""
        assert self.sampling is not None
        if self.statistic == 0.0:
            return 1.0
        reached = self._draw_until(self.sampling.settled, CLEAR * self.sampling.level)
        return (1 + int(reached[-1])) / (1 + len(reached))

    def _draw_until(self, enough: int, clear: float) -> Ints:
        """Draw until `enough` replicates reach the statistic, the p-value is at most `clear`, or all of them are drawn.

        How many have reached it after each.
        """
        assert self.sampling is not None
        while True:
            reached: Ints = np.cumsum(self._null >= self._bound)
            drawn, last = len(reached), int(reached[-1]) if len(reached) else 0
            if drawn and (last >= enough or (1 + last) / (1 + drawn) <= clear or drawn >= self.sampling.n_boot):
                return reached
            self._draw()

    @cached_property
    def _bound(self) -> float:
        """What a replicate must reach to be as far off as the data, up to rounding."""
        return self.statistic * (1.0 - 1e-8) - float(self.measured.rounding[0])

    def _draw(self) -> None:
        """A round of replicates more."""
        assert self.sampling is not None
        first = len(self._null)
        last = min(first + ROUND, self.sampling.n_boot)
        more = np.empty(last - first)

        def task(begin: int) -> None:
            end = min(begin + PIECE, last)
            more[begin - first : end - first] = self._replicator(range(begin, end)).statistic[0]

        run_threads(task, range(first, last, PIECE), self.threads)
        self._null = np.concatenate([self._null, more])

    @cached_property
    def _replicator(self) -> Replicator:
        assert self.sampling is not None
        # Counts are drawn as the sample has them; single choices are those of these cells.
        data = (
            self.whole
            if self.whole.rows is None
            else select(self.whole, self.kept, len(self.sample.items) < self.whole.n)
        )
        sample = relevant_part(self.sample)
        sampler = make_sampler(sample, [data], "menu", self.sampling.cluster or None)
        taus = sample.taus(["auto"], sampler.n_independent)
        return replace(make_replicator(sample, sampler, taus, _TOL, self.sampling.seed), threshold=self._bound)


class Subsets:
    """The subsets of one data set, made when they are first asked for; those asked for last are kept."""

    def __init__(
        self,
        data: ChoiceData,
        model: Model | None,
        sampling: Sampling | None,
        threads: int | None = None,
        asked: Callable[[], None] = lambda: None,
    ) -> None:
        self.data: ChoiceData = _with_choices(data, sampling is not None and sampling.cluster)
        self.rows: Ints = np.flatnonzero(testable(data))  # where its menus are among those of the data given
        self.model = None  # random utility
        if model is not None:
            several = np.flatnonzero(data.offered.sizes >= 2)
            menus, _ = data.offered.take(several)
            self.model = model.restrict(Cells.of_menus(menus, None, data.items), np.searchsorted(several, self.rows))
        self.sampling: Sampling | None = sampling
        self.threads: int = thread_count(threads)
        self.recorded: Mask = ~np.isnan(self.data.count)
        self._asked = asked  # called for every new subset, for progress
        self._kept: OrderedDict[bytes, Subset] = OrderedDict()
        self._size = 0  # edges and arcs of those kept

    @property
    def exact(self) -> bool:
        """Are the shares taken as they are, without sampling error?"""
        return self.sampling is None

    @cached_property
    def n_independent(self) -> Array:
        """(m,): the independent choices behind each menu, see `effective_choices`."""
        return effective_choices(self.data, self.sampling is not None and self.sampling.cluster)

    @cached_property
    def _sample(self) -> Sample:
        weights = None if self.exact else "counts"
        return build_sample(self.data, weights, _PLAIN, model=self.model)

    @property
    def whole(self) -> Subset:
        """All cells."""
        return self.of(self.recorded)

    def model_on(self, rows: Ints) -> Model | None:
        """The model for some of the menus."""
        return None if self.model is None else self.model.restrict(self._cells, rows)

    @cached_property
    def _cells(self) -> Cells:
        return Cells.of_menus(self.data.offered, None, self.data.items)

    def of_menus(self, rows: Sequence[int] | Ints) -> Subset:
        """All recorded cells of some menus."""
        chosen = np.zeros(len(self.data.totals), np.bool_)
        chosen[np.asarray(rows, np.int64)] = True
        return self.of(self.recorded & chosen[self.data.offered.menu])

    def of(self, kept: Mask) -> Subset:
        """The subset of these cells, of which there is at least one."""
        key = np.packbits(kept).tobytes()
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        sample = self._sample
        if kept is not self.recorded:
            model = None if self.model is None else self.model_on(np.unique(self.data.offered.menu[kept]))
            slots = np.flatnonzero(kept[self.recorded])
            sample = sample.part(slots, model, drop_items=self.model is None)
        subset = Subset(kept, self.data, sample, self.sampling, self.threads)
        self._asked()
        self._kept[key] = subset
        self._size += subset.sample.projector.size
        while len(self._kept) > 1 and self._size > MOST_KEPT:
            self._size -= self._kept.popitem(last=False)[1].sample.projector.size
        return subset


def effective_choices(data: ChoiceData, by_subject: bool) -> Array:
    """(m,): how many independent choices of equal weight would say as much as those from each menu: (sum w)^2 / sum w^2 (Kish).

    by_subject   the choices of a subject from a menu count as one, with the sum of their weights.
    """
    rows = (data.outcomes or data).rows  # of half wins those in which a tie is one choice
    if rows is None:
        return data.totals
    count = len(data.totals)
    menu, weight = np.asarray(rows.menu, np.int64), np.asarray(rows.weight, np.float64)
    if by_subject:
        unit, place = np.unique(menu + count * np.asarray(rows.subject, np.int64), return_inverse=True)
        menu, weight = unit % count, np.bincount(place.reshape(-1), weight).astype(np.float64)
    elif (weight == np.round(weight)).all():
        return data.totals  # whole weights say how many equal choices a row stands for
    return np.bincount(menu, weight, count) ** 2 / np.maximum(np.bincount(menu, weight**2, count), 1e-300)


def half_samples(data: ChoiceData, by_subject: bool, seed: int, count: int) -> Iterator[tuple[ChoiceData, Ints]]:
    """Half of the choices from each menu (half of the subjects), drawn without replacement, `count` times.

    Beside each the numbers of its menus among those of the data: some may have lost all their choices.

    Each is a sample of the same population, of half the size: what holds of it, such as the level of a test, holds whatever
    the population (subsampling, Politis and Romano 1994). Bootstrap samples, drawn with replacement, are samples of the
    observed shares: they add their noise to that of the data, and where menus have few choices nearly all of them are rejected
    even if the data are not. The price is that conflicts are named a little less often than in samples of the full size.

    Half wins are made again of half of the outcomes.
    """
    if data.outcomes is not None:
        for half, menus in half_samples(data.resolve_ties("outcome"), by_subject, seed, count):
            yield half.resolve_ties("half"), menus
        return
    for rng in generators(seed, (1,), range(count)):
        if data.rows is not None:
            unit = np.arange(len(data.rows.menu)) if not by_subject else np.asarray(data.rows.subject)
            chosen = rng.permutation(int(unit.max()) + 1) < (int(unit.max()) + 2) // 2
            yield recount(data, chosen[unit])
        else:
            yield _halve_counts(data, rng), np.arange(len(data.totals))


def _halve_counts(data: ChoiceData, rng: np.random.Generator) -> ChoiceData:
    """Half of the choices from each menu, of those that were not recorded as well."""
    menus, missing = data.offered, np.isnan(data.count)
    counts = np.round(np.where(missing, 0.0, data.count)).astype(np.int64)
    rest = np.round(data.totals - menus.sums(data.count)).astype(np.int64)
    drawn, totals = np.empty(len(counts)), np.empty(len(rest))
    every = np.zeros(data.n + 1, np.int64)  # by item, and those that were not recorded
    for menu, (first, last) in enumerate(pairwise(menus.start.tolist())):
        item = menus.item[first:last]
        every[item], every[-1] = counts[first:last], rest[menu]
        half = _half(rng, every)
        drawn[first:last], totals[menu] = half[item], half.sum()
        every[item] = 0
    return data.replace(counts=np.where(missing, np.nan, drawn), totals=totals)


def _half(rng: np.random.Generator, own: Ints) -> Ints:
    """Half of these choices; of a billion or more, which NumPy does not draw like that, each with a chance of 1/2."""
    total = int(own.sum())
    if total >= 10**9:
        return np.asarray(rng.binomial(own, 0.5), np.int64)
    return np.asarray(rng.multivariate_hypergeometric(own, (total + 1) // 2), np.int64)


def _with_choices(data: ChoiceData, by_subject: bool) -> ChoiceData:
    """The menus that leave a choice; single choices only where they are needed, for there may be millions."""
    whole = data if data.outcomes is None else data.resolve_ties("outcome")  # in which a tie is one choice
    rows, large = whole.rows, testable(data)
    if not large.any():
        raise InputError("explain: every menu has one item, so there is no choice that could be in conflict")
    if rows is not None and not by_subject and (rows.weight == np.round(rows.weight)).all():
        data = data.replace(rows=None) if data.outcomes is None else whole.replace(rows=None).resolve_ties("half")
    return data if large.all() else select(data, large[data.offered.menu] & ~np.isnan(data.count), False)


def select(data: ChoiceData, kept: Mask, drop_items: bool) -> ChoiceData:
    """The data of these cells (cells,) alone, without items that no menu offers any more where these are to be dropped.

    Half wins keep their outcomes where both items of each pair are kept.
    """
    rows = np.unique(data.offered.menu[kept])
    if data.outcomes is not None and (data.offered.count(kept)[rows] == 2).all():
        whole = data.resolve_ties("outcome")
        return select(whole, np.isin(whole.offered.menu, rows), drop_items).resolve_ties("half")
    menus, cells = data.offered.take(rows)
    menus, items = drop_unused(menus) if drop_items else (menus, np.arange(data.n))
    choices = data.rows
    if choices is not None:
        choices = choices.pick(np.isin(choices.menu, rows))
        choices = choices._replace(
            menu=np.searchsorted(rows, choices.menu).astype(np.int32),
            choice=np.searchsorted(items, choices.choice).astype(np.int32),
        )
    labels = tuple(map(data.items.__getitem__, items.tolist()))
    return ChoiceData.from_cells(labels, menus, np.where(kept, data.count, np.nan)[cells], data.totals[rows], choices)


def drop_unused(menus: Menus) -> tuple[Menus, Ints]:
    """The same menus over the items that some menu offers, and which these are."""
    items = np.unique(menus.item).astype(np.int64)
    return Menus(menus.start, np.searchsorted(items, menus.item).astype(np.int32), len(items)), items


def recount(data: ChoiceData, chosen: Mask) -> tuple[ChoiceData, Ints]:
    """The data of some of the single choices, and where their menus were; those that nobody is left to choose from are gone."""
    assert data.rows is not None
    rows, menus = data.rows.pick(chosen), data.offered
    counts = add_up(menus.cells_of(rows.menu, rows.choice), rows.weight, len(menus.item))
    totals = menus.sums(counts)
    left = totals > 0
    counted = data.replace(counts=counts, totals=np.where(left, totals, 1.0), rows=rows)
    return select(counted, left[menus.menu], False), np.flatnonzero(left)


def by_item(data: ChoiceData, values: Array, menu: int) -> dict[int, float]:
    """What a number per cell (cells,) is for each item of a menu."""
    first, last = data.offered.start[menu : menu + 2]
    return dict(zip(data.offered.items_of(menu).tolist(), values[first:last].tolist(), strict=True))
