"""Data as a test sees them: how they become a sample, how replicates are drawn, and what is said about them.

`prepare_test` (`rumflow.inference.test`) takes these steps for any `Source`. Choices are the one here; budgets, which have their
own way to resample, are in `rumflow.inference.budgets`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rumflow.data.choices import ChoiceData
from rumflow.inference.convention import Convention, find_convention, reduces_tau
from rumflow.inference.notes import find_notes, note_on_subjects
from rumflow.inference.plan import Plan
from rumflow.inference.replicate import Distances, Replicator, distances, make_replicator
from rumflow.inference.resample import Sampler, UnitSampler, make_sampler, repeated_choices
from rumflow.inference.result import RumTest
from rumflow.inference.sample import Sample, build_sample
from rumflow.models.triangle_inequalities import TriangleInequalities

#: Said where the inequalities are tested in place of random utility.
INSTEAD = (
    "There is no exact distance to random utility for these pairs, so the test is that of the triangle inequalities, which every "
    "population with rankings obeys: what rejects them rejects random utility. That was decided from the pairs alone, before "
    "any replicate."
)


class Source:
    """Choices of one group or of several, resampled by menu, by row or by subject."""

    cell: ClassVar[str] = "cell"  # what a probability belongs to
    replicate_tol: ClassVar[float] = 0.0  # replicates are solved to this relative gap at best
    rounding: float = 0.0  # differences of the statistic below this do not count

    def __init__(self, groups: Mapping[Any, ChoiceData]) -> None:
        self.groups = groups

    def convention(self, convention: str | Convention | None, draws: str) -> Convention:
        """The convention asked for, with the draws asked for beside it."""
        return find_convention(convention, draws)

    def sample(self, plan: Plan) -> Sample:
        """The data in slots.

        Where random utility on pairs has only bounds, which is a matter of the pairs alone, the triangle inequalities take its
        place: their null hypothesis holds whenever that of random utility does, and replicates take no search.
        """
        given = self.groups, plan.chosen_weights, plan.convention, plan.sizes
        sample = build_sample(*given, plan.model, plan.route)
        if plan.route is not None or plan.convention.set == "cone" or not sample.projector.model.all_rankings:
            return sample
        if (sample.projector.cells.offered.sizes > 2).any() or sample.projector.exact:
            return sample
        return build_sample(*given, TriangleInequalities(), None)

    def sampler(self, sample: Sample, plan: Plan) -> Sampler:
        """What draws replicates."""
        return make_sampler(sample, list(self.groups.values()), plan.resample, plan.cluster)

    def resolve(self, plan: Plan, sample: Sample) -> Plan:
        """The plan with cluster="auto" replaced: published conventions and resampling by row have no clusters unless asked."""
        if not (isinstance(plan.cluster, str) and plan.cluster == "auto"):
            return plan
        free = plan.resample == "menu" and not plan.convention.as_published
        by_subject = free and self.repeats(sample)
        return replace(plan, cluster=True if by_subject else None, automatic=by_subject)

    def repeats(self, sample: Sample) -> bool:
        """Are subjects known, and did some of them choose more than once?"""
        return repeated_choices(list(self.groups.values()), sample) is not None

    def taus(self, sample: Sample, sampler: Sampler, plan: Plan) -> tuple[float, ...]:
        """How far the set is tightened."""
        return sample.taus(plan.tau, sampler.n_independent)

    def measure(
        self, sample: Sample, sampler: Sampler, plan: Plan, key: tuple[int, ...], say: Callable[[str], None]
    ) -> tuple[Distances, Replicator]:
        """The statistic of the data, and what makes replicates, which draw from the child `key` of the seed."""
        say("the statistic")
        observed = distances(sample, sample.frequency[None], 0.0, plan.tol, threads=None)
        observed = observed._replace(rounding=np.maximum(observed.rounding, self.rounding))
        say("the fit that replicates are drawn from")
        taus = self.taus(sample, sampler, plan)
        tol = max(plan.tol, self.replicate_tol)
        return observed, make_replicator(sample, sampler, taus, tol, plan.seed, key)

    def resampled(self, sampler: Sampler, plan: Plan) -> str:
        """What is resampled, for the result."""
        if plan.by_cluster:
            return "subject"
        if isinstance(sampler, UnitSampler):
            return "weighted rows" if plan.resample == "row" else "weighted rows by menu"
        return plan.resample

    def notes(self, sample: Sample, sampler: Sampler, tau: float, plan: Plan) -> tuple[str, ...]:
        """What the reader should know about these data."""
        weights, reduced = self.describe(plan.chosen_weights), reduces_tau(plan.tau, plan.convention)
        panel = [] if plan.by_cluster and not plan.automatic else self._panel(sample, plan.automatic)
        if not sample.projector.model.has_types and (plan.model is None or plan.model.has_types):
            panel.append(INSTEAD)
        return (*panel, *find_notes(sample, sampler, tau, plan.by_cluster, weights, reduced))

    def _panel(self, sample: Sample, automatic: bool) -> list[str]:
        found = repeated_choices(list(self.groups.values()), sample)
        return [] if found is None else [note_on_subjects(*found, automatic)]

    def describe(self, weights: str | ArrayLike | None) -> str:
        """How the weights were given, in words."""
        return f"1 on every {self.cell}" if weights is None else weights if isinstance(weights, str) else "given"

    def result(self, test: RumTest) -> RumTest:
        """The test as it is returned."""
        return test
