"""Sharp bounds on demand from a budget that nobody faced.

The projection fixes the probabilities of the patches of the observed budgets; every rational population with these values
fits as well. Over all of them the share of each patch of the new budget has a least and a largest value: two linear
programmes over the types on the old budgets and the new one. The new budget cuts old patches. Where the households are known
they are told apart by the pieces, which says more; where only probabilities of patches are known, the pieces of a patch share
its cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrangement import Patches, find_patches, merge_equal
from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.graph import Graph, cheapest_type
from rumflow.core.graph_cells import Cells
from rumflow.core.problem import Stop
from rumflow.data.budgets import BudgetData, locate
from rumflow.data.choices import ChoiceData
from rumflow.data.demand import DemandEstimator
from rumflow.errors import InputError, NotConvergedError
from rumflow.models.budgets import Budgets
from rumflow.projection.graph_results import GraphProjection
from rumflow.projection.results import Projection
from rumflow.projection.single import project
from rumflow.solvers.linear_programs import TypePrograms


class NewBudget(NamedTuple):
    """Bounds on the share of every patch of a budget that nobody faced."""

    patches: list[str]  # in words
    lower: Array
    upper: Array
    gap: float
    distance: float
    fit: Projection | None  # of the observed budgets; None where none of them crosses another


def bounds_on_budget(budgets: BudgetData, prices: ArrayLike, weights: str | ArrayLike | None = None) -> NewBudget:
    """Bounds on the share of every patch of the budget {x >= 0: prices x = 1}."""
    if budgets.prices is None:
        raise InputError("bounds: the prices of the budgets are not known, so a new budget cannot be placed among them")
    new = np.asarray(prices, np.float64)
    if new.shape != budgets.prices.shape[1:] or not (np.isfinite(new) & (new > 0)).all():
        raise InputError(
            f"bounds: the prices of a new budget are {budgets.prices.shape[1]} positive numbers, divided by its expenditure; "
            f"not {prices!r}"
        )
    count = len(budgets.labels)
    every = np.vstack([budgets.prices, new])
    same = int(merge_equal(every)[-1])
    if same < count:
        raise InputError(f"bounds: the new budget is that of {budgets.labels[same]}, which was observed: see its fit")
    pieces = find_patches(every)
    old = pieces.budget < count
    names = [f"new/{i + 1}{_sides(budgets, row)}" for i, row in enumerate(pieces.signs[~old])]
    data, items = _told_apart(budgets, every, pieces) if budgets.households is not None else _together(budgets, pieces)
    if len(names) == 1:
        return NewBudget(names, np.ones(1), np.ones(1), 0.0, 0.0, None)
    observed = Budgets(pieces.signs[old][:, :count], items)
    if not (data.membership.sum(axis=1) > 1).any():
        fit, menus, distance = None, np.zeros((0, data.n), np.bool_), 0.0
    else:
        found = project(data, weights, tol=1e-12, throw=False, model=observed)
        assert isinstance(found, GraphProjection)
        fit = found
        if not fit.certificate.is_optimal(Stop(1e-8)):
            raise NotConvergedError(
                f"bounds: the projection they start from is not accurate enough: {fit.status.explanation}", fit
            )
        menus, distance = fit.membership[fit.rows], fit.distance
    membership = np.zeros((len(menus) + 1, data.n + len(names)), np.bool_)
    membership[:-1, : data.n] = menus
    membership[-1, data.n :] = True
    cells = Cells(membership, None, (*data.items, *names))
    model = Budgets(pieces.signs, [*items, *names])
    graph = model.geometry(cells)
    lower, upper, gap = _programmes(fit, cells, graph, len(names))
    return NewBudget(names, lower, upper, gap, distance, fit)


def _sides(budgets: BudgetData, row: Ints) -> str:
    """On which side of the observed budgets a patch lies."""
    words = [
        f"{name} {', '.join(str(budgets.labels[k]) for k in np.flatnonzero(row[:-1] == sign))}"
        for sign, name in ((-1, "below"), (1, "above"))
        if (row[:-1] == sign).any()
    ]
    return f" ({'; '.join(words)})"


def _told_apart(budgets: BudgetData, prices: Array, pieces: Patches) -> tuple[ChoiceData, list[str]]:
    """The households in the pieces of the old patches."""
    own = budgets.households
    assert own is not None
    old = pieces.budget < len(budgets.labels)
    kept = pieces._replace(signs=pieces.signs[old], budget=pieces.budget[old])
    patch = locate(prices, kept, own.budget, own.shares)
    estimate = DemandEstimator(own.budget, patch, kept.budget, own.log_expenditure, budgets.degree)
    found = estimate(np.ones((1, len(patch))))[0]
    items = [f"{budgets.labels[j]}/{i}" for i, j in enumerate(kept.budget.tolist())]
    membership = kept.budget == np.arange(len(budgets.labels))[:, None]
    counts = np.where(membership, found * budgets.sizes[:, None], np.nan)
    return ChoiceData(tuple(items), membership, counts, budgets.sizes), items


def _together(budgets: BudgetData, pieces: Patches) -> tuple[ChoiceData, list[str]]:
    """The patches as they are, and for every piece its patch."""
    count = len(budgets.labels)
    place = {row.tobytes(): item for row, item in zip(budgets.patches, budgets.items, strict=True)}
    items = []
    for row in np.ascontiguousarray(pieces.signs[pieces.budget < count][:, :count]):
        if row.tobytes() not in place:
            raise InputError("bounds: the prices do not give the patches of the data; are they those of these budgets?")
        items.append(place[row.tobytes()])
    return budgets.choices, items


def _programmes(fit: GraphProjection | None, cells: Cells, graph: Graph, count: int) -> tuple[Array, Array, float]:
    """Lower and upper ends for the patches of the last menu."""
    m = len(cells.membership) - 1
    if fit is None:
        menu = column = np.empty(0, np.int64)
        values = pull = np.empty(0)
        start = np.empty((0, 0), np.int32)
    else:
        # The probabilities of a menu add up to 1, so its last one is left out, and its price taken off the others.
        last = fit.projector.cells.count - 1
        width = fit.table.shape[1]
        menu, column = np.nonzero(np.arange(width) < last[:, None])
        values = fit.table[menu, column]
        gradient = fit.weights * (fit.table - fit.target)
        pull = (gradient - gradient[np.arange(m), last][:, None])[menu, column]
        start = fit.mixture[0]
    programs = TypePrograms(graph, menu, column, values, _extend(start, cells, graph), pull if len(pull) else None)
    lower, upper, gap = np.empty(count), np.empty(count), 0.0
    for k in range(count):
        cost = np.zeros(cells.shape)
        cost[m, k] = 1.0
        low, high = programs.minimise(cost), programs.minimise(-cost)
        lower[k], upper[k] = low.bound, -high.bound
        gap = max(gap, low.value - low.bound, high.value - high.bound)
    # Rounding may put an end below the other; adding 0 takes the sign off a zero.
    lower = np.clip(lower, 0.0, 1.0) + 0.0
    return lower, np.maximum(np.clip(upper, 0.0, 1.0), lower), max(gap, 0.0)


def _extend(types: Paths, cells: Cells, graph: Graph) -> Paths:
    """Types on the old budgets with a patch of the new one: every rational type has one."""
    if len(types) == 0:
        return cheapest_type(graph, np.zeros(cells.shape))[1][None]
    found = np.empty((len(types), len(cells.membership)), np.int32)
    for row, own in zip(found, types, strict=True):
        cost = np.ones(cells.shape)
        cost[np.arange(len(own)), own] = 0.0
        cost[-1] = 0.0
        price, row[:] = cheapest_type(graph, cost)
        assert price == 0
    return found
