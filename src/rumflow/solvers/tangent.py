"""The tangent space of the face a projection landed on: its dimension, rankings that span it, and solves in it."""

from __future__ import annotations

import numpy as np

from rumflow.core.compile import kernel, leaf
from rumflow.core.paths import path_cost, squeeze
from rumflow.solvers.active_set.factor import dot, row_start, solve_backward, solve_forward
from rumflow.solvers.active_set.kernels import gram_entry, insert
from rumflow.solvers.small.lanes import extract_ranking, price_cells
from rumflow.solvers.small.solve import enter, multiply
from rumflow.solvers.small.workspace import padded, total

#: A type whose price is above the cheapest by less than this share of the largest price of an edge or arc is as cheap.
TIGHT = 1e-9


@leaf
def face_dimension(flow, seen):
    """Dimension of the smallest face that holds a flow: edges in use, less menus in use, plus 1. `seen` is scratch."""
    n = flow.shape[0]
    full = (1 << n) - 1
    seen[:] = 0.0
    seen[full] = 1.0
    edges = 0
    menus = 1
    for menu in range(full, 0, -1):
        if seen[menu] > 0.0:
            for x in range(n):
                if (menu >> x) & 1 and flow[x, squeeze(menu, x)] > 0.0:
                    edges += 1
                    below = menu ^ (1 << x)
                    if seen[below] == 0.0:
                        seen[below] = 1.0
                        menus += 1
    return edges - menus + 1


@leaf
def path_through(flow, menu, item, path):
    """Some path through the edge (menu, item) along edges in use."""
    n = flow.shape[0]
    path[item] = squeeze(menu, item)
    here = menu ^ (1 << item)
    while here:
        for x in range(n):
            if (here >> x) & 1 and flow[x, squeeze(here, x)] > 0.0:
                path[x] = squeeze(here, x)
                here ^= 1 << x
                break
    here = menu
    while here != (1 << n) - 1:
        for x in range(n):
            if not (here >> x) & 1 and flow[x, squeeze(here, x)] > 0.0:
                path[x] = squeeze(here, x)
                here |= 1 << x
                break


@kernel
def span_face(problem, active, flow, dimension):
    """Add rankings of weight 0 until the active ones span the face of `flow`.

    Nothing is missing where the data are in general position. A point that happens to be a mixture of few rankings of a
    larger face still moves along the whole face. One path through every edge in use is
    enough to choose from.
    """
    n = flow.shape[0]
    path = np.empty(n, np.int32)
    row = active.scratch[1]
    for menu in range((1 << n) - 1, 0, -1):
        for item in range(n):
            k = active.count[0]
            if k > dimension:
                return
            if (menu >> item) & 1 and flow[item, squeeze(menu, item)] > 0.0:
                path_through(flow, menu, item, path)
                for i in range(k):
                    row[i] = gram_entry(problem.table, path, active.paths[i]) + problem.ridge
                solve_forward(active.factor, active.start, np.int64(0), k, row)
                diagonal = gram_entry(problem.table, path, path) + problem.ridge
                insert(active, path, row, diagonal, 0.0, 0.0, problem.pivot * diagonal)


@leaf
def span_small(problem, workspace, flow, dimension):
    """The same for few items."""
    n = flow.shape[0]
    for menu in range((1 << n) - 1, 0, -1):
        for item in range(n):
            if workspace.count[0] > dimension:
                return
            if (menu >> item) & 1 and flow[item, squeeze(menu, item)] > 0.0:
                path_through(flow, menu, item, workspace.new_columns[0])
                workspace.new_weights[0] = workspace.residual[0] = 0.0
                enter(problem, workspace, np.int64(0), np.int64(1))


