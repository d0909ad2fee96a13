"""Who gains when an item is taken off a menu.

Let D be the menu and x the item. When x goes, those who took it take something else, and nobody else changes their mind:

    gain of y  =  rho(D \\ x, y) - rho(D, y)  >= 0,        the gains add up to rho(D, x).

As a share of rho(D, x), the gain of y is the *diversion ratio*: of those who took x, how many turn to y. Both are bounded over
all best-fitting populations. Where rho(D, x) is not known the ratio is a quotient of two unknowns; its least value is the t at
which the least of gain - t rho(D, x) is 0, found by Dinkelbach's steps, each a linear programme.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import as_menu, check_item, check_menu
from rumflow.core.arrays import Array
from rumflow.data.accept import DataLike, as_data
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.inference.assortment_inputs import find_items
from rumflow.inference.bounds import ask_functionals, bound_asked, exact_fit, item_labels
from rumflow.inference.bounds_result import Bounds
from rumflow.inference.confidence import BoundsOptions
from rumflow.inference.functionals import Functional, change, combine, share
from rumflow.inference.sharp import find_bounds, fixed_by, least_ratios
from rumflow.models.model import Model
from rumflow.output.progress import Stage
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.projection.results import Projection
from rumflow.text import visible

_RARE = 1e-9  # where nobody may take the item, nothing is known about where they turn


@dataclass(frozen=True, eq=False, repr=False)
class Diversion(Result):
    """Gains of the other items when one is taken off a menu.

    Attributes
    ----------
    item : hashable
        The item that is taken away.
    menu : tuple
        The menu it is taken from.
    observed : bool
        Whether that menu was recorded.
    share : tuple of float
        Range of the item's share of the menu before.
    gains : Bounds
        Sharp bounds and intervals of the gain of every other item.
    ratio_lower, ratio_upper : ndarray
        Range of the gain divided by the item's share; 0 and 1 where possibly nobody takes the item, NaN after Ctrl-C.
    projection : Projection or None
        The projection that the bounds start from.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> result = rf.diversion(data, "c", confidence=None)
    >>> result.menu, result.observed
    (('a', 'b', 'c'), True)
    """

    _named = ("item", "menu", "observed", "share", "confidence", "seed", "notes")
    _listed = "gains"

    item: Item
    menu: tuple[Item, ...]
    observed: bool
    share: tuple[float, float]
    gains: Bounds
    ratio_lower: Array
    ratio_upper: Array
    projection: Projection | None = None

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns item, lower, upper (of the gain), from, to (its interval, if computed), ratio_lower, ratio_upper."""
        gains = {name: column for name, column in self.gains.table.items() if name != "note"}
        return gains | {"ratio_lower": self.ratio_lower.tolist(), "ratio_upper": self.ratio_upper.tolist()}

    @property
    def confidence(self) -> float | None:
        """The level of the intervals."""
        return self.gains.confidence

    @property
    def seed(self) -> int | None:
        """The seed of the intervals."""
        return self.gains.seed

    @property
    def notes(self) -> list[str]:
        """Why every value is rejected, and the like, in sentences."""
        return self.gains.remarks()

    def as_table(self) -> Table:
        """Return the table for the terminal."""
        low, high = self.share
        own = f"{low:.3f}" if high - low < 5e-4 else f"{low:.3f} to {high:.3f}"
        seen = "" if self.observed else " (never offered)"
        title = f"Who gains when {visible(self.item)} leaves {format_menu(self.menu)}{seen}; its share there is {own}"
        rows = [list(row) for row in zip(*self.table.values(), strict=True)]
        note = (
            "lower, upper: of the gain, over all populations that fit the data best, without sampling error; "
            "ratio: of those who took it, how many turn to this item."
        )
        if self.gains.confidence is not None:
            note = f"from, to: {100 * self.gains.confidence:g} % confidence. {note}"
        note = " ".join([note, *self.notes])
        return Table(title, [name.replace("_", " ") for name in self.table], rows, note)

    def parts(self) -> list[str | Table]:
        """Return the table of the summary."""
        return [self.as_table()]

    def plot(self, ax: Any = None) -> Any:
        """Plot the ranges of the gains as bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from rumflow.output.plot_style import shorten
        from rumflow.output.range_plots import Interval, plot_ranges

        gains = self.gains
        interval = None
        if gains.confidence_lower is not None and gains.confidence_upper is not None:
            interval = Interval(gains.confidence_lower.tolist(), gains.confidence_upper.tolist())
        title = f"Who gains when {shorten(self.item, 36)} is taken away"
        names = [str(item) for item in gains.items]
        return plot_ranges(
            names, (gains.lower.tolist(), gains.upper.tolist()), interval, ax=ax, title=title, label="gain in share"
        )

    def __repr__(self) -> str:
        return f"Diversion(item={self.item!r}, menu={format_menu(self.menu)})"


def diversion(
    data: DataLike | ArrayLike | Projection,
    item: Item,
    menu: Iterable[Item] | None = None,
    *,
    weights: str | ArrayLike | None = "auto",
    model: Model | None = None,
    route: str | None = None,
    **options: Any,
) -> Diversion:
    """Compute who gains, and how much, when an item is taken off a menu: ranges and confidence intervals.

    Parameters
    ----------
    data : ChoiceData, Projection or array_like
        As for `bounds`.
    item : hashable
        The item that is taken away.
    menu : iterable, optional
        The menu it is taken from; None: the largest recorded one that has the item (the first of several), else all items.
    weights, model, route : optional
        As for `bounds`.
    **options
        Those of `bounds`: confidence, n_boot, seed or rng, tau, cluster, threads, progress, interval.

    Returns
    -------
    Diversion

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> result = rf.diversion(data, "c", confidence=None)
    >>> result.gains.items, result.gains.lower.round(3), result.gains.upper.round(3)
    (('a', 'b'), array([0.   , 0.257]), array([0.   , 0.257]))
    """
    data = as_data(data)
    items = item_labels(data)
    check_item(item, items)
    if menu is not None:
        menu = as_menu(menu, least=2)
        check_menu(menu, items)
    settings = BoundsOptions(weights=weights, model=model, route=route, **options)
    fit = exact_fit(data, weights, model, route, settings.progress)
    menus = fixed_by(fit).menus
    if menu is None:
        having = menus[menus[:, fit.items.index(item)]]
        row = having[having.sum(axis=1).argmax()] if len(having) else np.ones(fit.n, np.bool_)
        members = tuple(fit.items[x] for x in np.flatnonzero(row))
    else:
        members = tuple(menu)
        row = find_items(items, members)
    if item not in members or len(members) < 2:
        raise InputError(f"menu {format_menu(members)}: it must have {item!r} and at least one other item")
    rest = tuple(other for other in members if other != item)
    gains = {other: change(members, rest, other) for other in rest}
    own = share(members, item)
    (least,), (most,), _ = find_bounds(fit, ask_functionals(items, [own]), settings.progress)
    found = bound_asked(data, ask_functionals(items, gains.values()), rest, settings, fit)
    low = high = np.full(len(rest), np.nan)
    if not found.interrupted:
        with Stage(settings.progress, "ratios of diversion"):
            low, high = _ratios(fit, gains, own, found, float(least), float(most))
    observed = bool((menus == row).all(axis=1).any())
    return Diversion(item, members, observed, (float(least), float(most)), found, low, high, fit)


def _ratios(
    fit: Projection, gains: dict[Item, Functional], own: Functional, found: Bounds, least: float, most: float
) -> tuple[Array, Array]:
    """Ranges of gain / own share."""
    if len(gains) == 1:  # there is nothing else to turn to
        return np.ones(1), np.ones(1)
    if least <= _RARE:
        return np.zeros(len(gains)), np.ones(len(gains))
    if most - least <= _RARE:
        return np.clip(found.lower / least, 0.0, 1.0), np.clip(found.upper / least, 0.0, 1.0)
    stays = [combine([(own, 1.0), (gain, -1.0)]) for gain in gains.values()]  # what does not turn to the item
    asked = ask_functionals(fit.items, [own, *gains.values(), *stays])
    ratios = least_ratios(fit, asked.menus, asked.coefficients[1:], asked.coefficients[0])
    low, high = np.split(np.clip(ratios, 0.0, 1.0), 2)
    return low, 1.0 - high
