"""How transitive are choices from pairs? The triangle inequalities, and weak, moderate and strong stochastic transitivity.

From the weakest to the strongest, with p_ab the share of a against b:

    triangle inequalities   p_ab <= p_ac + p_cb: what every population with rankings obeys; it need not have a best item
    weak                    majorities follow an order
    moderate, strong        and p_ac is at least the smaller, or the larger, of p_ab and p_bc, for a, b, c in this order

Strong implies moderate, and moderate both others on a triple; weak and the triangle inequalities do not imply each other. Single
triples are counted (`rumflow.core.triples`); the triangle inequalities are tested with all paths of pairs (`rumflow.rum_test`),
weak transitivity by a likelihood ratio (`rumflow.inference.weak_order`).

*Majority triangles.* That a beats b, b beats c and c beats a is significant where all three majorities are: the p-value of a
triangle is the largest of three one-sided ones, each from the binomial distribution. Of the two ways round at most one can be
observed, and in a triple without a cycle the chances to reject either add up to the level at most; so Holm's correction for
the number of triples holds.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from rumflow.check import check_replicates, check_whole
from rumflow.core.arrays import Array, Paths
from rumflow.core.pairs import arc_lengths, make_pairs
from rumflow.core.seeds import Seed, entropy
from rumflow.core.triples import CONDITIONS, MOST_KEPT, find_triples
from rumflow.data.accept import DataLike, as_data
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import tie_number
from rumflow.errors import InputError
from rumflow.inference.confidence import has_counts
from rumflow.inference.plan import JobOptions, Plan
from rumflow.inference.source import Source
from rumflow.inference.test import run_test
from rumflow.inference.transitivity_result import MajorityTriangle, Transitivity
from rumflow.inference.weak_order import (
    PairCounts,
    best_order,
    count_pairs,
    counts_choices,
    majority_pvalues,
    order_of_shares,
    ratio_pvalue,
    strong_ratio,
)
from rumflow.models.triangle_inequalities import TriangleInequalities
from rumflow.output.progress import Stage
from rumflow.projection.cost import find_geometry
from rumflow.projection.observations import observe
from rumflow.projection.single import fit_observations
from rumflow.solvers.resources import Resources

_INDEPENDENT = (
    "The p-values of weak transitivity and of majority triangles take all choices to be independent, although subjects made "
    "several; the test of the triangle inequalities draws whole subjects."
)
_TIES = (
    "Ties are an outcome of their own for the distance and the test of the triangle inequalities; for triples, orders, ratios "
    "and majorities a tie counts half for each item."
)
_FRACTIONS = (
    "Choices with fractional weights have no binomial distribution: weak transitivity and triangles have no p-value."
)


def transitivity(
    data: DataLike,
    n_boot: int = 999,
    *,
    most: int = 10,
    cluster: Any = "auto",
    seed: Seed = None,
    rng: Seed = None,
    threads: int | None = None,
    progress: bool = False,
) -> Transitivity:
    """Measure how transitive choices from pairs are, and test it.

    Parameters
    ----------
    data : ChoiceData
        Choices from pairs, or whatever data are read from. Menus of one item are left out; larger menus are refused. Ties
        may be an outcome of their own.
    n_boot : int, default 999
        Replicates of the test of the triangle inequalities, and simulated samples for weak transitivity.
    most : int, default 10
        Majority triangles to list at most.
    cluster : {"auto"}, bool, None or array_like, default "auto"
        Whether the test of the triangle inequalities draws whole subjects, as in `rum_test`.
    seed, rng : int or numpy.random.Generator, optional
        None draws one, which is kept in the result. Two names of the same: give one.
    threads : int, optional
        Number of threads.
    progress : bool, default False
        Show a line on standard error that says what is done.

    Returns
    -------
    Transitivity

    Raises
    ------
    InputError
        If an argument is not accepted, a menu has more than two items, or no pair was observed.

    Notes
    -----
    The triangle inequalities hold in every population of people with rankings, however much they disagree. Weak, moderate
    and strong transitivity say more: that majorities follow one order, as in models with one value per item and noise
    (Bradley-Terry, Thurstone). Populations with rankings need not have them.

    Without numbers of choices (shares only) there are no tests and no likelihood ratios.

    Examples
    --------
    >>> import rumflow as rf
    >>> found = rf.transitivity("datasets:tversky_1969", n_boot=99, seed=1)
    >>> found.n_triples, found.weak_pvalue < 0.05
    (10, False)
    """
    begin = time.perf_counter()
    data = as_data(data)
    if not isinstance(data, ChoiceData):
        raise InputError(f"data: choices from pairs are needed, not {type(data).__name__}")
    check_replicates(n_boot)
    check_whole(most, "most", 1)
    given, tied = data, tie_number(data.items) >= 0
    data = data.resolve_ties("half") if tied else data
    pairs, counted = count_pairs(data), has_counts(data)
    number = entropy(seed, rng)
    with Stage(progress, "the order of the items") as stage:
        found = best_order(pairs, threads)
        stage.say("triples")
        graph, length = make_pairs(pairs.first, pairs.second, pairs.n), arc_lengths(pairs.share)
        triples = find_triples(graph, length)
    observations, model = observe(given, TriangleInequalities())
    geometry, whole = find_geometry(observations, model), counts_choices(data)
    test, notes = None, []
    ratios: list[float | None] = [None] * 4
    if counted:
        plan = Plan(n_boot, tau="thinned", cluster=cluster, seed=number, model=TriangleInequalities())
        test = run_test(Source({0: given}), plan, JobOptions(threads=threads, progress=progress))
        rng = np.random.default_rng([number, 1])
        pvalue = ratio_pvalue(pairs, 2.0 * found.lower, n_boot, rng) if whole else None
        strong = strong_ratio(pairs, [found.order, order_of_shares(pairs)])
        ratios = [2.0 * found.cost, 2.0 * found.lower, pvalue, strong]
        notes = list(test.notes)
        notes += [_INDEPENDENT] if whole and test.resample == "subject" else []
        notes += [] if whole else [_FRACTIONS]
    notes += [_TIES] if tied else []
    if len(triples.cyclic) == MOST_KEPT:
        notes.append(f"Only the first {MOST_KEPT:,} majority triangles were looked at.")
    return Transitivity(
        items=data.items,
        n_pairs=len(pairs.share),
        n_triples=triples.number,
        holds={
            name: float(k) / triples.number if triples.number else float("nan")
            for name, k in zip(CONDITIONS, triples.holds, strict=True)
        },
        distance=fit_observations(observations, geometry, resources=Resources(threads)).distance,
        pvalue=None if test is None else float(test.pvalue),
        order=tuple(data.items[x] for x in found.order),
        weak_ratio=ratios[0],
        weak_ratio_lower=ratios[1],
        weak_pvalue=ratios[2],
        strong_ratio=ratios[3],
        triangles=_significance(data, pairs, triples.cyclic, triples.number, most, counted and whole),
        n_triangles=triples.number - int(triples.holds[1]),
        n_boot=0 if test is None else test.n_boot,
        seed=number,
        notes=tuple(notes),
        interrupted=test is not None and test.interrupted,
        seconds=time.perf_counter() - begin,
        pairs=pairs,
        test=test,
    )


def _significance(
    data: ChoiceData, pairs: PairCounts, cyclic: Paths, count: int, most: int, counted: bool
) -> tuple[MajorityTriangle, ...]:
    """The most significant majority triangles; without counts those with the largest majorities."""
    share = np.stack([pairs.share, 1.0 - pairs.share], axis=1).reshape(-1)
    tail = np.stack([pairs.first, pairs.second], axis=1).reshape(-1)
    least = share[cyclic].min(axis=1)
    p: Array = majority_pvalues(share, np.repeat(pairs.size, 2))[cyclic].max(axis=1) if counted else -least
    best = np.lexsort((-least, p))[:most]
    adjusted = np.minimum(np.maximum.accumulate(p[best] * (count - np.arange(len(best)))), 1.0)
    rows = []
    for k, row in enumerate(best.tolist()):
        arcs = np.roll(cyclic[row], -int(tail[cyclic[row]].argmin()))
        rows.append(
            MajorityTriangle(
                tuple(data.items[x] for x in tail[arcs].tolist()),
                tuple(share[arcs].tolist()),
                tuple(pairs.size[arcs >> 1].tolist()),
                float(p[row]) if counted else None,
                float(adjusted[k]) if counted else None,
            )
        )
    return tuple(rows)
