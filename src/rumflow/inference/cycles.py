"""Which cycles of pairs are in the way of the triangle inequalities: the explanation for `TriangleInequalities`.

A cycle of compared pairs a over b, b over c, ..., z over a has shares that add up to at most its number of pairs less one, in
every population with rankings: nobody ranks all of it. The *binding* cycles are those with a multiplier in the projection; the
multiplier is the price, the rate at which the squared distance would fall if the cycle were allowed more. In samples the same
choices are drawn again and again from the observed shares, to see how often each cycle is violated. One that is violated in
fewer than 95 % of them is *statistically tied*: its pairs cannot be told from pairs without a cycle.

With ties as an outcome a binding inequality is a path a, c, ..., d, b: whoever likes a better than b goes down somewhere on it,
so a over b has at most the sum of the shares of its steps.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Paths
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, count_items
from rumflow.inference.conflicts.subsets import Sampling
from rumflow.inference.convention import find_convention
from rumflow.inference.plan import JobOptions, Plan
from rumflow.inference.replicate import distances
from rumflow.inference.resample import generators
from rumflow.inference.sample import Sample, build_sample
from rumflow.inference.source import Source
from rumflow.inference.test import run_test
from rumflow.models.model import Model
from rumflow.output.files import plain
from rumflow.output.names import how_many
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.text import visible

#: A cycle that is violated in a smaller share of samples is statistically tied.
SURE = 0.95

_SAMPLES = 400  # in which violations are counted
_TOL = 1e-12


@dataclass(frozen=True)
class BindingCycle:
    """A cycle of pairs that binds at the nearest shares; with ties as an outcome, a path.

    Attributes
    ----------
    items : tuple
        The items in order; each is compared with the next, and the last with the first.
    shares, fitted : tuple of float
        The share of each item against the next one, as observed and at the nearest point; of a path the last one is that of its
        first item against its last.
    bound : int
        What the shares add up to at most: the number of pairs less one. Of a path: by how much the last share may be larger than
        the others together, 0.
    price : float
        The rate at which the squared distance would fall if the bound were larger.
    violated : float or None
        The share of samples in which the shares add up to more; None without counts.
    path : bool
        Whether ties are an outcome, and this is a path.

    Examples
    --------
    >>> BindingCycle(("a", "b", "c"), (0.9, 0.8, 0.7), (0.75, 0.65, 0.6), 2, 0.4, 0.7).total
    2.4
    """

    items: tuple[Item, ...]
    shares: tuple[float, ...]
    fitted: tuple[float, ...]
    bound: int
    price: float
    violated: float | None = None
    path: bool = False

    @property
    def total(self) -> float:
        """The sum of the observed shares; of a path, the last less the others."""
        return float(round(excess(np.array(self.shares), self.path), 12))

    @property
    def tied(self) -> bool:
        """Whether samples do not settle that it is violated."""
        return self.violated is not None and self.violated < SURE

    @property
    def text(self) -> str:
        """The cycle in words."""
        nexts = (*self.items[1:], self.items[0])
        steps = [
            f"{visible(a)} over {visible(b)} {p:.3g}" for a, b, p in zip(self.items, nexts, self.shares, strict=True)
        ]
        often = "" if self.violated is None else f" Violated in {100 * self.violated:.0f} % of samples"
        often += " (statistically tied)." if self.tied else "." if often else ""
        if self.path:
            direct = f"{visible(self.items[0])} over {visible(self.items[-1])}"
            return (
                f"{direct} {self.shares[-1]:.3g}, but {', '.join(steps[:-1])}: together {sum(self.shares[:-1]):.3g}, and in no "
                f"population less than {direct}.{often}"
            )
        return f"{', '.join(steps)}: together {self.total:.3g}, where no population has more than {self.bound}.{often}"


@dataclass(frozen=True, eq=False, repr=False)
class CycleExplanation(Result):
    """The cycles that keep pairs from obeying the triangle inequalities.

    Attributes
    ----------
    cycles : tuple of BindingCycle
        The dearest first, as many as were asked for.
    n_cycles : int
        How many cycles bind in all.
    distance : float
        Of the data to the inequalities, weighted by choices where there are counts.
    pvalue : float or None
        Of the test of the inequalities; None for exact shares.
    level : float or None
        The level of the test.
    items : tuple
        Labels of the items.
    n_pairs : int
        Number of pairs compared.
    n_boot : int
        Replicates of the test.
    seed : int
        The seed of test and samples.
    interrupted : bool
        Whether Ctrl-C ended the test early.
    seconds : float
        Time taken.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({
    ...     ("a", "b"): {"a": 9, "b": 1}, ("b", "c"): {"b": 9, "c": 1}, ("a", "c"): {"a": 1, "c": 9},
    ... })
    >>> found = rf.explain(data, n_boot=99, model=rf.TriangleInequalities())
    >>> found.cycles[0].items, found.cycles[0].total, found.cycles[0].tied
    (('a', 'b', 'c'), 2.7, False)
    """

    cycles: tuple[BindingCycle, ...]
    n_cycles: int
    distance: float
    pvalue: float | None
    level: float | None
    items: tuple[Item, ...]
    n_pairs: int
    n_boot: int
    seed: int
    interrupted: bool
    seconds: float
    _named = ("distance", "pvalue", "level", "n_boot", "seed", "verdict", "n_cycles", "interrupted", "seconds")
    _listed = "cycles"

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        if self.distance == 0:
            return "No cycle: the shares obey every triangle and path inequality."
        if self.pvalue is None or self.level is None:
            return f"The shares violate the triangle inequality: {self._bind}."
        p = f"(p = {self.pvalue:.3g})"
        if self.pvalue <= self.level:
            return f"The triangle inequality is rejected {p}: {self._bind}."
        return (
            f"The triangle inequality is not rejected {p}: the {self._kind}s that bind are within what chance explains."
        )

    @property
    def _kind(self) -> str:
        """A cycle, or with ties as an outcome a path."""
        return "path" if any(one.path for one in self.cycles) else "cycle"

    @property
    def _bind(self) -> str:
        return f"{how_many(self.n_cycles, self._kind)} of pairs bind{'s' if self.n_cycles == 1 else ''}"

    def paragraphs(self) -> list[str]:
        """Return the answer, and each cycle."""
        head = f"Which pairs form cycles? ({count_items(self.items)}, {how_many(self.n_pairs, 'pair')})\n{self.verdict}"
        found = [
            f"{self._kind.capitalize()} {k} (price {one.price:.3g}): {one.text}" for k, one in enumerate(self.cycles, 1)
        ]
        if self.n_cycles > len(self.cycles) > 0:
            found.append(f"{self.n_cycles - len(self.cycles)} more {self._kind}s bind, at lower prices.")
        if self.interrupted:
            found.append("The run was interrupted: the test has fewer replicates than were asked for.")
        return [head, *found]

    def parts(self) -> list[str | Table]:
        """Return the paragraphs."""
        return list(self.paragraphs())

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns cycle, pairs, total, bound, price, violated, tied."""
        rows = self.cycles
        return {
            "cycle": [" > ".join(map(visible, one.items if one.path else (*one.items, one.items[0]))) for one in rows],
            "pairs": [len(one.items) for one in rows],
            "total": [one.total for one in rows],
            "bound": [one.bound for one in rows],
            "price": [one.price for one in rows],
            "violated": [one.violated for one in rows],
            "tied": [one.tied for one in rows],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values; `shares` has the observed and fitted shares along each cycle."""
        names = ("items", "shares", "fitted")
        return super().to_dict() | {
            "shares": plain([{name: getattr(one, name) for name in names} for one in self.cycles])
        }

    def __repr__(self) -> str:
        p = "" if self.pvalue is None else f", pvalue={self.pvalue:.3g}"
        return f"CycleExplanation({self.n_cycles} cycles, distance={self.distance:.6g}{p})"


def explain_cycles(
    data: ChoiceData, model: Model, sampling: Sampling | None, most: int, threads: int | None, progress: bool
) -> CycleExplanation:
    """The binding cycles of pairs, with a test where the data are a sample."""
    begin = time.perf_counter()
    pvalue, n_boot, interrupted, draws = None, 0, False, None
    if sampling is None:
        sample = build_sample(data, None, find_convention(None, "auto"), model=model, remainders=False)
    else:
        source = Source({0: data})
        plan = Plan(sampling.n_boot, tau="thinned", cluster=sampling.cluster or None, seed=sampling.seed, model=model)
        sample = source.sample(plan)
        test = run_test(source, plan, JobOptions(threads=threads, progress=progress))
        pvalue, n_boot, interrupted = float(test.pvalue), test.n_boot, test.interrupted
        drawn = generators(sampling.seed, (1,), range(_SAMPLES))
        draws = source.sampler(sample, plan).draw(drawn, sample.frequency)
    found = distances(sample, sample.frequency[None], 0.0, _TOL, threads=threads)
    fits: Any = found.fits
    fit, square = fits.found[0], float(found.statistic[0]) / sample.scale
    factor = square / max(float(fits.objective[0]), 1e-300)
    tied = fits.geometry.tied
    bound = (fit.cycles.sizes > 1 + tied) & (fit.multipliers > 1e-9 * fit.multipliers.max(initial=0.0))
    rows = np.flatnonzero(bound)[np.argsort(-fit.multipliers[bound], kind="stable")]
    inside = bool(fits.inside[0])
    shares = pair_shares(sample, sample.frequency[None], fits.geometry)[0]
    again = None if draws is None else pair_shares(sample, draws, fits.geometry)
    cycles = []
    for row in [] if inside else rows[:most]:
        arcs = fit.cycles.arcs_of(row, tied)
        if tied:
            tails = fits.geometry.pairs.tail[arcs]
            arcs = np.append(arcs[:-1], arcs[-1] ^ 1)
        else:
            arcs = arcs[::-1] ^ 1  # the way of the majorities
            tails = fits.geometry.pairs.tail[arcs]
            turn = int(tails.argmin())
            arcs, tails = np.roll(arcs, -turn), np.roll(tails, -turn)
        most_allowed = 0 if tied else len(arcs) - 1
        cycles.append(
            BindingCycle(
                tuple(sample.items[x] for x in tails),
                tuple(along(shares, arcs, tied).tolist()),
                tuple(along(fit.x, arcs, tied).tolist()),
                most_allowed,
                float(factor * fit.multipliers[row]),
                None if again is None else float((excess(along(again, arcs, tied), tied) > most_allowed + 1e-9).mean()),
                tied,
            )
        )
    return CycleExplanation(
        cycles=tuple(cycles),
        n_cycles=0 if inside else len(rows),
        distance=0.0 if inside else float(np.sqrt(square)),
        pvalue=pvalue,
        level=None if sampling is None else sampling.level,
        items=sample.items,
        n_pairs=len(sample.sizes),
        n_boot=n_boot,
        seed=0 if sampling is None else sampling.seed,
        interrupted=interrupted,
        seconds=time.perf_counter() - begin,
    )


def along(x: Array, arcs: Paths, tied: bool) -> Array:
    """The shares of the tails of arcs, where x (..., unknowns) are those of `rumflow.core.pairs`."""
    if tied:
        return np.asarray(x[..., arcs], np.float64)
    own = x[..., arcs >> 1]
    return np.where(arcs & 1, 1.0 - own, own)


def excess(shares: Array, path: bool) -> Any:
    """The sum of shares along a cycle; of a path, the last less the others."""
    return 2.0 * shares[..., -1] - shares.sum(axis=-1) if path else shares.sum(axis=-1)


def pair_shares(sample: Sample, frequencies: Array, geometry: Any) -> Array:
    """(b, unknowns): the shares of pairs, from frequencies of slots (b, S)."""
    means, _, _ = sample.pool(frequencies, sample.weights)
    tables = np.zeros((len(means), *geometry.shape))
    tables.reshape(len(means), -1)[:, sample.projector.positions] = means
    return np.array([geometry.problem(table).p for table in tables])