@leaf
def span_tight_small(problem, workspace):
    """The same where cells were not observed, after `solve_small`: rankings of weight 0 that are as cheap as the active ones.

    On the cells that were observed they span the face. One cheapest ranking through every edge that is on one is enough to choose
    from: up and down from an edge always the same ways are taken, so their differences are a basis of the flows on such edges.
    """
    n = problem.layer.shape[0] - 2
    full = (1 << n) - 1
    cost, above, below = workspace.cost, workspace.above, workspace.below
    largest = 0.0
    for j in range(cost.shape[0]):
        largest = max(largest, abs(cost[j]))
    limit = below[full] + TIGHT * largest
    at = found = 0
    for size in range(1, n + 1):
        for place in range(problem.layer[size], problem.layer[size + 1]):
            menu = problem.order[place]
            for e in range(at, at + size):
                edge, under = problem.down[e, 0], problem.down[e, 1]
                if above[menu] + cost[edge] + below[under] > limit:
                    continue
                columns = workspace.new_columns[found]
                extract_ranking(workspace, under, columns)
                columns[edge & 7] = edge >> 3
                here = menu
                while here != full:  # from here up as from the menu, not as from what is under it
                    step = workspace.edge[1, here]
                    columns[step & 7] = step >> 3
                    here |= 1 << (step & 7)
                workspace.new_weights[found] = workspace.residual[found] = 0.0
                found += 1
                if found == 4:
                    if workspace.count[0] + 20 > workspace.words.shape[0]:
                        return
                    enter(problem, workspace, np.int64(0), np.int64(4))
                    found = 0
            at += size
    if found > 0 and workspace.count[0] + 20 <= workspace.words.shape[0]:
        enter(problem, workspace, np.int64(0), np.int64(found))


@leaf
def solve_tangent(factor, start, one, k, d):
    """d with M d = (what d was) + const and sum d = 0, in place; one = L^{-1} 1."""
    zero = np.int64(0)
    solve_forward(factor, start, zero, k, d)
    s = -dot(one, zero, d, k) / dot(one, zero, one, k)
    for i in range(k):
        d[i] += s * one[i]
    solve_backward(factor, start, k, d)


@leaf
def tangent_weights(active, cost, d):
    """d with M d = <a_i, .> + const and sum d = 0, from edge costs; L^{-1} 1 must be in carried[0]."""
    k = active.count[0]
    for i in range(k):
        d[i] = path_cost(cost, active.paths, i)
    solve_tangent(active.factor, active.start, active.carried[0], k, d)


@kernel
def tangent_types(types, factor, cost, out):
    """S times a table of cells of a graph, from types and their factor: the combination of types with the weights d."""
    k = types.shape[0]
    one, d, start = np.ones(k), np.empty(k), np.empty(k, np.int64)
    for i in range(k):
        start[i] = row_start(i)
    solve_forward(factor, start, np.int64(0), k, one)
    for i in range(k):
        d[i] = path_cost(cost, types, i)
    solve_tangent(factor, start, one, k, d)
    out[:] = 0.0
    for i in range(k):
        for j in range(types.shape[1]):
            out[j, types[i, j]] += d[i]


@leaf
def tangent_small(problem, workspace, cost):
    """The same for few items, in place of the weights; the inverse is not to the last digit, so d is refined once."""
    k = workspace.count[0]
    own, d, one = workspace.scratch[0], workspace.scratch[1], workspace.carried[0]
    for j in range(workspace.target.shape[0]):
        workspace.target[j] = 0.0
    for i in range(k):
        workspace.weights[i] = 0.0
    for _ in range(2):
        price_cells(problem, workspace)  # Z^T w Z times the flow of what there is of d
        for i in range(padded(k)):
            own[i] = 0.0
        for i in range(k):
            for x in range(cost.shape[0]):
                column = np.int64(workspace.columns[i, x])
                own[i] += cost[x, column] - workspace.cost[8 * column + x]
        multiply(workspace.inverse, k, own, d)
        s = -total(d, k) / total(one, k)
        for i in range(k):
            workspace.weights[i] += d[i] + s * one[i]
