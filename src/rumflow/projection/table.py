"""A fit as a table: one row for each menu and item, observed beside fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from rumflow.check import check_option
from rumflow.core.arrays import Array
from rumflow.core.lattice import items_of
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError

#: Tables over every menu of more items than this are refused: they would have millions of rows.
MOST_ITEMS = 16


def fit_table(fit: Any, data: ChoiceData | None = None, menus: str = "all") -> dict[str, list[Any]]:
    """Columns of the table; `count` is among them where the data are given.

    On the lattice: menu_mask, menu, item, observed (None where not), fitted, flow; menus="all" has every menu of two items or
    more, "observed" only those with data. On a graph: menu_id, menu, item, observed, fitted, of the observed menus.
    """
    check_option(menus, "menus", ("all", "observed"))
    if data is not None and data.items != fit.items:
        raise InputError("data: the items are not those of the fit, in their order")
    return _over_all_menus(fit, data, menus) if fit.geometry.has_all_menus else _over_observed(fit, data)


def _over_observed(fit: Any, data: ChoiceData | None) -> dict[str, list[Any]]:
    menus = fit.observations.menus
    cells = np.flatnonzero(menus.sizes[menus.menu] > 1)
    row, names = menus.menu[cells].tolist(), fit.menus
    columns: dict[str, list[Any]] = {
        "menu_id": row,
        "menu": [names[i] for i in row],
        "item": [fit.items[x] for x in menus.item[cells].tolist()],
        "observed": _plain(fit.observations.shares[cells]),
        "fitted": _plain(fit.fitted_cells[cells]),
    }
    if data is not None:
        start, count = data.offered.start, data.count
        counts = {menu: count[start[i] : start[i + 1]] for i, menu in enumerate(data.menus)}
        nothing = np.full(fit.n, np.nan)
        columns["count"] = _plain(
            np.concatenate([counts.get(names[i], nothing[: menus.sizes[i]]) for i in np.flatnonzero(menus.sizes > 1)])
        )
    return columns


def _over_all_menus(fit: Any, data: ChoiceData | None, menus: str) -> dict[str, list[Any]]:
    n, observed = fit.n, fit.observed
    if n > MOST_ITEMS and menus == "all":
        menus = "observed"
    seen = ~np.isnan(observed)
    columns: dict[str, list[Any]] = {k: [] for k in ("menu_mask", "menu", "item", "observed", "fitted", "flow")}
    counted = {} if data is None else dict(zip(data.masks.tolist(), data.counts, strict=True))
    if counted:
        columns["count"] = []
    for mask in range(1, 1 << n):
        members = items_of(mask)
        if len(members) < 2 or (menus == "observed" and not seen[mask, members].any()):
            continue
        name = tuple(fit.items[x] for x in members)
        for x in members:
            known = bool(seen[mask, x])
            row = (
                mask,
                name,
                fit.items[x],
                float(observed[mask, x]) if known else None,
                float(fit.rho[mask, x]),
                float(fit.flow[mask, x]),
            )
            for key, value in zip(columns, row, strict=False):
                columns[key].append(value)
            if counted:
                count = counted[mask][x] if mask in counted else np.nan
                columns["count"].append(None if np.isnan(count) else float(count))
    return columns


def _plain(values: Array) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
