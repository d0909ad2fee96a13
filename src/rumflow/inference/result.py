"""What a test found, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rumflow.check import check_level
from rumflow.core.arrays import Array, Mask
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.paths import cheapest_below, squeeze
from rumflow.core.transforms import zeta, zeta_adjoint
from rumflow.data.labels import Item
from rumflow.errors import InputError
from rumflow.inference.convention import Convention
from rumflow.inference.jobs import Collected
from rumflow.inference.notes import ASSUMPTION, unfinished
from rumflow.inference.relevant import LeftOut, left_out
from rumflow.inference.replicate import Distances, Replicator, distances
from rumflow.inference.sample import Sample
from rumflow.output.files import plain
from rumflow.output.names import WRAPPED, how_many, name_menu, name_range
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.solvers.geometry import Fits
from rumflow.text import visible

#: How replicates are drawn, by what is resampled: from the fitted model, and from the observed choices.
_DRAWN = {
    "menu": ("choices drawn from the fitted model by menu", "observed choices resampled by menu"),
    "row": ("choices drawn from the fitted model by row", "observed choices resampled by row"),
    "subject": (
        "deviations of subjects from the fitted model with random signs",
        "observed choices resampled by subject",
    ),
    "weighted rows by menu": (
        "deviations of weighted rows from the fitted model with random signs",
        "weighted rows resampled within their menus",
    ),
    "weighted rows": (
        "weighted rows resampled, their deviations from the fitted model with random signs",
        "weighted rows resampled, whatever their menus",
    ),
}


_TOL = 1e-9  # of the fit to all data, where a part was tested

#: How the cells of the fit weigh, by the weights of the test.
_WEIGHTED = {
    "counts": " (menus weighted by their choices)",
    "inverse-variance": " (shares weighted by how well they are known)",
    "given": " (with the weights given)",
}


class Words(NamedTuple):
    """What a test is about, in the sentences of its summary."""

    title: str
    simplex: str  # the set that distances are measured to
    cone: str
    hypothesis: str
    inside: str  # what to say where the distance is 0
    furthest: str
    weighted: Mapping[str, str] = MappingProxyType({})  # how its cells weigh, by the weights of the test
    assumption: str = ASSUMPTION  # what a rejection takes for granted


#: Of a test of the inequalities on pairs.
_OF_INEQUALITIES = Words(
    "Test of the triangle inequalities: do the shares of pairs obey what every population with rankings obeys?",
    "set of shares that obey them",
    "",
    "The triangle inequality",
    "The observed shares obey every triangle and path inequality themselves.",
    "Furthest from the nearest shares that obey them",
    _WEIGHTED,
)


def pvalue(statistic: float, null: Array, rounding: float = 0.0) -> float:
    """(1 + #{null >= statistic}) / (1 + B): never 0. Differences within `rounding` count as ties."""
    reached = int((null >= statistic * (1.0 - 1e-8) - rounding).sum())
    return (1 + reached) / (1 + len(null))


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
    _words: ClassVar[Words] = Words(
        "Test of random utility: do these choices come from a population of utility maximisers?",
        "set of RUMs",
        "RUM cone (any total)",
        "Random utility",
        "The observed frequencies are those of a random utility model themselves.",
        "Furthest from the nearest RUM",
        _WEIGHTED,
    )

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
        """Return everything but the replicates as lists, texts and numbers, for JSON; None for numbers that it does not have."""
        sample = self.whole
        left = {"menus": [list(menu) for menu in self.left_out.menus], "items": list(self.left_out.items)}
        facts = {"items": sample.items, "menus": len(sample.sizes), "choices": sample.n_observations, "left_out": left}
        names = ("menu", "item", "group", "observed", "fitted", "contribution")
        misfits = [dict(zip(names, one, strict=True)) for one in self.misfits(20)]
        more = plain(facts | {"groups": sample.n_groups, "misfits": misfits})
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

    def rejects(self, level: float = 0.05, tau: float | None = None) -> bool:
        """Say whether the hypothesis is rejected.

        Parameters
        ----------
        level : float, default 0.05
            The level of the test.
        tau : float, optional
            One of `taus`; None: the first.

        Returns
        -------
        bool
        """
        return bool(self.pvalues[self._index(tau)] <= check_level(level))

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
        sample, lattice = self.whole, Lattice(len(self._flow))
        flow = lattice.internal_to_cells(self._flow)
        means, _, total = sample.pool(sample.frequency[None], sample.weights)
        gradient = 2 * self.sample.scale * total * (self._whole_fits.fitted[0] - means[0])
        cost = zeta_adjoint(sample.projector.to_lattice(gradient))
        below = cheapest_below(cost)
        mask, item = lattice.cells.T
        value = cost[item, squeeze.py_func(mask, item)] + below[mask ^ (np.int64(1) << item)] - below[mask]
        floor = 1e-7 * max(float(np.abs(cost).max()), 1e-300)
        value[(value <= floor) | (flow > 1e-12)] = 0.0
        found = []
        for c in np.argsort(-value, kind="stable")[:count]:
            if value[c] == 0:
                break
            menu = tuple(sample.items[x] for x in items_of(int(mask[c])))
            found.append((menu, sample.items[int(item[c])], float(value[c])))
        return found

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
        level, sample, words = check_level(level), self.sample, self._words
        if not sample.projector.model.has_types:
            words = _OF_INEQUALITIES
        lines = [
            words.title,
            *self._facts(),
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
        verdict = "is rejected" if self.rejects(level) else "is not rejected"
        lines.append(f"{words.hypothesis} {verdict} at the {100 * level:g} % level (tau = {self.tau:.4g}).")
        if self.rejects(level):
            lines.append(words.assumption)
        if self.n_boot and self.pvalues[0] <= 1.5 / (1 + self.n_boot):
            lines.append(
                f"No replicate was as large: the p-value is the smallest that {self.n_boot} replicates can give."
            )
        if len(self.taus) > 1 and len({bool(p <= level) for p in self.pvalues}) > 1:
            lines.append("The verdict depends on tau: a smaller tau rejects more, true models as well as false ones.")
        lines += self.notes
        if self.statistic == 0:
            lines.append(words.inside)
        lines += self._remarks(level)
        worst = self.misfits(3)
        if worst:
            lines.append(f"{words.furthest}{words.weighted.get(self.weights, '')}:")
            named = [(self._name_cell(menu, item, g), observed, fit) for menu, item, g, observed, fit, _ in worst]
            lines += [f"  {name}: observed {observed:.3f}, fitted {fit:.3f}" for name, observed, fit in named if name]
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

    def _facts(self) -> list[str]:
        """The data, in words."""
        sample = self.whole
        groups = "" if sample.n_groups == 1 else f" in {sample.n_groups} groups, explained by one distribution"
        return [
            f"  data         {len(sample.items)} items, {how_many(len(sample.sizes), 'menu')} of two or more, "
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
        return _DRAWN[self.resample][self.draws == "empirical"]

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


def nothing_or(value: float) -> float:
    """Squared distances that are rounding are shown as 0."""
    return value if value > 1e-12 else 0.0


def make_result(
    replicator: Replicator,
    observed: Distances,
    collected: Collected,
    resample: str,
    weights: str,
    notes: tuple[str, ...],
    seconds: float,
    whole: Sample | None = None,
) -> RumTest:
    """Put a result together from the replicates that were done; `whole`: all data, None if the replicator has them."""
    done = collected.done
    null = collected.statistic[:, done]
    statistic = float(observed.statistic[0])
    if statistic <= observed.rounding[0]:
        statistic = 0.0
    least = statistic
    if not replicator.sample.projector.exact:
        # What is certified of the data against upper bounds of the replicates.
        least = max(statistic - float(observed.gap[0]), 0.0)
    values = np.array([pvalue(least, row, float(observed.rounding[0])) for row in null])
    return RumTest(
        statistic=statistic,
        taus=replicator.taus,
        pvalues=values,
        null_distributions=null,
        n_boot=int(done.sum()),
        failed=int((~collected.certified[:, done]).any(axis=0).sum()),
        vanished=int((collected.vanished[done] > 0).sum()),
        interrupted=collected.interrupted,
        seed=replicator.seed,
        resample=resample,
        weights=weights,
        notes=notes,
        gap=float(observed.gap[0]),
        seconds=seconds,
        sample=replicator.sample,
        whole=replicator.sample if whole is None else whole,
        _fits=observed.fits,
    )
