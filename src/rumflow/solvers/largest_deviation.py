"""The largest studentised deviation from a model, by a linear programme over flows.

With A the matrix whose columns are the types of a model and d > 0 a scale for every slot,

    T(b) = max <s, b>  over  A's <= 0,  sum of d |s| <= 1
         = min over x >= 0 of the largest |b - A x| / d         (duality of linear programmes)

the first is how far b violates the inequalities that hold for all mixtures of types of any total (Farkas), the second how many
scales the nearest of these mixtures is away. A mixture is a flow through the choice graph: as many variables as arcs, and no type
is listed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from rumflow.core.arrays import Array, Ints
from rumflow.core.graph import Graph
from rumflow.errors import InputError
from rumflow.solvers.linear_programs import FLOW_ARCS, Flows, solve_program


class LargestDeviation:
    """T for any b over the same slots; `cell`: the number of each slot's cell in the tables of the graph."""

    def __init__(self, graph: Graph, cell: Ints, scales: Array) -> None:
        arcs = np.flatnonzero(graph.head < graph.n_nodes)
        if len(arcs) > FLOW_ARCS:
            raise InputError(
                f"statistic='fsst' (--statistic fsst): these menus make a linear programme over {len(arcs):,} arcs; accepted are "
                f"up to {FLOW_ARCS:,}; take fewer menus, or the statistic 'distance'"
            )
        flows = Flows(graph, arcs)
        taken: Any = flows.cells[cell]
        width: Any = sparse.csr_matrix(scales[:, None])
        self._most = sparse.vstack([sparse.hstack([taken, -width]), sparse.hstack([-taken, -width])], "csc")
        none: Any = sparse.csr_matrix((flows.conservation.shape[0] - 1, 1))
        self._kept = sparse.hstack([flows.conservation[1:], none], "csc")
        self._cost = np.append(np.zeros(len(arcs)), 1.0)

    def __call__(self, b: Array) -> float:
        """T(b)."""
        answer = solve_program(
            self._cost, equal=(self._kept, np.zeros(self._kept.shape[0])), most=(self._most, np.concatenate([b, -b]))
        )
        return float(answer.fun)
