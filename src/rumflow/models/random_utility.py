"""Random utility: every ranking of the items is a type, or every ranking that respects known preferences."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from rumflow.check import check_item
from rumflow.core.arrays import Ints, Mask, Paths
from rumflow.core.graph import Graph
from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit, build, link_menus
from rumflow.models.rankings import rankings_of_types


class RandomUtility:
    """Mixtures of rankings. `above=[("a", "b")]`: everybody prefers a to b.

    >>> RandomUtility(above=[("wine", "water")])
    RandomUtility(above=[('wine', 'water')])
    """

    def __init__(self, above: Iterable[tuple[Hashable, Hashable]] = ()) -> None:
        self.above: tuple[tuple[Hashable, Hashable], ...] = tuple(_pair(pair) for pair in above)

    def __repr__(self) -> str:
        return f"RandomUtility(above={list(self.above)})" if self.above else "RandomUtility()"

    def preferences(self, items: tuple[Hashable, ...]) -> Mask:
        """(n, n): [a, b] where everybody prefers a to b, with all that follows from the pairs given."""
        place = {item: x for x, item in enumerate(items)}
        above = np.zeros((len(items), len(items)), np.bool_)
        for pair in self.above:
            better, worse = (check_item(item, place, f"above={pair!r}") for item in pair)
            above[better, worse] = True
        for x in range(len(items)):
            above |= above[:, x : x + 1] & above[x]
        circle = np.flatnonzero(above.diagonal())
        if len(circle):
            names = ", ".join(str(items[x]) for x in circle)
            raise InputError(f"above: the pairs go round in a circle among {names}: no ranking respects them all")
        return above

    def geometry(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Graph:
        """The graph of open menus."""
        return build(cells, self.preferences(cells.items), limit)

    def orders(self, cells: Cells, types: Paths) -> Ints:
        """(k, n): a ranking for each type, completed by the rule of `rumflow.models.rankings`."""
        return rankings_of_types(cells, self.preferences(cells.items), types)

    def parts(self, cells: Cells) -> list[Ints]:
        """The observed menus in groups without a common item and without a known preference between their items."""
        linked = link_menus(cells.membership, self.preferences(cells.items))
        rest = np.ones(len(linked), np.bool_)
        groups: list[Ints] = []
        while rest.any():
            group = np.zeros(len(linked), np.bool_)
            group[rest.argmax()] = True
            size = 0
            while group.sum() > size:
                size = int(group.sum())
                group |= linked[group].any(axis=0)
            groups.append(np.flatnonzero(group))
            rest &= ~group
        return groups


def _pair(pair: tuple[Hashable, Hashable]) -> tuple[Hashable, Hashable]:
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise InputError(f"above: {pair!r} is not a pair of items, the better one first, such as ('a', 'b')")
    return (pair[0], pair[1])
