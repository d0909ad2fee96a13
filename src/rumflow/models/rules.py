"""People who do not weigh: lexicographic choice, and satisficing.

A lexicographic person looks at the most important attribute first; what is best there stays, and the next attribute decides among
what stayed. With cutoffs, an attribute is first looked at coarsely: what passes the person's cutoff stays, or everything where
nothing passes; only where all attributes leave several do their values decide, in the same order.

A satisficing person looks at items in an order and takes the first that is good enough, or the last where none is.

Both are rankings, where attributes are those of items: the first sorts items by what they pass and then by their values; the
second has what is good enough in the order, and below it all else in the reverse of the order.

There are finitely many such people; they are counted before they are listed, and those who take the same from all menus are one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from math import factorial, prod
from typing import Any

import numpy as np

from rumflow.check import check_different, check_number
from rumflow.core.arrays import Array, Ints, Mask, Paths
from rumflow.core.graph_cells import Cells
from rumflow.core.linear_types import unique_rows
from rumflow.data.labels import plain_label
from rumflow.errors import InputError
from rumflow.models.attributes import Attributes
from rumflow.models.listed import Listed, keep_to, require_few
from rumflow.models.model import Wording
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit

_AT_ONCE = 1_000  # types whose rows are compared at a time


class Lexicographic(Listed):
    """Mixtures of people who decide by one attribute after the other.

    Every order of the attributes is somebody's.

    Parameters
    ----------
    attributes : mapping or data frame
        As for `LinearUtility`.
    cutoffs : mapping or sequence, optional
        For each attribute the cutoffs that people may have, {name: numbers} or one list per attribute (an empty one: no cutoff).
        What passes a person's cutoff stays, or everything where nothing passes; ties that are left are decided by the values.
    signs : sequence or mapping, optional
        For each attribute 1 (more is better), -1 (less is better), or 0 (some people like more, some less). None: 1 for all.

    Raises
    ------
    InputError
        If a cutoff is no number; later, when data are given, if two items of a menu have the same attributes, or there are
        too many types (it says how many).

    Examples
    --------
    >>> Lexicographic({"bus": (2.0, 40), "train": (5.0, 25), "car": (9.0, 20)}, signs=(-1, -1))
    Lexicographic(3 items, 2 attributes: 2 types at most)
    """

    name = "lexicographic choice"

    def __init__(self, attributes: Any, cutoffs: Any = None, signs: Any = None) -> None:
        self.attributes: Attributes = Attributes(attributes)
        self.signs: Ints = self.attributes.signs(signs, 1)
        self.cutoffs: tuple[tuple[float, ...], ...] = self._read(cutoffs)
        self.of_rankings: bool = not self.attributes.by_menu

    def _read(self, cutoffs: Any) -> tuple[tuple[float, ...], ...]:
        names = self.attributes.names
        if cutoffs is None:
            return ((),) * len(names)
        if isinstance(cutoffs, Mapping):
            for name in cutoffs:
                self.attributes.number(name, "cutoffs")
            cutoffs = [cutoffs.get(name, ()) for name in names]
        if isinstance(cutoffs, str) or not isinstance(cutoffs, Sequence | np.ndarray) or len(cutoffs) != len(names):
            raise InputError(
                f"cutoffs: a list of numbers for each attribute ({', '.join(names)}) is needed, not {cutoffs!r}"
            )
        found = []
        for name, given in zip(names, cutoffs, strict=True):
            values = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
            found.append(tuple(check_number(value, f"cutoffs of {name}", -np.inf, np.inf) for value in values))
        return tuple(found)

    @property
    def count(self) -> int:
        """How many types there are at most."""
        k = len(self.attributes.names)
        return prod([factorial(k), 1 << int((self.signs == 0).sum()), *(max(len(one), 1) for one in self.cutoffs)])

    def __repr__(self) -> str:
        return f"Lexicographic({repr(self.attributes)[11:-1]}: {self.count:,} types at most)"

    @property
    def known_items(self) -> tuple[Hashable, ...]:  # type: ignore[override]
        """The items that have attributes."""
        return self.attributes.items

    def choices(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Paths:
        """(types, m): what each order, direction and cutoffs take."""
        points = self.attributes.of(cells)
        require_few(self.count, len(cells), limit, self.name, "leave out attributes or cutoffs")
        return _collect(self._types(points, cells), limit, self.name)

    def _types(self, points: Array, cells: Cells) -> Iterator[Paths]:
        sides = product(*[(1, -1) if sign == 0 else (sign,) for sign in self.signs.tolist()])
        for side in sides:
            values = points * side
            for levels in product(*[one or (None,) for one in self.cutoffs]):
                coarse = [
                    values[:, i] * 0 if level is None else (values[:, i] >= side[i] * level) * 1.0
                    for i, level in enumerate(levels)
                ]
                for order in permutations(range(len(side))):
                    yield _eliminate([coarse[i] for i in order] + [values[:, i] for i in order], cells)

    def describe(self) -> dict[str, Any]:
        """Its attributes, cutoffs and signs."""
        return {
            "name": "Lexicographic",
            "attributes": self.attributes.describe(),
            "cutoffs": [list(one) for one in self.cutoffs],
            "signs": self.signs.tolist(),
        }

    def words(self) -> Wording:
        """As of people who decide by one attribute after the other."""
        return Wording("Lexicographic choice", "people who choose lexicographically", "who chooses lexicographically")


class Satisficing(Listed):
    """Mixtures of people who take the first item that is good enough.

    Parameters
    ----------
    order : sequence
        The items in the order in which they are looked at, or a list of such orders, each of them somebody's.
    thresholds : mapping
        How good each item is: {item: number}, or {item: numbers} for several attributes. People have any aspiration level for
        each; an item is good enough where it reaches all of them. The first good one in the order is taken, the last item of
        the menu where none is.

    Raises
    ------
    InputError
        If an item is in an order twice, or not in all of them, or has no number; later, when data are given, if an item is
        missing or there are too many types (it says how many).

    Examples
    --------
    >>> Satisficing(["top", "middle", "bottom"], {"top": 1, "middle": 3, "bottom": 2})
    Satisficing(3 items, 1 order: 4 types at most)
    """

    name = "satisficing"
    of_rankings = True

    def __init__(self, order: Sequence[Any], thresholds: Any) -> None:
        orders = [tuple(one) for one in order] if _several(order) else [tuple(order)]
        for one in orders:
            check_different(one, "order")
            if set(one) != set(orders[0]):
                odd = next(iter(set(one) ^ set(orders[0])))
                raise InputError(f"order: item {odd!r} is not in all orders")
        self.sequences: tuple[tuple[Hashable, ...], ...] = tuple(dict.fromkeys(orders))
        if not self.sequences or not self.sequences[0]:
            raise InputError("order: at least one item is needed")
        self.values: Attributes = Attributes(thresholds)
        if self.values.by_menu:
            raise InputError("thresholds: {item: number} is needed, not by menu")
        for item in self.sequences[0]:
            if item not in self.values.items:
                raise InputError(f"thresholds: item {item!r} has none")

    def __repr__(self) -> str:
        orders = "1 order" if len(self.sequences) == 1 else f"{len(self.sequences)} orders"
        return f"Satisficing({len(self.sequences[0])} items, {orders}: {self.count:,} types at most)"

    @property
    def known_items(self) -> tuple[Hashable, ...]:  # type: ignore[override]
        """The items of the order."""
        return self.sequences[0]

    def _levels(self) -> list[Array]:
        """Aspiration levels of each attribute: one below all values, and one above each."""
        table = np.array([self.values.rows[None, item] for item in self.sequences[0]])
        return [np.append(-np.inf, np.nextafter(np.unique(column), np.inf)) for column in table.T]

    @property
    def count(self) -> int:
        """How many types there are at most."""
        return len(self.sequences) * prod(len(levels) for levels in self._levels())

    def choices(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Paths:
        """(types, m): what each order and level take."""
        require_few(self.count, len(cells), limit, self.name, "leave out orders or attributes")
        place = {item: i for i, item in enumerate(self.sequences[0])}
        offered = [cells.items[x] for x in cells.offered.item.tolist()]
        for item in offered:
            if item not in place:
                raise InputError(f"order: item {item!r} of the data is missing")
        number = np.array([place[item] for item in offered])
        table = np.array([self.values.rows[None, item] for item in self.sequences[0]])[number]
        return _collect(self._types(offered, table, cells), limit, self.name)

    def _types(self, offered: list[Hashable], table: Array, cells: Cells) -> Iterator[Paths]:
        good = [(table >= np.array(level)).all(axis=1) for level in product(*self._levels())]
        for order in self.sequences:
            seen = {item: i for i, item in enumerate(order)}
            rank = np.array([seen[item] for item in offered], np.float64)
            last = np.maximum.reduceat(rank, cells.offered.start[:-1])[cells.offered.menu]
            for passes in good:
                # The last item of a menu is taken where none passes: as if it passed.
                yield _eliminate([(passes | (rank == last)) * 1.0, -rank], cells)

    def describe(self) -> dict[str, Any]:
        """Its orders and values."""
        orders = [[plain_label(item) for item in order] for order in self.sequences]
        return {"name": "Satisficing", "order": orders, "thresholds": self.values.describe()}

    def words(self) -> Wording:
        """As of people who take what is good enough."""
        return Wording(
            "Satisficing", "people who take the first item that is good enough", "who satisfices in this order"
        )


def _several(order: Sequence[Any]) -> bool:
    """Is this a list of orders?"""
    return len(order) > 0 and all(isinstance(one, list | tuple) for one in order)


def _eliminate(criteria: list[Array], cells: Cells) -> Paths:
    """(1, m): the place of what is best by the first criterion, among these by the second, and so on."""
    start, menu = cells.offered.start[:-1], cells.offered.menu
    left: Mask = np.ones(len(menu), np.bool_)
    for values in criteria:
        own = np.where(left, values, -np.inf)
        left &= own == np.maximum.reduceat(own, start)[menu]
    place: Ints = np.where(left, np.arange(len(menu)) - start[menu], len(menu))
    return np.asarray(np.minimum.reduceat(place, start), np.int32)[None]


def _collect(types: Iterator[Paths], limit: Limit, name: str) -> Paths:
    """Different rows of all types."""
    found: list[Paths] = []
    piece: list[Paths] = []
    for row in types:
        piece.append(row)
        if len(piece) == _AT_ONCE:
            keep_to(limit, name)
            found, piece = [*found, unique_rows(np.vstack(piece))], []
    return unique_rows(np.vstack([*found, *piece]))
