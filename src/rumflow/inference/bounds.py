"""Sharp bounds: what the data say about menus that were never offered.

The projection fixes the probabilities of the observed cells; every RUM with these values fits as well. Over all of them,

    lower = min of <c, rho>,   upper = max of <c, rho>,      rho RUM,  rho = fitted on every observed cell,

for any linear functional c: the probability of an item on a menu, "a is ranked above b" (item a on the menu {a, b}),
a market share averaged over menus. The bounds are sharp: each is attained by some RUM, and nothing between them can be excluded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array
from rumflow.core.lattice import items_of
from rumflow.core.problem import Stop
from rumflow.core.seeds import Seed
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError, NotConvergedError
from rumflow.inference.confidence import invert
from rumflow.inference.test import Tau
from rumflow.projection.cells import cell_numbers
from rumflow.projection.lattice_results import LatticeProjection
from rumflow.projection.results import Projection
from rumflow.projection.single import project_lattice
from rumflow.solvers.linear_programs import minimise_fixed


@dataclass(frozen=True, eq=False, repr=False)
class Bounds:
    """Sharp bounds for one quantity, or for every item of a menu."""

    menu: tuple[Item, ...]  #: empty for a functional
    items: tuple[Item, ...]  #: one per bound; empty for a functional
    lower: Array
    upper: Array
    gap: float  #: how far the bounds may be outside the sharp ones, certified
    distance: float  #: of the data to RUM: bounds are over the RUMs that fit as well as the nearest
    confidence: float | None = None
    confidence_lower: Array | None = (
        None  #: ends of the confidence intervals, where asked for; NaN where RUM is rejected
    )
    confidence_upper: Array | None = None
    fit: Projection | None = field(default=None, repr=False)

    def __getitem__(self, item: Item) -> tuple[float, float]:
        if item not in self.items:
            raise InputError(f"item {item!r}: bounds were computed for {format_menu(self.items)}")
        i = self.items.index(item)
        return float(self.lower[i]), float(self.upper[i])

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds, where there is one pair of them."""
        if len(self.lower) != 1:
            raise InputError(f"there are bounds for {len(self.lower)} items; take one by its label")
        return float(self.lower[0]), float(self.upper[0])

    def summary(self) -> str:
        """The bounds in words."""
        what = f"from {format_menu(self.menu)}" if self.menu else "of the functional"
        lines = [
            f"Sharp bounds {what}, over all RUMs as close to the data as the nearest (distance {self.distance:.4g}):"
        ]
        for i in range(len(self.lower)):
            name = str(self.items[i]) if self.items else "value"
            line = f"  {name:<12} {self.lower[i]:.4f} to {self.upper[i]:.4f}"
            if self.confidence_lower is not None and self.confidence_upper is not None and self.confidence is not None:
                ends = f"{self.confidence_lower[i]:.3f} to {self.confidence_upper[i]:.3f}"
                if np.isnan(self.confidence_lower[i]):
                    ends = "no value, because random utility itself is rejected"
                line += f"   ({100 * self.confidence:g} % confidence: {ends})"
            lines.append(line)
        return "\n".join(lines)

    def __repr__(self) -> str:
        pairs = ", ".join(f"[{a:.4f}, {b:.4f}]" for a, b in zip(self.lower, self.upper, strict=True))
        return f"Bounds(menu={format_menu(self.menu)}, items={format_menu(self.items)}, {pairs})"


