"""The part of the page on menus that were not offered: bounds for few items, and for pairs of any number of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from itertools import combinations, islice

from rumflow.core.lattice import items_of
from rumflow.data.choices import ChoiceData
from rumflow.data.design import say_few
from rumflow.data.labels import TIE, Item, tie_number
from rumflow.data.readers.settings import join_labels
from rumflow.errors import ctrl_c_raises
from rumflow.inference import bounds
from rumflow.inference.confidence import has_counts
from rumflow.models.triangle_inequalities import TriangleInequalities
from rumflow.output.names import WRAPPED, how_many, name_menu
from rumflow.projection.results import Projection
from rumflow.projection.single import project
from rumflow.report.pairs import is_pairs
from rumflow.report.render import PageTable

#: Menus that were not offered and are shown with predictions. The linear programmes behind a prediction take seconds for 8
#: items and minutes for 10: beyond 8 items there are only those for pairs, which are shortest paths.
MOST_PREDICTED, MOST_PREDICTED_OF_8 = 12, 3


def predict(data: ChoiceData, fit: Projection) -> tuple[PageTable | None, str]:
    """Bounds for menus that were not offered, and what to know about them; no text where all menus were offered."""
    if tie_number(data.items) >= 0 or (data.n > 8 and is_pairs(data)):
        return _pairs(data)
    left = 2**data.n - 1 - data.n - int((data.offered.sizes > 1).sum())
    if left == 0:
        return None, ""
    if data.n > 8:
        return None, (
            f"{f'{left:,}' if data.n <= 30 else 'Nearly all'} menus were not offered. With {data.n} items the bounds of a "
            "prediction take a while, so none are shown here: the command rumflow bounds finds them, one menu at a time."
        )
    offered = {int(m) for m in data.masks}
    missing = [m for m in range(1, 1 << data.n) if m.bit_count() >= 2 and m not in offered]
    missing.sort(key=lambda m: (-m.bit_count(), m))
    shown = missing[: MOST_PREDICTED if data.n < 8 else MOST_PREDICTED_OF_8]
    table = PageTable(
        "Menus not offered", ["menu", "item", "at least", "at most", "this model"], [False, False, True, True, True]
    )
    for mask in shown:
        members = items_of(mask)
        menu = tuple(data.items[x] for x in members)
        found = bounds(fit, menu)
        for k, x in enumerate(members):
            low, high = float(found.lower[k]), float(found.upper[k])
            table.add(name_menu(data.items, menu, WRAPPED), str(data.items[x]), low, high, float(fit.rho[mask, x]))
    more = (
        ""
        if len(shown) == len(missing)
        else f" {len(shown)} of the {len(missing)} menus not offered are shown, the largest first."
    )
    return table, (
        "Many random utility models fit the data equally well and differ here. The lowest and highest probability "
        "over all of them are what the shares say; the last column is the one model shown in this report."
        + more
        + _chance(data, f"--for {_listed(data.items[x] for x in items_of(shown[0]))}")
    )


def _pairs(data: ChoiceData) -> tuple[PageTable | None, str]:
    """Bounds for pairs that were never compared, by shortest paths."""
    tie = [TIE] if tie_number(data.items) >= 0 else []
    items = [item for item in data.items if item != TIE]
    offered = {frozenset(menu) - {TIE} for menu in data.menus}
    left = len(items) * (len(items) - 1) // 2 - sum(len(menu) == 2 for menu in offered)
    if left == 0:
        return None, ""
    with ctrl_c_raises():
        fit = project(data, model=TriangleInequalities())
    table = PageTable("Pairs never compared", ["pair", "outcome", "at least", "at most"], [False, False, True, True])
    missing = (pair for pair in combinations(items, 2) if frozenset(pair) not in offered)
    first: tuple[Item, ...] = ()
    for pair in islice(missing, MOST_PREDICTED):
        menu = (*pair, *tie)
        first = first or menu
        found = bounds(fit, menu)
        for item, low, high in zip(found.items, found.lower, found.upper, strict=True):
            table.add(name_menu(data.items, pair, WRAPPED), str(item), float(low), float(high))
    more = f" The first {MOST_PREDICTED} of {left:,} are shown." if left > MOST_PREDICTED else ""
    return table, (
        f"{how_many(left, 'pair')} {'was' if left == 1 else 'were'} never compared. The lowest and highest share that obey the "
        "triangle inequalities, together with the nearest shares of the pairs that were, are what the shares say about each of "
        f"them, one pair at a time.{more}" + _chance(data, f"--triangle --for {_listed(first)}")
    )


def _chance(data: ChoiceData, options: str) -> str:
    """That such ranges take the shares for exact, what does not, and where few choices are behind them."""
    if not has_counts(data):
        return ""
    example = "--for MENU" if set(options) & set("()") else options  # the page leaves options in brackets out
    text = (
        " These ranges take the observed shares for exact and do not allow for chance; 95 % confidence intervals, which do, come "
        f"from the command rumflow bounds, one menu at a time ({example})."
    )
    few = say_few(data)
    return f"{text} {few}" if few else text


def _listed(menu: Iterable[Item]) -> str:
    """A menu as the command line takes it."""
    return shlex.quote(join_labels(map(str, menu)))
