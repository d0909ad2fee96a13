"""Least favourable critical values: tests of random utility that no null point can make reject too often.

The distribution of the distance J depends on where in the model the truth lies. Instead of guessing that from the data, as
`rum_test` does, one takes the worst place:

binding   the distance to the cone C of all multiples of random utility models, where there is one worst place: the apex, on which
          every inequality binds (Perlman 1969; Wolak 1991; the "plug-in asymptotic" critical values of Andrews and
          Guggenberger 2009 for moment inequalities). Replicates are the distances of noise to C, noise being p* - fit with p*
          drawn from the fit: the tangent cone at any point of C contains C, so these are the largest. The polytope itself has no
          such point, and on it the same argument would leave the whole length of the noise.
worst     the distance to the polytope. No point of it is worst for all data, since a vertex has all facets but no noise: the
          critical value is the largest 95 % quantile over 30 null points with the data's own sample sizes: a ranking and its
          reverse, two, three, six and 500 rankings.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array
from rumflow.data.choices import ChoiceData
from rumflow.inference.convention import Convention
from rumflow.inference.replicate import distances
from rumflow.inference.resample import CellSampler
from rumflow.inference.sample import Sample, build_sample
from studies.experiments.size import LEVEL, TOL, Case, draw_samples, make_design, make_truth, rejection

KINDS = ("opposite", "2", "3", "6", "interior")
POINTS, DRAWS, BEST = 6, 400, 4  # null points of each kind, draws from each, and points that are drawn from again


def binding_rejection(case: Case, count: int) -> float:
    """The share of samples that are too far from the cone as if every inequality did bind."""
    data, p, _ = draw_samples(case, count, 0)
    simplex = build_sample(data, "counts", Convention())
    cone = build_sample(data, "counts", Convention(set="cone"))
    fit = distances(simplex, p, 0.0, TOL).fits.fitted[:, simplex.column]
    sampler, rng = CellSampler(simplex, "menu", "null"), np.random.default_rng(case.seed)
    noise = np.array([sampler.draw([rng], centre)[0] - centre for centre in fit])
    return rejection(distances(cone, p, 0.0, TOL).statistic, distances(cone, noise, 0.0, TOL).statistic)


def worst_rejection(case: Case, count: int) -> float:
    """The share of samples farther from the polytope than 95 % of those of any null point tried."""
    data, p, _ = draw_samples(case, count, 0)
    sample = build_sample(data, "counts", Convention())
    critical = critical_value(case, data, sample, np.random.default_rng(case.seed))
    return float((distances(sample, p, 0.0, TOL).statistic > critical).mean())


def critical_value(case: Case, data: ChoiceData, sample: Sample, rng: np.random.Generator) -> float:
    """The largest quantile over null points; the largest few are found again from ten times as many draws."""
    _, masks, _ = make_design(case)
    points = [make_truth(kind, case.n, rng)[masks][data.membership] for kind in KINDS for _ in range(POINTS)]
    first = [_quantile(sample, point, rng, DRAWS) for point in points]
    return max(_quantile(sample, points[k], rng, 10 * DRAWS) for k in np.argsort(first)[-BEST:])


def _quantile(sample: Sample, point: Array, rng: np.random.Generator, draws: int) -> float:
    """The critical value where this point is the truth."""
    drawn = CellSampler(sample, "menu", "null").draw([rng] * draws, point)
    return float(np.quantile(distances(sample, drawn, 0.0, TOL).statistic, 1 - LEVEL, method="higher"))
