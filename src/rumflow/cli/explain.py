"""`rumflow explain`: which choices are in conflict?"""

from __future__ import annotations

import argparse

from rumflow.check import check_level
from rumflow.cli.answers import answer, check_out, show_progress
from rumflow.cli.arguments import Checked, add_data, add_json, add_out, add_sampling, whole_number
from rumflow.cli.budgets import read_budgets
from rumflow.cli.models import add_model, model_of
from rumflow.cli.reading import read_data, say_resampling
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.inference import explain
from rumflow.inference.conflicts.result import Explanation

EXAMPLE = "rumflow explain choices.csv --seed 1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data, and what counts as a conflict."""
    add_data(parser, budgets=True)
    parser.add_argument(
        "--level",
        action=Checked,
        check=_level,
        default=0.05,
        help="level of the tests that say what a conflict is (default 0.05); none: shares as they are, without sampling error",
    )
    parser.add_argument(
        "--most", action=Checked, check=whole_number(1), default=3, help="conflicts to list at most (default 3)"
    )
    parser.add_argument(
        "--halves",
        action=Checked,
        check=whole_number(0),
        default=20,
        metavar="COUNT",
        help="half-samples in which the search is repeated (default 20; 0: none, faster)",
    )
    add_sampling(parser, 199, "replicates of each test")
    add_model(parser, route=False)
    add_json(parser)
    add_out(parser, "the influence of each menu")


def run(arguments: argparse.Namespace) -> int:
    """Read, explain, print."""
    check_out(arguments)
    level = arguments.level
    data = read_budgets(arguments) if arguments.prices else read_data(arguments)
    if level is not None and isinstance(data, ChoiceData):
        say_resampling(data, arguments)
    found = explain(
        data,
        level,
        arguments.n_boot,
        most=arguments.most,
        halves=arguments.halves,
        cluster=arguments.cluster,
        seed=arguments.seed,
        model=model_of(arguments, data),
        progress=show_progress(arguments),
    )
    return answer(
        arguments,
        lambda: found.to_dict() | {"understood": data.understood.to_dict()},
        lambda: [
            *found.parts(),
            *(_patches(data, found) if isinstance(data, BudgetData) and isinstance(found, Explanation) else []),
        ],
        found.to_frame("dict"),
        interrupted=found.interrupted,
    )


def _patches(data: BudgetData, found: Explanation) -> list[str]:
    """What the patches in the inequalities are."""
    place = {item: i for i, item in enumerate(data.items)}
    named = {item: None for one in found.conflicts for (_, item), c in one.inequality.coefficients.items() if c}
    return ["Patches: " + "; ".join(data.describe(place[str(item)]) for item in named) + "."] if named else []


def _level(value: object, name: str) -> float | None:
    return None if value == "none" else check_level(value, name, 0.5, ", or none")
