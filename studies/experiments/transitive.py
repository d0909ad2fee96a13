"""How often the test of the triangle inequalities and the p-value of weak transitivity reject: true populations, planted cycles.

Pairs are drawn at random among 6, 30 or 300 items, all of them, half, or few (in one piece), with 5, 20 or 50 choices each.
Populations: Bradley and Terry, Thurstone (both with normal worths), a mixture of five rankings, one in which every pair is
*even*, and *tied*: normal utilities rounded to whole numbers, equal ones a tie, which is an outcome of its own. All of these
obey the triangle inequalities, and all but the rankings are weakly transitive. *Condorcet*: even, but for a third as many
triangles as items, none of which share an item, in which each item is taken by two of three against the next. It is the mixture
of rankings that go around each triangle, and every such triangle inequality binds. *Planted*: Bradley and Terry with one triangle
in which each item is taken by 85 % against the next. *Cycles*: the same with as many such triangles as Condorcet has.

The test has 99 replicates for each data set of 6 items, and where these have 5 choices as many with tau = 0, which tells what
the tightening costs. For more items each data set has one replicate, and the level is that of the 95 % quantile of all
replicates of the design (a screen: Giacomini, Politis and White 2013). For 5,000 pairs the least likelihood ratio of weak
transitivity takes up to a minute; there the ratio of the order by mean shares takes its place, which is no smaller and so
rejects at least as often.

    python -m studies.experiments.transitive --out studies/results/transitive.csv      # goes on where it stopped
"""

from __future__ import annotations

import argparse
import time
import zlib
from itertools import combinations, product
from math import erf, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.core.menus import Menus
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import TIE
from rumflow.inference.plan import JobOptions, Plan
from rumflow.inference.source import Source
from rumflow.inference.test import run_test
from rumflow.inference.weak_order import PairCounts, best_order, count_pairs, order_of_shares, ratio_pvalue
from rumflow.models.triangle_inequalities import TriangleInequalities
from studies.experiments.files import Row, append_csv, origin, read_csv

LEVEL, N_BOOT, MAJORITY = 0.05, 99, 0.85
DESIGNS = {6: (15, 8, 6), 30: (435, 218, 60), 300: (600, 5000)}
DRAWS = (5, 20, 50)
PLANTED = ("planted", "cycles")
MANY = ("cycles", "condorcet")  # populations with as many triangles as fit without a common item
INTRANSITIVE = ("rankings", "condorcet")  # true populations of which majorities need not follow an order
TRUTHS = ("bradley-terry", "thurstone", "rankings", "even", "tied", *PLANTED, "condorcet")
#: Data sets of a design by its items, and of those with many pairs, whose projections take up to two seconds.
DATA_SETS = {6: 200, 30: 200, 300: 100}
FEW, LARGE = 60, 3000


class Population(NamedTuple):
    """Compared pairs, and the shares of the first item, of the second, and of a tie."""

    n: int
    a: Ints
    b: Ints
    shares: Array  # (m, 3)


