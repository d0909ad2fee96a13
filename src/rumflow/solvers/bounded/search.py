"""Cheap rankings by local search.

The price of a ranking is the sum over the observed menus D of price[D, x], x its best item of D. Take item x out of a ranking and
put it back at place q among the others: x gets the menus D that contain it and whose best other item t stands at q or further
down. With d(D) = price[D, x] - price[D, t], the price of place q is, up to a constant, the sum of d(D) over the menus with t at
q or below: one pass over the menus of x prices all its places. *Descent* moves one item after the other to its best place until
no move helps. A *kick* puts some items, one by one, at random places, and descent starts again; the better of the two rankings
is kept. Where everybody prefers a to b, places of a end at b and those of b begin after a.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask, Paths
from rumflow.core.compile import kernel, leaf
from rumflow.core.graph import Index
from rumflow.core.graph_cells import Cells
from rumflow.core.threads import run_threads
from rumflow.models.rankings import place

#: Items that a kick moves.
KICK = 3

_STARTS_A_PIECE = 16  # rankings that one thread improves at a time


class Board(NamedTuple):
    """The observed menus as the search sees them."""

    first: Ints  # (m + 1,): the items of menu j are members[first[j] .. first[j + 1] - 1]
    members: Index
    menus_first: Ints  # (n + 1,): the menus of item x are menus[menus_first[x] .. menus_first[x + 1] - 1]
    menus: Index
    column: Index  # (m, n): the column of the cell (menu, item)
    above: Mask  # (n, n): everybody prefers a to b


def make_board(cells: Cells, above: Mask) -> Board:
    """The menus of these cells, and who prefers what."""
    member = cells.membership
    items, menus = np.nonzero(member)[1], np.nonzero(member.T)[1]
    ends = np.concatenate([[0], np.cumsum(member.sum(axis=1))]), np.concatenate([[0], np.cumsum(member.sum(axis=0))])
    return Board(
        ends[0].astype(np.int64),
        items.astype(np.int32),
        ends[1].astype(np.int64),
        menus.astype(np.int32),
        cells.column,
        np.ascontiguousarray(above),
    )


@leaf
def best_other(board, rank, menu, x):
    """The best item of a menu beside x; -1 where there is none."""
    best = np.int64(-1)
    for i in range(board.first[menu], board.first[menu + 1]):
        y = board.members[i]
        if y != x and (best < 0 or rank[y] < rank[best]):
            best = np.int64(y)
    return best


@leaf
def move(order, rank, x, q):
    """Put item x at place q; the others keep their order."""
    p = rank[x]
    step = 1 if q > p else -1
    while p != q:
        order[p] = order[p + step]
        rank[order[p]] = p
        p += step
    order[q] = x
    rank[x] = q


@leaf
def allowed_places(board, order, rank, x):
    """The first and the last place that known preferences leave to x."""
    n = rank.shape[0]
    low, high = np.int64(0), np.int64(n - 1)
    here = rank[x]
    for p in range(here - 1, -1, -1):
        if board.above[order[p], x]:
            low = np.int64(p + 1)
            break
    for p in range(here + 1, n):
        if board.above[x, order[p]]:
            high = np.int64(p - 1)
            break
    return low, high


@leaf
def improve_item(board, price, order, rank, x, change, least):
    """Move x to its best place where that saves more than `least`; what it saves. `change`: scratch, one number per item."""
    n = rank.shape[0]
    here = rank[x]
    for q in range(n):
        change[q] = 0.0
    for i in range(board.menus_first[x], board.menus_first[x + 1]):
        menu = board.menus[i]
        t = best_other(board, rank, menu, x)
        if t >= 0:
            at = rank[t] - 1 if rank[t] > here else rank[t]  # among the items without x
            change[at] += price[menu, x] - price[menu, t]
    low, high = allowed_places(board, order, rank, x)
    total = 0.0
    best, best_place = np.inf, here
    now = 0.0
    for q in range(n - 1, -1, -1):
        total += change[q]
        if q == here:
            now = total
        if low <= q <= high and total < best:
            best, best_place = total, np.int64(q)
    if now - best > least:
        move(order, rank, x, best_place)
        return now - best
    return 0.0


@leaf
def descend(board, price, order, rank, change, least):
    """Move items to better places until none has one."""
    n = rank.shape[0]
    quiet = 0  # items in a row that stayed where they were
    x = 0
    while quiet < n:
        quiet = 0 if improve_item(board, price, order, rank, x, change, least) > 0.0 else quiet + 1
        x = x + 1 if x + 1 < n else 0


@leaf
def take(board, price, rank, row):
    """Write the type of a ranking into `row`; its price."""
    total = 0.0
    for menu in range(row.shape[0]):
        x = best_other(board, rank, menu, -1)
        row[menu] = board.column[menu, x]
        total += price[menu, x]
    return total


@kernel
def search(board, price, orders, kicks, least, types, prices):
    """Improve each ranking in place, by descent and as many kicks as there are random numbers for.

    Every ranking that no move improves is written down, as a type with its price: (1 + number of kicks) rows a ranking.
    `kicks`: (rankings, kicks, 2 KICK) numbers in [0, 1). `price`: (m, n).
    """
    count, n = orders.shape
    rounds = kicks.shape[1]
    rank = np.empty(n, np.int64)
    trial = np.empty(n, np.int64)
    change = np.empty(n)
    for s in range(count):
        order = orders[s]
        best = np.inf
        for r in range(rounds + 1):
            for p in range(n):
                trial[p] = order[p]
                rank[trial[p]] = p
            if r > 0:
                for t in range(KICK):
                    x = np.int64(kicks[s, r - 1, 2 * t] * n)
                    low, high = allowed_places(board, trial, rank, x)
                    move(trial, rank, x, low + np.int64(kicks[s, r - 1, 2 * t + 1] * (high - low + 1)))
            descend(board, price, trial, rank, change, least)
            at = s * (rounds + 1) + r
            prices[at] = take(board, price, rank, types[at])
            if prices[at] < best:
                best = prices[at]
                for p in range(n):
                    order[p] = trial[p]


@kernel
def repair(above, orders):
    """Make rankings respect known preferences, in place: an item's superiors come right before it where they came after it."""
    n = orders.shape[1]
    given = np.empty(n, np.int64)
    placed = np.empty(n, np.bool_)
    for s in range(orders.shape[0]):
        given[:] = orders[s]
        placed[:] = False
        count = 0
        for p in range(n):
            if not placed[given[p]]:
                count = place(given[p], above, placed, orders[s], count)


def random_orders(rng: np.random.Generator, count: int, above: Mask) -> Ints:
    """Random rankings that respect known preferences."""
    orders = np.argsort(rng.random((count, len(above))), axis=1)
    repair(above, orders)
    return orders


def find_cheap(board: Board, price: Array, orders: Ints, kicks: Array, threads: int) -> tuple[Paths, Array]:
    """Search from each ranking, `orders` being improved in place; types that were found, and their prices."""
    rounds = kicks.shape[1] + 1
    types = np.empty((len(orders) * rounds, len(price)), np.int32)
    prices = np.empty(len(types))
    least = 1e-13 * float(np.abs(price).sum())

    def task(first: int) -> None:
        last = min(first + _STARTS_A_PIECE, len(orders))
        out = slice(first * rounds, last * rounds)
        search(board, price, orders[first:last], kicks[first:last], least, types[out], prices[out])

    run_threads(task, range(0, len(orders), _STARTS_A_PIECE), threads)
    return types, prices
