"""Sharp bounds: linear programmes over all members of the model that have the fitted values on the recorded cells.

A fit fixes the recorded cells; `find_bounds` gives the least and largest value of linear functionals over everything that it
leaves open, `worst_case` the least value of one functional with a population, a mixture of rankings, that attains it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask, Mixture
from rumflow.core.compile import clock
from rumflow.core.graph import Graph, GraphTooLargeError, cells_of_types, cheapest_type
from rumflow.core.graph_cells import Cells
from rumflow.core.memory import require_memory
from rumflow.core.patience import check_patience, deadline
from rumflow.data.labels import format_menu, tie_number
from rumflow.data.menus import labels_of, unique_menus
from rumflow.errors import InputError
from rumflow.output.progress import Counter, Stage
from rumflow.projection.results import Projection
from rumflow.solvers.linear_programs import Solution, TypePrograms

_OPEN = 1e-9  # a narrower range is that of a share that is known

_TABLES = 5  # of numbers for menus and items, while it is found out what a fit fixes
_BYTES_A_SECOND = 6e8  # of these, on pages that nobody has used
_STEPS = 30  # of Dinkelbach's method, which converges faster than linearly


class LinearFunctionals(NamedTuple):
    """What is to be bounded: sums of coefficients times probabilities, plus a constant."""

    menus: Mask  # (q, n), each of two items or more
    coefficients: Array  # (k, q, n)
    constant: Array  # (k,)


class FixedCells(NamedTuple):
    """What a fit fixes."""

    menus: Mask  # (m, n): the observed menus of two items or more
    seen: Mask  # (m, n): which of their cells count
    values: Array  # (m, n): fitted probabilities
    normal: Array  # (m, n): weight times (fitted - observed)


class Layout(NamedTuple):
    """The menus of a fit and further ones, in order."""

    menus: Mask  # (m, n)
    fixed: Mask  # (m, n): the cells whose values the fit gives
    own: Ints  # where the menus of the fit are
    new: Ints  # where the further ones are
    normal: Array  # (m, n)


def lay_out(given: FixedCells, further: Mask) -> Layout:
    """The menus of a fit beside further ones; a menu may be among both."""
    menus, rows = unique_menus(np.vstack([given.menus, further]))
    own, new = rows[: len(given.menus)], rows[len(given.menus) :]
    fixed, normal = np.zeros(menus.shape, np.bool_), np.zeros(menus.shape)
    fixed[own], normal[own] = given.seen, given.normal
    return Layout(menus, fixed, own, new, normal)


def find_bounds(fit: Projection, asked: LinearFunctionals, progress: bool = False) -> tuple[Array, Array, float]:
    """Lower and upper ends, and how far they may be outside the sharp ones."""
    if not fit.model.has_types:
        return (*pair_bounds(fit, asked), 0.0)
    given = fixed_by(fit)
    menus, fixed, own, new, normal = lay_out(given, asked.menus)
    rho = np.zeros(menus.shape)
    rho[own] = np.where(given.seen, given.values, 0.0)
    # In a menu known but for one cell, that cell is known too.
    known = fixed.sum(axis=1) >= menus.sum(axis=1) - 1
    implied = fixed | (menus & known[:, None])
    rho += np.where(implied & ~fixed, 1.0 - rho.sum(axis=1, keepdims=True), 0.0)
    costs = np.zeros((len(asked.coefficients), *menus.shape))
    costs[:, new] = asked.coefficients
    lower = asked.constant + (costs * rho).sum(axis=(1, 2))
    upper = lower.copy()
    open_costs = np.flatnonzero(((costs != 0) & ~implied).any(axis=(1, 2)))
    if len(open_costs) == 0:
        return lower, upper, 0.0
    wanted = (costs[open_costs] != 0).any(axis=0)
    model = fit.model
    whole = Cells(menus, fixed | wanted, fit.items)
    # What menus without a link to those asked for take is independent of what these take.
    linked = np.sort(np.concatenate([part for part in model.parts(whole) if wanted[part].any()]))
    cells = whole.part(linked)
    with Stage(progress, "the graph of all menus"):
        programs = make_programs(fit, cells, fixed[linked], normal[linked])
    gap = 0.0
    with Counter(progress, 2 * len(open_costs), "linear programmes") as counter:
        for k in open_costs:
            outside = asked.constant[k] + float((costs[k] * rho)[~np.isin(np.arange(len(menus)), linked)].sum())
            cost = cells.to_table(costs[k][linked])
            low = programs.minimise(cost)
            counter.add(1)
            high = programs.minimise(-cost)
            counter.add(1)
            lower[k], upper[k] = outside + low.bound, outside - high.bound
            gap = max(gap, low.value - low.bound, high.value - high.bound)
    return lower, upper, gap


def pair_bounds(fit: Projection, asked: LinearFunctionals) -> tuple[Array, Array]:
    """Lower and upper ends for pairs under path inequalities, by shortest paths; for one open pair in each functional."""
    tie = tie_number(fit.items)
    pairs = asked.menus.copy()
    if tie >= 0:
        pairs[:, tie] = False
    large = np.flatnonzero(pairs.sum(axis=1) != 2)
    if len(large):
        raise InputError(
            f"menu {format_menu(labels_of(fit.items, asked.menus[large[0]]))}: {fit.model.name} speak of pairs; ask for a pair"
        )
    a, b = np.nonzero(pairs)[1].reshape(-1, 2).T
    found: Any = fit.fits
    x = found.found[fit.index].x
    least, most = fit.geometry.share_ranges(x, a, b)
    row = np.arange(len(a))
    if tie >= 0:
        return _tied_bounds(fit, asked, (least, most), fit.geometry.share_ranges(x, b, a), np.stack([a, b]))
    slope = asked.coefficients[:, row, a] - asked.coefficients[:, row, b]
    several = ((slope != 0) & (most - least > _OPEN)).sum(axis=1) > 1
    if several.any():
        raise _several(fit)
    whole = asked.constant + asked.coefficients[:, row, b].sum(axis=1)
    lower = whole + np.where(slope > 0, slope * least, slope * most).sum(axis=1)
    upper = whole + np.where(slope > 0, slope * most, slope * least).sum(axis=1)
    return np.minimum(lower, upper), np.maximum(lower, upper)


def _tied_bounds(
    fit: Projection, asked: LinearFunctionals, first: tuple[Array, Array], second: tuple[Array, Array], pairs: Ints
) -> tuple[Array, Array]:
    """The same with ties as an outcome: the shares x and y of both items are free within their ranges and x + y <= 1."""
    row, tie = np.arange(pairs.shape[1]), tie_number(fit.items)
    by_tie = asked.coefficients[:, row, tie]
    slopes = [asked.coefficients[:, row, own] - by_tie for own in pairs]
    ends = [np.stack(own) for own in (first, second)]
    open_pairs = [(slope != 0) & (own[1] - own[0] > _OPEN) for slope, own in zip(slopes, ends, strict=True)]
    if ((open_pairs[0] | open_pairs[1]).sum(axis=1) > 1).any():
        raise _several(fit)
    # The corners of that set: those of the ranges, moved onto x + y = 1 along one side or the other.
    corners = []
    for x in ends[0]:
        for y in ends[1]:
            corners += [(np.minimum(x, 1.0 - y), y), (x, np.minimum(y, 1.0 - x))]
    inside = [(x >= ends[0][0] - _OPEN) & (y >= ends[1][0] - _OPEN) for x, y in corners]
    values = np.stack([slopes[0] * x + slopes[1] * y for x, y in corners])
    whole = asked.constant + by_tie.sum(axis=1)
    kept = np.stack(inside)[:, None, :]
    lower = whole + np.where(kept, values, np.inf).min(axis=0).sum(axis=1)
    upper = whole + np.where(kept, values, -np.inf).max(axis=0).sum(axis=1)
    return lower, upper


def _several(fit: Projection) -> InputError:
    return InputError(
        f"functional: it has several pairs that were not observed, and bounds under {fit.model.name} hold one pair at a "
        "time; ask for each pair by itself"
    )


def worst_case(fit: Projection, menu: Mask, values: Array) -> tuple[Solution, tuple[Ints, Array]]:
    """The least of sum values[x] rho(menu, x), and a population that attains it: rankings (k, n) and their weights."""
    layout = lay_out(fixed_by(fit), menu[None])
    asked = np.zeros(layout.menus.shape, np.bool_)
    asked[layout.new[0]] = menu
    cells = Cells(layout.menus, layout.fixed | asked, fit.items)
    programs = make_programs(fit, cells, layout.fixed, layout.normal)
    solution, (types, weights) = programs.minimiser(cells.to_table(np.where(asked, values, 0.0)))
    return solution, (fit.model.orders(cells, types), weights)


def least_ratios(fit: Projection, menus: Mask, parts: Array, whole: Array) -> Array:
    """(k,): the least <part, rho> / <whole, rho>, where the whole is positive; parts (k, q, n), whole (q, n).

    Dinkelbach: where t is a ratio, the least of <part - t whole, rho> is 0 exactly when t is the least; else the point that
    attains it has a smaller ratio.
    """
    layout = lay_out(fixed_by(fit), menus)
    costs = np.zeros((len(parts) + 1, *layout.menus.shape))
    costs[:, layout.new] = np.concatenate([parts, whole[None]])
    cells = Cells(layout.menus, layout.fixed | (costs != 0).any(axis=0), fit.items)
    programs = make_programs(fit, cells, layout.fixed, layout.normal)
    tables = [cells.to_table(cost) for cost in costs]
    found = np.empty(len(parts))
    for k, part in enumerate(tables[:-1]):
        cost, step = part, 0
        while True:
            solution, mixture = programs.minimiser(cost)
            rho = cells_of_types(*mixture, cells.shape)
            if step and (solution.bound >= -1e-10 or step == _STEPS):
                break
            found[k] = (part * rho).sum() / (tables[-1] * rho).sum()
            cost, step = part - found[k] * tables[-1], step + 1
    return found


def make_programs(
    fit: Projection, cells: Cells, fixed: Mask, normal: Array, mixture: Mixture | None = None
) -> TypePrograms:
    """Programmes over the model on `cells` whose `fixed` ones have the fitted values, or those of a mixture of types."""
    check_patience()
    graph = fit.model.geometry(cells)
    types, shares = _types_of_fit(fit, cells, graph) if mixture is None else mixture
    table = cells_of_types(types, shares, cells.shape)
    full = (fixed == cells.membership).all(axis=1)
    last = last_items(cells.membership)
    normal = normal.copy()
    menu, item = np.nonzero(independent(cells.membership, fixed))
    column = cells.column[menu, item].astype(np.int64)
    normal[full] -= normal[full, last[full]][:, None]  # the same up to a constant, and 0 on the cell left out
    return TypePrograms(graph, menu, column, table[menu, column], types, normal[menu, item])


def independent(membership: Mask, fixed: Mask) -> Mask:
    """The given cells without the last one of every menu all of whose cells are given: the others imply it."""
    full = (fixed == membership).all(axis=1)
    kept = fixed.copy()
    kept[full, last_items(membership)[full]] = False
    return kept


def last_items(membership: Mask) -> Ints:
    """(m,): the last item of every menu."""
    return np.asarray(membership.shape[1] - 1 - membership[:, ::-1].argmax(axis=1), np.int64)


def _types_of_fit(fit: Projection, cells: Cells, graph: Graph) -> Mixture:
    """A mixture with the fitted values, on the menus of the graph."""
    if fit.model.types_are_rankings:
        return cells.types_of_orders(fit.rankings.orders), fit.rankings.weights
    # Types that are not rankings: complete each by any type of the graph that takes the same from the menus of the fit, which is
    # one item, or any that was not recorded.
    types, shares = fit.mixture
    given = fit.geometry.cells
    place = {row.tobytes(): j for j, row in enumerate(cells.membership)}
    rows = np.array([place.get(row.tobytes(), -1) for row in given.membership], np.int64)
    menus = rows[rows >= 0]
    found = np.empty((len(types), len(cells.membership)), np.int32)
    for row, taken in zip(found, types, strict=True):
        cost = np.zeros(cells.shape)
        cost[menus] = 1.0
        j, x = np.nonzero((given.column == taken[:, None])[rows >= 0])
        cost[menus[j], cells.column[menus[j], x]] = 0.0
        price, row[:] = cheapest_type(graph, cost)
        assert price == 0
    return found, shares


def fixed_by(fit: Projection) -> FixedCells:
    """What a fit fixes."""
    if not isinstance(fit, Projection):
        raise InputError(f"data: a projection, data or an array is needed, not {type(fit).__name__}")
    m, n = len(fit.observations.menus), fit.n
    needed = 8.0 * _TABLES * m * n
    what = f"the tables of {m:,} menus and {n:,} items"
    require_memory(needed, what, "leave out menus or items, such as rare ones")
    if needed > _BYTES_A_SECOND and clock() + needed / _BYTES_A_SECOND > deadline():
        words = "would take longer than what is left of max_seconds: allow more time, or leave out menus or items"
        raise GraphTooLargeError(f"{what} {words}", 0, 0, int(needed), 0, late=True)
    several = fit.membership.sum(axis=1) >= 2
    menus, weights, values = fit.membership[several], fit.cell_weights[several], fit.fitted[several]
    # Data inside the model have no normal but rounding.
    away = np.zeros(menus.shape) if fit.inside else np.nan_to_num(values - fit.frequencies[several])
    normal = weights * away
    return FixedCells(menus, menus & (weights > 0), values, normal)
