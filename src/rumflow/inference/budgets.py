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

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any, cast

import numpy as np

from rumflow.check import check_option
from rumflow.core.arrays import Array, Ints
from rumflow.data.budgets import BudgetData
from rumflow.data.labels import Item
from rumflow.errors import InputError
from rumflow.inference.convention import CONVENTIONS, DRAWS, Convention, check_taus, find_convention, find_taus
from rumflow.inference.notes import PRICES
from rumflow.inference.plan import Plan
from rumflow.inference.resample import Sampler, generators
from rumflow.inference.result import RumTest
from rumflow.inference.sample import Sample, build_sample, named_groups
from rumflow.inference.source import Source
from rumflow.inference.words import Words, nothing_or
from rumflow.models.budgets import Budgets

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
                raise InputError("cluster: there is only one cluster; resampling by cluster needs at least two")
        # Units stratum by stratum; one uniform number per unit draws one of its stratum.
        self._order = np.argsort(stratum, kind="stable")
        sizes = np.unique(stratum, return_counts=True)[1]
        self._length = np.repeat(sizes, sizes).astype(np.float64)
        self._begin = np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.n_independent: Array = sizes.astype(np.float64)
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
    """A bootstrap test of rational choice from budgets.

    It has the attributes and methods of `RumTest`, with budgets as menus and patches as items.

    Attributes
    ----------
    budgets : BudgetData
        The budgets that were tested.

    Examples
    --------
    >>> import rumflow as rf
    >>> prices, bundles = [[1, 2], [2, 1]], [[1, 0], [0, 1], [1, 0], [0, 1]]
    >>> budgets = rf.BudgetData.from_quantities(prices, [0, 0, 1, 1], bundles, degree=0)
    >>> rf.rum_test(budgets, n_boot=9, seed=1).n_types
    3
    """

    budgets: BudgetData
    _words = Words(
        "Test of rational choice from budgets: does this demand come from a population of utility maximisers?",
        "set of rational demand",
        "cone of rational demand (any total)",
        "Rational choice",
        "The observed demand is that of a population of utility maximisers itself.",
        "Furthest from rational demand",
        assumption=PRICES,
    )

    @classmethod
    def of(cls, test: RumTest, budgets: BudgetData) -> BudgetTest:
        """Return a test of the choices of budgets as a test of the budgets."""
        own = {one.name: getattr(test, one.name) for one in fields(test)}
        found = cls(**own, budgets=budgets)
        return replace(found, notes=(*test.notes, *budgets.notes, *note_on_types(budgets, found.n_types)))

    @property
    def n_types(self) -> int:
        """Number of rational types."""
        return cast(Budgets, self.sample.projector.model).types.number

    def _drawn(self) -> str:
        if self.resample not in _UNITS:
            return super()._drawn()
        within = "within their budgets" if self.resample == "household" else "whole"
        return f"{self.resample}s resampled {within} and recentred"

    def _facts(self) -> list[str]:
        data = self.budgets
        how = f"smoothed at median expenditure (degree {data.degree})" if data.is_smoothed else "plain frequencies"
        how += ", corrected for endogenous expenditure" if data.is_instrumented else ""
        return [
            f"  data         {len(data.labels)} budgets, {len(data.patches)} patches, {data.n_observations:g} households, {how}",
            f"  types        {self.n_types:,} rational ones (not listed)",
        ]

    def _remarks(self, level: float) -> list[str]:
        if nothing_or(self.critical_value(level)) > 0:
            return []
        return [
            "Samples of demand like this are rational themselves, nearly all of them (the critical value is 0): these "
            "budgets hardly put it to the test."
        ]

    def _name_cell(self, menu: tuple[Item, ...], item: Item, group: Item) -> str | None:
        items = self.budgets.items
        return self.budgets.describe(items.index(str(item))) if item in items else None  # None: padding


