"""A projection on a choice graph: at the cost of what was observed, for any number of items and any model.

Numbers per cell are (m, n) arrays like `ChoiceData.frequencies`. Menus of one item leave no choice: they are in no graph, and
their probability is 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import check_option
from rumflow.core.arrays import Array, Ints, Mask, Mixture
from rumflow.core.lattice import Lattice
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.transforms import zeta
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.models.describe import describe_model
from rumflow.models.random_utility import RandomUtility
from rumflow.models.rankings import choice_probabilities
from rumflow.output.frames import make_frame
from rumflow.projection.observed import Observed
from rumflow.projection.results import Projection, Rankings
from rumflow.solvers.derivatives import GraphTangent, jvp, vjp
from rumflow.solvers.graphs import ModelProjector

#: Up to so many items a fit of rankings has `rho` and `flow` over all menus.
MOST_ITEMS_OF_ARRAYS = 22


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GraphProjection(Projection):
    """The nearest point of a model, on its choice graph."""

    observed: Observed  #: the data
    projector: ModelProjector  #: the model and its graphs
    target: Array  # tables of cells
    weights: Array
    mixture: Mixture  #: types (as columns of the tables) and their weights
    table: Array  # fitted cells

    @property
    def membership(self) -> Mask:
        """(m, n): the observed menus, as rows of truth values."""
        return self.observed.membership

    @property
    def frequencies(self) -> Array:
        """(m, n): the data on the observed menus, NaN on what was not recorded."""
        return self.observed.frequencies

    @property
    def rows(self) -> Ints:
        """The menus of two items or more, which are in the graphs."""
        return self.observed.rows

    @property
    def complete(self) -> bool:
        """A graph never has every menu."""
        return False

    @property
    def weighted(self) -> bool:
        """Do some observed cells count more than others?"""
        return not set(np.unique(self.weights)) <= {0.0, 1.0}

    @cached_property
    def fitted(self) -> Array:
        """(m, n): fitted probabilities of the observed menus, NaN outside them and on cells that were not recorded."""
        return self._spread(self.table, 1.0)

    @cached_property
    def types(self) -> Ints:
        """(k, m): the item each type takes from each observed menu, heaviest type first; -1 for one that was not recorded."""
        types, weights = self.mixture
        found = np.empty((len(types), len(self.membership)), np.int64)
        found[:] = self.membership.argmax(axis=1)
        found[:, self.rows] = self.projector.cells.items_of_types(types)
        return found[np.argsort(-weights, kind="stable")]

    @cached_property
    def rankings(self) -> Rankings:
        """A mixture of rankings with these probabilities, heaviest first.

        The place of items between which no observed menu decides is not identified; the rule is that of
        `rumflow.models.rankings`.
        """
        types, weights = self.mixture
        heaviest = np.argsort(-weights, kind="stable")
        orders = self.projector.model.orders(self.projector.cells, types[heaviest])
        return Rankings(orders, weights[heaviest], self.items)

    def probabilities(self, menu: Iterable[Item]) -> dict[Item, float]:
        """The fitted choice probabilities of one menu, observed or not, by label."""
        members = self.members(menu)
        row = np.zeros((1, self.n), np.bool_)
        row[0, members] = True
        same = np.flatnonzero((self.membership == row).all(axis=1))
        known = self.fitted[same[0]] if len(same) else np.full(self.n, np.nan)
        if np.isnan(known[members]).any():
            known = choice_probabilities(self.rankings.orders, self.rankings.weights, row)[0]
        return {self.items[x]: float(known[x]) for x in np.sort(members)}

    @cached_property
    def _flow(self) -> Array:
        if not isinstance(self.projector.model, RandomUtility) or self.n > MOST_ITEMS_OF_ARRAYS:
            raise InputError(
                f"rho and flow over all menus are there for random utility with up to {MOST_ITEMS_OF_ARRAYS} items; "
                "take fitted (the observed menus) or probabilities(menu)"
            )
        return flow_from_paths(paths_from_orders(self.rankings.orders), self.rankings.weights)

    @cached_property
    def rho(self) -> Array:
        """(2^n, n) fitted probabilities, 0 outside the menu; for random utility with up to 22 items."""
        flow = self._flow  # with its check, before a lattice is made
        return Lattice(self.n).from_internal(zeta(flow.copy()))

    @cached_property
    def flow(self) -> Array:
        """(2^n, n) Block-Marschak polynomials of the fit; for random utility with up to 22 items."""
        flow = self._flow
        return Lattice(self.n).from_internal(flow)

    def violations(self, count: int | None = None) -> list[tuple[tuple[Item, ...], Item, float]]:
        """The Block-Marschak polynomials need every menu: an error."""
        raise InputError(
            "the Block-Marschak polynomials need every menu, and these data are incomplete; see fit.misfits()"
        )

    @cached_property
    def _tangent(self) -> GraphTangent:
        if self.projector.bounded:
            raise InputError(
                "jvp and vjp need the face of the optimum, and on the route 'bounded' there are only bounds on the distance"
            )
        return GraphTangent(self.projector, self.mixture, self.target, self.weights, self.inside)

    def jvp(self, t: ArrayLike) -> Array:
        """Change of `fitted` when the data move by t, (m, n) to (m, n): the Jacobian of the projection times t."""
        return self._spread(jvp(self._tangent, self.weights, self._table(t)[None])[0], 0.0)

    def vjp(self, g: ArrayLike) -> Array:
        """Gradient by the data, (m, n), given the gradient g by `fitted`: the transposed Jacobian times g."""
        return self._spread(vjp(self._tangent, self.weights, self._table(g)[None])[0], 0.0)

    def _table(self, array: ArrayLike) -> Array:
        values = np.asarray(array, np.float64)
        if values.shape != self.membership.shape:
            raise InputError(
                f"an array of shape {self.membership.shape} like `frequencies` is needed, not {values.shape}"
            )
        return self.projector.cells.to_table(np.nan_to_num(values[self.rows]))

    def _spread(self, table: Array, single: float) -> Array:
        array = np.where(self.membership, single, np.nan)
        array[self.rows] = self.projector.cells.to_array(table)
        return array

    def to_frame(self, data: ChoiceData | None = None, menus: str = "observed", backend: str = "pandas") -> Any:
        """A data frame of the observed menus: menu_id, menu, item, observed, fitted, and count where the data are given."""
        check_option(menus, "menus", ("all", "observed"))
        row, item = np.nonzero(self.membership & (self.membership.sum(axis=1, keepdims=True) > 1))
        names = [format_menu(menu) for menu in self.menus]
        columns: dict[str, list[Any]] = {
            "menu_id": row.tolist(),
            "menu": [names[i] for i in row],
            "item": [self.items[x] for x in item],
            "observed": _plain(self.frequencies[row, item]),
            "fitted": _plain(self.fitted[row, item]),
        }
        if data is not None:
            if data.items != self.items:
                raise InputError("data: the items are not those of the fit, in their order")
            counts = {own.tobytes(): values for own, values in zip(data.membership, data.counts, strict=True)}
            nothing = np.full(self.n, np.nan)
            table = np.array([counts.get(own.tobytes(), nothing) for own in self.membership])
            columns["count"] = _plain(table[row, item])
        return make_frame(columns, backend)

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        types, shares = self.mixture
        arrays = {
            "membership": self.membership,
            "frequencies": self.frequencies,
            "weights": self.weights,
            "types": types,
            "shares": shares,
        }
        if self.observed.sizes is not None:
            arrays["sizes"] = np.asarray(self.observed.sizes, np.float64)
        return {"model": describe_model(self.projector.model)}, arrays


def _plain(values: Array) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
