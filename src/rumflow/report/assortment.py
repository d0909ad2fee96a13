"""The part of the page that says what to offer, where revenues are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.inference import BestAssortment, best_assortment
from rumflow.inference.assortment_result import MOST_NAMED
from rumflow.inference.confidence import has_counts
from rumflow.models.model import Model
from rumflow.output.names import name_menu
from rumflow.report.render import PageTable
from rumflow.report.svg import draw

#: Rows of the table and bars of the picture, and seconds for the search.
MOST_ROWS, MOST_SECONDS = 15, 60.0

#: Rows of the table in the words of the page.
_KINDS = {"best in the worst case": "safest", "best of the fit": "best for this model"}

#: Populations that are rejected at this level do not count.
LEVEL = 0.95


def find_assortment(
    data: ChoiceData,
    revenue: Mapping[Item, float],
    outside_option: Item | None,
    sampled: bool,
    seed: int,
    cluster: bool | str,
    progress: bool,
    model: Model | None = None,
) -> BestAssortment:
    """The best assortment, or the best that is found in time; with `sampled` over all populations that are not rejected."""
    level = LEVEL if sampled and has_counts(data) else None
    found = best_assortment(
        data,
        revenue,
        outside_option,
        confidence=level,
        max_seconds=MOST_SECONDS,
        seed=seed,
        cluster=cluster if level is not None else None,
        progress=progress,
        model=model,
    )
    if found.reason == "interrupted":
        raise KeyboardInterrupt
    return found


def assortment_content(found: BestAssortment, doubtful: bool) -> dict[str, Any]:
    """What the template needs; `doubtful` where the choices contradict the model behind it."""
    assert found.projection is not None
    offered = [item for item in found.projection.items if item != found.outside_option]
    menus = [[item for item in offered if item in menu] for menu in found.table["menu"]]
    names = [name_menu(offered, menu, MOST_NAMED) for menu in menus]
    sure = found.confidence is not None
    percent = f"{100 * (found.confidence or 0.0):g} %"
    columns = ["assortment", *(["from", "to"] if sure else []), "lower", "upper", "fit"]
    words = ["assortment", "items", *([f"{percent}: from", "to"] if sure else []), "at least", "at most", "this model"]
    table = PageTable("What each assortment earns on average", words, [False, False, *([True] * (len(words) - 2))])
    count = min(len(names), MOST_ROWS)
    rows = zip(*(found.table[name] for name in columns), strict=True)
    for name, (kind, *values) in list(zip(names, rows, strict=True))[:count]:
        cells = [(-1.0, "") if np.isnan(value) else (value, f"{value:.4g}") for value in values]
        table.add(_KINDS.get(kind, "offered before" if kind.startswith("past") else kind), name, *cells)
    certain = (
        "No other assortment promises more: that is certified."
        if not found.reason
        else f"The search was ended early; another assortment may promise up to {found.gap:.3g} more."
    )
    over = "in every population that fits the data best"
    range_of = (
        "At least and at most are over all populations that fit the data best, without sampling error; what is best "
        "for one of them, as in the last column, may promise more and keep less."
    )
    if sure:
        over = f"in every population that the data do not rule out at {percent}"
        range_of = (
            f"With {percent} confidence all assortments earn between from and to, so the lower bound of the best one holds "
            f"although it was searched for. {range_of}"
        )
    name = found.projection.model.name
    warning = (
        f"These choices contradict {name}, on which all of this rests: settle first what is wrong with them, or try the "
        "assortment out before you rely on it."
    )
    caption = "What each assortment earns: the range over all populations that fit the data best, and one of them"
    return {
        "warning": warning if doubtful else "",
        "caption": caption + ("; the thin line is over all that the data do not rule out." if sure else "."),
        "lead": f"Offer {names[0]}: a person brings {_range(found.lower, found.upper, over)}.",
        "text": [*found.notes, f"{certain} {range_of}"],
        "table": table,
        "picture": draw(found.plot, 7.6, 1.6 + 0.34 * len(names[:25]), "assortments"),
    }


def _range(low: float, high: float, over: str) -> str:
    if f"{low:.4g}" == f"{high:.4g}":
        return f"{low:.4g} on average {over}"
    return f"at least {low:.4g} on average {over}, and at most {high:.4g}"
