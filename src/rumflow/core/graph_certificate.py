"""The certificate of a projection onto a choice graph, computed from the mixture that was returned.

The bounds are those of `rumflow.core.certificate`, with types instead of rankings: for g = w (rho - rho_hat)

    f(rho) - f(rho') <= <g, rho> - (price of the cheapest type)          for every rho' of the model,

and over the cone <g, rho> + eps sum rho + 1/2 eps^2 sum 1/w with eps = max(0, -cheapest). The price of every arc is the sum of
the prices of its cells, added up one by one, and one pass over the nodes finds the cheapest type: nothing a solver has
computed enters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Mixture
from rumflow.core.certificate import Certificate, gap_bound
from rumflow.core.compile import kernel
from rumflow.core.graph import Graph, cells_of_types, fill_cells, prices_by_item, sum_open_menus
from rumflow.core.patience import OutOfTimeError
from rumflow.core.problem import Problem, data_size, least_weight, rounding_floor

_ARCS_A_LOOK = 200_000  # that are priced between two looks at the clock: some hundredths of a second


@kernel
def price_nodes(graph, cost, below, node, most):
    """Price nodes from `node` upwards until `most` arcs are priced; the node to go on with, -1 where all are done.

    `cost`: prices of cells by (menu, item) where the graph has rows, 0 outside menus; else by (menu, column).
    """
    m = graph.shape[0]
    row = np.full(m, np.int32(-1), np.int32)
    price = np.empty(cost.shape[1])
    last = graph.first[node + 1] - most
    while node >= 0 and graph.first[node + 1] > last:
        begin, end = graph.first[node], graph.first[node + 1]
        if graph.base.shape[0] > 0:
            sum_open_menus(graph, cost, np.int64(node), price)
            for arc in range(begin, end):
                below[node] = min(below[node], price[arc - begin] + below[graph.head[arc]])
        else:
            for arc in range(begin, end):
                total = 0.0
                fill_cells(graph, np.int64(arc), row)
                for j in range(m):
                    if row[j] >= 0:
                        total += cost[j, row[j]]
                        row[j] = -1
                below[node] = min(below[node], total + below[graph.head[arc]])
        node -= 1
    return node


def plain_cheapest(graph: Graph, cost: Array, look: Callable[[], None] = lambda: None) -> float:
    """The price of the cheapest type: prices of arcs cell by cell, one pass over the nodes; `look` may end it by an error."""
    nodes = graph.n_nodes
    if len(graph.base):
        cost = prices_by_item(graph.column, cost)
    below = np.full(nodes + 1, np.inf)
    below[nodes - 1] = 0.0
    node = nodes - 2
    while node >= 0:
        node = price_nodes(graph, cost, below, node, _ARCS_A_LOOK)
        if node >= 0:
            look()
    return float(below[0])


class Residual(NamedTuple):
    """What a table of probabilities of the model leaves of the data; the price of the cheapest type turns it into a gap."""

    objective: float  # 1/2 sum w (rho - rho_hat)^2
    cost: Array  # g = w (rho - rho_hat)
    inner: float  # <g, rho>
    mass: float  # sum of rho over the cells that count
    inverse: float  # sum of 1 / w over them
    cone: bool

    def gap(self, cheapest: float) -> float:
        """The bounds of the module's docstring; they hold for any number that no type's price is below."""
        gap: float = gap_bound.py_func(self.inner, cheapest, self.cone, self.mass, self.inverse)
        return gap


def residual_of(rho: Array, target: Array, weights: Array, cone: bool = False) -> Residual:
    """The residual of probabilities of the model, as a table of cells."""
    used = weights > 0
    cost = np.where(used, weights * (rho - np.where(used, target, 0.0)), 0.0)
    objective = 0.5 * float((cost[used] ** 2 / weights[used]).sum())
    inverse = float((1.0 / weights[used]).sum())
    return Residual(objective, cost, float((cost * rho).sum()), float(rho[used].sum()), inverse, cone)


def certify_types(
    graph: Graph, mixture: Mixture, problem: Problem, look: Callable[[], None] = lambda: None
) -> Certificate:
    """The certificate of a mixture of types, given the data as tables of cells.

    Where `look` raises OutOfTimeError in the pass over the graph, the gap is bounded by the objective: no distance is negative.
    """
    rho = cells_of_types(*mixture, graph.shape)
    left = residual_of(rho, *problem)
    try:
        gap = left.gap(plain_cheapest(graph, left.cost, look))
    except OutOfTimeError:
        gap = left.objective
    return describe_mixture(mixture, rho, problem, left.objective, gap)


def describe_mixture(mixture: Mixture, rho: Array, problem: Problem, objective: float, gap: float) -> Certificate:
    """The certificate of a mixture with its table of probabilities, given objective and gap.

    `least_flow` is the smallest weight of a type, `menu_error` how far a menu's probabilities are from adding up to 1 (on the
    cone: to the total of the weights).
    """
    lam = mixture[1]
    target, weights, cone = problem
    error = float(np.abs(rho.sum(axis=1) - (float(lam.sum()) if cone else 1.0)).max())
    size = float(data_size(target, weights))
    floor = rounding_floor(size, least_weight(weights))
    return Certificate(objective, gap, floor, float(lam.min()) if len(lam) else 0.0, error, size, float(weights.sum()))