def note_on_types(budgets: BudgetData, rational: int) -> tuple[str, ...]:
    """What to say of budgets that cross so little that hardly any behaviour is ruled out."""
    every = prod(np.bincount(budgets.budget).tolist())
    if 4 * rational < 3 * every:
        return ()
    share = f"{rational:,} of {every:,} types are rational"
    if 10 * rational < 9 * every:
        return (f"These budgets rule out little ({share}): the test can find little.",)
    return (f"These budgets hardly cross ({share}): the test can find almost nothing.",)


def budget_source(data: BudgetData, convention: str | Convention | None, resample: str) -> Source:
    """Budgets as data of a test: smoothed demand and the published test resample households, plain frequencies choices."""
    published = convention in (PUBLISHED, CONVENTIONS[PUBLISHED])  # by name, or as it is behind the name
    if not (data.is_smoothed or published):
        return BudgetChoices(data)
    if resample == "row":
        raise InputError("resample='row': households are resampled within their budgets; accepted is 'cluster'")
    return BudgetHouseholds(data, _DIGITS if published else 0.0)


class BudgetChoices(Source):
    """Plain frequencies of patches: choices from budgets, drawn as from any menu."""

    def __init__(self, data: BudgetData) -> None:
        super().__init__(dict(zip(*named_groups(data.choices), strict=True)))
        self.data = data

    def result(self, test: RumTest) -> RumTest:
        """The test with its budgets."""
        return BudgetTest.of(test, self.data)


class BudgetHouseholds(BudgetChoices):
    """Households, resampled within their budgets or by whole clusters; probabilities are estimated again."""

    cell = "patch"
    replicate_tol = _ROUGH

    def __init__(self, data: BudgetData, rounding: float) -> None:
        super().__init__(data)
        self.rounding = rounding

    def convention(self, convention: str | Convention | None, draws: str) -> Convention:
        """The one asked for; by default the published one on the simplex. Replicates are recentred, whatever it says."""
        check_option(draws, "draws", ("auto", *DRAWS))
        if draws == "null":
            raise InputError(
                f"draws={draws!r}: smoothed demand has no choices to draw under the null; accepted is 'empirical'"
            )
        if convention is None or convention == "default":
            convention = replace(CONVENTIONS[PUBLISHED], set="simplex", as_published=False)
        kind = replace(find_convention(convention), draws="empirical")
        if kind.scale in (None, "total"):
            kind = replace(kind, scale=self.data.n_observations / max(self.data.degree, 1))
        return kind

    def sample(self, plan: Plan) -> Sample:
        """The patches in slots; on the cone, budgets of one patch count as well."""
        choices = self.data.padded_choices if plan.convention.set == "cone" else self.data.choices
        return build_sample(choices, plan.chosen_weights, plan.convention, None, plan.model)

    def sampler(self, sample: Sample, plan: Plan) -> Sampler:
        """What draws households."""
        given = plan.cluster is not None and plan.cluster is not False
        return HouseholdSampler(self.data, sample, plan.cluster if given else plan.by_cluster)

    def repeats(self, sample: Sample) -> bool:
        """Are there clusters of several households?"""
        own = self.data.households
        return own is not None and own.cluster is not None and 1 < len(np.unique(own.cluster)) < len(own.cluster)

    def taus(self, sample: Sample, sampler: Sampler, plan: Plan) -> tuple[float, ...]:
        """The values asked for; rules look at the effective sizes, which are drawn only where a rule is asked for."""
        n_independent = patches = np.ones(1)
        rules = (plan.convention.tau if one == "auto" else one for one in check_taus(plan.tau, plan.convention))
        if any(isinstance(one, str) for one in rules):
            assert isinstance(sampler, HouseholdSampler)
            n_independent, patches = sampler.effective_sizes(self.data, plan.seed)
        return find_taus(plan.tau, n_independent, patches, plan.convention)

    def resampled(self, sampler: Sampler, plan: Plan) -> str:
        """What is resampled."""
        return _UNITS[plan.by_cluster]

    def notes(self, sample: Sample, sampler: Sampler, tau: float, plan: Plan) -> tuple[str, ...]:
        """Those of the budgets alone."""
        return ()
