"""What every model says: which types there are, as a graph for the observed cells, and which rankings they are."""

from __future__ import annotations

from typing import Protocol

from rumflow.core.arrays import Ints, Paths
from rumflow.core.graph import Graph
from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit


class Model(Protocol):
    """A set of types; its polytope is the hull of what they take from the observed menus."""

    def geometry(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Graph:
        """The graph whose paths are the model's types on these cells."""

    def orders(self, cells: Cells, types: Paths) -> Ints:
        """(k, n): a ranking for each type, items best first; an InputError where types are no rankings."""

    def parts(self, cells: Cells) -> list[Ints]:
        """The observed menus in groups whose types combine freely: separate projections on the simplex."""


def require_model(model: object) -> None:
    """Raise where this is no model; None stands for all rankings."""
    if isinstance(model, type):
        raise InputError(f"model: {model.__name__} is a class; write {model.__name__}(...)")
    if model is not None and not all(hasattr(model, name) for name in ("geometry", "orders", "parts")):
        raise InputError(f"model: a model such as RandomUtility() is needed, not {type(model).__name__}")
