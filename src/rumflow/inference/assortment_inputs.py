"""What is asked of an assortment: items, revenues and limits, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import as_floats, check_item, check_menu, check_number
from rumflow.core.arrays import Array, Mask
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.projection.results import Projection


def find_outside(fit: Projection, menus: Mask, outside_option: Item | None) -> int:
    """The outside option's number."""
    always = [str(fit.items[x]) for x in np.flatnonzero(menus.all(axis=0))] if len(menus) else []
    hint = f" On every recorded menu: {', '.join(always)}." if always else ""
    if outside_option is None:
        raise InputError(
            "outside_option is required: name the item that means buying nothing; if buying nothing was not recorded, "
            f"the data say nothing about how many buy, and no assortment can be valued.{hint}"
        )
    x = check_item(outside_option, fit.items, "outside_option")
    if not menus[:, x].any():
        raise InputError(f"outside_option={outside_option!r} is on no recorded menu of two items or more.{hint}")
    return x


def find_revenue(items: Sequence[Item], revenue: Mapping[Item, float] | ArrayLike, outside: Item | None) -> Array:
    """What each item earns."""
    if isinstance(revenue, Mapping):
        place = {item: x for x, item in enumerate(items)}  # a look-up in a list of many items takes long
        for item, value in revenue.items():
            check_item(item, place, "revenue")
            check_number(value, f"revenue[{item!r}]", -np.inf, np.inf)
        missing = [item for item in items if item not in revenue and item != outside]
        if missing:
            raise InputError(f"revenue: there is none for {format_menu(missing)}; give {{item: value}} for every item")
        return np.array([float(revenue.get(item, 0.0)) for item in items])
    found = as_floats(revenue, "revenue")
    if found.shape != (len(items),):
        raise InputError(f"revenue: {len(items)} numbers are needed, one per item, not shape {found.shape}")
    for item, value in zip(items, found.tolist(), strict=True):
        check_number(value, f"revenue[{item!r}]", -np.inf, np.inf)
    return found


def check_revenue(
    items: Sequence[Item], revenue: Mapping[Item, float] | ArrayLike, outside_option: Item | None
) -> None:
    """Outside option and revenues, before anything is solved; without the former the recorded menus say what it could be."""
    if outside_option is not None:
        check_item(outside_option, items, "outside_option")
        find_revenue(items, revenue, outside_option)


def find_items(items: Sequence[Item], group: Iterable[Item], option: str = "menu", least: int = 0) -> Mask:
    """Items given by label, at least so many, as a row of truth values."""
    row = np.zeros(len(items), np.bool_)
    row[check_menu(group, items, option, least)] = True
    return row
