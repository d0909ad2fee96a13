"""Models whose types are listed for the menus at hand: what each takes is computed, not given.

Such a model answers for any menus of the items that it knows, observed or not, so bounds may ask for menus, items and prices that
nobody has seen. Types that take the same from all menus are one. How many there will be is counted or estimated first; where they
are too many nothing is built, and the error says how many.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from itertools import combinations

import numpy as np

from rumflow.core.arrays import Ints, Paths
from rumflow.core.graph import Graph, GraphTooLargeError
from rumflow.core.graph_build import list_graph
from rumflow.core.graph_cells import Cells
from rumflow.core.linear_types import unique_rows
from rumflow.core.menus import Menus
from rumflow.core.patience import check_patience
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit

#: A list is searched from end to end in every step of a projection.
MOST_TYPES = 1_000_000

_BYTES_OF_CELL = 80  # of a type and a menu, while types are listed and in the graph


class Listed(Model):
    """A model that lists its types on any menus."""

    _last: tuple[tuple[Hashable, ...], Ints] | None = None  # the rankings that were listed last

    @abstractmethod
    def choices(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Paths:
        """(types, m): the place of what each type takes, among the items that the menu offers."""

    def rows(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Paths:
        """The types as rows of columns, different ones in order."""
        start = cells.offered.start
        return unique_rows(cells.place[start[:-1] + self.choices(cells, limit)])

    def listed(self, cells: Cells) -> Paths:
        """As `rows`."""
        return self.rows(cells)

    def geometry(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Graph:
        """One node per type between the first node and the last."""
        return list_graph(cells.shape, self.rows(cells, limit))

    def orders(self, cells: Cells, types: Paths) -> Ints:
        """(k, n): for each type the first of the model's rankings that takes the same; only where `of_rankings`."""
        if not self.of_rankings:
            return super().orders(cells, types)
        every = self._rankings(cells.items)
        place: dict[bytes, int] = {}
        for i, row in enumerate(cells.types_of_orders(every)):
            place.setdefault(row.tobytes(), i)
        found = [place.get(row.tobytes(), -1) for row in np.ascontiguousarray(types, np.int32)]
        if -1 in found:
            raise InputError(f"{self.name}: type {found.index(-1)} is not what anybody takes from the observed menus")
        return every[found]

    def _rankings(self, items: tuple[Hashable, ...]) -> Ints:
        """(types, n): all rankings of the model, the types on all pairs of items; items that it does not know come last."""
        if self._last is not None and self._last[0] == items:
            return self._last[1]
        known = [x for x, item in enumerate(items) if item in self.known_items]
        pairs = np.array(list(combinations(known, 2)), np.int32).reshape(-1, 2)
        wins = np.zeros((1, len(items)), np.int64)
        if len(pairs):
            cells = Cells.of_menus(
                Menus(np.arange(0, 2 * len(pairs) + 1, 2), pairs.reshape(-1), len(items)), None, items
            )
            places = self.choices(cells)
            wins = np.zeros((len(places), len(items)), np.int64)
            for pair, taken in zip(pairs, places.T, strict=True):
                wins[np.arange(len(places)), pair[taken]] += 1
        wins[:, [x for x in range(len(items)) if x not in known]] = -1
        orders: Ints = np.argsort(-wins, axis=1, kind="stable")
        self._last = items, orders
        return orders


def require_few(count: float, menus: int, limit: Limit, what: str, remedy: str, *, exact: bool = True) -> None:
    """Raise where a list of so many types would be too large; `what` has the types, and `remedy` says what to leave out."""
    needed = _BYTES_OF_CELL * count * menus
    nodes = int(min(count, 1e18)) + 2
    if nodes > min(limit.nodes, MOST_TYPES) or needed > limit.most_bytes:
        number = f"{count:,.0f}" if count < 1e15 else f"{count:.1e}"
        raise GraphTooLargeError(
            f"{what}: {'' if exact else 'about '}{number} types on {menus:,} menus, more than can be listed "
            f"({min(limit.nodes, MOST_TYPES, int(limit.most_bytes / (_BYTES_OF_CELL * menus))):,}); {remedy}",
            nodes,
            2 * nodes,
            int(min(needed, 1e18)),
            0,
        )


def keep_to(limit: Limit, what: str) -> None:
    """Raise where the time for a list is over, or nobody waits for it."""
    check_patience()
    if limit.late():
        raise GraphTooLargeError(f"{what}: the time was over before all types were listed", 0, 0, 0, 0, late=True)
