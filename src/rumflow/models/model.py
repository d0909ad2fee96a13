"""The interface of a model: which types it has, as a graph over the observed cells, and how texts describe it.

Other code asks a model by the attributes and methods of `Model`, never by its class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask, Paths
from rumflow.core.graph import Graph
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.core.preferences import NOTHING_KNOWN, Preferences
from rumflow.data.labels import TIE
from rumflow.errors import InputError
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit


class Wording(NamedTuple):
    """How explanations speak of a model."""

    name: str  # ... is rejected
    people: str  # no population of ...
    chooser: str  # nobody ...


class Model(ABC):
    """A set of types; its polytope is the convex hull of what they take from the observed menus.

    To write a model of your own, implement `geometry`; every other method and attribute has a default that is right for
    any model, and those that say more (parts, rankings, words) can be overridden.

    Attributes
    ----------
    name : str
        The name of the model in summaries and commands.
    all_rankings : bool
        Whether every ranking of the items is a type, and every type that of a ranking. Then the lattice of all menus is
        possible.
    is_random_utility : bool
        Whether the types are all rankings that respect `preferences` (perhaps none). Then there are bounds by search where a
        graph is too large, and `rho` and `flow` over all menus.
    types_are_rankings : bool
        Whether types are named by their rankings: `orders` answers for any number of items.
    of_rankings : bool
        Whether every type is that of some ranking, so that the model lies in random utility and assortments are possible;
        `orders` answers, unless the rankings are a list that is too long for so many items.
    known_items : tuple
        Items that the model can place in menus also where the data do not have them; bounds may ask for them.
    has_types : bool
        Whether the model is a set of types. False where it is given by inequalities (`TriangleInequalities`).
    single_menus_bind : bool
        Whether the shares of one menu by themselves may be impossible. False where every item of a menu is taken by some
        type.

    Examples
    --------
    >>> import rumflow as rf
    >>> class FirstOrLast(rf.Model):
    ...     def geometry(self, cells, limit=None):
    ...         menus = [[item for item, inside in zip(cells.items, row) if inside] for row in cells.membership]
    ...         return rf.Types([[menu[end] for menu in menus] for end in (0, -1)]).geometry(cells)
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 1}, ("a", "b", "c"): {"a": 1, "b": 2, "c": 1}})
    >>> round(rf.project(data, model=FirstOrLast()).distance, 4)
    0.6124
    """

    name: str = "user-defined types"
    all_rankings: bool = False
    is_random_utility: bool = False
    types_are_rankings: bool = False
    of_rankings: bool = False
    known_items: tuple[Hashable, ...] = ()
    has_types: bool = True
    single_menus_bind: bool = True

    @abstractmethod
    def geometry(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Graph:
        """Build the graph whose paths are the model's types on these cells.

        Parameters
        ----------
        cells : Cells
            The observed cells.
        limit : Limit
            How large the graph may become.

        Returns
        -------
        Graph
        """

    def orders(self, cells: Cells, types: Paths) -> Ints:
        """Return a ranking for each type.

        Parameters
        ----------
        cells : Cells
            The observed cells.
        types : ndarray of shape (k, m)
            The types.

        Returns
        -------
        ndarray of shape (k, n)
            Items, best first.

        Raises
        ------
        InputError
            If the types are not rankings.
        """
        raise InputError(
            f"{self.name}: these types have no rankings; ask for what they take from the observed menus (fit.types)"
        )

    def preferences(self, items: tuple[Hashable, ...]) -> Mask:
        """Return which items everybody prefers to which; only where `is_random_utility`.

        Parameters
        ----------
        items : tuple
            Labels of the items.

        Returns
        -------
        ndarray of bool, shape (n, n)
            [a, b] where everybody prefers a to b, closed under transitivity.
        """
        return self.known(items).table(len(items))

    def known(self, items: tuple[Hashable, ...]) -> Preferences:
        """Return `preferences` as kernels take them, over the items that are named alone."""
        if self.all_rankings:
            return NOTHING_KNOWN
        raise InputError(f"{self.name}: these types are not all rankings that respect known preferences")

    def listed(self, cells: Cells) -> Paths | None:
        """Return all types on these cells, different rows of columns, where the model has a list of them; None elsewhere."""
        return None

    def parts(self, cells: Cells) -> list[Ints]:
        """Return the observed menus in groups whose types combine freely.

        Parameters
        ----------
        cells : Cells
            The observed cells.

        Returns
        -------
        list of ndarray
            Numbers of the menus of each group; the projections of the groups are separate on the simplex.
        """
        return [np.arange(cells.shape[0])]

    def restrict(self, cells: Cells, rows: Ints) -> Self:
        """Return the model on some of the menus.

        Parameters
        ----------
        cells : Cells
            The observed cells.
        rows : ndarray of int
            Numbers of the menus to keep.

        Returns
        -------
        Model
            The model itself, unless its types are given menu by menu.
        """
        return self

    def relevant(self, menus: Menus, times: Ints, taken: Mask, even: Mask) -> Mask | None:
        """Return which cells a test must look at: whatever is left out has no influence on any distance to the model.

        Parameters
        ----------
        menus : Menus
            The different menus of two or more items.
        times : ndarray of int, shape (m,)
            How many groups each was offered to.
        taken : ndarray of bool, shape (cells,)
            Whether the item was ever chosen from the menu.
        even : ndarray of bool, shape (m,)
            Whether all items of the menu were recorded, in every group, and count with the same weight.

        Returns
        -------
        ndarray of bool, shape (cells,), or None
            False for all cells of a menu that leaves, and for an item that leaves its menu. None: nothing leaves, and
            menus and items keep their order, as models need whose types are given menu by menu.
        """
        return None

    def inner_point(self, cells: Cells) -> Array | None:
        """Return a table in the relative interior of the model.

        Parameters
        ----------
        cells : Cells
            The observed cells.

        Returns
        -------
        ndarray or None
            None for that of the flow that divides evenly at every node.
        """
        return None

    def no_types(self) -> InputError:
        """Return the error of whatever needs types, for models without (`has_types`)."""
        return InputError(
            f"{self.name}: this model is given by inequalities and has no types, so there are no rankings, mixtures, flows or "
            "likelihoods; ask for the fitted shares of the observed pairs (fit.fitted, fit.probabilities), for bounds on "
            "other pairs (rf.bounds), or take RandomUtility()"
        )

    def describe(self) -> dict[str, Any]:
        """Return the model as plain words and numbers, which `rumflow.models.describe.make_model` reads."""
        raise InputError(f"{self!r}: fits of a user-defined model cannot be saved")

    def words(self) -> Wording:
        """Return how explanations name the model."""
        return Wording("The model", "the model's types", "of the model's types")


def refuse_ties(model: Model, items: Sequence[Hashable]) -> None:
    """Raise where data have ties as an outcome and the types of the model are rankings, which have none."""
    if model.of_rankings and TIE in items:
        raise InputError(
            f"these pairs have ties as an outcome ({TIE}), and {model.name} has none: take TriangleInequalities() "
            "(--triangle) or WeakOrders() (--weak-orders), or make half wins of them, or leave them out, with "
            "data.resolve_ties('half') or ('drop'), or with ties= (--ties) when reading"
        )


def require_model(model: object) -> None:
    """Raise unless this is a model; None means all rankings."""
    if isinstance(model, type):
        raise InputError(f"model: {model.__name__} is a class; write {model.__name__}(...)")
    if model is None or isinstance(model, Model):
        return
    if hasattr(model, "geometry"):
        raise InputError(
            f"model: {type(model).__name__} has `geometry` but is not a rumflow.Model; write class "
            f"{type(model).__name__}(rumflow.Model), which has all else that a model needs"
        )
    raise InputError(f"model: a model such as RandomUtility() is needed, not {type(model).__name__}")
