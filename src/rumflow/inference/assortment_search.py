"""Search for the best menu: branch and bound over sets of items.

*Types.* Let a person be known by what they take from the recorded menus. From these choices follows what they like better than
what: x taken from D is above every other item of D, and so on along chains. From a menu S such a person may take any x of S
that is not below another item of S. The least revenue from them is that of the cheapest such x,

    w(S) = min over x in S of max over y in S, y = x or y above x, of revenue(y),

because above every x of S there is, or x itself is, an item of S that nothing in S is above. That holds where every ranking is
somebody's (or all that respect known preferences). In smaller models, of single-peaked preferences or of attributes, a person is
known by a ranking of all items, and what is above x is what that ranking has above it.

*Bounds.* Where the items I are certainly in S, and O certainly not, the same formula with x in I and y outside O is at least
w(S). Any population that counts (one with the fitted values on the recorded cells, or one that is not rejected), with weights
p of its types, bounds the worst case of all such S:

    worst case of S  <=  sum of p(t) w_t(I, O).

The population is chosen so that this is least, by a linear programme over a pool of types; every population found bounds all
other nodes, too. Where everything is decided, the worst case is computed exactly (`rumflow.inference.sharp.worst_case`), and
the population that attains it joins the pool. Nodes with the highest bound go first, so the bound of the next node is one for
all that is left; of nodes with the same bound the latest, so that a menu is reached soon.

*Closed menus.* Let i and k be items with revenue(i) <= revenue(k), and k on every recorded menu that has i. Whatever is above i
is then above k, or is k: a best menu that has i may have k as well. Only such menus are searched, except where limits forbid k,
or the model does not have every ranking.
(Sturt 2021 has this for the unconstrained problem.)
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.compile import clock, kernel, leaf
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.core.memory import NoMemoryError, require_memory
from rumflow.core.patience import OutOfTimeError, check_patience
from rumflow.core.preferences import Preferences
from rumflow.models.open_menus import Words, as_words

_AT_ONCE = 20_000_000  # items looked at between two looks at the clock
_CANDIDATES = 12  # items tried before a node is split
_MOST_POPULATIONS = 400  # kept as bounds; the oldest go


@kernel
def relate(taken, membership, known, above):
    """above[t, y]: the items above y for type t, as bits, where it takes taken[t, j] from menu j.

    known   the same for all types; (0, words) where nothing is
    """
    types, m = taken.shape
    n = membership.shape[1]
    words = above.shape[2]
    for t in range(types):
        for y in range(n):
            for w in range(words):
                above[t, y, w] = known[y, w] if known.shape[0] > 0 else np.uint64(0)
        for j in range(m):
            x = taken[t, j]
            for y in range(n):
                if membership[j, y] and y != x:
                    above[t, y, x >> 6] |= np.uint64(1) << np.uint64(x & 63)
        for x in range(n):
            for y in range(n):
                if above[t, y, x >> 6] >> np.uint64(x & 63) & np.uint64(1):
                    for w in range(words):
                        above[t, y, w] |= above[t, x, w]


@leaf
def least_revenues(above, inside, allowed, revenue, worth):
    """w for every type: `inside` numbers the items I, `allowed` are the bits of what is not in O; items by falling revenue."""
    for t in range(above.shape[0]):
        best = np.inf
        for x in inside:
            y = x
            for w in range(x // 64 + 1):
                bits = above[t, x, w] & allowed[w]
                if bits:
                    place = 64 * w
                    while not bits & np.uint64(1):
                        bits >>= np.uint64(1)
                        place += 1
                    y = min(y, place)
                    break
            best = min(best, revenue[y])
        worth[t] = best


@leaf
def least_of_rankings(orders, inside, outside, revenue, worth):
    """w for every ranking, best item first: at the first item of I, the cheapest, the best revenue down to there outside of O."""
    for t in range(orders.shape[0]):
        best = orders.shape[1]
        for x in orders[t]:
            if not outside[x]:
                best = min(best, x)
            if inside[x]:
                break
        worth[t] = revenue[best]


class Limits(NamedTuple):
    """Which menus are allowed; items are numbered by falling revenue."""

    must: Mask  # (n,): with the outside option
    max_size: int  # items of a menu without the outside option
    apart: Mask  # (groups, n): at most one item of each


class Found(NamedTuple):
    """The result of a search."""

    menu: Mask  # (n,)
    value: float
    upper: float  # no menu is above this
    nodes: int
    reason: str  # "" where the search was completed


class Node(NamedTuple):
    """Sets of menus: the items that are in, and those that are out."""

    inside: Mask
    outside: Mask


class Space:
    """The menus to search, in items by falling revenue, as nodes that are split."""

    def __init__(self, revenue: Array, limits: Limits, implied: Any) -> None:
        self.revenue: Array = revenue
        self._limits = limits
        self._implied = implied  # [i, k], sparse where there are many items: a menu with i may as well have k

    def root(self) -> Node | None:
        """All menus."""
        return self._settle(Node(self._limits.must.copy(), np.zeros(len(self.revenue), np.bool_)))

    def split(self, node: Node, item: int) -> list[Node]:
        """The menus with the item, and those without it."""
        parts = []
        for group in node._fields:
            new = node._replace(**{group: getattr(node, group).copy()})
            getattr(new, group)[item] = True
            settled = self._settle(new)
            if settled is not None:
                parts.append(settled)
        return parts

    def allows(self, menu: Mask) -> bool:
        """Does a menu keep the limits?"""
        must, size, apart = self._limits
        return bool((menu >= must).all() and menu.sum() - 1 <= size and ((apart & menu).sum(axis=1) <= 1).all())

    def _settle(self, node: Node) -> Node | None:
        """What follows from the limits and for closed menus; None where no menu is left."""
        inside, outside = node
        while True:
            more = inside | (inside @ self._implied)
            less = outside | (self._implied @ outside)
            for group in self._limits.apart:
                if (group & more).any():
                    less = less | (group & ~more)
            if (more & less).any() or not self.allows(more):
                return None
            if more.sum() - 1 == self._limits.max_size:
                less = ~more
            if (more == inside).all() and (less == outside).all():
                return Node(more, less)
            inside, outside = more, less


class TypePool:
    """A pool of types, with what each likes better than what."""

    def __init__(self, above: Words, revenue: Array) -> None:
        self.above: Words = above
        self.revenue: Array = revenue

    def extend(self, above: Words) -> None:
        """Take in further types."""
        self.above = np.concatenate([self.above, above])

    def worth(self, node: Node, types: Ints | slice = slice(None)) -> Array:
        """w for the types."""
        above = self.above[types]
        worth = np.empty(len(above))
        allowed = as_words(~node.outside[None])[0]
        least_revenues(above, np.flatnonzero(node.inside), allowed, self.revenue, worth)
        return worth


class RankingPool:
    """The same where everybody is known by a ranking, best item first: what it has above an item need not be written down."""

    def __init__(self, orders: Ints, revenue: Array) -> None:
        self.orders: Ints = orders
        self.revenue: Array = revenue

    def extend(self, orders: Ints) -> None:
        """Take in further types."""
        self.orders = np.concatenate([self.orders, orders])

    def worth(self, node: Node, types: Ints | slice = slice(None)) -> Array:
        """w for the types."""
        chosen = np.arange(len(self.orders))[types]
        worth = np.empty(len(chosen))
        for begin, end in blocks_of(len(chosen), self.orders.shape[1]):
            own = self.orders[chosen[begin:end]]
            least_of_rankings(own, node.inside, node.outside, self.revenue, worth[begin:end])
        return worth


def blocks_of(rows: int, size: int) -> Iterator[tuple[int, int]]:
    """Begin and end of blocks of rows, each of that size, with a look at the clock between two of them."""
    step = max(1, _AT_ONCE // max(size, 1))
    for begin in range(0, rows, step):
        if begin:
            check_patience()
        yield begin, min(begin + step, rows)


def choose_item(space: Space, types: TypePool | RankingPool, population: Array, node: Node) -> int:
    """The item to split a node by: that with the lowest bounds of both parts, for one population."""
    free = np.flatnonzero(~(node.inside | node.outside))
    if len(free) > _CANDIDATES:
        free = free[np.linspace(0, len(free) - 1, _CANDIDATES).astype(np.int64)]
    used = np.flatnonzero(population > 0)
    weights = population[used]
    best, choice = (np.inf, np.inf), int(free[0])
    for item in free:
        bounds = [float(weights @ types.worth(part, used)) for part in space.split(node, int(item))]
        score = (max(bounds, default=-np.inf), min(bounds, default=-np.inf))
        if score < best:
            best, choice = score, int(item)
    return choice


#: What ends a search before it is done.
STOPS = (KeyboardInterrupt, OutOfTimeError, GraphTooLargeError, NoMemoryError)


def reason_of(stop: BaseException) -> str:
    """As `BestAssortment.reason` calls it."""
    late = "max_seconds" if isinstance(stop, OutOfTimeError) else "too large"
    return "interrupted" if isinstance(stop, KeyboardInterrupt) else late


class SearchGoal(NamedTuple):
    """When a search ends."""

    tol: float  # a menu this much better may be missed
    deadline: float = np.inf  # by `clock`
    ceiling: float = np.inf  # no menu is above it


def search(
    space: Space,
    bound: Callable[[Node, float], tuple[float, int]],
    value: Callable[[Mask], float],
    start: tuple[Mask, float] | None,
    goal: SearchGoal,
    first: Sequence[Mask] = (),
    report: Callable[[int, float, float], None] | None = None,
) -> Found:
    """The best menu of a space.

    bound   of a node and what is to be beaten: an upper bound, and the item to split by (-1 where all is decided)
    value   of a menu
    start   a menu and its value
    goal    when to end
    first   menus to value before the search begins
    """
    tol, deadline, ceiling = goal
    menu, best = start if start is not None else (np.zeros(len(space.revenue), np.bool_), -np.inf)
    root = space.root()
    heap: list[tuple[float, int, Node]] = [] if root is None else [(-ceiling, 0, root)]
    made, nodes, reason = 0, 0, ""
    dropped = best  # the highest bound of a node that was not split
    pending = -np.inf  # the bound of a node that is off the heap while its parts are not yet on it
    try:
        for early in first:
            if clock() > deadline:
                break
            own = value(early)
            if own > best:
                menu, best = early, own
        while heap:
            high = -heap[0][0]
            if high <= best + tol:
                break
            if clock() > deadline:
                reason = "max_seconds"
                break
            node = heap[0][2]
            here, item = bound(node, best + tol)
            here = min(here, high)
            if item < 0 and here > best + tol:
                own = value(node.inside)
                if own > best:
                    menu, best = node.inside, own
                here = best  # decided: it is not better than the best
            pending = here
            heapq.heappop(heap)
            nodes += 1
            if here > best + tol:
                for part in space.split(node, item):
                    made += 1
                    heapq.heappush(heap, (-here, -made, part))
            else:
                dropped = max(dropped, here)
            pending = -np.inf
            if report is not None:
                report(nodes, best, max(-heap[0][0] if heap else best, best))
    except OutOfTimeError:
        reason = "max_seconds"
    except (KeyboardInterrupt, GraphTooLargeError, NoMemoryError) as stop:
        if not np.isfinite(best):
            raise
        reason = reason_of(stop)
    upper = max(best, dropped, pending, -heap[0][0] if heap else best)
    return Found(menu, best, upper, nodes, reason)


def search_mixture(
    orders: Ints, weights: Array, space: Space, tol: float, deadline: float, start: tuple[Mask, float]
) -> Found:
    """The best menu for one population, given as rankings."""
    types = RankingPool(orders, space.revenue)

    def bound(node: Node, beat: float) -> tuple[float, int]:
        here = float(weights @ types.worth(node))
        decided = bool((node.inside | node.outside).all())
        return here, -1 if decided or here <= beat else choose_item(space, types, weights, node)

    def value(menu: Mask) -> float:
        return float(weights @ types.worth(Node(menu, ~menu)))

    return search(space, bound, value, start, SearchGoal(tol, deadline))


class WorstCases:
    """Bounds on the worst case of nodes, over populations that are given by what they take from the recorded menus.

    membership, counted   (m, n): the recorded menus, and the cells that say which populations count
    known                 which items everybody prefers to which; None where not all such rankings are in the model
    cheapest              of the worth of types, and who takes which cell (cells, types): shares of types that count, with the
                          least worth
    """

    def __init__(
        self,
        membership: Mask,
        counted: Mask,
        known: Preferences | None,
        revenue: Array,
        cheapest: Callable[[Array, Any], Array],
    ) -> None:
        self._membership, n = membership, len(revenue)
        words = -(-n // 64)
        self._known: Words | None = None
        if known is not None:
            self._known = as_words(known.table(n).T) if len(known.named) else np.empty((0, words), np.uint64)
        self._cells = Cells(membership)  # every item of a menu is a cell of its own
        number = np.cumsum(counted).reshape(counted.shape) - 1
        self._number = np.where(counted, number, -1)  # (m, n): of the cells that count
        self._cheapest = cheapest
        self.types: TypePool | RankingPool = (
            RankingPool(np.empty((0, n), np.int64), revenue)
            if known is None
            else TypePool(np.empty((0, n, words), np.uint64), revenue)
        )
        self._seen: set[bytes] = set()
        self.matrix: Any = sparse.csc_matrix((int(counted.sum()), 0))
        self.populations: list[Array] = []

    def learn(self, orders: Ints) -> None:
        """Take the types of a population into the pool; the first must be one that counts."""
        people = orders if self._known is None else self._taken(orders)
        rows = [row for row in np.unique(people, axis=0) if row.tobytes() not in self._seen]
        if not rows:
            return
        new = np.array(rows)
        self._seen.update(row.tobytes() for row in rows)
        if isinstance(self.types, RankingPool):
            self.types.extend(new)
            new = self._taken(new)
        else:
            self.types.extend(self._relate(new))
        number = self._number[np.arange(new.shape[1]), new]  # (types, m): which of the cells that count they take
        counts = number >= 0
        ends = np.append(0, np.cumsum(counts.sum(axis=1)))
        entries = np.ones(int(ends[-1])), number[counts], ends
        columns = sparse.csc_matrix(entries, shape=(self.matrix.shape[0], len(new)))
        self.matrix = sparse.hstack([self.matrix, columns], "csc")

    def _relate(self, taken: Ints) -> Words:
        """What types like better than what."""
        assert self._known is not None
        n, words = len(self.types.revenue), self._known.shape[1]
        needed = 8 * n * words * (2 * len(taken) + len(self._seen))  # the pool is copied when it grows
        require_memory(needed, f"the table of what {len(self._seen):,} types prefer among {n:,} items")
        above = np.empty((len(taken), n, words), np.uint64)
        for begin, end in blocks_of(len(taken), n * n):
            relate(taken[begin:end], self._membership, self._known, above[begin:end])
        return above

    def _taken(self, orders: Ints) -> Ints:
        """What rankings take from the recorded menus."""
        return self._cells.items_of_types(self._cells.types_of_orders(orders))

    def bound(self, space: Space, node: Node, beat: float) -> tuple[float, int]:
        """An upper bound on the worst case of the menus of a node, and the item to split by."""
        worth = self.types.worth(node)
        for place in range(len(self.populations) - 1, -1, -1):
            population = self.populations[place]
            here = float(population @ worth[: len(population)])
            if here <= beat:
                self.populations.append(self.populations.pop(place))  # what has helped is asked first
                return here, 0
        population = self._cheapest(worth, self.matrix)
        self.populations.append(population)  # it bounds other nodes, too
        del self.populations[:-_MOST_POPULATIONS]
        here = float(population @ worth)
        decided = bool((node.inside | node.outside).all())
        if decided or here <= beat:
            return here, -1 if decided else 0
        return here, choose_item(space, self.types, population, node)
