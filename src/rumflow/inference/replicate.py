"""The statistic of the test, and its bootstrap replicates.

    J(p) = scale * min over rho in R of sum_s w_s (p_s - rho_s)^2

R is the polytope of RUMs, or their cone. Replicates measure the distance to the *tightened* set, whose points stay away from
every facet: with r a point inside, for random utility that of the uniform distribution over rankings,

    simplex   R_tau = tau r + (1 - tau) R       cone   R_tau = tau r + R

so that J_tau(p) = scale * (1 - tau)^2 * dist^2((p - tau r) / (1 - tau), R), or scale * dist^2(p - tau r, R). The centre eta is
the point of R_tau nearest to the data.

Tightening moves every facet by the same tau, while the noise of a facet is that of the menus in it, and the projection undoes
part of it: a cell that nobody chooses is lifted by tau r, at the expense of others in its menu, which takes these off facets
that they are on. Where menus are unequal (`inequality` u > 0), part of the work is left to another way of finding facets:
tau is smaller by the factor 1 - u/2, and eta loses the types that the sample cannot tell from none (`rumflow.inference.thin`).

A replicate is a sample drawn around eta, from eta itself or from the observed frequencies
moved to eta (Kitamura and Stoye 2018; see `rumflow.inference.resample`), and its statistic is J_tau.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.core.problem import Stop
from rumflow.inference.resample import Sampler, generators
from rumflow.inference.sample import Sample
from rumflow.inference.thin import thin_mixture
from rumflow.solvers.geometry import Fits


class Distances(NamedTuple):
    """Statistics of a stack of frequencies."""

    statistic: Array  # (b,)
    rounding: Array  # (b,) differences below this are rounding
    gap: Array  # (b,) certified: statistic - true minimum <= gap
    certified: NDArray[np.bool_]  # (b,) the optimum, or an upper bound where that was asked for
    fits: Fits


class Draws(NamedTuple):
    """Statistics of some replicates."""

    statistic: Array  # (taus, b), or (b,) at one tau
    certified: NDArray[np.bool_]
    vanished: NDArray[np.int64]  # (b,) how many menus vanished


def distances(
    sample: Sample,
    p: Array,
    tau: float,
    tol: float,
    start: Any = None,
    threads: int | None = 1,
    only_upper: bool = False,
    threshold: float | None = None,
) -> Distances:
    """J_tau of every row of p, (b, S) frequencies without NaN.

    Where there are only bounds, the statistic is an upper bound; `only_upper`: its gap is not asked for. `threshold`: it is
    enough to know which of them are larger; others may then be upper bounds, too, all of them below it. (Not where groups leave
    rows different remainders of the distance.)
    """
    cone = sample.convention.set == "cone"
    shrink = 1.0 if cone else 1.0 - tau
    means, spread, total = sample.pool(p, sample.weights)
    target = np.where(total > 0, (means - tau * sample.centre) / shrink, 0.0)
    # Weights of at most 1: equal ones are then no weights at all, which is faster.
    unit = float(total.max())
    factor = 2.0 * sample.scale * shrink**2 * unit
    mark = None
    if threshold is not None and np.ptp(spread) == 0:  # less than it by more than the rounding of what follows
        mark = (1 - 1e-12) * (threshold - sample.scale * float(np.max(spread))) / factor
    fits = sample.projector.solve(
        target, total / unit, tol=tol, start=start, threads=threads, only_upper=only_upper, threshold=mark
    )
    return Distances(
        factor * fits.objective + sample.scale * spread,
        factor * fits.floor,
        factor * fits.gap,
        fits.are_optimal(Stop(tol, None, mark)) | (only_upper and not sample.projector.exact),
        fits,
    )


def tightened_centre(sample: Sample, tau: float, tol: float, n_independent: Array | None = None) -> tuple[Array, Any]:
    """The point of R_tau that samples are drawn from, slot by slot, and the mixture of its projection, or what it starts from.

    The nearest to the data; where `n_independent` is the number of draws behind each unit, a simpler one near it (`thinned`).
    """
    found = distances(sample, sample.frequency[None], tau, tol, threads=None, only_upper=True).fits
    fitted, mixtures = thinned(sample, found, tau, n_independent)
    shrink = 1.0 if sample.convention.set == "cone" else 1.0 - tau
    centre = tau * sample.centre + shrink * fitted[0]
    return np.asarray(centre[sample.column], np.float64), mixtures[0]


def thinned(sample: Sample, fits: Fits, tau: float, n_independent: Array | None) -> tuple[Array, list[Any]]:
    """Fits without the types that samples so unequal cannot tell from none: (b, C) cells of R, and what to start from.

    They may move by `Convention.thin` times the inequality of the menus, in units of sampling noise within R_tau, which is
    smaller than R by 1 - tau. `Sample.unequal` says where. One mixture of a fit among many is thinned: another solver, on
    another route, may have found another, and then the centre is another within the same distance.
    """
    if not sample.projector.model.has_types:
        return fits.fitted, list(fits.starts)
    if n_independent is None or (unequal := sample.unequal(n_independent)) <= 0:
        return fits.fitted, fits.mixtures
    allowed = sample.convention.thin * unequal
    sizes: Array = (1.0 - tau) ** 2 * np.bincount(sample.column, n_independent[sample.unit], len(sample.centre)).astype(
        float
    )
    found = [thin_mixture(sample.projector, fits.mixture(i), sizes, allowed) for i in range(len(fits.mixtures))]
    # Data inside the model have no mixture, and one with a type for every edge in use would be a slow start.
    starts = [own if len(old[1]) else old for (_, own), old in zip(found, fits.mixtures, strict=True)]
    return np.array([fitted for fitted, _ in found]), starts


@dataclass(frozen=True, eq=False)
class Replicator:
    """Everything a replicate needs; goes to other processes whole."""

    sample: Sample
    sampler: Sampler
    taus: tuple[float, ...]
    centres: Array  # (taus, S)
    starts: tuple[Any, ...]  # mixtures, where the model has types
    tol: float
    seed: int
    key: tuple[int, ...] = ()
    threshold: float | None = field(default=None, kw_only=True)  # it is enough to know which statistics are larger

    def __call__(self, indices: Sequence[int] | range) -> Draws:
        """The replicates with these numbers."""
        found = [self._at(t, indices) for t in range(len(self.taus))]
        return Draws(np.array([d.statistic for d in found]), np.array([d.certified for d in found]), found[0].vanished)

    def _at(self, t: int, indices: Sequence[int] | range) -> Draws:
        """The replicates at one tau, drawn around its centre; equal numbers use equal random numbers at every tau."""
        drawn = self.draw(generators(self.seed, self.key, indices), t)
        missing = np.isnan(drawn)
        vanished = np.zeros(len(drawn), np.int64)
        statistic = np.empty(len(drawn))
        certified = np.empty(len(drawn), np.bool_)
        # Replicates that lost the same menus share their weights: one stack for each pattern, nearly always one in all.
        if missing.any():
            patterns, which = np.unique(missing, axis=0, return_inverse=True)
        else:
            patterns, which = missing[:1], np.zeros(len(drawn), np.int64)
        for pattern, lost in enumerate(patterns):
            rows = np.flatnonzero(which.reshape(-1) == pattern)
            sample = self.sample
            if lost.any():
                sample = replace(sample, weights=np.where(lost, 0.0, sample.weights))
                vanished[rows] = len(np.unique(sample.unit[lost]))
            if not (sample.weights > 0).any():
                statistic[rows], certified[rows] = 0.0, True
                continue
            p = np.where(lost, 0.0, drawn[rows])
            statistic[rows], certified[rows] = self.measure(sample, p, t)
        return Draws(statistic, certified, vanished)

    def draw(self, generators: Sequence[np.random.Generator], t: int) -> Array:
        """(b, S): frequencies drawn around the centre of a tau, NaN where a menu vanished."""
        return self.sampler.draw(generators, self.centres[t])

    def measure(self, sample: Sample, p: Array, t: int) -> tuple[Array, NDArray[np.bool_]]:
        """The statistics of drawn frequencies (b, S) at a tau, and whether they are certified."""
        found = distances(sample, p, self.taus[t], self.tol, self.starts[t], only_upper=True, threshold=self.threshold)
        return found.statistic, found.certified


def make_replicator(
    sample: Sample, sampler: Sampler, taus: Sequence[float], tol: float, seed: int, key: tuple[int, ...] = ()
) -> Replicator:
    """Centres and warm starts for every tau."""
    centres, starts = zip(*(tightened_centre(sample, tau, tol, sampler.n_independent) for tau in taus), strict=True)
    return Replicator(sample, sampler, tuple(taus), np.array(centres), tuple(starts), tol, seed, key)
