"""How transitive pairs are, as a result: the four conditions, the best order, and majority triangles with their significance."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rumflow.check import check_level
from rumflow.core.triples import CONDITIONS
from rumflow.data.labels import Item
from rumflow.inference.result import RumTest
from rumflow.inference.weak_order import MOST_ORDERS, PairCounts
from rumflow.output.files import plain
from rumflow.output.names import how_many, name_order
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.text import visible

_WORDS = {
    "triangle": "triangle inequalities",
    "weak": "weak transitivity",
    "moderate": "moderate transitivity",
    "strong": "strong transitivity",
}


@dataclass(frozen=True)
class MajorityTriangle:
    """Three items of which each beats the next, and the last the first.

    Attributes
    ----------
    items : tuple
        The items in order.
    shares : tuple of float
        The share of each item against the next.
    sizes : tuple of float
        The number of choices from each pair.
    pvalue : float or None
        The largest of the three one-sided p-values; None without counts.
    adjusted : float or None
        The same after Holm's correction for the number of triples.

    Examples
    --------
    >>> MajorityTriangle(("a", "b", "c"), (0.9, 0.8, 0.7), (50, 50, 50), 0.003, 0.03).text
    'a > b > c > a (0.9, 0.8, 0.7)'
    """

    items: tuple[Item, ...]
    shares: tuple[float, ...]
    sizes: tuple[float, ...]
    pvalue: float | None = None
    adjusted: float | None = None

    @property
    def text(self) -> str:
        """The triangle in words."""
        names = " > ".join(map(visible, (*self.items, self.items[0])))
        return f"{names} ({', '.join(f'{p:.3g}' for p in self.shares)})"


@dataclass(frozen=True, eq=False, repr=False)
class Transitivity(Result):
    """How transitive choices from pairs are.

    Attributes
    ----------
    items : tuple
        Labels of the items.
    n_pairs : int
        Number of pairs compared.
    n_triples : int
        Number of triples with all three pairs.
    holds : dict
        The share of triples in which "triangle", "weak", "moderate" and "strong" hold; NaN where there is no triple.
    distance : float
        Of the shares to the triangle inequalities, every pair counting the same.
    pvalue : float or None
        Of the test of the triangle inequalities; None for exact shares.
    order : tuple
        The items in the order that goes against the fewest choices.
    weak_ratio, weak_ratio_lower : float or None
        Likelihood ratio of weak transitivity for this order, and what no order is below. They are equal unless more than 24
        items are tangled in cycles. None for exact shares.
    weak_pvalue : float or None
        Conservative: at most this chance of so large a ratio, if majorities of the population follow an order.
    strong_ratio : float or None
        Likelihood ratio of strong transitivity: exact up to six items, an upper bound beyond.
    triangles : tuple of MajorityTriangle
        The most significant first, as many as were asked for.
    n_triangles : int
        Number of majority triangles in all.
    n_boot : int
        Replicates of the test, and simulated samples for weak transitivity.
    seed : int
        The same seed gives the same result.
    notes : tuple of str
        What the reader should know about these data.
    interrupted : bool
        Whether Ctrl-C ended the test early.
    seconds : float
        Time taken.
    pairs : PairCounts
        Items, share and size of every pair.
    test : RumTest or None
        The test of the triangle inequalities.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({
    ...     ("a", "b"): {"a": 45, "b": 5}, ("b", "c"): {"b": 45, "c": 5}, ("a", "c"): {"a": 10, "c": 40},
    ... })
    >>> found = rf.transitivity(data, n_boot=99, seed=1)
    >>> found.holds["weak"], found.triangles[0].items, found.triangles[0].adjusted < 0.05
    (0.0, ('a', 'b', 'c'), True)
    """

    items: tuple[Item, ...]
    n_pairs: int
    n_triples: int
    holds: dict[str, float]
    distance: float
    pvalue: float | None
    order: tuple[Item, ...]
    weak_ratio: float | None
    weak_ratio_lower: float | None
    weak_pvalue: float | None
    strong_ratio: float | None
    triangles: tuple[MajorityTriangle, ...]
    n_triangles: int
    n_boot: int
    seed: int
    notes: tuple[str, ...]
    interrupted: bool
    seconds: float
    pairs: PairCounts = field(repr=False)
    test: RumTest | None = field(repr=False)
    _named = (
        "n_pairs", "n_triples", "holds", "distance", "pvalue", "order", "weak_ratio", "weak_ratio_lower", "weak_pvalue",
        "strong_ratio", "n_triangles", "n_boot", "seed", "notes", "interrupted", "seconds",
    )  # fmt: skip
    _listed = "conditions"

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row per condition: condition, triples (share that has it), distance, ratio, ratio_lower, pvalue."""
        return {
            "condition": list(CONDITIONS),
            "triples": [self.holds[name] for name in CONDITIONS],
            "distance": [self.distance, None, None, None],
            "ratio": [None, self.weak_ratio, None, self.strong_ratio],
            "ratio_lower": [None, self.weak_ratio_lower, None, None],
            "pvalue": [self.pvalue, self.weak_pvalue, None, None],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; `triangles` has the majority triangles that are listed."""
        return super().to_dict() | {"triangles": plain([asdict(one) for one in self.triangles])}

    def significant(self, level: float = 0.05) -> tuple[MajorityTriangle, ...]:
        """Return the listed majority triangles that are significant after the correction.

        Parameters
        ----------
        level : float, default 0.05
            The chance that any triangle is called significant where there is none.

        Returns
        -------
        tuple of MajorityTriangle
        """
        level = check_level(level)
        return tuple(one for one in self.triangles if one.adjusted is not None and one.adjusted <= level)

    def parts(self) -> list[str | Table]:
        """Return the table of conditions, the order, and the majority triangles."""
        size = "" if self.test is None else f", {self.pairs.size.sum():,.6g} choices"
        title = f"How transitive are these pairs? ({len(self.items)} items, {how_many(self.n_pairs, 'pair')}{size})"
        table = Table(title, ["condition", "triples that have it", "measure", "p-value"])
        share = [f"{100 * self.holds[name]:.1f} %" if self.n_triples else "-" for name in CONDITIONS]
        for name, held, (measure, p) in zip(CONDITIONS, share, self._measures(), strict=True):
            table.add(_WORDS[name], held, measure, "" if p is None else f"{p:.3g}")
        table.note = f"{how_many(self.n_triples, 'triple')} with all three pairs."
        if self.weak_pvalue is not None:
            table.note += " The p-value of weak transitivity is conservative: it counts every pair as if it were tied."
        words = [f"Fewest choices against: {name_order(self.order, length=300)}", self._triangles()]
        return [table, *words, *self.notes]

    def _measures(self) -> list[tuple[str, float | None]]:
        weak = strong = ""
        if self.weak_ratio is not None and self.weak_ratio_lower is not None:
            exact = self.weak_ratio_lower >= self.weak_ratio * (1 - 1e-9)
            weak = "likelihood ratio " + (
                f"{self.weak_ratio:.4g}" if exact else f"{self.weak_ratio_lower:.4g} to {self.weak_ratio:.4g}"
            )
        if self.strong_ratio is not None:
            most = "" if len(np.unique(self.pairs.menus.item)) <= MOST_ORDERS else "at most "
            strong = f"likelihood ratio {most}{self.strong_ratio:.4g}"
        return [(f"distance {self.distance:.4g}", self.pvalue), (weak, self.weak_pvalue), ("", None), (strong, None)]

    def _triangles(self) -> str:
        if not self.n_triples:
            return "No three items were compared with each other, so there is no triple to look at."
        if not self.n_triangles:
            return "No majority triangle: in every triple the majorities follow an order."
        head = f"{how_many(self.n_triangles, 'majority triangle')} among {how_many(self.n_triples, 'triple')}"
        counted = self.triangles and self.triangles[0].adjusted is not None
        if not counted:
            return f"{head}: " + "; ".join(one.text for one in self.triangles) + "."
        sure = self.significant()
        if not sure:
            return (
                f"{head}, none significant at the 5 % level after Holm's correction; the nearest to it: "
                f"{self.triangles[0].text}, p = {self.triangles[0].pvalue:.3g}, {self.triangles[0].adjusted:.3g} corrected."
            )
        most = "at least " if len(sure) == len(self.triangles) < self.n_triangles else ""
        named = "; ".join(f"{one.text}, p = {one.adjusted:.3g}" for one in sure[:5])
        return f"{head}, {most}{len(sure)} significant at the 5 % level after Holm's correction: {named}."

    def plot(self, ax: Any = None) -> Any:
        """Draw the shares of all pairs as a heat map in the best order, with the majority triangles.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.

        Returns
        -------
        Axes
        """
        from rumflow.output.pair_plots import plot_pairs

        return plot_pairs(self, ax)

    def __repr__(self) -> str:
        p = "" if self.pvalue is None else f", pvalue={self.pvalue:.3g}"
        return f"Transitivity({len(self.items)} items, {self.n_pairs} pairs, distance={self.distance:.6g}{p})"
