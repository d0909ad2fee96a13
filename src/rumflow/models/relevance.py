"""What can have no influence on a test of random utility: menus that nothing can contradict, and items that nobody chooses.

*Blocks are separate.* Let blocks of menus meet in single items only (`rumflow.core.blocks`). Take a ranking for each of two
blocks that share the item v. A circle in the union of the two orders would have to pass from one block to the other and back,
both times through v, so it would hold a circle of one of them: there is none, and some ranking agrees with both. By induction
over the tree of blocks every choice of one type per block is a type, the polytope of all menus is the product of those of the
blocks, and squared distances add up. For a block of one menu every item is some ranking's best: its polytope is all shares, its
distance is 0 whatever was chosen. Such a menu leaves. (One that several groups were offered stays: their shares must agree.)

*Items that nobody chooses.* Let x be in every menu of its block, recorded there and never chosen, and weights w_D be the same
for all cells of a menu, all recorded. Let q be the projection of the shares p among the populations that never take x, and
g = w (p - q), so that <g, t> <= <g, q> for every type t that never takes x, and g(D, x) = 0. A type that takes x has a list of
items above x: it takes the first of the list that a menu holds, and x from menus that hold none. Let the items below x in its
place be in a random order instead, all equally likely. From a menu D without an item of the list each item but x is then taken
with the same chance, and the mean of g(D, .) over them is 0, since p and q both add up to 1 over D. So <g, t> is the mean of
<g, t'> over types t' that never take x, and is at most <g, q>: q is the projection among all types. Without x the
distance is the same, for every p that never takes x.

Both conditions are needed. With x in the larger of {a, b} and {a, b, c} only, a type may take x there and a from the pair, which
no other type combines; with cells of a menu that were not recorded, or weigh more than others, g does not add up to 0.

The remaining menus are smaller and fewer, so their blocks are formed again, until nothing leaves.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Ints, Mask
from rumflow.core.blocks import blocks_of
from rumflow.core.menus import Menus


def relevant_pairs(menus: Menus, times: Ints, taken: Mask, even: Mask) -> Mask:
    """The same of pairs, which may have ties as an outcome: of these, pairs on no cycle leave, and items stay.

    An item in every menu is the outcome of ties. Where there are two such items one of them is compared with all others: without
    either of the two the menus are pairs of a star, and on no cycle.
    """
    common = np.bincount(menus.item, minlength=menus.n_items) == len(menus)
    if not (common.any() and (menus.sizes == 3).all()):
        return relevant_cells(menus, times, taken, even)
    own = menus.item != np.argmax(common)
    pairs = Menus(2 * np.arange(len(menus) + 1), menus.item[own], menus.n_items)
    kept = relevant_cells(pairs, times, np.ones(len(pairs.item), np.bool_), np.zeros(len(pairs), np.bool_))
    return (np.bincount(pairs.menu[kept], minlength=len(menus)) > 0)[menus.menu]


def relevant_cells(menus: Menus, times: Ints, taken: Mask, even: Mask) -> Mask:
    """(cells,): the cells that may have an influence; see `rumflow.Model.relevant` for what is given."""
    kept: Mask = np.ones(len(menus.item), np.bool_)
    while True:
        kept &= (menus.count(kept) >= 2)[menus.menu]
        cells = np.flatnonzero(kept)
        rows, menu = np.unique(menus.menu[cells], return_inverse=True)
        own, _ = Menus.from_cells(menu, menus.item[cells], len(rows), menus.n_items)
        block = blocks_of(own)
        alone = np.bincount(block, times[rows])[block] == 1
        uneven = np.bincount(block, ~even[rows]) > 0
        # An item of a block, wherever it is offered: a pair of their numbers.
        pairs, pair = np.unique(block[menu] * menus.n_items + own.item, return_inverse=True)
        everywhere = np.bincount(pair) == np.bincount(block)[pairs // menus.n_items]
        chosen = np.bincount(pair, taken[cells]) > 0
        dead = everywhere & ~chosen & ~uneven[pairs // menus.n_items]
        gone = alone[menu] | dead[pair]
        if not gone.any():
            return kept
        kept[cells[gone]] = False
