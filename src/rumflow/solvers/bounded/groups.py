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
from rumflow.models.open_menus import Limit
from rumflow.models.random_utility import RandomUtility

#: Nodes a graph of a group may have.
GROUP_LIMIT = Limit(nodes=10_000)

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
    inside = np.arange(cells.width) < cells.count[:, None]
    least = np.where(inside, cost, np.inf).min(axis=1)
    weight = np.where(inside, cost, -np.inf).max(axis=1) - least
    heavy = weight > _FLAT * float(weight.sum())
    order = np.argsort(-weight, kind="stable")
    return Heavy(order[heavy[order]], float(least[~heavy].sum()))


def bound_groups(model: RandomUtility, cells: Cells, cost: Array, limit: Limit = GROUP_LIMIT) -> GroupBound:
    """Bound the price of the cheapest type for a (menus, width) table of prices."""
    rest, total = find_heavy(cells, cost)
    orders: list[Ints] = []
    while len(rest):
        count, graph, part = _largest(model, cells, rest, limit)
        own, rest = rest[:count], rest[count:]
        prices = np.ascontiguousarray(cost[own, : part.width])
        total += float(plain_cheapest(graph, prices))
        orders.append(model.orders(part, cheapest_type(graph, prices, 1)[1][None])[0])
    return GroupBound(total, np.array(orders, np.int64).reshape(-1, cells.n_items), len(orders) <= 1)


def _largest(model: RandomUtility, cells: Cells, menus: Ints, limit: Limit) -> tuple[int, Graph, Cells]:
    """How many of these menus, the first ones, have a graph within the limit, and that graph."""
    low, high = 1, len(menus)  # one menu always fits
    best: tuple[int, Graph, Cells] | None = None
    trial = high
    while low <= high:
        part = cells.part(menus[:trial])
        try:
            best = trial, model.geometry(part, limit), part
            low = trial + 1
        except GraphTooLargeError:
            high = trial - 1
        trial = (low + high + 1) // 2
    assert best is not None
    return best
