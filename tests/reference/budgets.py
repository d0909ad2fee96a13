"""What budgets, patches and types are, slowly and obviously."""

from itertools import product

import numpy as np
from scipy.optimize import linprog, nnls


def random_prices(rng, n_budgets, n_goods):
    return rng.dirichlet(np.full(n_goods, 3.0), n_budgets) * rng.uniform(0.9, 1.1, (n_budgets, 1))


def patches_by_trial(prices):
    """Every sign vector of every budget, by a linear programme: is there a bundle with room on all sides?"""
    found = set()
    n, goods = prices.shape
    for j in range(n):
        others = [k for k in range(n) if k != j]
        for signs in product((-1, 1), repeat=n - 1):
            # Largest r with s_k (p_k x - 1) >= r |a_k| and shares y >= r.
            rows, right = [], []
            for k, s in zip(others, signs, strict=True):
                plane = (prices[k] - prices[j]) / prices[j]
                rows.append([*(-s * plane), np.abs(plane).max()])
                right.append(0.0)
            rows += [[*(-np.eye(goods)[m]), 1.0] for m in range(goods)]
            right += [0.0] * goods
            answer = linprog(
                [*np.zeros(goods), -1.0],
                A_ub=rows,
                b_ub=right,
                A_eq=[[*np.ones(goods), 0.0]],
                b_eq=[1.0],
                bounds=[(0, None)] * goods + [(None, None)],
            )
            if answer.status == 0 and -answer.fun > 1e-10:
                row = np.zeros(n, int)
                row[others] = signs
                found.add((j, tuple(row.tolist())))
    return found


def rational_types(signs):
    """(k, J): all types without a cycle, by trying all."""
    signs = np.asarray(signs)
    n = signs.shape[1]
    own = [np.flatnonzero(signs[:, j] == 0) for j in range(n)]
    every = np.stack(np.meshgrid(*own, indexing="ij"), axis=-1).reshape(-1, n)
    below = (signs < 0) @ (1 << np.arange(n))
    placed = np.zeros(len(every), np.int64)
    for _ in range(n):
        for j in range(n):
            placed |= np.where(below[every[:, j]] & ~placed == 0, 1 << j, 0)
    return every[placed == (1 << n) - 1]


def matrix_of(types, n_patches):
    a = np.zeros((n_patches, len(types)))
    a[types.T, np.arange(len(types))] = 1.0
    return a


def cone_distance(a, p):
    return nnls(a, p)[1] ** 2


def simplex_distance(a, p, heavy=1e4):
    both = np.vstack([a, heavy * np.ones(a.shape[1])])
    v = nnls(both, np.append(p, heavy))[0]
    return float(((a @ (v / v.sum()) - p) ** 2).sum())


def series(budget, patch, log_expenditure, degree, of_patch):
    """The estimator as it is written: a regression for each patch, its value at the median."""
    found = np.empty(len(of_patch))
    for i, j in enumerate(of_patch):
        t = log_expenditure[budget == j]
        basis = t[:, None] ** np.arange(degree + 1)
        beta = np.linalg.lstsq(basis, (patch[budget == j] == i).astype(float), rcond=None)[0]
        found[i] = np.clip(np.median(t) ** np.arange(degree + 1) @ beta, 0, 1)
    return found


def controlled(patch, log_expenditure, instrument, degree, patches, median):
    """The estimator for endogenous expenditure of the households of one budget, as it is written (steps 1 to 4)."""
    w, n = log_expenditure, len(log_expenditure)
    r = instrument[:, None] ** np.arange(degree + 1)
    e = np.empty(n)
    for h in range(n):
        e[h] = r[h] @ np.linalg.lstsq(r, (w <= w[h]).astype(float), rcond=None)[0]
    v = n ** (-1 / 3)
    for h in range(n):
        if e[h] > 1 + v:
            e[h] = 1
        elif e[h] > 1 - v:
            e[h] = 1 - (1 - e[h] + v) ** 2 / (4 * v)
        elif e[h] < -v:
            e[h] = 0
        elif e[h] <= v:
            e[h] = (e[h] + v) ** 2 / (4 * v)
    powers = [(p, q) for p in range(degree + 1) for q in range(degree + 1 - p)]
    s = np.stack([w**p * e**q for p, q in powers], axis=1)
    at = np.array([median**p / (q + 1) for p, q in powers])
    return [np.clip(at @ np.linalg.lstsq(s, (patch == i).astype(float), rcond=None)[0], 0, 1) for i in patches]
