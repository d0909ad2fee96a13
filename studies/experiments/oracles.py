"""Where true models rejected too often come from: facets that the centre misses, or noise that it gets wrong?

A replicate is a centre and noise around it. With an oracle who knows the truth each of the two can be taken from the truth: its
*facets*, by measuring samples around the tightened truth tau r + (1 - tau) rho, and its *noise*, by drawing choices from rho and
moving them. Every data set has a bootstrap of its own, as `rum_test` has it; all variants get the same data sets.

    python -m studies.experiments.oracles --out studies/results/oracles.csv    # goes on where it stopped
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.inference.pvalue import pvalue
from rumflow.inference.replicate import distances
from rumflow.inference.sample import Sample, build_sample
from studies.experiments.files import append_csv, read_csv
from studies.experiments.size import LEVEL, PROCEDURES, TOL, Case, draw_samples, find_centres, find_tau, make_design

CASES = [
    Case(4, 200, "third", "half", "opposite"),
    Case(4, 20, "equal", "half", "opposite"),
    Case(4, 20, "fifth", "half", "opposite"),
]

#: Facets and noise of the replicates: of the centre without thinning, the thinned one, or the truth.
VARIANTS = {
    "mean": ("mean", "mean"),
    "facets": ("truth", "mean"),
    "noise": ("mean", "truth"),
    "both": ("truth", "truth"),
    "default": ("default", "default"),
}

FRESH = 42  # data sets of their own
_AT_ONCE = 100


def oracle_rates(case: Case, count: int, n_boot: int = 99) -> dict[str, float]:
    """The share of data sets rejected at the 5 % level, by variant."""
    rho, masks, data = make_design(case)
    inside, sizes = data.membership, data.totals.astype(np.int64)
    p = draw_samples(case, count, FRESH)[1]
    truth = np.where(inside, rho[masks], 0.0)[inside]
    samples = {name: build_sample(data, "counts", PROCEDURES[name].convention) for name in ("mean", "default")}
    taus = {name: find_tau(data, PROCEDURES[name]) for name in samples}
    statistic = distances(samples["mean"], p, 0.0, TOL, threads=None).statistic
    rates = {}
    for name, (facets, noise) in VARIANTS.items():
        rng = np.random.default_rng(np.random.SeedSequence(case.seed, spawn_key=(97,)))
        own = "default" if name == "default" else "mean"
        sample, tau, rejected = samples[own], taus[own], 0
        for k in range(0, count, _AT_ONCE):
            centre = find_centres(sample, p[k : k + _AT_ONCE], tau)
            around = tau * sample.centre + (1 - tau) * truth + 0 * centre if facets == "truth" else centre
            source = truth + 0 * centre if noise == "truth" else centre
            drawn = _draw(rng, source, inside, sizes, n_boot) - source[:, None] + around[:, None]
            null = _statistics(sample, drawn, tau)
            pairs = zip(statistic[k : k + _AT_ONCE], null, strict=True)
            rejected += sum(pvalue(float(one), row, 1e-9) <= LEVEL for one, row in pairs)
        rates[name] = rejected / count
    return rates


def _draw(rng: np.random.Generator, source: Array, inside: Mask, sizes: Ints, n_boot: int) -> Array:
    """(K, B, C): frequencies of samples drawn from (K, C) probabilities."""
    shares = np.zeros((len(source), *inside.shape))
    shares[:, inside] = np.maximum(source, 0.0)
    shares /= shares.sum(axis=2, keepdims=True)
    drawn = rng.multinomial(sizes, shares[:, None], size=(len(source), n_boot, len(inside)))
    return np.asarray((drawn / sizes[:, None])[:, :, inside])


def _statistics(sample: Sample, drawn: Array, tau: float) -> Array:
    stack = drawn.reshape(-1, drawn.shape[2])
    return distances(sample, stack, tau, TOL, threads=None).statistic.reshape(drawn.shape[:2])


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.oracles", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--out", type=Path, default=Path("results/oracles.csv"), metavar="FILE")
    parser.add_argument("--data-sets", type=int, default=4000)
    arguments = parser.parse_args(argv)
    stored = read_csv(arguments.out) if arguments.out.exists() else []
    done = {tuple(str(row[field]) for field in Case._fields) for row in stored}
    for case in CASES:
        if tuple(map(str, case)) in done:
            continue
        rates = {name: round(rate, 5) for name, rate in oracle_rates(case, arguments.data_sets).items()}
        append_csv(arguments.out, case._asdict() | {"data_sets": arguments.data_sets} | rates)


if __name__ == "__main__":
    main()
