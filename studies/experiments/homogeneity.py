"""How often the test of homogeneity calls groups different: those that are alike (size), and those that are not (power).

Groups choose from all menus of four items, 20 choices each, two groups also 100. *Unequal*: the first group has as many, the
others a fifth of that. Populations are those of `size.py`, true and false models. Alike: all groups have the same one.
Different: each has its own, mixed half and half with a common one. Every data set has a bootstrap of its own, 99 replicates
at the 5 % level, as `compare_groups` has it.

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

from rumflow.core.arrays import Array, Mask
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


def rejections(populations: str, truth: str, groups: int, choices: int, sizes: str, count: int) -> Row:
    """The share of `count` data sets of a design in which the groups are called different; other counts, other data sets."""
    number = zlib.crc32(repr((populations, truth, groups, choices, sizes)).encode())
    rng = np.random.default_rng(number)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << N)) >= 2)
    inside = membership_of(masks, N)
    common = make_truth(truth, N, rng)[masks]
    shares = np.array([common] * groups)
    if populations == "different":
        shares = np.array([0.5 * common + 0.5 * make_truth(truth, N, rng)[masks] for _ in range(groups)])
    rng = np.random.default_rng([number, count])
    shares = np.where(inside, shares, 0.0)
    shares /= shares.sum(axis=2, keepdims=True)
    totals = [choices if sizes == "equal" or g == 0 else choices // 5 for g in range(groups)]
    drawn = [rng.multinomial(total, own, size=(count, len(masks))) for total, own in zip(totals, shares, strict=True)]
    data = {g: _data(inside, drawn[g][0], totals[g]) for g in range(groups)}
    sample = build_sample(data, "counts", Convention())
    p = np.concatenate([(own / total)[:, inside] for own, total in zip(drawn, totals, strict=True)], axis=1)
    assert np.allclose(p[0], sample.frequency)
    found = [_pvalue(replace(sample, frequency=own), k) for k, own in enumerate(p)]
    return {
        "populations": populations,
        "truth": truth,
        "groups": groups,
        "choices": choices,
        "sizes": sizes,
        "data_sets": count,
        "rejected": round(float((np.array(found) <= LEVEL).mean()), 4),
    }


def _data(inside: Mask, counts: Array, total: int) -> ChoiceData:
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
    parser.add_argument("--data-sets", type=int, default=250)
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
        row = rejections(*case, arguments.data_sets)
        append_csv(path, row | origin())
        print(row, flush=True)


if __name__ == "__main__":
    main()
