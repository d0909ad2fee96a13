"""The part of a sample that a test looks at, in an order that depends on labels only.

Menus and items that have no influence on the distance to the model would all the same change its test: they have noise in the
replicates, and tau is a mean over menus. So they leave before tau, centre, thinning and replicates; the model says what may
(`rumflow.Model.relevant`). The rest is put in the order of the labels (`label_order`): of the many mixtures of a fit the same one
is then found however the items were listed, and replicates, which draw menu by menu, are the same.

Distances add up over what stays and what leaves, and what leaves adds 0: the statistic is that of all data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Ints, Mask
from rumflow.core.blocks import blocks_of
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.data.labels import Item, label_order
from rumflow.inference.sample import Sample, Shown, find_cells, find_centre, find_scale, join_menus
from rumflow.output.names import how_many, list_menu

_NAMED = 3  # menus and items that a summary names


class LeftOut(NamedTuple):
    """What has no influence on a test, and was left out of it.

    Attributes
    ----------
    menus : tuple of tuples
        Menus that no other menu can contradict, or that have no weight, by label.
    items : tuple
        Items that were never chosen, taken off every menu of their block.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = {("tea", "milk"): {"tea": 31, "milk": 9}, ("tea", "milk", "gin"): {"tea": 5, "milk": 15, "gin": 20}}
    >>> test = rf.rum_test(data | {("beer", "wine"): {"beer": 3, "wine": 4}}, n_boot=19, seed=1)
    >>> test.left_out.menus
    (('beer', 'wine'),)
    """

    menus: tuple[tuple[Item, ...], ...] = ()
    items: tuple[Item, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.menus or self.items)

    def describe(self, items: tuple[Item, ...]) -> str:
        """What was left out, in words; `items`: those of the data."""
        texts = []
        if self.menus:
            named = ", ".join(list_menu(items, menu) for menu in self.menus[:_NAMED])
            texts.append(
                f"{how_many(len(self.menus), 'menu')} that no other can contradict ({named}{_more(self.menus)})"
            )
        if self.items:
            named = ", ".join(str(item) for item in self.items[:_NAMED])
            texts.append(f"{how_many(len(self.items), 'item')} that nobody chose ({named}{_more(self.items)})")
        return " and ".join(texts)


def _more(names: tuple[object, ...]) -> str:
    return ", ..." if len(names) > _NAMED else ""


def relevant_part(sample: Sample, asked: Mask | None = None) -> Sample:
    """The menus and items that a test must look at, in the order of the labels; the sample itself where all stays as it is.

    asked   (q, n): further menus, whose probabilities are asked for: with all that is in their blocks they must not leave, and
            their items stay.

    Where nothing would stay, everything does: there is nothing to test, and the test says so.
    """
    own = sample.convention
    if own.as_published or own.set == "cone":
        return sample
    menus, n = sample.projector.cells.offered, len(sample.items)
    kept = _relevant(sample, np.zeros((0, n), np.bool_) if asked is None else asked)
    if kept is None or not kept.any():
        return sample
    offered = np.bincount(menus.item[kept], minlength=n) > 0
    if asked is not None:
        offered |= asked.any(axis=0)
    order = np.array([x for x in label_order(sample.items) if offered[x]], np.int64)
    if kept.all() and len(order) == n and (np.diff(order) > 0).all():
        return sample
    return _rebuild(sample, kept, order)


def left_out(whole: Sample, part: Sample) -> LeftOut:
    """What a part of a sample lacks."""
    if part is whole:
        return LeftOut()
    unit_of = {key: u for u, key in enumerate(zip(part.unit_group.tolist(), part.unit_row.tolist(), strict=True))}
    every, rest = whole.projector.cells.offered.labels(whole.items), part.projector.cells.offered.labels(part.items)
    menus: dict[tuple[Item, ...], None] = {}
    items: dict[Item, None] = {}
    for u, key in enumerate(zip(whole.unit_group.tolist(), whole.unit_row.tolist(), strict=True)):
        members = every[whole.unit_menu[u]]
        if key not in unit_of:
            menus[members] = None
            continue
        stay = rest[part.unit_menu[unit_of[key]]]
        if len(stay) < len(members):
            items |= dict.fromkeys(label for label in members if label not in stay)
    return LeftOut(tuple(menus), tuple(items))


def nothing_to_test(sample: Sample) -> bool:
    """Can no menu contradict another, so that every sample like this is one of the model?"""
    kept = _relevant(sample, np.zeros((0, len(sample.items)), np.bool_))
    return kept is not None and not kept.any()


def groups_that_meet(sample: Sample) -> Mask:
    """(groups,): the groups with a menu that bears on one of another group, so that the two could be found to differ.

    Where all rankings exist, blocks of menus are separate (`rumflow.models.relevance`): what a group chose from menus that share
    no block with another's is explained by a population of its own, whatever the others chose. Other models may tie everything.
    """
    model = sample.projector.model
    if sample.convention.set == "cone" or not (model.all_rankings or not model.has_types):
        return np.ones(sample.n_groups, np.bool_)
    block = blocks_of(sample.projector.cells.offered)[sample.unit_menu]
    pairs = np.unique(np.column_stack([block, sample.unit_group]), axis=0)
    shared = np.bincount(pairs[:, 0])[pairs[:, 0]] > 1
    return np.bincount(pairs[shared, 1], minlength=sample.n_groups) > 0


def _relevant(sample: Sample, asked: Mask) -> Mask | None:
    """(cells,) of the sample's menus: what the model says of them beside the menus asked for."""
    menus = sample.projector.cells.offered
    recorded = np.flatnonzero(sample.item >= 0)
    unit = sample.unit[recorded]
    cell = menus.cells_of(sample.unit_menu[unit], sample.item[recorded])
    taken = np.bincount(cell, sample.frequency[recorded] > 0, len(menus.item)) > 0
    first = np.searchsorted(sample.unit, np.arange(len(sample.sizes)))
    whole = np.bincount(unit, minlength=len(sample.sizes)) == menus.sizes[sample.unit_menu]
    alike = np.minimum.reduceat(sample.weights, first) == np.maximum.reduceat(sample.weights, first)
    even = np.ones(len(menus), np.bool_)
    even[sample.unit_menu[~(whole & alike)]] = False
    times = np.bincount(sample.unit_menu, minlength=len(menus))
    # Menus without a weight leave at once, and join nothing.
    rows = np.flatnonzero(np.bincount(sample.unit_menu[sample.unit], sample.weights, len(menus)) > 0)
    own, at = menus.take(rows)
    more, _ = Menus.from_table(asked)
    found = sample.projector.model.relevant(
        join_menus([own, more]),
        np.append(times[rows], np.full(len(more), 2)),  # not to leave
        np.append(taken[at], np.ones(len(more.item), np.bool_)),
        np.append(even[rows], np.zeros(len(more), np.bool_)),
    )
    if found is None:
        return None
    kept = np.zeros(len(menus.item), np.bool_)
    kept[at] = found[: len(at)]
    return kept


