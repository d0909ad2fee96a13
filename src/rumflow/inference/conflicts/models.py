"""Models in an explanation: on some of the menus only, and in words."""

from __future__ import annotations

from typing import NamedTuple

from rumflow.core.arrays import Ints
from rumflow.core.graph_cells import Cells
from rumflow.models.budgets import Budgets
from rumflow.models.choice_graph import ChoiceGraph
from rumflow.models.model import Model
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked
from rumflow.models.types import Types


class Words(NamedTuple):
    """How a model is spoken of."""

    name: str  # ... is rejected
    people: str  # no population of ...
    chooser: str  # nobody ...


def on_menus(model: Model | None, cells: Cells, rows: Ints) -> Model | None:
    """The model for some of the menus of `cells`: those whose types are given menu by menu lose the other menus."""
    return model.of_menus(cells, rows) if isinstance(model, Types | ChoiceGraph) else model


def words_of(model: Model | None) -> Words:
    """The words for a model; None stands for random utility."""
    if model is None:
        return Words("Random utility", "utility maximisers", "with a ranking")
    if isinstance(model, RandomUtility):
        known = ", ".join(f"{a} over {b}" for a, b in model.above[:3]) + (", ..." if len(model.above) > 3 else "")
        return Words(
            f"Random utility with {known}",
            f"utility maximisers who all prefer {known}",
            f"with a ranking that has {known}",
        )
    if isinstance(model, SinglePeaked):
        single = "single-peaked preferences"
        return Words("Single-peaked choice", f"people with {single}", "with a single-peaked ranking")
    if isinstance(model, Budgets):
        return Words("Rational demand", "rational consumers", "who chooses rationally")
    return Words("The model", "the model's types", "of the model's types")
