"""Types as rankings, and what rankings choose.

A type says what is taken from the observed menus; many rankings may do that. The one given here is documented, not identified:
as long as a menu is open, take the first item (in the order of the items) that some open menu contains, that the type takes from
every open menu which contains it, and whose superiors (items everybody prefers to it) are in no open menu; its superiors that
are not placed yet go right before it, first items first. When no menu is open, the other items follow in their order, superiors
first.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask, Paths
from rumflow.core.compile import kernel, leaf
from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError


@leaf
def place(item, above, placed, order, count):
    """Put an item next, after its superiors that are not placed yet; the number of items placed."""
    n = placed.shape[0]
    # `above` is closed, so an unplaced superior none of whose own superiors is unplaced may come next.
    while True:
        best = item
        for a in range(n):
            if not placed[a] and above[a, item]:
                free = True
                for b in range(n):
                    if not placed[b] and above[b, a]:
                        free = False
                        break
                if free:
                    best = a
                    break
        placed[best] = True
        order[count] = best
        count += 1
        if best == item:
            return count


@kernel
def complete_types(column, above, types, orders):
    """Rankings for types; the row number of the first type that is no ranking's, or -1."""
    m, n = column.shape
    open_menus = np.empty(n, np.int64)  # by item: open menus that contain it, and of these
    other = np.empty(n, np.int64)  # menus from which the type takes something else
    superior = np.empty(n, np.int64)  # open menus that contain a superior of it
    closed = np.empty(m, np.bool_)
    placed = np.empty(n, np.bool_)
    blocks = np.zeros((m, n), np.bool_)
    for j in range(m):
        for a in range(n):
            if column[j, a] >= 0:
                for x in range(n):
                    blocks[j, x] |= above[a, x]
    for i in range(types.shape[0]):
        open_menus[:] = 0
        other[:] = 0
        superior[:] = 0
        closed[:] = False
        placed[:] = False
        for j in range(m):
            for x in range(n):
                superior[x] += blocks[j, x]
                if column[j, x] >= 0:
                    open_menus[x] += 1
                    other[x] += column[j, x] != types[i, j]
        left = m
        count = 0
        while left > 0:
            item = -1
            for x in range(n):
                if open_menus[x] > 0 and other[x] == 0 and superior[x] == 0:
                    item = x
                    break
            if item < 0:
                return i
            for j in range(m):
                if not closed[j] and column[j, item] >= 0:
                    closed[j] = True
                    left -= 1
                    for x in range(n):
                        superior[x] -= blocks[j, x]
                        if column[j, x] >= 0:
                            open_menus[x] -= 1
                            other[x] -= column[j, x] != types[i, j]
            count = place(item, above, placed, orders[i], count)
        for x in range(n):
            if not placed[x]:
                count = place(x, above, placed, orders[i], count)
    return -1


def rankings_of_types(cells: Cells, above: Mask, types: Paths) -> Ints:
    """(k, n): for each type a ranking, items best first, that takes from every observed menu what the type takes."""
    orders = np.empty((len(types), cells.n_items), np.int64)
    wrong = complete_types(cells.column, above, np.ascontiguousarray(types, np.int32), orders)
    if wrong >= 0:
        raise InputError(f"type {wrong} is not what any ranking of the model takes from the observed menus")
    return orders


def choice_probabilities(orders: Ints, weights: Array, membership: Mask) -> Array:
    """(q, n): what a mixture of rankings takes from menus, observed or not, given as rows of truth values; 0 outside them."""
    k, n = orders.shape
    rank = np.empty((k, n), np.int64)
    np.put_along_axis(rank, orders, np.broadcast_to(np.arange(n), (k, n)), axis=1)
    probabilities = np.zeros(membership.shape)
    for q, members in enumerate(membership):
        offered = np.flatnonzero(members)
        if len(offered) == 0:
            raise InputError("a menu is empty: every menu must offer at least one item")
        probabilities[q] = np.bincount(offered[rank[:, offered].argmin(axis=1)], weights, n)
    return probabilities
