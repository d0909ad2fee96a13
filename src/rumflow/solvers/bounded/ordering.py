"""A lower bound on the price of the cheapest ranking, by linear programming.

    y(a, b)   is a above b?  one variable per pair of items, y(b, a) = 1 - y(a, b)
    z(D, x)   is x taken from D?  (for a menu of two items it is y itself)

    minimise  sum price(D, x) z(D, x)
    such that sum over x of z(D, x) = 1,   z(D, x) <= y(x, b) for every other b of D,
              y(a, b) + y(b, c) + y(c, a) <= 2 for every three items,   y(a, b) = 1 where everybody prefers a to b.

Rankings are the 0-1 solutions; values between make the programme a relaxation, whose minimum is a bound. The inequalities of three
items are many: those that are violated are added, and with fewer of them the bound is still a bound. On menus of three items the
conditions describe the mixtures of rankings of these items exactly.

*Safe bounds.* HiGHS's solution is right within tolerances, and the bound must not depend on them. For any multipliers u of the
equations and v <= 0 of the inequalities A x <= b

    minimum >= <u, 1> + <v, b> + sum over variables of the least of r x over x's range,   r = cost - (multiplied rows)

so the multipliers that HiGHS returns are taken, and this sum is computed from them.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import OptimizeWarning, linprog

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.graph_cells import Cells

_VIOLATED = 1e-6  # from here on an inequality of three items is added
_MOST_ROUNDS = 40


class Relaxed(NamedTuple):
    """A solution of the relaxation."""

    bound: float  # safe
    y: Array  # (n, n): [a, b] is how far a is above b
    z: Array
    reduced: Array  # reduced costs of the variables, pairs first
    done: bool  # every inequality of three items holds


class OrderingProgram:
    """The relaxation for given menus. Inequalities that one call has added are there for the next."""

    def __init__(self, cells: Cells, above: Mask) -> None:
        member = cells.membership
        self.items = np.flatnonzero(member.any(axis=0))  # the others decide nothing
        n = len(self.items)
        self.n = n
        first, second = np.triu_indices(n, 1)
        self._first, self._second = first, second
        self._pair = np.zeros((n, n), np.int64)  # the variable of a pair
        self._pair[first, second] = self._pair[second, first] = np.arange(len(first))
        known = above[np.ix_(self.items, self.items)]
        self.low = known[first, second].astype(np.float64)
        self.high = 1.0 - known[second, first]
        self.n_pairs = len(first)
        inside = member[:, self.items]
        size = inside.sum(axis=1)
        self._inside = inside
        self._large = np.flatnonzero(size > 2)
        self._twos = np.flatnonzero(size == 2)
        self._two = np.array([np.flatnonzero(inside[j]) for j in self._twos], np.int64).reshape(-1, 2)
        self._menu, self._item = np.nonzero(inside[self._large])  # one variable z for each
        self.n_variables = self.n_pairs + len(self._menu)
        z = self.n_pairs + np.arange(len(self._menu))
        self._equal = sparse.csr_matrix(
            (np.ones(len(z)), (self._menu, z)), shape=(len(self._large), self.n_variables)
        )
        # z(D, x) - y(x, b) <= 0
        one, other = np.nonzero((self._menu[:, None] == self._menu) & (self._item[:, None] != self._item))
        self._base, self._base_right = self._rows(z[one], self._item[one], self._item[other])
        self._triples = np.empty((0, 3), np.int64)
        self._matrix: Any = None

    def _rows(self, z: Ints, x: Ints, b: Ints) -> tuple[Any, Array]:
        """z - y(x, b) <= 0 with y(x, b) = 1 - y(b, x) where b comes first."""
        count = len(z)
        row = np.arange(count)
        sign = np.where(x < b, -1.0, 1.0)
        matrix = sparse.csr_matrix(
            (
                np.concatenate([np.ones(count), sign]),
                (np.concatenate([row, row]), np.concatenate([z, self._pair[x, b]])),
            ),
            shape=(count, self.n_variables),
        )
        return matrix, np.where(x < b, 0.0, 1.0)

    def _triangles(self, triples: Ints) -> tuple[Any, Array]:
        """y(a, b) + y(b, c) + y(c, a) <= 2."""
        count = len(triples)
        row = np.tile(np.arange(count), 3)
        a = np.concatenate([triples[:, 0], triples[:, 1], triples[:, 2]])
        b = np.concatenate([triples[:, 1], triples[:, 2], triples[:, 0]])
        sign = np.where(a < b, 1.0, -1.0)
        matrix = sparse.csr_matrix((sign, (row, self._pair[a, b])), shape=(count, self.n_variables))
        right = 2.0 - np.bincount(row, a > b, count)
        return matrix, right

    def prices(self, price: Array) -> tuple[Array, float]:
        """The cost of every variable and a constant, from an (m, n) table of prices by item."""
        own = price[:, self.items]
        cost = np.zeros(self.n_variables)
        a, b = self._two.T
        difference = own[self._twos, a] - own[self._twos, b]
        np.add.at(cost, self._pair[a, b], difference)
        cost[self.n_pairs :] = own[self._large[self._menu], self._item]
        return cost, float(own[self._twos, b].sum())

    def relax(self, price: Array, low: Array, high: Array, seconds: float | None = None) -> Relaxed | None:
        """Bound the price of the cheapest ranking with y between `low` and `high`; None where there is none, or no time."""
        cost, constant = self.prices(price)
        scale = max(float(np.abs(cost).max()), 1e-300)
        least = np.concatenate([low, np.zeros(self.n_variables - self.n_pairs)])
        most = np.concatenate([high, np.ones(self.n_variables - self.n_pairs)])
        best: Relaxed | None = None
        for _ in range(_MOST_ROUNDS):
            triangles, right = self._triangles(self._triples)
            matrix = sparse.vstack([self._base, triangles], "csr")
            right = np.concatenate([self._base_right, right])
            answer = _solve(cost / scale, matrix, right, self._equal, np.column_stack([least, most]), seconds)
            if answer.status != 0:
                return best
            v = np.minimum(answer.ineqlin.marginals, 0.0)
            u = answer.eqlin.marginals if len(self._large) else np.empty(0)
            reduced = cost / scale - matrix.T @ v - self._equal.T @ u
            bound = float(v @ right) + float(u.sum()) + float(np.minimum(reduced * least, reduced * most).sum())
            y = np.full((self.n, self.n), 0.5)
            y[self._first, self._second] = answer.x[: self.n_pairs]
            y[self._second, self._first] = 1.0 - answer.x[: self.n_pairs]
            new = self._violated(y)
            best = Relaxed(constant + scale * bound, y, answer.x[self.n_pairs :], scale * reduced, len(new) == 0)
            if len(new) == 0:
                break
            self._triples = np.vstack([self._triples, new])
        return best

    def _violated(self, y: Array) -> Ints:
        """The inequalities of three items that do not hold, the worst of them."""
        found = []
        for a in range(self.n - 2):
            # y(a, b) + y(b, c) + y(c, a) for all b, c > a
            rest = slice(a + 1, self.n)
            total = y[a, rest][:, None] + y[rest, rest] + y[rest, a][None, :]
            np.fill_diagonal(total, 0.0)
            b, c = np.nonzero(total > 2.0 + _VIOLATED)
            found.append(np.column_stack([np.full(len(b), a), b + a + 1, c + a + 1, total[b, c]]))
        rows = np.vstack(found)
        worst = np.argsort(-rows[:, 3], kind="stable")[: 20 * self.n]
        return rows[worst, :3].astype(np.int64)


def _solve(cost: Array, matrix: Any, right: Array, equal: Any, bounds: Array, seconds: float | None) -> Any:
    solver: Any = linprog
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)
        return solver(
            cost,
            A_ub=matrix if matrix.shape[0] else None,
            b_ub=right if matrix.shape[0] else None,
            A_eq=equal if equal.shape[0] else None,
            b_eq=np.ones(equal.shape[0]) if equal.shape[0] else None,
            bounds=bounds,
            method="highs",
            options={} if seconds is None else {"time_limit": seconds},
        )
