"""Do these choices fit a model: the projection, the test and the conflicts behind the page, and the answer in a sentence."""

from __future__ import annotations

from typing import NamedTuple

from rumflow.data.choices import ChoiceData
from rumflow.errors import ctrl_c_raises
from rumflow.inference import RumTest, rum_test
from rumflow.inference.confidence import has_counts
from rumflow.models.model import Model
from rumflow.projection.describe import nothing_to_test
from rumflow.projection.results import Projection
from rumflow.projection.single import project
from rumflow.report.explanation import Reasons, contradict, explain_data, is_quick

#: A p-value up to this is a no.
LEVEL = 0.05

#: What the word means, wherever it is used.
RATIONAL = (
    "Rational means: everybody ranks the items, each in an order of their own, and takes the highest one on offer."
)


class Findings(NamedTuple):
    """What was found about one model."""

    fit: Projection
    test: RumTest | None  # none was asked for, or the number of choices is not known
    reasons: Reasons | None  # None: the search would take long

    @property
    def doubtful(self) -> bool:
        """Do the choices contradict the model?"""
        conflicts = self.reasons is not None and contradict(self.reasons)
        return conflicts or (self.test is not None and self.test.pvalue <= LEVEL)


def find(
    data: ChoiceData, model: Model | None, n_boot: int, seed: int, cluster: bool | str, progress: bool
) -> Findings:
    """Project, test and explain; Ctrl-C ends it."""
    with ctrl_c_raises():
        fit = project(data, model=model, progress=progress)
    test = None
    if n_boot and has_counts(data):  # probabilities without sample sizes cannot be tested
        test = rum_test(data, n_boot=n_boot, seed=seed, cluster=cluster, model=model, progress=progress)
        if test.interrupted:
            raise KeyboardInterrupt
    reasons = explain_data(data, n_boot, seed, cluster, progress, model) if is_quick(fit) else None
    return Findings(fit, test, reasons)


def plain_notes(test: RumTest) -> list[str]:
    """What the test says of the sample, but for notes on tau, which are in its summary."""
    return [note for note in test.notes if "tau" not in note]


def find_verdict(found: Findings, counted: bool) -> dict[str, str]:
    """The answer in a sentence, and whether it is good, bad or neither; `counted`: the number of choices is known."""
    fit, test, _ = found
    people = fit.model.words().people
    if reason := nothing_to_test(fit):
        return {"kind": "", "text": reason}
    if fit.inside and not fit.model.has_types:
        return {
            "kind": "good",
            "text": f"They may be: the shares obey all {fit.model.name}, as in populations of {people}.",
        }
    if fit.inside:
        return {"kind": "good", "text": f"Yes: a population of {people} explains every observed share exactly."}
    if test is None:
        chance = "No test was run, so this may be chance." if counted else "The number of choices is not known."
        nearest = "random utility model is" if fit.model.all_rankings else f"population of {people} is"
        if not fit.model.has_types:
            nearest = f"shares that obey the {fit.model.name} are"
        return {"kind": "", "text": f"Not exactly: the nearest {nearest} at a distance of {fit.distance:.4g}. {chance}"}
    if test.pvalue <= LEVEL:
        return {
            "kind": "bad",
            "text": f"No: no population of {people} makes choices like these, up to chance (p = {test.pvalue:.3g}).",
        }
    return {
        "kind": "good",
        "text": f"They may be: the shares are not exactly those of any population of {people}, but no further off than chance "
        f"explains (p = {test.pvalue:.3g}).",
    }
