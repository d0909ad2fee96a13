"""Types from utilities: what draws of utilities take from the menus.

A list of draws is an inner approximation of the family they come from: types between the draws are missing, so distances are at
least those of the whole family.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from rumflow.check import as_floats, as_menu, check_different
from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.graph_cells import Cells
from rumflow.core.linear_types import unique_rows
from rumflow.data.labels import format_menu, plain_label
from rumflow.errors import InputError
from rumflow.models.listed import Listed, keep_to, require_few
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit

_AT_ONCE = 2_000_000  # utilities that are compared at a time

_REMEDY = "take fewer draws, or leave out menus"


class UtilityDraws(Listed):
    """Mixtures of people with given utilities; see `rumflow.Types.from_utilities`."""

    name = "types of given utilities"

    def __init__(
        self,
        utilities: Any,
        items: Sequence[Hashable] | None = None,
        menus: Iterable[Iterable[Hashable]] | None = None,
    ) -> None:
        if items is None and hasattr(type(utilities), "columns"):
            items = list(utilities.columns)
        self.utilities: Array = np.array(as_floats(np.asarray(utilities), "utilities"))
        self.utilities.flags.writeable = False
        shape, axes = self.utilities.shape, 2 if menus is None else 3
        if len(shape) != axes or 0 in shape:
            raise InputError(
                f"utilities: shape {shape}; (draws, items) is needed, or (draws, menus, items) with menus=, one row at least"
            )
        self.items: tuple[Hashable, ...] = tuple(range(shape[-1])) if items is None else tuple(items)
        check_different(self.items, "items")
        if len(self.items) != shape[-1]:
            raise InputError(
                f"items: {shape[-1]} labels are needed, one per column of utilities, not {len(self.items)}"
            )
        self.menus: tuple[tuple[Hashable, ...], ...] | None = (
            None if menus is None else tuple(as_menu(menu, "menus") for menu in menus)
        )
        if self.menus is not None and len(self.menus) != shape[1]:
            raise InputError(f"menus: {shape[1]} are needed, one per row of utilities, not {len(self.menus)}")
        self.of_rankings: bool = self.menus is None

    def __repr__(self) -> str:
        menus = "" if self.menus is None else f", {len(self.menus)} menus"
        return f"Types.from_utilities({len(self.utilities)} draws{menus}, {len(self.items)} items)"

    @property
    def known_items(self) -> tuple[Hashable, ...]:  # type: ignore[override]
        """The items that have utilities."""
        return self.items

    def choices(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Paths:
        """(types, m): what every draw takes."""
        row, column = self._places(cells)
        draws, m = len(self.utilities), len(cells)
        require_few(draws, m, limit, self.name, _REMEDY)
        step = max(1, _AT_ONCE // len(column))
        found = []
        for begin in range(0, draws, step):
            keep_to(limit, self.name)
            piece = self.utilities[begin : begin + step]
            values = piece[:, column] if self.menus is None else piece[:, row, column]
            found.append(unique_rows(best_places(values, cells, begin)))
        return unique_rows(np.vstack(found))

    def _places(self, cells: Cells) -> tuple[Ints, Ints]:
        """(offered,): row and column of the utilities of what the menus offer."""
        place = {item: x for x, item in enumerate(self.items)}
        rows = None if self.menus is None else {frozenset(menu): j for j, menu in enumerate(self.menus)}
        row, column = np.zeros(len(cells.offered.item), np.int64), np.zeros(len(cells.offered.item), np.int64)
        for j in range(len(cells)):
            labels = cells.offered.labels_of(j, cells.items)
            if len(labels) < 2:
                continue  # nothing to choose
            if rows is not None and frozenset(labels) not in rows:
                raise InputError(f"utilities: there are none for menu {cells.name(j)}")
            if unknown := [item for item in labels if item not in place]:
                raise InputError(
                    f"utilities: there are none for item {unknown[0]!r}; there are those of {format_menu(place)}"
                )
            span = slice(cells.offered.start[j], cells.offered.start[j + 1])
            column[span] = [place[item] for item in labels]
            row[span] = 0 if rows is None else rows[frozenset(labels)]
        return row, column

    def describe(self) -> dict[str, Any]:
        """Its utilities, items and menus."""
        menus = None if self.menus is None else [[plain_label(item) for item in menu] for menu in self.menus]
        items = [plain_label(item) for item in self.items]
        values = [[None if np.isnan(v) else v for v in row] for row in self.utilities.reshape(-1, len(items)).tolist()]
        if menus is not None:
            size = len(menus)
            nested: Any = [values[i : i + size] for i in range(0, len(values), size)]
        return {
            "name": "UtilityDraws",
            "utilities": values if menus is None else nested,
            "items": items,
            "menus": menus,
        }


def best_places(values: Array, cells: Cells, begin: int = 0) -> Paths:
    """(k, m): the place of the best item of every menu, from the utilities (k, offered) of draws numbered from `begin`."""
    start, m = cells.offered.start, len(cells)
    several = (cells.offered.sizes > 1)[cells.offered.menu]
    if (bad := ~np.isfinite(values) & several).any():
        i, c = (int(v) for v in np.argwhere(bad)[0])
        item, menu = cells.items[cells.offered.item[c]], cells.name(int(cells.offered.menu[c]))
        raise InputError(
            f"utilities: draw {begin + i} has {values[i, c]:g} for item {item!r} of menu {menu}; a finite number "
            "is needed"
        )
    most = np.maximum.reduceat(values, start[:-1], axis=1)
    best = values == most[:, cells.offered.menu]
    if (ties := np.add.reduceat(best & several, start[:-1], axis=1, dtype=np.int64) > 1).any():
        i, j = (int(v) for v in np.argwhere(ties)[0])
        one, two = (start[j] + np.flatnonzero(best[i, start[j] : start[j + 1]]))[:2]
        first, second = (cells.items[cells.offered.item[c]] for c in (one, two))
        raise InputError(
            f"utilities: draw {begin + i} has the same utility for items {first!r} and {second!r}, the best of menu "
            f"{cells.name(j)}, so it does not say which is taken"
        )
    place = np.arange(start[-1]) - start[:-1][cells.offered.menu]
    worst = np.where(best, place, start[-1])
    found: Paths = np.minimum.reduceat(worst, start[:-1], axis=1).astype(np.int32)
    assert found.shape[1] == m
    return found
