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
