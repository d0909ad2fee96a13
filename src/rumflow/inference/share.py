"""How much of the population can be rational?

The observed behaviour splits into a rational part and a rest, frequency = s rho + (1 - s) rest with rho a RUM and the rest any
behaviour at all. The largest possible s is

    max s   such that   s rho(D, x) <= frequency(D, x) on every observed cell,  rho RUM

(what was chosen from a menu but not recorded is a cell of its own): 1 exactly when the frequencies are RUM. It describes the
frequencies as they are: sampling noise alone keeps it below 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array, Ints, Mask, Mixture
from rumflow.core.graph import cells_of_types
from rumflow.core.graph_cells import Cells
from rumflow.core.lattice import Lattice
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.transforms import zeta
from rumflow.data.accept import DataLike, as_data
from rumflow.data.labels import Item
from rumflow.data.menus import labels_of
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.output.progress import Stage
from rumflow.output.result import Result
from rumflow.projection.cost import find_geometry
from rumflow.projection.fitted import Rankings
from rumflow.projection.observations import observe
from rumflow.projection.single import fit_observations
from rumflow.solvers.graph import MOST_ITEMS_OF_ARRAYS
from rumflow.solvers.linear_programs import TypePrograms
from rumflow.solvers.resources import Resources


@dataclass(frozen=True, eq=False, repr=False)
class RationalShare(Result):
    """The largest share of the population that a model explains.

    Attributes
    ----------
    share : float
        The share s.
    upper : float
        Certified: no member of the model explains more than this.
    items : tuple
        Labels of the items.
    membership : ndarray of bool, shape (m, n)
        The observed menus of two or more items.
    frequencies : ndarray of shape (m, n)
        The data, NaN on what was not recorded.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> result = rf.rationalizable_share(data)
    >>> result.gap < 1e-6, result.rankings.items
    (True, ('a', 'b', 'c'))
    """

    _named = ("share", "upper", "gap", "items")
    _listed = "cells"

    share: float
    upper: float
    items: tuple[Item, ...]
    membership: Mask
    frequencies: Array
    _model: Model
    _cells: Cells | None  # None where no menu leaves a choice
    _mixture: Mixture  # of s rho

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns menu, item, observed and rational, the rational part of each share."""
        row, item = np.nonzero(self.membership & ~np.isnan(self.frequencies))
        menus = [labels_of(self.items, inside) for inside in self.membership]
        columns: dict[str, list[Any]] = {"menu": [menus[i] for i in row], "item": [self.items[x] for x in item]}
        return columns | {
            "observed": self.frequencies[row, item].tolist(),
            "rational": self.fitted[row, item].tolist(),
        }

    def _title(self) -> str:
        return f"At most {self.share:.1%} of these choices can be those of one random utility model"

    @property
    def gap(self) -> float:
        """upper - share."""
        return max(self.upper - self.share, 0.0)

    @property
    def fitted(self) -> Array:
        """(m, n): the rational part s rho on the observed menus, at most the data there. Usually one among many."""
        if self._cells is None:
            return self.frequencies
        return self._cells.to_array(cells_of_types(*self._mixture, self._cells.shape))

    @cached_property
    def rankings(self) -> Rankings:
        """The rational part as a mixture of rankings; the weights add up to the share."""
        types, weights = self._mixture
        heaviest = np.argsort(-weights, kind="stable")
        orders: Ints = np.arange(len(self.items))[None]
        if self._cells is not None:
            orders = self._model.orders(self._cells, types[heaviest])
        return Rankings(orders, weights[heaviest], self.items)

    @property
    def part(self) -> Array:
        """(2^n, n): the rational part s rho over all menus; available for random utility with at most 22 items."""
        n = len(self.items)
        if n > MOST_ITEMS_OF_ARRAYS:
            raise InputError(
                f"`part` is available for at most {MOST_ITEMS_OF_ARRAYS} items; use `fitted`, on the observed menus"
            )
        flow = flow_from_paths(paths_from_orders(self.rankings.orders), self.rankings.weights)
        return Lattice(n).from_internal(zeta(flow))

    def __repr__(self) -> str:
        return f"RationalShare(share={self.share:.6f}, upper={self.upper:.6f})"


def rationalizable_share(
    data: DataLike | ArrayLike,
    *,
    model: Model | None = None,
    route: str | None = None,
    progress: bool = False,
) -> RationalShare:
    """Compute the largest share of the population whose behaviour a model can explain, whatever the rest does.

    Parameters
    ----------
    data : ChoiceData, BudgetData or array_like
        An array has shape (2^n, n), with NaN for what was not observed.
    model, route : optional
        As for `project`; None: random utility.
    progress : bool, default False
        Show a line on standard error that says what is done.

    Returns
    -------
    RationalShare

    Notes
    -----
    It is the largest s such that s rho(D, x) <= frequency(D, x) on every observed cell, for some RUM rho. It describes the
    frequencies as they are: sampling noise alone keeps it below 1.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> round(rf.rationalizable_share(data).share, 4)
    0.8
    """
    observations, types_of = observe(as_data(data), model)
    items = observations.items
    if not (observations.menus.sizes >= 2).any():
        menus, sure = np.empty((0, len(items)), np.bool_), (np.empty((1, 0), np.int32), np.ones(1))
        return RationalShare(1.0, 1.0, items, menus, np.empty(menus.shape), types_of, None, sure)
    cells = observations.cells
    with Stage(progress, "the graph of the menus") as stage:
        geometry = find_geometry(observations, types_of, route, exact=True)
        stage.say("the projection")
        fit = fit_observations(observations, geometry, resources=Resources(None))
        types = geometry.choices(fit.mixture[0], cells).astype(np.int32)
        frequencies = observations.frequencies[observations.rows]  # a table, only of what has a graph
        table = cells.to_table(frequencies)
        menu = np.flatnonzero(cells.remainder >= 0)
        table[menu, cells.remainder[menu]] = np.maximum(1.0 - table[menu].sum(axis=1), 0.0)
        menu, column = np.nonzero(cells.item >= -1)
        stage.say("the largest share")
        found, mixture = TypePrograms(types_of.geometry(cells), menu, column, table[menu, column], types).pack()
    upper = min(max(found.bound, found.value), 1.0)
    return RationalShare(min(found.value, 1.0), upper, items, cells.membership, frequencies, types_of, cells, mixture)
