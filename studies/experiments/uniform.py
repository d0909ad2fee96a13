"""Three tests that theory calls uniformly valid, beside the default, on some designs of `size.py`: is one better?

    python -m studies.experiments.uniform --out studies/results/uniform.csv    # goes on where it stopped
    python -m studies.experiments.uniform --out studies/results/uniform.csv --above .065 --data-sets 1000    # uniform_again.csv

*linear* is in `linear_test.py`, *binding* and *worst* are in `least_favourable.py`. All get the same data sets,
and one replicate of each, pooled. Where the linear programme then rejects many true models it is tried on fresh data sets with a
bootstrap of their own each.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product
from pathlib import Path

from studies.experiments.files import Row, append_csv, origin, read_csv
from studies.experiments.least_favourable import binding_rejection, worst_rejection
from studies.experiments.linear_test import linear_rejection
from studies.experiments.size import PROCEDURES, TRUE, Case, case_of, draw_samples, reject, with_frequencies
from studies.experiments.validation import rate_of, rejects

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


def run_again(path: Path, above: float, count: int) -> None:
    """The linear programme by a bootstrap of each data set, where the file has it above a rate for a true model."""
    out = path.with_name(f"{path.stem}_again.csv")
    done = {case_of(row) for row in read_csv(out)} if out.exists() else set()
    for row in sorted(read_csv(path), key=lambda row: -float(row["linear"])):
        case = case_of(row)
        if case.truth not in TRUE or float(row["linear"]) <= above or case in done:
            continue
        data, p, _ = draw_samples(case, count, 1)
        rate = rate_of([rejects(with_frequencies(data, own), k, "fsst") for k, own in enumerate(p)])
        append_csv(out, {**case._asdict(), "screen": row["linear"], **rate, **origin()})


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.uniform", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--out", type=Path, default=Path("results/uniform.csv"), metavar="FILE")
    parser.add_argument("--data-sets", type=int, default=300)
    parser.add_argument("--items", type=int, nargs="+", default=[3, 4], help="of 3, 4 and 5 (default 3 4)")
    parser.add_argument(
        "--above", type=float, metavar="RATE", help="only the linear programme, where it is above, again"
    )
    arguments = parser.parse_args(argv)
    path: Path = arguments.out
    if arguments.above is not None:
        run_again(path, arguments.above, arguments.data_sets)
        return
    done = {tuple(str(r[f]) for f in Case._fields) for r in read_csv(path)} if path.exists() else set()
    for case in uniform_cases():
        if tuple(map(str, case)) in done or case.n not in arguments.items:
            continue
        row: Row = {**case._asdict(), "data_sets": arguments.data_sets}
        rates = {name: round(test(case, arguments.data_sets), 4) for name, test in TESTS.items()}
        append_csv(path, row | rates | origin())


if __name__ == "__main__":
    main()
