"""The result of `rumflow.bounds`: sharp bounds and confidence intervals, as a table and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rumflow.core.arrays import Array
from rumflow.data.design import note_on_few
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.projection.results import Projection
from rumflow.text import visible


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(Result):
    """Confidence intervals and sharp bounds for one quantity, or for every item of a menu.

    `lower`, `upper`, `interval` and `result[item]` are the sharp bounds, which do not include sampling error;
    `confidence_interval` returns the interval that does.

    Attributes
    ----------
    menu : tuple
        The menu; empty for a functional.
    items : tuple
        One item per bound; empty for a functional.
    lower, upper : ndarray
        The sharp bounds.
    gap : float
        Certified: how far the bounds may be outside the sharp ones.
    distance : float
        Distance of the data to RUM: bounds are over the RUMs that fit as well as the nearest. NaN: the data do not matter.
    confidence : float or None
        Level of the confidence intervals.
    interval_kind : str or None
        "profile" or "distance", as asked for; None where there are no intervals.
    confidence_lower, confidence_upper : ndarray or None
        Ends of the confidence intervals, where they were computed; NaN where every value is rejected.
    notes : tuple of str
        One per bound, or empty: that the model itself is rejected, and the like.
    fit : Projection or None
        The projection that the bounds start from.
    seed : int or None
        Seed of the intervals: the same seed gives the same ones.
    interrupted : bool
        Whether Ctrl-C came before all intervals were found; those that are missing have NaN for ends, and a note.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> result = rf.bounds(data, ["a", "c"], confidence=None)
    >>> [round(end, 3) for end in result["a"]]
    [0.386, 0.743]
    """

    _named = ("menu", "gap", "distance", "confidence", "interval_kind", "seed")
    _listed = "bounds"

    menu: tuple[Item, ...]
    items: tuple[Item, ...]
    lower: Array
    upper: Array
    gap: float
    distance: float
    confidence: float | None = None
    confidence_lower: Array | None = None
    confidence_upper: Array | None = None
    notes: tuple[str, ...] = ()
    fit: Projection | None = None
    seed: int | None = None
    interrupted: bool = False
    interval_kind: str | None = None

    def __getitem__(self, item: Item) -> tuple[float, float]:
        if item not in self.items:
            raise InputError(f"item {item!r}: bounds were computed for {format_menu(self.items)}")
        i = self.items.index(item)
        return float(self.lower[i]), float(self.upper[i])

    @property
    def interval(self) -> tuple[float, float]:
        """The sharp bounds, without sampling error, of the only quantity; an InputError where there are several."""
        if len(self.lower) != 1:
            raise InputError(f"there are bounds for {len(self.lower)} items; take one by its label")
        return float(self.lower[0]), float(self.upper[0])

    def confidence_interval(self, item: Item | None = None) -> tuple[float, float]:
        """Return the confidence interval of an item, or of the only quantity.

        Parameters
        ----------
        item : optional
            The label of an item; None where there is only one quantity.

        Returns
        -------
        tuple of float
            Lower and upper end; NaN where every value is rejected.

        Raises
        ------
        InputError
            If no intervals were computed, or there are several and no item is given.
        """
        if self.confidence_lower is None or self.confidence_upper is None:
            raise InputError("no confidence intervals were computed: they need counts, and confidence= between 0 and 1")
        if item is None and len(self.lower) != 1:
            raise InputError(f"there are intervals for {len(self.lower)} items; take one by its label")
        if item is not None and item not in self.items:
            raise InputError(f"item {item!r}: intervals were computed for {format_menu(self.items)}")
        i = 0 if item is None else self.items.index(item)
        return float(self.confidence_lower[i]), float(self.confidence_upper[i])

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns item, from, to (the interval, if computed), lower, upper, and note where there is one."""
        columns: dict[str, list[Any]] = {"item": list(self.items) or ["value"]}
        if self.confidence_lower is not None and self.confidence_upper is not None:
            columns |= {"from": _known(self.confidence_lower), "to": _known(self.confidence_upper)}
        columns |= {"lower": self.lower.tolist(), "upper": self.upper.tolist()}
        return columns | ({"note": list(self.notes)} if any(self.notes) else {})

    def remarks(self) -> list[str]:
        """Return the notes in sentences, those that several items share once, and whether few choices are behind the bounds."""
        whose: dict[str, list[str]] = {}
        for item, note in zip(self.items or ("",), self.notes, strict=False):
            if note:
                whose.setdefault(note, []).append(visible(item))
        found = []
        for note, names in whose.items():
            whole = note if note.endswith("?") else f"{note}."
            name = "every item" if len(names) == len(self.lower) > 1 else ", ".join(names)
            found.append(f"{name}: {whole}" if name else whole)
            found[-1] = found[-1] if self.items and name != "every item" else found[-1][0].upper() + found[-1][1:]
        data = None if self.fit is None or self.confidence is not None else self.fit.observations.data
        few = "" if data is None else note_on_few(data)
        return [*found, few] if few else found

    def parts(self) -> list[str | Table]:
        """Return the summary."""
        return [self.summary()]

    def summary(self) -> str:
        """Return the bounds in words."""
        what = f"from {format_menu(self.menu)}" if self.menu else "of the functional"
        near = "" if np.isnan(self.distance) else f" as close to the data as the nearest (distance {self._away():.4g})"
        sharp = f"over all members of the model{near}"
        if self.confidence is None or self.confidence_lower is None or self.confidence_upper is None:
            lines = [f"Sharp bounds {what}, {sharp}; sampling error is not in them:"]
        else:
            level = f"{100 * self.confidence:g} % confidence intervals"
            lines = [f"{level} {what}, by {self.interval_kind}. Sharp: {sharp}, without sampling error."]
        for i in range(len(self.lower)):
            line = f"  {visible(self.items[i] if self.items else 'value'):<12} "
            ends = f"{self.lower[i]:.4f} to {self.upper[i]:.4f}"
            if self.confidence_lower is not None and self.confidence_upper is not None:
                low, high = self.confidence_lower[i], self.confidence_upper[i]
                line += "none" if np.isnan(low) else f"{low:.3f} to {high:.3f}"
                ends = f"   (sharp: {ends})"
            lines.append(line + ends)
        return "\n".join([*lines, *self.remarks()])

    def _away(self) -> float:
        """The distance, 0 where it is rounding."""
        return 0.0 if self.fit is not None and self.fit.inside else self.distance

    def __repr__(self) -> str:
        pairs = ", ".join(f"[{a:.4f}, {b:.4f}]" for a, b in zip(self.lower, self.upper, strict=True))
        return f"Bounds(menu={format_menu(self.menu)}, items={format_menu(self.items)}, {pairs})"


def _known(values: Array) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
