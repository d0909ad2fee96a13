"""`rumflow report`: one self-contained HTML page about a data set."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from rumflow.cli.answers import OK, inputs_of, print_json, say_written, show_progress
from rumflow.cli.arguments import add_data, add_json, add_sampling
from rumflow.cli.assort import add_revenue, read_revenue
from rumflow.cli.budgets import read_budgets
from rumflow.cli.models import add_model, model_of
from rumflow.cli.reading import read_data, say_resampling
from rumflow.cli.wording import shell_words
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.output.files import check_target
from rumflow.report.page import make_report

EXAMPLE = "rumflow report choices.csv -o report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data and the page."""
    add_data(parser, budgets=True)
    parser.add_argument(
        "-o", "--out", default="report.html", metavar="FILE", help="the page to write (default report.html)"
    )
    parser.add_argument("--title", help="title of the page")
    add_model(parser, False, True, "a model for a section of its own, beside all rankings of the items")
    add_revenue(parser, "for a section on the best assortment, see rumflow assort: ")
    add_sampling(parser, 499, "bootstrap replicates; 0 leaves the test out", least=0)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, compute, write the page."""
    check_target(arguments.out, inputs_of(arguments))
    if arguments.prices and arguments.revenue is not None:
        raise InputError("--revenue does not go with --prices: assortments are of items, not of budgets")
    if arguments.prices and arguments.cluster is True:
        raise InputError("--cluster does not go with --prices on a page; rumflow test resamples whole households")
    if arguments.outside is not None and arguments.revenue is None:
        raise InputError("--outside is for the section on the best assortment, which needs --revenue, too")
    data = read_budgets(arguments) if arguments.prices else read_data(arguments)
    if arguments.n_boot and isinstance(data, ChoiceData):
        say_resampling(data, arguments)
    best: dict[str, Any] = {"model": model_of(arguments, data)}
    if arguments.revenue is not None and isinstance(data, ChoiceData):
        best["revenue"], best["outside_option"] = read_revenue(data, arguments)
    unnamed = "Demand" if arguments.prices else "Choices"
    result = make_report(
        data,
        arguments.out,
        title=arguments.title or (unnamed if arguments.data == "-" else Path(arguments.data.removesuffix(".gz")).stem),
        n_boot=arguments.n_boot,
        seed=arguments.seed,
        cluster=arguments.cluster,
        command=shlex.join(["rumflow", *arguments.words]),
        progress=show_progress(arguments),
        inputs=inputs_of(arguments),
        words=lambda text: shell_words(text, arguments),
        **best,
    )
    if arguments.json:
        print_json({"out": arguments.out, **result})
    say_written(arguments)
    return OK
