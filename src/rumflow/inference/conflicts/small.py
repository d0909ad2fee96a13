"""The smallest conflicts, which need no search: an item chosen more often from a larger menu, and cycles of three pairs.

    regularity   D inside E, x in D:      rho(E, x) - rho(D, x)                       <= 0
    cycle        pairs ab, bc, ca:        rho(ab, a) + rho(bc, b) + rho(ca, c) - 2    <= 0

hold in every random utility model. A candidate is a set of menus that violates one of them: exact shares by more than the
tolerance, samples by more standard errors than the largest of so many comparisons reaches by chance (Bonferroni). It is only a
screen: what it lets through still has to be a conflict by its own projection or test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from rumflow.core.arrays import Array, Ints
from rumflow.core.menus import Menus
from rumflow.inference.conflicts.subsets import TOLERANCE

#: Beyond this many menus nested ones are not searched pair by pair; and this many candidates are kept, the strongest.
MOST_MENUS, MOST_CANDIDATES = 4096, 1000

_PIECE = 1 << 16


class SmallConflicts:
    """The pairs of nested menus and the triangles of pairs among some menus, looked up once."""

    def __init__(self, menus: Menus) -> None:
        self.menus = menus
        self._nested = nested_menus(menus)
        self._triangles = triangles(menus)

    def find(self, shares: Array, totals: Array | None = None, level: float | None = None) -> list[tuple[int, ...]]:
        """Candidates, two menus first, then the strongest first, for a share of each cell (cells,).

        totals, level   of samples: the choices from each menu, and the level; None: the shares are exact.
        """
        rises, excesses = self.rises(shares, totals), self.excesses(shares, totals)
        compared = rises.compared + excesses.compared
        limit = TOLERANCE if level is None else float(-ndtri(level / max(compared, 1)))
        found: list[tuple[int, ...]] = []
        for rows, values, _ in (rises, excesses):
            chosen = np.flatnonzero(values > limit)
            chosen = chosen[np.argsort(-values[chosen], kind="stable")]
            found += [tuple(sorted(row)) for row in rows[chosen[:MOST_CANDIDATES]].tolist()]
        return list(dict.fromkeys(found))

    def rises(self, shares: Array, totals: Array | None) -> Compared:
        """For every nested pair by how much its worst item rises (of samples: in standard errors)."""
        strength = np.full(len(self._nested), -np.inf)
        compared = 0
        for first in range(0, len(strength), _PIECE):
            small, large = self._nested[first : first + _PIECE].T
            items, cell = self.menus.take(small)
            pair = items.menu
            low, high = shares[cell], shares[self.menus.cells_of(large[pair], items.item)]
            rise = high - low
            compared += int((~np.isnan(rise)).sum())
            if totals is not None:
                n, m = totals[small][pair], totals[large][pair]
                # Of equal shares; one observation more of either kind keeps it positive.
                share = (n * low + m * high + 1.0) / (n + m + 2.0)
                rise = rise / np.sqrt(share * (1.0 - share) * (1.0 / n + 1.0 / m))
            worst = np.maximum.reduceat(np.where(np.isnan(rise), -np.inf, rise), items.start[:-1])
            strength[first : first + _PIECE] = worst
        return Compared(self._nested, strength, compared)

    def excesses(self, shares: Array, totals: Array | None) -> Compared:
        """By how much the shares of every triangle of pairs are beyond 2, in both directions (of samples: in standard errors)."""
        cell = self._triangles
        menu = self.menus.menu[cell]
        other = 2 * self.menus.start[menu] + 1 - cell  # of the pair
        win = np.where(np.isnan(shares[cell]), 1.0 - shares[other], shares[cell])
        excess = win[:, 0] + win[:, 1] + win[:, 2] - 2.0
        if totals is not None:
            n = totals[menu]
            share = (n * win + 1.0) / (n + 2.0)
            variance = share * (1.0 - share) / n
            excess = excess / np.sqrt(variance[:, 0] + variance[:, 1] + variance[:, 2])
        known = ~np.isnan(excess)
        return Compared(menu[known], excess[known], int(known.sum()))


class Compared(NamedTuple):
    """Sets of menus, how strongly each violates its inequality, and how many comparisons that took."""

    menus: Ints  # (k, menus of a set)
    strength: Array  # (k,)
    compared: int


def nested_menus(menus: Menus) -> Ints:
    """(k, 2): all pairs of different menus of which the first is inside the second; none where there are too many menus."""
    count = len(menus)
    if count > MOST_MENUS:
        return np.empty((0, 2), np.int64)
    # Items as bits of words: the first menu is inside the second where none of its bits is missing there.
    words = np.zeros((menus.n_items // 64 + 1, count), np.uint64)
    np.bitwise_or.at(words, (menus.item >> 6, menus.menu), np.uint64(1) << (menus.item & 63).astype(np.uint64))
    step = max(_PIECE // max(count, 1), 1)
    found = [np.empty((0, 2), np.int64)]
    for first in range(0, count, step):
        inside = ~np.eye(min(step, count - first), count, first, dtype=np.bool_)
        for word in words:
            inside &= (word[first : first + step, None] & ~word) == 0
        found.append(np.argwhere(inside) + np.array([first, 0]))
    return np.concatenate(found)


def triangles(menus: Menus) -> Ints:
    """(k, 3): the cells of a, b and c in every triangle of pairs ab, bc, ca, in both directions."""
    first = menus.start[:-1][menus.sizes == 2]
    cell, other = np.concatenate([first, first + 1]), np.concatenate([first + 1, first])
    better, worse = menus.item[cell], menus.item[other]
    order = np.lexsort((worse, better))
    cell, other, better, worse = cell[order], other[order], better[order], worse[order]
    pair = np.full(menus.n_items, -1)  # of x and this item, where it is later than x
    found = [np.empty((0, 3), np.int64)]
    for x in np.unique(better)[:-2]:
        near = np.flatnonzero((better == x) & (worse > x))
        pair[worse[near]] = near
        sides = np.flatnonzero((pair[better] >= 0) & (pair[worse] >= 0))
        found.append(np.stack([cell[pair[better[sides]]], cell[sides], other[pair[worse[sides]]]], axis=1))
        pair[worse[near]] = -1
    return np.concatenate(found)
