"""A fit as a table: one row for each menu and item, observed beside fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from rumflow.core.lattice import items_of
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import format_menu
from rumflow.errors import InputError
from rumflow.output.frames import make_frame
from rumflow.projection.results import Projection

#: Tables over every menu of more items than this are refused: they would have millions of rows.
MOST_ITEMS = 16


def fit_table(fit: Projection, data: ChoiceData | None = None, menus: str = "all") -> dict[str, list[Any]]:
    """menu_mask, menu, item, observed (None where not), fitted, flow; and count where the data are given.

    menus "all" has every menu of two items or more, "observed" only those with data.
    """
    n = fit.lattice.n
    if menus not in ("all", "observed"):
        raise InputError(f"menus={menus!r}: accepted are 'all' and 'observed'")
    if n > MOST_ITEMS and menus == "all":
        menus = "observed"
    observed, rho, flow = fit.observed, fit.rho, fit.flow
    seen = ~np.isnan(observed)
    columns: dict[str, list[Any]] = {k: [] for k in ("menu_mask", "menu", "item", "observed", "fitted", "flow")}
    counts = {} if data is None else dict(zip(data.masks.tolist(), data.counts, strict=True))
    if counts:
        columns["count"] = []
    for mask in range(1, fit.lattice.n_menus):
        members = items_of(mask)
        if len(members) < 2 or (menus == "observed" and not seen[mask, members].any()):
            continue
        name = format_menu(fit.items[x] for x in members)
        for x in members:
            known = bool(seen[mask, x])
            row = (
                mask,
                name,
                fit.items[x],
                float(observed[mask, x]) if known else None,
                float(rho[mask, x]),
                float(flow[mask, x]),
            )
            for key, value in zip(columns, row, strict=False):
                columns[key].append(value)
            if counts:
                count = counts[mask][x] if mask in counts else np.nan
                columns["count"].append(None if np.isnan(count) else float(count))
    return columns


def fit_frame(fit: Projection, data: ChoiceData | None = None, menus: str = "all", backend: str = "pandas") -> Any:
    """`fit_table` as a data frame (backend "pandas", "polars", "pyarrow" or "dict")."""
    return make_frame(fit_table(fit, data, menus), backend)
