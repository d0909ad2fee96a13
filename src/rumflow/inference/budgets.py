"""The test of rational choice from budgets (Kitamura and Stoye 2018).

    J = N min over v >= 0 of |pi - A v|^2,     columns of A: the rational types,     N = households / max(degree, 1)

with pi the probabilities of all patches. Types are never listed (`rumflow.models.budgets`). The set is tightened by v >= tau
/ H for each of the H types, that is by tau times their mean, which is counted. Replicates resample households within their
budget (or whole clusters), estimate pi again and recentre it: J_tau(pi_b - pi + eta) with eta the nearest point of the
tightened set; nothing is clipped or made to add up to 1 on the way. "kitamura-stoye" is this on the cone; by default the
mixture has total 1 (the simplex), with the same N.

tau = sqrt(log m / m), where m is the least over the budgets of N_j I_j / trace(V_j): N_j households, I_j patches, V_j the
variance of sqrt(N_j) times the estimated probabilities over 1,000 bootstrap draws of their own. Budgets of one patch have no
variance and are left out of it. Other rules of a convention take these effective sizes for the choices from a menu.

Probabilities that were smoothed are no frequencies of a multinomial, so there is nothing to draw from under the null:
replicates are recentred. Plain frequencies go the way of all choice data (`rumflow.inference.test`), unless the published
test is asked for by name.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array, Ints
from rumflow.core.seeds import Seed, entropy
from rumflow.data.budgets import BudgetData
from rumflow.errors import InputError
from rumflow.inference.convention import CONVENTIONS, Convention, Tau, find_convention, find_taus
from rumflow.inference.jobs import run
from rumflow.inference.notes import unfinished
from rumflow.inference.replicate import distances, make_replicator
from rumflow.inference.resample import generators
from rumflow.inference.result import RumTest, make_result, nothing_or
from rumflow.inference.sample import Sample, build_sample
from rumflow.models.budgets import Budgets, model_of_budgets

PUBLISHED = "kitamura-stoye"

_UNITS = ("household", "cluster")
_DRAWS_OF_TAU = 1000
_AT_ONCE = 100
_ROUGH = 1e-7  # relative gap at which replicates are good enough for that; hundreds of types leave little below 1e-9
_DIGITS = 5e-7  # published statistics are compared after rounding to six digits


class HouseholdSampler:
    """Households, or whole clusters of them, drawn with replacement; probabilities of patches estimated again."""

    draws = "empirical"

    def __init__(self, budgets: BudgetData, sample: Sample, cluster: Any) -> None:
        own = budgets.households
        if own is None:
            raise InputError("these budgets are probabilities without households, which cannot be resampled")
        self._estimate = budgets.estimator()
        place = {item: i for i, item in enumerate(budgets.items)}
        self._patch: Ints = np.array([place.get(sample.items[x], -1) for x in sample.item.tolist()], np.int64)
        stratum, self._unit = own.budget, None
        if cluster is not None and cluster is not False:
            ids = own.cluster if cluster is True else np.asarray(cluster)
            if ids is None or ids.shape != own.budget.shape:
                raise InputError(
                    f"cluster: one id for each of the {len(own.budget)} households is needed, here or when the data are read"
                )
            _, self._unit = np.unique(ids, return_inverse=True)
            stratum = np.full(int(self._unit.max()) + 1, -1)
            stratum[self._unit] = own.budget
            if (
                stratum[self._unit] != own.budget
            ).any():  # some clusters are in several budgets: all are drawn together
                stratum[:] = 0
            if len(stratum) < 2:
                raise InputError("cluster: there is one cluster in all; resampling by cluster needs at least two")
        # Units stratum by stratum; one uniform number per unit draws one of its stratum.
        self._order = np.argsort(stratum, kind="stable")
        sizes = np.unique(stratum, return_counts=True)[1]
        self._length = np.repeat(sizes, sizes).astype(np.float64)
        self._begin = np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.behind = sizes.astype(np.float64)
        self._frequency = sample.frequency

    def probabilities(self, generators: Sequence[np.random.Generator]) -> Array:
        """(b, I): estimates from one draw each; NaN where a budget lost all its households."""
        count = len(self._order)
        times = np.zeros((len(generators), count))
        for row, rng in zip(times, generators, strict=True):
            drawn = self._begin + (rng.random(count) * self._length).astype(np.int64)
            row[self._order] = np.bincount(drawn, minlength=count)
        return self._estimate(times if self._unit is None else times[:, self._unit])

    def draw(self, generators: Sequence[np.random.Generator], centre: Array) -> Array:
        """(b, S) probabilities of the slots, moved to the centre."""
        found = self.probabilities(generators)
        return np.where(self._patch >= 0, found[:, self._patch], 0.0) - self._frequency + centre

    def effective_sizes(self, budgets: BudgetData, seed: int) -> tuple[Array, Array]:
        """N_j I_j / trace(V_j) and I_j of the budgets whose estimates vary; an infinite size where none does."""
        numbers = range(_DRAWS_OF_TAU)
        pieces = [numbers[i : i + _AT_ONCE] for i in range(0, len(numbers), _AT_ONCE)]
        drawn = np.concatenate([self.probabilities(generators(seed, (_TAU_KEY,), piece)) for piece in pieces])
        trace = np.bincount(budgets.budget, np.nanvar(drawn, axis=0)) * budgets.sizes
        patches = np.bincount(budgets.budget)
        varying = (patches > 1) & (trace > 0)
        if not varying.any():
            return np.array([np.inf]), np.ones(1)
        return (budgets.sizes * patches)[varying] / trace[varying], patches[varying].astype(np.float64)


_TAU_KEY = 1 << 40  # children of the seed that no replicate uses


@dataclass(frozen=True, eq=False, repr=False)
class BudgetTest(RumTest):
    """A test of rational choice from budgets."""

    budgets: BudgetData

    @classmethod
    def of(cls, test: RumTest, budgets: BudgetData) -> BudgetTest:
        """A test of the choices of budgets, with the budgets and what is to be said of them."""
        own = {one.name: getattr(test, one.name) for one in fields(test)}
        found = cls(**own, budgets=budgets)
        return replace(found, notes=(*test.notes, *budgets.notes, *_note_on_types(budgets, found.n_types)))

    @property
    def n_types(self) -> int:
        """How many rational types there are."""
        return cast(Budgets, self.sample.projector.model).types.number

    def _drawn(self) -> str:
        if self.resample not in _UNITS:
            return super()._drawn()
        within = "within their budgets" if self.resample == "household" else "whole"
        return f"{self.resample}s resampled {within} and recentred"

    def summary(self, level: float = 0.05) -> str:
        """The test in words."""
        data, sample = self.budgets, self.sample
        where = "cone of rational demand (any total)" if self.convention.set == "cone" else "set of rational demand"
        how = f"smoothed at median expenditure (degree {data.degree})" if data.is_smoothed else "plain frequencies"
        lines = [
            "Test of rational choice from budgets: does this demand come from a population of utility maximisers?",
            f"  data         {len(data.labels)} budgets, {len(data.patches)} patches, {data.n_observations:g} households, {how}",
            f"  types        {self.n_types:,} rational ones (not listed)",
            f"  statistic    {nothing_or(self.statistic):.6g} = {sample.scale:g} x squared distance to the {where}, "
            f"weights: {self.weights}",
            f"  bootstrap    {self.n_boot} replicates, {self._drawn()}, seed {self.seed}",
        ]
        first = "   <- the test" if len(self.taus) > 1 else ""
        lines += [
            f"  tau = {tau:<9.4g} p-value {self.pvalues[t]:.4g}   "
            f"critical value at {level:g}: {nothing_or(self.critical_value(level, tau)):.6g}{'' if t else first}"
            for t, tau in enumerate(self.taus)
        ]
        verdict = "is rejected" if self.rejects(level) else "is not rejected"
        lines.append(f"Rational choice {verdict} at the {100 * level:g} % level (tau = {self.tau:.4g}).")
        if self.pvalues[0] <= 1.5 / (1 + self.n_boot):
            lines.append(
                f"No replicate was as large: the p-value is the smallest that {self.n_boot} replicates can give."
            )
        lines += self.notes
        if self.statistic == 0:
            lines.append("The observed demand is that of a population of utility maximisers itself.")
        if nothing_or(self.critical_value(level)) == 0:
            lines.append(
                "Samples of demand like this are rational themselves, nearly all of them (the critical value is 0): these "
                "budgets hardly put it to the test."
            )
        worst = self.misfits(3)
        if worst:
            lines.append("Furthest from rational demand:")
            place = {item: i for i, item in enumerate(data.items)}
            lines += [
                f"  {data.describe(place[str(item)])}: observed {observed:.3f}, fitted {fit:.3f}"
                for _, item, _, observed, fit, _ in worst
                if item in place
            ]
        return "\n".join(lines + unfinished(self.failed, self.interrupted))


def _note_on_types(budgets: BudgetData, rational: int) -> tuple[str, ...]:
    """What to say of budgets that cross so little that hardly any behaviour is ruled out."""
    every = prod(np.bincount(budgets.budget).tolist())
    if 4 * rational < 3 * every:
        return ()
    share = f"{rational:,} of {every:,} types are rational"
    if 10 * rational < 9 * every:
        return (f"These budgets rule out little ({share}): the test can find little.",)
    return (f"These budgets hardly cross ({share}): the test can find almost nothing.",)


def resamples_households(data: BudgetData, convention: str | Convention | None) -> bool:
    """Is it this module's test, rather than that of choice data?"""
    return data.is_smoothed or _is_published(convention)


