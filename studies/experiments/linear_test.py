"""Rejections of the test of Fang, Santos, Shaikh and Torgovitsky (2023), `rum_test(statistic="fsst")`.

One replicate per data set, pooled, as in `studies.experiments.size`.
"""

from __future__ import annotations

import numpy as np

from rumflow.inference.convention import Convention
from rumflow.inference.linear import linear_program
from rumflow.inference.replicate import distances
from rumflow.inference.resample import CellSampler
from rumflow.inference.sample import build_sample
from studies.experiments.size import TOL, Case, draw_samples, rejection


def linear_rejection(case: Case, count: int) -> float:
    """The share of samples that the test rejects."""
    data, p, _ = draw_samples(case, count, 0)
    sample = build_sample(data, "counts", Convention())
    fits = distances(sample, p, 0.0, TOL).fits.fitted[:, sample.column]
    sampler, rng = CellSampler(sample, "menu", "null"), np.random.default_rng(case.seed)
    statistic, null = np.empty(count), np.empty(count)
    for k, fit in enumerate(fits):
        program, slack = linear_program(sample, fit, sampler.n_independent)
        statistic[k] = program(p[k])
        null[k] = program(sampler.draw([rng], fit)[0] - fit + slack * fit)
    return rejection(statistic, null)
