"""What menus that differ by one item say about each other.

Let D = B + c and D' = B + d. Whoever takes x of B from D', but not from D, ranks c above x and x above d; and whoever takes d
from D', but not c from D, does not rank c above d. So every population obeys, with y_cd the share of people who rank c above d,

    rho(D', x) <= rho(D, x) + y_cd      for x of B,          rho(D', d) <= rho(D, c) + y_dc,

and where B itself is a menu, for all x of it,

    rho(D, x) <= rho(B, x) <= rho(D, x) + y_cx.

On three items and fewer these are paths of pairs, or follow from the orders of a menu; so B has two items or more in the first
kind, and three or more in the second.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from rumflow.core.arrays import Ints
from rumflow.core.menus import Menus

#: Rows that are looked for at most.
MOST_ROWS = 200_000


class Neighbours(NamedTuple):
    """Rows: the share of cell `less` is at most that of cell `more` and the share of people who rank `above` over `below`."""

    less: Ints
    more: Ints
    above: Ints  # -1: no pair belongs to the row
    below: Ints


def find_neighbours(menus: Menus) -> Neighbours:
    """The inequalities between menus that differ by one item, up to `MOST_ROWS` of them."""
    rest = defaultdict(list)  # by the items of B: the cells of the item that a menu has beside them
    whole = {menus.items_of(j).tobytes(): j for j in range(len(menus))}
    for j in np.flatnonzero(menus.sizes > 2).tolist():
        items = menus.items_of(j)
        for k in range(len(items)):
            rest[np.delete(items, k).tobytes()].append((j, k))
    found: list[Ints] = []
    count = 0

    def add(*row: Any) -> None:
        nonlocal count
        found.append(np.stack(np.broadcast_arrays(*map(np.atleast_1d, row))))
        count += found[-1].shape[1]

    for key, cells in rest.items():
        if count > MOST_ROWS:
            break
        for (j, k), (i, h) in permutations(cells, 2):  # D = B + c, D' = B + d
            c, d = menus.start[j] + k, menus.start[i] + h
            item_c, item_d = menus.item[c], menus.item[d]
            add(_others(menus, i, h), _others(menus, j, k), item_c, item_d)
            add(d, c, item_d, item_c)
            if count > MOST_ROWS:
                break
        b = whole.get(key, -1)
        for j, k in cells if b >= 0 and menus.sizes[b] > 2 else []:
            own, less = np.arange(menus.start[b], menus.start[b + 1]), _others(menus, j, k)
            add(less, own, -1, -1)
            add(own, less, menus.item[menus.start[j] + k], menus.item[own])
    return Neighbours(*np.concatenate([np.empty((4, 0), np.int64), *found], axis=1).astype(np.int64))


def _others(menus: Menus, j: int, k: int) -> Ints:
    """The cells of a menu, without the one at place k."""
    return np.delete(np.arange(menus.start[j], menus.start[j + 1]), k)
