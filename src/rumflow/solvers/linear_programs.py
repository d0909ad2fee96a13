"""Linear programmes over the types of a choice graph, with certified values.

    fixed    minimise <c, rho> over the model with rho = b on some cells
    packing  maximise s such that s rho <= b on some cells for some rho of the model

HiGHS solves them in one of two forms. *Flows*: a variable per arc, conservation at every node; equations fix so much that little
is left to decide, and this is fast while the graph is small. *Columns*: the best mixture of the types in use; its duals y price
the cells, and the cheapest types for these prices, one sweep over the graph, are taken into use. The duals give a bound that
holds whatever the tolerances of HiGHS were:

    fixed    <c, rho> >= <y, b> + (cheapest type for the prices c - y)         (y on the given cells)
    packing  s <= <y, b> / (cheapest type for the prices y)                      (y >= 0)

*Anchor.* Values b that are a projection lie on a face of the model: with g = w (b - data) only the cheapest types for the prices
g can be in a mixture that has these values. Duals y - t g are as good as y for every t >= 0, and with a large t no type off the
face is ever taken into use. Flows use only the arcs of such types, often a small part of the graph.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from rumflow.core.arrays import Array, Ints, Mixture, Paths
from rumflow.core.compile import clock, kernel
from rumflow.core.graph import Graph, fill_cells, make_sweep, run_sweep
from rumflow.core.graph_certificate import plain_cheapest
from rumflow.core.patience import OutOfTimeError, check_patience, deadline, listen
from rumflow.errors import RumflowError
from rumflow.solvers.active_set.on_graph import fill_pool
from rumflow.solvers.active_set.state import make_pool

#: Programmes with fixed values are solved over flows on graphs of at most this many arcs.
FLOW_ARCS = 20_000

#: Packing programmes begin with the types of the best flow on graphs of at most this many arcs.
PACKED_ARCS = 50_000

_FEW_ARCS = 1_000  # so few are not worth looking for a face
_MOST_ROUNDS = 400
_COLUMNS_A_ROUND = 300
_LOOSE = 1e-6  # a bound by flows further off than this, where coefficients are about 1, is sought again by columns
_STEEP = 1e3  # the largest price of the anchor, where coefficients are about 1
_QUICK = 1_000  # programmes of fewer variables and conditions take no time that anybody would notice
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Solution(NamedTuple):
    """A programme's value at a point, and a bound no point can pass."""

    value: float
    bound: float


@kernel
def list_cells(graph, ends, cells):
    """Numbers of the cells of every arc, one arc after the other, and where they end; without room they are only counted."""
    width = graph.shape[1]
    row = np.full(graph.shape[0], np.int32(-1), np.int32)
    nodes = graph.first.shape[0] - 1
    count = 0
    for arc in range(graph.head.shape[0]):
        if graph.head[arc] < nodes:
            fill_cells(graph, np.int64(arc), row)
            for j in range(row.shape[0]):
                if row[j] >= 0:
                    if cells.shape[0]:
                        cells[count] = j * width + row[j]
                    count += 1
                    row[j] = -1
        ends[arc] = count
    return count


def types_of_flow(graph: Graph, arcs: Ints, flow: Array) -> Mixture:
    """Types (k, menus) and weights of a mixture that has this flow, a number for each of `arcs`; the widest way first."""
    rest = np.full(len(graph.head), -1.0)  # arcs that are not there are never the widest
    rest[arcs] = np.maximum(flow, 0.0)
    floor = 1e-12 * float(rest.max(initial=0.0))
    found: list[Paths] = []
    shares: list[float] = []
    while True:
        node, path = 0, []
        while node != graph.n_nodes - 1:
            first, last = graph.first[node], graph.first[node + 1]
            path.append(int(first + rest[first:last].argmax()))
            node = int(graph.head[path[-1]])
        share = rest[path].min()
        if share <= floor:
            break
        rest[path] -= share
        row = np.full(graph.shape[0], -1, np.int32)
        for arc in path:
            fill_cells(graph, arc, row)
        found.append(row)
        shares.append(float(share))
    return np.array(found, np.int32).reshape(-1, graph.shape[0]), np.array(shares)


