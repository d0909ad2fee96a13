"""A first bound for menus of any size: shares of menus under shares of pairs, which obey the path inequalities.

Let y_xz be the share of people who rank x above z. Whoever takes x from the menu D ranks it above every other item of D, so every
population obeys

    rho(D, x) <= y_xz          for all x and z of D,

with the sum of rho(D, .) 1 or more and with the path inequalities on y (`rumflow.core.pairs`). On a menu of three items x, z and
u this is all that its six orders say together with their pairs: y_xz - rho(D, x) is the share of the order u, x, z, and none of
the six is negative. Menus that differ by one item have inequalities of their own (`rumflow.solvers.bounded.neighbours`), and the
two items in which they differ are one more pair; shares of a menu may then add up to more than 1, which costs some of the bound
and nothing of its validity.

The nearest rho, with y free, is found by cuts as on pairs (`rumflow.solvers.inequalities`): the rows are of the same kind, and
unknowns without a weight (y, and cells that do not count) are kept near where they were, with a small weight, in each of some
rounds (the proximal point method). What is certified needs none of that (`rumflow.core.table_certificate`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.core.compile import clock
from rumflow.core.graph_cells import Cells
from rumflow.core.pair_certificate import NO_CROSS, check_cycles
from rumflow.core.pairs import Cycles, Pairs, arc_lengths, find_short_cycles, first_of_each, make_pairs
from rumflow.core.patience import OutOfTimeError, watch
from rumflow.core.table_certificate import table_bound
from rumflow.solvers.bounded.neighbours import find_neighbours
from rumflow.solvers.inequalities.kernels import improve, join_rows

#: Menus with more pairs of items than this, all together, have no such bound.
MOST_PAIRS = 500_000

_NEAR = 0.1  # weight of what has none, as a share of the median weight
_MOST_STEPS, _MOST_ROUNDS = 30, 6  # of the proximal point method, and of cuts in each
_SHORT = 1e-7  # rows that lack no more are kept
_ACCURACY = 1e-7  # of a solve for the rows that are known
_SLACK = 0.05  # a row without a multiplier that is longer than it must be by more is dropped
_SOLVES = 4  # rounds of a solve
_ENOUGH = 1e-5  # relative; a step that gains less is the last


class Found(NamedTuple):
    """A lower bound of half the squared distance, and the nearest shares, as a table."""

    bound: float
    table: Array


class PairTables:
    """The bound for given menus; a solve begins from the multipliers of the one before."""

    def __init__(self, cells: Cells) -> None:
        menus, known = cells.offered, np.flatnonzero(cells.known)
        self.shape: tuple[int, int] = cells.shape
        self.position: Ints = menus.menu[known] * cells.width + cells.place[known]
        one, two = pairs_within(cells)
        near = find_neighbours(menus)
        with_pair = near.above >= 0
        ends = np.stack([near.above, near.below])[:, with_pair]
        key = menus.item[one].astype(np.int64) * menus.n_items + menus.item[two]
        pair, number = np.unique(
            np.append(key, ends.min(axis=0) * menus.n_items + ends.max(axis=0)), return_inverse=True
        )
        number, other = np.split(number, [len(one)])
        self.pairs: Pairs = make_pairs(*np.divmod(pair, menus.n_items), menus.n_items)
        self.n_pairs: int = len(pair)
        # The unknown of each cell, behind those of the pairs; -1 where it was not recorded.
        unknown = np.full(len(menus.item), -1)
        unknown[known] = self.n_pairs + np.arange(len(known))
        below = np.concatenate([
            np.stack([2 * number, 2 * unknown[one] + 1], axis=1), np.stack([2 * number + 1, 2 * unknown[two] + 1], axis=1)
        ])  # fmt: skip
        below = below[below[:, 1] > 0]
        arc = np.full(len(near.less), -1)
        arc[with_pair] = 2 * other + (ends[0] > ends[1])
        between = np.stack([2 * unknown[near.less] + 1, 2 * unknown[near.more], arc], axis=1)
        between = between[(unknown[near.less] >= 0) & (unknown[near.more] >= 0)]
        sums, own = menus.take(np.flatnonzero(menus.count(~cells.known) == 0))
        self.base: Cycles = (
            _rows(below).join(_rows(between)).join(Cycles(sums.start, (2 * unknown[own]).astype(np.int32)))
        )
        self.start: tuple[Cycles, Array, Array] = Cycles.none(), np.empty(0), np.full(self.n_pairs, 0.5)

    def project(self, target: Array, weights: Array, deadline: float | None = None) -> Found:
        """The bound for tables of shares and weights, and the nearest table."""
        p, w = (table.reshape(-1)[self.position] for table in (target, weights))
        rows, lam, y = self.start
        unit = float(np.median(w[w > 0])) if (w > 0).any() else 1.0
        h = np.concatenate([np.full(self.n_pairs, _NEAR), np.where(w > 0, w / unit, _NEAR)])
        lam, free = lam / unit, np.append(np.ones(self.n_pairs, bool), w <= 0)
        centre = np.append(y, np.clip(p, 0.0, 1.0))
        x, best = centre.copy(), 0.0
        table, look = target.copy(), watch(math.inf if deadline is None else deadline)
        for _ in range(_MOST_STEPS):
            goal = np.where(free, centre, np.append(centre[: self.n_pairs], p))
            for _ in range(_MOST_ROUNDS):
                try:
                    self._improve(rows, h, goal, lam, x, look)
                    rows, lam, new = self._more_rows(rows, lam, x, look)
                    look()
                except OutOfTimeError:
                    break
                if new == 0:
                    break
            self.check(rows)
            value = table_bound(rows, lam * unit, goal, np.where(free, 0.0, h * unit))
            gained, best = value - best, max(value, best)
            if gained >= 0:
                self.start = rows, lam * unit, np.clip(x[: self.n_pairs], 0.0, 1.0)
                table.reshape(-1)[self.position] = x[self.n_pairs :]
            centre = np.clip(x, 0.0, 1.0)
            if (value > 0 and gained <= _ENOUGH * best) or (deadline is not None and clock() > deadline):
                break
        return Found(best, table)

    @staticmethod
    def _improve(rows: Cycles, h: Array, goal: Array, lam: Array, x: Array, look: Callable[[], None]) -> None:
        """Some rounds of a solve for the rows that are known, in place."""
        for _ in range(_SOLVES if len(lam) else 0):
            if improve(rows, (h, NO_CROSS), goal, lam, x, _ACCURACY, 1, look) <= _ACCURACY:
                return
            look()

    def check(self, rows: Cycles) -> None:
        """Raise a ValueError unless each row is a directed cycle of pairs, a bound, or one of those that menus give."""
        of_menus = (
            np.maximum.reduceat(rows.arc, rows.start[:-1]) >= 2 * self.n_pairs if len(rows.arc) else np.zeros(0, bool)
        )
        of_menus &= rows.sizes > 1
        cycles = rows.take(np.flatnonzero(~of_menus & (rows.sizes > 1)))
        check_cycles(self.pairs, cycles, np.zeros(len(cycles.sizes)))
        both = self.base.join(rows.take(np.flatnonzero(of_menus)))
        if first_of_each(*both)[len(self.base.sizes) :].any():
            raise ValueError("a row is none that menus give")

    def _more_rows(self, rows: Cycles, lam: Array, x: Array, look: Callable[[], None]) -> tuple[Cycles, Array, int]:
        """The rows with those that x violates, and how many these are."""
        found = find_short_cycles(self.pairs, arc_lengths(x[: self.n_pairs].copy()), _SHORT, look=look).cycles
        entry = self.base.arc
        value = np.where(entry & 1, 1.0 - x[entry >> 1], x[entry >> 1])
        short = 1.0 - np.add.reduceat(value, self.base.start[:-1])
        missed = self.base.take(np.flatnonzero(short > _SHORT))
        start, arc, more, new, _ = join_rows(*rows, lam, x, False, *found.join(missed), _SLACK, _SHORT)
        return Cycles(start, arc), more, int(new)


def _rows(entries: Ints) -> Cycles:
    """Rows from a table of their entries, -1 where there is none."""
    kept = entries >= 0
    return Cycles(np.append(0, np.cumsum(kept.sum(axis=1))), entries[kept].astype(np.int32))


def pairs_within(cells: Cells) -> tuple[Ints, Ints]:
    """The cells of both items of every pair of items of every menu, the smaller item first."""
    menus = cells.offered
    sizes = menus.sizes[menus.menu]
    place = np.arange(len(menus.item)) - menus.start[menus.menu]
    later = sizes - 1 - place
    one = np.repeat(np.arange(len(menus.item)), later)
    two = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(later) - later, later)
    return one, two


def count_pairs(cells: Cells) -> int:
    """How many pairs of items menus have, those of several menus as often."""
    sizes = cells.offered.sizes
    return int((sizes * (sizes - 1) // 2).sum())