def _is_published(convention: str | Convention | None) -> bool:
    """By name, or as it stands behind the name."""
    return convention in (PUBLISHED, CONVENTIONS[PUBLISHED])


def test_households(
    data: BudgetData,
    n_boot: int,
    tau: Tau,
    weights: str | ArrayLike | None,
    cluster: Any,
    seed: Seed,
    n_jobs: int,
    progress: bool,
    draws: str,
    convention: str | Convention | None,
    tol: float,
    threads: int | None,
    checkpoint: str | os.PathLike[str] | None,
) -> BudgetTest:
    """The test with replicates of households; arguments as for `rum_test`."""
    begin = time.perf_counter()
    if not 0 < tol < 1:
        raise InputError(f"tol={tol!r}: a number between 0 and 1 is needed")
    model, number = model_of_budgets(data), entropy(seed)
    kind = _convention(convention, draws)
    if isinstance(weights, str) and weights == "auto":
        weights = kind.weights
    if kind.scale in (None, "total"):
        kind = replace(kind, scale=data.n_observations / max(data.degree, 1))
    choices = data.padded_choices if kind.set == "cone" else data.choices
    sample = build_sample(choices, weights, kind, None, model)
    sampler = HouseholdSampler(data, sample, cluster)
    observed = distances(sample, sample.frequency[None], 0.0, tol, threads=None)
    if _is_published(convention):
        observed = observed._replace(rounding=np.maximum(observed.rounding, _DIGITS))
    taus = _taus(tau, sampler, data, number, kind)
    replicator = make_replicator(sample, sampler, taus, max(tol, _ROUGH), number)
    collected = run([replicator], n_boot, n_jobs=n_jobs, threads=threads, checkpoint=checkpoint, progress=progress)[0]
    how = _UNITS[not (cluster is None or cluster is False)]
    words = "1 on every patch" if weights is None else weights if isinstance(weights, str) else "given"
    result = make_result(replicator, observed, collected, how, words, (), time.perf_counter() - begin)
    return BudgetTest.of(result, data)


def _convention(convention: str | Convention | None, draws: str) -> Convention:
    """The convention asked for; by default the published one on the simplex. Replicates are recentred, whatever it says."""
    if draws not in ("auto", "empirical"):
        raise InputError(
            f"draws={draws!r}: smoothed demand has no choices to draw under the null; accepted is 'empirical'"
        )
    if convention is None or convention == "default":
        convention = replace(CONVENTIONS[PUBLISHED], set="simplex")
    return replace(find_convention(convention), draws="empirical")


def _taus(tau: Tau, sampler: HouseholdSampler, data: BudgetData, seed: int, kind: Convention) -> tuple[float, ...]:
    """The values asked for; rules look at the effective sizes, which are drawn only where a rule is asked for."""
    wanted = [tau] if isinstance(tau, str) or np.ndim(tau) == 0 else list(tau)  # type: ignore[arg-type]
    behind = patches = np.ones(1)
    if any(isinstance(kind.tau if one == "auto" else one, str) for one in wanted):
        behind, patches = sampler.effective_sizes(data, seed)
    return find_taus(tau, behind, patches, kind)
