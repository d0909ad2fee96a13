"""A budget that nobody faced among those that were: what bounds on demand from it are asked of.

The new budget cuts the patches of the old ones. Where the households are known they are told apart by the pieces, which says
more; where only probabilities of patches are known, the pieces of a patch share its cell. The patches of the new budget are items
of a menu that was not observed, and the bounds are those on any such menu (`rumflow.inference.bounds`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrangement import Patches, find_patches, merge_equal
from rumflow.core.arrays import Array, Ints
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.data.demand import locate
from rumflow.errors import InputError
from rumflow.models.budgets import Budgets


class NewBudget(NamedTuple):
    """The observed budgets cut by the new one."""

    choices: ChoiceData  # with the patches of the new budget as items that were never on a menu
    patches: tuple[str, ...]  # of the new budget, in words
    model: Budgets


def place_budget(budgets: BudgetData, prices: ArrayLike) -> NewBudget:
    """Place the budget {x >= 0: prices x = 1} among the others."""
    if budgets.prices is None:
        raise InputError("bounds: the prices of the budgets are not known, so a new budget cannot be placed among them")
    new = np.asarray(prices, np.float64)
    if new.shape != budgets.prices.shape[1:] or not (np.isfinite(new) & (new > 0)).all():
        raise InputError(
            f"bounds: the prices of a new budget are {budgets.prices.shape[1]} positive numbers, divided by its expenditure; "
            f"not {prices!r}"
        )
    every = np.vstack([budgets.prices, new])
    same = int(merge_equal(every)[-1])
    if same < len(budgets.labels):
        raise InputError(
            f"bounds: this budget equals the observed budget {budgets.labels[same]}; use its fitted shares"
        )
    pieces = find_patches(every)
    old = pieces.budget < len(budgets.labels)
    signs = pieces.signs[~old]
    names = tuple(f"new/{i + 1}{_sides(budgets, row)}" for i, row in enumerate(signs))
    data, items = _told_apart(budgets, every, pieces) if budgets.households is not None else _together(budgets, pieces)
    model = Budgets(np.vstack([pieces.signs[old], signs]), [*items, *names])
    menus = replace(data.offered, n_items=data.n + len(names))
    choices = ChoiceData.from_cells((*data.items, *names), menus, data.count, data.totals, data.rows, data.understood)
    return NewBudget(choices, names, model)


def _sides(budgets: BudgetData, row: Ints) -> str:
    """On which side of the observed budgets a patch lies."""
    words = [
        f"{name} {', '.join(str(budgets.labels[k]) for k in np.flatnonzero(row[:-1] == sign))}"
        for sign, name in ((-1, "below"), (1, "above"))
        if (row[:-1] == sign).any()
    ]
    return f" ({'; '.join(words)})"


def _told_apart(budgets: BudgetData, prices: Array, pieces: Patches) -> tuple[ChoiceData, tuple[str, ...]]:
    """The households in the pieces of the old patches."""
    own = budgets.households
    assert own is not None
    old = pieces.budget < len(budgets.labels)
    kept = pieces._replace(signs=pieces.signs[old], budget=pieces.budget[old])
    own = own._replace(patch=locate(prices, kept, own.budget, own.shares))
    found = own.estimator(kept.budget, budgets.degree)(np.ones((1, len(own.patch))))[0]
    cut = replace(budgets, patches=kept.signs, probabilities=found, households=own)
    return cut.choices, cut.items


def _together(budgets: BudgetData, pieces: Patches) -> tuple[ChoiceData, tuple[str, ...]]:
    """The patches as they are, and for every piece its patch."""
    count = len(budgets.labels)
    place = {row.tobytes(): item for row, item in zip(budgets.patches, budgets.items, strict=True)}
    items = []
    for row in np.ascontiguousarray(pieces.signs[pieces.budget < count][:, :count]):
        if row.tobytes() not in place:
            raise InputError("bounds: the prices do not give the patches of the data; are they those of these budgets?")
        items.append(place[row.tobytes()])
    return budgets.choices, tuple(items)
