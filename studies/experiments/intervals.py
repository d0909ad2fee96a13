"""Coverage and width of the intervals of `bounds` where there are many items and few menus.

*Stock-outs*: 12 items, 15 menus of 9. *Menus*: 10 items, 25 menus of 5. Each menu has 100 choices of a population of 50 rankings
with Dirichlet shares. What is asked for is the probability of one item on a further menu of the same kind. Several populations
are drawn, and samples of each; every sample has its interval found in full, with replicates of its own. `identified` is the width
of the sharp bounds at the true probabilities: an interval that holds the truth nine times in ten, whichever population with these
probabilities it is, is on average at least nine tenths as wide, however large the samples are. `moves` is how far the sharp
bounds of the samples move: the standard deviation, on average over the two of them.

The truth may lie anywhere between the sharp bounds: for each of these values there is a population with the same probabilities
on the menus offered, and so with the same samples. `covered_lower` and `covered_upper` are how many intervals hold the two ends.
`shifted` is the width that knowing the population would give: the sharp bounds of a sample, each moved outwards by the constant
with which it passes its true place in nine samples of ten.

    python -m studies.experiments.intervals --out studies/results/intervals.csv
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Mask
from rumflow.data.choices import ChoiceData
from rumflow.data.menus import unique_menus
from rumflow.inference.bounds import bounds
from rumflow.inference.confidence import INTERVALS
from studies.experiments.coverage import CONFIDENCE
from studies.experiments.files import Row, append_csv, origin, read_csv

N_BOOT = 39
CHOICES = 100
RANKINGS = 50
_ROUNDING = 1e-6
DESIGNS = {"stock-outs": (12, 15, 9), "menus": (10, 25, 5)}  # items, menus, items of a menu


class Population(NamedTuple):
    """Menus that are offered, what is taken from them, and what is asked for."""

    menus: Mask  # (m, n)
    shares: Array  # (m, n)
    asked: tuple[int, ...]  # a menu
    item: int
    value: float  # its probability


def draw_population(design: str, number: int) -> Population:
    """A population of a design."""
    n, m, size = DESIGNS[design]
    rng = np.random.default_rng([n, m, size, number])
    menus = unique_menus(rng.permuted(np.tile(np.arange(n) < size, (8 * m, 1)), axis=1))[0]
    menus = menus[np.sort(rng.choice(len(menus), m + 1, replace=False))]
    place = np.argsort(rng.random((RANKINGS, n)), axis=1)  # of each item in every ranking
    best = np.where(menus, place[:, None], n).argmin(axis=2)
    taken = np.arange(n) == best[:, :, None]
    shares = np.einsum("k,kmn->mn", rng.dirichlet(np.ones(RANKINGS)), taken)
    row = int(rng.integers(m + 1))
    members = np.flatnonzero(menus[row])
    item = int(rng.choice(members))
    others = np.arange(m + 1) != row
    return Population(menus[others], shares[others], tuple(members.tolist()), item, float(shares[row, item]))


def make_data(population: Population, counts: Array) -> ChoiceData:
    """Choices from the menus that are offered, or shares of them."""
    menus = population.menus
    return ChoiceData(tuple(range(menus.shape[1])), menus, np.where(menus, counts, np.nan), counts.sum(axis=1))


def measure(design: str, number: int, interval: str, count: int = 50) -> Row:
    """How many intervals of samples of one population hold the truth, and how wide they are."""
    own = draw_population(design, number)
    n, m, _ = DESIGNS[design]
    rng = np.random.default_rng([n, m, number, 1])
    exact = bounds(make_data(own, own.shares), own.asked, own.item, confidence=None, weights=None)
    shares = own.shares / own.shares.sum(axis=1, keepdims=True)
    counts = rng.multinomial(CHOICES, shares, size=(count, m)).astype(float)
    begin, ends, sharp, noted = time.process_time(), np.empty((count, 2)), np.empty((count, 2)), 0
    how: dict[str, Any] = {"confidence": CONFIDENCE, "n_boot": N_BOOT, "threads": 1, "interval": interval}
    for k in range(count):
        found = bounds(make_data(own, counts[k]), own.asked, own.item, seed=k, **how)
        ends[k], sharp[k], noted = found.confidence_interval(), found.interval, noted + any(found.notes)
    width = ends[:, 1] - ends[:, 0]
    least, most = float(exact.lower[0]), float(exact.upper[0])
    shifts = np.quantile([sharp[:, 0] - least, most - sharp[:, 1]], CONFIDENCE, axis=1)
    return {
        "design": design,
        "population": number,
        "interval": interval,
        "data_sets": count,
        "n_boot": N_BOOT,
        "covered": _held(ends, own.value),
        "covered_lower": _held(ends, least),
        "covered_upper": _held(ends, most),
        "width": round(float(np.nanmean(width)), 4),
        "width_error": round(float(np.nanstd(width, ddof=1) / np.sqrt(count)), 4),
        "sharp_width": round(float((sharp[:, 1] - sharp[:, 0]).mean()), 4),
        "moves": round(float(sharp.std(axis=0).mean()), 4),
        "identified": round(most - least, 4),
        "shifted": round(float((sharp[:, 1] - sharp[:, 0]).mean() + shifts.sum()), 4),
        "noted": int(noted),
        "empty": int(np.isnan(ends).any(axis=1).sum()),
        "seconds": round((time.process_time() - begin) / count, 3),
    }


def _held(ends: Array, value: float) -> float:
    """The share of intervals that hold a value, up to rounding."""
    return round(float(((ends[:, 0] <= value + _ROUNDING) & (value - _ROUNDING <= ends[:, 1])).mean()), 4)


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.intervals", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--out", type=Path, default=Path("results/intervals.csv"), metavar="FILE")
    parser.add_argument("--data-sets", type=int, default=50, help="of each population")
    parser.add_argument("--populations", type=int, default=4)
    arguments = parser.parse_args(argv)
    path: Path = arguments.out
    stored = read_csv(path) if path.exists() else []
    found = {(row["design"], row["population"], row["interval"]) for row in stored}
    for number, design, interval in product(range(arguments.populations), DESIGNS, INTERVALS):
        if (design, number, interval) in found:
            continue
        row = measure(design, number, interval, arguments.data_sets)
        append_csv(path, row | origin())
        print(row, flush=True)


if __name__ == "__main__":
    main()
