"""Linear programmes over the types of a choice graph with sums of cells in ranges, with certified values.

    minimise <c, rho> over the model with  centre - room <= A rho <= centre + room

They are those of `rumflow.solvers.linear_programs`, by flows or by columns, with ranges in place of given values, and the bound
is that of duals y of either sign, whatever HiGHS did:

    <c, rho>  >=  <y, centre> - <|y|, room> + (cheapest type for the prices c - A' y).

*Nearest.* How far the rooms must be stretched, or may be shrunk, so that there is just one such rho is a programme as well: the
least t with |A rho - centre| <= t room. With duals y scaled to <|y|, room> = 1,

    t  >=  <y, centre> + (cheapest type for the prices -A' y).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rumflow.core.arrays import Array, Ints, Mixture, Paths
from rumflow.core.graph import Graph
from rumflow.core.graph_certificate import plain_cheapest
from rumflow.core.patience import check_patience
from rumflow.errors import RumflowError
from rumflow.solvers.linear_programs import Solution, TypePrograms, solve_program

_MOST_ROUNDS = 400
_CLEARLY = 0.9  # a stretch below 1 that will do


class Ranges(NamedTuple):
    """Sums of cells, and where they must be."""

    matrix: Any  # (k, cells), sparse
    centre: Array  # (k,)
    room: Array  # (k,)

    def limits(self, taken: Any) -> tuple[Any, Array]:
        """The ranges as upper limits, `taken` (cells, variables) saying what each variable adds to the cells."""
        sums = self.matrix @ taken
        return sparse.vstack([sums, -sums], "csc"), np.concatenate([self.room + self.centre, self.room - self.centre])


class RangePrograms(TypePrograms):
    """Programmes with the same ranges; `types` are to begin with, and `nearest` is asked first."""

    def __init__(self, graph: Graph, menu: Ints, column: Ints, types: Paths, ranges: Ranges) -> None:
        super().__init__(graph, menu, column, np.zeros(len(menu)), types)
        self._ranges = ranges

    def nearest(self) -> tuple[Solution, Mixture]:
        """The least t of the module's docstring, up to 1 there are points, and the nearest; only as far as that is clear."""
        ranges = self._ranges
        k, bound = len(ranges.centre), 0.0
        point = ranges._replace(room=np.zeros(k))
        wider = sparse.csc_matrix(-np.tile(ranges.room, 2)[:, None])
        for _ in range(_MOST_ROUNDS):
            sums, most = point.limits(self._matrix)
            count = len(self.types)
            answer = solve_program(
                np.append(np.zeros(count), 1.0),
                equal=(sparse.csc_matrix(np.append(np.ones(count), 0.0)[None]), np.ones(1)),
                most=(sparse.hstack([sums, wider], "csc"), most),
            )
            weights, value = answer.x[:-1], float(answer.x[-1])
            y = answer.ineqlin.marginals[:k] - answer.ineqlin.marginals[k:]
            y = y / max(float(np.abs(y) @ ranges.room), 1.0)
            bound = max(bound, float(y @ ranges.centre) + plain_cheapest(self._graph, -self._prices(y), check_patience))
            clear = value <= _CLEARLY or bound > 1.0
            self._price(-self._prices(y))
            if clear or value - bound <= 1e-9 or not self._add(-self._prices(y), float(answer.eqlin.marginals[0])):
                break
        else:
            raise RumflowError(f"column generation left a gap of {value - bound:.2g} after {_MOST_ROUNDS} rounds")
        used = weights > 0
        return Solution(value, bound), (self.types[used], weights[used])

    def _worth(self, y: Array) -> float:
        return float(y @ self._ranges.centre - np.abs(y) @ self._ranges.room)

    def _prices(self, y: Array) -> Array:
        return self._table(self._ranges.matrix.T @ y)

    def _mix(self, prices: Array, taken: Any, sums: Any, totals: Array) -> tuple[Array, Array, Array]:
        answer = solve_program(prices, equal=(sums, totals), most=self._ranges.limits(taken))
        k = len(self._ranges.centre)
        return answer.x, answer.ineqlin.marginals[:k] - answer.ineqlin.marginals[k:], answer.eqlin.marginals
