"""The part of the page that says what is wrong with the data, and what to do about it: menus in conflict, or cycles of pairs."""

from __future__ import annotations

from typing import Any

from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.inference import BindingCycle, Conflict, CycleExplanation, Explanation, explain
from rumflow.models.model import Model
from rumflow.output.names import WRAPPED, list_menu, name_menu, say_menu
from rumflow.projection.results import Projection
from rumflow.report.page_model import PageModel
from rumflow.report.render import PageTable
from rumflow.text import visible

Reasons = Explanation | CycleExplanation

#: Conflicts that are shown, menus of each, and rows of the table. Fewer replicates than this cannot reject at 5 %.
MOST_CONFLICTS, MOST_MENUS, MOST_ROWS, LEAST_REPLICATES = 3, 8, 15, 19

#: Edges of the lattice, or arcs of the graph, up to which the page looks for conflicts.
MOST_ARCS = 20_000

_TITLES = {
    "regularity": "More choice made an item more popular",
    "attraction": "A decoy",
    "compromise": "A compromise effect",
    "similarity": "A similarity effect",
    "reversal": "A reversal between two menus",
    "cycle": "Preferences that form a cycle",
    None: "Menus that contradict each other",
}


_CHECK = "Check first how the menus above were recorded: was a label wrong, or were these other people, at another place or time?"


def is_quick(fit: Projection) -> bool:
    """Is the search, some thousand projections, a matter of seconds or minutes?"""
    return bool(fit.geometry.exact and fit.geometry.n_arcs <= MOST_ARCS)


def explain_data(
    data: ChoiceData, n_boot: int, seed: int, cluster: bool | str, progress: bool, model: Model | None = None
) -> Reasons:
    """The conflicts of the data, or their cycles for the triangle inequalities; of the shares as they are without a test."""
    level = 0.05 if n_boot else None
    replicates = max(n_boot, LEAST_REPLICATES)
    found = explain(
        data,
        level,
        replicates,
        most=MOST_CONFLICTS,
        halves=0,
        seed=seed,
        cluster=cluster if n_boot else False,
        progress=progress,
        model=model,
    )
    if found.interrupted:
        raise KeyboardInterrupt
    return found


def contradict(reasons: Reasons) -> bool:
    """Do the choices contradict the model, beyond chance where a test was asked for?"""
    if isinstance(reasons, Explanation):
        return bool(reasons.conflicts)
    return bool(reasons.cycles) and (reasons.pvalue is None or reasons.level is None or reasons.pvalue <= reasons.level)


def first_inequality(reasons: Reasons | None) -> str:
    """The first inequality that the choices violate, in words; "" where there is none."""
    if reasons is None or not contradict(reasons):
        return ""
    return reasons.cycles[0].text if isinstance(reasons, CycleExplanation) else reasons.conflicts[0].inequality.text


def first_conflict(reasons: Reasons | None) -> list[list[Item]] | None:
    """The menus of the first conflict, or the pairs of the first cycle; None where none was looked for."""
    if reasons is None or isinstance(reasons, Explanation):
        return None if reasons is None else [list(menu) for menu in reasons.conflict]
    items = reasons.cycles[0].items if contradict(reasons) else ()
    return [list(pair) for pair in zip(items, (*items[1:], *items[:1]), strict=True)]


def explanation_content(found: Reasons, words: PageModel) -> dict[str, Any]:
    """What the template needs."""
    if isinstance(found, CycleExplanation):
        return _cycles_content(found)
    return {
        "lead": _lead(found),
        "conflicts": [_conflict(found, one) for one in found.conflicts],
        "notes": found.notes,
        "advice": _advice(found, words),
        "influence": _influence(found),
    }


def _cycles_content(found: CycleExplanation) -> dict[str, Any]:
    sure, more = contradict(found), found.n_cycles - len(found.cycles)
    return {
        "lead": found.verdict,
        "conflicts": [_cycle(one) for one in found.cycles] if sure else [],
        "notes": [f"{more} more of them bind, at lower prices."] if sure and more else [],
        "advice": [_CHECK] if sure else [],
        "influence": PageTable("", [], []),
    }


def _cycle(one: BindingCycle) -> dict[str, Any]:
    """A cycle as a conflict, with its shares as bars; of a path, only words."""
    scale = max(one.total, one.bound)
    steps = zip(one.items, (*one.items[1:], one.items[0]), one.shares, strict=True)
    return {
        "title": " > ".join(map(visible, one.items if one.path else (*one.items, one.items[0]))),
        "text": one.text,
        "bars": []
        if one.path
        else [
            {"text": f"{visible(a)} over {visible(b)}", "value": f"{p:.3f}", "width": f"{100 * p / scale:.2f}"}
            for a, b, p in steps
        ],
        "bound": f"{one.bound:g}",
        "value": f"{one.total:.3f}",
        "limit": f"{100 * one.bound / scale:.2f}",
    }


