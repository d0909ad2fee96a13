"""Compared pairs the slow way: every cycle of a small graph, all rankings, and a general solver of least distance problems."""

from itertools import combinations, permutations

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