def make_population(truth: str, n: int, m: int, rng: np.random.Generator) -> Population:
    """m pairs of n items in one piece, as far as m allows, and what the population says of them."""
    a, b = np.triu_indices(n, 1)
    order = rng.permutation(n)
    circle = np.sort(np.stack([order, np.roll(order, -1)], axis=1), axis=1)  # every item is compared
    number = {(u, v): e for e, (u, v) in enumerate(zip(a.tolist(), b.tolist(), strict=True))}
    planted = [sorted(order[3 * k : 3 * k + 3].tolist()) for k in range(n // 3 if truth in MANY else 1)]
    triangles = [number[u, v] for triple in planted for u, v in combinations(triple, 2)]
    first = np.array(list(dict.fromkeys([*triangles, *(number[u, v] for u, v in circle.tolist())])))[:m]
    rest = np.setdiff1d(np.arange(len(a)), first)
    kept = np.sort(np.concatenate([first, rng.choice(rest, m - len(first), replace=False)]).astype(np.int64))
    a, b = a[kept], b[kept]
    worth = rng.normal(size=n)
    tie = np.zeros(m)
    if truth == "thurstone":
        p = np.array([0.5 + 0.5 * erf(x / 2) for x in worth[a] - worth[b]])
    elif truth == "rankings":
        place = np.argsort(rng.random((5, n)), axis=1)
        p = np.average(place[:, a] < place[:, b], axis=0, weights=rng.dirichlet(np.ones(5)))
    elif truth in ("even", "condorcet"):
        p = np.full(m, 0.5)
    elif truth == "tied":
        grid = np.arange(-8, 10) - 0.5
        below = np.array([[0.5 + 0.5 * erf((g - x) / sqrt(2)) for g in grid] for x in worth])
        at = np.diff(below, axis=1)  # (n, values)
        tie = (at[a] * at[b]).sum(axis=1)
        p = (at[a] * (np.cumsum(at[b], axis=1) - at[b])).sum(axis=1)
    else:
        p = 1 / (1 + np.exp(worth[b] - worth[a]))
    majority = 2 / 3 if truth == "condorcet" else MAJORITY
    for x, y, z in planted if truth in (*PLANTED, "condorcet") else []:
        for u, v, share in ((x, y, majority), (y, z, majority), (x, z, 1 - majority)):
            p[(a == u) & (b == v)] = share
    return Population(n, a, b, np.stack([p, 1 - p - tie, tie], axis=1).clip(0))


def draw(population: Population, draws: int, rng: np.random.Generator) -> ChoiceData:
    """Choices from every pair."""
    n, a, b, shares = population
    m, tied = len(a), bool(shares[:, 2].any())
    width = 3 if tied else 2
    counts = rng.multinomial(draws, shares / shares.sum(axis=1, keepdims=True))[:, :width].astype(np.float64)
    items = np.stack([a, b, np.full(m, n)], axis=1)[:, :width]
    menus, cell = Menus.from_cells(np.repeat(np.arange(m), width), items.reshape(-1), m, n + tied)
    count = np.empty(len(cell))
    count[cell] = counts.reshape(-1)
    labels = (*range(n), TIE) if tied else tuple(range(n))
    return ChoiceData.from_cells(labels, menus, count, np.full(m, float(draws)))


def rejections(truth: str, n: int, m: int, draws: int, count: int) -> Row:
    """The share of `count` data sets of a design that each test rejects; empty where it is not measured."""
    rng = np.random.default_rng(zlib.crc32(repr((truth, n, m, draws)).encode()))
    begin = time.process_time()
    population = make_population(truth, n, m, rng)
    screen, loose = n > 6, n <= 6 and draws == DRAWS[0]
    tests, weak = [], []
    for k in range(count):
        data = draw(population, draws, rng)
        tau = ("thinned", 0.0) if loose else "thinned"
        plan = Plan(1 if screen else N_BOOT, tau=tau, cluster=False, seed=k, model=TriangleInequalities())
        tests.append(run_test(Source({0: data}), plan, JobOptions(threads=1)))
        if truth not in INTRANSITIVE:
            pairs = count_pairs(data)
            weak.append(ratio_pvalue(pairs, weak_ratio(pairs), 199, np.random.default_rng(k)) <= LEVEL)
    statistic = np.array([test.statistic for test in tests])
    if screen:  # a statistic of 0 is never rejected
        limit = np.quantile([test.null_distribution[0] for test in tests], 1 - LEVEL)
        rejected = [(statistic > max(float(limit), 1e-9)).mean()]
    else:
        rejected = (np.array([test.pvalues for test in tests]) <= LEVEL).mean(axis=0)
    return {
        "truth": truth,
        "n": n,
        "pairs": m,
        "draws": draws,
        "data_sets": count,
        "method": "screen" if screen else "bootstrap",
        "rejected": round(float(rejected[0]), 4),
        "rejected_tau_0": round(float(rejected[1]), 4) if loose else "",
        "violated": round(float((statistic > 1e-9).mean()), 4),
        "weak_rejected": round(float(np.mean(weak)), 4) if weak else "",
        "cpu_seconds": round(time.process_time() - begin, 1),
    }


def weak_ratio(pairs: PairCounts) -> float:
    """What is certified of the least likelihood ratio of weak transitivity; that of the order by shares, for many pairs."""
    if len(pairs.share) < LARGE:
        return 2.0 * best_order(pairs, 1).lower
    return 2.0 * pairs.majorities.price(np.argsort(order_of_shares(pairs)))


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.transitive", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--out", type=Path, default=Path("results/transitive.csv"), metavar="FILE")
    parser.add_argument("--data-sets", type=int, help="of every design; default 200, fewer for many items")
    arguments = parser.parse_args(argv)
    path: Path = arguments.out
    stored = read_csv(path) if path.exists() else []
    known = {tuple(str(row[name]) for name in ("truth", "n", "pairs", "draws")) for row in stored}
    for n, truth, draws in product(DESIGNS, TRUTHS, DRAWS):
        for m in DESIGNS[n]:
            if (truth, str(n), str(m), str(draws)) in known:
                continue
            count = arguments.data_sets or (FEW if m > LARGE else DATA_SETS[n])
            row = rejections(truth, n, m, draws, count)
            append_csv(path, row | origin())
            print(row, flush=True)


if __name__ == "__main__":
    main()