def _lead(found: Explanation) -> str:
    if not found.conflicts:
        if found.level is None:
            return "Nothing: some population of utility maximisers has exactly these shares."
        return "Nothing that sampling error could not explain: no menus are in conflict with each other beyond chance."
    count = len(found.conflicts)
    several = (
        "These menus contradict each other"
        if count == 1
        else f"In each of {count} sets the menus contradict each other"
    )
    chance = "" if found.level is None else ", more than chance explains"
    rest = (
        "of them, and the others fit together" if count == 1 else "menu of a set, and the rest of the set fits together"
    )
    return (
        f"{several}{chance}: no group of people, each with a ranking of the items, makes such choices. "
        f"Leave out any one {rest}."
    )


def _conflict(found: Explanation, one: Conflict) -> dict[str, Any]:
    inequality = one.inequality
    scale = max(inequality.value, inequality.bound)
    name = None if one.pattern is None else one.pattern.name
    menus = [
        (say_menu(found.items, menu), ", ".join(f"{x} {100 * share:.1f} %" for x, share in _largest(shares)))
        for menu, shares in zip(one.menus[:MOST_MENUS], one.shares, strict=False)
    ]
    if len(one.menus) > MOST_MENUS:
        menus.append((f"{len(one.menus) - MOST_MENUS} more menus", ""))
    return {
        "title": _TITLES[name],
        "story": "" if one.pattern is None else one.pattern.text,
        "menus": menus,
        "text": inequality.text,
        "pvalue": "" if one.pvalue is None else f"p = {one.pvalue:.3g}",
        "bars": [
            {"text": text, "value": f"{value:.3f}", "width": f"{100 * value / scale:.2f}"}
            for text, value in inequality.terms[:MOST_MENUS]
        ],
        "bound": f"{inequality.bound:g}",
        "value": f"{inequality.value:.3f}",
        "limit": f"{100 * inequality.bound / scale:.2f}",
        "terms": [
            f"{item} from {list_menu(found.items, menu)}: {value:.4f}"
            for menu, item, _, value in (one.block_marschak or ())[:3]
        ],
    }


def _largest(shares: dict[Any, float]) -> list[tuple[Any, float]]:
    return sorted(shares.items(), key=lambda pair: -pair[1])[:6]


def _advice(found: Explanation, words: PageModel) -> list[str]:
    if not found.conflicts:
        return [
            f"Probabilities of the nearest {words.noun}, below, can be used for menus that were offered; for other menus "
            "use the ranges, since models that fit equally well differ there."
        ]
    logit = " (a logit is one)" if words.model is None else ""
    lines = [
        _CHECK,
        f"If they are right, these people do not choose by one ranking each. Do not use a {words.noun}{logit} "
        "to say what happens when such menus are changed into each other; for menus that are in no conflict it may still serve.",
    ]
    alone = [
        menu
        for menu, p, distance in zip(
            *(found.influence[name] for name in ("menu", "pvalue_without", "distance_without")), strict=True
        )
        if (found.level is None and distance == 0.0) or (found.level is not None and p is not None and p > found.level)
    ]
    if alone:
        names = " or ".join(list_menu(found.items, menu) for menu in alone[:4])
        verb = "has no contradiction" if found.level is None else "is not rejected"
        lines.append(f"Without {names} (any one of them is enough) the rest of the data {verb}.")
    return lines


def _influence(found: Explanation) -> PageTable:
    """Menus by their part of the squared distance, and what is left without them."""
    weighted = "" if found.level is None else ", weighted by the number of choices"
    columns = ["menu", "part", "distance without", *([] if found.level is None else ["p-value without"]), "in conflict"]
    numeric = [False, *([True] * (len(columns) - 2)), False]
    table = PageTable(f"Menus by their part of the squared distance{weighted}", columns, numeric)
    for menu, share, distance, p, numbers in zip(
        *(found.influence[k] for k in ("menu", "share", "distance_without", "pvalue_without", "conflicts")), strict=True
    ):
        if len(table.rows) == MOST_ROWS or share <= 1e-9:
            break
        left = (-1.0, "") if distance is None else (distance, f"{distance:.3g}")
        cells = [left] if found.level is None else [left, (-1.0, "") if p is None else (p, f"{p:.3g}")]
        table.add(name_menu(found.items, menu, WRAPPED), (share, f"{share:.1%}"), *cells, ", ".join(map(str, numbers)))
    return table
