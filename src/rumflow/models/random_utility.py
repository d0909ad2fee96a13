"""Random utility: every ranking of the items is a type, or every ranking that respects known preferences."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from rumflow.check import check_item
from rumflow.core.arrays import Ints, Mask, Paths
from rumflow.core.graph import Graph
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.core.preferences import NOTHING_KNOWN, Preferences, close_pairs
from rumflow.data.labels import plain_label
from rumflow.errors import InputError
from rumflow.models.model import Model, Wording
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit, build
from rumflow.models.rankings import rankings_of_types
from rumflow.models.relevance import relevant_cells


class RandomUtility(Model):
    """Mixtures of rankings of the items.

    Parameters
    ----------
    above : iterable of pairs, default ()
        Known preferences: with ("a", "b") everybody prefers a to b, and only rankings that agree are types.

    Raises
    ------
    InputError
        If an entry of `above` is not a pair; later, when data are given, if its items are unknown or the pairs form a
        cycle.

    Examples
    --------
    >>> RandomUtility(above=[("wine", "water")])
    RandomUtility(above=[('wine', 'water')])
    """

    is_random_utility = True
    types_are_rankings = of_rankings = True

    def __init__(self, above: Iterable[tuple[Hashable, Hashable]] = ()) -> None:
        self.above: tuple[tuple[Hashable, Hashable], ...] = tuple(_pair(pair) for pair in above)
        self.all_rankings: bool = not self.above
        self.single_menus_bind: bool = bool(self.above)
        known = ", ".join(f"{a} above {b}" for a, b in self.above)
        self.name: str = f"random utility with {known}" if known else "random utility"
        self._known: tuple[tuple[Hashable, ...], Preferences] | None = None  # what was asked for last

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and set(self.above) == set(other.above)

    def __hash__(self) -> int:
        return hash(frozenset(self.above))

    def __reduce__(self) -> tuple[type[RandomUtility], tuple[Any]]:
        return type(self), (self.above,)

    def __repr__(self) -> str:
        return f"RandomUtility(above={list(self.above)})" if self.above else "RandomUtility()"

    def known(self, items: tuple[Hashable, ...]) -> Preferences:
        """As `Model.known`; computed once for the same items."""
        if self.all_rankings:
            return NOTHING_KNOWN
        if self._known is None or self._known[0] != items:
            place = {item: x for x, item in enumerate(items)}
            pairs = [[check_item(item, place, f"above={pair!r}") for item in pair] for pair in self.above]
            known = close_pairs(np.array(pairs, np.int64), len(items))
            circle = known.named[known.over.diagonal()]
            if len(circle):
                names = ", ".join(str(items[x]) for x in circle)
                raise InputError(f"above: the pairs form a cycle among {names}: no ranking respects them all")
            self._known = items, known
        return self._known[1]

    def geometry(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Graph:
        """The graph of open menus."""
        return build(cells, self.known(cells.items), limit)

    def orders(self, cells: Cells, types: Paths) -> Ints:
        """(k, n): a ranking for each type, completed by the rule of `rumflow.models.rankings`."""
        return rankings_of_types(cells, self.known(cells.items), types)

    def parts(self, cells: Cells) -> list[Ints]:
        """The observed menus in groups without a common item and without a known preference between their items."""
        items: Ints = np.unique(cells.offered.item).astype(np.int64)
        better, worse = (items[ends] for ends in self.known(cells.items).cut(items).pairs())
        # Each group is known by its first menu, as far as is known: smaller numbers spread until none is left to spread.
        first = np.full(cells.n_items, len(cells))
        group = np.arange(len(cells))
        while True:
            np.minimum.at(first, cells.offered.item, group[cells.offered.menu])
            low = np.minimum(first[better], first[worse])
            np.minimum.at(first, better, low)
            np.minimum.at(first, worse, low)
            new = np.minimum.reduceat(first[cells.offered.item], cells.offered.start[:-1])
            new = new[new]
            if np.array_equal(new, group):
                break
            group = new
        order = np.argsort(group, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)

    def relevant(self, menus: Menus, times: Ints, taken: Mask, even: Mask) -> Mask:
        """What may have an influence: see `rumflow.models.relevance`. Known preferences tie menus in other ways: all stay."""
        return np.ones(len(menus.item), np.bool_) if self.above else relevant_cells(menus, times, taken, even)

    def describe(self) -> dict[str, Any]:
        """Its known preferences."""
        return {"name": "RandomUtility", "above": [[plain_label(a), plain_label(b)] for a, b in self.above]}

    def words(self) -> Wording:
        """As of utility maximisers; up to three of the known preferences are named."""
        if not self.above:
            return Wording("Random utility", "utility maximisers", "with a ranking")
        known = ", ".join(f"{a} over {b}" for a, b in self.above[:3]) + (", ..." if len(self.above) > 3 else "")
        return Wording(
            f"Random utility with {known}",
            f"utility maximisers who all prefer {known}",
            f"with a ranking that has {known}",
        )


#: All rankings: what a model of None stands for.
RANDOM_UTILITY = RandomUtility()


def _pair(pair: tuple[Hashable, Hashable]) -> tuple[Hashable, Hashable]:
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise InputError(f"above: {pair!r} is not a pair of items, the better one first, such as ('a', 'b')")
    return (pair[0], pair[1])
