"""Size and power of `rum_test` over many designs: does it keep its level on the data people have?

For every design (items, choices a menu, equal or unequal samples, all menus or half of them, truth) K data sets are drawn from
one truth. A procedure tests them with one bootstrap replicate each, and the replicates of all K data sets together give the null
distribution (the warp-speed method of Giacomini, Politis and White 2013): two projections and a fit a data set instead of
hundreds. It is a screen: where null distributions differ between the data sets of a design it is too high or too low. Designs
in which the default rejects many true models are run again on fresh data sets with a bootstrap of their own each.

    python -m studies.experiments.size --out studies/results/size.csv    # goes on where it stopped; --only n=4 for a part
    python -m studies.experiments.size --procedure default --above .06 --method bootstrap --data-sets 1000 --out ...

Truths: *interior* (500 rankings), *facet* (all that avoid one edge of the lattice), *6*, *3*, *2* rankings, *opposite* (a ranking
and its reverse, half each), *one*. False models: *noise* (6 rankings, a fifth of each menu's choices at random by a rule of its
own) and *irrational* (0.7 uniform rankings, 0.3 one chooser who decides by menu).
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.lattice import Lattice
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.transforms import zeta
from rumflow.data.choices import ChoiceData
from rumflow.data.counted import Rows
from rumflow.data.menus import membership_of
from rumflow.inference.convention import Convention, find_taus
from rumflow.inference.likelihood import fit_likelihood
from rumflow.inference.pvalue import pvalue
from rumflow.inference.replicate import distances, make_replicator, thinned
from rumflow.inference.resample import CellSampler, Sampler, make_sampler
from rumflow.inference.sample import Sample, build_sample, pearson_weights
from studies.experiments.files import Row, append_csv, read_csv

LEVEL, TOL = 0.05, 1e-7
TRUE = ("interior", "facet", "6", "3", "2", "opposite", "one")
FALSE = ("noise", "irrational")


class Case(NamedTuple):
    """A design: who chooses, from which menus, how often."""

    n: int
    choices: int  # from a menu
    sizes: str  # "equal"; "third": a third of the menus have 2 to 8; "fifth", "half": so many have 1 to 3; "zipf"; `SUBJECTS`
    menus: str  # of `MENUS`
    truth: str

    @property
    def seed(self) -> int:
        """A number of its own."""
        return zlib.crc32(repr(tuple(self)).encode())


def case_of(row: Row) -> Case:
    """The design of a stored row."""
    return Case(row["n"], row["choices"], str(row["sizes"]), str(row["menus"]), str(row["truth"]))


class Procedure(NamedTuple):
    """A way to test: weights, draws, and tau = c times a rule of `Convention`, or ("log") c sqrt(log m / m), m the mean menu.

    A rule of `MEANS`: tau as if every menu had that mean of their sizes. `thin`: how far unequal menus let the fit lose types.
    Weights "likelihood": the likelihood ratio instead, with samples from the most likely model (`LikelihoodFit.lr_test`).
    """

    weights: str | None
    draws: str
    c: float
    rule: str = "thinned"
    thin: float = 0.6

    @property
    def convention(self) -> Convention:
        """What it asks of `rum_test`."""
        return Convention(weights=self.weights, draws=self.draws, thin=self.thin)


PROCEDURES = {
    "default": Procedure("counts", "null", 1.0),
    "tau = 0": Procedure("counts", "null", 0.0),
    "twice tau": Procedure("counts", "null", 2.0),
    "log rule": Procedure("counts", "null", 0.5, "log"),
    "unit weights": Procedure(None, "null", 1.0),
    "inverse variance": Procedure("inverse-variance", "null", 1.0),
    "likelihood ratio": Procedure("likelihood", "null", 0.0),
    "recentred": Procedure(None, "empirical", 1.0, "smallest"),
    "recentred, counts": Procedure("counts", "empirical", 1.0),
    "mean": Procedure("counts", "null", 1.0, "mean", 0.0),
    "arithmetic": Procedure("counts", "null", 1.0, "arithmetic", 0.0),
    "geometric": Procedure("counts", "null", 1.0, "geometric", 0.0),
    "harmonic": Procedure("counts", "null", 1.0, "harmonic", 0.0),
}

MEANS: dict[str, Callable[[Array], float]] = {
    "arithmetic": lambda m: float(m.mean()),
    "geometric": lambda m: float(np.exp(np.log(m).mean())),
    "harmonic": lambda m: float(1 / (1 / m).mean()),
}


_BY_SUBJECT = ("default", "recentred", "recentred, counts")

#: Which of the menus (as masks) are offered. "stock-outs": 15 menus, from which each item is missing one time in four.
MENUS: dict[str, Callable[[Ints, int, np.random.Generator], Ints]] = {
    "all": lambda masks, n, rng: masks,
    "half": lambda masks, n, rng: np.sort(rng.choice(masks, len(masks) // 2 + 1, replace=False)),
    "pairs": lambda masks, n, rng: masks[np.bitwise_count(masks) == 2],
    "25": lambda masks, n, rng: np.sort(rng.choice(masks[np.bitwise_count(masks) <= 6], 25, replace=False)),
    "stock-outs": lambda masks, n, rng: np.sort(rng.choice(masks, 15, replace=False, p=_in_stock(masks, n))),
}

#: How many choices a subject makes: "subjects" from three menus, "panel" one from every menu, "repeated" all from one menu.
SUBJECTS = {"subjects": 3, "panel": 1, "repeated": 5}


def _in_stock(masks: Ints, n: int) -> Array:
    """How often each menu is what is left, where each item is missing one time in four."""
    size = np.bitwise_count(masks).astype(float)
    share = 0.75**size * 0.25 ** (n - size)
    return np.asarray(share / share.sum())


def make_rankings(truth: str, n: int, rng: np.random.Generator) -> tuple[Ints, Array]:
    """A true model as rankings, best item first, and their weights."""
    if truth == "facet":
        orders = rng.permuted(np.tile(np.arange(n), (3000, 1)), axis=1)
        paths = paths_from_orders(orders)
        x, column = int(rng.integers(n)), int(rng.integers(1, max((1 << (n - 1)) - 1, 2)))
        orders = orders[paths[:, x] != column]
        return orders, np.full(len(orders), 1.0 / len(orders))
    if truth == "opposite":
        order = rng.permutation(n)
        return np.array([order, order[::-1]]), np.array([0.5, 0.5])
    count = {"interior": 500, "one": 1}.get(truth) or int(truth)
    orders = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
    return orders, rng.dirichlet(np.full(count, 1.0 if count == 500 else 2.0))


def make_truth(truth: str, n: int, rng: np.random.Generator) -> Array:
    """(2^n, n) choice probabilities of a population, true or false."""
    lattice = Lattice(n)
    inside = lattice.membership
    if truth in TRUE:
        orders, weights = make_rankings(truth, n, rng)
        return lattice.from_internal(zeta(flow_from_paths(paths_from_orders(orders), weights)))
    rule = np.where(inside, rng.exponential(size=inside.shape), 0.0)
    if truth == "noise":
        rule /= np.maximum(rule.sum(axis=1, keepdims=True), 1e-300)
        return np.asarray(0.8 * make_truth("6", n, rng) + 0.2 * rule)
    chosen = inside & (rule == rule.max(axis=1, keepdims=True))
    return np.asarray(0.7 * inside / np.maximum(inside.sum(axis=1, keepdims=True), 1) + 0.3 * chosen)


def make_design(case: Case) -> tuple[Array, Ints, ChoiceData]:
    """The truth, the masks of the menus, and data with the right sizes and no particular choices."""
    rng = np.random.default_rng(case.seed)
    rho = make_truth(case.truth, case.n, rng)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << case.n)) >= 2)
    masks = MENUS[case.menus](masks, case.n, rng)
    each = SUBJECTS.get(case.sizes, 1)
    sizes = np.full(len(masks), each * max(case.choices // each, 1))
    if case.sizes == "zipf":
        sizes = rng.permutation(np.maximum(case.choices // np.arange(1, len(masks) + 1), 1))
    share, low, high = {"third": (3, 2, 8), "fifth": (5, 1, 3), "half": (2, 1, 3)}.get(case.sizes, (0, 0, 0))
    if share:
        few = rng.choice(len(masks), max(len(masks) // share, 1), replace=False)
        sizes[few] = np.minimum(rng.integers(low, high + 1, len(few)), case.choices)
    membership = membership_of(masks, case.n)
    counts = np.where(membership, sizes[:, None] / membership.sum(axis=1, keepdims=True), np.nan)
    return rho, masks, ChoiceData(tuple(range(case.n)), membership, counts, sizes.astype(float))


def draw_samples(case: Case, count: int, fresh: int) -> tuple[ChoiceData, Array, list[ChoiceData]]:
    """A design, and `count` samples of it: (count, S) frequencies of its cells, and the data sets of subjects."""
    rho, masks, data = make_design(case)
    rng = np.random.default_rng(np.random.SeedSequence(case.seed, spawn_key=(fresh,)))
    inside = data.membership
    if case.sizes not in SUBJECTS:
        shares = np.where(inside, rho[masks], 0.0)
        shares /= shares.sum(axis=1, keepdims=True)
        drawn = rng.multinomial(data.totals.astype(int), shares, size=(count, len(masks)))
        return data, (drawn / data.totals[:, None])[:, inside], []
    takes, weights = _types(case, inside)
    menu, subject = _schedule(case, len(masks))
    sets = []
    for _ in range(count):
        who = rng.choice(len(takes), subject[-1] + 1, p=weights)
        choice = takes[who[subject], menu]
        counts = np.where(inside, 0.0, np.nan)
        np.add.at(counts, (menu, choice), 1.0)
        rows = Rows(menu.astype(np.int32), choice.astype(np.int16), np.ones(len(menu)), subject.astype(np.int32))
        sets.append(ChoiceData(data.items, inside, counts, np.nansum(counts, axis=1), rows))
    return data, np.array([s.frequencies[inside] for s in sets]), sets


def _types(case: Case, inside: Mask) -> tuple[Ints, Array]:
    """(types, menus): what each type of subject takes; and how many there are of each."""
    rng = np.random.default_rng(case.seed)
    orders, weights = make_rankings("interior" if case.truth == "irrational" else case.truth, case.n, rng)
    rank = np.argsort(orders, axis=1)
    takes = np.where(inside[None], rank[:, None, :], case.n).argmin(axis=2)
    if case.truth == "irrational":  # three subjects in ten decide menu by menu, all alike
        rule = np.where(inside, rng.exponential(size=inside.shape), 0.0).argmax(axis=1)
        takes, weights = np.vstack([takes, rule]), np.append(0.7 * weights, 0.3)
    return takes, weights


def _schedule(case: Case, menus: int) -> tuple[Ints, Ints]:
    """Menu and subject of each choice; every menu gets the same number of choices."""
    if case.sizes == "panel":
        people, each = case.choices, menus
    else:
        each = SUBJECTS[case.sizes]
        people = menus * max(case.choices // each, 1)
    step = np.zeros(each, np.int64) if case.sizes == "repeated" else np.arange(each)
    menu = (np.arange(people)[:, None] + step).reshape(-1) % menus  # subjects begin in turn
    return menu, np.repeat(np.arange(people), each)


def reject(case: Case, procedure: Procedure, count: int, fresh: int = 0) -> float:
    """The share of `count` samples that a procedure rejects at the 5 % level."""
    data, p, sets = draw_samples(case, count, fresh)
    if procedure.weights == "likelihood":
        return rejection(*_likelihood_ratios(case, data, p))
    if procedure.weights == "inverse-variance":
        return rejection(*_pearson(case, data, p, procedure))
    sample = build_sample(data, procedure.weights, procedure.convention)
    tau = find_tau(data, procedure)
    centres = find_centres(sample, p, tau)
    null = distances(sample, _replicate(case, sample, p, sets, centres[:, sample.column]), tau, TOL, threads=None)
    return rejection(distances(sample, p, 0.0, TOL, threads=None).statistic, null.statistic)


def find_centres(sample: Sample, p: Array, tau: float) -> Array:
    """(K, C): where the replicates of K data sets are drawn from."""
    fits = distances(sample, p, tau, TOL, threads=None).fits
    return np.asarray(tau * sample.centre + (1 - tau) * thinned(sample, fits, tau, sample.sizes)[0])


def with_frequencies(data: ChoiceData, p: Array) -> ChoiceData:
    """The data of a design with these frequencies of its cells."""
    return data.replace(counts=p * data.totals[data.cells.menu])


def _pearson(case: Case, data: ChoiceData, p: Array, procedure: Procedure) -> tuple[Array, Array]:
    """Statistics and one replicate each, where every data set has weights of its own."""
    counts, tau = build_sample(data, "counts", procedure.convention), find_tau(data, procedure)
    fits = distances(counts, p, 0.0, TOL).fits.fitted
    sampler = CellSampler(counts, "menu", "null")
    statistic, null = np.empty(len(p)), np.empty(len(p))
    for k, (own, fit) in enumerate(zip(p, fits, strict=True)):
        sample = replace(counts, frequency=own, weights=pearson_weights(counts, fit))
        statistic[k] = distances(sample, own[None], 0.0, TOL).statistic[0]
        null[k] = make_replicator(sample, sampler, (tau,), TOL, case.seed, (k,))(range(1)).statistic[0, 0]
    return statistic, null


def _likelihood_ratios(case: Case, data: ChoiceData, p: Array) -> tuple[Array, Array]:
    """Likelihood ratios and one replicate each, drawn from the most likely model."""
    statistic, null = np.empty(len(p)), np.empty(len(p))
    for k, own in enumerate(p):
        fit = fit_likelihood(with_frequencies(data, own), 1e-4, throw=False)
        statistic[k] = fit.lr_statistic
        null[k] = fit.lr_test(1, seed=case.seed + k, threads=1).null_distribution[0]
    return statistic, null


def reject_fully(case: Case, procedure: Procedure, count: int, n_boot: int = 99, fresh: int = 1) -> float:
    """The same with a bootstrap of its own for every sample, as `rum_test` has it."""
    data, p, sets = draw_samples(case, count, fresh)
    sample = build_sample(data, procedure.weights, procedure.convention)
    tau = find_tau(data, procedure)
    statistic = distances(sample, p, 0.0, TOL, threads=None).statistic
    if sets or procedure.draws != "null":
        null = np.empty((count, n_boot))
        for k in range(count):
            own = replace(sample, frequency=p[k])
            sampler = make_sampler(own, [sets[k] if sets else data], "cluster" if sets else "menu", bool(sets) or None)
            null[k] = make_replicator(own, sampler, (tau,), TOL, k)(range(n_boot)).statistic[0]
    else:
        null = _null_draws(case, sample, data, p, tau, n_boot)
    return float(np.mean([pvalue(float(own), row, 1e-9) <= LEVEL for own, row in zip(statistic, null, strict=True)]))


def _null_draws(case: Case, sample: Sample, data: ChoiceData, p: Array, tau: float, n_boot: int) -> Array:
    """(K, B) replicates drawn from the tightened fits of K data sets, in stacks: several times as fast as one by one."""
    rng = np.random.default_rng(np.random.SeedSequence(case.seed, spawn_key=(98,)))
    inside, null = data.membership, np.empty((len(p), n_boot))
    for k in range(0, len(p), 100):
        few = p[k : k + 100]
        shares = np.zeros((len(few), *inside.shape))
        shares[:, inside] = find_centres(sample, few, tau)
        shares = np.maximum(shares, 0.0)
        shares /= shares.sum(axis=2, keepdims=True)
        drawn = rng.multinomial(data.totals.astype(int), shares[:, None], size=(len(few), n_boot, len(inside)))
        stack = (drawn / data.totals[:, None])[:, :, inside].reshape(len(few) * n_boot, -1)
        null[k : k + 100] = distances(sample, stack, tau, TOL, threads=None).statistic.reshape(len(few), n_boot)
    return null


def find_tau(data: ChoiceData, procedure: Procedure) -> float:
    """The tau of a procedure."""
    if procedure.rule == "log":
        m = max(float(data.totals.mean()), 3.0)
        return procedure.c * float(np.sqrt(np.log(m) / m))
    rule, n_independent = procedure.rule, data.totals
    if rule in MEANS:
        rule, n_independent = "mean", np.full(len(n_independent), MEANS[rule](n_independent))
    sample = build_sample(data, procedure.weights if procedure.weights != "likelihood" else None, procedure.convention)
    unequal = sample.unequal(n_independent)
    found = find_taus(rule, n_independent, data.membership.sum(axis=1), procedure.convention, unequal)[0]
    return min(procedure.c * found, 0.95)


def rejection(statistic: Array, null: Array) -> float:
    """The share of statistics whose p-value among all replicates is at most the level."""
    reached = len(null) - np.searchsorted(np.sort(null), statistic * (1 - 1e-6) - 1e-9)
    return float(((1 + reached) / (1 + len(null)) <= LEVEL).mean())


def _replicate(case: Case, sample: Sample, p: Array, sets: Sequence[ChoiceData], centres: Array) -> Array:
    """One replicate of every data set around its own centre."""
    drawn = np.empty_like(p)
    whole: Sampler | None = None
    for k, centre in enumerate(centres):
        generator = np.random.default_rng(np.random.SeedSequence(case.seed, spawn_key=(99, k)))
        own = replace(sample, frequency=p[k])
        if sets:
            sampler = make_sampler(own, [sets[k]], "cluster", True)
        elif sample.convention.draws == "null":
            sampler = whole = whole or CellSampler(own, "menu", "null")
        else:
            sampler = CellSampler(own, "menu", "empirical")
        drawn[k] = sampler.draw([generator], centre)[0]
    return np.where(np.isnan(drawn), centres, drawn)  # a menu that vanished has no noise


def all_cases() -> list[Case]:
    """True models first, then false ones."""
    sizes = ("equal", "third", "fifth", "half")
    cases = [Case(*c) for c in product((3, 4, 5, 6), (5, 20, 50, 200), sizes, ("all", "half"), TRUE)]
    cases = [c for c in cases if not (c.n == 6 and c.menus == "half" and c.sizes in ("fifth", "third"))]
    cases += [Case(n, s, "subjects", "all", t) for n, s, t in product((3, 4, 5), (6, 21, 51, 201), TRUE)]
    cases += [
        Case(*c) for c in product((3, 4, 5, 6), (20, 50, 200), ("equal", "third", "half"), ("all", "half"), FALSE)
    ]
    return cases


def run_size(
    path: Path,
    cases: Iterable[Case],
    names: Sequence[str],
    count: int,
    seconds: float = np.inf,
    method: str = "screen",
) -> None:
    """Append the rejection rates of cases that are not in the file by this method: a key of `METHODS`."""
    stored = read_csv(path) if path.exists() else []
    done = {(*(str(r[f]) for f in Case._fields), r["procedure"]) for r in stored if r["method"] == method}
    begin = time.monotonic()
    for case in cases:
        for name in names:
            if (case.sizes == "subjects" and name not in _BY_SUBJECT) or (*map(str, case), name) in done:
                continue
            if time.monotonic() - begin > seconds:
                return
            rate = METHODS[method](case, PROCEDURES[name], count)
            row: Row = {**case._asdict(), "procedure": name, "method": method, "data_sets": count}
            append_csv(path, row | {"rejected": round(rate, 5)})


#: How a rate is found, the most reliable last: by one replicate a data set, by the same on fresh data sets, by a bootstrap of
#: each fresh data set, and by that on data sets which nobody saw while the rule for tau was chosen.
METHODS: dict[str, Callable[[Case, Procedure, int], float]] = {
    "screen": reject,
    "screen again": lambda case, procedure, count: reject(case, procedure, count, fresh=1),
    "bootstrap": reject_fully,
    "bootstrap again": lambda case, procedure, count: reject_fully(case, procedure, count, fresh=20),
}


def cases_above(path: Path, allowed: float) -> list[Case]:
    """The true models that the default rejected at least so often in a screen, the worst first."""
    worst: dict[Case, float] = {}
    for r in read_csv(path):
        if r["procedure"] == "default" and r["method"] != "bootstrap" and str(r["truth"]) in TRUE:
            case = case_of(r)
            worst[case] = max(worst.get(case, 0.0), float(r["rejected"]))
    return sorted((case for case, rate in worst.items() if rate >= allowed), key=lambda case: -worst[case])


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.size", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--out", type=Path, default=Path("results/size.csv"), metavar="FILE")
    parser.add_argument(
        "--only", action="append", default=[], metavar="FIELD=VALUE", help="such as n=4 or truth=opposite"
    )
    parser.add_argument("--procedure", action="append", choices=list(PROCEDURES), help="default: all of them")
    parser.add_argument("--data-sets", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no further case after this long")
    parser.add_argument("--method", choices=list(METHODS), default="screen")
    parser.add_argument(
        "--above", type=float, metavar="RATE", help="only cases that a screen of the file has from here"
    )
    arguments = parser.parse_args(argv)
    wanted = [text.split("=") for text in arguments.only]
    cases = all_cases() if arguments.above is None else cases_above(arguments.out, arguments.above)
    cases = [c for c in cases if all(str(getattr(c, field)) in value.split(",") for field, value in wanted)]
    names = arguments.procedure or list(PROCEDURES)
    run_size(arguments.out, cases, names, arguments.data_sets, arguments.seconds, arguments.method)


if __name__ == "__main__":
    main()
