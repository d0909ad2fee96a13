"""Is there an order of items that every majority follows? The likelihood ratio of weak stochastic transitivity.

With k of n choices for a against b, p = k / n, the pair speaks against every order that has b first where p > 1/2, and

    cost = n KL(p, 1/2) = k log(2 p) + (n - k) log(2 (1 - p))

is what the likelihood loses when its share is held at 1/2. An order has the highest likelihood with the shares p along it, and
1/2 for the pairs against it, so the likelihood ratio of "some order has shares of 1/2 or more along it" is twice the least cost
of an order (`rumflow.solvers.linear_ordering`).

*A p-value without a list of orders.* Let R be the ratio for the true order. The least ratio is at most R. Given the numbers of
choices, pairs are independent, and what a pair adds to R falls as its true share along the order grows; so R is largest in
distribution where all shares are 1/2. The chance that such an R reaches the ratio that was found is a valid p-value, and a
conservative one: it counts every pair as if it were tied. Pairs on no circle of comparisons are against no cheapest order and are
left out. Ties that count as half a win for each item make shares vary less, not more. Where there is only a lower bound of the
ratio, the bound is compared, which can only make the p-value larger.

*Strong transitivity* with a given order is isotonic regression (`rumflow.core.isotonic`). The ratio is the least over the orders
that are tried: all of them up to six items, and an upper bound beyond.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc, xlogy

from rumflow.check import format_menu
from rumflow.core.arrays import Array, Ints
from rumflow.core.blocks import blocks_of
from rumflow.core.isotonic import regress
from rumflow.core.menus import Menus
from rumflow.core.patience import check_interrupt
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import tie_number
from rumflow.errors import InputError
from rumflow.solvers.linear_ordering import Ordered, Wishes, cheapest_order

#: Items up to which strong transitivity is tried with every order.
MOST_ORDERS = 6

_DRAWN_AT_ONCE = 1 << 21
_ROUNDING = 1e-9  # ratios that differ by less are equal


class PairCounts(NamedTuple):
    """Compared pairs: how often the first item was chosen, of how many choices."""

    n: int
    first: Ints
    second: Ints
    share: Array
    size: Array
    menus: Menus

    @property
    def majorities(self) -> Wishes:
        """The winner of every pair before the loser, at what the likelihood loses otherwise."""
        k = self.share * self.size
        cost = xlogy(k, 2.0 * self.share) + xlogy(self.size - k, 2.0 * (1.0 - self.share))
        won = self.share > 0.5
        a, b = np.where(won, self.first, self.second), np.where(won, self.second, self.first)
        decided = (self.share != 0.5) & (cost > 0)
        return Wishes(self.n, a[decided], b[decided], cost[decided])


def count_pairs(data: ChoiceData) -> PairCounts:
    """The pairs of data that have no larger menus; menus of one item are left out, and ties count half for each item."""
    data = data if tie_number(data.items) < 0 else data.resolve_ties("half")
    sizes = data.offered.sizes
    large = np.flatnonzero(sizes > 2)
    if len(large):
        menu = format_menu(data.offered.labels_of(int(large[0]), data.items))
        others = f" (and {len(large) - 1} more menus are larger than pairs)" if len(large) > 1 else ""
        raise InputError(
            f"menu {menu} offers {int(sizes[large[0]])} items{others}: transitivity is about pairs; leave out larger menus"
        )
    menus, cells = data.offered.take(np.flatnonzero((sizes == 2) & (data.totals > 0)))
    both = data.shares[cells].reshape(-1, 2)
    share = np.where(np.isnan(both[:, 0]), 1.0 - both[:, 1], both[:, 0])
    known = np.flatnonzero(~np.isnan(share))
    if len(known) == 0:
        raise InputError("no pair of items was observed, so there is nothing that could be transitive")
    menus, _ = menus.take(known)
    items = menus.item.reshape(-1, 2).astype(np.int64)
    size = data.totals[(sizes == 2) & (data.totals > 0)][known]
    return PairCounts(data.n, items[:, 0], items[:, 1], share[known], size, menus)


def counts_choices(data: ChoiceData) -> bool:
    """Are numbers of choices whole, so that they can be binomial? Halves of ties may be; weights of surveys are not."""
    weights = np.ones(1) if data.rows is None else data.rows.weight
    return bool(
        (data.totals == np.round(data.totals)).all() and ((weights == np.round(weights)) | (weights == 0.5)).all()
    )


def ratio_pvalue(pairs: PairCounts, ratio: float, n_boot: int, rng: np.random.Generator) -> float:
    """The chance that pairs which are all tied go against an order as much as this, by simulation; never 0."""
    block = blocks_of(pairs.menus)
    size = pairs.size[(np.bincount(block) > 1)[block]].astype(np.int64)
    if ratio <= _ROUNDING or len(size) == 0:
        return 1.0
    reached, left, most = 0, n_boot, max(1, _DRAWN_AT_ONCE // len(size))
    while left:
        check_interrupt()
        k = rng.binomial(size, 0.5, (min(left, most), len(size)))
        p = k / size
        against = np.where(2 * k < size, xlogy(k, 2.0 * p) + xlogy(size - k, 2.0 * (1.0 - p)), 0.0)
        reached += int((2.0 * against.sum(axis=1) >= ratio * (1.0 - _ROUNDING)).sum())
        left -= len(k)
    return (1 + reached) / (1 + n_boot)


def strong_ratio(pairs: PairCounts, orders: list[Ints]) -> float:
    """The likelihood ratio of strong transitivity, the least over some orders; over all up to six items."""
    seen = np.unique(np.concatenate([pairs.first, pairs.second]))
    if len(seen) <= MOST_ORDERS:
        orders = [np.array(order) for order in permutations(seen.tolist())]
    best = np.inf
    for order in orders:
        check_interrupt()
        place = np.zeros(pairs.n, np.int64)
        place[order] = np.arange(len(order))
        a, b = place[pairs.first], place[pairs.second]
        share = np.where(a < b, pairs.share, 1.0 - pairs.share)
        fitted = regress(np.minimum(a, b), np.maximum(a, b), share, pairs.size, pairs.n)
        lost = xlogy(share, share) - xlogy(share, fitted) + xlogy(1.0 - share, 1.0 - share)
        lost -= xlogy(1.0 - share, 1.0 - fitted)
        best = min(best, 2.0 * float((pairs.size * lost).sum()))
    return max(best, 0.0)


def order_of_shares(pairs: PairCounts) -> Ints:
    """Items by their mean share against the others."""
    total = np.bincount(pairs.first, pairs.share, pairs.n) + np.bincount(pairs.second, 1.0 - pairs.share, pairs.n)
    count = np.bincount(pairs.first, minlength=pairs.n) + np.bincount(pairs.second, minlength=pairs.n)
    return np.argsort(-total / np.maximum(count, 1), kind="stable")


def best_order(pairs: PairCounts, threads: int | None) -> Ordered:
    """The order that goes against the fewest choices; items that were never compared come last."""
    found = cheapest_order(pairs.majorities, threads)
    seen = np.isin(found.order, np.concatenate([pairs.first, pairs.second]))
    return found._replace(order=np.concatenate([found.order[seen], found.order[~seen]]))


def majority_pvalues(share: Array, size: Array) -> Array:
    """The chance of so large a share of `size` choices, or a larger one, between items that are tied."""
    k = np.floor(share * size + 1e-9)
    return np.where(k <= 0, 1.0, bdtrc(np.maximum(k - 1, 0), size.astype(np.int64), 0.5))