class Flows:
    """Some arcs of a graph as a matrix: conservation, and the cells of the arcs."""

    def __init__(self, graph: Graph, arcs: Ints) -> None:
        ends = np.empty(len(graph.head), np.int64)
        cells = np.empty(int(list_cells(graph, ends, np.empty(0, np.int64))), np.int64)
        list_cells(graph, ends, cells)
        nodes = graph.n_nodes
        tail = np.repeat(np.arange(nodes), np.diff(graph.first))[arcs]
        head = graph.head[arcs]
        one, number = np.ones(len(arcs)), np.arange(len(arcs))
        into = head < nodes - 1  # the sink's equation follows from the others
        self.conservation: sparse.csr_matrix = sparse.csr_matrix(
            (
                np.concatenate([one, -one[into]]),
                (np.concatenate([tail, head[into]]), np.concatenate([number, number[into]])),
            ),
            shape=(nodes - 1, len(arcs)),
        )
        count = np.diff(ends, prepend=0)
        place = np.full(len(count), -1)
        place[arcs] = number
        arc = np.repeat(place, count)
        self.cells: sparse.csr_matrix = sparse.csr_matrix(
            (np.ones(int((arc >= 0).sum())), (cells[arc >= 0], arc[arc >= 0])),
            shape=(graph.shape[0] * graph.shape[1], len(arcs)),
        )