def _rebuild(sample: Sample, kept: Mask, order: Ints) -> Sample:
    """The sample of the cells kept, with the items `order` (by number)."""
    cells = sample.projector.cells
    old, items = cells.offered, tuple(map(sample.items.__getitem__, order.tolist()))
    place = np.full(len(sample.items), -1)
    place[order] = np.arange(len(order))
    rows, menu = np.unique(old.menu[kept], return_inverse=True)
    shuffled, at = Menus.from_cells(menu, place[old.item[kept]], len(rows), len(items))
    known = np.empty(len(at), np.bool_)
    known[at] = cells.known[kept]
    sorting = np.argsort(shuffled.keys(), kind="stable")
    menus, taken = shuffled.take(sorting)
    number = np.full(len(old), -1)
    number[rows[sorting]] = np.arange(len(rows))
    units = np.flatnonzero(number[sample.unit_menu] >= 0)
    units = units[np.lexsort((number[sample.unit_menu[units]], sample.unit_group[units]))]
    unit_of = np.full(len(sample.sizes), -1)
    unit_of[units] = np.arange(len(units))
    of_item = sample.item >= 0
    stays = unit_of[sample.unit] >= 0
    stays[of_item] &= kept[old.cells_of(sample.unit_menu[sample.unit[of_item]], sample.item[of_item])]
    slots = np.flatnonzero(stays)
    item = np.where(of_item[slots], place[sample.item[slots]], len(items))  # what was not recorded comes last
    slots = slots[np.lexsort((item, unit_of[sample.unit[slots]]))]
    unit, unit_menu = unit_of[sample.unit[slots]], number[sample.unit_menu[units]]
    item = np.where(of_item[slots], place[sample.item[slots]], -1)
    projector = sample.projector.on_cells(Cells.of_menus(menus, known[taken], items))
    found = replace(
        sample,
        items=items,
        unit_group=sample.unit_group[units],
        unit_menu=unit_menu,
        unit_row=sample.unit_row[units],
        sizes=sample.sizes[units],
        unit=unit,
        item=item,
        frequency=sample.frequency[slots],
        weights=sample.weights[slots],
        column=find_cells(projector, unit_menu[unit], item),
        centre=find_centre(projector, sample.convention.centre),
        projector=projector,
        shown=Shown(sample.items, tuple(old.labels_of(j, sample.items) for j in sample.unit_menu[units].tolist())),
    )
    return replace(found, scale=find_scale(found))
