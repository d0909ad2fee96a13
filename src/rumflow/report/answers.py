"""What results say to people who know neither the theory nor Python: a sentence, what to make of it, pictures and a table.

The words of the report and of the page of `rumflow app`, in one place; `rumflow.report.findings` has those of the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from math import isnan
from typing import Any

import numpy as np

from rumflow.data.readers.texts import natural
from rumflow.inference import (
    BestAssortment,
    Bounds,
    Diversion,
    Explanation,
    GroupComparison,
    ModelComparison,
    NextMenus,
    RumTest,
)
from rumflow.inference.homogeneity import replicates_needed
from rumflow.inference.notes import ASSUMPTION
from rumflow.output import plots
from rumflow.output.names import WRAPPED, bare_menu, name_menu, say_menu
from rumflow.output.result import html_of
from rumflow.projection.describe import nothing_to_test
from rumflow.projection.results import Projection
from rumflow.report.assortment import assortment_content
from rumflow.report.explanation import explanation_content
from rumflow.report.findings import LEVEL, RATIONAL, plain_notes
from rumflow.report.groups import differences_table, group_differences, largest_difference
from rumflow.report.page_model import RANDOM_UTILITY
from rumflow.report.render import SCROLLED, THEORY, PageTable, render
from rumflow.report.svg import draw
from rumflow.text import visible

#: Rows of a table, and items named in a sentence.
MOST_ROWS, MOST_NAMED = 20, 4


@dataclass
class Answer:
    """An answer for people; `conflicts` is what the template of the report needs for its section on them."""

    lead: str
    text: list[str] = field(default_factory=list)
    warning: str = ""
    pictures: list[tuple[str, str]] = field(default_factory=list)  # captions and SVG
    tables: list[PageTable] = field(default_factory=list)
    conflicts: dict[str, Any] | None = None

    def html(self, words: Callable[[str], str] = str) -> str:
        """As a piece of a page; `words` rewrites sentences that name options."""
        said = {"lead": words(self.lead), "warning": words(self.warning), "text": [words(line) for line in self.text]}
        if self.conflicts is not None:
            self.conflicts["notes"] = [words(line) for line in self.conflicts["notes"]]
        return render("answer.html.j2", {**vars(self), **said})


def answer_html(result: Any, words: Callable[[str], str]) -> str:
    """The answer of a result, and folded below it all that those who know the theory ask for."""
    tables = (
        "".join(map(html_of, result.parts()))
        .replace("<table>", f"{SCROLLED}<table>")
        .replace("</table>", "</table></div>")
    )
    return f"{answer(result).html(words)}<details><summary>{THEORY}</summary>{tables}</details>"


@singledispatch
def answer(result: Any) -> Answer:
    """The answer that a result gives."""
    raise TypeError(f"there are no plain words for {type(result).__name__}")


@answer.register
def _distance(fit: Projection) -> Answer:
    pictures = [
        ("Observed shares, and those of the nearest rational population; each point is an item of a menu.",
         draw(lambda ax: plots.plot_fit(fit, ax), 7.6, 4.2, "fit")),
        ("Such a population: the orders in which its people rank the items. With four items or more, others fit as well.",
         draw(lambda ax: plots.plot_rankings(fit, ax), 7.6, 1.6 + 0.34 * len(fit.heaviest(10)[0].weights), "rankings")),
    ]  # fmt: skip
    if fit.inside:
        yes = "Not at all: some population of rational people chooses exactly like this."
        return Answer(nothing_to_test(fit) or yes, [RATIONAL], pictures=pictures)
    table = PageTable(
        "Where choices differ most from rational ones",
        ["menu", "item", "chosen by", "nearest", "points"],
        [False, False, True, True, True],
    )
    for menu, item, observed, fitted in fit.misfits(MOST_ROWS):
        if (points := 100 * (observed - fitted)) and abs(points) >= 0.05:
            cells = (observed, _percent(observed)), (fitted, _percent(fitted)), (points, f"{points:+.1f}")
            table.add(bare_menu(name_menu(fit.items, menu, WRAPPED)), visible(item), *cells)
    menu, item, observed, fitted = fit.misfits(1)[0]
    lead = (
        f"On average a share is {_points(_typical(fit))} from that of the nearest rational population, and "
        f"{_points(abs(observed - fitted))} at most: {_percent(observed)} took {visible(item)} from "
        f"{say_menu(fit.items, menu)}, where {_percent(fitted)} would be rational."
    )
    return Answer(
        lead, ["This says nothing about chance: ask whether it could be chance.", RATIONAL], "", pictures, [table]
    )


@answer.register
def _chance(test: RumTest) -> Answer:
    caption = "How odd samples of rational people would be (bars), and how odd these data are (line)."
    pictures = [(caption, draw(lambda ax: plots.plot_null(test, ax), 7.6, 3.4, "null"))]
    table = PageTable("The test in numbers", ["what", "number"], [False, True])
    table.add("p-value", (test.pvalue, f"{test.pvalue:.3g}"))
    table.add("simulated samples", test.n_boot)
    often, more = _often(test.pvalue), [ASSUMPTION] if test.pvalue <= LEVEL else _too_few(test.n_boot)
    if test.statistic < 1e-12:
        lead = "There is nothing to explain: some population of rational people chooses exactly like this."
    elif test.pvalue <= LEVEL:
        lead = (
            f"Hardly: {often} drawn from rational people would be as odd as these data. These choices are not rational."
        )
    else:
        lead = f"Yes: {often} drawn from rational people would be as odd as these data. They may well be rational."
        more.append("That chance explains it does not prove that people are rational.")
    return Answer(lead, [*more, *plain_notes(test), RATIONAL], pictures=pictures, tables=[table])


@answer.register
def _conflicts(found: Explanation) -> Answer:
    content = explanation_content(found, RANDOM_UTILITY)
    return Answer(content["lead"], conflicts=content)


@answer.register
def _predict(found: Bounds) -> Answer:
    low, high, said = _ends(found)
    order = np.argsort(-np.nan_to_num(low + high), kind="stable")[:MOST_NAMED]
    shares = ", ".join(f"{visible(found.items[k])} {_range(low[k], high[k])}" for k in order)
    more = "" if len(found.items) <= MOST_NAMED else "; the others are in the table"
    table = PageTable(
        "What would be chosen",
        ["item", *_level_words(found.confidence), "at least", "at most"],
        [False, *([True] * (4 if said else 2))],
    )
    for k, item in enumerate(found.items):
        ends = [found.lower[k], found.upper[k]]
        table.add(visible(item), *map(_cell, [low[k], high[k], *ends] if said else ends))
    caption = "The thick bar is every share that fits the data equally well" + (
        "; the thin line allows for chance." if said else "."
    )
    picture = draw(lambda ax: plots.plot_bounds(found, ax), 7.6, 3.2, "bounds")
    text = [f"{_OPEN} {_sampling(found.confidence)}", *_little(low, high), *found.remarks()]
    lead = f"From {say_menu(found.items, found.menu)} people would take: {shares}{more}."
    return Answer(lead, text, pictures=[(caption, picture)], tables=[table])


@answer.register
def _leaves(found: Diversion) -> Answer:
    low, high, said = _ends(found.gains)
    order = np.argsort(-np.nan_to_num(low + high), kind="stable")[:MOST_NAMED]
    items = found.gains.items
    gains = ", ".join(f"{visible(items[k])} gains {_range(low[k], high[k], ' points')}" for k in order)
    more = "" if len(items) <= MOST_NAMED else "; the others are in the table"
    item = visible(found.item)
    table = PageTable(
        "Gains in percentage points, and of those who took it, how many turn to each item",
        ["item", *_level_words(found.confidence), "at least", "at most", "turn to it: at least", "turn to it: at most"],
        [False, *([True] * (6 if said else 4))],
    )
    for k, other in enumerate(items):
        points = [low[k], high[k], found.gains.lower[k], found.gains.upper[k]][0 if said else 2 :]
        cells = [(-1.0, "") if isnan(value) else (100 * value, f"{100 * value:.1f}") for value in map(float, points)]
        table.add(visible(other), *cells, *map(_cell, (found.ratio_lower[k], found.ratio_upper[k])))
    seen = "" if found.observed else ", a menu that was never offered"
    lead = f"Without {item}, which {_range(*found.share)} take from {say_menu(items, found.menu)}{seen}: {gains}{more}."
    picture = draw(found.plot, 7.6, 1.4 + 0.4 * len(items), "gains")
    text = [f"{_OPEN} {_sampling(found.confidence)}", *_little(low, high)]
    if np.nansum(high) > found.share[1] + 5e-4:
        text.append(_ONE_AT_A_TIME.format(item=item))
    text += found.notes
    return Answer(lead, text, pictures=[("What each item may gain.", picture)], tables=[table])


@answer.register
def _offer(found: BestAssortment) -> Answer:
    content = assortment_content(found, False)
    told = content["text"], content["warning"], [(content["caption"], content["picture"])], [content["table"]]
    return Answer(content["lead"], *told)


@answer.register
def _models(found: ModelComparison) -> Answer:
    tested = bool(found.tests)
    columns = ["model", "off by (points)", *(["p-value", "verdict"] if tested else [])]
    table = PageTable("Models and how far the data are from each", columns, [False, True, True, False][: len(columns)])
    for name, fit in found.fits.items():
        cells: list[Any] = [(_typical(fit), f"{100 * _typical(fit):.1f}")]
        if tested:
            test = found.tests[name]
            verdict = "contradicted" if test.pvalue <= LEVEL else "may be right"
            cells += [(test.pvalue, f"{test.pvalue:.3g}"), verdict]
        table.add(visible(name), *cells)
    picture = draw(lambda ax: plots.plot_models(found, ax), 7.6, 2.8, "models")
    off = {name: _typical(fit) for name, fit in found.fits.items()}
    best = min(off.values())
    nearest = " and ".join(visible(name) for name, value in off.items() if value <= best + 5e-5)
    lead = f"Nearest to the data: {nearest}, {_points(best)} off on average."
    text = ["Without a test nobody can say which differences are chance: ask for simulated samples."]
    if tested:
        right = [visible(name) for name, test in found.tests.items() if test.pvalue > LEVEL]
        lead = f"The data contradict {'none of these models' if len(right) == len(off) else 'all of these models'}."
        if 0 < len(right) < len(off):
            wrong = [visible(name) for name in off if visible(name) not in right]
            lead = f"The data do not contradict {' and '.join(right)}; they contradict {' and '.join(wrong)}."
        text = [ASSUMPTION] if len(right) < len(off) else _too_few(min(test.n_boot for test in found.tests.values()))
    text.append(
        "All rankings is the widest model, so none of the others can be nearer; what counts is whether one is good enough."
    )
    return Answer(lead, text, pictures=[("Distance of the data from each model.", picture)], tables=[table])


@answer.register
def _groups(found: GroupComparison) -> Answer:
    alike, each = found.homogeneity, found.each
    lead = "Whether the groups differ was not tested."
    if alike is not None and not alike.testable:
        lead = "Whether the groups differ cannot be said: nothing that one group was offered bears on what another was."
    elif alike is not None and alike.pvalue <= LEVEL:
        lead = f"Yes, the groups choose differently: {_often(alike.pvalue)} of groups that choose alike would differ as much."
    elif alike is not None:
        lead = f"No difference is shown: {_often(alike.pvalue)} of groups that choose alike would differ as much by chance."
    table = PageTable(
        "Is each group rational?", ["group", "p-value", "adjusted", "verdict"], [False, True, True, False]
    )
    tests = sorted(zip(each.names, each.tests, each.holm.tolist(), strict=True), key=lambda one: natural(one[0]))
    for name, test, adjusted in tests:
        verdict = "not rational" if adjusted <= LEVEL else "may be rational"
        table.add(visible(name), (test.pvalue, f"{test.pvalue:.3g}"), (adjusted, f"{adjusted:.3g}"), verdict)
    together, differences = found.together, group_differences(found.groups)
    shown = f"(p = {together.pvalue:.3g})"
    if together.pvalue > LEVEL:
        one = f"All groups may be one population with the same tastes {shown}."
    elif (each.holm <= LEVEL).any():
        one = f"No rational population explains all groups together {shown}."
    elif alike is not None and alike.pvalue <= LEVEL:
        one = f"The groups are not one population with the same tastes {shown}; that does not make them irrational."
    else:
        one = f"Together they are not one rational population {shown}, though each may be: they differ, or only all show it."
    text = [*largest_difference(differences), one, "Adjusted: for testing several groups at once (Holm)."]
    text += _too_few(min((test.n_boot for test in each.tests), default=0), len(each))
    return Answer(
        lead,
        [*text, *([ASSUMPTION] if together.pvalue <= LEVEL else []), *plain_notes(together), RATIONAL],
        tables=[*differences_table(differences), table],
    )


@answer.register
def _next(found: NextMenus) -> Answer:
    if not found.menus:
        return Answer("Nothing is left to ask: " + (found.reason or "every menu that could be asked was observed."))
    table = PageTable("Menus that were never offered", ["menu", "how open", "can contradict"], [False, True, True])
    for menu, width, refutes in zip(
        found.menus[:MOST_ROWS], found.width.tolist(), found.refutes.tolist(), strict=False
    ):
        table.add(bare_menu(name_menu(found.items, menu, WRAPPED)), width, (refutes, _percent(refutes)))
    text = [
        "How open: by how much the shares may vary, all items together; 0 where the data say already what would be chosen. "
        "Can contradict: of all answers that one can think of, how many no rational population gives beside these data.",
        *([found.reason] if found.reason else []),
    ]
    lead = f"Offer {say_menu(found.items, found.menus[0])}: of all menus that were not offered, the data say least about it."
    return Answer(lead, text, tables=[table])


_OPEN = "All shares in a range fit the data equally well. Assumed is only that everybody ranks the items and takes the best."


_ONE_AT_A_TIME = (
    "Each range holds by itself: what {item} loses is shared out, so where one item gains the most that it may, others gain "
    "less. All that is gained together is what {item} had."
)


def _little(low: Any, high: Any) -> list[str]:
    """That the data say little, and which question helps, where a range covers more than half."""
    little = "The data say little about this menu; “Which menu should be offered next?” shows what would tell more."
    return [little] if np.nanmax(high - low, initial=0.0) > 0.5 else []


def _too_few(n_boot: int, tests: int = 1) -> list[str]:
    """That so few samples cannot contradict anything, where that is so."""
    needed = replicates_needed(LEVEL, tests)
    few = f"{n_boot} simulated samples are too few for a no, whatever the data are: take at least {needed}."
    return [few] if n_boot < needed else []


def _typical(fit: Projection) -> float:
    """The root mean square difference between observed and fitted shares."""
    menus = fit.observations.menus
    differences = (fit.observations.shares - fit.fitted_cells)[menus.sizes[menus.menu] > 1]
    return 0.0 if fit.inside else float(np.sqrt(np.nanmean(differences**2)))


def _ends(found: Bounds) -> tuple[Any, Any, bool]:
    """The ends to name: of the intervals where there are any, else of the bounds."""
    if found.confidence_lower is None or found.confidence_upper is None:
        return found.lower, found.upper, False
    return found.confidence_lower, found.confidence_upper, True


def _sampling(confidence: float | None) -> str:
    if confidence is None:
        return "Chance is not in the ranges: the observed shares are taken for those of everybody."
    return f"Named are the ranges at {100 * confidence:g} % confidence, which allow for chance."


def _level_words(confidence: float | None) -> Sequence[str]:
    return [] if confidence is None else [f"{100 * confidence:g} %: from", "to"]


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _points(value: float) -> str:
    return f"{100 * value:.1f} percentage points"


def _cell(value: float) -> tuple[float, str]:
    return (-1.0, "") if isnan(value) else (float(value), _percent(value))


def _range(low: float, high: float, unit: str = " %") -> str:
    """Two shares as a range in per cent or points; one number where they agree."""
    if isnan(low):
        return "no share that is not rejected"
    first, last = f"{100 * low:.1f}", f"{100 * high:.1f}"
    return f"{first}{unit}" if first == last else f"{first} to {last}{unit}"


def _often(pvalue: float) -> str:
    """How often chance does so."""
    count = 1000 * pvalue
    return f"{count:.0f} in 1,000 samples" if count < 99.5 else f"{count / 10:.0f} in 100 samples"