class TypePrograms:
    """Programmes with the same given cells and values. Types that one has found are there for the next.

    menu, column   which cells of tables are given
    types          with a mixture that has the given values (fixed), or any (packing)
    anchor         g on the given cells, for values that are a projection
    """

    def __init__(
        self, graph: Graph, menu: Ints, column: Ints, values: Array, types: Paths, anchor: Array | None = None
    ) -> None:
        largest = 0.0 if anchor is None else float(np.abs(anchor).max(initial=0.0))
        self._anchor = np.zeros(len(values)) if anchor is None or largest == 0 else _STEEP / largest * anchor
        self._graph, self._menu, self._column, self._values = graph, menu, column, values
        self._row: Ints = np.full(graph.shape, -1, np.int64)  # of each cell among those given
        self._row[menu, column] = np.arange(len(values))
        self._sweep = make_sweep(graph)
        self._pool = make_pool(_COLUMNS_A_ROUND, graph.shape[0])
        self.types: Paths = np.unique(types, axis=0)
        self._known = {row.tobytes() for row in self.types}
        self._matrix = self._taken(self.types)

    def minimise(self, cost: Array) -> Solution:
        """The smallest <cost, rho> over the model with the given values; `cost`: a table of cells."""
        return self._minimum(cost)[0]

    def minimiser(self, cost: Array) -> tuple[Solution, Mixture]:
        """The same, and a mixture that attains the value."""
        solution, weights, by_flows = self._minimum(cost)
        if by_flows:
            return solution, types_of_flow(self._graph, self._face, weights)
        used = weights > 0
        return solution, (self.types[used], weights[used])

    def _minimum(self, cost: Array) -> tuple[Solution, Array, bool]:
        """The solution, and its weights: of arcs where it was found by flows, else of the types in use."""
        found: tuple[Solution, Array, bool] | None = None
        if len(self._face) <= FLOW_ARCS:
            value, y, flow = self._by_flows(self._flows, cost)
            loose, bound = _LOOSE * max(1.0, float(np.abs(cost).max())), -np.inf
            for t in (0.0, 1.0, 10.0, 100.0) if self._anchor.any() else (0.0,):
                bound = max(bound, self._bound(cost, y - t * self._anchor if t else y))
                found = Solution(value, bound), flow, True
                if value - bound <= loose:
                    return found
        # Where the duals of flows are large, their rounding spoils the bound; those of columns are repaired in every round.
        try:
            value, y, weights = self._by_columns(cost)
        except RumflowError:
            if found is None:
                raise
            return found
        return Solution(value, self._bound(cost, y)), weights, False

    def _bound(self, cost: Array, y: Array) -> float:
        """What no point with the given values can go below, by any duals."""
        return self._worth(y) + plain_cheapest(self._graph, cost - self._prices(y), check_patience)

    def _worth(self, y: Array) -> float:
        """The least that duals say of any point with the given values."""
        return float(y @ self._values)

    def _prices(self, y: Array) -> Array:
        """Duals as prices of cells."""
        return self._table(y)

    def _mix(self, prices: Array, taken: Any, sums: Any, totals: Array) -> tuple[Array, Array, Array]:
        """The cheapest x >= 0 with `taken` x = the given values and `sums` x = totals, and the duals of the two."""
        equal = sparse.vstack([taken, sums], "csc"), np.concatenate([self._values, totals])
        answer = solve_program(prices, equal=equal)
        return answer.x, *np.split(answer.eqlin.marginals, [len(self._values)])

    @cached_property
    def _face(self) -> Ints:
        """The arcs of types on the face of the anchor, at least those of the types in use at first; all where there is none."""
        graph = self._graph
        arcs = np.flatnonzero(graph.head < graph.n_nodes)
        if not self._anchor.any() or len(arcs) < _FEW_ARCS:
            return arcs
        prices = self._table(self._anchor)
        cheapest = self._price(prices)
        dearest = float(prices[np.arange(graph.shape[0]), self.types].sum(axis=1).max())
        tail = np.repeat(np.arange(graph.n_nodes), np.diff(graph.first))[arcs]
        through = self._sweep.above[tail] + self._sweep.price[arcs] + self._sweep.below[graph.head[arcs]]
        return arcs[through <= max(cheapest, dearest) + 1e-9 * _STEEP]

    @cached_property
    def _flows(self) -> Flows:
        return Flows(self._graph, self._face)

    def _by_flows(self, flows: Flows, cost: Array) -> tuple[float, Array, Array]:
        prices = np.asarray(flows.cells.T @ cost.reshape(-1))
        balance = np.zeros(flows.conservation.shape[0])
        balance[0] = 1.0
        given = flows.cells[self._menu * cost.shape[1] + self._column]
        flow, y, _ = self._mix(prices, given, flows.conservation, balance)
        return float(prices @ flow), y, flow

    def _by_columns(self, cost: Array) -> tuple[float, Array, Array]:
        bound, best = -np.inf, np.zeros(0)
        for _ in range(_MOST_ROUNDS):
            prices = cost[np.arange(len(cost)), self.types].sum(axis=1)
            one: Any = sparse.csc_matrix(np.ones((1, len(prices))))
            weights, y, level = self._mix(prices, self._matrix, one, np.ones(1))
            limit = float(level[0])
            if self._anchor.any():
                y, limit = y - self._anchor, limit + float(self._anchor @ self._values)
            reduced = cost - self._prices(y)
            here = self._worth(y) + self._price(reduced)
            if here > bound:
                bound, best = here, y
            value = float(prices @ weights)
            if value - bound <= 1e-9 * max(1.0, abs(value)) or not self._add(reduced, limit - 1e-11):
                break
        else:
            raise RumflowError(f"column generation left a gap of {value - bound:.2g} after {_MOST_ROUNDS} rounds")
        return value, best, weights

    def pack(self) -> tuple[Solution, Mixture]:
        """The largest s with s rho <= the given values for some rho of the model, and s rho as a mixture of types."""
        bound, best = 1.0, np.zeros(len(self._values))
        if self._graph.n_arcs <= PACKED_ARCS:
            best = self._pack_flows(self._flows)
            cheapest = self._price(self._table(best))
            bound = min(1.0, float(best @ self._values) / cheapest) if cheapest > 0 else 1.0
        for _ in range(_MOST_ROUNDS):
            answer = solve_program(-np.ones(len(self.types)), most=(self._matrix, self._values))
            y = np.maximum(-answer.ineqlin.marginals, 0.0)
            reduced = self._table(y)
            cheapest = self._price(reduced)
            if cheapest > 0 and float(y @ self._values) / cheapest < bound:
                bound, best = float(y @ self._values) / cheapest, y
            value = float(answer.x.sum())
            if bound - value <= 1e-9 or not self._add(reduced, 1.0 - 1e-11):
                break
        else:
            raise RumflowError(f"column generation left a gap of {bound - value:.2g} after {_MOST_ROUNDS} rounds")
        cheapest = plain_cheapest(self._graph, self._table(best), check_patience)
        bound = float(best @ self._values) / cheapest if cheapest > 0 else 1.0
        used = answer.x > 0
        return Solution(value, bound), (self.types[used], answer.x[used])

    def _pack_flows(self, flows: Flows) -> Array:
        """Take the types of the largest flow into use; the duals of the given cells."""
        given = flows.cells[self._menu * self._graph.shape[1] + self._column]
        leaving = np.asarray(flows.conservation[:1].todense()).reshape(-1)
        answer = solve_program(
            -leaving,
            equal=(flows.conservation[1:], np.zeros(flows.conservation.shape[0] - 1)),
            most=(given, self._values),
        )
        self._use(types_of_flow(self._graph, self._face, answer.x)[0])
        duals: Array = np.maximum(-answer.ineqlin.marginals, 0.0)
        return duals

    def _table(self, y: Array) -> Array:
        table = np.zeros(self._graph.shape)
        table[self._menu, self._column] = y
        return table

    def _price(self, cost: Array) -> float:
        """Sweep over the graph; the price of the cheapest type."""
        return run_sweep(self._graph, cost, self._sweep, 1)

    def _taken(self, types: Paths) -> Any:
        """(cells, types): 1 where the type takes the cell."""
        row = self._row[np.arange(self._graph.shape[0]), types]  # (types, menus)
        start = np.append(0, np.cumsum((row >= 0).sum(axis=1)))
        given = row[row >= 0]
        return sparse.csc_matrix((np.ones(len(given)), given, start), shape=(len(self._values), len(types)))

    def _add(self, cost: Array, limit: float) -> bool:
        """Take types cheaper than `limit` into use, after a sweep; False where there is no new one."""
        if not self._sweep.below[0] < limit:
            return False
        count = fill_pool(self._graph, self._sweep, self._pool, cost, limit)
        return self._use(self._pool.paths[:count])

    def _use(self, types: Paths) -> bool:
        """Take types into use; False where none of them is new."""
        new = {row.tobytes(): row for row in types if row.tobytes() not in self._known}
        if new:
            rows = np.array(list(new.values()))
            self._known.update(new)
            self.types = np.vstack([self.types, rows])
            self._matrix = sparse.hstack([self._matrix, self._taken(rows)], "csc")
        return bool(new)


