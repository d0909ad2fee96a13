"""A fit as a table: one row for each menu and item, observed beside fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rumflow.check import check_option
from rumflow.core.arrays import Array, Ints
from rumflow.core.lattice import items_of
from rumflow.data.labels import Item, format_menu

#: Tables over every menu of more items than this are refused: they would have millions of rows.
MOST_ITEMS = 16


def fit_table(
    items: Sequence[Item],
    observed: Array,
    fitted: Array,
    flow: Array,
    counts: tuple[Ints, Array] | None = None,
    menus: str = "all",
) -> dict[str, list[Any]]:
    """menu_mask, menu, item, observed (None where not), fitted, flow; and count where the data are given.

    observed, fitted, flow   (2^n, n)
    counts                   masks and (menus, n) counts of the data.
    menus                    "all" has every menu of two items or more, "observed" only those with data.
    """
    n = len(items)
    check_option(menus, "menus", ("all", "observed"))
    if n > MOST_ITEMS and menus == "all":
        menus = "observed"
    seen = ~np.isnan(observed)
    columns: dict[str, list[Any]] = {k: [] for k in ("menu_mask", "menu", "item", "observed", "fitted", "flow")}
    counted = {} if counts is None else dict(zip(counts[0].tolist(), counts[1], strict=True))
    if counted:
        columns["count"] = []
    for mask in range(1, 1 << n):
        members = items_of(mask)
        if len(members) < 2 or (menus == "observed" and not seen[mask, members].any()):
            continue
        name = format_menu(items[x] for x in members)
        for x in members:
            known = bool(seen[mask, x])
            row = (
                mask,
                name,
                items[x],
                float(observed[mask, x]) if known else None,
                float(fitted[mask, x]),
                float(flow[mask, x]),
            )
            for key, value in zip(columns, row, strict=False):
                columns[key].append(value)
            if counted:
                count = counted[mask][x] if mask in counted else np.nan
                columns["count"].append(None if np.isnan(count) else float(count))
    return columns
