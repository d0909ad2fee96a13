"""Choice data in the form the tests work on: one number per *slot*.

A *slot* is a recorded cell of one group: (group, menu, item). Several groups share cells. The distance of all groups together to
one RUM rho is

    sum over slots s of  w_s (p_s - rho(cell of s))^2  =  sum over cells c of  W_c (mean_c - rho_c)^2  +  spread,

with W_c the sum of the weights of a cell's slots, mean_c their weighted mean, and spread = sum w_s (p_s - mean_c)^2, which does
not depend on rho: one projection, whatever the number of groups. Menus of one item leave no choice and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, factorial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import as_floats, check_option, require_weights
from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.graph_cells import Cells
from rumflow.core.lattice import MAX_ITEMS, Lattice
from rumflow.core.menus import Menus
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, check_items, format_menu
from rumflow.data.menus import labels_of, masks_of
from rumflow.errors import InputError
from rumflow.inference.convention import WEIGHTS, Convention, Tau, find_taus, inequality
from rumflow.models.model import Model
from rumflow.output.names import list_menu
from rumflow.projection.inputs import check_weights
from rumflow.projection.projector import Projector

#: Fits of more cells are not thinned: see `Convention.thin`.
MOST_CELLS = 2500

#: Sample sizes where data are probabilities: a number, or one for each menu; for several groups also these by the group's name.
Sizes = float | ArrayLike | Mapping[Any, Any] | None


class Shown(NamedTuple):
    """The items of the data, and the menu of each unit, as they were given: what texts name."""

    items: tuple[Item, ...]
    menus: tuple[tuple[Item, ...], ...]


@dataclass(frozen=True, eq=False)
class Sample:
    """Frequencies, weights and sizes of one or several groups, slot by slot."""

    items: tuple[Item, ...]
    names: tuple[Item, ...]  # of the groups
    # One entry per unit, a menu of a group:
    unit_group: Ints
    unit_menu: Ints  # row of `menus`
    unit_row: Ints  # number of the menu in the data of its group
    sizes: Array
    # One entry per slot, units in order:
    unit: Ints
    item: Ints
    frequency: Array
    weights: Array  # w_s, 0 where the convention drops the cell
    column: Ints  # the number of its cell
    # One entry per cell that some group recorded, menu by menu, items ascending:
    centre: Array  # its probability at the inner point r
    projector: Projector
    scale: float
    convention: Convention
    weighting: str  # "counts", "inverse-variance", "given", or "equal" for 1 on every cell
    shown: Shown | None = None  # where items left or are in another order

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.names)

    @property
    def menus(self) -> Mask:
        """(m, n): the different menus of all groups, in ascending order of their bit masks."""
        return self.projector.cells.membership

    @property
    def menu_sizes(self) -> Array:
        """(units,): the number of items of each unit's menu."""
        sizes: Array = self.projector.cells.offered.sizes.astype(np.float64)[self.unit_menu]
        return sizes

    @property
    def n_observations(self) -> float:
        """Choices from menus of two items or more."""
        return float(self.sizes.sum())

    def members(self, unit: int) -> tuple[Item, ...]:
        """The labels of a unit's menu, as it was offered."""
        return self.shown.menus[unit] if self.shown else labels_of(self.items, self.menus[self.unit_menu[unit]])

    def menu_name(self, unit: int) -> str:
        """A unit as text: its menu, and its group where there are several."""
        menu = list_menu(self.shown.items if self.shown else self.items, self.members(unit))
        return menu if self.n_groups == 1 else f"{menu} of {self.names[int(self.unit_group[unit])]}"

    @property
    def unweighted_rest(self) -> Ints:
        """The units recorded in part whose remainder is no slot."""
        recorded, slots = np.bincount(self.unit, self.item >= 0), np.bincount(self.unit)
        return np.flatnonzero((recorded < self.menu_sizes) & (slots == recorded))

    def unequal(self, n_independent: Array) -> float:
        """u, how unequal the menus of all groups together are, where fits are thinned for it; 0 where they are not.

        n_independent   the number of independent draws behind each unit.
        """
        own = self.convention
        thins = own.draws == "null" and own.thin > 0 and self.weighting == "counts" and len(self.centre) <= MOST_CELLS
        thins = thins and self.projector.model.has_types
        return inequality(np.bincount(self.unit_menu, n_independent).astype(np.float64)) if thins else 0.0

    def taus(self, tau: Tau, n_independent: Array) -> tuple[float, ...]:
        """The values of tau asked for: see `find_taus`."""
        return find_taus(tau, n_independent, self.menu_sizes, self.convention, self.unequal(n_independent))

    def part(self, slots: Ints, model: Model | None, drop_items: bool) -> Sample:
        """Some slots of a sample of one group, as a sample of its own with another model.

        slots        in ascending order; menus without one are gone.
        drop_items   so are items that no menu offers any more.
        """
        rows, unit = np.unique(self.unit[slots], return_inverse=True)
        menus, item, items = self.menus[rows], self.item[slots], self.items
        recorded = np.zeros(menus.shape, np.bool_)
        recorded[unit, item] = True
        if drop_items:
            offered = menus.any(axis=0)
            menus, recorded = menus[:, offered], recorded[:, offered]
            items = tuple(map(self.items.__getitem__, np.flatnonzero(offered).tolist()))
            item = (np.cumsum(offered) - 1)[item]
        projector = Projector(Cells(menus, recorded, items), model)
        return replace(
            self,
            items=items,
            unit_group=np.zeros(len(rows), np.int64),
            unit_menu=np.arange(len(rows)),
            unit_row=np.arange(len(rows)),
            sizes=self.sizes[rows],
            unit=unit,
            item=item,
            frequency=self.frequency[slots],
            weights=self.weights[slots],
            column=np.arange(len(slots)),
            centre=find_centre(projector, self.convention.centre),
            projector=projector,
        )

    def pool(self, p: Array, weights: Array) -> tuple[Array, Array, Array]:
        """From slots to cells: for each row of p the weighted means and the spread, and the weight of every cell."""
        count = len(self.centre)
        total = np.bincount(self.column, weights, count).astype(np.float64)
        safe = np.where(total > 0, total, 1.0)
        if self.n_groups == 1:
            means = np.empty((len(p), count))
            means[:, self.column] = p
            return np.where(total > 0, means, 0.0), np.zeros(len(p)), total
        means = np.zeros((len(p), count))
        for group in range(self.n_groups):
            own = self.unit_group[self.unit] == group
            means[:, self.column[own]] += weights[own] * p[:, own]
        means /= safe
        spread = ((p - means[:, self.column]) ** 2 * weights).sum(axis=1)
        return means, spread, total


