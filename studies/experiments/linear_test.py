"""A uniformly valid test by linear programmes.

The test of Fang, Santos, Shaikh and Torgovitsky (2023) for "beta = A x for some x >= 0", with the columns of A the rankings. By
Farkas' lemma that holds when no s with A^T s <= 0 has s^T beta > 0, and the statistic is the largest violation,

    T = max sqrt(m) s^T beta     over  A^T s <= 0,  sum of sd |s| <= 1,

a linear programme (sd: the standard deviations of the frequencies, at least 0.1 / sqrt(m)). Replicates put
sqrt(m) s^T (beta* - fit) + lambda sqrt(m) s^T fit in its place, with beta* drawn from the projection and
lambda = 1 / sqrt(log(cells) log log m): inequalities that are slack at the fit count less, but count. One replicate per data
set, pooled, as in `studies.experiments.size`.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from scipy.optimize import linprog

from rumflow.core.arrays import Array
from rumflow.inference.convention import Convention
from rumflow.inference.replicate import distances
from rumflow.inference.resample import CellSampler
from rumflow.inference.sample import build_sample
from studies.experiments.size import TOL, Case, draw_samples, make_design, rejection


def linear_rejection(case: Case, count: int) -> float:
    """The share of samples that the linear programme's test rejects."""
    data, p, _ = draw_samples(case, count, 0)
    sample = build_sample(data, "counts", Convention())
    _, masks, _ = make_design(case)
    cells = [(int(mask), x) for mask in masks for x in range(case.n) if mask >> x & 1]
    a = np.array(
        [[float(next(y for y in o if m >> y & 1) == x) for o in permutations(range(case.n))] for m, x in cells]
    )
    fit = distances(sample, p, 0.0, TOL).fits.fitted
    sampler, rng = CellSampler(sample, "menu", "null"), np.random.default_rng(case.seed)
    m = float(data.totals.mean())
    slack = 1.0 / np.sqrt(np.log(max(len(cells), 3)) * np.log(max(np.log(m), 3.0)))
    statistic, null = np.empty(count), np.empty(count)
    for k in range(count):
        sd = np.maximum(np.sqrt(np.maximum(fit[k] * (1 - fit[k]), 0.0)), 0.1)  # a fit may be -1e-17
        statistic[k] = _largest(a, sd, np.sqrt(m) * p[k])
        drawn = sampler.draw([rng], fit[k])[0]
        null[k] = _largest(a, sd, np.sqrt(m) * (drawn - fit[k] + slack * fit[k]))
    return rejection(statistic, null)


def _largest(a: Array, sd: Array, beta: Array) -> float:
    """max s^T beta, s = u - v with u, v >= 0."""
    cost = np.concatenate([-beta, beta])
    limits = np.vstack([np.hstack([a.T, -a.T]), np.concatenate([sd, sd])])
    found = linprog(cost, A_ub=limits, b_ub=np.append(np.zeros(a.shape[1]), 1.0), method="highs")
    return -float(found.fun or 0.0)
