"""Compared pairs the slow way: every cycle of a small graph, all rankings, and a general solver of least distance problems."""

from itertools import combinations, permutations, product

import numpy as np
from scipy.optimize import nnls


def random_pairs(rng, n, share=1.0):
    """Some of the pairs of n items, as two arrays; at least one."""
    every = np.array(list(combinations(range(n), 2)))
    kept = every[rng.random(len(every)) < share]
    kept = every[:1] if len(kept) == 0 else kept
    turn = rng.random(len(kept)) < 0.5
    return np.where(turn, kept[:, 1], kept[:, 0]), np.where(turn, kept[:, 0], kept[:, 1])


def every_cycle(a, b, n):
    """All directed cycles of three items or more, each once: lists of (pair, along) with `along` False for 1 - x."""
    arc = {}
    for e, (u, v) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        arc[u, v], arc[v, u] = (e, True), (e, False)
    found = []

    def walk(path):
        here = path[-1]
        for v in range(path[0], n):
            if (here, v) not in arc:
                continue
            if v == path[0] and len(path) > 2:
                found.append([arc[u, w] for u, w in zip(path, [*path[1:], v], strict=True)])
            elif v not in path:
                walk([*path, v])

    for u in range(n):
        walk([u])
    return found


def cycle_length(cycle, x):
    """The sum of its shares."""
    return sum(x[e] if along else 1.0 - x[e] for e, along in cycle)


def rows_of(cycles, m):
    """Rows R and numbers r with R x >= r, for the cycles and 0 <= x <= 1."""
    rows, right = [], []
    for cycle in cycles:
        row = np.zeros(m)
        for e, along in cycle:
            row[e] += 1.0 if along else -1.0
        rows.append(row)
        right.append(1.0 - sum(not along for _, along in cycle))
    rows += [*np.eye(m), *-np.eye(m)]
    return np.array(rows), np.array([*right, *np.zeros(m), *-np.ones(m)])


def least_distance(p, h, rows, right):
    """The nearest x to p in the norm of h with rows x >= right, by non-negative least squares (Lawson and Hanson)."""
    root = np.sqrt(h)
    scaled, lack = rows / root, right - rows @ p
    if (lack <= 0).all():
        return p.copy()
    matrix = np.vstack([scaled.T, lack])
    goal = np.append(np.zeros(len(p)), 1.0)
    u, _ = nnls(matrix, goal, maxiter=100 * matrix.shape[1])
    rest = matrix @ u - goal
    return p - rest[:-1] / rest[-1] / root


def ranking_shares(a, b, n):
    """(n!, m): what every ranking says of every pair, 1 where the first item is above."""
    rank = np.argsort(np.array(list(permutations(range(n)))), axis=1)
    return (rank[:, a] < rank[:, b]).astype(float)


def nearest_mixture(p, h, types):
    """The distance of p to the mixtures of types in the norm of h, by non-negative least squares."""
    root, heavy = np.sqrt(h), 1e4
    matrix = np.vstack([(types * root).T, np.full(len(types), heavy)])
    u, _ = nnls(matrix, np.append(root * p, heavy), maxiter=100 * len(types))
    return float(np.sqrt((h * (types.T @ (u / u.sum()) - p) ** 2).sum()))


# Ties as an outcome


def weak_orders(n):
    """(k, n): all weak orders, as the class of each item, 0 for the best."""
    return np.array([order for order in product(range(n), repeat=n) if set(order) == set(range(max(order) + 1))])


def weak_shares(a, b, n):
    """(k, m, 3): what every weak order says of every pair: the first, the second, or a tie."""
    orders = weak_orders(n)
    one, two = orders[:, a], orders[:, b]
    return np.stack([one < two, one > two, one == two], axis=2).astype(float)


def every_path(a, b, n):
    """(rows, right) with rows x >= right for shares x of arcs 2 e and 2 e + 1: all simple paths, and the bounds."""
    arc = {}
    for e, (u, v) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        arc[u, v], arc[v, u] = 2 * e, 2 * e + 1
    rows = []

    def walk(path, end, arcs):
        for v in range(n):
            step = arc.get((path[-1], v))
            if step is None or v in path or (len(path) == 1 and v == end):
                continue
            if v == end:
                row = np.zeros(len(arc))
                row[[*arcs, step]] = 1.0
                row[arc[path[0], end]] = -1.0
                rows.append(row)
            else:
                walk([*path, v], end, [*arcs, step])

    for u, v in arc:
        walk([u], v, [])
    eye = np.eye(len(arc))
    right = [*np.zeros(len(rows) + len(arc)), *-np.ones(len(a))]
    return np.array([*rows, *eye, *-(eye[::2] + eye[1::2])]), np.array(right)


def tied_weights(weights):
    """H for weights (m, 3), as a matrix over the arcs."""
    found = np.zeros((2 * len(weights), 2 * len(weights)))
    for e, (w, v, u) in enumerate(weights):
        found[2 * e : 2 * e + 2, 2 * e : 2 * e + 2] = [[w + u, u], [u, v + u]]
    return found


def tied_nearest(shares, weights, rows, right):
    """The nearest shares of arcs to shares (m, 3), whose rows add up to 1, by `least_distance` after a change of variables."""
    root = np.linalg.cholesky(tied_weights(weights)).T
    z = least_distance(root @ shares[:, :2].reshape(-1), np.ones(len(root)), rows @ np.linalg.inv(root), right)
    return np.linalg.solve(root, z)
