"""The order of items that goes against the fewest votes: the linear ordering problem, exactly or between certified bounds.

Each compared pair says that item a should come before item b, at a price if it does not. The cheapest order is sought.

* Where these wishes form no cycle an order has them all. In general items fall into *tangles*, the strongly connected components
  of the wishes; between tangles there is an order without any cost, so each is solved by itself.
* Up to 12 items, and up to 24 where bounds do not meet: the cheapest ranking on the lattice (`rumflow.core.paths`), with the
  price of taking x from the menu D equal to the wishes of the other items of D to come before x.
* Otherwise: an order by local search (`rumflow.solvers.bounded.search`), and a lower bound from cycles. Let x_e be 1 where
  wish e is met. Every directed cycle of compared pairs has a step that the order takes, so with lam >= 0 for cycles

      least cost >= sum over cycles of lam (1 - steps against wishes) + sum over pairs of min(cost, -pull),

  pull_e = sum of lam over the cycles along wish e less those against it: the Lagrangean of the linear relaxation, minimised
  over x in [0, 1]. It holds for any lam; they come from HiGHS, the cycles from shortest paths (`find_short_cycles`).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rumflow.core.arrays import Array, Ints
from rumflow.core.graph_cells import Cells
from rumflow.core.memory import require_memory
from rumflow.core.menus import Menus
from rumflow.core.pair_certificate import check_cycles
from rumflow.core.pairs import Cycles, Pairs, arc_lengths, find_short_cycles, first_of_each, make_pairs
from rumflow.core.paths import cheapest_below, extract_path, orders_from_paths
from rumflow.core.patience import check_patience
from rumflow.core.preferences import NOTHING_KNOWN
from rumflow.solvers.bounded.ordering import minimise
from rumflow.solvers.bounded.search import KICK, find_cheap, make_board, random_orders

#: The largest tangle that is solved exactly.
MOST_EXACT = 24

_QUICK = 12  # tangles of more items are first tried by bounds, which mostly meet and take less time
_CLOSED = 1e-9
_STARTS = 3  # rankings that the local search begins from
_LOOKS = 10_000_000  # how often each is disturbed, times the square of the items
_MOST_ROUNDS, _MOST_CYCLES = 25, 8_000
_SHORT = 1e-6  # cycles that lack less are long enough


class Wishes(NamedTuple):
    """Item a[e] should come before item b[e], which is worth cost[e] > 0."""

    n: int
    a: Ints
    b: Ints
    cost: Array

    def price(self, place: Ints) -> float:
        """What an order costs; place[x]: where item x is."""
        return float(self.cost[place[self.a] > place[self.b]].sum())

    def among(self, items: Ints) -> Wishes:
        """The wishes among some of the items, which are numbered anew."""
        number = np.full(self.n, -1)
        number[items] = np.arange(len(items))
        inside = (number[self.a] >= 0) & (number[self.b] >= 0)
        return Wishes(len(items), number[self.a[inside]], number[self.b[inside]], self.cost[inside])


class Ordered(NamedTuple):
    """An order, what it costs, and a bound that no order is below."""

    order: Ints  # (n,): the first item first
    cost: float
    lower: float


def cheapest_order(wishes: Wishes, threads: int | None = 1) -> Ordered:
    """The cheapest order; `cost` and `lower` are the same up to tangles of 24 items."""
    graph = sparse.csr_matrix((np.ones(len(wishes.a)), (wishes.a, wishes.b)), (wishes.n, wishes.n))
    count, own = connected_components(graph, directed=True, connection="strong")
    tangle = own.astype(np.int64)
    order, lower = np.empty(0, np.int64), 0.0
    members = np.split(np.argsort(tangle, kind="stable"), np.searchsorted(np.sort(tangle), np.arange(1, count)))
    for k in _in_line(wishes, tangle, count):
        items = members[k]
        if len(items) > 1:
            part = wishes.among(items)
            found = _exact(part, threads) if part.n <= _QUICK else _bounded(part, threads)
            if part.n <= MOST_EXACT and found.lower < found.cost * (1.0 - _CLOSED):
                found = _exact(part, threads)
            items, lower = items[found.order], lower + found.lower
        order = np.concatenate([order, items])
    place = np.empty(wishes.n, np.int64)
    place[order] = np.arange(wishes.n)
    cost = wishes.price(place)
    return Ordered(order, cost, min(lower, cost))


def _in_line(wishes: Wishes, tangle: Ints, count: int) -> list[int]:
    """Tangles in an order that costs nothing; where several may come next, that of the item with the best balance of wishes."""
    balance = np.bincount(wishes.a, wishes.cost, wishes.n) - np.bincount(wishes.b, wishes.cost, wishes.n)
    mean = np.bincount(tangle, balance, count) / np.bincount(tangle, minlength=count)
    arcs = np.unique(np.stack([tangle[wishes.a], tangle[wishes.b]], axis=1), axis=0)
    arcs = arcs[arcs[:, 0] != arcs[:, 1]]
    first, waits = np.searchsorted(arcs[:, 0], np.arange(count + 1)), np.bincount(arcs[:, 1], minlength=count)
    ready = [(-mean[k], k) for k in range(count) if waits[k] == 0]
    heapify(ready)
    line = []
    while ready:
        _, k = heappop(ready)
        line.append(k)
        for other in arcs[first[k] : first[k + 1], 1].tolist():
            waits[other] -= 1
            if waits[other] == 0:
                heappush(ready, (-mean[other], other))
    return line


def wish_prices(wishes: Wishes) -> Array:
    """(n, 2^(n-1)): the price of taking x from each menu, in the layout of `rumflow.core.lattice`."""
    n = wishes.n
    against = np.zeros((n, n))
    np.add.at(against, (wishes.b, wishes.a), wishes.cost)  # [x, y]: what it costs that x comes before y
    prices = np.zeros((n, 1 << (n - 1)))
    for x, row in enumerate(prices):
        for bit, y in enumerate(np.delete(np.arange(n), x).tolist()):
            row[1 << bit : 2 << bit] = row[: 1 << bit] + against[x, y]
    return prices


def _exact(wishes: Wishes, threads: int | None) -> Ordered:
    """By dynamic programming over all menus."""
    n = wishes.n
    require_memory(8.0 * (n + 2) * 2 ** (n - 1), f"the cheapest order of {n} items that form one tangle")
    prices = wish_prices(wishes)
    below = cheapest_below(prices, threads)
    path = np.zeros(n, np.int32)
    extract_path(prices, below, below, n, (1 << n) - 1, path)
    order = orders_from_paths(path[None])[0]
    cost = wishes.price(np.argsort(order))
    return Ordered(order, cost, cost)


def cycle_bound(wishes: Wishes, pairs: Pairs, cycles: Cycles, multipliers: Array) -> float:
    """The lower bound of the module's docstring; a ValueError where a row is no cycle or a multiplier is negative."""
    check_cycles(pairs, cycles, multipliers)
    against = (cycles.arc & 1) == 1
    lam = multipliers[cycles.row]
    pull = np.bincount(cycles.arc >> 1, np.where(against, -lam, lam), len(wishes.cost))
    need = 1.0 - np.bincount(cycles.row, against, len(multipliers))
    return float(multipliers @ need) + float(np.minimum(wishes.cost, -pull).sum())


