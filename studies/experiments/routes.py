"""Do the lattice of all menus and the graph of the observed ones give the same answers? Random incomplete problems.

    python -m studies.experiments.routes --number 500 --seed 0 [--tests 50]

Weights are none, the sample sizes, or random over four orders of magnitude; a third of the problems have cells that were not
recorded. Compared are objectives (relative), the fitted cells that count, and for some of them the p-values of a test with the
same draws. The exit code is 1 where a pair differs by more than the limits.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import rumflow as rf
from rumflow.core.arrays import Array

OBJECTIVE, CELL = 1e-9, 1e-7
TOL = 1e-13


def random_problem(rng: np.random.Generator) -> tuple[rf.ChoiceData, str | Array | None]:
    """Choices from a mixture of rankings, plain or with noise, out of random menus; and weights."""
    n = int(rng.integers(3, 11))
    most = 2**n - n - 1
    number = int(rng.integers(2, max(3, min(most, 120))))
    masks = rng.choice(np.flatnonzero(np.bitwise_count(np.arange(1 << n)) >= 2), min(number, most), replace=False)
    member = (np.sort(masks)[:, None] >> np.arange(n) & 1).astype(bool)
    place = np.array([rng.permutation(n) for _ in range(int(rng.integers(1, 30)))])
    best = np.where(member[None], place[:, None], n).argmin(axis=2)  # (rankings, menus)
    share = np.zeros(member.shape)
    for row, weight in zip(best, rng.dirichlet(np.ones(len(best))), strict=True):
        share[np.arange(len(row)), row] += weight
    noise = float(rng.choice([0.0, 0.1, 1.0]))
    share = (1 - noise) * share + noise * member / member.sum(axis=1, keepdims=True)
    sizes = rng.integers(1, 300, len(member))
    counts = np.where(
        member, [rng.multinomial(size, row / row.sum()) for size, row in zip(sizes, share, strict=True)], np.nan
    )
    if rng.random() < 1 / 3:
        hidden = member & (rng.random(member.shape) < 0.2)
        hidden[hidden.sum(axis=1) == member.sum(axis=1)] = False
        counts[hidden] = np.nan
    data = rf.ChoiceData(tuple(range(n)), member, counts, sizes.astype(float))
    weights: str | Array | None = (
        None,
        "counts",
        np.where(np.isnan(counts), 0.0, 10.0 ** rng.uniform(-2, 2, member.shape)),
    )[int(rng.integers(3))]
    return data, weights


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=500, help="problems (default 500)")
    parser.add_argument("--tests", type=int, default=50, help="of them with a test of 19 replicates (default 50)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    worst = {"objective": 0.0, "cells": 0.0}
    different = 0
    for k in range(given.number):
        data, weights = random_problem(np.random.default_rng([given.seed, k]))
        spread = weights if weights is None or isinstance(weights, str) else _on_lattice(data, weights)
        graph = rf.project(data, weights, tol=TOL, route="graph", throw=False)
        lattice = rf.project(data, spread, tol=TOL, route="lattice", throw=False)
        apart = abs(graph.objective - lattice.objective)
        floor = graph.certificate.floor + lattice.certificate.floor
        relative = 0.0 if apart <= floor else apart / max(graph.objective, lattice.objective)
        cells = float(np.nanmax(np.abs(np.where(np.isnan(data.counts), np.nan, graph.fitted - lattice.fitted))))
        worst = {"objective": max(worst["objective"], relative), "cells": max(worst["cells"], cells)}
        wrong = relative > OBJECTIVE or cells > CELL
        if k < given.tests:
            both = [rf.rum_test(data, 19, seed=k, route=route).pvalue for route in ("graph", "lattice")]
            wrong |= both[0] != both[1]
        if wrong:
            different += 1
            print(f"problem {k}: objectives {relative:.1e} apart, cells {cells:.1e}", flush=True)
    print(
        f"{given.number} problems, {given.tests} tests: {different} differ; worst objective {worst['objective']:.1e} "
        f"relative, worst cell {worst['cells']:.1e}"
    )
    sys.exit(1 if different else 0)


def _on_lattice(data: rf.ChoiceData, weights: Array) -> Array:
    """Weights of the observed menus as an array of all menus."""
    array = np.zeros((1 << data.n, data.n))
    array[data.masks] = weights
    return array


if __name__ == "__main__":
    main()
