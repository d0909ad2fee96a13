"""The search for irreducible conflicts: sets of menus that are a conflict, and none any more without any one of their menus.

*Deletion.* Menus are left out while what stays is a conflict: half of them at a time, then a quarter, ..., then one by one, those
that carry the smallest part of the distance first. What cannot be left out is irreducible. Of exact shares every projection also
gives an inequality that the shares violate, and menus on which its coefficients are constant go at once: it holds without
them, whatever is chosen there.

What is left depends on the order, and the smallest set there is would take a search over all sets. Where more than three menus
stay, other orders are tried, large menus first and small menus first, and the smallest result counts.

*Several.* A second irreducible conflict lacks some menu of the first, so it is found in the data without that menu: a tree, whose
nodes are sets of menus left out, and whose leaves are data without a conflict (Reiter 1987). When all branches have ended, the
list is complete.

Samples are different in one way: a subset of data that are not rejected may itself be rejected, and the other way round. Data
that are not rejected as a whole are not searched, and irreducible means that leaving out any one menu gives a set that is not
rejected.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.menus import Menus
from rumflow.inference.conflicts.small import SmallConflicts
from rumflow.inference.conflicts.subsets import Subsets

#: Candidates that are tried before the search by deletion, and searches after which the tree is left, for each conflict wanted.
MOST_TRIED, MOST_SEARCHES = 20, 8

#: Conflicts of this many menus are not searched for in another way.
SMALL = 3

_CONSTANT = 1e-6  # coefficients that differ by less than this part of the largest are the same


class Found(NamedTuple):
    """Irreducible conflicts, the smallest first."""

    menus: list[tuple[int, ...]]
    complete: bool  # there is no other


class Search:
    """Searches in one data set."""

    def __init__(self, subsets: Subsets, known: SmallConflicts | None = None) -> None:
        """Make a search; `known`: the small conflicts of other data, which are those of the same menus as well."""
        self.subsets = subsets
        data, sampling = subsets.data, subsets.sampling
        self.small: SmallConflicts = (
            known if known is not None and known.menus.same(data.offered) else SmallConflicts(data.offered)
        )
        totals, level = (None, None) if sampling is None else (subsets.n_independent, sampling.level)
        self.candidates: list[tuple[int, ...]] = self.small.find(data.shares, totals, level)
        self.alone: list[int] = []  # menus that are a conflict by themselves: none where everything may be taken
        if subsets.model is not None and subsets.model.single_menus_bind:
            every = [subsets.of_menus([row]) for row in range(len(data.totals))]
            found = [row for row, own in enumerate(every) if own.is_conflict]
            self.alone = sorted(found, key=lambda row: -every[row].distance)

    def first(self, allowed: Ints | None = None) -> tuple[int, ...] | None:
        """One irreducible conflict among all menus, or those `allowed`, the smallest that is found; None where there is none."""
        subsets = self.subsets
        rows = np.arange(len(subsets.data.totals)) if allowed is None else allowed
        if not len(rows):
            return None
        inside = set(rows.tolist())
        tried = [menus for menus in self.candidates if inside.issuperset(menus)][:MOST_TRIED]
        if self.alone:
            tried = [(row,) for row in self.alone if row in inside] + [m for m in tried if not set(m) & set(self.alone)]
        if not subsets.exact and not subsets.of_menus(rows).is_conflict:
            return None
        for menus in tried:
            if subsets.of_menus(menus).is_conflict:  # of other models than random utility even part of it may be one
                return menus if subsets.model is None else tuple(sorted(self.shrink(np.array(menus))))
        if not subsets.of_menus(rows).is_conflict:
            return None
        found: list[int] = min(self.shrink_in_orders(rows), key=len)
        return tuple(sorted(found))

    def shrink_in_orders(self, rows: Ints) -> list[list[int]]:
        """What deletion leaves of a conflict, in one order after the other until it is small."""
        size = self.subsets.data.offered.sizes[rows]
        carried = self.subsets.whole.contributions[rows]
        found: list[list[int]] = []
        for order in (carried, -size, size):  # what carries least first; large menus first; small menus first
            found.append(self.shrink(rows[np.argsort(order, kind="stable")]))
            if len(found[-1]) <= SMALL:
                break
        return found

    def leads(self, most: int) -> list[tuple[int, ...]]:
        """Of samples that are not rejected as a whole: candidates that are a conflict all the same."""
        tried = self.candidates[:MOST_TRIED]
        return [menus for menus in tried if self.subsets.of_menus(menus).is_conflict][:most]

    def several(self, most: int, found: list[tuple[int, ...]]) -> Found:
        """Up to `most` irreducible conflicts; `found` holds them as they come, for whoever interrupts."""
        every = np.arange(len(self.subsets.data.totals))
        queue: deque[frozenset[int]] = deque([frozenset()])
        seen = {frozenset[int]()}
        searches = 0
        while queue:
            gone = queue.popleft()
            label = next((menus for menus in found if not gone & set(menus)), None)
            if label is None:
                if len(found) >= most or searches >= MOST_SEARCHES * most:
                    queue.appendleft(gone)
                    break
                searches += 1
                label = self.first(np.setdiff1d(every, list(gone)))
                if label is None:
                    continue
                found.append(label)
            for menu in label:
                if (child := gone | {menu}) not in seen:
                    seen.add(child)
                    queue.append(child)
        return Found(sorted(found, key=self.rank), not queue)

    def rank(self, menus: tuple[int, ...]) -> tuple[float, ...]:
        """Few menus first, then a small p-value, then a large distance."""
        subset = self.subsets.of_menus(menus)
        return len(menus), 0.0 if self.subsets.exact else subset.pvalue, -subset.distance

    def shrink(self, rows: Ints) -> list[int]:
        """Deletion, from a conflict; `rows` in the order in which they are left out."""
        rows = self._support(rows)
        chunk = max(len(rows) // 2, 1)
        while True:
            before, i = len(rows), 0
            while i < len(rows):
                rest = np.delete(rows, slice(i, i + chunk))
                if len(rest) and self.subsets.of_menus(rest).is_conflict:
                    rows = self._support(rest)
                else:
                    i += chunk
            if chunk == 1 and (self.subsets.exact or len(rows) == before):
                return [int(row) for row in rows]
            chunk = max(chunk // 2, 1)

    def _support(self, rows: Ints) -> Ints:
        """The menus on which the inequality of a conflict is not constant; all of them for samples."""
        if not self.subsets.exact:
            return rows
        subset = self.subsets.of_menus(rows)
        bent = spread(subset.normal, self.subsets.data.offered)[rows]
        smaller: Ints = rows[bent > _CONSTANT * bent.max()]
        if len(smaller) < len(rows) and self.subsets.of_menus(smaller).is_conflict:
            return smaller
        return rows

    def cells(self, menus: tuple[int, ...]) -> Mask:
        """Cells of a conflict's menus that are a conflict by themselves, none of which can be left out; of samples: as far as the
        test still rejects."""
        kept = self.subsets.of_menus(menus).kept
        while True:
            cells = np.flatnonzero(kept)
            kept = self._thin(kept, cells[np.argsort(np.abs(self.subsets.of(kept).normal[cells]), kind="stable")])
            if self.subsets.exact or len(cells) == int(kept.sum()):
                return kept

    def _thin(self, kept: Mask, order: Ints) -> Mask:
        """One pass over the cells in this order, each left out where what stays is a conflict; a menu keeps its last cell.

        Many are left out at once where that is possible, half as many where it is not. Of exact shares what is left is the
        same as one by one: there, what holds a conflict is one.
        """
        menu = self.subsets.data.offered.menu
        first, size = 0, max(len(order) // 2, 1)
        while first < len(order):
            smaller, gone = kept.copy(), order[first : first + size]
            smaller[gone] = False
            empty = ~np.isin(menu[gone], menu[smaller])
            last = len(gone) - 1 - np.unique(menu[gone][::-1], return_index=True)[1]  # of each menu, in this order
            smaller[gone[last[empty[last]]]] = True
            if len(gone) == size == 1 and smaller[gone[0]]:
                first += 1  # all that its menu has left
            elif self.subsets.of(smaller).is_conflict:
                kept, first, size = smaller, first + size, 2 * size
            elif size == 1:
                first += 1
            else:
                size //= 2
        return kept

    def is_irreducible(self, menus: tuple[int, ...]) -> bool:
        """Is this set a conflict, and none without any one of its menus? By a projection, or a test, of each."""
        less = [menus[:i] + menus[i + 1 :] for i in range(len(menus))]
        return self.subsets.of_menus(menus).is_conflict and not any(
            rest and self.subsets.of_menus(rest).is_conflict for rest in less
        )


def spread(coefficients: Array, menus: Menus) -> Array:
    """(m,): largest minus smallest coefficient of each menu, from one for each cell."""
    first = menus.start[:-1]
    return np.maximum.reduceat(coefficients, first) - np.minimum.reduceat(coefficients, first)
