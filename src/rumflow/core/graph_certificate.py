"""The certificate of a projection onto a choice graph, computed from the mixture that was returned.

The bounds are those of `rumflow.core.certificate`, with types instead of rankings: for g = w (rho - rho_hat)

    f(rho) - f(rho') <= <g, rho> - (price of the cheapest type)          for every rho' of the model,

and over the cone <g, rho> + eps sum rho + 1/2 eps^2 sum 1/w with eps = max(0, -cheapest). The price of every arc is the sum of
the prices of its cells, added up one by one, and one pass over the nodes finds the cheapest type: nothing a solver has
computed enters.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array, Mixture
from rumflow.core.certificate import Certificate
from rumflow.core.compile import kernel
from rumflow.core.graph import Graph, cells_of_types, fill_cells
from rumflow.core.problem import Problem, data_size, least_weight, rounding_floor


@kernel
def plain_cheapest(graph, cost):
    """The price of the cheapest type: prices of arcs cell by cell, one pass over the nodes."""
    m = graph.shape[0]
    nodes = graph.first.shape[0] - 1
    below = np.full(nodes + 1, np.inf)
    below[nodes - 1] = 0.0
    row = np.full(m, np.int32(-1), np.int32)
    opened = np.empty(m, np.int64)
    for node in range(nodes - 2, -1, -1):
        count = 0
        if graph.base.shape[0] > 0:
            at = np.int64(node)
            while at != nodes - 1:
                for i in range(graph.added_first[at], graph.added_first[at + 1]):
                    opened[count] = graph.added[i]
                    count += 1
                at = np.int64(graph.base[at])
        for arc in range(graph.first[node], graph.first[node + 1]):
            if graph.head[arc] == nodes:
                continue
            total = 0.0
            if graph.base.shape[0] > 0:
                item = arc - graph.first[node]
                for t in range(count):
                    column = graph.column[opened[t], item]
                    if column >= 0:
                        total += cost[opened[t], column]
            else:
                fill_cells(graph, np.int64(arc), row)
                for j in range(m):
                    if row[j] >= 0:
                        total += cost[j, row[j]]
                        row[j] = -1
            below[node] = min(below[node], total + below[graph.head[arc]])
    return below[0]


def certify_types(graph: Graph, mixture: Mixture, problem: Problem) -> Certificate:
    """The certificate of a mixture of types, given the data as tables of cells.

    `least_flow` is the smallest weight of a type, `menu_error` how far a menu's probabilities are from adding up to 1 (on the
    cone: to the total of the weights).
    """
    types, lam = mixture
    target, weights, cone = problem
    rho = cells_of_types(types, lam, graph.shape)
    expected = float(lam.sum()) if cone else 1.0
    error = float(np.abs(rho.sum(axis=1) - expected).max())
    objective, gap = certify_table(graph, rho, target, weights, cone)
    size = float(data_size(target, weights))
    floor = rounding_floor(size, least_weight(weights))
    return Certificate(objective, gap, floor, float(lam.min()), error, size, float(weights.sum()))


def certify_table(graph: Graph, rho: Array, target: Array, weights: Array, cone: bool = False) -> tuple[float, float]:
    """Objective and gap of probabilities of the model, as a table of cells."""
    used = weights > 0
    cost = np.where(used, weights * (rho - np.where(used, target, 0.0)), 0.0)
    objective = 0.5 * float((cost[used] ** 2 / weights[used]).sum())
    inner = float((cost * rho).sum())
    cheapest = float(plain_cheapest(graph, cost))
    if not cone:
        return objective, max(inner - cheapest, 0.0)
    miss = max(0.0, -cheapest)
    gap = inner + miss * float(rho[used].sum()) + 0.5 * miss * miss * float((1.0 / weights[used]).sum())
    return objective, max(gap, 0.0)
