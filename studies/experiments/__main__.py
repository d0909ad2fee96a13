"""`python -m studies.experiments NAME --out FOLDER`: run an experiment of the paper again, or all of them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from studies.experiments import (
    run_assortments,
    run_budgets,
    run_choices,
    run_endogenous,
    run_exp1,
    run_exp2,
    run_exp3,
    run_explain,
    run_hotel,
    run_power,
    run_training,
)

EXPERIMENTS: dict[str, Callable[..., Any]] = {
    "exp1": run_exp1,
    "exp2": run_exp2,
    "exp3": run_exp3,
    "power": run_power,
    "assortments": run_assortments,
    "budgets": run_budgets,
    "endogenous": run_endogenous,
    "explain": run_explain,
    "choices": run_choices,
    "training": run_training,
    "hotel": run_hotel,
}


def main(argv: list[str] | None = None) -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments", description="Run the experiments of the paper again."
    )
    parser.add_argument(
        "name",
        choices=[*EXPERIMENTS, "all"],
        help="exp1, exp2: preconditioning; exp3: teacher and students; power: size and power of the test (both take long); "
        "assortments: a layer over thirty items; choices: layers against mixtures of logits; "
        "training: five models on choices with features; "
        "budgets: rational demand over 25 years (RUMFLOW_DATA; takes long, goes on where it stopped); "
        "endogenous: the same with an instrument for expenditure; "
        "explain: how often a planted conflict is named; hotel: five hotels (RUMFLOW_DATA)",
    )
    parser.add_argument(
        "--out", default="results", type=Path, metavar="FOLDER", help="where to write (default results)"
    )
    arguments = parser.parse_args(argv)
    for name in EXPERIMENTS if arguments.name == "all" else [arguments.name]:
        begin = time.perf_counter()
        EXPERIMENTS[name](arguments.out, progress=lambda text: print(text, file=sys.stderr))
        print(f"{name}: done in {time.perf_counter() - begin:.0f} s, see {arguments.out}")


if __name__ == "__main__":
    main()
