"""The smallest conflicts, which need no search: an item chosen more often from a larger menu, and cycles of three pairs.

    regularity   D inside E, x in D:      rho(E, x) - rho(D, x)                       <= 0
    cycle        pairs ab, bc, ca:        rho(ab, a) + rho(bc, b) + rho(ca, c) - 2    <= 0

hold in every random utility model. A candidate is a set of menus that violates one of them: exact shares by more than the
tolerance, samples by more standard errors than the largest of so many comparisons reaches by chance (Bonferroni). It is only a
screen: what it lets through still has to be a conflict by its own projection or test.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.inference.conflicts.subsets import TOLERANCE

#: Beyond this many menus nested ones are not searched pair by pair; and this many candidates are kept, the strongest.
MOST_MENUS, MOST_CANDIDATES = 4096, 1000

_PIECE = 1 << 16


class SmallConflicts:
    """The pairs of nested menus and the triangles of pairs of one data set, looked up once."""

    def __init__(self, membership: Mask, recorded: Mask, totals: Array | None) -> None:
        self.membership, self.recorded, self.totals = membership, recorded, totals
        self.smaller, self.larger = nested_menus(membership)
        self.pair_rows, self.players = _pairs(membership, recorded)

    def find(self, table: Array, level: float | None) -> list[tuple[int, ...]]:
        """Candidates, two menus first, then the strongest first, for shares like `data.frequencies`; `level` None: exact ones."""
        pairs, strength, compared = self._nested(table)
        triples, force, more = self._cycles(table)
        limit = TOLERANCE if level is None else float(-ndtri(level / max(compared + more, 1)))
        found: list[tuple[int, ...]] = []
        for rows, values in ((pairs, strength), (triples, force)):
            chosen = np.flatnonzero(values > limit)
            chosen = chosen[np.argsort(-values[chosen], kind="stable")]
            found += [tuple(sorted(row)) for row in rows[chosen[:MOST_CANDIDATES]].tolist()]
        return list(dict.fromkeys(found))

    def _nested(self, table: Array) -> tuple[Ints, Array, int]:
        """For every nested pair by how much its worst item rises (of samples: in standard errors), and the comparisons made."""
        strength = np.full(len(self.smaller), -np.inf)
        compared = 0
        for first in range(0, len(self.smaller), _PIECE):
            part = slice(first, first + _PIECE)
            small, large = self.smaller[part], self.larger[part]
            rise = table[large] - table[small]
            compared += int((~np.isnan(rise)).sum())
            if self.totals is not None:
                n, m = self.totals[small][:, None], self.totals[large][:, None]
                # Of equal shares; one observation more of either kind keeps it positive.
                share = (n * table[small] + m * table[large] + 1.0) / (n + m + 2.0)
                rise = rise / np.sqrt(share * (1.0 - share) * (1.0 / n + 1.0 / m))
            strength[part] = np.where(np.isnan(rise), -np.inf, rise).max(axis=1)
        return np.stack([self.smaller, self.larger], axis=1), strength, compared

    def _cycles(self, table: Array) -> tuple[Ints, Array, int]:
        """The same for every triangle of pairs, in both directions."""
        k = len(self.players)
        win, variance = np.full((k, k), np.nan), np.zeros((k, k))
        a, b = np.nonzero(self.pair_rows >= 0)
        row = self.pair_rows[a, b]
        win[a, b] = table[row, self.players[a]]
        other = np.isnan(win[a, b])  # recorded of the other item only
        win[a[other], b[other]] = 1.0 - table[row[other], self.players[b[other]]]
        if self.totals is not None:
            n = self.totals[row]
            share = (n * win[a, b] + 1.0) / (n + 2.0)
            variance[a, b] = share * (1.0 - share) / n
        rows, values = [np.empty((0, 3), np.int64)], [np.empty(0)]
        for x in range(k - 2):
            rest = slice(x + 1, k)
            excess = win[x, rest][:, None] + win[rest, rest] + win[rest, x][None, :] - 2.0
            if self.totals is not None:
                error = variance[x, rest][:, None] + variance[rest, rest] + variance[rest, x][None, :]
                excess = excess / np.sqrt(np.where(error > 0, error, 1.0))
            y, z = np.nonzero(~np.isnan(excess))
            values.append(excess[y, z])
            y, z = y + x + 1, z + x + 1
            rows.append(np.stack([self.pair_rows[x, y], self.pair_rows[y, z], self.pair_rows[z, x]], axis=1))
        strength = np.concatenate(values)
        return np.concatenate(rows), strength, len(strength)


def nested_menus(membership: Mask) -> tuple[Ints, Ints]:
    """All pairs of menus of which the first is inside the second."""
    if len(membership) > MOST_MENUS:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    outside = membership.astype(np.float32) @ (~membership).astype(np.float32).T
    small, large = np.nonzero(outside == 0)
    different = small != large
    return small[different], large[different]


def _pairs(membership: Mask, recorded: Mask) -> tuple[Ints, Ints]:
    """(k, k): the row of the menu {a, b}, -1 where there is none; and the k items that are in such menus."""
    rows = np.flatnonzero((membership.sum(axis=1) == 2) & recorded.any(axis=1))
    players = np.flatnonzero(membership[rows].any(axis=0))
    place = np.full(membership.shape[1], -1)
    place[players] = np.arange(len(players))
    table = np.full((len(players), len(players)), -1)
    members = place[np.nonzero(membership[rows])[1].reshape(-1, 2)]
    table[members[:, 0], members[:, 1]] = rows
    table[members[:, 1], members[:, 0]] = rows
    return table, players
