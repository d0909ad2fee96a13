"""What is asked of an assortment: items, revenues and limits, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array, Mask
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.projection.inputs import as_floats
from rumflow.projection.results import Projection


def find_outside(fit: Projection, menus: Mask, outside_option: Item | None) -> int:
    """The outside option's number."""
    always = [str(fit.items[x]) for x in np.flatnonzero(menus.all(axis=0))] if len(menus) else []
    hint = f" On every recorded menu: {', '.join(always)}." if always else ""
    if outside_option is None:
        raise InputError(
            "outside_option: it is needed. Name the item that stands for buying nothing; if buying nothing was not recorded, "
            f"the data say nothing about how many buy, and no assortment can be valued.{hint}"
        )
    if outside_option not in fit.items:
        raise InputError(f"outside_option={outside_option!r} is not among the items {format_menu(fit.items)}.{hint}")
    x = fit.items.index(outside_option)
    if not menus[:, x].any():
        raise InputError(f"outside_option={outside_option!r} is on no recorded menu of two items or more.{hint}")
    return x


def find_revenue(fit: Projection, revenue: Mapping[Item, float] | ArrayLike, outside: int) -> Array:
    """What each item earns."""
    if isinstance(revenue, Mapping):
        for item, value in revenue.items():
            if item not in fit.items:
                raise InputError(f"revenue: item {item!r} is unknown: the items are {format_menu(fit.items)}")
            if not isinstance(value, int | float | np.number):
                raise InputError(f"revenue of {item!r}: {value!r} is not a number")
        missing = [item for x, item in enumerate(fit.items) if item not in revenue and x != outside]
        if missing:
            raise InputError(f"revenue: there is none for {format_menu(missing)}; give {{item: value}} for every item")
        found = np.array([float(revenue.get(item, 0.0)) for item in fit.items])
    else:
        found = as_floats(revenue, "revenue")
        if found.shape != (fit.n,):
            raise InputError(f"revenue: {fit.n} numbers are needed, one per item, not shape {found.shape}")
    if not np.isfinite(found).all():
        raise InputError(f"revenue of {fit.items[int(np.argmin(np.isfinite(found)))]!r}: a finite number is needed")
    return found


def find_items(fit: Projection, group: Iterable[Item], option: str) -> Mask:
    """Items given by label, as a row of truth values."""
    if isinstance(group, str | bytes) or not isinstance(group, Iterable):
        raise InputError(f"{option}: {group!r} is not a list of items")
    row = np.zeros(fit.n, np.bool_)
    for item in group:
        if item not in fit.items:
            raise InputError(f"{option}: item {item!r} is unknown: the items are {format_menu(fit.items)}")
        row[fit.items.index(item)] = True
    return row


def require_size(value: Any) -> int:
    """A size as a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise InputError(f"max_size={value!r}: a whole number, 0 or more, is needed")
    return int(value)


def require_seconds(seconds: Any) -> float:
    """A time limit in seconds."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise InputError(f"max_seconds={seconds!r}: a positive number of seconds is needed, or None")
    return float(seconds)
