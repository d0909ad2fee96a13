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

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.seeds import Seed, entropy
from rumflow.data.choices import ChoiceData
from rumflow.data.menus import find_menus
from rumflow.errors import InputError
from rumflow.inference.convention import Convention, Tau, find_taus
from rumflow.inference.jobs import run
from rumflow.inference.replicate import distances, make_replicator
from rumflow.inference.resample import Sampler, make_sampler
from rumflow.inference.result import pvalue
from rumflow.inference.sample import Sample, build_sample

_HEAVY = 1e5
_STEPS = 10  # halvings of the interval: ends to 1/1000
_TOL = 1e-7


class _WithHypothesis:
    """Draws of the data, and the hypothetical value unchanged."""

    def __init__(self, sampler: Sampler, theta: float) -> None:
        self._sampler, self._theta = sampler, theta
        self.behind, self.draws = sampler.behind, sampler.draws

    def draw(self, generators: Sequence[np.random.Generator], centre: Array) -> Array:
        """(b, S + 1) frequencies."""
        own = self._sampler.draw(generators, centre[:-1])
        return np.column_stack([own, np.full(len(own), self._theta)])


def invert(
    data: ChoiceData,
    menu: Mask,
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
    route: str | None = None,
) -> tuple[Array, Array]:
    """Ends of the confidence intervals of items of a menu (n,), given their sharp bounds; NaN where nothing is kept."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence={confidence!r}: a number between 0 and 1 is needed, such as 0.95")
    if (1 - confidence) * (1 + n_boot) < 1:
        raise InputError(
            f"n_boot={n_boot}: with confidence {confidence:g} at least {int(np.ceil(1 / (1 - confidence)))} replicates are needed"
        )
    sample = build_sample(data, weights, Convention(), route=route)
    sampler = make_sampler(sample, [data], "menu", cluster)
    taus = find_taus(tau, sampler.behind, sample.convention)[:1]
    number = entropy(seed)
    low, high = np.ones(len(items)), np.ones(len(items))
    for i, item in enumerate(items.tolist()):
        if menu.sum() == 1:
            continue
        hypothesis = Hypothesis(sample, menu, item)

        def accepted(theta: float, hypothesis: Hypothesis = hypothesis) -> bool:
            return pvalue_at(hypothesis, sampler, theta, taus[0], n_boot, number, threads) > 1 - confidence

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
    hypothesis: Hypothesis,
    sampler: Sampler,
    theta: float,
    tau: float,
    n_boot: int,
    seed: int,
    threads: int | None = None,
) -> float:
    """The p-value of "some RUM with this probability of the item from the menu generated the data"."""
    joined = hypothesis.at(theta)
    observed = distances(joined, joined.frequency[None], 0.0, _TOL)
    replicator = make_replicator(joined, _WithHypothesis(sampler, theta), (tau,), _TOL, seed)
    null = run([replicator], n_boot, threads=threads)[0].statistic[0]
    return pvalue(float(observed.statistic[0]), null, float(observed.rounding[0]))


class Hypothesis:
    """A sample with one more slot, as a group of its own: the cell (menu, item), given as a row of truth values and a number."""

    def __init__(self, sample: Sample, menu: Mask, item: int) -> None:
        old, new = sample.projector, sample.projector.with_cell(menu, item)
        number = np.full(new.cells.membership.shape, -1)
        number[new.menu, new.item] = np.arange(len(new.menu))
        rows = find_menus(new.cells.membership, np.vstack([old.cells.membership, menu]))
        cell = number[rows[-1], item]
        sizes = new.cells.membership.sum(axis=1)[new.menu]
        self._joint = uniform_joint(menu, item, new.cells.membership[new.menu], new.item)
        self._rest, self._share = 1.0 / sizes - self._joint, 1.0 / int(menu.sum())
        self._sample = replace(
            sample,
            names=(*sample.names, "hypothesis"),
            unit_group=np.append(sample.unit_group, sample.n_groups),
            unit_menu=np.append(rows[sample.unit_menu], rows[-1]),
            sizes=np.append(sample.sizes, 0.0),
            unit=np.append(sample.unit, len(sample.sizes)),
            item=np.append(sample.item, item),
            weights=np.append(sample.weights, _HEAVY * sample.weights.sum()),
            column=np.append(number[rows[old.menu], old.item][sample.column], cell),
            projector=new,
        )

    def at(self, theta: float) -> Sample:
        """The cell at the value theta."""
        centre = theta * self._joint / self._share + (1.0 - theta) * self._rest / (1.0 - self._share)
        return replace(self._sample, frequency=np.append(self._sample.frequency, theta), centre=centre)


def uniform_joint(menu: Mask, item: int, menus: Mask, items: Ints) -> Array:
    """Chance under uniform rankings that `item` is the best of `menu` and, for each cell (E, y), y the best of E.

    menu, menus   a row, and a row per cell, of truth values.
    """
    union = (menus | menu).sum(axis=1).astype(float)
    first = np.where(menus[:, item], 0.0, 1.0 / (union * menus.sum(axis=1)))
    second = np.where(menu[items], 0.0, 1.0 / (union * menu.sum()))
    return np.asarray(np.where(items == item, 1.0 / union, first + second), np.float64)
