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

from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.compile import clock, kernel, leaf
from rumflow.core.graph_cells import Cells
from rumflow.core.patience import check_interrupt
from rumflow.core.preferences import Preferences, prefers
from rumflow.core.threads import run_threads
from rumflow.models.rankings import MenuLists, list_menus, place

#: Items that a kick moves.
KICK = 3

_STARTS_A_PIECE = 16  # rankings that one thread improves at a time
_LOOKS_A_CALL = 1 << 24  # places and cells between two checks of the clock, less than a tenth of a second


class Board(NamedTuple):
    """The observed menus as the search sees them."""

    lists: MenuLists
    known: Preferences


def make_board(cells: Cells, known: Preferences) -> Board:
    """The menus of these cells, and who prefers what."""
    return Board(list_menus(cells), known)


@leaf
def best_other(board, rank, menu, x):
    """The cell of the best item of a menu beside x; -1 where there is none."""
    lists = board.lists
    best = np.int64(-1)
    for i in range(lists.first[menu], lists.first[menu + 1]):
        y = lists.members[i]
        if y != x and (best < 0 or rank[y] < rank[lists.members[best]]):
            best = np.int64(i)
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
    if board.known.named.shape[0] == 0 or board.known.number[x] < 0:
        return low, high
    here = rank[x]
    for p in range(here - 1, -1, -1):
        if prefers(board.known, order[p], x):
            low = np.int64(p + 1)
            break
    for p in range(here + 1, n):
        if prefers(board.known, x, order[p]):
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
    lists = board.lists
    for i in range(lists.menus_first[x], lists.menus_first[x + 1]):
        best_cell = best_other(board, rank, lists.menus[i], x)
        if best_cell >= 0:
            at = rank[lists.members[best_cell]]
            at = at - 1 if at > here else at  # among the items without x
            change[at] += price[lists.cells[i]] - price[best_cell]
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
def descend(board, price, order, rank, change, least, at, most):
    """Move items to better places until none has one, or until `most` were looked at; how many were.

    `at[2]`: items in a row that stayed where they were; `at[3]`: the next item.
    """
    n = rank.shape[0]
    looked = 0
    while at[2] < n and looked < most:
        x = at[3]
        at[2] = 0 if improve_item(board, price, order, rank, x, change, least) > 0.0 else at[2] + 1
        at[3] = x + 1 if x + 1 < n else 0
        looked += 1
    return looked


@leaf
def take(board, price, rank, row):
    """Write the type of a ranking into `row`; its price."""
    total = 0.0
    for menu in range(row.shape[0]):
        best = best_other(board, rank, menu, -1)
        row[menu] = board.lists.column[best]
        total += price[best]
    return total


class Searched(NamedTuple):
    """How far a search has come, so that it can go on from there."""

    at: Ints  # (4,): the ranking and its round, and `descend`'s place in it; -1 before the round has begun
    trial: Ints  # (n,): the ranking that is being improved
    rank: Ints  # (n,): its places
    change: Array  # (n,): scratch


@kernel
def search(board, price, orders, kicks, least, found, most, types, prices):
    """Improve each ranking in place, by descent and as many kicks as there are random numbers for.

    Every ranking that no move improves is written down, as a type with its price: (1 + number of kicks) rows a ranking.
    `kicks`: (rankings, kicks, 2 KICK) numbers in [0, 1). `price`: by cell. Returns after a look at `most` items, True when all
    is done.
    """
    count, n = orders.shape
    rounds = kicks.shape[1] + 1
    at, trial, rank, change = found
    while at[0] < count and most > 0:
        s, r = at[0], at[1]
        order = orders[s]
        if at[2] < 0:
            at[2] = at[3] = 0
            for p in range(n):
                trial[p] = order[p]
                rank[trial[p]] = p
            if r > 0:
                for t in range(KICK):
                    x = np.int64(kicks[s, r - 1, 2 * t] * n)
                    low, high = allowed_places(board, trial, rank, x)
                    move(trial, rank, x, low + np.int64(kicks[s, r - 1, 2 * t + 1] * (high - low + 1)))
        most -= descend(board, price, trial, rank, change, least, at, most)
        if at[2] < n:
            break
        row = s * rounds + r
        prices[row] = take(board, price, rank, types[row])
        best = np.inf
        for t in range(s * rounds, row):
            best = min(best, prices[t])
        if prices[row] < best:
            for p in range(n):
                order[p] = trial[p]
        at[2] = -1
        at[1] = r + 1 if r + 1 < rounds else 0
        at[0] = s + (r + 1 == rounds)
    return at[0] == count


@kernel
def write_trial(board, price, found, types, prices, row):
    """Write down the ranking that is being improved as it is."""
    prices[row] = take(board, price, found.rank, types[row])


@kernel
def repair(known, orders):
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
                count = place(given[p], known, placed, orders[s], count)


def random_orders(rng: np.random.Generator, count: int, n: int, known: Preferences) -> Ints:
    """Random rankings of n items that respect known preferences."""
    orders = np.argsort(rng.random((count, n)), axis=1)
    if len(known.named):
        repair(known, orders)
    return orders


def find_cheap(
    board: Board, price: Array, orders: Ints, kicks: Array, threads: int, deadline: float | None = None
) -> tuple[Paths, Array]:
    """Search from each ranking, `orders` being improved in place; types that were found, and their prices.

    `price`: by cell. After the deadline, on `rumflow.core.compile.clock`, those found so far: at least one of each thread.
    """
    rounds = kicks.shape[1] + 1
    n, m = orders.shape[1], len(board.lists.first) - 1
    types = np.empty((len(orders) * rounds, m), np.int32)
    prices = np.empty(len(types))
    known = np.zeros(len(types), np.bool_)
    least = 1e-13 * float(np.abs(price).sum())
    # An item takes a look at all places, and at the cells of its menus.
    cells = int((np.diff(board.lists.first) ** 2).sum())
    most = max(1, _LOOKS_A_CALL // (n + cells // n))
    stopped: list[bool] = []

    def task(first: int) -> None:
        last = min(first + _STARTS_A_PIECE, len(orders))
        out = slice(first * rounds, last * rounds)
        found = Searched(np.array([0, 0, -1, 0]), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n))
        own = board, price, orders[first:last], kicks[first:last], least, found
        while not search(*own, most, types[out], prices[out]) and not stopped:
            check_interrupt()
            if deadline is not None and clock() > deadline:
                stopped.append(True)
        row = int(found.at[0]) * rounds + int(found.at[1])
        if found.at[2] >= 0:
            write_trial(board, price, found, types[out], prices[out], row)
            row += 1
        known[out][:row] = True

    run_threads(task, range(0, len(orders), _STARTS_A_PIECE), threads)
    return (types, prices) if not stopped else (types[known], prices[known])
