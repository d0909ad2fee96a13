"""The lattice of few items in lanes (`rumflow.solvers.small.workspace`): prices of cells and menus of the current mixture."""

from __future__ import annotations

import numpy as np

from rumflow.core.compile import inlined
from rumflow.core.residual import residual_row


@inlined
def transform_lanes(values, adjoint):
    """Z, or Z^T, of numbers in lanes, in place, two bits at a time."""
    end = values.shape[0]
    h = 8
    while 2 * h < end:
        for base in range(0, end, 4 * h):
            for low in range(base, base + h, 8):
                for j in range(low, low + 8):
                    a, b, c, d = values[j], values[j + h], values[j + 2 * h], values[j + 3 * h]
                    if adjoint:
                        b += a
                        d += c
                        c += a
                        d += b
                    else:
                        a += b
                        c += d
                        a += c
                        b += d
                    values[j], values[j + h], values[j + 2 * h], values[j + 3 * h] = a, b, c, d
        h *= 4
    if h < end:
        for low in range(0, h, 8):
            for j in range(low, low + 8):
                if adjoint:
                    values[j + h] += values[j]
                else:
                    values[j] += values[j + h]


@inlined
def price_cells(problem, workspace):
    """Z^T w (Z flow - rho_hat) of the current mixture, and the objective."""
    cost, target, weights = workspace.cost, workspace.target, problem.weights
    for j in range(cost.shape[0]):
        cost[j] = 0.0
    n = problem.layer.shape[0] - 2
    for i in range(workspace.count[0]):
        lam = workspace.weights[i]
        for x in range(n):
            cost[8 * np.int64(workspace.columns[i, x]) + x] += lam
    transform_lanes(cost, np.bool_(False))
    objective = residual_row(cost, target, weights)
    transform_lanes(cost, np.bool_(True))
    return objective


@inlined
def price_menus(problem, workspace):
    """The cheapest ways down from and up to every menu (see `rumflow.core.paths`), with their first edges."""
    n = problem.layer.shape[0] - 2
    cost, below, above = workspace.cost, workspace.below, workspace.above
    below[0] = 0.0
    at = 0
    for size in range(1, n + 1):
        for place in range(problem.layer[size], problem.layer[size + 1]):
            best, edge = np.inf, np.int64(0)
            for e in range(at, at + size):
                value = cost[problem.down[e, 0]] + below[problem.down[e, 1]]
                edge = problem.down[e, 0] if value < best else edge
                best = value if value < best else best
            at += size
            below[problem.order[place]] = best
            workspace.edge[0, problem.order[place]] = edge
    above[(1 << n) - 1] = 0.0
    at = 0
    for size in range(n - 1, -1, -1):
        for place in range(problem.layer[size], problem.layer[size + 1]):
            best, edge = np.inf, np.int64(0)
            for e in range(at, at + n - size):
                value = cost[problem.up[e, 0]] + above[problem.up[e, 1]]
                edge = problem.up[e, 0] if value < best else edge
                best = value if value < best else best
            at += n - size
            above[problem.order[place]] = best
            workspace.edge[1, problem.order[place]] = edge


@inlined
def extract_ranking(workspace, menu, columns):
    """Write the cheapest ranking through `menu`."""
    here = menu
    while here:
        edge = workspace.edge[0, here]
        columns[edge & 7] = edge >> 3
        here ^= 1 << (edge & 7)
    here = menu
    while here != workspace.below.shape[0] - 1:
        edge = workspace.edge[1, here]
        columns[edge & 7] = edge >> 3
        here |= 1 << (edge & 7)
