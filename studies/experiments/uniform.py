"""Three tests that theory calls uniformly valid, beside the default, on some designs of `size.py`: is one better?

    python -m studies.experiments.uniform --out studies/results/uniform.csv    # goes on where it stopped

*linear* is in `linear_test.py`, *binding* and *worst* are in `least_favourable.py`. All get the same data sets,
and one replicate of each, pooled.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product
from pathlib import Path

from studies.experiments.files import Row, append_csv, origin, read_csv
from studies.experiments.least_favourable import binding_rejection, worst_rejection
from studies.experiments.linear_test import linear_rejection
from studies.experiments.size import PROCEDURES, Case, reject

TESTS: dict[str, Callable[[Case, int], float]] = {
    "linear": linear_rejection,
    "binding": binding_rejection,
    "worst": worst_rejection,
    "default": lambda case, count: reject(case, PROCEDURES["default"], count),
}


def uniform_cases() -> list[Case]:
    """All menus."""
    truths = ("interior", "6", "2", "opposite", "noise", "irrational")
    return [
        Case(n, choices, sizes, "all", truth)
        for n, choices, sizes, truth in product((3, 4, 5), (20, 50, 200), ("equal", "half", "fifth"), truths)
    ]


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.uniform", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--out", type=Path, default=Path("results/uniform.csv"), metavar="FILE")
    parser.add_argument("--data-sets", type=int, default=300)
    parser.add_argument("--items", type=int, nargs="+", default=[3, 4], help="of 3, 4 and 5 (default 3 4)")
    arguments = parser.parse_args(argv)
    path: Path = arguments.out
    done = {tuple(str(r[f]) for f in Case._fields) for r in read_csv(path)} if path.exists() else set()
    for case in uniform_cases():
        if tuple(map(str, case)) in done or case.n not in arguments.items:
            continue
        row: Row = {**case._asdict(), "data_sets": arguments.data_sets}
        rates = {name: round(test(case, arguments.data_sets), 4) for name, test in TESTS.items()}
        append_csv(path, row | rates | origin())


if __name__ == "__main__":
    main()
