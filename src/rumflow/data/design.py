"""What can be learnt from data, what could go wrong with them, and what to run next.

*What can be tested, whatever was chosen.* Draw a graph with a node for every menu of two or more items and one for every
item, and a line from each menu to its items. Where it has no circle, every choice of one item from each menu is that of some
ranking, since the preferences that it reveals have no circle either; all mixtures are random utility then, and nothing can be
tested. Where it has one, say menus D_1, ..., D_k in which neighbours share the items x_1, ..., x_k, the choice of x_i from
D_i is that of no ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from rumflow.core.arrays import Mask
from rumflow.core.menus import Menus
from rumflow.data.calls import DATA, GROUPS, Call, Reading
from rumflow.data.counted import Counted
from rumflow.data.labels import TIE
from rumflow.output.names import how_many, name_menu
from rumflow.text import visible

#: Menus with fewer choices are called tiny.
TINY = 5

#: With fewer choices from a menu its shares are known to within 10 percentage points at best.
FEW = 97

_NAMED = 3  # menus and items named in a sentence


def why_untestable(menus: Menus) -> str:
    """Why no choices from these menus, which differ, contradict random utility, in a sentence; "" where some do."""
    large = menus.sizes > 1
    if large.sum() == 0:
        return "Nothing can be tested: no menu has two or more items."
    if large.sum() == 1:
        return (
            "Nothing can be tested: there is only one menu of two or more items, and any choices from one menu are those of a "
            "random utility model."
        )
    inside = large[menus.menu]
    menu, item = menus.menu[inside], menus.item[inside].astype(np.int64)
    nodes = len(menus) + menus.n_items
    lines = coo_array((np.ones(len(menu)), (menu, len(menus) + item)), shape=(nodes, nodes))
    count, _ = connected_components(lines, directed=False)
    if len(menu) > nodes - count:
        return ""
    return (
        "Nothing can be tested: these menus overlap too little, so that any choices from them are those of a random utility "
        "model. Menus that share two items or more can be tested."
    )


def people_and_choices(groups: Sequence[Counted], counts: Sequence[Mask] | None = None) -> tuple[int, float]:
    """How many subjects made how many choices; 0 subjects where they are not known of all choices.

    Groups may share subjects. counts: for each group the menus whose choices count; None: those of two or more items.
    """
    choices, people = 0.0, set[str]()
    for g, data in enumerate(groups):
        rows = data.rows if data.outcomes is None else data.outcomes.rows  # of which a tie is one
        if rows is None or rows.subject is None:
            return 0, 0.0
        own = data.offered.sizes >= 2 if counts is None else counts[g]
        here = own[np.asarray(rows.menu)]
        weight = np.asarray(rows.weight)[here]
        choices += weight.sum() if (weight == np.round(weight)).all() else len(weight)
        numbers = np.unique(np.asarray(rows.subject)[here]).tolist()
        people |= {str(rows.subjects[k] if rows.subjects else k) for k in numbers}
    return len(people), choices


def counts_choices(data: Counted) -> bool:
    """Are these data with sample sizes, from which choices can be drawn, and not shares alone?"""
    if not (data.offered.sizes >= 2).any():
        return False
    if data.rows is not None:
        return True
    totals, shares = data.totals, data.shares
    fractions = bool(((shares > 0) & (shares < 1)).any())
    return bool((totals == np.round(totals)).all() and totals.min() >= 1 and (totals.max() > 1 or not fractions))


def cautions(data: Counted) -> list[str]:
    """What could go wrong with these data, in sentences that say what to do about it; none where nothing could."""
    found = list(data.understood.warnings)
    large = data.offered.sizes > 1
    if reason := why_untestable(data.offered):
        found.append(reason)
    if large.any() and not counts_choices(data):
        found.append(
            "There are shares, but no numbers of choices: distances can be computed, and nothing can be tested."
        )
    else:
        found += _tiny(data, large)
    people, choices = people_and_choices([data])
    if 1 < people < choices:
        found.append(
            f"{people:,} subjects made {choices:,.0f} choices: tests resample whole subjects. To take choices as independent, "
            "say cluster=False (--no-cluster in the shell)."
        )
    if single := int((~large).sum()):
        found.append(f"{how_many(single, 'menu')} of one item {'says' if single == 1 else 'say'} nothing.")
    found += _never_chosen(data)
    return found


def note_on_few(data: Counted) -> str:
    """That an answer which takes shares for the truth rests on few choices, and what to do; "" where there are enough."""
    few = say_few(data)
    return f"{few} confidence=0.95 (--confidence 0.95) takes chance into account." if few else ""


def say_few(data: Counted) -> str:
    """From how many menus there are few choices, and what that means for their shares; "" where there are enough.

    Of n choices the share of an item near one half is known to within 1.96 sqrt(1/4 / n), at 95 %.
    """
    menus = np.flatnonzero((data.offered.sizes > 1) & (data.totals < FEW))
    if not counts_choices(data) or not len(menus):
        return ""
    least = int(menus[np.argmin(data.totals[menus])])
    few = how_many(round(float(data.totals[least])), "choice")
    name = name_menu(data.items, data.offered.labels_of(least, data.items))
    all_menus = how_many(int((data.offered.sizes > 1).sum()), "menu")
    off = 98 / np.sqrt(max(float(data.totals[least]), 1.0))
    return (
        f"There are few choices from {len(menus)} of {all_menus}, the fewest from {name}: {few}, so that a share may be off by "
        f"{off:.0f} percentage points by chance."
    )


def _tiny(data: Counted, large: Mask) -> list[str]:
    tiny = np.flatnonzero(large & (data.totals < TINY))
    if not len(tiny):
        return []
    first = tiny[np.argsort(data.totals[tiny], kind="stable")[:_NAMED]].tolist()
    named = ", ".join(
        f"{name_menu(data.items, data.offered.labels_of(j, data.items))} ({data.totals[j]:g})" for j in first
    )
    more = ", ..." if len(tiny) > _NAMED else ""
    return [
        f"{len(tiny)} of {how_many(int(large.sum()), 'menu')} {'has' if len(tiny) == 1 else 'have'} fewer than {TINY} choices: "
        f"{named}{more}. Tests weigh menus by their choices; distances do not, unless weights='counts' is given."
    ]


def _never_chosen(data: Counted) -> list[str]:
    counts = np.bincount(data.offered.item, np.nan_to_num(data.count), len(data.items))
    offered = np.bincount(data.offered.item, minlength=len(data.items)) > 0
    unknown = np.bincount(data.offered.item, np.isnan(data.count), len(data.items)) > 0
    never = [visible(data.items[x]) for x in np.flatnonzero(offered & (counts == 0) & ~unknown).tolist()]
    if not never:
        return []
    more = f" and {len(never) - _NAMED} more" if len(never) > _NAMED else ""
    return [f"Never chosen: {', '.join(never[:_NAMED])}{more}. Is that so, or are codes and labels mixed up?"]


class Step(NamedTuple):
    """Something to run next, in Python and in the shell, and what for."""

    python: str
    shell: str
    purpose: str

    @classmethod
    def of(cls, call: Call, words: Sequence[str], purpose: str) -> Step:
        """A call, and the words of the command that gives the same."""
        return cls(call.text, Reading("FILE", "FILE", {}).command(words), purpose)


def next_steps(data: Counted) -> list[Step]:
    """What to run on these data; FILE stands for the file."""
    if why_untestable(data.offered):
        offer = "which menus to offer, so that there is something to test"
        return [Step.of(Call("next_menu", (DATA,)), ["bounds", "--next"], offer)]
    # Rankings have no ties: where these are an outcome, the inequalities are asked.
    tied = TIE in data.items
    model, option = ({"model": Call("TriangleInequalities")}, ["--triangle"]) if tied else ({}, [])
    found = [Step.of(Call("project", (DATA,), model), ["project", *option], "how far from rational, and where")]
    if data.totals.max() > 1:
        test = "could these choices come from a population of utility maximisers?"
        found.append(Step.of(Call("rum_test", (DATA,), model), ["test", *option], test))
        explain = "which menus contradict each other"
        found.append(Step.of(Call("explain", (DATA,), model), ["explain", *option], explain))
    if tied:
        return found
    rows = data.rows
    if rows is not None and rows.group is not None and len(rows.groups) > 1:
        found.append(Step.of(Call("rum_test_many", (GROUPS,)), ["test", "--by", "group"], "each group by itself"))
    page = Call("make_report", (DATA, "report.html"), home="rumflow.report")
    return [*found, Step.of(page, ["report", "-o", "report.html"], "all of it on one page")]


#: What people call the choice of nothing.
OUTSIDE = (
    "nothing",
    "none",
    "none of these",
    "no purchase",
    "no choice",
    "no buy",
    "opt out",
    "outside",
    "outside option",
)


def number_of_outside(data: Counted, said: object = None) -> int | None:
    """The number of the item that means buying nothing: the one that was said, or else the one that is called so."""
    names = [visible(label).casefold() for label in data.items]
    wanted = OUTSIDE if said is None else [str(said).casefold()]
    return next((names.index(name) for name in wanted if name in names), None)
