"""Utility that is linear in attributes, with any distribution of the coefficients.

Somebody with coefficients b takes from every menu the item with the largest <b, attributes>. Everybody's coefficients may
differ, and nothing is assumed about how they are distributed, but that ties have no weight. The types are what some b takes from
all menus (`rumflow.core.linear_types`). Over lotteries, with the probabilities of the prizes as attributes, this is random
expected utility.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from rumflow.core.arrays import Ints, Paths
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.core.linear_types import choose_directions, count_directions, make_directions
from rumflow.models.attributes import Attributes
from rumflow.models.listed import Listed, keep_to, require_few
from rumflow.models.model import Wording
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit

# Comparisons of two items: a minute's work. Up to so many the list itself is quicker than an estimate.
_MOST_WORK, _SMALL_WORK = 2_000_000_000, 1_000_000

_REMEDY = (
    "leave out attributes, menus or items, give signs, or take UtilityFamily with draws of the coefficients, which is an inner "
    "approximation"
)


class LinearUtility(Listed):
    """Mixtures of people whose utility is linear in attributes.

    Parameters
    ----------
    attributes : mapping or data frame
        {item: numbers}, or {(menu, item): numbers} where attributes such as prices differ between menus; a menu is a tuple of
        its items in any order. As a data frame, or a dict of columns: a column "item" (or the index), a column for each
        attribute, and where they differ between menus a column "menu": rows with the same value are the items of one menu.
        Items and menus that were not observed may be among them; bounds can then ask for them.
    signs : sequence or mapping, optional
        For each attribute 1 (everybody likes more of it), -1 (less of it) or 0 (some do, some do not), or {name: sign}. None: 0
        for all.

    Raises
    ------
    InputError
        If a number is missing or not finite, a sign is none of these; later, when data are given, if an item has no attributes,
        two items of a menu have the same (the message names them), or there are too many types (it says how many).

    Notes
    -----
    Only differences within a menu matter, so an attribute that is the same for all items of a menu says nothing there. With
    attributes of items every type is that of a ranking, and the model lies in random utility. With attributes by menu it
    need not: an item may be dear in one menu and cheap in another.

    Two directions count as different where some difference of two items tells them apart by more than 1e-9 of its length.

    Examples
    --------
    >>> LinearUtility({"bus": (2.0, 40), "train": (5.0, 25), "car": (9.0, 20)}, signs=(-1, -1))
    LinearUtility(3 items, 2 attributes, signs=[-1, -1])
    """

    name = "linear utility"

    def __init__(self, attributes: Any, signs: Any = None) -> None:
        self.attributes: Attributes = attributes if isinstance(attributes, Attributes) else Attributes(attributes)
        self.signs: Ints = self.attributes.signs(signs)
        self.of_rankings: bool = not self.attributes.by_menu

    @classmethod
    def ideal_point(cls, positions: Mapping[Any, ArrayLike]) -> LinearUtility:
        """Make the model of people who take the item nearest to their ideal point, wherever that is.

        The squared distance from z to x is |z|^2 - 2 <z, x> + |x|^2: linear utility in x and -|x|^2, with a positive
        coefficient of the latter.

        Parameters
        ----------
        positions : mapping
            {item: coordinates}.

        Returns
        -------
        LinearUtility

        Examples
        --------
        >>> LinearUtility.ideal_point({"left": 0, "centre": 1, "right": 2})
        LinearUtility(3 items, 2 attributes, signs=[0, 1])
        """
        given = Attributes(positions)
        rows = {
            item: {**dict(zip(given.names, row.tolist(), strict=True)), "-|x|^2": -float(row @ row)}
            for (_, item), row in given.rows.items()
        }
        return cls(rows, [0] * len(given.names) + [1])

    def __repr__(self) -> str:
        signs = f", signs={self.signs.tolist()}" if self.signs.any() else ""
        return f"LinearUtility({repr(self.attributes)[11:-1]}{signs})"

    @property
    def known_items(self) -> tuple[Hashable, ...]:  # type: ignore[override]
        """The items that have attributes."""
        return self.attributes.items

    def choices(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Paths:
        """(types, m): what every direction takes."""
        points, m = self.attributes.of(cells), len(cells)
        problem = make_directions(points, cells.offered.start, self.signs)
        if problem.work > _SMALL_WORK:
            count = count_directions(problem)
            require_few(count, m, limit, self.name, _REMEDY, exact=False)
            if problem.work > _MOST_WORK:
                planes, k = problem.normals.shape
                raise GraphTooLargeError(
                    f"{self.name}: about {count:,.0f} types, but {planes:,} differences of items in {k} dimensions meet in "
                    f"{problem.n_lines:,} lines, too many to look at; {_REMEDY}",
                    int(count) + 2,
                    2 * int(count),
                    0,
                    0,
                )
        return choose_directions(problem, lambda: keep_to(limit, self.name))[:, :m]

    def describe(self) -> dict[str, Any]:
        """Its attributes and signs."""
        return {"name": "LinearUtility", "attributes": self.attributes.describe(), "signs": self.signs.tolist()}

    def words(self) -> Wording:
        """As of people who weigh attributes."""
        names = " and ".join(
            [", ".join(self.attributes.names[:-1]), self.attributes.names[-1]][not self.attributes.names[1:] :]
        )
        return Wording(
            f"Utility linear in {names}",
            f"people whose utility is linear in {names}",
            f"with utility linear in {names}",
        )
