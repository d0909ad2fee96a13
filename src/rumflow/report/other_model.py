"""The part of the page about a model that is asked for beside random utility: attributes, an axis, known preferences."""

from __future__ import annotations

from typing import Any

from rumflow.models.nesting import lies_in
from rumflow.projection.results import Projection
from rumflow.report.findings import Findings, find_verdict
from rumflow.report.render import PageTable


def other_content(found: Findings, every: Findings, counted: bool) -> dict[str, Any]:
    """What the template needs; `every`: what was found about random utility."""
    model = found.fit.model
    table = PageTable(
        "Distance, where every menu counts the same, and test",
        ["model", "distance", "p-value"],
        [False, True, True],
    )
    for name, fit, own in (("random utility", *every[:2]), (model.name, *found[:2])):
        pvalue = (-1.0, "") if own is None else (own.pvalue, f"{own.pvalue:.3g}")
        table.add(name, (fit.distance, "0" if fit.inside else f"{fit.distance:.4g}"), pvalue)
    return {
        "name": model.words().name,
        "verdict": find_verdict(found, counted),
        "nested": _nested(found.fit, every.fit),
        "inequality": found.reasons.conflicts[0].inequality.text if found.reasons and found.reasons.conflicts else "",
        "table": table,
    }


def _nested(fit: Projection, every: Projection) -> str:
    """How the model and random utility are related."""
    if lies_in(fit.model, every.model, every.observations.cells):
        return (
            "Everybody in this model has a ranking, so it lies in random utility: whatever contradicts random utility "
            "contradicts it as well, and it can be wrong where random utility is not."
        )
    return (
        "This model need not lie in random utility, for what an item is like may depend on the menu: either can be wrong where "
        "the other is not."
    )
