"""The sentences in which a test is summarised: of which hypothesis, how its replicates were drawn, how its cells weigh."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from rumflow.inference.notes import ASSUMPTION
from rumflow.models.model import Model

#: How replicates are drawn, by what is resampled: from the fitted model, and from the observed choices.
DRAWN = {
    "menu": ("choices drawn from the fitted model by menu", "observed choices resampled by menu"),
    "row": ("choices drawn from the fitted model by row", "observed choices resampled by row"),
    "subject": (
        "deviations of subjects from the fitted model with random signs",
        "observed choices resampled by subject",
    ),
    "weighted rows by menu": (
        "deviations of weighted rows from the fitted model with random signs",
        "weighted rows resampled within their menus",
    ),
    "weighted rows": (
        "weighted rows resampled, their deviations from the fitted model with random signs",
        "weighted rows resampled, whatever their menus",
    ),
}

#: How the cells of the fit weigh, by the weights of the test.
WEIGHTED = {
    "counts": " (menus weighted by their choices)",
    "inverse-variance": " (shares weighted by how well they are known)",
    "given": " (with the weights given)",
}


class Words(NamedTuple):
    """What a test is about, in the sentences of its summary."""

    title: str
    simplex: str  # the set that distances are measured to
    cone: str
    hypothesis: str
    inside: str  # what to say where the distance is 0
    furthest: str
    weighted: Mapping[str, str] = MappingProxyType({})  # how its cells weigh, by the weights of the test
    assumption: str = ASSUMPTION  # what a rejection takes for granted


#: Of a test of random utility.
OF_RANDOM_UTILITY = Words(
    "Test of random utility: do these choices come from a population of utility maximisers?",
    "set of RUMs",
    "RUM cone (any total)",
    "Random utility",
    "The observed frequencies are those of a random utility model themselves.",
    "Furthest from the nearest RUM",
    WEIGHTED,
)

#: Of a test of the inequalities on pairs.
OF_INEQUALITIES = Words(
    "Test of the triangle inequalities: do the shares of pairs obey what every population with rankings obeys?",
    "set of shares that obey them",
    "",
    "The triangle inequality",
    "The observed shares obey every triangle and path inequality themselves.",
    "Furthest from the nearest shares that obey them",
    WEIGHTED,
)


def words_of(model: Model) -> Words:
    """The sentences of a test of this model."""
    if not model.has_types:
        return OF_INEQUALITIES
    name, people, _ = model.words()
    if name == OF_RANDOM_UTILITY.hypothesis:
        return OF_RANDOM_UTILITY
    return Words(
        f"Test of {name[:1].lower()}{name[1:]}: do these choices come from a population of {people}?",
        "set of such populations",
        "cone of such populations (any total)",
        name,
        "The observed frequencies are those of such a population themselves.",
        "Furthest from the nearest such population",
        WEIGHTED,
    )


def nothing_or(value: float) -> float:
    """Squared distances that are rounding are shown as 0."""
    return value if value > 1e-12 else 0.0
