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
from itertools import pairwise, permutations
from typing import NamedTuple

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
    """The inequalities between menus that differ by one item, up to `MOST_ROWS` of them and those of one more menu."""
    start, item = menus.start.tolist(), menus.item.tolist()
    offered = [tuple(item[a:b]) for a, b in pairwise(start)]
    number = {own: j for j, own in enumerate(offered)}
    beside = defaultdict(list)  # by the items of B: menus B + c, and the place of c in them
    for j, own in enumerate(offered):
        for k in range(len(own) if len(own) > 2 else 0):
            beside[own[:k] + own[k + 1 :]].append((j, k))
    rows: list[tuple[int, int, int, int]] = []

    def cells(j: int, k: int) -> list[int]:
        """The cells of B in the menu B + c, which has c at place k."""
        return [*range(start[j], start[j] + k), *range(start[j] + k + 1, start[j + 1])]

    for b, found in beside.items():
        for (j, k), (i, h) in permutations(found, 2):  # D = B + c, D' = B + d
            if len(rows) > MOST_ROWS:
                break
            c, d = offered[j][k], offered[i][h]
            rows += [(less, more, c, d) for less, more in zip(cells(i, h), cells(j, k), strict=True)]
            rows.append((start[i] + h, start[j] + k, d, c))
        if len(b) < 3 or b not in number or len(rows) > MOST_ROWS:
            continue
        for j, k in found:  # D = B + c, and B
            for inside, alone, x in zip(cells(j, k), range(start[number[b]], start[number[b] + 1]), b, strict=True):
                rows += [(inside, alone, -1, -1), (alone, inside, offered[j][k], x)]
    return Neighbours(*np.array(rows, np.int64).reshape(-1, 4).T)
