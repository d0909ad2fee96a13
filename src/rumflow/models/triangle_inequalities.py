"""The triangle inequalities on pairs: what holds for any mixture of orders, without a list of types."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.data.labels import TIE
from rumflow.data.ties import check_ties
from rumflow.errors import InputError
from rumflow.models.model import Model, Wording
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit
from rumflow.models.relevance import relevant_pairs


class TriangleInequalities(Model):
    """The triangle inequalities on pairs: P(a over b) <= P(a over c) + P(c over b), for any number of items.

    Every population of people with rankings obeys them, so what rejects them rejects random utility. On the pairs that
    were compared they say that no path a, c, ..., d, b has shares P(a over c) + ... + P(d over b) below P(a over b). Up
    to five items, and on comparison graphs without a K3,3 minor (planar ones, for example), they say all that random
    utility says; beyond that a little less. Distances are exact for thousands of items. There are no types: a fit has
    `fitted` and `probabilities` of the pairs compared, and `rf.bounds` for other pairs.

    With ties as an outcome (`rf.TIE`), P(a over b) is the share of people who like a strictly better, and the inequalities
    are what every population obeys whose orders may have ties (`rf.WeakOrders`); on all pairs of four items and more they
    say a little less than that.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({
    ...     ("a", "b"): {"a": 9, "b": 1}, ("b", "c"): {"b": 9, "c": 1}, ("a", "c"): {"a": 1, "c": 9},
    ... })
    >>> fit = rf.project(data, model=rf.TriangleInequalities())
    >>> round(fit.distance, 4), round(fit.probabilities(["a", "b"])["a"], 4)
    (0.5715, 0.6667)
    """

    name = "triangle inequalities"
    has_types = False
    single_menus_bind = False

    def __repr__(self) -> str:
        return "TriangleInequalities()"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def geometry(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> NoReturn:
        """There is no graph: raise an error that says what to ask instead."""
        raise self.no_types()

    def relevant(self, menus: Menus, times: Ints, taken: Mask, even: Mask) -> Mask:
        """Pairs on no cycle leave, as for random utility; other pairs and their items stay."""
        return relevant_pairs(menus, times, taken, even)

    def inner_point(self, cells: Cells) -> Array:
        """One half everywhere, or with ties one third."""
        return np.where(cells.filled, 1.0 / 3.0 if TIE in cells.items else 0.5, 0.0)

    def describe(self) -> dict[str, Any]:
        """Its name says all."""
        return {"name": "TriangleInequalities"}

    def words(self) -> Wording:
        """As of people with rankings."""
        return Wording("The triangle inequality", "people with rankings", "with a ranking")


def require_pairs(cells: Cells) -> None:
    """Raise where a menu offers more than two items, beside ties as an outcome."""
    check_ties(cells.items, cells.offered)
    sizes = cells.offered.sizes
    large = np.flatnonzero(sizes > (3 if TIE in cells.items else 2))
    if len(large):
        others = f" (and {len(large) - 1} more menus are larger than pairs)" if len(large) > 1 else ""
        raise InputError(
            f"menu {cells.name(int(large[0]))} offers {int(sizes[large[0]])} items{others}: TriangleInequalities() is about "
            "pairs; leave out larger menus, or use RandomUtility()"
        )
