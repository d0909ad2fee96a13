"""Linear programmes over random utility models, with certified values.

    fixed    minimise <c, rho> over RUMs with rho = b on some cells
    packing  maximise s such that s rho <= b on some cells for some RUM rho

Up to `FLOW_ITEMS` items they are solved over flows: a variable per edge of the lattice, conservation at every menu. Above that by
column generation over rankings, whose pricing problem is a shortest path on the lattice, O(N). HiGHS solves the programmes;
its duals y then give a bound that holds whatever its tolerances were:

    fixed    <c, rho> >= <y, b> + (cheapest ranking for the costs c - y)         (y on the given cells)
    packing  s <= <y, b> / (cheapest ranking for the costs y)                      (y >= 0)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from rumflow.core.arrays import Array, Ints, Mixture, Paths
from rumflow.core.lattice import Lattice
from rumflow.core.paths import cheapest_above, cheapest_below, extract_path, flow_from_paths
from rumflow.core.transforms import zeta_adjoint
from rumflow.errors import RumflowError

FLOW_ITEMS = 8
_MOST_ROUNDS = 400
_COLUMNS_A_ROUND = 300
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Solution(NamedTuple):
    """A programme's value at a point, a bound no point can pass, and the point's flow (internal layout)."""

    value: float
    bound: float
    flow: Array


def edge_costs(lattice: Lattice, cells: Array) -> Array:
    """Costs of the edges, Z^T c, from numbers per cell."""
    return zeta_adjoint(lattice.cells_to_internal(cells))


def minimise_fixed(lattice: Lattice, cost: Array, cells: Ints, values: Array, start: Mixture) -> Solution:
    """The smallest <cost, rho> over RUMs with rho = values on `cells`; `start` is a mixture that has these values."""
    if lattice.n <= FLOW_ITEMS:
        return _flow_fixed(lattice, cost, cells, values)
    return _columns_fixed(lattice, cost, cells, values, start)


def maximise_packing(lattice: Lattice, cells: Ints, values: Array, start: Mixture) -> Solution:
    """The largest s with s rho <= values on `cells` for some RUM rho; the flow returned is that of s rho."""
    if lattice.n <= FLOW_ITEMS:
        return _flow_packing(lattice, cells, values)
    return _columns_packing(lattice, cells, values, start)


def conservation(lattice: Lattice) -> sparse.csr_matrix:
    """(2^n - 1, N): outflow minus inflow of every menu, mask 1 first; the last row is the outflow of the full menu."""
    mask, item = lattice.cells.T
    edge = np.arange(lattice.n_cells)
    into = mask ^ (np.int64(1) << item)
    kept = into > 0
    return sparse.csr_matrix(
        (
            np.concatenate([np.ones(len(edge)), -np.ones(int(kept.sum()))]),
            (np.concatenate([mask - 1, into[kept] - 1]), np.concatenate([edge, edge[kept]])),
        ),
        shape=(lattice.n_menus - 1, lattice.n_cells),
    )


def superset_sums(lattice: Lattice, cells: Ints) -> sparse.csr_matrix:
    """(len(cells), N): rows of Z; rho(D, x) sums the flow over all (E, x) with E containing D."""
    mask, item = lattice.cells.T
    rows = [np.empty(0, np.int64)]  # so that no cell at all gives an empty matrix
    for c in cells:
        rows.append(np.flatnonzero((item == item[c]) & (mask & mask[c] == mask[c])))
    lengths = [len(r) for r in rows[1:]]
    return sparse.csr_matrix(
        (np.ones(sum(lengths)), (np.repeat(np.arange(len(cells)), lengths), np.concatenate(rows))),
        shape=(len(cells), lattice.n_cells),
    )


def _flow_fixed(lattice: Lattice, cost: Array, cells: Ints, values: Array) -> Solution:
    balance = np.zeros(lattice.n_menus - 1)
    balance[-1] = 1.0
    edges = lattice.internal_to_cells(edge_costs(lattice, cost))
    answer = _solve(
        edges,
        equal=(
            sparse.vstack([conservation(lattice), superset_sums(lattice, cells)]),
            np.concatenate([balance, values]),
        ),
    )
    y = answer.eqlin.marginals[len(balance) :]
    flow = lattice.cells_to_internal(np.maximum(answer.x, 0.0))
    return Solution(float(edges @ answer.x), _fixed_bound(lattice, cost, cells, values, y)[0], flow)


def _fixed_bound(lattice: Lattice, cost: Array, cells: Ints, values: Array, y: Array) -> tuple[float, Array]:
    reduced = cost.copy()
    reduced[cells] -= y
    edges = edge_costs(lattice, reduced)
    return float(y @ values + cheapest_below(edges)[-1]), edges


def _flow_packing(lattice: Lattice, cells: Ints, values: Array) -> Solution:
    mask = lattice.cells[:, 0]
    out = -(mask == lattice.n_menus - 1).astype(float)
    balance = conservation(lattice)[:-1]
    answer = _solve(
        out,
        equal=(balance, np.zeros(balance.shape[0])) if balance.shape[0] else None,
        most=(superset_sums(lattice, cells), values),
    )
    bound, _ = _packing_bound(lattice, cells, values, np.maximum(-answer.ineqlin.marginals, 0.0))
    return Solution(float(-out @ answer.x), bound, lattice.cells_to_internal(np.maximum(answer.x, 0.0)))


def _packing_bound(lattice: Lattice, cells: Ints, values: Array, y: Array) -> tuple[float, Array]:
    full = np.zeros(lattice.n_cells)
    full[cells] = y
    edges = edge_costs(lattice, full)
    cheapest = float(cheapest_below(edges)[-1])
    return (float(y @ values) / cheapest if cheapest > 0 else 1.0), edges


def _columns_fixed(lattice: Lattice, cost: Array, cells: Ints, values: Array, start: Mixture) -> Solution:
    edges = edge_costs(lattice, cost)
    columns = _Columns(lattice, cells, start[0])
    bound = -np.inf
    for _ in range(_MOST_ROUNDS):
        prices = np.array([edges[np.arange(lattice.n), p].sum() for p in columns.paths])
        matrix: Any = sparse.vstack([columns.matrix(), sparse.csr_matrix(np.ones((1, len(prices))))])
        answer = _solve(prices, equal=(matrix, np.append(values, 1.0)))
        y = answer.eqlin.marginals[:-1]
        here, reduced = _fixed_bound(lattice, cost, cells, values, y)
        bound = max(bound, here)
        value = float(prices @ answer.x)
        if value - bound <= 1e-9 * max(1.0, abs(value)) or not columns.add(
            reduced, float(answer.eqlin.marginals[-1]) - 1e-11
        ):
            break
    else:
        raise RumflowError(f"column generation left a gap of {value - bound:.2g} after {_MOST_ROUNDS} rounds")
    return Solution(value, bound, flow_from_paths(columns.paths, answer.x))


def _columns_packing(lattice: Lattice, cells: Ints, values: Array, start: Mixture) -> Solution:
    columns = _Columns(lattice, cells, start[0])
    bound = 1.0
    for _ in range(_MOST_ROUNDS):
        answer = _solve(-np.ones(len(columns.paths)), most=(columns.matrix(), values))
        y = np.maximum(-answer.ineqlin.marginals, 0.0)
        here, reduced = _packing_bound(lattice, cells, values, y)
        bound = min(bound, here)
        value = float(answer.x.sum())
        if bound - value <= 1e-9 or not columns.add(reduced, 1.0 - 1e-11):
            break
    else:
        raise RumflowError(f"column generation left a gap of {bound - value:.2g} after {_MOST_ROUNDS} rounds")
    return Solution(value, bound, flow_from_paths(columns.paths, answer.x))


class _Columns:
    """Rankings in use, and what they choose on the given cells."""

    def __init__(self, lattice: Lattice, cells: Ints, paths: Paths) -> None:
        self._lattice = lattice
        # Ranking p chooses x from D when D is within E_p(x); both with bit x squeezed out.
        index = lattice.cell_index[cells]
        self._item, self._column = np.divmod(index, 1 << (lattice.n - 1))
        self.paths = np.unique(paths, axis=0)
        self._known = {p.tobytes() for p in self.paths}

    def matrix(self) -> sparse.csr_matrix:
        """(cells, rankings): 1 where the ranking chooses the cell."""
        chosen = self.paths[:, self._item] & self._column == self._column
        return sparse.csr_matrix(chosen.T.astype(float))

    def add(self, edges: Array, limit: float) -> bool:
        """Add the cheapest rankings through every menu whose cost is below `limit`; False where there is none."""
        n = self._lattice.n
        above, below = cheapest_above(edges), cheapest_below(edges)
        price = above + below
        found: list[Paths] = []
        for menu in np.argsort(price, kind="stable"):
            if price[menu] >= limit or len(found) >= _COLUMNS_A_ROUND:
                break
            path = np.empty(n, np.int32)
            extract_path(edges, above, below, n, int(menu), path)
            if path.tobytes() not in self._known:
                self._known.add(path.tobytes())
                found.append(path)
        if found:
            self.paths = np.vstack([self.paths, found])
        return bool(found)


def _solve(
    cost: Array,
    equal: tuple[Any, Array] | None = None,
    most: tuple[Any, Array] | None = None,
) -> Any:
    solver: Any = linprog
    # The fitted values are feasible only up to rounding. Where the tight tolerances do not allow for that, take the usual ones.
    for options in (_OPTIONS, {}):
        answer = solver(
            cost,
            A_ub=None if most is None else most[0],
            b_ub=None if most is None else most[1],
            A_eq=None if equal is None else equal[0],
            b_eq=None if equal is None else equal[1],
            bounds=(0, None),
            method="highs",
            options=options,
        )
        if answer.status == 0:
            return answer
    raise RumflowError(f"the linear programme was not solved: {answer.message}")
