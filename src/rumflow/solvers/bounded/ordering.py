"""A lower bound on the price of the cheapest ranking, by linear programming.

    y(a, b)   is a above b?  one variable per pair of items, y(b, a) = 1 - y(a, b)
    z(D, x)   is x taken from D?  (for a menu of two items it is y itself)

    minimise  sum price(D, x) z(D, x)
    such that sum over x of z(D, x) = 1,   z(D, x) <= y(x, b) for every other b of D,
              y(a, b) + y(b, c) + y(c, a) <= 2 for every three items,   y(a, b) = 1 where everybody prefers a to b.

Rankings are the 0-1 solutions; values between make the programme a relaxation, whose minimum is a bound. The inequalities of
three items are many: those that are violated are added, and with fewer of them the bound is still a bound. On menus of three
items the conditions describe the mixtures of rankings of these items exactly.

*Safe bounds.* HiGHS's solution is right within tolerances, and the bound must not depend on them. For any multipliers u of the
equations and v <= 0 of the inequalities A x <= b

    minimum >= <u, 1> + <v, b> + sum over variables of the least of r x over x's range,   r = cost - (multiplied rows)

so the multipliers that HiGHS returns are taken, and this sum is computed from them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from rumflow.core.arrays import Array, Ints
from rumflow.core.compile import clock
from rumflow.core.graph_cells import Cells
from rumflow.core.patience import listen
from rumflow.core.preferences import Preferences

_VIOLATED = 1e-6  # from here on an inequality of three items is added
_MOST_ROUNDS = 40
_MIP_SCALE = 1e4  # the largest cost that branch and cut sees: its tolerances are absolute
_DUAL_TOLERANCE = 1e-7  # HiGHS's, on each reduced cost; a variable's range is 1


class Relaxed(NamedTuple):
    """A bound, and a solution between rankings."""

    bound: float
    y: Array  # (n, n) over the items of the programme: [a, b] is how far a is above b


class OrderingProgram:
    """The relaxation for given menus. Inequalities that one call has added are there for the next."""

    def __init__(self, cells: Cells, preferences: Preferences) -> None:
        member = cells.membership
        self.items: Ints = np.flatnonzero(member.any(axis=0))  # the others decide nothing
        n = self.n = len(self.items)
        self._n_items = member.shape[1]
        first, second = np.triu_indices(n, 1)
        self._first, self._second = first, second
        self._pair = np.zeros((n, n), np.int64)  # the variable of a pair
        self._pair[first, second] = self._pair[second, first] = np.arange(len(first))
        known = preferences.cut(self.items).table(n)
        self.n_pairs: int = len(first)
        inside = member[:, self.items]
        size = inside.sum(axis=1)
        self._large = np.flatnonzero(size > 2)
        self._twos = np.flatnonzero(size == 2)
        self._two = np.array([np.flatnonzero(inside[j]) for j in self._twos], np.int64).reshape(-1, 2)
        self._menu, self._item = np.nonzero(inside[self._large])  # one variable z for each
        self.n_variables: int = self.n_pairs + len(self._menu)
        self._range = np.column_stack([np.zeros(self.n_variables), np.ones(self.n_variables)])
        self._range[: self.n_pairs] = np.column_stack([known[first, second], ~known[second, first]])
        z = self.n_pairs + np.arange(len(self._menu))
        self._equal = sparse.csr_matrix((np.ones(len(z)), (self._menu, z)), shape=(len(self._large), self.n_variables))
        # z(D, x) - y(x, b) <= 0
        first = np.searchsorted(self._menu, self._menu)  # the first cell of the menu of each cell
        sizes = np.searchsorted(self._menu, self._menu, side="right") - first
        one = np.repeat(np.arange(len(sizes)), sizes)
        other = first[one] + np.arange(len(one)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        one, other = one[one != other], other[one != other]
        self._base, self._base_right = self._rows(z[one], self._item[one], self._item[other])
        self._triples = np.empty((0, 3), np.int64)

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
        return matrix, np.asarray(2.0 - np.bincount(row, a > b, count), np.float64)

    def prices(self, price: Array) -> tuple[Array, float]:
        """The cost of every variable and a constant, from an (m, n) table of prices by item."""
        own = price[:, self.items]
        cost = np.zeros(self.n_variables)
        a, b = self._two.T
        difference = own[self._twos, a] - own[self._twos, b]
        np.add.at(cost, self._pair[a, b], difference)
        cost[self.n_pairs :] = own[self._large[self._menu], self._item]
        return cost, float(own[self._twos, b].sum())

    def relax(self, price: Array, deadline: float | None = None) -> Relaxed | None:
        """Bound the price of the cheapest ranking for an (m, n) table of prices by item; None where there was no time for it."""
        cost, constant = self.prices(price)
        scale = max(float(np.abs(cost).max(initial=0.0)), 1e-300)
        best: Relaxed | None = None
        for _ in range(_MOST_ROUNDS):
            seconds = None if deadline is None else deadline - clock()
            if seconds is not None and seconds <= 0:
                break
            matrix, right = self._inequalities()
            answer = minimise(cost / scale, matrix, right, self._equal, self._range, seconds)
            if answer.status != 0:
                break
            v = np.minimum(answer.ineqlin.marginals, 0.0)
            u = answer.eqlin.marginals if len(self._large) else np.empty(0)
            reduced = cost / scale - matrix.T @ v - self._equal.T @ u
            bound = float(v @ right) + float(u.sum()) + float((self._range * reduced[:, None]).min(axis=1).sum())
            new, y = self._violated(answer.x)
            best = Relaxed(constant + scale * bound, y)
            if len(new) == 0:
                break
            self._triples = np.vstack([self._triples, new])
        return best

    def branch(self, price: Array, seconds: float) -> Relaxed | None:
        """The bound of HiGHS's branch and cut for the same variables as whole numbers, with the inequalities found so far.

        Less what HiGHS's tolerance on reduced costs may hide. None where there is no bound within the time.
        """
        cost, constant = self.prices(price)
        scale = _MIP_SCALE / max(float(np.abs(cost).max(initial=0.0)), 1e-300)
        matrix, right = self._inequalities()
        rules = [LinearConstraint(matrix, -np.inf, right)] if matrix.shape[0] else []
        if self._equal.shape[0]:
            rules.append(LinearConstraint(self._equal, 1.0, 1.0))
        whole = np.concatenate([np.ones(self.n_pairs), np.zeros(self.n_variables - self.n_pairs)])
        answer = listen(
            lambda: milp(
                scale * cost,
                integrality=whole,
                bounds=Bounds(*self._range.T),
                constraints=rules,
                options={"time_limit": seconds},
            )
        )
        bound = answer.mip_dual_bound
        if bound is None or not np.isfinite(bound):
            return None
        y = self._violated(answer.x)[1] if answer.x is not None else np.full((self.n, self.n), 0.5)
        return Relaxed(constant + (float(bound) - _DUAL_TOLERANCE * self.n_variables) / scale, y)

    def order(self, y: Array) -> Ints:
        """(n,): all items, those that a solution has above most others first."""
        others = np.setdiff1d(np.arange(self._n_items), self.items)
        return np.concatenate([self.items[np.argsort(-y.sum(axis=1), kind="stable")], others])

    def _inequalities(self) -> tuple[Any, Array]:
        triangles, right = self._triangles(self._triples)
        return sparse.vstack([self._base, triangles], "csr"), np.concatenate([self._base_right, right])

    def _violated(self, x: Array) -> tuple[Ints, Array]:
        """The inequalities of three items that do not hold, the worst of them; and y as a matrix."""
        y = np.full((self.n, self.n), 0.5)
        y[self._first, self._second] = x[: self.n_pairs]
        y[self._second, self._first] = 1.0 - x[: self.n_pairs]
        found = [np.empty((0, 4))]
        for a in range(self.n - 2):
            # y(a, b) + y(b, c) + y(c, a) for all b, c > a
            rest = slice(a + 1, self.n)
            total = y[a, rest][:, None] + y[rest, rest] + y[rest, a][None, :]
            np.fill_diagonal(total, 0.0)
            b, c = np.nonzero(total > 2.0 + _VIOLATED)
            found.append(np.column_stack([np.full(len(b), a), b + a + 1, c + a + 1, total[b, c]]))
        rows = np.vstack(found)
        worst = np.argsort(-rows[:, 3], kind="stable")[: 20 * self.n]
        return rows[worst, :3].astype(np.int64), y


def minimise(cost: Array, matrix: Any, right: Array, equal: Any, bounds: Array, seconds: float | None = None) -> Any:
    """HiGHS's answer for <cost, x> where matrix x <= right, equal x = 1, within bounds (variables, 2)."""
    solver: Any = linprog
    return listen(
        lambda: solver(
            cost,
            A_ub=matrix,
            b_ub=right,
            A_eq=equal if equal.shape[0] else None,
            b_eq=np.ones(equal.shape[0]) if equal.shape[0] else None,
            bounds=bounds,
            method="highs",
            options={} if seconds is None else {"time_limit": seconds},
        )
    )