def _bounded(wishes: Wishes, threads: int | None) -> Ordered:
    """Between an order by search and the linear relaxation."""
    pairs = make_pairs(wishes.a, wishes.b, wishes.n)
    cycles, x, lower = Cycles.none(), np.ones(len(wishes.a)), 0.0
    scale = float(wishes.cost.max())
    none, unit = sparse.csr_matrix((0, len(x))), np.tile([0.0, 1.0], (len(x), 1))
    for _ in range(_MOST_ROUNDS):
        check_patience()
        found = find_short_cycles(pairs, arc_lengths(x), _SHORT, threads or 1, look=check_patience).cycles
        new = cycles.join(found)
        new = new.take(np.flatnonzero(first_of_each(*new)))
        if len(new.sizes) in (len(cycles.sizes), 0) or len(new.sizes) > _MOST_CYCLES:
            break
        cycles = new
        sign = np.where(cycles.arc & 1, -1.0, 1.0)
        rows = sparse.csr_matrix((-sign, (cycles.row, cycles.arc >> 1)), (len(cycles.sizes), len(x)))
        right = np.bincount(cycles.row, cycles.arc & 1, len(cycles.sizes)).astype(np.float64) - 1.0
        answer = minimise(-wishes.cost / scale, rows, right, none, unit)
        if answer.status != 0:
            break
        x = np.clip(answer.x, 0.0, 1.0)
        multipliers = np.maximum(-answer.ineqlin.marginals, 0.0) * scale
        lower = max(lower, cycle_bound(wishes, pairs, cycles, multipliers))
    best = _search(wishes, x, threads)
    cost = wishes.price(np.argsort(best))
    return Ordered(best, cost, min(lower, cost))


def _search(wishes: Wishes, x: Array, threads: int | None) -> Ints:
    """A cheap order, by local search from what the relaxation keeps, from the balance of wishes, and from chance."""
    n = wishes.n
    menus, cell = Menus.from_cells(
        np.repeat(np.arange(len(wishes.a)), 2), np.stack([wishes.a, wishes.b], axis=1).reshape(-1), len(wishes.a), n
    )
    price = np.zeros(len(menus.item))
    price[cell[1::2]] = wishes.cost
    balance = np.bincount(wishes.a, wishes.cost, n) - np.bincount(wishes.b, wishes.cost, n)
    met = x > 0.5  # what the relaxation would rather keep: fewer wishes, and smaller tangles
    kept = Wishes(n, wishes.a[met], wishes.b[met], wishes.cost[met])
    rng = np.random.default_rng(0)
    starts = np.concatenate(
        [np.argsort(-balance, kind="stable")[None], random_orders(rng, _STARTS - 1, n, NOTHING_KNOWN)]
    )
    if not met.all():
        starts[-1] = cheapest_order(kept, threads).order
    kicks = rng.random((len(starts), int(np.clip(_LOOKS // n**2, 20, 500)), 2 * KICK))
    find_cheap(make_board(Cells.of_menus(menus), NOTHING_KNOWN), price, starts, kicks, threads or 1)
    costs = [wishes.price(np.argsort(order)) for order in starts]
    return np.asarray(starts[int(np.argmin(costs))], np.int64)
