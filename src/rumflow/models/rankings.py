"""Types as rankings, and what rankings choose.

A type says what is taken from the observed menus; many rankings may do that. The one given here is documented, not identified:
as long as a menu is open, take the first item (in the order of the items) that some open menu contains, that the type takes from
every open menu which contains it, and whose superiors (items everybody prefers to it) are in no open menu; its superiors that
are not placed yet go right before it, first items first. When no menu is open, the other items follow in their order, superiors
first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask, Paths
from rumflow.core.compile import kernel, leaf
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.core.preferences import Preferences, prefers
from rumflow.errors import InputError


class MenuLists(NamedTuple):
    """Observed menus as kernels see them, in proportion to what was offered."""

    first: Ints  # (m + 1,): the cells of menu j are first[j] .. first[j + 1] - 1
    members: Paths  # (cells,): the item of each cell
    column: Paths  # (cells,): its column in tables
    menus_first: (
        Ints  # (n + 1,): the menus of item x, and its cells in them, are at menus_first[x] .. menus_first[x + 1] - 1
    )
    menus: Paths
    cells: Ints


def list_menus(cells: Cells) -> MenuLists:
    """The menus of these cells."""
    return MenuLists(cells.offered.start, cells.offered.item, cells.place, *cells.offered.of_items)


@leaf
def place(item, known, placed, order, count):
    """Put an item next, after its superiors that are not placed yet; the number of items placed."""
    # What is known is closed, so an unplaced superior none of whose own superiors is unplaced may come next.
    while True:
        best = item
        for a in known.named:
            if not placed[a] and prefers(known, a, item):
                free = True
                for b in known.named:
                    if not placed[b] and prefers(known, b, a):
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


@leaf
def count_superiors(lists, known, menu, step, superior):
    """Add `step` to every item of which a menu contains a superior, once."""
    for x in known.named:
        for c in range(lists.first[menu], lists.first[menu + 1]):
            if prefers(known, lists.members[c], x):
                superior[x] += step
                break


@kernel
def complete_types(lists, known, types, orders):
    """Rankings for types; the row number of the first type that is no ranking's, or -1."""
    m, n = lists.first.shape[0] - 1, orders.shape[1]
    open_menus = np.empty(n, np.int64)  # by item: open menus that contain it, and of these
    other = np.empty(n, np.int64)  # menus from which the type takes something else
    superior = np.empty(n, np.int64)  # open menus that contain a superior of it
    every = np.zeros(n, np.int64)  # the same where all menus are open
    closed = np.empty(m, np.bool_)
    placed = np.empty(n, np.bool_)
    for j in range(m):
        count_superiors(lists, known, j, 1, every)
    for i in range(types.shape[0]):
        other[:] = 0
        superior[:] = every
        closed[:] = False
        placed[:] = False
        for x in range(n):
            open_menus[x] = lists.menus_first[x + 1] - lists.menus_first[x]
        for j in range(m):
            for c in range(lists.first[j], lists.first[j + 1]):
                other[lists.members[c]] += lists.column[c] != types[i, j]
        left = m
        count = 0
        item = 0
        while left > 0:
            while item < n and not (open_menus[item] > 0 and other[item] == 0 and superior[item] == 0):
                item += 1
            if item == n:
                return i
            lowest = item  # of the items that may come next, none is below
            for k in range(lists.menus_first[item], lists.menus_first[item + 1]):
                j = lists.menus[k]
                if not closed[j]:
                    closed[j] = True
                    left -= 1
                    if known.named.shape[0] > 0:
                        count_superiors(lists, known, j, -1, superior)
                        lowest = 0
                    for c in range(lists.first[j], lists.first[j + 1]):
                        x = lists.members[c]
                        open_menus[x] -= 1
                        other[x] -= lists.column[c] != types[i, j]
                        if x < lowest and other[x] == 0 and open_menus[x] > 0:
                            lowest = x
            count = place(item, known, placed, orders[i], count)
            item = lowest
        for x in range(n):
            if not placed[x]:
                count = place(x, known, placed, orders[i], count)
    return -1


def rankings_of_types(cells: Cells, known: Preferences, types: Paths) -> Ints:
    """(k, n): for each type a ranking, items best first, that takes from every observed menu what the type takes."""
    orders = np.empty((len(types), cells.n_items), np.int64)
    wrong = complete_types(list_menus(cells), known, np.ascontiguousarray(types, np.int32), orders)
    if wrong >= 0:
        raise InputError(f"type {wrong} is not what any ranking of the model takes from the observed menus")
    return orders


def decided_items(orders: Ints, menus: Menus) -> Ints:
    """(k,): how many items at the top of each ranking matter for one of these menus; the others could be swapped."""
    k, n = orders.shape
    last = np.zeros(k, np.int64)
    own, _ = menus.take(np.flatnonzero(menus.sizes > 1))
    rank = np.empty(n, np.int64)
    for i, order in enumerate(orders if len(own) else []):
        rank[order] = np.arange(n)
        last[i] = np.minimum.reduceat(rank[own.item], own.start[:-1]).max()
    return np.where(last + 2 >= n, n, last + 1)


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
