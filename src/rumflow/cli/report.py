"""`rumflow report`: one self-contained HTML page about a data set."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from rumflow.cli.answers import OK, check_out, inputs_of, print_json, say_written, show_progress
from rumflow.cli.arguments import add_data, add_json, add_seed, whole_number
from rumflow.cli.assort import read_revenue
from rumflow.cli.budgets import read_budgets
from rumflow.cli.reading import labels_of_data, read_data
from rumflow.data.choices import ChoiceData
from rumflow.report.page import make_report

EXAMPLE = "rumflow report choices.csv -o report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data and the page."""
    add_data(parser, budgets=True)
    parser.add_argument(
        "-o", "--out", default="report.html", metavar="FILE", help="the page to write (default report.html)"
    )
    parser.add_argument("--title", help="title of the page")
    parser.add_argument(
        "--n-boot",
        type=whole_number(0),
        default=499,
        metavar="B",
        help="bootstrap replicates; 0 leaves the test out (default 499)",
    )
    parser.add_argument(
        "--revenue",
        metavar="FILE|ITEM=VALUE,...",
        help="what each item earns, for a section on the best assortment; see rumflow assort",
    )
    parser.add_argument("--outside", metavar="ITEM", help="with --revenue: the item that stands for buying nothing")
    add_seed(parser, 0)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, compute, write the page."""
    check_out(arguments)
    data = read_budgets(arguments) if arguments.prices else read_data(arguments)
    best: dict[str, Any] = {}
    if arguments.revenue is not None and isinstance(data, ChoiceData):
        outside = arguments.outside or arguments.outside_option
        best["revenue"] = read_revenue(data, arguments.revenue)
        best["outside_option"] = None if outside is None else labels_of_data(data, "--outside", outside, single=True)[0]
    unnamed = "Demand" if arguments.prices else "Choices"
    result = make_report(
        data,
        arguments.out,
        title=arguments.title or (unnamed if arguments.data == "-" else Path(arguments.data).stem),
        n_boot=arguments.n_boot,
        seed=arguments.seed,
        command=shlex.join(["rumflow", *arguments.words]),
        progress=show_progress(arguments),
        inputs=inputs_of(arguments),
        **best,
    )
    if arguments.json:
        print_json({"out": arguments.out, **result})
    say_written(arguments)
    return OK
