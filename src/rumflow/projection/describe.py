"""A fit in words and tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from rumflow.data.design import why_untestable
from rumflow.output.names import WRAPPED, name_menu, name_order
from rumflow.output.tables import Table


def describe_fit(fit: Any, top: int) -> list[str | Table]:
    """Paragraphs and tables about a projection, with at most `top` rows each."""
    parts: list[str | Table] = [_answer(fit)]
    if fit.complete and not fit.inside:
        parts.append(_violations(fit, top))
    misfits = [] if fit.inside else fit.misfits(top)
    if misfits:
        table = Table(
            "Observed against fitted: the largest differences", ["menu", "item", "observed", "fitted", "difference"]
        )
        for menu, item, observed, fitted in misfits:
            table.add(name_menu(fit.items, menu, WRAPPED), item, observed, fitted, observed - fitted)
        parts.append(table)
    if fit.model.has_types:
        parts.append(_rankings(fit, top) if fit.model.types_are_rankings else _types(fit, top))
    note = (
        "" if fit.complete or not fit.model.has_types else "; on menus not offered the fit is one of many (see bounds)"
    )
    route = " (by search and bounds, route bounded)" if fit.method == "bounded" else ""
    objective = 0.0 if fit.inside else fit.objective
    parts.append(
        f"Certificate: objective {objective:.6g}, at most {fit.gap:.1e} above the least possible{route}; {fit.status}: "
        f"{fit.status.explanation}{note}."
    )
    return parts


def nothing_to_test(fit: Any) -> str:
    """Why no choices from the menus of a fit contradict its model, in a sentence; "" where some do."""
    model = fit.model
    if model.all_rankings:
        return why_untestable(fit.observations.menus)
    if not model.single_menus_bind and all(len(part) == 1 for part in model.parts(fit.observations.cells)):
        return f"Nothing can be tested: whatever is chosen here, some population of {model.words().people} chooses so."
    return ""


def _answer(fit: Any) -> str:
    what = fit.model.name
    if fit.inside:
        return nothing_to_test(fit) or f"These choices are consistent with {what}: the distance is 0."
    unit = " (weighted)" if fit.weighted else ""
    nearest = "random utility model" if what == "random utility" else f"model of {what}"
    if not fit.model.has_types:
        nearest = f"shares that obey the {what}"
    text = f"Distance to the nearest {nearest}: {name_distance(fit)}{unit}"
    if unit:
        return text
    menus = fit.observations.menus
    cells = int((~np.isnan(fit.observations.shares))[menus.sizes[menus.menu] > 1].sum())
    typical = fit.distance / np.sqrt(max(cells, 1))
    return f"{text}\nTypical difference of an observed share from the fit: {typical:.4f}"


def name_distance(fit: Any) -> str:
    """The distance, or where the projection did not end, between what it is."""
    most, least = f"{fit.distance:.6g}", f"{fit.lower_distance:.6g}"
    reason = fit.status.reason
    return f"at most {most}, at least {least} ({reason})" if reason and most != least else most


def _violations(fit: Any, top: int) -> Table:
    violations = fit.violations()
    table = Table(
        f"Block-Marschak inequalities that fail: {len(violations)} of {fit.n << (fit.n - 1)}",
        ["menu", "item", "value"],
        note="Each must be 0 or more for any population of rankings.",
    )
    for menu, item, value in violations[:top]:
        table.add(name_menu(fit.items, menu, WRAPPED), item, value)
    return table


def _rankings(fit: Any, top: int) -> Table:
    rankings, decided, number = fit.heaviest(top)
    note = "One ranking gives these probabilities."
    if number > 1:
        mixture = "One mixture among many" if fit.n >= 4 else "The mixture"
        note = f"{mixture} of {number} rankings that give these probabilities."
    table = Table("Rankings of the fit", ["share", "best to worst"], note=note)
    for (order, weight), last in zip(rankings.labelled(), decided.tolist(), strict=True):
        table.add(f"{weight:.1%}", name_order(order, last))
    return table


def types_of(fit: Any) -> list[dict[str, Any]]:
    """What each type takes from the menus, by label (None: not recorded), heaviest first."""
    weights = np.sort(fit.mixture[1])[::-1].tolist()
    takes = [[None if x < 0 else fit.items[x] for x in row] for row in fit.types.tolist()]
    return [{"weight": weight, "takes": row} for weight, row in zip(weights, takes, strict=True)]


def _types(fit: Any, top: int) -> Table:
    """What the heaviest types take from the menus, where types have no rankings."""
    found = types_of(fit)
    note = "One type gives these probabilities."
    if len(found) > 1:
        note = f"One mixture among many of {len(found)} types that give these probabilities."
    table = Table("Types of the fit", ["share", "takes from the menus, in their order"], note=note)
    for one in found[:top]:
        table.add(f"{one['weight']:.1%}", name_order(one["takes"], separator=", "))
    return table
