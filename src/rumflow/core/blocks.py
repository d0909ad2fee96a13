"""Blocks: which menus are tied together by more than single items.

Join two items where some menu offers both. A *block* is a 2-connected component of this graph: a largest set of items that stays
in one piece whichever single item is taken away (or two joined items, where no other path joins them). A menu is a clique, so it
lies in one block; blocks meet in single items, *cut items*, and form a tree.

The graph has a pair for every two items of a menu, far more than there are cells. The same blocks are found from the incidence
graph, whose nodes are items and menus and whose edges are the cells, in time in proportion to the cells, when only items may
cut. For this, call two cells related when they lie on one circle of the incidence graph or in one menu.

* A circle with menus D_1, ..., D_k (k >= 2) passes through k different items, one in D_i and D_{i+1} each. For k = 2 the two
  menus share two items, and their cliques share an edge; for k >= 3 the items are a circle of the graph of items with an edge in
  each clique. Either way the menus are in one block.
* Conversely take two menus of one block: an edge of each lies on a common circle of items. Choose a menu for each of its edges:
  a closed walk in the incidence graph whose items are all different. If its menus are different, too, it is a circle. If a menu
  comes twice, the walk falls into two shorter ones through that menu, and by induction all their menus are related to it.

So menus are in one block where a depth-first search (Hopcroft and Tarjan 1973) does not separate them at an *item*: the search
descends from item v to menu D, and what it finds from there is a block of its own, less what was separated below, unless some
edge leads back above v.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Ints
from rumflow.core.compile import kernel
from rumflow.core.menus import Menus


@kernel
def find_blocks(start, item, first, menu, block):
    """The block of every menu, numbered from 0; how many there are.

    start, item   the items of menu j are item[start[j] : start[j + 1]].
    first, menu   the menus of item x are menu[first[x] : first[x + 1]].
    """
    n, m = first.shape[0] - 1, start.shape[0] - 1
    time = np.zeros(n + m, np.int64)  # when a node was found, items first; 0: not yet
    low = np.empty(n + m, np.int64)  # the earliest node that an edge leads to from what was found below it
    left = np.empty(n + m, np.int64)  # its next edge
    way = np.empty(n + m, np.int64)  # from the root to where the search is
    waiting = np.empty(m, np.int64)  # menus found, without a block yet
    clock = depth = kept = count = 0
    for root in range(n):
        if time[root] > 0:
            continue
        clock += 1
        time[root] = low[root] = clock
        left[root] = first[root]
        way[0], depth = root, 1
        while depth > 0:
            v = way[depth - 1]
            is_item = v < n
            if left[v] < (first[v + 1] if is_item else start[v - n + 1]):
                w = menu[left[v]] + n if is_item else item[left[v]]
                left[v] += 1
                if time[w] == 0:
                    clock += 1
                    time[w] = low[w] = clock
                    if is_item:
                        left[w] = start[w - n]
                        waiting[kept] = w - n
                        kept += 1
                    else:
                        left[w] = first[w]
                    way[depth] = w
                    depth += 1
                else:
                    low[v] = min(low[v], time[w])
                continue
            depth -= 1
            if depth == 0:
                break
            above = way[depth - 1]
            low[above] = min(low[above], low[v])
            if not is_item and low[v] >= time[above]:  # nothing below this menu leads past the item above it
                while True:
                    kept -= 1
                    block[waiting[kept]] = count
                    if waiting[kept] == v - n:
                        break
                count += 1
    return count


def blocks_of(menus: Menus) -> Ints:
    """(m,): the block of every menu, numbered from 0; menus of one item are blocks of their own.

    >>> blocks_of(Menus.from_table([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1]])[0]).tolist()
    [1, 1, 0]
    """
    block = np.empty(len(menus), np.int64)
    order = np.argsort(menus.item, kind="stable")
    first = np.searchsorted(menus.item[order], np.arange(menus.n_items + 1)).astype(np.int64)
    find_blocks(menus.start, menus.item, first, menus.menu[order], block)
    return block
