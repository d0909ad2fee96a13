"""The test of Fang, Santos, Shaikh and Torgovitsky (2023), by name: `rum_test(data, statistic="fsst")`.

The hypothesis is that the frequencies p of the population are A x for some x >= 0, with the types as columns of A. The
statistic is the largest violation of an inequality that follows from it, in standard deviations,

    T = max <s, p>  over  A's <= 0,  sum of d |s| <= 1         (`rumflow.solvers.largest_deviation`)

with d = sqrt(f (1 - f) / m) for a cell with fitted probability f and m independent choices from its menu, f (1 - f) at least
0.01. Replicates p* are measured by

    T* = max <s, p* - f + lambda f>,     lambda = 1 / sqrt(log(max(e, cells)) log(max(e, log of the mean m)))

over the same s: an inequality that is slack at the fit counts less, but counts, which is what makes the published test valid
uniformly over populations. There is nothing to tighten, so there is no tau.

Departures from the paper, of which the first two have no theorem (`python -m studies.experiments.uniform` measures what they do):
1. f, which stands for the population under the hypothesis, is the projection of the data with weights "counts", not the
   solution of a linear programme.
2. p* is drawn from f, menu by menu (subjects: with random signs), and not from the observed choices around p: a menu with one
   choice has its noise in the replicates too. Both estimate the same distribution under the hypothesis.
3. The paper has a statistic of its own for "p is in the range of A". It is void here: frequencies that add up to 1 in every menu
   are in the range of the rankings. Other models, which may have a smaller range, are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from rumflow.core.arrays import Array
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.inference.notes import notes_without_weights
from rumflow.inference.plan import Plan
from rumflow.inference.replicate import Distances, Draws, Replicator, distances
from rumflow.inference.resample import Sampler, generators
from rumflow.inference.result import RumTest
from rumflow.inference.sample import Sample
from rumflow.inference.source import Source
from rumflow.inference.words import Words
from rumflow.solvers.largest_deviation import LargestDeviation

#: What `rum_test` can measure.
STATISTICS = ("distance", "fsst")

_ROUNDING = 1e-9  # of a linear programme whose values are some standard deviations
_LEAST_VARIANCE = 0.01


@dataclass(frozen=True, eq=False)
class LinearReplicator(Replicator):
    """Replicates of the linear programme; `centres` has the fit alone, and tau is 0."""

    programme: LargestDeviation | None = None
    slack: float = 0.0  # lambda

    def _at(self, t: int, indices: Sequence[int] | range) -> Draws:
        assert self.programme is not None
        fit = self.centres[t]
        drawn = self.sampler.draw(generators(self.seed, self.key, indices), fit)
        found = np.array([self.programme(row - fit + self.slack * fit) for row in drawn])
        return Draws(found, np.ones(len(found), np.bool_), np.zeros(len(found), np.int64))


class LinearTest(RumTest):
    """The test by the largest violated inequality, with the attributes and methods of `RumTest`.

    `statistic` and the replicates are in standard deviations; `tau` is 0, for nothing is tightened. `misfits` and `binding`
    are of the fit that replicates are drawn from.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = {("tea", "milk"): {"tea": 31, "milk": 9}, ("tea", "milk", "gin"): {"tea": 5, "milk": 15, "gin": 20}}
    >>> test = rf.rum_test(data, n_boot=19, seed=1, statistic="fsst")
    >>> test.pvalue < 0.5
    True
    """

    _without = MappingProxyType({"tau": None, "taus": None, "weights": None})  # what it does not have

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row: statistic, pvalue, critical_value (at the 5 % level), n_boot."""
        return {name: column for name, column in super().table.items() if name != "tau"}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the replicates as lists, texts and numbers, for JSON; None for tau and weights."""
        return super().to_dict() | self._without

    def _numbers(self, level: float, words: Words) -> list[str]:
        return [
            f"  statistic    {self.statistic:.6g} = the largest violated inequality, in standard deviations "
            "(Fang, Santos, Shaikh and Torgovitsky 2023)",
            f"  bootstrap    {self.n_boot} replicates, {self._drawn()}, seed {self.seed}",
            f"  p-value      {self.pvalue:.4g}   critical value at {level:g}: {self.critical_value(level):.6g}",
        ]

    @property
    def _where(self) -> str:
        return ""

    def _furthest(self, words: Words) -> list[str]:
        return []  # cells add to the distance of the fit, not to this statistic

    def __repr__(self) -> str:
        return f"LinearTest(statistic={self.statistic:.6g}, pvalue={self.pvalue:.4g}, n_boot={self.n_boot})"


class LinearSource(Source):
    """Choices, measured by the linear programme."""

    rounding = _ROUNDING

    def __init__(self, groups: Mapping[Any, ChoiceData], plan: Plan) -> None:
        super().__init__(groups)
        fixed = {"tau": plan.tau, "weights": plan.weights}
        for name, value in fixed.items():
            if not (isinstance(value, str) and value == "auto"):
                raise InputError(f"{name}: statistic='fsst' has none to choose; omit {name}")
        if plan.convention.as_published or plan.convention.set != "simplex" or plan.convention.draws != "null":
            raise InputError("convention and draws: statistic='fsst' is a convention of its own; omit them")
        if plan.resample == "row":
            raise InputError(
                "resample='row': statistic='fsst' keeps the sizes of menus; accepted are 'menu' and 'cluster'"
            )
        if plan.model is not None and not plan.model.all_rankings:
            raise InputError(f"model={plan.model!r}: statistic='fsst' is for all rankings; omit the model")
        if plan.route == "bounded":
            raise InputError("route='bounded': statistic='fsst' needs an exact fit; omit route")

    def measure(
        self, sample: Sample, sampler: Sampler, plan: Plan, key: tuple[int, ...], say: Callable[[str], None]
    ) -> tuple[Distances, Replicator]:
        """The statistic of the data, and what makes replicates."""
        say("the fit that replicates are drawn from")
        found = distances(sample, sample.frequency[None], 0.0, plan.tol, threads=None)
        fit = found.fits.fitted[0][sample.column]
        say("the statistic")
        program, slack = linear_program(sample, fit, sampler.n_independent)
        statistic = program(sample.frequency)
        observed = Distances(
            np.array([statistic]), np.array([_ROUNDING]), np.zeros(1), np.ones(1, np.bool_), found.fits
        )
        replicator = LinearReplicator(sample, sampler, (0.0,), fit[None], (), plan.tol, plan.seed, key, program, slack)
        return observed, replicator

    def notes(self, sample: Sample, sampler: Sampler, tau: float, plan: Plan) -> tuple[str, ...]:
        """What the reader should know about these data; what concerns tau and weights has no place here."""
        panel = [] if plan.by_cluster and not plan.automatic else self._panel(sample, plan.automatic)
        return (*panel, *notes_without_weights(sample, sampler, plan.by_cluster))

    def result(self, test: RumTest) -> RumTest:
        """The test with its own summary."""
        return LinearTest(**{one.name: getattr(test, one.name) for one in fields(test)})


def linear_program(sample: Sample, fit: Array, n_independent: Array) -> tuple[LargestDeviation, float]:
    """The programme over the slots of a sample with fitted probabilities `fit`, and lambda."""
    own = n_independent[sample.unit]
    scales = np.sqrt(np.maximum(fit * (1.0 - fit), _LEAST_VARIANCE) / own)
    projector = sample.projector
    graph = projector.model.geometry(projector.cells)
    cell = (projector.menu * graph.shape[1] + projector.column)[sample.column]
    mean = float(n_independent.mean())
    slack = 1.0 / np.sqrt(np.log(max(len(fit), np.e)) * np.log(max(np.log(mean), np.e)))
    return LargestDeviation(graph, cell, scales), float(slack)
