"""How transitive are choices from pairs? The triangle inequalities, and weak, moderate and strong stochastic transitivity.

From the weakest to the strongest, with p_ab the share of a against b:

    triangle inequalities   p_ab <= p_ac + p_cb: what every population with rankings obeys; it need not have a best item
    weak                    majorities follow an order
    moderate, strong        and p_ac is at least the smaller, or the larger, of p_ab and p_bc, for a, b, c in this order

Strong implies moderate, and moderate both others on a triple; weak and the triangle inequalities do not imply each other. Single
triples are counted (`rumflow.core.triples`); the triangle inequalities are tested with all paths of pairs (`rumflow.rum_test`),
weak transitivity by a likelihood ratio (`rumflow.inference.weak_order`).

*Majority triangles.* That a beats b, b beats c and c beats a is significant where all three majorities are: the p-value of a
triangle is the largest of three one-sided ones, each from the binomial distribution. Of the two ways round at most one can be
observed, and in a triple without a cycle the chances to reject either add up to the level at most; so Holm's correction for
the number of triples holds.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rumflow.check import check_level, check_replicates, check_whole
from rumflow.core.arrays import Array, Paths
from rumflow.core.pairs import arc_lengths, make_pairs
from rumflow.core.seeds import Seed, entropy
from rumflow.core.triples import CONDITIONS, MOST_KEPT, find_triples
from rumflow.data.accept import DataLike, as_data
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, tie_number
from rumflow.errors import InputError
from rumflow.inference.confidence import has_counts
from rumflow.inference.plan import JobOptions, Plan
from rumflow.inference.result import RumTest
from rumflow.inference.source import Source
from rumflow.inference.test import run_test
from rumflow.inference.weak_order import (
    PairCounts,
    best_order,
    count_pairs,
    counts_choices,
    majority_pvalues,
    order_of_shares,
    ratio_pvalue,
    strong_ratio,
)
from rumflow.models.triangle_inequalities import TriangleInequalities
from rumflow.output.files import plain
from rumflow.output.names import how_many, name_order
from rumflow.output.progress import Stage
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.projection.cost import find_geometry
from rumflow.projection.observations import observe
from rumflow.projection.single import fit_observations
from rumflow.solvers.resources import Resources
from rumflow.text import visible

_WORDS = {
    "triangle": "triangle inequalities",
    "weak": "weak transitivity",
    "moderate": "moderate transitivity",
    "strong": "strong transitivity",
}
_INDEPENDENT = (
    "The p-values of weak transitivity and of majority triangles take all choices to be independent, although subjects made "
    "several; the test of the triangle inequalities draws whole subjects."
)
_TIES = (
    "Ties are an outcome of their own for the distance and the test of the triangle inequalities; for triples, orders, ratios "
    "and majorities a tie counts half for each item."
)
_FRACTIONS = (
    "Choices with fractional weights have no binomial distribution: weak transitivity and triangles have no p-value."
)


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
            most = "" if len(np.unique(self.pairs.menus.item)) <= 6 else "at most "
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


def transitivity(
    data: DataLike,
    n_boot: int = 999,
    *,
    most: int = 10,
    cluster: Any = "auto",
    seed: Seed = None,
    rng: Seed = None,
    threads: int | None = None,
    progress: bool = False,
) -> Transitivity:
    """Measure how transitive choices from pairs are, and test it.

    Parameters
    ----------
    data : ChoiceData
        Choices from pairs, or whatever data are read from. Menus of one item are left out; larger menus are refused. Ties
        may be an outcome of their own.
    n_boot : int, default 999
        Replicates of the test of the triangle inequalities, and simulated samples for weak transitivity.
    most : int, default 10
        Majority triangles to list at most.
    cluster : {"auto"}, bool, None or array_like, default "auto"
        Whether the test of the triangle inequalities draws whole subjects, as in `rum_test`.
    seed, rng : int or numpy.random.Generator, optional
        None draws one, which is kept in the result. Two names of the same: give one.
    threads : int, optional
        Number of threads.
    progress : bool, default False
        Show a line on standard error that says what is done.

    Returns
    -------
    Transitivity

    Raises
    ------
    InputError
        If an argument is not accepted, a menu has more than two items, or no pair was observed.

    Notes
    -----
    The triangle inequalities hold in every population of people with rankings, however much they disagree. Weak, moderate
    and strong transitivity say more: that majorities follow one order, as in models with one value per item and noise
    (Bradley-Terry, Thurstone). Populations with rankings need not have them.

    Without numbers of choices (shares only) there are no tests and no likelihood ratios.

    Examples
    --------
    >>> import rumflow as rf
    >>> found = rf.transitivity("datasets:tversky_1969", n_boot=99, seed=1)
    >>> found.n_triples, found.weak_pvalue < 0.05
    (10, False)
    """
    begin = time.perf_counter()
    data = as_data(data)
    if not isinstance(data, ChoiceData):
        raise InputError(f"data: choices from pairs are needed, not {type(data).__name__}")
    check_replicates(n_boot)
    check_whole(most, "most", 1)
    given, tied = data, tie_number(data.items) >= 0
    data = data.resolve_ties("half") if tied else data
    pairs, counted = count_pairs(data), has_counts(data)
    number = entropy(seed, rng)
    with Stage(progress, "the order of the items") as stage:
        found = best_order(pairs, threads)
        stage.say("triples")
        graph, length = make_pairs(pairs.first, pairs.second, pairs.n), arc_lengths(pairs.share)
        triples = find_triples(graph, length)
    observations, model = observe(given, TriangleInequalities())
    geometry, whole = find_geometry(observations, model), counts_choices(data)
    test, notes = None, []
    ratios: list[float | None] = [None] * 4
    if counted:
        plan = Plan(n_boot, tau="thinned", cluster=cluster, seed=number, model=TriangleInequalities())
        test = run_test(Source({0: given}), plan, JobOptions(threads=threads, progress=progress))
        rng = np.random.default_rng([number, 1])
        pvalue = ratio_pvalue(pairs, 2.0 * found.lower, n_boot, rng) if whole else None
        strong = strong_ratio(pairs, [found.order, order_of_shares(pairs)])
        ratios = [2.0 * found.cost, 2.0 * found.lower, pvalue, strong]
        notes = list(test.notes)
        notes += [_INDEPENDENT] if whole and test.resample == "subject" else []
        notes += [] if whole else [_FRACTIONS]
    notes += [_TIES] if tied else []
    if len(triples.cyclic) == MOST_KEPT:
        notes.append(f"Only the first {MOST_KEPT:,} majority triangles were looked at.")
    return Transitivity(
        items=data.items,
        n_pairs=len(pairs.share),
        n_triples=triples.number,
        holds={
            name: float(k) / triples.number if triples.number else float("nan")
            for name, k in zip(CONDITIONS, triples.holds, strict=True)
        },
        distance=fit_observations(observations, geometry, resources=Resources(threads)).distance,
        pvalue=None if test is None else float(test.pvalue),
        order=tuple(data.items[x] for x in found.order),
        weak_ratio=ratios[0],
        weak_ratio_lower=ratios[1],
        weak_pvalue=ratios[2],
        strong_ratio=ratios[3],
        triangles=_significance(data, pairs, triples.cyclic, triples.number, most, counted and whole),
        n_triangles=triples.number - int(triples.holds[1]),
        n_boot=0 if test is None else test.n_boot,
        seed=number,
        notes=tuple(notes),
        interrupted=test is not None and test.interrupted,
        seconds=time.perf_counter() - begin,
        pairs=pairs,
        test=test,
    )


def _significance(
    data: ChoiceData, pairs: PairCounts, cyclic: Paths, count: int, most: int, counted: bool
) -> tuple[MajorityTriangle, ...]:
    """The most significant majority triangles; without counts those with the largest majorities."""
    share = np.stack([pairs.share, 1.0 - pairs.share], axis=1).reshape(-1)
    tail = np.stack([pairs.first, pairs.second], axis=1).reshape(-1)
    least = share[cyclic].min(axis=1)
    p: Array = majority_pvalues(share, np.repeat(pairs.size, 2))[cyclic].max(axis=1) if counted else -least
    best = np.lexsort((-least, p))[:most]
    adjusted = np.minimum(np.maximum.accumulate(p[best] * (count - np.arange(len(best)))), 1.0)
    rows = []
    for k, row in enumerate(best.tolist()):
        arcs = np.roll(cyclic[row], -int(tail[cyclic[row]].argmin()))
        rows.append(
            MajorityTriangle(
                tuple(data.items[x] for x in tail[arcs].tolist()),
                tuple(share[arcs].tolist()),
                tuple(pairs.size[arcs >> 1].tolist()),
                float(p[row]) if counted else None,
                float(adjusted[k]) if counted else None,
            )
        )
    return tuple(rows)
