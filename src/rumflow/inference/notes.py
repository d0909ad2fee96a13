"""What a reader should know about the sample behind a p-value: tiny or unequal menus, subjects, a large tau, nothing to test."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rumflow.core.arrays import Array
from rumflow.data.design import TINY, why_untestable
from rumflow.inference.relevant import nothing_to_test
from rumflow.inference.resample import Sampler, UnitSampler
from rumflow.inference.sample import Sample

#: Sizes of menus that differ by such a factor are called unequal.
UNEQUAL = 10

#: Fewer subjects than this, in all or behind a menu, are few; a tau above this is large.
FEW_SUBJECTS, FEW_PER_MENU, LARGE_TAU = 30, 10, 0.25

#: With fewer subjects than this, replicates by random signs repeat (8 subjects: 1 of 2,800 data sets of true models rejected).
FEW_SIGNS = 12

_NAMED = 3  # menus named in a note
_EQUALLY_LIKELY = {"rankings": "ranking", "types": "distinct behaviour"}  # by `Convention.centre`

#: What every test takes for granted, of menus and of budgets; said wherever a model is rejected.
ASSUMPTION = (
    "This takes menus to be offered independently of tastes: where people with other tastes see other menus, rational people are "
    "rejected as well."
)
PRICES = (
    "This takes prices to be independent of tastes: where people with other tastes face other prices, rational people are "
    "rejected as well."
)


def find_notes(
    sample: Sample,
    sampler: Sampler,
    tau: float,
    by_subject: bool,
    weights: str,
    reduced: bool = False,
) -> tuple[str, ...]:
    """Sentences about these data, none where there is nothing to say; `reduced`: tau falls with their inequality."""
    return (
        *_nothing_to_test(sample),
        *_tiny(sample, sampler, by_subject, weights),
        *_unequal(sample, sampler, by_subject, reduced),
        *_few_subjects(sample, sampler, by_subject),
        *_without_rest(sample, weights),
        *_large_tau(sample, sampler, by_subject, tau),
    )


def notes_without_weights(sample: Sample, sampler: Sampler, by_subject: bool) -> tuple[str, ...]:
    """The same for a test that has neither weights nor tau, and does not thin."""
    return (
        *_nothing_to_test(sample),
        *_tiny(sample, sampler, by_subject, ""),
        *_few_subjects(sample, sampler, by_subject),
    )


def _units(by_subject: bool) -> str:
    return "subjects" if by_subject else "choices"


def _tiny(sample: Sample, sampler: Sampler, by_subject: bool, weights: str) -> list[str]:
    n_independent, limit = sampler.n_independent, FEW_PER_MENU if by_subject else TINY
    tiny = np.flatnonzero(n_independent < limit)
    if not len(tiny):
        return []
    share = "every menu has" if len(tiny) == len(n_independent) else f"{len(tiny)} of {len(n_independent)} menus have"
    note = f"{share} fewer than {limit} {_units(by_subject)}: {_name(sample, n_independent, tiny)}."
    if sample.convention.draws == "empirical":
        note += (
            " Resampling what was observed gives such menus too little noise, and true models are rejected too often; "
            "draws='null' does not."
        )
    elif by_subject:
        note += " The noise of a menu is learnt from its subjects, so that of these menus is known only roughly."
    elif weights == "counts" and len(tiny) < len(n_independent):
        note += " They count by their size and say little, but a p-value that rests on them is rough."
    return [note[0].upper() + note[1:]]


def _unequal(sample: Sample, sampler: Sampler, by_subject: bool, reduced: bool) -> list[str]:
    n_independent = sampler.n_independent
    if n_independent.max() < UNEQUAL * n_independent.min():
        return []
    note = f"Menus are unequal, with {n_independent.min():g} to {n_independent.max():g} {_units(by_subject)}"
    if (unequal := sample.unequal(n_independent)) > 0:
        less = f"tau is {1 - unequal / 2:.2f} of what it is for equal menus, and " if reduced else ""
        note += f" (inequality {unequal:.2f}): {less}samples are drawn from the fit without its least certain types"
    equal = not (sample.weights != 1).any()
    return [note + (". Each counts the same here; weights='counts' gives more to the larger." if equal else ".")]


def _few_subjects(sample: Sample, sampler: Sampler, by_subject: bool) -> list[str]:
    if not (by_subject and isinstance(sampler, UnitSampler) and sampler.n_units < FEW_SUBJECTS):
        return []
    count = sampler.n_units
    note = f"There are {count} subjects: with fewer than {FEW_SUBJECTS} the p-value is rough."
    if sample.convention.draws != "empirical" and count < FEW_SIGNS:
        note += (
            f" {count} random signs make only {2**count:,} different replicates: true models are hardly ever "
            "rejected, and false ones may pass."
        )
    return [note]


def _without_rest(sample: Sample, weights: str) -> list[str]:
    rest = sample.unweighted_rest
    if weights != "inverse-variance" or not len(rest):
        return []
    named = ", ".join(sample.menu_name(int(u)) for u in rest[:_NAMED]) + (", ..." if len(rest) > _NAMED else "")
    return [
        "Groups recorded different items of the same menu, so that what they did not record is not one cell: "
        f"it has no weight in {named}."
    ]


def _large_tau(sample: Sample, sampler: Sampler, by_subject: bool, tau: float) -> list[str]:
    if sample.convention.set != "simplex" or tau <= LARGE_TAU:
        return []
    n_independent = sampler.n_independent
    low, high = (f"{one:.3g}" for one in (n_independent.min(), n_independent.max()))
    number = low if low == high else f"{low} to {high}"
    middle = "the middle of the model"
    if sample.projector.model.all_rankings:
        middle = f"one in which every {_EQUALLY_LIKELY[sample.convention.centre]} is equally likely"
    return [
        f"tau = {tau:.2g} is large: with {number} {_units(by_subject)} a menu replicates come from a population moved "
        f"{100 * tau:.0f} % of the way to {middle}."
    ]


def _nothing_to_test(sample: Sample) -> list[str]:
    """No menu could contradict another: some population chooses so."""
    if nothing_to_test(sample):
        unused = "Nothing can be tested: without the items that nobody chose no menu can contradict another."
        return [why_untestable(sample.projector.cells.offered) or unused]
    return []


def note_on_subjects(people: int, choices: float, by_subject: bool) -> str:
    """Subjects made several choices each: what is resampled, and what the other way would do."""
    made = f"{people:,} subjects made {choices:,.0f} choices"
    if by_subject:
        other = "To take choices as independent, say cluster=False (--no-cluster in the shell)."
        return f"{made}, so whole subjects are resampled. {other}"
    return (
        f"{made}, and replicates take choices as independent: true models are rejected too often where a subject chose from one "
        "menu again and again, false ones too seldom where everybody chose once from many. To keep the choices of a subject "
        "together, say cluster=True (--cluster in the shell)."
    )


def _name(sample: Sample, n_independent: Array, menus: np.ndarray) -> str:
    first = menus[np.argsort(n_independent[menus], kind="stable")[:_NAMED]]
    named = ", ".join(f"{sample.menu_name(int(u))} ({n_independent[u]:g})" for u in first)
    return named + (", ..." if len(menus) > _NAMED else "")


def kept_in(checkpoint: Path | None) -> list[str]:
    """What to say of a checkpoint after Ctrl-C."""
    return (
        [] if checkpoint is None else [f"{checkpoint} keeps the replicates so far: the same call goes on from there."]
    )


def unfinished(failed: int, interrupted: bool, done: int = 1) -> list[str]:
    """What to say of replicates that were not solved, or not made; `done`: how many were."""
    lines = []
    if failed:
        one = "1 replicate lacks a certified optimum; it is an upper bound"
        many = f"{failed} replicates lack a certified optimum; they are upper bounds"
        lines.append(f"{one if failed == 1 else many}, which raises the p-value.")
    if interrupted:
        some = "The run was interrupted: these are the replicates so far."
        none = "The run was interrupted before this test had a replicate: its p-value says nothing."
        lines.append(some if done else none)
    return lines
