"""Rows of long studies, drawn at random and computed again: does the code of today still give the stored numbers?

    python -m studies.experiments.again size oracles --minutes 20 --seed 1

The studies of size take days of a processor, so they are not run again after every change. Every row is a
function of its own columns (its seeds come from them), and must come out the same. Written: again.csv, one line per row
tried, with the largest difference of its numbers, the commit and the date.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import rumflow as rf
from studies.experiments.budgets import CONVENTIONS as BUDGET_CONVENTIONS
from studies.experiments.budgets import read_households
from studies.experiments.files import Row, append_csv, origin, read_csv
from studies.experiments.homogeneity import rejections
from studies.experiments.oracles import oracle_rates
from studies.experiments.size import METHODS, PROCEDURES, case_of
from studies.experiments.uniform import TESTS


def size_again(row: Row) -> dict[str, float]:
    """A rejection rate."""
    rate = METHODS[row["method"]](case_of(row), PROCEDURES[row["procedure"]], row["data_sets"])
    return {"rejected": rate}


def oracles_again(row: Row) -> dict[str, float]:
    """The rejection rates with help of an oracle in one design."""
    return oracle_rates(case_of(row), row["data_sets"])


def homogeneity_again(row: Row) -> dict[str, float]:
    """How often groups are called different."""
    populations, truth, sizes = (str(row[name]) for name in ("populations", "truth", "sizes"))
    found = rejections(populations, truth, row["groups"], row["choices"], sizes, row["data_sets"])
    return {"rejected": float(found["rejected"])}


def uniform_again(row: Row) -> dict[str, float]:
    """Tests that hold wherever the truth is, and the default."""
    return {name: test(case_of(row), row["data_sets"]) for name, test in TESTS.items()}


def budgets_again(row: Row) -> dict[str, float]:
    """Distance and p-value of the demand of a span of years."""
    data = read_households()
    span = data.select(range(row["first"], row["last"] + 1))
    convention = BUDGET_CONVENTIONS[str(row["set"])]
    test = rf.rum_test(span, n_boot=row["n_boot"], seed=row["seed"], convention=convention, tau=[row["tau_rule"]])
    return {"statistic": test.statistic, "pvalue": test.pvalue}


STUDIES: dict[str, Callable[[Row], dict[str, float]]] = {
    "size": size_again,
    "oracles": oracles_again,
    "homogeneity": homogeneity_again,
    "uniform": uniform_again,
    "budgets": budgets_again,
}

_DESIGN_OF_BUDGETS = ("set", "years", "tau_rule", "first", "n_boot", "seed")  # other columns are results


def compare(name: str, row: Row) -> Row:
    """One row computed again, beside what is stored."""
    begin = time.perf_counter()
    found = STUDIES[name](row)
    apart = max(abs(value - float(row[column])) for column, value in found.items())
    if apart < 0.5 / row["n_boot" if name == "budgets" else "data_sets"]:
        apart = 0.0  # less than one data set, or replicate: the stored rate is rounded
    stamp = (*found, "commit", "date", "versions")
    kept = _DESIGN_OF_BUDGETS if name == "budgets" else row
    design = [column for column in kept if column not in stamp and row[column] != ""]
    return {
        "file": name,
        "row": " ".join(str(row[column]) for column in design),
        "stored": " ".join(str(row[column]) for column in found),
        "found": " ".join(f"{value:.6g}" for value in found.values()),
        "apart": round(apart, 6),
        "seconds": round(time.perf_counter() - begin, 1),
    }


def run_again(folder: Path, names: list[str], minutes: float, seed: int) -> None:
    """Try rows of each study in turn, in random order, for so long; each has at least one."""
    rng = np.random.default_rng(seed)
    for name in names:
        rows = read_csv(folder / f"{name}.csv")
        end = time.monotonic() + 60 * minutes / len(names)
        for k in rng.permutation(len(rows)):
            row = compare(name, rows[k])
            append_csv(folder / "again.csv", row | origin())
            print(f"{name}, {row['row']}: stored {row['stored']}, found {row['found']}", flush=True)
            if time.monotonic() > end:
                break


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.again", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("name", nargs="+", choices=list(STUDIES))
    parser.add_argument("--out", type=Path, default=Path("studies/results"), metavar="FOLDER", help="of the studies")
    parser.add_argument("--minutes", type=float, default=20, help="for all of them together (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="of the rows that are drawn")
    given = parser.parse_args(argv)
    run_again(given.out, given.name, given.minutes, given.seed)


if __name__ == "__main__":
    main()
