"""Rankings listed one by one, and what follows from the list."""

from itertools import permutations

import numpy as np
from scipy.optimize import linprog


def listed(menus):
    """(cells, rankings): 1 where the ranking takes the item from the menu; cells menu by menu, items ascending."""
    rows = []
    for menu in menus:
        for x in np.flatnonzero(menu):
            rows.append([float(next(y for y in o if menu[y]) == x) for o in permutations(range(len(menu)))])
    return np.array(rows)


def farkas(a, scales, b):
    """max <s, b> over a's <= 0 and sum of scales |s| <= 1, with s = u - v and u, v >= 0."""
    limits = np.vstack([np.hstack([a.T, -a.T]), np.concatenate([scales, scales])])
    right = np.append(np.zeros(a.shape[1]), 1.0)
    return -linprog(np.concatenate([-b, b]), A_ub=limits, b_ub=right, method="highs").fun
