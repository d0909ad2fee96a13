"""Coverage and width of the confidence intervals of `bounds`, for menus that were not offered.

`--interval` says which intervals: "profile", the default, or "distance". The truth has 500 rankings (*interior*), 6 or 3, in five
draws each; two thirds of the menus were offered. What is asked for is a cell of a menu not offered, a difference of two of its
cells, and its revenue with prices 1, 2, 3, ... An interval covers the true value when that value is not rejected, so no interval
has to be searched: K data sets are tested at the true value with one replicate each, all replicates together being the null
distribution (as in `size.py`). Widths come from a few intervals of the first draw, found in full. `intervals.py` has larger
designs. `--shares` measures, for populations of 6 and 3 rankings, what other shares of the level would cover than the
`SHARE` that intervals by profile take.

    python -m studies.experiments.coverage --out studies/results/coverage.csv
    python -m studies.experiments.coverage --out studies/results/coverage.csv --below .8925 --data-sets 2000    # once more
    python -m studies.experiments.coverage --shares --out studies/results/coverage_shares.csv
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rumflow.core.arrays import Array
from rumflow.data.choices import ChoiceData
from rumflow.data.menus import membership_of
from rumflow.inference.bounds import bounds
from rumflow.inference.confidence import INTERVALS, interval_tau
from rumflow.inference.convention import Convention
from rumflow.inference.profile import SHARE
from rumflow.inference.replicate import distances
from rumflow.inference.resample import CellSampler
from rumflow.inference.restricted import Restricted
from rumflow.inference.sample import Sample, build_sample
from studies.experiments.files import Row, append_csv, origin, read_csv
from studies.experiments.size import make_truth

CONFIDENCE = 0.9
DRAWS = 5
KINDS = ("cell", "difference", "revenue")
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the level


class Case(NamedTuple):
    """A design of the study."""

    n: int
    choices: int
    truth: str
    kind: str
    draw: int
    interval: str = "profile"


class Tested(NamedTuple):
    """Samples of a population, tested at the true value."""

    data: list[ChoiceData]
    functional: dict[tuple[tuple[int, ...], int], float]
    range: float  # of the functional
    pvalue: Array  # of each sample


def coverage(case: Case, count: int = 400, widths: int = 3) -> Row:
    """The share of samples whose interval covers the truth, and the mean width of a few intervals and of their sharp bounds."""
    tested = try_truth(case, count)
    share = SHARE if case.interval == "profile" else 1.0
    how: dict[str, Any] = {"confidence": CONFIDENCE, "n_boot": 99, "seed": 0, "interval": case.interval}
    found = [bounds(one, functional=tested.functional, **how) for one in tested.data[:widths]]
    width = [float(np.ptp(np.array([b.confidence_lower, b.confidence_upper], float))) for b in found]
    own = case._asdict()
    kind = own.pop("interval")
    return {
        **own,
        "data_sets": count,
        "covered": _covered(tested.pvalue, share),
        "range": round(tested.range, 4),
        "width": round(float(np.nanmean(width)), 4) if width else "",
        "sharp_width": round(float(np.mean([b.upper[0] - b.lower[0] for b in found])), 4) if found else "",
        "interval": kind,
    }


def coverage_by_share(case: Case, count: int = 400) -> Row:
    """The share of samples whose interval covers the truth, by the share of the level that is used."""
    pvalue = try_truth(case, count).pvalue
    return {**case._asdict(), "data_sets": count, **{f"share_{s:g}": _covered(pvalue, s) for s in SHARES}}


def _covered(pvalue: Array, share: float) -> float:
    return round(float((pvalue / share > 1 - CONFIDENCE + 1e-12).mean()), 4)


def try_truth(case: Case, count: int) -> Tested:
    """Samples of the population of a case, and the p-values of its true value."""
    n, choices, truth, kind, draw, interval = case
    rng = np.random.default_rng([n, choices, len(truth), KINDS.index(kind), draw])
    rho = make_truth(truth, n, rng)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << n)) >= 2)
    asked = int(rng.choice(masks[np.bitwise_count(masks) >= 3]))
    offered = np.sort(rng.choice(masks[masks != asked], 2 * len(masks) // 3, replace=False))
    inside = membership_of(offered, n)
    c = _functional(asked, n, kind)
    theta = float((c * rho[asked]).sum())
    shares = np.where(inside, rho[offered], 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    counts = rng.multinomial(choices, shares, size=(count, len(offered))).astype(float)
    totals = np.full(len(offered), float(choices))
    data = [ChoiceData(tuple(range(n)), inside, np.where(inside, one, np.nan), totals) for one in counts]
    sample = build_sample(data[0], "counts", Convention())
    own = Restricted(sample, membership_of(np.array([asked]), n), c[None])
    items = tuple(x for x in range(n) if asked >> x & 1)
    functional = {(items, x): float(c[x]) for x in items if c[x]}
    pvalue = pvalues(sample, own, (counts / choices)[:, inside], theta, interval, rng)
    return Tested(data, functional, own.most - own.least, pvalue)


def pvalues(sample: Sample, own: Restricted, p: Array, theta: float, interval: str, rng: np.random.Generator) -> Array:
    """(K,): the p-value of theta for each of K samples p (K, S), by one replicate of each, which are one null distribution."""
    profile = interval == "profile"
    tau = 0.0 if profile else interval_tau("auto", sample, sample.sizes)
    centres = own.measure(p, theta, tau).nearest
    sampler = CellSampler(sample, "menu", "null")
    drawn = np.array([sampler.draw([rng], centre)[0] for centre in centres])
    statistic, null = own.measure(p, theta, 0.0).statistic, own.measure(drawn, theta, tau).statistic
    if profile:
        statistic, null = (
            np.maximum(both - distances(sample, own_p, 0.0, 1e-7).statistic, 0.0)
            for both, own_p in ((statistic, p), (null, drawn))
        )
    reached = len(p) - np.searchsorted(np.sort(null), statistic * (1 - 1e-6) - 1e-7)
    return np.asarray((1 + reached) / (1 + len(p)), np.float64)


def _functional(mask: int, n: int, kind: str) -> Array:
    items = [x for x in range(n) if mask >> x & 1]
    c = np.zeros(n)
    c[items[0]] = 1.0
    if kind == "difference":
        c[items[1]] = -1.0
    elif kind == "revenue":
        c[items] = np.arange(1.0, len(items) + 1)
    return c


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.coverage", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--out", type=Path, default=Path("results/coverage.csv"), metavar="FILE")
    parser.add_argument("--data-sets", type=int, default=400)
    parser.add_argument("--widths", type=int, default=2, help="intervals to find in full (slow) of the first draw")
    parser.add_argument("--below", type=float, metavar="RATE", help="only cases that the file has below, once more")
    parser.add_argument("--interval", choices=INTERVALS, default="profile")
    parser.add_argument("--shares", action="store_true", help="by the share of the level that is used")
    arguments = parser.parse_args(argv)
    path: Path = arguments.out
    stored = read_csv(path) if path.exists() else []
    found = {tuple(str(r[f]) for f in Case._fields): float(r.get("covered", 1.0)) for r in stored}
    truths = ("6", "3") if arguments.shares else ("interior", "6", "3")
    for draw, n, choices, truth, kind in product(range(DRAWS), (4, 5), (50, 200), truths, KINDS):
        case = Case(n, choices, truth, kind, draw, arguments.interval)
        known = found.get(tuple(map(str, case)))
        wanted = known is None if arguments.below is None else known is not None and known < arguments.below
        if not wanted:
            continue
        if arguments.shares:
            row = coverage_by_share(case, arguments.data_sets)
        else:
            row = coverage(case, arguments.data_sets, 0 if draw else arguments.widths)
        append_csv(path, row | origin())
        print(row, flush=True)


if __name__ == "__main__":
    main()
