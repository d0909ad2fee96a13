"""A lower bound on the price of the cheapest ranking, from small graphs.

Cut the menus into groups. No ranking is cheaper than the sum, over the groups, of the cheapest type of each group alone: a
ranking is a type of every group. That holds for any groups; the bound is good where the menus that are cut apart have little to
say. A menu whose prices are all equal says nothing. Near a projection most menus are fitted exactly and their prices are zero,
while those in conflict with each other have all the prices: so the heaviest menus (largest difference of prices) go together, as
many as the limit of a graph allows, and then the heaviest of the rest.

Where the limit holds all menus with prices in one group, the bound is the price of the cheapest ranking itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.core.graph import Graph, GraphTooLargeError, cheapest_type
from rumflow.core.graph_cells import Cells
from rumflow.core.graph_certificate import plain_cheapest
from rumflow.models.model import Model
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit

#: Nodes a graph of a group may have.
GROUP_LIMIT = Limit(nodes=10_000)

_MOST_PLACES = 50_000_000  # of the rankings that a bound comes with, all together

_FLAT = 1e-15  # differences of prices below this share of all of them decide nothing


class GroupBound(NamedTuple):
    """A bound, and rankings worth a look: the cheapest of each group."""

    bound: float
    orders: Ints  # (groups, n)
    exact: bool  # it is the price of the cheapest ranking


class Heavy(NamedTuple):
    """The menus whose prices differ, heaviest first, and what the others cost whatever is taken from them."""

    menus: Ints
    rest: float


def find_heavy(cells: Cells, cost: Array) -> Heavy:
    """Which menus matter for a (menus, width) table of prices."""
    least = np.where(cells.filled, cost, np.inf).min(axis=1)
    weight = np.where(cells.filled, cost, -np.inf).max(axis=1) - least
    heavy = weight > _FLAT * float(weight.sum())
    order = np.argsort(-weight, kind="stable")
    return Heavy(order[heavy[order]], float(least[~heavy].sum()))


def bound_groups(
    model: Model, cells: Cells, cost: Array, limit: Limit = GROUP_LIMIT, deadline: float | None = None
) -> GroupBound:
    """Bound the price of the cheapest type for a (menus, width) table of prices.

    After the deadline (on `rumflow.core.compile.clock`) the menus that are left count with their cheapest cells.
    """
    rest, total = find_heavy(cells, cost)
    limit = limit._replace(deadline=deadline)
    orders: list[Ints] = []
    groups = 0
    while len(rest):
        group = largest_group(model, cells, rest, limit, len(rest))
        if group is None:
            total += float(np.where(cells.filled[rest], cost[rest], np.inf).min(axis=1).sum())
            return GroupBound(total, np.array(orders, np.int64).reshape(-1, cells.n_items), False)
        count, graph, part = group
        own, rest = rest[:count], rest[count:]
        prices = part.cut(cost, own)
        total += plain_cheapest(graph, prices)
        groups += 1
        if len(orders) * cells.n_items < _MOST_PLACES:
            orders.append(model.orders(part, cheapest_type(graph, prices, 1)[1][None])[0])
    return GroupBound(total, np.array(orders, np.int64).reshape(-1, cells.n_items), groups <= 1)


def largest_group(model: Model, cells: Cells, menus: Ints, limit: Limit, guess: int) -> tuple[int, Graph, Cells] | None:
    """How many of these menus, the first ones, have a graph within the limit (nearly as many as can), and that graph.

    Tries start with `guess` menus. None where the time was over before one fitted.
    """
    fits, fails = 0, len(menus) + 1
    found: tuple[Graph, Cells] | None = None
    trial = min(max(guess, 1), len(menus))
    while fails - fits > 1 + fits // 16 and not limit.late():
        part = cells.part(menus[:trial])
        try:
            found = model.geometry(part, limit if trial > 1 else DEFAULT_LIMIT), part  # one menu always fits
            fits = trial
        except GraphTooLargeError:
            fails = trial
        # Up or down by a quarter until the answer lies between two tries, then by halves.
        if fails > len(menus):
            trial = min(trial + 1 + trial // 4, len(menus))
        elif fits == 0:
            trial -= 1 + (trial - 1) // 4 if trial > 1 else 0
        else:
            trial = (fits + fails) // 2
    return None if found is None else (fits, *found)