def build_sample(
    data: ChoiceData | Sequence[ChoiceData] | Mapping[Any, ChoiceData],
    weights: str | ArrayLike | None,
    convention: Convention,
    sizes: Sizes = None,
    model: Model | None = None,
    route: str | None = None,
    remainders: bool = True,
) -> Sample:
    """Bring data into slots; see `rum_test` for what is accepted.

    remainders   weights="inverse-variance" gives a weight to what was chosen but not recorded, too. Groups must have recorded the
                 same items of that menu: otherwise their remainders are not one cell, and none has a weight (`unweighted_rest`).
    """
    names, groups = named_groups(data)
    items = check_items(dict.fromkeys(label for group in groups for label in group.items))
    totals = [_totals(group, own) for group, own in zip(groups, own_sizes(names, sizes), strict=True)]
    parts = [unit_menus(group, items) for group in groups]
    unit_group = np.repeat(np.arange(len(groups)), [len(part.rows) for part in parts])
    unit_size = np.concatenate([own[part.rows] for own, part in zip(totals, parts, strict=True)])
    shares = np.concatenate([group.shares[part.cells] for group, part in zip(groups, parts, strict=True)])
    offered = join_menus([part.menus for part in parts])
    if len(shares) == 0:
        raise InputError(
            "no menu of two or more items was observed: every menu offers a single item, which every RUM chooses for sure, "
            "so there is nothing to test"
        )
    menus, unit_menu = offered.unique()
    slot = np.flatnonzero(~np.isnan(shares))
    unit, item, frequency = offered.menu[slot], offered.item[slot].astype(np.int64), shares[slot]
    recorded = np.zeros(len(menus.item), np.bool_)
    recorded[menus.start[unit_menu[unit]] + slot - offered.start[unit]] = True
    pearson = isinstance(weights, str) and weights == "inverse-variance"
    partly = (menus.count(~recorded) > 0) & (remainders and pearson)
    partly[unit_menu[np.bincount(unit) != menus.count(recorded)[unit_menu]]] = False
    if partly.any():
        if route == "lattice":
            raise InputError(
                "route='lattice': with weights='inverse-variance' what was not recorded of a menu is a separate cell, "
                "which the lattice does not have; accepted are None, 'graph' and 'bounded'"
            )
        unit, item, frequency = _with_remainders(unit, item, frequency, np.flatnonzero(partly[unit_menu]))
    projector = Projector(
        Cells.of_menus(menus, recorded, items), model, route, convention.set == "cone", bool(partly.any())
    )
    centre = find_centre(projector, convention.centre)
    sample = Sample(
        items=items,
        names=names,
        unit_group=unit_group,
        unit_menu=unit_menu,
        unit_row=np.concatenate([part.rows for part in parts]),
        sizes=unit_size,
        unit=unit,
        item=item,
        frequency=frequency,
        weights=np.ones(len(unit)),
        column=find_cells(projector, unit_menu[unit], item),
        centre=centre,
        projector=projector,
        scale=1.0,
        convention=convention,
        weighting="equal" if weights is None else weights if isinstance(weights, str) else "given",
    )
    w = _slot_weights(sample, weights, groups)
    if convention.cells == "drop-last":
        last = menus.item[menus.start[1:] - 1]
        w = np.where(item == last[unit_menu[unit]], 0.0, w)
    if not (w > 0).any():
        raise InputError("weights: every recorded cell has weight 0, so there is nothing to test")
    return replace(sample, weights=w, scale=find_scale(sample))


