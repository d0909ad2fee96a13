"""A list of types given by the user: single-crossing families, published matrices, any finite model."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Ints, Paths
from rumflow.core.graph import Graph
from rumflow.core.graph_build import list_graph
from rumflow.core.graph_cells import Cells
from rumflow.data.labels import plain_label
from rumflow.errors import InputError
from rumflow.models.draws import UtilityDraws
from rumflow.models.model import Model
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit


class Types(Model):
    """Mixtures of the types of a table.

    Parameters
    ----------
    table : array_like
        One row per type, one column per observed menu: the item that the type takes from the menu.

    Raises
    ------
    InputError
        If the table does not fit the menus of the data.

    Examples
    --------
    >>> Types([["a", "b"], ["a", "c"]])
    Types(2 types, 2 menus)
    """

    name = "types given by a table"

    def __init__(self, table: ArrayLike) -> None:
        self.table: NDArray[Any] = np.array(table, object)
        self.table.flags.writeable = False  # graphs that were built from it are kept
        if self.table.ndim != 2 or 0 in self.table.shape:
            raise InputError(
                f"types: a table with one row per type and one column per menu is needed, not shape {self.table.shape}"
            )

    @staticmethod
    def from_utilities(
        utilities: Any, items: Sequence[Hashable] | None = None, menus: Iterable[Iterable[Hashable]] | None = None
    ) -> UtilityDraws:
        """Make the model of people who maximise given utilities.

        Parameters
        ----------
        utilities : array_like or data frame
            (draws, items): a row of utilities for each type; or, with `menus`, (draws, menus, items), where what a menu does not
            offer may be NaN. Draws from a family are an inner approximation of it: types between them are missing.
        items : sequence, optional
            Labels of the columns; None: those of a data frame, or 0, 1, ...
        menus : iterable of menus, optional
            Which menus the rows of utilities are for, where utilities differ between menus.

        Returns
        -------
        Model

        Raises
        ------
        InputError
            If the shapes do not fit; later, when data are given, if an item has no utility or two of the best items of a menu
            have the same.

        Examples
        --------
        >>> Types.from_utilities([[3, 2, 1], [1, 3, 2]], items=["tea", "milk", "juice"])
        Types.from_utilities(2 draws, 3 items)
        """
        return UtilityDraws(utilities, items, menus)

    def __repr__(self) -> str:
        return f"Types({self.table.shape[0]} types, {self.table.shape[1]} menus)"

    def rows(self, cells: Cells) -> Paths:
        """The types as rows of columns, equal ones once."""
        m = cells.shape[0]
        if self.table.shape[1] != m:
            raise InputError(f"types: {m} columns are needed, one per observed menu, not {self.table.shape[1]}")
        rows = np.empty(self.table.shape, np.int32)
        for j in range(m):
            column = {cells.items[x]: int(cells.column[j, x]) for x in np.flatnonzero(cells.membership[j])}
            for i, item in enumerate(self.table[:, j]):
                if item not in column:
                    raise InputError(
                        f"types: type {i} takes {item!r} from menu {cells.name(j)}, which does not offer it"
                    )
                rows[i, j] = column[item]
        return np.unique(rows, axis=0)

    def listed(self, cells: Cells) -> Paths:
        """As `rows`."""
        return self.rows(cells)

    def geometry(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Graph:
        """One node per type between the first node and the last."""
        return list_graph(cells.shape, self.rows(cells))

    def restrict(self, cells: Cells, rows: Ints) -> Types:
        """The same types on some of the menus."""
        self.rows(cells)  # for its checks
        return Types(self.table[:, rows])

    def describe(self) -> dict[str, Any]:
        """Its table."""
        return {"name": "Types", "table": [[plain_label(item) for item in row] for row in self.table.tolist()]}
