"""Confidence intervals by the difference of two distances, the default of `rumflow.bounds`.

Let J be the squared distance of the data to the model R, and J(theta) that to R_theta = {rho in R: <c, rho> = theta}. Their
difference

    D(theta) = J(theta) - J >= 0

is convex, 0 between the sharp bounds, and grows outside of them. What speaks against the model as a whole is in both distances
and cancels: D looks only at what speaks against theta, where J(theta) (`rumflow.inference.confidence`) has its power spread over
all cells. Samples are drawn from the point of R_theta nearest to the data, and their D(theta) is measured by the same two
projections. A value theta is kept unless at most `SHARE` (1 - confidence) of the samples have a difference as large.

*Why half of the level.* The point nearest to the data is on fewer facets than a population of few types, so that its samples have
too small a difference at times, and at the whole level intervals held the truth too seldom. No theorem covers the difference
where the truth is on facets (that of Bugni, Canay and Shi 2017 is about statistics like J(theta), kept by the name "distance").
Tightening is no remedy: of both sets alike it made some cases worse, because samples then have noise in cells that nobody
chooses; of R_theta more than of R it was safe, but gave up most of the gain in width. What the rule gives is measured by
`python -m studies.experiments.coverage` and `intervals`.

No interval is empty, because D is 0 at the fit. Where the model itself is rejected, the interval is that of the member of the
model nearest to the truth, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property

import numpy as np
from scipy.optimize import brentq

from rumflow.core.arrays import Array
from rumflow.inference.confidence import TOL, BoundsOptions, Interval, Inversion, begin_from, rounding
from rumflow.inference.replicate import distances
from rumflow.inference.restricted import Measured, Restricted, start_of

SHARE = 0.5  # of the level that is used
_ALLOWED = 1e-3  # of the range: how far an end may be off
_FINE = 0.15  # of the distance from the sharp bound, between two values that enclose an end
_MOST_STEPS = 24  # values tested for an end; five do, as a rule
_STEEP = 0.75  # a critical value that changes by more than this, as a share of what the statistic does, jumps
_TIED = 1e-6  # roots that differ by less, relatively, are equal
_PATIENT = 6  # of these before what is left is halved


class Profile(Inversion):
    """A test of the data at any value of a functional, by the difference of the distances with and without that value."""

    share = SHARE
    most_values = 2 * (1 + _MOST_STEPS)

    def _find_tau(self, options: BoundsOptions) -> float:
        """That of the test of the model; the difference needs none."""
        return self.sample.taus("auto", self.sampler.n_independent)[0]

    def difference(self, restricted: Restricted, theta: float) -> float:
        """D(theta) of the data."""
        return float(_difference(self._data_at(restricted, theta).statistic, self.observed.statistic)[0])

    def null_at(self, restricted: Restricted, theta: float) -> Array:
        """(n_boot,): D(theta) of samples drawn from the point nearest to the data among those with this value, ascending."""
        here = self._data_at(restricted, theta)
        drawn = self.draw(range(self._n_boot), here.nearest[0])
        given = restricted.measure(drawn, theta, 0.0, self._threads, here.start)
        free = distances(self.sample, drawn, 0.0, TOL, start_of(self.observed.fits), threads=self._threads)
        if self.advance is not None:
            self.advance(1)
        return np.sort(_difference(given.statistic, free.statistic))

    def _data_at(self, restricted: Restricted, theta: float) -> Measured:
        return restricted.measure(self.sample.frequency[None], theta, 0.0, self._threads)

    def pvalue_at(self, restricted: Restricted, theta: float, whole: bool = True) -> float:
        """The share of samples whose difference is as large, over `SHARE`; `whole` makes no difference here."""
        null = self.null_at(restricted, theta)
        found = float((null >= self.difference(restricted, theta) - rounding(null)).sum())
        return min((1 + found) / (1 + self._n_boot) / self.share, 1.0)

    def critical_value(self, restricted: Restricted, theta: float) -> float:
        """The largest difference at theta that keeps it, up to rounding: p-values above the level are those of smaller ones."""
        null = self.null_at(restricted, theta)
        fewest = int(np.floor(self.level * self.share * (1 + self._n_boot)))  # so many as large keep a value
        return float(null[len(null) - fewest]) + rounding(null)

    def interval(self, restricted: Restricted, lower: float, upper: float) -> Interval:
        """The values kept, from the sharp bounds at the nearest fit outwards."""

        @cache
        def statistic(theta: float) -> float:
            return self.difference(restricted, theta)

        @cache
        def critical(theta: float) -> float:
            return self.critical_value(restricted, theta)

        least, most = restricted.least, restricted.most
        allowed = _ALLOWED * (most - least)
        low, high = (
            find_end(statistic, critical, inner, outer, allowed)
            for inner, outer in zip(begin_from(restricted, lower, upper), (least, most), strict=True)
        )
        return Interval(low, high, self._note)

    @cached_property
    def _note(self) -> str:
        """What to say of the model itself."""
        value = self.model_pvalue() if self.observed.statistic[0] > 0 else 1.0
        if value > self.level:
            return ""
        return f"the model itself is rejected (p = {value:.3g}); this is the interval of its best fit"


def _difference(given: Array, free: Array) -> Array:
    """Squared distances with the value given, less those without, both up to rounding."""
    return np.maximum(given - free, 0.0)


def find_end(
    statistic: Callable[[float], float],
    critical: Callable[[float], float],
    inner: float,
    outer: float,
    allowed: float,
) -> float:
    """Where a statistic, 0 at `inner`, passes its critical value on the way to `outer`; `outer` where it does not.

    The statistic is cheap and grows; the critical value is expensive and changes slowly. So the next value to be tested is
    where the root of the statistic meets a line through the roots of two critical values, a little beyond it as seen from
    the last one; later on every third value is in the middle of what is left. This ends when a value kept and one rejected are
    closer than `allowed`, or than `_FINE` of their distance from `inner`. The line between these two gives the end.

    With few choices a critical value is one of the few that samples can have, and jumps. If between the two it changes by
    more than `_STEEP` of what the statistic does, or if the value kept has just the statistic of samples, then no line is
    drawn: what is left is halved until it is `allowed`.
    """
    length, sign = abs(outer - inner), 1.0 if outer >= inner else -1.0
    if length <= allowed:
        return float(outer)

    def at(step: float) -> float:
        return float(outer) if step >= length else inner + sign * step

    def meeting(one: tuple[float, float], other: tuple[float, float], far: float) -> float:
        """The step at which the statistic meets the line through two points (step, root), between that kept and `far`."""
        slope = 0.0 if one[0] == other[0] else (other[1] - one[1]) / (other[0] - one[0])

        def excess(step: float) -> float:
            line = max(one[1] + slope * (step - one[0]), 0.0)
            return float(statistic(at(step)) ** 0.5 - min(line, 2 * max(one[1], other[1])))

        if excess(far) <= 0:
            return far
        return kept[0] if excess(kept[0]) >= 0 else float(brentq(excess, kept[0], far, xtol=0.01 * allowed))

    def jumps() -> bool:
        below, above = (statistic(at(step)) ** 0.5 for step in (kept[0], rejected[0]))
        return bool(0 < kept[1] <= (1 + _TIED) * below or abs(rejected[1] - kept[1]) > _STEEP * (above - below))

    kept = before = last = (0.0, critical(at(0.0)) ** 0.5)
    rejected = (np.inf, 0.0)
    for k in range(1, _MOST_STEPS + 1):
        none = rejected[0] > length
        halve = not none and jumps()
        fine = allowed if halve else max(allowed, _FINE * kept[0])
        if kept[0] >= length or rejected[0] - kept[0] <= fine:
            break
        far, near = min(rejected[0], length), 0.4 * fine
        if halve or (k > _PATIENT and k % 3 == 0):
            step = 0.5 * (kept[0] + far)
        else:
            step = meeting(kept, before if none else rejected, far)
            step += near if last is kept else -near
        step = min(max(step, kept[0] + near), length if none else rejected[0] - near)
        value = critical(at(step))
        last = (step, value**0.5)
        if statistic(at(step)) <= value:
            before, kept = kept, last
        else:
            rejected = last
    return at(length if rejected[0] > length else meeting(kept, rejected, rejected[0]))


KINDS: dict[str, type[Inversion]] = {"profile": Profile, "distance": Inversion}  # by `INTERVALS`
