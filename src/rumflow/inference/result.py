"""The result of a test: numbers, tables and a summary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rumflow.check import check_level
from rumflow.core.arrays import Array, Mask
from rumflow.core.lattice import Lattice
from rumflow.core.transforms import zeta
from rumflow.data.labels import Item, count_items
from rumflow.errors import InputError
from rumflow.inference.binding import binding_edges
from rumflow.inference.convention import Convention
from rumflow.inference.notes import unfinished
from rumflow.inference.pvalue import Verdict, depends_on_tau, too_few
from rumflow.inference.relevant import LeftOut, left_out
from rumflow.inference.replicate import distances
from rumflow.inference.sample import Sample
from rumflow.inference.words import DRAWN, Words, nothing_or, words_of
from rumflow.output.files import plain
from rumflow.output.names import WRAPPED, how_many, name_menu, name_range
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.solvers.geometry import Fits
from rumflow.text import visible

_TOL = 1e-9  # of the fit to all data, where a part was tested


@dataclass(frozen=True, eq=False, repr=False)
class RumTest(Result):
    """A bootstrap test of "these choices come from some random utility model".

    With several values of tau, `tau`, `pvalue` and `null_distribution` are those of the first; `taus`, `pvalues` and
    `null_distributions` have them all.

    Attributes
    ----------
    statistic : float
        scale * min over RUM of sum w (observed - rho)^2.
    taus : tuple of float
        How far the set is tightened.
    pvalues : ndarray of shape (T,)
        One per tau.
    null_distributions : ndarray of shape (T, B)
        The replicates' statistics.
    n_boot : int
        Replicates done (fewer than asked for after Ctrl-C).
    failed : int
        Replicates without a certified optimum; their statistic is an upper bound, which can only raise the p-value.
    vanished : int
        Replicates in which at least one menu vanished; they are measured on the menus that are left.
    interrupted : bool
        Whether Ctrl-C stopped the test.
    seed : int
        The same seed gives the same result, with any number of workers.
    resample : str
        What is resampled: "menu", "row", "subject", "weighted rows by menu" or "weighted rows".
    weights : str
        The weights of the cells, in words.
    notes : tuple of str
        What the reader should know about these data: tiny or unequal menus, few subjects.
    gap : float
        Certified: statistic - true minimum <= gap.
    seconds : float
        Time taken.
    sample : Sample
        What was tested, in the form of the test.
    whole : Sample
        All data in that form. `sample` is a part of it where menus or items have no influence on the test.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> test = rf.rum_test(data, n_boot=99, seed=1)
    >>> round(test.statistic, 3), test.n_boot, test.draws
    (3.429, 99, 'null')
    """

    statistic: float
    taus: tuple[float, ...]
    pvalues: Array
    null_distributions: Array
    n_boot: int
    failed: int
    vanished: int
    interrupted: bool
    seed: int
    resample: str
    weights: str
    notes: tuple[str, ...]
    gap: float
    seconds: float
    sample: Sample
    whole: Sample
    _fits: Fits  # of `sample`
    _named = (
        "statistic", "pvalue", "tau", "taus", "pvalues", "gap", "n_boot", "failed", "vanished", "interrupted", "seed", "resample",
        "weights", "draws", "notes", "seconds",
    )  # fmt: skip
    _listed = "tests"
    _words: ClassVar[Words | None] = None  # None: those of the model

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row per tau: tau, statistic, pvalue, critical_value (at the 5 % level), n_boot."""
        count = len(self.taus)
        columns = {"tau": list(self.taus), "statistic": [self.statistic] * count, "pvalue": self.pvalues.tolist()}
        columns["critical_value"] = [self.critical_value(tau=tau) for tau in self.taus]
        return columns | {"n_boot": [self.n_boot] * count}

    def parts(self) -> list[str | Table]:
        """Return the summary at the 5 % level."""
        return [self.summary()]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the replicates as lists, texts and numbers, for JSON; None for numbers that it does not have.

        `depends_on_tau` is that of the verdict at the 5 % level.
        """
        sample = self.whole
        left = {"menus": [list(menu) for menu in self.left_out.menus], "items": list(self.left_out.items)}
        facts = {"items": sample.items, "menus": len(sample.sizes), "choices": sample.n_observations, "left_out": left}
        names = ("menu", "item", "group", "observed", "fitted", "contribution")
        misfits = [dict(zip(names, one, strict=True)) for one in self.misfits(20)]
        more = plain(facts | {"groups": sample.n_groups, "misfits": misfits})
        more["depends_on_tau"] = self.rejects().depends_on_tau
        return super().to_dict() | more  # type: ignore[no-any-return]

    @property
    def tau(self) -> float:
        """How far the set is tightened (the first value, if there are several)."""
        return self.taus[0]

    @property
    def pvalue(self) -> float:
        """(1 + number of replicates at least as large) / (1 + B), at the first tau."""
        return float(self.pvalues[0])

    @property
    def null_distribution(self) -> Array:
        """(B,): the replicates' statistics at the first tau."""
        first: Array = self.null_distributions[0]
        return first

    @property
    def convention(self) -> Convention:
        """The convention of the test."""
        return self.sample.convention

    @property
    def rho(self) -> Array:
        """(2^n, n): the nearest RUM (or point of the cone); on cells that no group recorded, one value among many."""
        flow = self._flow
        return Lattice(len(flow)).from_internal(zeta(flow.copy()))

    @property
    def flow(self) -> Array:
        """(2^n, n): its Block-Marschak polynomials, every entry >= 0."""
        flow = self._flow
        return Lattice(len(flow)).from_internal(flow)

    @cached_property
    def left_out(self) -> LeftOut:
        """Menus and items that have no influence on the distance, and were left out before anything else was computed."""
        return left_out(self.whole, self.sample)

    @cached_property
    def _whole_fits(self) -> Fits:
        """The nearest point to all data; that of the part tested is found with the test."""
        if self.whole is self.sample:
            return self._fits
        return distances(self.whole, self.whole.frequency[None], 0.0, _TOL, threads=None, only_upper=True).fits

    @cached_property
    def _flow(self) -> Array:
        return self._whole_fits.flow(0)

    @property
    def membership(self) -> Mask:
        """(m, n): the different menus of two or more items of all groups, as rows of truth values."""
        return self.whole.menus

    @property
    def fitted(self) -> Array:
        """(m, n): probabilities of these menus at the nearest point of the model, NaN on cells that no group recorded."""
        return self.whole.projector.to_array(self._whole_fits.fitted[0])

    @property
    def draws(self) -> str:
        """How replicates were drawn, "null" or "empirical"; see `rum_test`."""
        return self.convention.draws

    @property
    def bounded(self) -> bool:
        """Whether statistic and replicates are only upper bounds. P-values then compare `statistic - gap` with the replicates."""
        return not self.sample.projector.exact

    def critical_value(self, level: float = 0.05, tau: float | None = None) -> float:
        """Return the critical value: a statistic above it has a p-value of at most `level`.

        Parameters
        ----------
        level : float, default 0.05
            The level of the test.
        tau : float, optional
            One of `taus`; None: the first.

        Returns
        -------
        float
            Infinite where B is too small for the level.
        """
        level = check_level(level)
        null = np.sort(self.null_distributions[self._index(tau)])
        allowed = int(np.floor(level * (1 + len(null)) + 1e-9)) - 1  # replicates that may reach the statistic
        return float("inf") if allowed < 0 else float(null[len(null) - 1 - allowed])

    def _index(self, tau: float | None) -> int:
        if tau is None:
            return 0
        for i, own in enumerate(self.taus):
            if abs(own - tau) < 1e-12:
                return i
        raise InputError(f"tau={tau!r} was not tested; tested were {', '.join(f'{t:g}' for t in self.taus)}")

    def rejects(self, level: float = 0.05, tau: float | None = None) -> Verdict:
        """Say whether the hypothesis is rejected.

        Parameters
        ----------
        level : float, default 0.05
            The level of the test.
        tau : float, optional
            One of `taus`; None: the first.

        Returns
        -------
        Verdict
            True or False, with the attribute `depends_on_tau`: whether the values of tau that were tested disagree (None
            where there is only one).
        """
        reject = self.pvalues <= check_level(level)
        return Verdict(reject[self._index(tau)], bool(reject.any() and not reject.all()) if len(reject) > 1 else None)

    def misfits(self, count: int | None = None) -> list[tuple[tuple[Item, ...], Item, Item, float, float, float]]:
        """List the cells that add most to the statistic, worst first: menu, item, group, observed, fitted, contribution.

        Parameters
        ----------
        count : int, optional
            The largest number to list; None: all.

        Returns
        -------
        list of tuples
        """
        sample = self.sample
        fitted = self._fits.fitted[0][sample.column]
        part = sample.scale * sample.weights * (sample.frequency - fitted) ** 2
        found = []
        for s in np.argsort(-part, kind="stable")[:count]:
            if part[s] <= 1e-20 * sample.scale * sample.weights[s]:  # rounding
                break
            unit = sample.unit[s]
            menu = sample.members(int(unit))
            group = sample.names[int(sample.unit_group[unit])]
            item = sample.items[int(sample.item[s])] if sample.item[s] >= 0 else "what was not recorded"
            found.append((menu, item, group, float(sample.frequency[s]), float(fitted[s]), float(part[s])))
        return found

    def binding(self, count: int | None = None) -> list[tuple[tuple[Item, ...], Item, float]]:
        """List the Block-Marschak inequalities that bind at the fit, strongest first: menu, item, multiplier.

        Parameters
        ----------
        count : int, optional
            The largest number to list; None: all.

        Returns
        -------
        list of tuples

        Notes
        -----
        The flow through such an edge is 0, and the statistic would fall at the rate of the multiplier if it could be
        negative. Multipliers come from the potentials of the cheapest ways down from each menu: one choice among several.
        """
        sample = self.whole
        found = binding_edges(sample, self.sample.scale, self._flow, self._whole_fits.fitted[0])
        return [
            (tuple(sample.items[x] for x in menu), sample.items[item], value) for menu, item, value in found[:count]
        ]

    def summary(self, level: float = 0.05) -> str:
        """Return the test in words.

        Parameters
        ----------
        level : float, default 0.05
            The level at which the summary says whether the hypothesis is rejected.

        Returns
        -------
        str
        """
        level, words = check_level(level), self._words or words_of(self.sample.projector.model)
        verdict = "is rejected" if (rejected := self.rejects(level)) else "is not rejected"
        few = too_few(self.n_boot, level, self.statistic)
        lines = [
            words.title,
            *self._facts(),
            *self._numbers(level, words),
            f"{words.hypothesis} {'is neither rejected nor not' if few else verdict} at the {100 * level:g} % level"
            f"{self._where}{f': {few}' if few else ''}.",
        ]
        if rejected:
            lines.append(words.assumption)
        if self.n_boot and not few and self.pvalue <= 1.5 / (1 + self.n_boot):
            lines.append(
                f"No replicate was as large: the p-value is the smallest that {self.n_boot} replicates can give."
            )
        if on_tau := depends_on_tau(self.taus, self.pvalues, level):
            lines.append(on_tau)
        lines += self.notes
        if self.statistic == 0:
            lines.append(words.inside)
        lines += self._remarks(level)
        lines += self._furthest(words)
        if self.bounded:
            lines.append(
                "The graph of these menus is too large for exact distances (route 'bounded'). The p-value is conservative: it "
                f"compares the least that the statistic can be, {max(self.statistic - self.gap, 0.0):.6g}, with the most that "
                "each replicate can be."
            )
        if self.vanished:
            lines.append(
                f"In {how_many(self.vanished, 'replicate')} some menu vanished; they were measured on the menus left."
            )
        return "\n".join(lines + unfinished(self.failed, self.interrupted, self.n_boot))

    def _numbers(self, level: float, words: Words) -> list[str]:
        """Statistic, replicates and p-values."""
        sample = self.sample
        lines = [
            f"  statistic    {nothing_or(self.statistic):.6g} = {sample.scale:g} x squared distance to the "
            f"{words.cone if self.convention.set == 'cone' else words.simplex}, weights: {self.weights}"
            + (", last item of each menu left out" if self.convention.cells == "drop-last" else ""),
            f"  bootstrap    {self.n_boot} replicates, {self._drawn()}, seed {self.seed}",
        ]
        for t, tau in enumerate(self.taus):
            lines.append(
                f"  tau = {tau:<9.4g} p-value {self.pvalues[t]:.4g}   "
                f"critical value at {level:g}: {nothing_or(self.critical_value(level, tau)):.6g}"
                + ("   <- the test" if t == 0 and len(self.taus) > 1 else "")
            )
        return lines

    @property
    def _where(self) -> str:
        """At which tau the verdict is, in words."""
        return f" (tau = {self.tau:.4g})"

    def _furthest(self, words: Words) -> list[str]:
        """The cells that add most to the statistic."""
        worst = self.misfits(3)
        if not worst:
            return []
        named = [(self._name_cell(menu, item, g), observed, fit) for menu, item, g, observed, fit, _ in worst]
        return [
            f"{words.furthest}{words.weighted.get(self.weights, '')}:",
            *(f"  {name}: observed {observed:.3f}, fitted {fit:.3f}" for name, observed, fit in named if name),
        ]

    def _facts(self) -> list[str]:
        """The data, in words."""
        sample = self.whole
        groups = "" if sample.n_groups == 1 else f" in {sample.n_groups} groups, explained by one distribution"
        return [
            f"  data         {count_items(sample.items)}, {how_many(len(sample.sizes), 'menu')} of two or more, "
            f"{sample.n_observations:g} choices ({name_range(sample.sizes)} a menu){groups}",
            *([f"  left out     {self.left_out.describe(sample.items)}"] if self.left_out else []),
        ]

    def _remarks(self, level: float) -> list[str]:
        """More to say about the verdict."""
        return []

    def _name_cell(self, menu: tuple[Item, ...], item: Item, group: Item) -> str | None:
        """A cell in words; None for one that is not to be named."""
        sample = self.whole
        return f"{visible(item)} from {name_menu(sample.items, menu, WRAPPED)}" + (
            "" if sample.n_groups == 1 else f" of {visible(group)}"
        )

    def _drawn(self) -> str:
        """How replicates were drawn, in words."""
        return DRAWN[self.resample][self.draws == "empirical"]

    def plot(self, ax: Any = None, tau: float | None = None) -> Any:
        """Plot the null distribution with the statistic; see `rumflow.output.plots.plot_null`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a new figure.
        tau : float, optional
            One of `taus`; None: the first.

        Returns
        -------
        matplotlib Axes
        """
        from rumflow.output.plots import plot_null

        return plot_null(self, ax, tau)

    def __repr__(self) -> str:
        return f"RumTest(statistic={self.statistic:.6g}, pvalue={self.pvalue:.4g}, tau={self.tau:.4g}, n_boot={self.n_boot})"
