"""Known preferences: which items everybody prefers to which.

There are tables over the items that are named alone: of hundreds of thousands of items these may be two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Ints, Mask
from rumflow.core.compile import inlined
from rumflow.core.memory import require_memory

_BYTES_A_PAIR = 32  # of named items: the table, and lists of all pairs that follow from a chain


class Preferences(NamedTuple):
    """A strict order of some of n items, with all that follows; over no items where none is known."""

    named: Ints  # (k,): these items, ascending
    number: Ints  # (n,): where each item is among them, -1 for the others
    over: Mask  # (k, k): [i, j] where everybody prefers named[i] to named[j]

    def cut(self, items: Ints) -> Preferences:
        """The same among some of the items, numbered in this order."""
        if len(self.named) == 0:
            return self
        own = self.number[items]
        named = np.flatnonzero(own >= 0)
        number = np.full(len(items), -1)
        number[named] = np.arange(len(named))
        return Preferences(named, number, np.ascontiguousarray(self.over[np.ix_(own[named], own[named])]))

    def pairs(self) -> tuple[Ints, Ints]:
        """The better and the worse item of every pair, in order."""
        better, worse = np.nonzero(self.over)
        return self.named[better], self.named[worse]

    def table(self, n: int) -> Mask:
        """(n, n): [a, b] where everybody prefers a to b."""
        require_memory(float(n) ** 2, f"a table of all pairs of {n:,} items")
        table = np.zeros((n, n), np.bool_)
        table[np.ix_(self.named, self.named)] = self.over
        return table


#: All rankings are possible.
NOTHING_KNOWN = Preferences(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 0), np.bool_))


@inlined
def prefers(known, a, b):
    """Does everybody prefer a to b?"""
    if known.named.shape[0] == 0 or known.number[a] < 0 or known.number[b] < 0:
        return False
    return known.over[known.number[a], known.number[b]]


def close_pairs(pairs: Ints, n: int) -> Preferences:
    """What follows from a (p, 2) array of pairs, the better item first; in a circle every item is preferred to itself."""
    named, ends = np.unique(pairs, return_inverse=True)
    better, worse = ends.reshape(-1, 2).T
    k = len(named)
    require_memory(_BYTES_A_PAIR * float(k) ** 2, f"what follows from known preferences among {k:,} items")
    number, over = np.full(n, -1), np.zeros((k, k), np.bool_)
    number[named] = np.arange(k)
    over[better, worse] = True
    # An item hands on what it is preferred to once all that it is preferred to have handed on theirs.
    order = np.argsort(worse, kind="stable")
    first, givers = np.searchsorted(worse[order], np.arange(k + 1)), better[order]
    waiting = np.bincount(better, minlength=k)
    ready = np.flatnonzero(waiting == 0).tolist()
    while ready:
        x = ready.pop()
        for a in givers[first[x] : first[x + 1]].tolist():
            over[a] |= over[x]
            waiting[a] -= 1
            if waiting[a] == 0:
                ready.append(a)
    for x in np.flatnonzero(waiting).tolist():  # in a circle, or preferred to one
        over[over[:, x]] |= over[x]
    return Preferences(named.astype(np.int64), number, over)