def solve_program(
    cost: Array,
    equal: tuple[Any, Array] | None = None,
    most: tuple[Any, Array] | None = None,
) -> Any:
    """Minimise <cost, x> over x >= 0 with equations and upper limits, by HiGHS: the answer of SciPy's `linprog`."""
    check_patience()

    def solve(options: dict[str, float]) -> Any:
        solver: Any = linprog
        return solver(
            cost,
            A_ub=None if most is None else most[0],
            b_ub=None if most is None else most[1],
            A_eq=None if equal is None else equal[0],
            b_eq=None if equal is None else equal[1],
            bounds=(0, None),
            method="highs",
            options=options,
        )

    size = len(cost) + sum(len(given[1]) for given in (equal, most) if given is not None)
    limit = {} if np.isinf(deadline()) else {"time_limit": max(deadline() - clock(), 0.01)}
    # The fitted values are feasible only up to rounding. Where the tight tolerances do not allow for that, take the usual ones.
    for tolerances in (_OPTIONS, {}):
        call = partial(solve, tolerances | limit)
        answer = call() if size < _QUICK else listen(call)
        if answer.status == 0:
            return answer
        if limit and answer.status == 1:
            raise OutOfTimeError("the time is up")
    raise RumflowError(f"the linear programme was not solved: {answer.message}")
