"""The statistic of the test, and its bootstrap replicates.

    J(p) = scale * min over rho in R of sum_s w_s (p_s - rho_s)^2

R is the polytope of RUMs, or their cone. Replicates measure the distance to the *tightened* set, whose points stay away from
every facet: with r a point inside, for random utility that of the uniform distribution over rankings,

    simplex   R_tau = tau r + (1 - tau) R       cone   R_tau = tau r + R

so that J_tau(p) = scale * (1 - tau)^2 * dist^2((p - tau r) / (1 - tau), R), or scale * dist^2(p - tau r, R). The centre eta is
the point of R_tau nearest to the data, and a replicate with frequencies p* has the statistic J_tau(p* - p + eta)
(Kitamura and Stoye 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Mixture
from rumflow.inference.resample import Sampler, generators
from rumflow.inference.sample import Sample
from rumflow.projection.cells import CellFits
from rumflow.projection.results import Status


class Distances(NamedTuple):
    """Statistics of a stack of frequencies."""

    statistic: Array  # (b,)
    rounding: Array  # (b,) differences below this are rounding
    certified: NDArray[np.bool_]  # (b,) the optimum, or an upper bound where that was asked for
    fits: CellFits


class Draws(NamedTuple):
    """Statistics of some replicates."""

    statistic: Array  # (taus, b)
    certified: NDArray[np.bool_]  # (taus, b)
    vanished: NDArray[np.int64]  # (b,) how many menus vanished


def distances(
    sample: Sample,
    p: Array,
    tau: float,
    tol: float,
    start: Mixture | None = None,
    threads: int | None = 1,
    only_upper: bool = False,
) -> Distances:
    """J_tau of every row of p, (b, S) frequencies without NaN.

    Where there are only bounds, the statistic is an upper bound; `only_upper`: its gap is not asked for.
    """
    cone = sample.convention.set == "cone"
    shrink = 1.0 if cone else 1.0 - tau
    means, spread, total = sample.pool(p, sample.weights)
    target = np.where(total > 0, (means - tau * sample.centre) / shrink, 0.0)
    fits = sample.projector.solve(target, total, tol=tol, start=start, threads=threads, only_upper=only_upper)
    floor = np.array([c.floor for c in fits.certificates])
    return Distances(
        sample.scale * (shrink**2 * 2.0 * fits.objective + spread),
        sample.scale * shrink**2 * 2.0 * floor,
        np.array([s is Status.OPTIMAL for s in fits.status]) | (only_upper and sample.projector.bounded),
        fits,
    )


def tightened_centre(sample: Sample, tau: float, tol: float) -> tuple[Array, Mixture]:
    """The point of R_tau nearest to the data, slot by slot, and the mixture of its projection."""
    found = distances(sample, sample.frequency[None], tau, tol, threads=None, only_upper=True).fits
    shrink = 1.0 if sample.convention.set == "cone" else 1.0 - tau
    centre = tau * sample.centre + shrink * found.fitted[0]
    return np.asarray(centre[sample.column], np.float64), found.mixtures[0]


@dataclass(frozen=True, eq=False)
class Replicator:
    """Everything a replicate needs; goes to other processes whole."""

    sample: Sample
    sampler: Sampler
    taus: tuple[float, ...]
    centres: Array  # (taus, S)
    starts: tuple[Mixture, ...]
    tol: float
    seed: int
    key: tuple[int, ...] = ()

    def __call__(self, indices: Sequence[int] | range) -> Draws:
        """The replicates with these numbers."""
        frequency = self.sampler.draw(generators(self.seed, self.key, indices))
        missing = np.isnan(frequency)
        vanished = np.zeros(len(frequency), np.int64)
        statistic = np.empty((len(self.taus), len(frequency)))
        certified = np.empty(statistic.shape, np.bool_)
        # Replicates that lost the same menus share their weights: one stack for each pattern, nearly always one in all.
        if missing.any():
            patterns, which = np.unique(missing, axis=0, return_inverse=True)
        else:
            patterns, which = missing[:1], np.zeros(len(frequency), np.int64)
        for pattern, lost in enumerate(patterns):
            rows = np.flatnonzero(which.reshape(-1) == pattern)
            sample = self.sample
            if lost.any():
                sample = replace(sample, weights=np.where(lost, 0.0, sample.weights))
                vanished[rows] = len(np.unique(sample.unit[lost]))
            for t, tau in enumerate(self.taus):
                p = np.where(lost, 0.0, frequency[rows] - sample.frequency + self.centres[t])
                if not (sample.weights > 0).any():
                    statistic[t, rows], certified[t, rows] = 0.0, True
                    continue
                found = distances(sample, p, tau, self.tol, self.starts[t], only_upper=True)
                statistic[t, rows], certified[t, rows] = found.statistic, found.certified
        return Draws(statistic, certified, vanished)


def make_replicator(
    sample: Sample, sampler: Sampler, taus: Sequence[float], tol: float, seed: int, key: tuple[int, ...] = ()
) -> Replicator:
    """Centres and warm starts for every tau."""
    centres, starts = zip(*(tightened_centre(sample, tau, tol) for tau in taus), strict=True)
    return Replicator(sample, sampler, tuple(taus), np.array(centres), tuple(starts), tol, seed, key)
