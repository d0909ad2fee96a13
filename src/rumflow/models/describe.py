"""Models from the plain words and numbers that files hold (`Model.describe`)."""

from __future__ import annotations

from typing import Any

from rumflow.models.budgets import Budgets
from rumflow.models.choice_graph import ChoiceGraph
from rumflow.models.draws import UtilityDraws
from rumflow.models.linear_utility import LinearUtility
from rumflow.models.model import Model
from rumflow.models.random_utility import RandomUtility
from rumflow.models.rules import Lexicographic, Satisficing
from rumflow.models.single_peaked import SinglePeaked
from rumflow.models.triangle_inequalities import TriangleInequalities
from rumflow.models.types import Types
from rumflow.models.utility_family import UtilityFamily
from rumflow.models.weak_orders import WeakOrders

_MODELS: dict[str, type[Model]] = {
    model.__name__: model
    for model in (
        Budgets,
        ChoiceGraph,
        Lexicographic,
        LinearUtility,
        RandomUtility,
        Satisficing,
        SinglePeaked,
        TriangleInequalities,
        Types,
        UtilityDraws,
        UtilityFamily,
        WeakOrders,
    )
}


def make_model(description: dict[str, Any]) -> Model:
    """The model of a description: its class by `name`, made from what else there is."""
    rest = dict(description)
    name = rest.pop("name")
    if name not in _MODELS:
        raise ValueError(f"model {name!r} is unknown")
    return _MODELS[name](**rest)
