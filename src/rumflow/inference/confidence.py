"""Confidence intervals for a choice probability, by inverting the test.

The value theta is kept when "some RUM with rho(D, x) = theta generated the data" is not rejected. That hypothesis is the polytope
R_theta = {rho in R: rho(D, x) = theta}, and the test is that of `rumflow.inference.replicate` on R_theta in place of R: the cell
(D, x) joins the data with the frequency theta, no sampling error, and a weight so large that the projection lands in R_theta (the
statistic is then low by about one part in `_HEAVY`). The set is tightened towards a point inside R_theta,

    r_theta = theta r(. | x chosen from D) + (1 - theta) r(. | x not chosen from D),

with r the uniform rankings. The chance that x is the best of D and y the best of E is, with s = |D u E|,

    1/s  if y = x;     [x not in E] / (s |E|) + [y not in D] / (s |D|)  otherwise:

one of the two is the best of the union, and the other one the best of its menu among the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array, Ints
from rumflow.core.seeds import Seed, entropy
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.inference.jobs import run
from rumflow.inference.replicate import distances, make_replicator
from rumflow.inference.resample import Sampler, make_sampler
from rumflow.inference.result import pvalue
from rumflow.inference.sample import Convention, Sample, build_sample, cell_numbers
from rumflow.inference.test import Tau, find_taus

_HEAVY = 1e5
_STEPS = 10  # halvings of the interval: ends to 1/1000
_TOL = 1e-7


class _WithHypothesis:
    """Draws of the data, and the hypothetical value unchanged."""

    def __init__(self, sampler: Sampler, theta: float) -> None:
        self._sampler, self._theta = sampler, theta
        self.smallest = sampler.smallest

    def draw(self, generators: Sequence[np.random.Generator]) -> Array:
        """(b, S + 1) frequencies."""
        own = self._sampler.draw(generators)
        return np.column_stack([own, np.full(len(own), self._theta)])


def invert(
    data: ChoiceData,
    menus: Ints,
    items: Ints,
    lower: Array,
    upper: Array,
    confidence: float,
    weights: str | ArrayLike | None,
    n_boot: int,
    tau: Tau,
    seed: Seed,
    cluster: Any,
    threads: int | None,
) -> tuple[Array, Array]:
    """Ends of the confidence intervals of the cells (menus, items), given their sharp bounds; NaN where nothing is kept."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence={confidence!r}: a number between 0 and 1 is needed, such as 0.95")
    if (1 - confidence) * (1 + n_boot) < 1:
        raise InputError(
            f"n_boot={n_boot}: with confidence {confidence:g} at least {int(np.ceil(1 / (1 - confidence)))} replicates are needed"
        )
    sample = build_sample(data, weights, Convention())
    sampler = make_sampler(sample, [data], "menu", cluster)
    taus = find_taus(tau, sampler.smallest, sample.convention)[:1]
    number = entropy(seed)
    low, high = np.empty(len(menus)), np.empty(len(menus))
    for i, (menu, item) in enumerate(zip(menus.tolist(), items.tolist(), strict=True)):
        if menu.bit_count() == 1:
            low[i] = high[i] = 1.0
            continue

        def accepted(theta: float, menu: int = menu, item: int = item) -> bool:
            return pvalue_at(sample, sampler, menu, item, theta, taus[0], n_boot, number, threads) > 1 - confidence

        inner = [t for t in (float(lower[i]), 0.5 * float(lower[i] + upper[i]), float(upper[i])) if accepted(t)]
        if not inner:  # no RUM fits at this level, whatever its value here
            low[i] = high[i] = np.nan
            continue
        low[i] = _end(accepted, inner[0], 0.0)
        high[i] = _end(accepted, inner[-1], 1.0)
    return low, high


def _end(accepted: Any, inner: float, outer: float) -> float:
    """Where acceptance ends between an accepted value and the end of [0, 1]."""
    if accepted(outer):
        return outer
    for _ in range(_STEPS):
        middle = 0.5 * (inner + outer)
        if accepted(middle):
            inner = middle
        else:
            outer = middle
    return outer


def pvalue_at(
    sample: Sample,
    sampler: Sampler,
    menu: int,
    item: int,
    theta: float,
    tau: float,
    n_boot: int,
    seed: int,
    threads: int | None = None,
) -> float:
    """The p-value of "some RUM with this probability of `item` from `menu` generated the data"."""
    joined = add_hypothesis(sample, menu, item, theta)
    observed = distances(joined, joined.frequency[None], 0.0, _TOL)
    replicator = make_replicator(joined, _WithHypothesis(sampler, theta), (tau,), _TOL, seed)
    null = run([replicator], n_boot, threads=threads)[0].statistic[0]
    return pvalue(float(observed.statistic[0]), null, float(observed.rounding[0]))


def add_hypothesis(sample: Sample, menu: int, item: int, theta: float) -> Sample:
    """The sample with one more slot, as a group of its own: the cell (menu, item) at the value theta."""
    n = sample.lattice.n
    number = int(cell_numbers(n, np.array([menu]), np.array([item]))[0])
    cells = np.union1d(sample.cells, [number])
    place = np.searchsorted(cells, sample.cells)
    mask, owner = sample.lattice.cells[cells].T
    joint = uniform_joint(menu, item, mask, owner)
    share = 1.0 / menu.bit_count()
    centre = theta * joint / share + (1.0 - theta) * (1.0 / np.bitwise_count(mask) - joint) / (1.0 - share)
    units = len(sample.sizes)
    return replace(
        sample,
        names=(*sample.names, "hypothesis"),
        unit_group=np.append(sample.unit_group, sample.n_groups),
        unit_mask=np.append(sample.unit_mask, menu),
        sizes=np.append(sample.sizes, 0.0),
        unit=np.append(sample.unit, units),
        item=np.append(sample.item, item),
        frequency=np.append(sample.frequency, theta),
        weights=np.append(sample.weights, _HEAVY * sample.weights.sum()),
        column=np.append(place[sample.column], np.searchsorted(cells, number)),
        cells=cells,
        centre=centre,
    )


def uniform_joint(menu: int, item: int, menus: Ints, items: Ints) -> Array:
    """Chance under uniform rankings that `item` is the best of `menu` and, for each cell (E, y), y the best of E."""
    union = np.bitwise_count(menus | menu).astype(float)
    first = np.where(menus >> item & 1, 0.0, 1.0 / (union * np.bitwise_count(menus)))
    second = np.where(menu >> items & 1, 0.0, 1.0 / (union * menu.bit_count()))
    return np.asarray(np.where(items == item, 1.0 / union, first + second), np.float64)
