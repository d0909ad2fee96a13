"""The part of the page that says what to offer, where revenues are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.inference import BestAssortment, best_assortment
from rumflow.output.names import name_menu
from rumflow.report.render import PageTable
from rumflow.report.svg import draw

#: Rows of the table and bars of the picture, and seconds for the search.
MOST_ROWS, MOST_SECONDS = 15, 60.0


def find_assortment(
    data: ChoiceData, revenue: Mapping[Item, float], outside_option: Item | None, progress: bool
) -> BestAssortment:
    """The best assortment, or the best that is found in time."""
    found = best_assortment(data, revenue, outside_option, max_seconds=MOST_SECONDS, progress=progress)
    if found.reason == "interrupted":
        raise KeyboardInterrupt
    return found


def assortment_content(data: ChoiceData, found: BestAssortment) -> dict[str, Any]:
    """What the template needs."""
    offered = [item for item in data.items if item != found.outside_option]
    names = [name_menu(offered, [item for item in offered if item in menu]) for menu in found.table["menu"]]
    table = PageTable(
        "What each assortment earns on average",
        ["assortment", "items", "at least", "at most", "this model"],
        [False, False, True, True, True],
    )
    count = min(len(names), MOST_ROWS)
    rows = zip(*(found.table[name] for name in ("assortment", "lower", "upper", "fit")), strict=True)
    for name, (kind, *values) in list(zip(names, rows, strict=True))[:count]:
        table.add(kind, name, *((value, f"{value:.4g}") for value in values))
    certain = (
        "No other assortment promises more: that is certified."
        if not found.reason
        else f"The search was ended early; another assortment may promise up to {found.gap:.3g} more."
    )
    return {
        "lead": f"Offer {names[0]}: it earns at least {found.lower:.4g} on average, in every population that fits the data "
        f"best, and at most {found.upper:.4g}.",
        "text": f"{certain} The best for the one model of this report may promise more and keep less. "
        "Sampling error is not in these ranges.",
        "table": table,
        "picture": draw(found.plot, 7.6, 1.6 + 0.34 * len(names[:25]), "assortments"),
    }