def named_groups(
    data: ChoiceData | Sequence[ChoiceData] | Mapping[Any, ChoiceData],
) -> tuple[tuple[Item, ...], list[ChoiceData]]:
    """Names and data of the groups: a mapping's keys, else numbers from 0."""
    if isinstance(data, ChoiceData):
        return (0,), [data]
    if isinstance(data, Mapping):
        names, groups = tuple(data), list(data.values())
    elif isinstance(data, Sequence) and not isinstance(data, str | bytes):
        names, groups = tuple(range(len(data))), list(data)
    else:
        raise InputError(f"data: a ChoiceData is needed, or a list or dict of them, not {type(data).__name__}")
    if not groups:
        raise InputError("data: there is no group; at least one ChoiceData is needed")
    for name, group in zip(names, groups, strict=True):
        if not isinstance(group, ChoiceData):
            raise InputError(f"data: group {name!r} is a {type(group).__name__}; every group must be a ChoiceData")
    return names, groups


def find_centre(projector: Projector, kind: str) -> Array:
    """(C,): the probabilities of the cells at the inner point r; `kind`: `Convention.centre`."""
    if not projector.model.all_rankings:
        return projector.inner_point()
    return inner_point(projector.cells.offered, projector.menu, projector.item, kind)


def inner_point(menus: Menus, menu: Ints, item: Ints, kind: str) -> Array:
    """Probabilities of the cells (menu, item) when all rankings, or all distinct behaviours over the menus, are equally likely.

    Let c items be in every menu, and q = n - c in some. A behaviour is a list of k of the q, in order, and the first of the c
    under them: c q! / (q - k)! behaviours, among which a menu with d of the q keeps one of the c with chance C(q-d, k) / C(q, k).
    """
    if (item < 0).any():
        own = item >= 0
        full = np.empty(len(item))
        full[own] = inner_point(menus, menu[own], item[own], kind)
        full[~own] = 1.0 - np.bincount(menu[own], full[own], len(menus))[menu[~own]]
        return full
    size = menus.sizes[menu]
    times = np.bincount(menus.item, minlength=menus.n_items)
    always = times == len(menus)
    common = int(always.sum())
    if kind == "rankings" or common == 0:
        return np.asarray(1.0 / size, np.float64)
    others = int((times > 0).sum()) - common  # items in no menu make no difference
    length = np.arange(others + 1)
    behaviours = [factorial(others) // factorial(others - k) for k in length]
    share = [number / sum(behaviours) for number in behaviours]  # of whole numbers, which may be larger than any float
    keep = np.array([sum(s * comb(others - d, k) / comb(others, k) for k, s in enumerate(share)) for d in length])
    d = size - common
    centre: Array = np.where(always[item], keep[d] / common, (1.0 - keep[d]) / np.maximum(d, 1))
    return centre


def own_sizes(names: Sequence[Item], sizes: Sizes) -> list[float | ArrayLike | None]:
    """The sizes of each group: those under its name in a mapping, else the same for all."""
    if not isinstance(sizes, Mapping):
        return [sizes] * len(names)
    for name in names:
        if name not in sizes:
            raise InputError(f"sizes: group {name!r} is missing; there are sizes for {', '.join(map(repr, sizes))}")
    for name in sizes:
        if name not in names:
            raise InputError(f"sizes: there is no group {name!r}; accepted are {', '.join(map(repr, names))}")
    return [sizes[name] for name in names]


def _totals(data: ChoiceData, sizes: float | ArrayLike | None) -> Array:
    """The sample size of each menu, in the order of the data."""
    if sizes is None:
        return data.totals
    totals = as_floats(sizes, "sizes")
    if totals.ndim == 0:
        totals = np.full(len(data.totals), float(totals))
    if totals.shape != data.totals.shape:
        raise InputError(
            f"sizes: a number, or one for each of the {len(data.totals)} menus is needed, not shape {totals.shape}"
        )
    wrong = ~(np.isfinite(totals) & (totals > 0))
    if wrong.any():
        menu = int(wrong.argmax())
        raise InputError(
            f"sizes: menu {format_menu(data.menus[menu])} has {totals[menu]:g}; sample sizes must be positive and finite"
        )
    return totals


def testable(data: ChoiceData) -> Mask:
    """(m,): the menus that leave a choice, and of which something was recorded."""
    recorded = data.offered.count(~np.isnan(data.count)) > 0
    return np.asarray((data.offered.sizes >= 2) & recorded, np.bool_)


class UnitMenus(NamedTuple):
    """The testable menus of one group, in the order of its units."""

    menus: Menus  # over the items of all groups
    rows: Ints  # (units,): the number of each menu in the data of the group
    cells: Ints  # (cells of the menus,): the number of each cell there


def unit_menus(data: ChoiceData, items: tuple[Item, ...]) -> UnitMenus:
    """The testable menus of a group over the items of all groups."""
    rows = np.flatnonzero(testable(data))
    menus, cells = data.offered.take(rows)
    if data.items == items:
        return UnitMenus(menus, rows, cells)
    # In another order of items menus stand in another order, too.
    menus, cell = Menus.from_cells(menus.menu, places(data.items, items)[menus.item], len(menus), len(items))
    order = np.argsort(menus.keys())
    menus, own = menus.take(order)
    return UnitMenus(menus, rows[order], cells[np.argsort(cell)][own])


def places(labels: Sequence[Item], items: Sequence[Item]) -> Ints:
    """The numbers of some labels among all items; -1 for one that is not there."""
    number = {label: x for x, label in enumerate(items)}
    return np.array([number.get(label, -1) for label in labels], np.int64)


def join_menus(parts: Sequence[Menus]) -> Menus:
    """The menus of one group after those of the other, over the same items."""
    start = np.cumsum(np.concatenate([[0], *(part.sizes for part in parts)]))
    return Menus(start, np.concatenate([part.item for part in parts]), parts[0].n_items)


def find_cells(projector: Projector, menu: Ints, item: Ints) -> Ints:
    """The numbers of cells that a projector has; an item of -1 is what was not recorded, the last cell of its menu."""
    last = projector.n
    known = projector.menu * (last + 1) + np.where(projector.item < 0, last, projector.item)
    return np.searchsorted(known, menu * (last + 1) + np.where(item < 0, last, item))


def _with_remainders(unit: Ints, item: Ints, frequency: Array, partly: Ints) -> tuple[Ints, Ints, Array]:
    """Slots with one more, item -1, at the end of each unit that was recorded in part."""
    rest = np.maximum(1.0 - np.bincount(unit, frequency)[partly], 0.0)
    unit, item = np.concatenate([unit, partly]), np.concatenate([item, np.full(len(partly), -1)])
    order = np.argsort(unit, kind="stable")
    return unit[order], item[order], np.concatenate([frequency, rest])[order]


def _slot_weights(sample: Sample, weights: str | ArrayLike | None, groups: Sequence[ChoiceData]) -> Array:
    sizes = sample.sizes[sample.unit]
    if weights is None:
        return np.ones(len(sizes))
    n = len(sample.items)
    forms = [(1 << n, n)] if n <= MAX_ITEMS else []
    if len(groups) == 1:
        forms.append((len(groups[0].totals), n))
    if isinstance(weights, str):
        check_option(weights, "weights", WEIGHTS, f"an array of shape {' or '.join(map(str, forms))}")
        if weights == "counts":
            require_weights(sizes, lambda s: f"menu {sample.menu_name(sample.unit[s])}")
            return sizes
        return pearson_weights(sample, fitted(replace(sample, weights=np.where(sample.item < 0, 0.0, sizes))))
    array = as_floats(weights, "weights")
    if len(groups) == 1 and array.shape == forms[-1]:
        own: Array = array[np.flatnonzero(testable(groups[0]))[sample.unit], sample.item]
        require_weights(
            own, lambda s: f"menu {sample.menu_name(sample.unit[s])}, item {sample.items[sample.item[s]]!r}"
        )
        return own
    if n <= MAX_ITEMS and array.shape == forms[0]:
        check_weights(Lattice(n), array, sample.items)
        return np.asarray(array[masks_of(sample.menus)[sample.unit_menu[sample.unit]], sample.item], np.float64)
    raise InputError(f"weights: an array of shape {' or '.join(map(str, forms))} is needed, not {array.shape}")


def pearson_weights(sample: Sample, fit: Array) -> Array:
    """The weights "inverse-variance" of the slots where the cells have the probabilities `fit`."""
    sizes, menu = sample.sizes[sample.unit], sample.unit_menu[sample.unit]
    cells = sample.projector.cells
    items = cells.offered.sizes[menu]
    # One observation per item moves the fit towards uniform; a remainder has several items.
    each = np.where(sample.item < 0, items - cells.remainder[menu], 1)
    w: Array = sizes / ((sizes * fit[sample.column] + each) / (sizes + items))
    return w


def fitted(sample: Sample) -> Array:
    """The nearest point of the model to all groups together, on the recorded cells."""
    simplex = sample.projector.on_simplex()
    means, _, total = sample.pool(sample.frequency[None], sample.weights)
    return np.asarray(simplex.solve(means, total, threads=None, only_upper=True).fitted[0], np.float64)


def find_scale(sample: Sample) -> float:
    """What multiplies the squared distance."""
    scale = sample.convention.scale
    if scale is None:
        scale = 1.0 if sample.weighting in ("counts", "inverse-variance") else "total"
    if isinstance(scale, str):
        total = float(sample.sizes.sum())
        return {
            "total": total,
            "group": total / sample.n_groups,
            "smallest": float(sample.sizes.min()),
            "mean": float(sample.sizes.mean()),
        }[scale]
    return float(scale)