def bounds(
    data: ChoiceData | ArrayLike | Projection,
    menu: Iterable[Item] | None = None,
    item: Item | None = None,
    *,
    functional: ArrayLike | None = None,
    weights: str | ArrayLike | None = None,
    confidence: float | None = None,
    n_boot: int = 199,
    tau: Tau = "auto",
    seed: Seed = None,
    cluster: Any = None,
    threads: int | None = None,
) -> Bounds:
    """Sharp lower and upper probabilities on any menu.

    data        ChoiceData, a (2^n, n) array of probabilities with NaN for what was not observed, or a Projection.
    menu, item  the menu (labels) and the item; None: every item of the menu.
    functional  instead of a menu: a (2^n, n) array c; bounds for sum c rho.
    weights     of the projection; see `project`.
    confidence  such as 0.95: also the values that `rum_test` with the added hypothesis "the probability is this" does not reject
                at that level (test inversion, `n_boot` replicates each, ends to 0.001). Needs counts.
    """
    if isinstance(data, Projection) and not isinstance(data, LatticeProjection):
        raise InputError("bounds: they need a fit on the lattice of all menus; pass the data instead of this fit")
    fit = data if isinstance(data, LatticeProjection) else project_lattice(data, weights, tol=1e-12, throw=False)
    if not fit.certificate.is_optimal(Stop(1e-8)):
        raise NotConvergedError(
            f"bounds: the projection they start from is not accurate enough: {fit.status.explanation}", fit
        )
    lattice = fit.lattice
    if (menu is None) == (functional is None):
        raise InputError("bounds: give either a menu (and an item), or a functional")
    w = fit.problem.weights
    seen = lattice.internal_to_cells(w) > 0 if len(w) else np.ones(lattice.n_cells, np.bool_)
    rho = lattice.internal_to_cells(lattice.to_internal(fit.rho))
    mask, owner = lattice.cells.T
    large = np.bitwise_count(mask) >= 2
    # In a menu known but for one cell, that cell is known too; and the last cell of a known menu is implied by the others.
    known = np.bincount(mask, seen, lattice.n_menus)[mask] >= np.bitwise_count(mask) - 1
    implied = seen | known
    highest = np.frexp(mask.astype(float))[1] - 1
    cells = np.flatnonzero(implied & large & ~(known & (owner == highest)))
    if functional is not None:
        costs = lattice.internal_to_cells(lattice.to_internal(np.asarray(functional, float)))[None]
        if not np.isfinite(costs).all():
            raise InputError("functional: every coefficient must be finite")
        members: tuple[Item, ...] = ()
        labels: tuple[Item, ...] = ()
        wanted = np.empty(0, np.int64)
    else:
        members = _members(menu)
        number = fit.menu_mask(members)
        if number == 0:
            raise InputError("menu: it is empty; at least one item is needed")
        if item is not None and item not in members:
            raise InputError(f"item {item!r} is not in the menu {format_menu(members)}")
        places = [x for x in items_of(number) if item is None or fit.items[x] == item]
        labels = tuple(fit.items[x] for x in places)
        wanted = cell_numbers(lattice.n, np.full(len(places), number), np.array(places, np.int64))
        costs = np.zeros((len(places), lattice.n_cells))
        costs[np.arange(len(places)), wanted] = 1.0
    lower, upper = np.empty(len(costs)), np.empty(len(costs))
    gap = 0.0
    for i, cost in enumerate(costs):
        if not (cost[~implied & large] != 0).any():
            lower[i] = upper[i] = float(cost @ rho)  # only cells whose fitted value is unique
        else:
            low = minimise_fixed(lattice, cost, cells, rho[cells], fit.mixture)
            high = minimise_fixed(lattice, -cost, cells, rho[cells], fit.mixture)
            lower[i], upper[i] = low.bound, -high.bound
            gap = max(gap, low.value - low.bound, high.value - high.bound)
        if functional is None:
            lower[i], upper[i] = np.clip([lower[i], upper[i]], 0.0, 1.0)
    ends: tuple[Array, Array] | None = None
    if confidence is not None:
        if functional is not None or not isinstance(data, ChoiceData):
            raise InputError("confidence: it needs ChoiceData with counts, and a menu")
        ends = invert(
            data,
            lattice.membership[number],
            owner[wanted],
            lower,
            upper,
            confidence,
            weights,
            n_boot,
            tau,
            seed,
            cluster,
            threads,
        )
    return Bounds(
        members,
        labels,
        lower,
        upper,
        max(gap, 0.0),
        fit.distance,
        confidence,
        None if ends is None else ends[0],
        None if ends is None else ends[1],
        fit,
    )


def _members(menu: Iterable[Item] | None) -> tuple[Item, ...]:
    if menu is None or isinstance(menu, str | bytes) or not isinstance(menu, Iterable):
        raise InputError(f"menu {menu!r}: give it as a tuple of items, such as ('tea', 'milk')")
    return tuple(menu)
