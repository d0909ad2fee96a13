"""Plain twins for choice graphs: slow, obvious, and written without looking at the kernels."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from scipy.optimize import nnls

from rumflow.core.graph_cells import Cells


def random_cells(rng, n, m, partly=False, size=0.6):
    """Random menus, with random cells not recorded where `partly`."""
    member = rng.random((m, n)) < size
    member[np.arange(m), rng.integers(n, size=m)] = True
    recorded = member & (rng.random((m, n)) < 0.8) if partly else member
    recorded[0, member[0].argmax()] = True  # something must have been recorded
    return Cells(member, recorded)


def random_tables(rng, cells, weighted=False):
    """Random probabilities of the recorded cells, and weights."""
    m, n = cells.membership.shape
    rho = rng.exponential(size=(m, n)) * cells.membership
    rho /= rho.sum(axis=1, keepdims=True)
    weights = rng.uniform(0.2, 5.0, (m, n)) if weighted else np.ones((m, n))
    return cells.to_table(rho), cells.to_table(weights)


def type_of_order(cells, order):
    """What a ranking takes from every menu, one menu at a time."""
    row = []
    for j, members in enumerate(cells.membership):
        item = next(x for x in order if members[x])
        recorded = [x for x in range(len(members)) if cells.recorded[j, x]]
        row.append(recorded.index(item) if item in recorded else len(recorded))
    return tuple(row)


def orders(n, keep=lambda order: True):
    return [order for order in permutations(range(n)) if keep(order)]


def respects(pairs):
    return lambda order: all(order.index(a) < order.index(b) for a, b in pairs)


def is_single_peaked(order):
    return all(max(order[:k]) - min(order[:k]) == k - 1 for k in range(1, len(order) + 1))


def behaviour(row, shape):
    table = np.zeros(shape)
    for j, c in enumerate(row):
        table[j, c] = 1.0
    return table


def projection(types, shape, target, weights, cone=False):
    """The projection by non-negative least squares over all types: fitted table and objective."""
    used = weights > 0
    root = np.sqrt(weights[used])
    tables = [behaviour(row, shape) for row in types]
    matrix = np.array([root * table[used] for table in tables]).T
    goal = root * target[used]
    if cone:
        lam, _ = nnls(matrix, goal, maxiter=100_000)
    else:
        heavy = 1e4 * root.max()
        lam, _ = nnls(np.vstack([matrix, np.full(len(types), heavy)]), np.append(goal, heavy), maxiter=100_000)
        face = np.flatnonzero(lam > 0)
        rest = matrix[:, face[1:]] - matrix[:, face[:1]]
        mu = np.linalg.lstsq(rest, goal - matrix[:, face[0]], rcond=None)[0]
        lam[face] = np.concatenate([[1 - mu.sum()], mu])
    fitted = sum(weight * table for weight, table in zip(lam, tables, strict=True))
    return fitted, 0.5 * float((weights[used] * (fitted - target)[used] ** 2).sum())


def arcs_of(graph):
    """All arcs as (tail, head, {menu: column}), read off the arrays one by one."""
    found = []
    for u in range(graph.n_nodes):
        for a in range(graph.first[u], graph.first[u + 1]):
            if graph.head[a] == graph.n_nodes:
                continue
            cells = {}
            if len(graph.base) == 0:
                i = graph.label[a]
                while i:
                    cells[int(graph.cell[i]) // graph.shape[1]] = int(graph.cell[i]) % graph.shape[1]
                    i = graph.parent[i]
            else:
                item, at = a - graph.first[u], u
                while at != graph.n_nodes - 1:
                    for menu in graph.added[graph.added_first[at] : graph.added_first[at + 1]]:
                        if graph.column[menu, item] >= 0:
                            cells[int(menu)] = int(graph.column[menu, item])
                    at = graph.base[at]
            found.append((u, int(graph.head[a]), cells))
    return found


def paths_of(graph):
    """All paths from the source to the sink, as lists of arcs."""
    out = {}
    for arc in arcs_of(graph):
        out.setdefault(arc[0], []).append(arc)

    def walk(node):
        if node == graph.n_nodes - 1:
            yield []
            return
        for arc in out[node]:
            for rest in walk(arc[1]):
                yield [arc, *rest]

    return list(walk(0))


def types_of(graph):
    """The set of types of a graph; every path must decide every menu once."""
    types = set()
    for path in paths_of(graph):
        cells = [item for arc in path for item in arc[2].items()]
        assert sorted(menu for menu, _ in cells) == list(range(graph.shape[0]))
        types.add(tuple(column for _, column in sorted(cells)))
    return types


def cheapest_ways(graph, cost):
    """above, below, and the price of each arc, by the definition."""
    arcs = arcs_of(graph)
    price = [sum(cost[menu, column] for menu, column in cells.items()) for _, _, cells in arcs]
    above, below = [np.inf] * graph.n_nodes, [np.inf] * graph.n_nodes
    above[0] = below[-1] = 0.0
    for (tail, head, _), p in zip(arcs, price, strict=True):
        above[head] = min(above[head], above[tail] + p)
    for (tail, head, _), p in zip(reversed(arcs), reversed(price), strict=True):
        below[tail] = min(below[tail], p + below[head])
    return np.array(above), np.array(below), np.array(price)


def open_menus(cells, above=()):
    """The graph of open menus with sets: its nodes, and how many arcs there are."""
    menus = [frozenset(np.flatnonzero(row).tolist()) for row in cells.membership]
    closed = set(above)
    while True:
        more = {(a, d) for a, b in closed for c, d in closed if b == c} - closed
        if not more:
            break
        closed |= more

    def linked(i, j):
        return bool(menus[i] & menus[j]) or any(
            (a, b) in closed or (b, a) in closed for a in menus[i] for b in menus[j]
        )

    nodes, todo, arcs = set(), [frozenset(range(len(menus)))], 0
    while todo:
        here = todo.pop()
        if here in nodes:
            continue
        nodes.add(here)
        if not here:
            continue
        group = {min(here)}
        while True:
            more = {j for j in here for i in group if linked(i, j)}
            if more <= group:
                break
            group |= more
        offered = {x for j in here for x in menus[j]}
        for x in sorted({x for j in group for x in menus[j]}):
            if not any((a, x) in closed for a in offered):
                arcs += 1
                todo.append(frozenset(j for j in here if x not in menus[j]))
    return nodes, arcs
