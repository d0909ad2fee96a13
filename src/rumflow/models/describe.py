"""Models as plain words and numbers, for files."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from rumflow.errors import InputError
from rumflow.models.budgets import Budgets
from rumflow.models.choice_graph import ChoiceGraph
from rumflow.models.model import Model
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked
from rumflow.models.types import Types


def plain_label(label: Hashable) -> str | int:
    """A label as JSON holds it."""
    if isinstance(label, str):
        return label
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        return int(label)
    raise InputError(f"item {label!r}: only labels that are text or whole numbers can be saved")


def describe_model(model: Model) -> dict[str, Any]:
    """A model as `make_model` takes it."""
    if isinstance(model, RandomUtility):
        return {"name": "RandomUtility", "above": [[plain_label(a), plain_label(b)] for a, b in model.above]}
    if isinstance(model, SinglePeaked):
        return {"name": "SinglePeaked", "axis": [plain_label(item) for item in model.axis]}
    if isinstance(model, Types):
        return {"name": "Types", "table": [[plain_label(item) for item in row] for row in model.table.tolist()]}
    if isinstance(model, Budgets):
        return {"name": "Budgets", "patches": model.patches.tolist(), "items": [plain_label(x) for x in model.items]}
    if isinstance(model, ChoiceGraph):
        arcs = [
            [tail, head, [[_plain_menu(menu), plain_label(item)] for menu, item in cells]]
            for tail, head, cells in model.arcs
        ]
        return {"name": "ChoiceGraph", "n_nodes": model.n_nodes, "arcs": arcs}
    raise InputError(f"{model!r}: fits of a model of your own cannot be saved")


def _plain_menu(menu: Any) -> Any:
    return int(menu) if isinstance(menu, int | np.integer) else [plain_label(item) for item in menu]


def make_model(description: dict[str, Any]) -> Model:
    """The model of a description."""
    name = description["name"]
    if name == "RandomUtility":
        return RandomUtility([(a, b) for a, b in description["above"]])
    if name == "SinglePeaked":
        return SinglePeaked(description["axis"])
    if name == "Types":
        return Types(description["table"])
    if name == "ChoiceGraph":
        return ChoiceGraph(description["n_nodes"], description["arcs"])
    if name == "Budgets":
        return Budgets(description["patches"], description["items"])
    raise ValueError(f"model {name!r} is unknown")
