"""The tangent space of the face a projection landed on: its dimension, rankings that span it, and solves in it."""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array, Mixture
from rumflow.core.compile import kernel, leaf
from rumflow.core.graph import Graph, extract_type, fill_cells, make_sweep, run_sweep
from rumflow.core.paths import path_cost, squeeze
from rumflow.solvers.active_set.factor import dot, solve_backward, solve_forward
from rumflow.solvers.active_set.kernels import Problem, gram_entry, insert, matrix_row, start_from
from rumflow.solvers.active_set.solve import Workspace
from rumflow.solvers.small.lanes import price_cells
from rumflow.solvers.small.solve import enter, multiply
from rumflow.solvers.small.workspace import padded, total


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
                solve_forward(active.factor, np.int64(0), k, row)
                diagonal = gram_entry(problem.table, path, path) + problem.ridge
                insert(active, path, row, diagonal, 0.0, 0.0, problem.pivot * diagonal)


@kernel
def span_arcs(problem, graph, sweep, active, most):
    """Add types of weight 0 until the active ones span the face on which the cheapest types lie, or `most` are active.

    One cheapest type through every arc that is on one is enough to choose from: up and down from an arc always the same ways
    are taken, so the differences of these types are a basis of the flows on such arcs.
    """
    path = np.empty(active.paths.shape[1], np.int32)
    row, weight = active.scratch[1], np.empty(active.paths.shape[1])
    nodes = graph.first.shape[0] - 1
    largest = 0.0
    for a in range(graph.head.shape[0]):
        if graph.head[a] < nodes:
            largest = max(largest, abs(sweep.price[a]))
    limit = sweep.below[0] + 1e-9 * largest
    for node in range(nodes - 1):
        if sweep.above[node] + sweep.below[node] > limit:
            continue
        for arc in range(graph.first[node], graph.first[node + 1]):
            head = np.int64(graph.head[arc])
            k = active.count[0]
            if k >= most:
                return
            if head == nodes or sweep.above[node] + sweep.price[arc] + sweep.below[head] > limit:
                continue
            extract_type(graph, sweep, head, path)
            here = np.int64(node)
            fill_cells(graph, np.int64(arc), path)
            while here > 0:
                fill_cells(graph, np.int64(sweep.arc_in[here]), path)
                here = np.int64(sweep.tail[here])
            matrix_row(problem, path, active, np.int64(0), k, weight, row)
            solve_forward(active.factor, np.int64(0), k, row)
            diagonal = gram_entry(problem.table, path, path) + problem.ridge
            insert(active, path, row, diagonal, 0.0, 0.0, problem.pivot * diagonal)


def span_types(problem: Problem, graph: Graph, workspace: Workspace, mixture: Mixture, cost: Array) -> None:
    """Make a mixture active, and with it types that span its whole face for the prices `cost` of cells (all 0: the model)."""
    workspace.reserve(len(mixture[1]))
    start_from(problem, workspace.active, *mixture)
    sweep = make_sweep(graph)
    run_sweep(graph, cost, sweep)
    span_arcs(problem, graph, sweep, workspace.active, len(workspace.active.weights) - 8)


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
def tangent_weights(active, cost, d):
    """d with M d = <a_i, .> + const and sum d = 0, from edge costs; L^{-1} 1 must be in carried[0]."""
    k = active.count[0]
    one = active.carried[0]
    for i in range(k):
        d[i] = path_cost(cost, active.paths, i)
    zero = np.int64(0)
    solve_forward(active.factor, zero, k, d)
    s = -dot(one, zero, d, k) / dot(one, zero, one, k)
    for i in range(k):
        d[i] += s * one[i]
    solve_backward(active.factor, k, d)


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
