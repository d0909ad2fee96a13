"""Maximum likelihood over the random utility models.

    maximise  L(rho) = sum over cells (D, x) of  count(D, x) log rho(D, x)   over all RUMs rho

A concave function on a polytope. Two second-order models of L at the current point rho_k lead to a weighted projection each:

    Fisher scoring   weights N_D / rho_k,         target the observed frequencies
    Newton           weights count / rho_k^2,     target 2 rho_k  (cells never chosen have weight 0)

A few rounds of the first, robust far from the optimum, then the second, which is quadratic near it: -L is self-concordant, so
steps cut by a line search always get there. Both are solved over the whole polytope, so faces take care of themselves.

*Certificate.* For any RUM rho', L(rho') - L(rho) <= <grad L(rho), rho' - rho> = <count / rho, rho'> - n_observations, so

    gap = (dearest ranking for the costs Z^T (count / rho)) - n_observations

bounds how far L(rho) is below the maximum: one dynamic programme, whatever the solver did.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rumflow.core.arrays import Array, Mixture
from rumflow.core.lattice import Lattice
from rumflow.core.paths import cheapest_below, decompose, flow_from_paths, orders_from_paths, squeeze, uniform_flow
from rumflow.core.problem import Problem, Stop
from rumflow.core.seeds import Seed, entropy
from rumflow.core.threads import run_threads, thread_count
from rumflow.core.transforms import zeta, zeta_adjoint
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.errors import InputError, RumflowError
from rumflow.inference.resample import generators
from rumflow.inference.result import pvalue
from rumflow.output.progress import Counter
from rumflow.projection.results import Rankings
from rumflow.solvers.active_set.solve import Workspace
from rumflow.solvers.dispatch import solve

_SCORING_ROUNDS = 4
_MOST_ROUNDS = 200


@dataclass(frozen=True, eq=False, repr=False)
class LikelihoodFit:
    """The most likely RUM, with its certificate.

    On menus that were not observed `rho` is one value among many; on observed cells with choices it is unique.
    """

    loglik: float
    loglik_saturated: float  #: of the observed frequencies themselves
    gap: float  #: certified: maximum - loglik <= gap
    iterations: int  #: weighted projections
    converged: bool  #: gap <= tol
    tol: float
    seconds: float
    data: ChoiceData = field(repr=False)
    _flow: Array = field(repr=False)

    @property
    def loglik_gap(self) -> float:
        """How much better the saturated model is: loglik_saturated - loglik."""
        return self.loglik_saturated - self.loglik

    @property
    def lr_statistic(self) -> float:
        """Likelihood ratio statistic 2 (loglik_saturated - loglik)."""
        return 2 * max(self.loglik_gap, 0.0)

    @cached_property
    def rho(self) -> Array:
        """(2^n, n) fitted probabilities, 0 outside the menu."""
        return Lattice(self.data.n).from_internal(zeta(self._flow.copy()))

    @cached_property
    def flow(self) -> Array:
        """(2^n, n) Block-Marschak polynomials of the fit, every entry >= 0."""
        return Lattice(self.data.n).from_internal(self._flow)

    @cached_property
    def rankings(self) -> Rankings:
        """A mixture of rankings with these probabilities: one among many when n >= 4."""
        paths, weights = decompose(self._flow)
        heaviest = np.argsort(-weights, kind="stable")
        return Rankings(orders_from_paths(paths[heaviest]), weights[heaviest], self.items)

    @property
    def items(self) -> tuple[Item, ...]:
        """The labels of the items."""
        return self.data.items

    def lr_test(
        self, n_boot: int = 999, seed: Seed = None, *, threads: int | None = None, progress: bool = False
    ) -> LikelihoodRatioTest:
        """Parametric bootstrap of the likelihood ratio: samples of the same sizes drawn from the fitted model, refitted.

        The fit lies on the boundary of RUM as a rule, where this bootstrap is not known to be exact; `rum_test`
        tightens for that.
        """
        if not isinstance(n_boot, int | np.integer) or n_boot < 1:
            raise InputError(f"n_boot={n_boot!r}: at least 1 bootstrap replicate is needed")
        begin = time.perf_counter()
        number = entropy(seed)
        sizes = self.data.totals
        if (sizes != np.round(sizes)).any():
            raise InputError(
                "the likelihood ratio test draws samples of the same sizes: they must be whole numbers of choices"
            )
        n = self.data.n
        inside = Lattice(n).membership[self.data.masks]
        shares = np.where(inside, np.maximum(self.rho[self.data.masks], 0.0), 0.0)
        shares /= shares.sum(axis=1, keepdims=True)
        null = np.empty(n_boot)
        gaps = np.empty(n_boot)
        start = decompose(self._flow)
        counter = Counter(progress, n_boot, "replicates")

        def replicate(i: int) -> None:
            rng = generators(number, (), [i])[0]
            counts = np.where(inside, rng.multinomial(sizes.astype(np.int64), shares), np.nan)
            state = _maximise(ChoiceData(self.items, self.data.membership, counts, sizes), max(self.tol, 1e-5), start)
            null[i] = 2 * max(state.saturated - state.value, 0.0)
            gaps[i] = state.gap
            counter.add(1)

        run_threads(replicate, range(n_boot), thread_count(threads))
        statistic = self.lr_statistic
        return LikelihoodRatioTest(
            statistic,
            pvalue(statistic, null, 2 * max(self.gap, 0.0) + 1e-9),
            null,
            number,
            int((gaps > max(self.tol, 1e-5)).sum()),
            time.perf_counter() - begin,
        )

    def __repr__(self) -> str:
        return (
            f"LikelihoodFit(n={self.data.n}, loglik={self.loglik:.6f}, loglik_saturated={self.loglik_saturated:.6f}, "
            f"gap={self.gap:.2g}, iterations={self.iterations})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class LikelihoodRatioTest:
    """The likelihood ratio of RUM against the saturated model, with its parametric bootstrap."""

    statistic: float  #: 2 (loglik_saturated - loglik)
    pvalue: float  #: (1 + count) / (1 + B)
    null_distribution: Array
    seed: int
    failed: int  #: replicates whose certificate stayed above the tolerance
    seconds: float

    def __repr__(self) -> str:
        count = len(self.null_distribution)
        return f"LikelihoodRatioTest(statistic={self.statistic:.6g}, pvalue={self.pvalue:.4g}, n_boot={count})"


class _State:
    """A point of the polytope, its likelihood and its certificate."""

    def __init__(self, data: ChoiceData) -> None:
        self.n = data.n
        lattice = Lattice(self.n)
        self.counts = np.zeros(lattice.internal_shape)
        self.sizes = np.zeros(lattice.internal_shape)
        self.observed = np.zeros(lattice.internal_shape)
        row, item = np.nonzero(~np.isnan(data.counts))
        large = np.bitwise_count(data.masks[row]) >= 2  # a menu of one item is chosen for sure
        row, item = row[large], item[large]
        column = squeeze.py_func(data.masks[row], item)
        self.counts[item, column] = data.counts[row, item]
        self.sizes[item, column] = data.totals[row]
        self.observed[item, column] = data.frequencies[row, item]
        self.chosen = self.counts > 0
        self.total = float(self.counts.sum())
        c, f = self.counts[self.chosen], self.observed[self.chosen]
        self.saturated = float((c * np.log(f)).sum())
        self.rounds = 0
        self.workspace = Workspace(self.n)
        self.flow = uniform_flow(self.n)
        self.rho = zeta(self.flow.copy())
        self.value = self.loglik(self.rho)
        self.mixture: Mixture | None = None
        self.gap = np.inf

    def loglik(self, rho: Array) -> float:
        """L, minus infinity where something chosen has no probability."""
        p = rho[self.chosen]
        return float((self.counts[self.chosen] * np.log(p)).sum()) if (p > 0).all() else -np.inf

    def certify(self) -> float:
        """The gap at the current point."""
        cost = np.zeros_like(self.rho)
        cost[self.chosen] = -self.counts[self.chosen] / self.rho[self.chosen]
        self.gap = max(-float(cheapest_below(zeta_adjoint(cost), 1)[-1]) - self.total, 0.0)
        return self.gap

    def move(self, weights: Array, target: Array, accuracy: float) -> None:
        """Project, then go as far that way as the likelihood rises."""
        stop = Stop(1e-14, accuracy)
        solved = solve(Problem(target, weights), stop, start=self.mixture, workspace=self.workspace, threads=1)
        if solved.reason == "interrupted":
            raise KeyboardInterrupt
        self.mixture = solved.mixture
        self.rounds += 1
        flow = solved.flow
        rho = zeta(flow.copy())
        slope = float((self.counts[self.chosen] / self.rho[self.chosen] * (rho - self.rho)[self.chosen]).sum())
        # Near the maximum the gain of a step is below the rounding of L itself: what is not a loss beyond rounding passes.
        slack = 8 * float(np.finfo(float).eps) * abs(self.value)
        step = 1.0
        while step > 1e-9:
            trial = self.rho + step * (rho - self.rho)
            value = self.loglik(trial)
            if value >= self.value + 1e-4 * step * slope - slack:
                self.flow = flow if step == 1.0 else self.flow + step * (flow - self.flow)
                self.rho, self.value = zeta(self.flow.copy()), value
                return
            step *= 0.5


def _maximise(data: ChoiceData, tol: float, start: Mixture | None = None, most: int = _MOST_ROUNDS) -> _State:
    state = _State(data)
    if state.total == 0:
        state.gap = 0.0
        return state
    if start is not None:
        # Mixed with the uniform rankings, so that nothing chosen has probability 0.
        state.flow = 0.9 * flow_from_paths(*start) + 0.1 * state.flow
        state.rho = zeta(state.flow.copy())
        state.value, state.mixture = state.loglik(state.rho), start
    floor = 64 * float(np.finfo(float).eps) * state.total
    goal = max(tol, floor)
    best, still = np.inf, 0
    while state.certify() > goal and state.rounds < most and still < 8:
        # Rounding ends it where the gap no longer falls although Newton steps are as exact as they can be.
        still = 0 if state.gap < 0.9 * best else still + (state.rounds > _SCORING_ROUNDS)
        best = min(best, state.gap)
        accuracy = max(min(1e-3 * state.gap, 1.0), 0.05 * goal)
        if state.rounds < _SCORING_ROUNDS:
            low = 0.5 / np.maximum(state.sizes, 1.0)
            weights = state.sizes / np.maximum(state.rho, low)
            state.move(weights, state.observed, accuracy)
        else:
            weights, target = np.zeros_like(state.rho), np.zeros_like(state.rho)
            weights[state.chosen] = state.counts[state.chosen] / state.rho[state.chosen] ** 2
            target[state.chosen] = 2.0 * state.rho[state.chosen]
            state.move(weights, target, accuracy)
    return state


def fit_likelihood(
    data: ChoiceData, tol: float = 1e-6, *, max_iterations: int = _MOST_ROUNDS, throw: bool = True
) -> LikelihoodFit:
    """The most likely random utility model for choice counts.

    tol      stop when the certified gap, maximum - loglik, is at most tol (in units of the log-likelihood).
    throw    raise where the tolerance is not met in `max_iterations` projections; False returns the best point with its gap.

    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}})
    >>> fit_likelihood(data).rho[3].round(6).tolist()
    [0.75, 0.25]
    """
    if not isinstance(data, ChoiceData):
        raise InputError(f"data: a ChoiceData with counts is needed, not {type(data).__name__}")
    if not (np.isfinite(tol) and tol > 0):
        raise InputError(f"tol={tol!r}: a positive number is needed")
    partial = np.isnan(data.counts).sum(axis=1) + np.bitwise_count(data.masks) != data.n
    if partial.any():
        raise InputError(
            f"menu {data.menus[int(np.argmax(partial))]}: some cells were not recorded; "
            "the likelihood needs the counts of whole menus"
        )
    begin = time.perf_counter()
    state = _maximise(data, tol, most=max_iterations)
    fit = LikelihoodFit(
        state.value,
        state.saturated,
        state.gap,
        state.rounds,
        bool(state.gap <= max(tol, 64 * float(np.finfo(float).eps) * state.total)),
        tol,
        time.perf_counter() - begin,
        data,
        state.flow,
    )
    if throw and not fit.converged:
        raise LikelihoodError(
            f"the certified gap {fit.gap:.2g} stayed above tol={tol:g} after {fit.iterations} projections: "
            "ask for a larger tol, or more max_iterations; "
            "the best point is the attribute `fit` of this error, or pass throw=False",
            fit,
        )
    return fit


class LikelihoodError(RumflowError, RuntimeError):
    """The likelihood was not maximised to the tolerance; `fit` holds the best point."""

    def __init__(self, message: str, fit: LikelihoodFit) -> None:
        super().__init__(message)
        self.fit = fit
