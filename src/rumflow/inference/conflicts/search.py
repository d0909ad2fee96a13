"""The search for irreducible conflicts: sets of menus that are a conflict, and none any more without any one of their menus.

*Deletion.* Menus are left out while what stays is a conflict: half of them at a time, then a quarter, ..., then one by one, those
that carry the smallest part of the distance first. What cannot be left out is irreducible. Of exact shares every projection also
gives an inequality that the shares violate, and menus on which its coefficients are constant go at once: it holds without
them, whatever is chosen there.

*Several.* A second irreducible conflict lacks some menu of the first, so it is found in the data without that menu: a tree, whose
nodes are sets of menus left out, and whose leaves are data without a conflict (Reiter 1987). When all branches have ended, the
list is complete.

Samples are different in one way: a part of data that are not rejected may itself be rejected, and the other way round. Data that
are not rejected as a whole are not searched, and irreducible means that leaving out any one menu gives a set that is not
rejected.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.inference.conflicts.probe import Parts
from rumflow.inference.conflicts.small import Candidates, SmallConflicts
from rumflow.output.progress import Counter

#: Candidates that are tried before the search by deletion, and searches after which the tree is left, for each conflict wanted.
MOST_TRIED, MOST_SEARCHES = 20, 8

_CONSTANT = 1e-6  # coefficients that differ by less than this part of the largest are the same


class Found(NamedTuple):
    """Irreducible conflicts, the smallest first."""

    menus: list[tuple[int, ...]]
    complete: bool  # there is no other


class Search:
    """Searches in one data set, for its own shares or for those of other samples of the same menus."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        data = parts.data
        self.small = SmallConflicts(data.membership, parts.recorded, None if parts.exact else data.totals)
        self.level = None if parts.sampling is None else parts.sampling.level

    def rank(self, shares: Array) -> Array:
        """(m,): each menu's part of the squared distance of all menus."""
        whole = self.parts.of(self.parts.recorded)
        residual = whole.residual(shares)
        weight = np.zeros(self.parts.recorded.shape)
        weight[self.parts.recorded] = whole.sample.weights
        part = np.where(weight > 0, residual**2 / np.where(weight > 0, weight, 1.0), 0.0).sum(axis=1)
        total = float(part.sum())
        return part / total if total > 0 else part

    def first(
        self, allowed: Ints, shares: Array, order: Array, candidates: Candidates | None = None
    ) -> tuple[int, ...] | None:
        """One irreducible conflict among the menus `allowed`, the smallest that is found; None where there is none.

        `order` says which menus to leave out first: those with the smallest number.
        """
        parts = self.parts
        found = self.small.find(shares, self.level) if candidates is None else candidates
        inside = set(allowed.tolist())
        tried = [menus for menus in found.menus if inside.issuperset(menus)][:MOST_TRIED]
        if parts.exact:
            for menus in tried:
                if parts.is_conflict(parts.cells_of(list(menus)), shares):
                    return menus
        if not parts.is_conflict(parts.cells_of(allowed), shares):
            return None
        if not parts.exact:
            for menus in tried:
                if parts.is_conflict(parts.cells_of(list(menus)), shares):
                    return menus
        return tuple(sorted(self._shrink(allowed[np.argsort(order[allowed], kind="stable")], shares)))

    def several(self, shares: Array, order: Array, most: int, counter: Counter | None = None) -> Found:
        """Up to `most` irreducible conflicts."""
        candidates = self.small.find(shares, self.level)
        every = np.arange(len(self.parts.recorded))
        found: list[tuple[int, ...]] = []
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
                label = self.first(np.setdiff1d(every, list(gone)), shares, order, candidates)
                if label is None:
                    continue
                found.append(label)
            for menu in label:
                if (child := gone | {menu}) not in seen:
                    seen.add(child)
                    queue.append(child)
        return Found(sorted(found, key=len), not queue)

    def _shrink(self, rows: Ints, shares: Array) -> list[int]:
        """Deletion, from a conflict; `rows` in the order in which they are left out."""
        rows = self._support(rows, shares)
        chunk = max(len(rows) // 2, 1)
        while True:
            before, i = len(rows), 0
            while i < len(rows):
                rest = np.delete(rows, slice(i, i + chunk))
                if self.parts.is_conflict(self.parts.cells_of(rest), shares):
                    rows = self._support(rest, shares)
                    # Menus before i that the inequality no longer needs are gone as well: those that were tried are not tried again.
                    i = min(i, len(rows))
                else:
                    i += chunk
            if chunk == 1 and (self.parts.exact or len(rows) == before):
                return [int(row) for row in rows]
            chunk = max(chunk // 2, 1)

    def _support(self, rows: Ints, shares: Array) -> Ints:
        """The menus on which the inequality of a conflict is not constant; all of them for samples."""
        if not self.parts.exact:
            return rows
        kept = self.parts.cells_of(rows)
        residual = self.parts.of(kept).residual(shares)
        bent = spread(residual, kept, self.parts.data.membership)[rows]
        smaller = rows[bent > _CONSTANT * bent.max()]
        if len(smaller) < len(rows) and self.parts.is_conflict(self.parts.cells_of(smaller), shares):
            return smaller
        return rows

    def cells(self, menus: tuple[int, ...], shares: Array) -> Mask:
        """Cells of a conflict's menus that are a conflict by themselves, none of which can be left out; of samples: as far as the
        test still rejects."""
        kept = self.parts.cells_of(list(menus))
        while True:
            residual = np.abs(self.parts.of(kept).residual(shares))
            row, item = np.nonzero(kept)
            for k in np.argsort(residual[row, item], kind="stable"):
                smaller = kept.copy()
                smaller[row[k], item[k]] = False
                if smaller[row[k]].any() and self.parts.is_conflict(smaller, shares):
                    kept = smaller
            if len(row) == int(kept.sum()):
                return kept

    def is_irreducible(self, menus: tuple[int, ...], shares: Array) -> bool:
        """Is this set a conflict, and none without any one of its menus? By a projection, or a test, of each."""
        rows = np.array(menus)
        less = [np.delete(rows, i) for i in range(len(rows))]
        return self.parts.is_conflict(self.parts.cells_of(rows), shares) and not any(
            self.parts.is_conflict(self.parts.cells_of(rest), shares) for rest in less
        )


def spread(coefficients: Array, kept: Mask, membership: Mask) -> Array:
    """(m,): largest minus smallest coefficient of each menu; what is not kept of a menu has coefficient 0."""
    values = np.where(kept, coefficients, 0.0)
    high = np.where(membership, values, -np.inf).max(axis=1)
    low = np.where(membership, values, np.inf).min(axis=1)
    found: Array = high - low
    return found
