"""Confidence intervals for any linear functional of the choice probabilities, by inverting the test: `interval="distance"`.

The default is another statistic, in `rumflow.inference.profile`; what is common to both is here.

The value theta is kept when "some member of the model with <c, rho> = theta generated the data" is not rejected. That hypothesis
is the polytope R_theta = {rho in R: <c, rho> = theta}, and the test is that of `rumflow.inference.test` on R_theta in place of R:
the set is tightened towards a point r_theta inside R_theta, samples are drawn from the point of the tightened set nearest to the
data, and measured to that set. See `rumflow.inference.restricted` for the projection onto R_theta. By default tau is twice
that of the test: a slice of R has more facets near a point than R has, and with the tau of the test intervals covered
too seldom in some designs (`python -m studies.experiments.coverage` measures those of the default).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_level, check_option, check_replicates, check_seed, check_threads
from rumflow.core.arrays import Array, Mask
from rumflow.core.memory import require_memory
from rumflow.core.seeds import Seed, entropy
from rumflow.data.choices import ChoiceData
from rumflow.data.design import counts_choices
from rumflow.errors import InputError
from rumflow.inference.convention import Convention, Tau, check_taus, find_taus
from rumflow.inference.pvalue import pvalue
from rumflow.inference.relevant import relevant_part
from rumflow.inference.replicate import Distances, distances, make_replicator
from rumflow.inference.resample import Sampler, generators, make_sampler, require_replicates_for, resolve_cluster
from rumflow.inference.restricted import Restricted
from rumflow.inference.sample import Sample, build_sample, places
from rumflow.models.model import Model

INTERVALS = ("profile", "distance")  # the statistics that intervals are made from
MORE_ROOM = 2.0  # tau of an interval to that of the test
HALVINGS = 8  # of a quarter of the range: ends to 1/1000 of it
TOL = 1e-7
PLAIN = Convention(thin=0.0)  # fits are not thinned
_FIRST_PIECE = 20  # replicates before the first look whether the rest can change the decision
_DIGITS = 10  # of the probabilities that samples are drawn from
_BEGIN_DIGITS = 7  # of values from which a search begins, as parts of the range


class Interval(NamedTuple):
    """The values that are kept, and what to say where there are none."""

    low: float
    high: float
    note: str = ""


@dataclass(frozen=True)
class BoundsOptions:
    """What `rumflow.bounds` and its kind are asked beside the quantity: how to fit, and the test behind the intervals."""

    weights: str | ArrayLike | None = "auto"  # "auto": those of the test
    confidence: float | str | None = "auto"
    n_boot: int = 199
    tau: Tau = "auto"
    seed: Seed = None
    cluster: Any = "auto"
    threads: int | None = None
    model: Model | None = None
    route: str | None = None
    progress: bool = False
    interval: str = "profile"  # or "distance"

    def __post_init__(self) -> None:
        if self.confidence is not None and not (isinstance(self.confidence, str) and self.confidence == "auto"):
            check_level(self.confidence, "confidence", also=", or 'auto' or None")
        check_replicates(self.n_boot)
        check_taus(self.tau, PLAIN)
        check_seed(self.seed)
        check_threads(self.threads)
        check_option(self.interval, "interval", INTERVALS)
        if self.interval == "profile" and not (isinstance(self.tau, str) and self.tau == "auto"):
            raise InputError(
                f"tau={self.tau!r}: intervals by profile are not tightened; omit tau, or take interval='distance'"
            )

    def weights_for(self, data: object) -> str | ArrayLike | None:
        """The weights, with "auto" replaced."""
        if isinstance(self.weights, str) and self.weights == "auto":
            return "counts" if isinstance(data, ChoiceData) else None
        return self.weights

    def level_for(self, data: object) -> float | None:
        """The confidence of intervals, None where there are to be none; checked against the replicates."""
        level = self.confidence
        if level == "auto":
            level = 0.95 if has_counts(data) else None
        if level is None:
            return None
        if not isinstance(data, ChoiceData):
            raise InputError(f"confidence={level!r}: intervals need ChoiceData with counts")
        require_replicates_for(float(level), self.n_boot)
        return float(level)


class Inversion:
    """A test of the data at any value of a functional.

    asked   (q, n): the menus of the functionals; what has no influence on them, nor on the distance, leaves. None: all stays.
    """

    share: float = 1.0  # of the level that is used
    most_values = 3 + 2 * (4 + HALVINGS)  # of an interval: three inside, and for each end four steps and the halvings

    def __init__(
        self,
        data: ChoiceData,
        confidence: float,
        options: BoundsOptions,
        advance: Callable[[int], None] | None = None,
        asked: Mask | None = None,
    ) -> None:
        self.advance = advance  # is told of every value that was tested
        n_boot = options.n_boot
        self.level: float = 1 - confidence + 1e-12  # 1 - 0.9 is less than 0.1
        whole = build_sample(
            data, options.weights_for(data), PLAIN, None, options.model, options.route, remainders=False
        )
        self.sample: Sample = whole if asked is None else relevant_part(whole, asked)
        self._columns = places(self.sample.items, whole.items)
        cluster = resolve_cluster(options.cluster, [data], self.sample)
        self.sampler: Sampler = make_sampler(self.sample, [data], "menu", cluster)
        self.tau: float = self._find_tau(options)
        # Drawn, shifted, projected and fitted at once.
        require_memory(
            48.0 * n_boot * len(self.sample.unit), f"intervals with {n_boot:,} replicates", "take fewer replicates"
        )
        self.seed: int = entropy(options.seed)
        self._n_boot, self._threads = n_boot, options.threads

    def _find_tau(self, options: BoundsOptions) -> float:
        return interval_tau(options.tau, self.sample, self.sampler.n_independent)

    @cached_property
    def observed(self) -> Distances:
        """The distance of the data to the model."""
        return distances(self.sample, self.sample.frequency[None], 0.0, TOL, threads=self._threads)

    def restricted(self, menus: Mask, coefficients: Array) -> Restricted:
        """The model with the value of a functional given: menus asked for and coefficients, (q, n) over the items of the data."""
        return Restricted(self.sample, menus[:, self._columns], coefficients[:, self._columns])

    def pvalue_at(self, restricted: Restricted, theta: float, whole: bool = True) -> float:
        """The p-value of "some member of the model with this value of the functional generated the data".

        whole   False: only as many replicates as decide on which side of the level it is; the rest count as smaller.
        """
        p, tau = self.sample.frequency, self.tau
        statistic = float(restricted.measure(p[None], theta, 0.0, self._threads).statistic[0])
        centre = restricted.measure(p[None], theta, tau, self._threads).nearest[0]
        found, rejected = 0.0, self.level * (1 + self._n_boot) - 1  # so many as large, and no more, reject
        begin, size = 0, self._n_boot if whole else _FIRST_PIECE
        while begin < self._n_boot and (whole or found <= rejected < found + self._n_boot - begin):
            piece = range(begin, min(begin + size, self._n_boot))
            drawn = self.draw(piece, centre)
            null = restricted.measure(drawn, theta, tau, self._threads).statistic
            found += float((null >= statistic - rounding(null)).sum())
            begin, size = piece.stop, 2 * size
        if self.advance is not None:
            self.advance(1)
        return (1 + found) / (1 + self._n_boot)

    def draw(self, piece: range, centre: Array) -> Array:
        """(b, S): the samples with these numbers from a point, slot by slot.

        A generator draws a share below one half and one above it in different ways, and the last bit of theta must not decide on
        which side of one half the share of a menu chosen from evenly is: probabilities are rounded, and add up to what they did.
        """
        unit, rounded = self.sample.unit, np.round(centre, _DIGITS)
        total = np.round(np.bincount(unit, centre), _DIGITS) / np.maximum(np.bincount(unit, rounded), 0.1**_DIGITS)
        return self.sampler.draw(generators(self.seed, (), piece), rounded * total[unit])

    def model_pvalue(self) -> float:
        """The p-value of the model itself, at the tau of the intervals."""
        replicator = make_replicator(self.sample, self.sampler, (self.tau,), TOL, self.seed)
        null = replicator(range(self._n_boot)).statistic[0]
        return pvalue(float(self.observed.statistic[0]), null, float(self.observed.rounding[0]))

    def interval(self, restricted: Restricted, lower: float, upper: float) -> Interval:
        """The values kept, searched from the sharp bounds of the functional at the nearest fit."""

        @cache
        def accepted(theta: float) -> bool:
            return self.pvalue_at(restricted, theta, whole=False) > self.level

        least, most = restricted.least, restricted.most
        lower, upper = begin_from(restricted, lower, upper)
        tried = [lower, 0.5 * (lower + upper), upper]
        inner = [t for t in tried if accepted(t)]
        if not inner:  # values that fit less well may be kept all the same: their replicates vary more
            steps = (most - least) / 64 * np.array([1.0, 2.0, 4.0, 8.0])
            tried += [max(lower - s, least) for s in steps] + [min(upper + s, most) for s in steps]
            inner = [t for t in tried if accepted(t)]
        if not inner:
            whole = self.model_pvalue()
            if whole <= self.level:
                note = f"no value, because the model itself is rejected (p = {whole:.3g})"
            else:
                value = {theta: self.pvalue_at(restricted, theta) for theta in tried}
                best = max(tried, key=value.__getitem__)
                note = (
                    f"every value is rejected at this level although the model is not (p = {whole:.3g}); "
                    f"the least rejected is {best:.3g} (p = {value[best]:.3g})"
                )
            return Interval(np.nan, np.nan, note)
        return Interval(_end(accepted, min(inner), least), _end(accepted, max(inner), most))


def _end(accepted: Callable[[float], bool], inner: float, outer: float) -> float:
    """Where acceptance ends between an accepted value and an end of the range: the outermost of four steps, then halvings."""
    steps = np.linspace(outer, inner, 5).tolist()
    for k, theta in enumerate(steps):
        if k == 4 or accepted(theta):
            if k == 0:
                return float(outer)
            inner, outer = theta, steps[k - 1]
            break
    for _ in range(HALVINGS):
        middle = 0.5 * (inner + outer)
        if accepted(middle):
            inner = middle
        else:
            outer = middle
    return float(outer)


def begin_from(restricted: Restricted, lower: float, upper: float) -> tuple[float, float]:
    """Where searches begin: sharp bounds, within the range, and rounded.

    The last digits of sharp bounds depend on the order of items, and on menus that cannot matter; values tested must not.
    """
    least, most = restricted.least, restricted.most
    if most <= least:
        return least, most
    digits = _BEGIN_DIGITS - int(np.floor(np.log10(most - least)))
    low, high = (min(max(round(float(end), digits), least), most) for end in (lower, upper))
    return low, high


def rounding(null: Array) -> float:
    """Statistics that differ by less are equal."""
    return TOL * max(float(null.max()), 1e-300)


def interval_tau(tau: Tau, sample: Sample, n_independent: Array) -> float:
    """The tau of intervals: what was asked for, or more than that of the test of equal menus. Their fits are not thinned."""
    found = find_taus(tau, n_independent, sample.menu_sizes, sample.convention)[0]
    return min(MORE_ROOM * found, 0.9) if isinstance(tau, str) and tau == "auto" else found


def has_counts(data: object) -> bool:
    """Are these choices with sample sizes?"""
    return isinstance(data, ChoiceData) and counts_choices(data)
