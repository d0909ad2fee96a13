"""Plain twins of the kernels: slow, obvious, and written without looking at them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from scipy.optimize import nnls


def menus(n):
    """All menus as sets of items, by bit mask."""
    return [frozenset(x for x in range(n) if mask >> x & 1) for mask in range(1 << n)]


def choice_array(order):
    """What a ranking (best first) chooses from every menu, as a (2^n, n) array."""
    n = len(order)
    array = np.zeros((1 << n, n))
    for mask, menu in enumerate(menus(n)):
        for item in order:
            if item in menu:
                array[mask, item] = 1.0
                break
    return array


def all_rankings(n):
    return [np.array(order) for order in permutations(range(n))]


def zeta(flow):
    """Superset sums of a (2^n, n) array, within its menus."""
    sets = menus(flow.shape[1])
    out = np.zeros_like(flow)
    for d, menu in enumerate(sets):
        for x in menu:
            out[d, x] = sum(flow[e, x] for e, larger in enumerate(sets) if menu <= larger)
    return out


def moebius(rho):
    sets = menus(rho.shape[1])
    out = np.zeros_like(rho)
    for d, menu in enumerate(sets):
        for x in menu:
            out[d, x] = sum((-1.0) ** len(larger - menu) * rho[e, x] for e, larger in enumerate(sets) if menu <= larger)
    return out


def projection(rho_hat, weights=None):
    """The projection by non-negative least squares over all n! rankings: the probabilities and the objective."""
    n = rho_hat.shape[1]
    w = np.ones_like(rho_hat) if weights is None else weights
    used = w > 0
    columns = [choice_array(order) for order in all_rankings(n)]
    root = np.sqrt(w[used])
    # A heavy row makes the weights add up to 1; the answer is then put on the simplex exactly.
    heavy = 1e4 * root.max()
    matrix = np.array([root * c[used] for c in columns]).T
    a = np.vstack([matrix, np.full(len(columns), heavy)])
    b = np.append(root * rho_hat[used], heavy)
    lam, _ = nnls(a, b, maxiter=100_000)
    active = lam > 0
    # The exact weights on the face that was found, by least squares with the sum eliminated.
    face = matrix[:, active]
    base, rest = face[:, 0], face[:, 1:] - face[:, :1]
    mu = np.linalg.lstsq(rest, root * rho_hat[used] - base, rcond=None)[0]
    lam[active] = np.concatenate([[1 - mu.sum()], mu])
    rho = sum(weight * c for weight, c in zip(lam, columns, strict=True))
    return rho, 0.5 * float((w[used] * (rho - rho_hat)[used] ** 2).sum())


# The internal layout: one row per item, one column per set of other items.


def column(mask, item):
    """The column of the cell (mask, item)."""
    return mask % 2**item + mask // 2 ** (item + 1) * 2**item


def to_rows(array):
    """A (2^n, n) array in the internal layout."""
    n = array.shape[1]
    rows = np.empty((n, 1 << (n - 1)))
    for mask in range(1 << n):
        for x in range(n):
            if mask >> x & 1:
                rows[x, column(mask, x)] = array[mask, x]
    return rows


def ranking_rows(order):
    """The choices of a ranking in the internal layout."""
    return to_rows(choice_array(order))


def path_of(order):
    """The columns of the edges that a ranking takes: each item with everything ranked below it."""
    path = np.empty(len(order), np.int32)
    for place, item in enumerate(order):
        path[item] = column(sum(1 << int(other) for other in order[place:]), int(item))
    return path


def superset_sums(rows):
    """Z on every row, by one axis of length 2 for each other item."""
    n = len(rows)
    cube = rows.reshape(n, *(2,) * (n - 1)).copy()
    for axis in range(1, n):
        lower, upper = np.split(cube, 2, axis)
        cube = np.concatenate([lower + upper, upper], axis)
    return cube.reshape(rows.shape)


def subset_sums(rows):
    """Z^T on every row."""
    n = len(rows)
    cube = rows.reshape(n, *(2,) * (n - 1)).copy()
    for axis in range(1, n):
        lower, upper = np.split(cube, 2, axis)
        cube = np.concatenate([lower, upper + lower], axis)
    return cube.reshape(rows.shape)


def cheapest(cost):
    """The cost of the cheapest ranking: menus of one item first, then of two, and so on."""
    n = len(cost)
    masks = np.arange(1 << n)
    sizes = sum(masks >> x & 1 for x in range(n))
    best = np.full(1 << n, np.inf)
    best[0] = 0.0
    for size in range(1, n + 1):
        for x in range(n):
            here = masks[(sizes == size) & (masks >> x & 1 == 1)]
            best[here] = np.minimum(best[here], cost[x, column(here, x)] + best[here - 2**x])
    return float(best[-1])


def menu_sums(rows):
    """The sum of every menu, (2^n,)."""
    n = len(rows)
    masks = np.arange(1 << n)
    total = np.zeros(1 << n)
    for x in range(n):
        here = masks[masks >> x & 1 == 1]
        total[here] += rows[x, column(here, x)]
    return total
