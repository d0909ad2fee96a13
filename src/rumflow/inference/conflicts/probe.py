"""Parts of the data as problems of their own: how far is a set of cells from the model, and is that more than chance?

A set of cells is a mask like `data.counts`. Menus without a cell in it are gone, other cells of its menus are not recorded, and
items that none of its menus offers are gone as well, so that a part costs what it is, not what the whole is.

A part is a *conflict* when no population of the model has its shares. Of exact shares: when the distance is above `TOLERANCE`
by more than the certified gap. Of samples: when the part's own test rejects the model, the test being that of `rum_test` with its
defaults (weights "counts", replicates from the tightened fit). Replicates are drawn only as far as the answer needs them: once
`ENOUGH` of them have reached the statistic, the p-value is their share of those drawn (Besag and Clifford 1991).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.threads import run_threads, thread_count
from rumflow.data.choices import ChoiceData
from rumflow.inference.convention import Convention, find_taus
from rumflow.inference.replicate import Distances, Replicator, distances, make_replicator
from rumflow.inference.resample import generators, make_sampler
from rumflow.inference.sample import Sample, build_sample
from rumflow.models.model import Model

#: Distances of exact shares up to this are none: solvers stop at rounding, about 1e-7.
TOLERANCE = 1e-6

#: Replicates as large as the statistic after which a p-value is known well enough; replicates drawn at a time, and in one piece.
ENOUGH, ROUND, PIECE = 20, 50, 25

#: Edges and arcs of all parts that are kept for further questions.
MOST_KEPT = 10_000_000

_TOL = 1e-9


class Sampling(NamedTuple):
    """How the test of a part is made."""

    level: float
    n_boot: int
    seed: int
    cluster: bool


@dataclass(eq=False)
class Part:
    """Some cells of the data."""

    kept: Mask  # (m, n), the cells
    own: Mask  # which of all recorded cells, in order, are among them
    data: ChoiceData
    sample: Sample
    sampling: Sampling | None
    threads: int
    _null: Array = field(default_factory=lambda: np.empty(0))

    def measure(self, shares: Array) -> Distances:
        """The squared distance to the model (statistic), given the shares of all recorded cells."""
        return distances(self.sample, shares[self.own][None], 0.0, _TOL)

    def residual(self, shares: Array) -> Array:
        """(m, n): w (share - fit), the normal of the inequality that separates the shares from the model; 0 on other cells."""
        sample = self.sample
        fitted = self.measure(shares).fits.fitted[0][sample.column]
        array = np.zeros(self.kept.shape)
        array[self.kept] = sample.weights * (shares[self.own] - fitted)
        return array

    def pvalue(self, statistic: float, rounding: float = 0.0) -> float:
        """(1 + reached) / (1 + B), or `ENOUGH` / drawn as soon as so many replicates reach the statistic."""
        assert self.sampling is not None
        if statistic <= rounding:
            return 1.0
        while True:
            reached = np.cumsum(self._null >= statistic * (1.0 - 1e-8) - rounding)
            if len(reached) and reached[-1] >= ENOUGH:
                return ENOUGH / (1 + int(np.searchsorted(reached, ENOUGH)))
            if len(reached) >= self.sampling.n_boot:
                return (1 + int(reached[-1])) / (1 + len(reached))
            self._draw()

    def _draw(self) -> None:
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
        sampler = make_sampler(self.sample, [self.data], "menu", self.sampling.cluster or None)
        taus = find_taus(["auto"], sampler.behind, self.sample.menu_sizes, self.sample.convention)
        return make_replicator(self.sample, sampler, taus, _TOL, self.sampling.seed)


class Parts:
    """The parts of one data set, made when they are first asked for; those asked for last are kept."""

    def __init__(
        self, data: ChoiceData, model: Model | None, sampling: Sampling | None, threads: int | None = None
    ) -> None:
        self.data = _with_choices(data, sampling is not None and sampling.cluster)
        self.model, self.sampling, self.threads = model, sampling, thread_count(threads)
        self.recorded: Mask = ~np.isnan(self.data.counts)
        self.shares: Array = self.data.frequencies[self.recorded]
        self.asked = 0  # how many questions were answered, for progress
        self._kept: OrderedDict[bytes, Part] = OrderedDict()

    @property
    def exact(self) -> bool:
        """Are the shares taken as they are, without sampling error?"""
        return self.sampling is None

    def of(self, kept: Mask) -> Part:
        """The part of these cells."""
        key = np.packbits(kept).tobytes()
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        data = _select(self.data, kept, self.model is None)
        convention = Convention(scale=1.0)
        weights = None if self.exact else "counts"
        sample = build_sample(data, weights, convention, model=self.model)
        part = Part(kept, kept[self.recorded], data, sample, self.sampling, self.threads)
        self._kept[key] = part
        while len(self._kept) > 1 and sum(one.sample.projector.size for one in self._kept.values()) > MOST_KEPT:
            self._kept.popitem(last=False)
        return part

    def of_menus(self, rows: Ints | list[int]) -> Part:
        """The part of whole menus."""
        return self.of(self.cells_of(rows))

    def cells_of(self, rows: Ints | list[int]) -> Mask:
        """All recorded cells of some menus."""
        kept = np.zeros_like(self.recorded)
        kept[rows] = self.recorded[rows]
        return kept

    def is_conflict(self, kept: Mask, shares: Array) -> bool:
        """Can no population of the model have these shares (of samples: does the test reject it)?"""
        self.asked += 1
        if not kept.any():
            return False
        part = self.of(kept)
        found = part.measure(shares)
        statistic = float(found.statistic[0])
        if self.sampling is None:
            return statistic - float(found.gap[0]) > TOLERANCE**2
        return part.pvalue(statistic, float(found.rounding[0])) <= self.sampling.level

    def pvalue(self, kept: Mask, shares: Array) -> float | None:
        """The p-value of a part; None for exact shares."""
        if self.sampling is None:
            return None
        found = self.of(kept).measure(shares)
        return self.of(kept).pvalue(float(found.statistic[0]), float(found.rounding[0]))

    def distance(self, kept: Mask, shares: Array) -> float:
        """The distance of a part to the model; 0 for rounding."""
        if not kept.any():
            return 0.0
        found = self.of(kept).measure(shares)
        statistic = float(found.statistic[0])
        return 0.0 if statistic <= max(float(found.rounding[0]), 0.0) else float(np.sqrt(statistic))

    def resampled(self, count: int) -> Array:
        """(count, cells): the shares of samples drawn anew from the observed choices, menu by menu or by subject.

        A menu that nobody drew keeps the observed shares.
        """
        assert self.sampling is not None
        whole = self.of(self.recorded)
        sample = replace(whole.sample, convention=Convention(scale=1.0, draws="empirical"))
        sampler = make_sampler(sample, [whole.data], "menu", self.sampling.cluster or None)
        # Draws of a child of the seed: those of the tests are its own.
        drawn = sampler.draw(generators(self.sampling.seed, (1,), range(count)), sample.frequency)
        found: Array = np.where(np.isnan(drawn), sample.frequency, drawn)
        return found


def _with_choices(data: ChoiceData, by_subject: bool) -> ChoiceData:
    """The menus that leave a choice; single choices only where they are needed, for there may be millions."""
    whole = data.rows is None or bool((data.rows.weight == np.round(data.rows.weight)).all())
    if whole and not by_subject:
        data = replace(data, rows=None)
    large = (data.membership.sum(axis=1) >= 2) & ~np.isnan(data.counts).all(axis=1)
    return _select(data, large[:, None] & ~np.isnan(data.counts), False)


def _select(data: ChoiceData, kept: Mask, drop_items: bool) -> ChoiceData:
    """The data of these cells alone."""
    rows = kept.any(axis=1)
    membership = data.membership[rows]
    items = membership.any(axis=0) if drop_items else np.ones(data.n, np.bool_)
    counts = np.where(kept[rows], data.counts[rows], np.nan)[:, items]
    choices = data.rows
    if choices is not None:
        own = rows[choices.menu]
        number = (np.cumsum(rows) - 1).astype(np.int32)
        place = (np.cumsum(items) - 1).astype(np.int16)
        choices = choices._replace(
            menu=number[choices.menu[own]],
            choice=place[choices.choice[own]],
            weight=choices.weight[own],
            subject=None if choices.subject is None else choices.subject[own],
            group=None if choices.group is None else choices.group[own],
        )
    labels = tuple(label for label, inside in zip(data.items, items, strict=True) if inside)
    return ChoiceData(labels, membership[:, items], counts, data.totals[rows], choices)
