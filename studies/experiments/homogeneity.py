"""How often the test of homogeneity calls groups different: those that are alike (size), and those that are not (power).

Groups choose from all menus of four items, 20 choices each, two groups also 100. *Unequal*: the first group has as many, the
others a fifth of that. Populations are those of `size.py`, true and false models. Alike: all groups have the same one.
Different: each has its own, mixed half and half with a common one; `DRAWS` such sets of populations, the same for all choices
and sizes, have the same number of data sets each. Every data set has a bootstrap of its own, 99 replicates at the 5 % level, as
`compare_groups` has it.

    python -m studies.experiments.homogeneity --out studies/results/homogeneity.csv    # goes on where it stopped
    python -m studies.experiments.homogeneity --out studies/results/homogeneity.csv --above .06 --data-sets 1000    # once more
"""

from __future__ import annotations

import argparse
import zlib
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.data.choices import ChoiceData
from rumflow.data.menus import membership_of
from rumflow.inference.convention import Convention
from rumflow.inference.homogeneity import ExcessReplicator, common_population, excess
from rumflow.inference.pvalue import pvalue
from rumflow.inference.resample import CellSampler
from rumflow.inference.sample import Sample, build_sample
from studies.experiments.files import Row, append_csv, origin, read_csv
from studies.experiments.size import make_truth

N, LEVEL, N_BOOT, TOL = 4, 0.05, 99, 1e-7
GROUPS, CHOICES, SIZES = (2, 3, 6), (20, 100), ("equal", "unequal")
TRUTHS = ("interior", "6", "opposite", "noise", "irrational")
POPULATIONS = ("alike", "different")
DATA_SETS = {"alike": 250, "different": 500}
DRAWS = 10  # sets of different populations behind a rate


def make_populations(populations: str, truth: str, groups: int, number: int) -> Array:
    """(draws, groups, menus, N): the shares of each group; `number` decides those of groups that are alike."""
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << N)) >= 2)
    inside = membership_of(masks, N)
    if populations == "alike":
        shares = np.array([[make_truth(truth, N, np.random.default_rng(number))[masks]] * groups])
    else:
        # Neither choices nor sizes have a part in this: columns of the table differ by the sample alone.
        rng = np.random.default_rng(zlib.crc32(repr((populations, truth, groups)).encode()))
        truths = np.array([[make_truth(truth, N, rng)[masks] for _ in range(groups + 1)] for _ in range(DRAWS)])
        shares = 0.5 * truths[:, :1] + 0.5 * truths[:, 1:]
    shares = np.where(inside, shares, 0.0)
    return np.asarray(shares / shares.sum(axis=3, keepdims=True), np.float64)


def rejections(populations: str, truth: str, groups: int, choices: int, sizes: str, count: int) -> Row:
    """The share of `count` data sets of a design in which the groups are called different; other counts, other data sets."""
    number = zlib.crc32(repr((populations, truth, groups, choices, sizes)).encode())
    rng = np.random.default_rng([number, count])
    inside = membership_of(np.flatnonzero(np.bitwise_count(np.arange(1 << N)) >= 2), N)
    totals = [choices if sizes == "equal" or g == 0 else choices // 5 for g in range(groups)]
    found: list[float] = []
    drawn = make_populations(populations, truth, groups, number)
    for k, shares in enumerate(drawn):
        own = count * (k + 1) // len(drawn) - count * k // len(drawn)
        found += _pvalues(_draw(rng, inside, shares, totals, own), inside, totals, len(found))
    return {
        "populations": populations,
        "truth": truth,
        "groups": groups,
        "choices": choices,
        "sizes": sizes,
        "data_sets": count,
        "rejected": round(float((np.array(found) <= LEVEL).mean()), 4),
    }


def _draw(rng: np.random.Generator, inside: Mask, shares: Array, totals: list[int], count: int) -> list[Ints]:
    """For each group (count, menus, N) choices."""
    return [rng.multinomial(total, own, size=(count, len(inside))) for total, own in zip(totals, shares, strict=True)]


def _pvalues(drawn: list[Ints], inside: Mask, totals: list[int], first: int) -> list[float]:
    """Those of data sets of one set of populations, with seeds from `first` on."""
    if not len(drawn[0]):
        return []
    sample = build_sample(
        {g: _data(inside, own[0], total) for g, (own, total) in enumerate(zip(drawn, totals, strict=True))},
        "counts",
        Convention(),
    )
    p = np.concatenate([(own / total)[:, inside] for own, total in zip(drawn, totals, strict=True)], axis=1)
    assert np.allclose(p[0], sample.frequency)
    return [_pvalue(replace(sample, frequency=own), first + k) for k, own in enumerate(p)]


def _data(inside: Mask, counts: Ints, total: int) -> ChoiceData:
    return ChoiceData(tuple(range(N)), inside, np.where(inside, counts, np.nan), np.full(len(inside), float(total)))


def _pvalue(sample: Sample, seed: int) -> float:
    """What `compare_groups` finds on this sample."""
    sampler = CellSampler(sample, "menu", "null")
    centre, start = common_population(sample, sampler, TOL, seed)
    replicator = ExcessReplicator(sample, sampler, (0.0,), centre[None], (start,), TOL, seed)
    observed = excess(sample, sample.frequency[None], TOL)
    return pvalue(float(observed.statistic[0]), replicator(range(N_BOOT)).statistic[0], float(observed.rounding[0]))


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.homogeneity", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--out", type=Path, default=Path("results/homogeneity.csv"), metavar="FILE")
    parser.add_argument("--data-sets", type=int, help="default: 250 of groups alike, 500 of others")
    parser.add_argument(
        "--above", type=float, metavar="RATE", help="only groups alike that the file has above, once more"
    )
    arguments = parser.parse_args(argv)
    path: Path = arguments.out
    stored = read_csv(path) if path.exists() else []
    names = ("populations", "truth", "groups", "choices", "sizes")
    known = {tuple(str(row[name]) for name in names): float(row["rejected"]) for row in stored}
    for case in product(POPULATIONS, TRUTHS, GROUPS, CHOICES, SIZES):
        rate = known.get(tuple(map(str, case)))
        if case[2] != 2 and (case[0] == "different" or case[3] != CHOICES[0]):
            continue
        if (
            rate is not None
            if arguments.above is None
            else case[0] != "alike" or rate is None or rate <= arguments.above
        ):
            continue
        row = rejections(*case, arguments.data_sets or DATA_SETS[case[0]])
        append_csv(path, row | origin())
        print(row, flush=True)


if __name__ == "__main__":
    main()
