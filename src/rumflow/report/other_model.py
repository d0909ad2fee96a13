"""The part of the page about a model that is asked for beside random utility: attributes, an axis, known preferences."""

from __future__ import annotations

from typing import Any

from rumflow.models.nesting import lies_in
from rumflow.projection.results import Projection
from rumflow.report.explanation import first_inequality
from rumflow.report.findings import Findings, find_verdict
from rumflow.report.page_model import PageModel
from rumflow.report.render import PageTable


def other_content(found: Findings, every: Findings, words: PageModel, counted: bool) -> dict[str, Any]:
    """What the template needs; `every`: what was found about the model of the page, which has these `words`."""
    model = found.fit.model
    table = PageTable(
        "Distance, where every menu counts the same, and test",
        ["model", "distance", "p-value"],
        [False, True, True],
    )
    for name, fit, own in ((words.short, *every[:2]), (model.name, *found[:2])):
        pvalue = (-1.0, "") if own is None else (own.pvalue, f"{own.pvalue:.3g}")
        table.add(name, (fit.distance, "0" if fit.inside else f"{fit.distance:.4g}"), pvalue)
    return {
        "name": model.words().name,
        "verdict": find_verdict(found, counted),
        "nested": _nested(found.fit, every.fit, words),
        "inequality": first_inequality(found.reasons),
        "table": table,
    }


def _nested(fit: Projection, every: Projection, words: PageModel) -> str:
    """How the model and that of the page are related."""
    if not fit.model.has_types:
        return (
            f"Every {words.noun} obeys the {fit.model.name}: what contradicts them contradicts it as well, and it can be wrong "
            "where they hold."
        )
    if lies_in(fit.model, every.model, every.observations.cells):
        return (
            f"Everybody in this model has a ranking, so it lies in {words.short}: whatever contradicts {words.short} "
            f"contradicts it as well, and it can be wrong where {words.short} is not."
        )
    return (
        f"This model need not lie in {words.short}, for what an item is like may depend on the menu: either can be wrong where "
        "the other is not."
    )
