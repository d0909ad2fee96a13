"""`rumflow assort`: the assortment that promises the highest revenue in the worst case."""

from __future__ import annotations

import argparse
import csv
import os
import re
from pathlib import Path
from typing import Any

from rumflow.check import check_level, check_seconds
from rumflow.cli.answers import answer, check_out, show_progress
from rumflow.cli.arguments import Checked, add_data, add_json, add_out, add_sampling, whole_number
from rumflow.cli.models import add_model, model_of
from rumflow.cli.reading import item_of_data, menu_of_data, read_data, say_resampling
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import format_menu
from rumflow.data.readers.coding import typed_number
from rumflow.data.readers.settings import split_labels
from rumflow.errors import InputError
from rumflow.inference import best_assortment

EXAMPLE = "rumflow assort sales.csv --revenue tea=3,milk=2,beer=5 --outside none --max-size 2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data, the revenues and the limits."""
    add_data(parser)
    add_revenue(parser, required=True)
    parser.add_argument(
        "--max-size",
        action=Checked,
        check=whole_number(0),
        metavar="K",
        help="largest number of items besides the outside option",
    )
    parser.add_argument("--must", metavar="ITEMS", help="items that the assortment must have, with commas")
    parser.add_argument(
        "--never-together", action="append", metavar="ITEMS", help="at most one of these items; may be repeated"
    )
    parser.add_argument(
        "--confidence",
        action=Checked,
        check=check_level,
        metavar="LEVEL",
        help="such as 0.95: the worst case over all models that are not rejected at this level, not only those that fit best",
    )
    parser.add_argument(
        "--max-seconds",
        action=Checked,
        check=check_seconds,
        metavar="S",
        help="stop after this time with the best so far, and its gap",
    )
    add_sampling(parser, 999, "samples drawn for the level")
    add_model(parser, False, False)
    add_json(parser)
    add_out(parser, "the table of assortments")


def run(arguments: argparse.Namespace) -> int:
    """Read, search, print."""
    check_out(arguments)
    data = read_data(arguments)
    if arguments.cluster is True and arguments.confidence is None:
        raise InputError("--cluster says how samples are drawn for a level: give --confidence, too")
    if arguments.confidence is not None:
        say_resampling(data, arguments)
    found = best_assortment(
        data,
        *read_revenue(data, arguments),
        arguments.max_size,
        menu_of_data(data, "--must", arguments.must) if arguments.must else (),
        [menu_of_data(data, "--never-together", group) for group in arguments.never_together or ()],
        confidence=arguments.confidence,
        model=model_of(arguments, data),
        max_seconds=arguments.max_seconds,
        n_boot=arguments.n_boot,
        cluster=arguments.cluster,
        seed=arguments.seed,
        progress=show_progress(arguments),
    )
    document = found.to_dict() | {"seed": None if found.confidence is None else arguments.seed}
    stopped = found.reason == "interrupted"
    return answer(arguments, lambda: document, found.parts, found.to_frame("dict"), not found.reason, stopped)


def add_revenue(parser: argparse.ArgumentParser, purpose: str = "", required: bool = False) -> None:
    """`--revenue` and `--outside`."""
    parser.add_argument(
        "--revenue",
        required=required,
        metavar="FILE|ITEM=VALUE,...",
        help=f"{purpose}what each item earns, a CSV file with the columns item and value, or tea=3,milk=2.5",
    )
    parser.add_argument(
        "--outside", metavar="ITEM", help="the item that means buying nothing (default: that of --outside-option)"
    )


def read_revenue(data: ChoiceData, arguments: argparse.Namespace) -> tuple[dict[Any, float], Any]:
    """Revenues by label, from a file or from the command line itself, and the outside option."""
    outside = arguments.outside or arguments.outside_option
    item = None if outside is None else item_of_data(data, "--outside", outside)
    found = _revenue(data, arguments.revenue)
    missing = [own for own in data.items if own not in found and own != item]
    if missing and item is not None:
        raise InputError(
            f"--revenue {arguments.revenue}: no value for {format_menu(missing)}; every item but the outside option "
            "needs one"
        )
    return found, item


def _revenue(data: ChoiceData, text: str) -> dict[Any, float]:
    if os.path.isfile(text):  # a long list of items is no name of a file, which Path().is_file() would not stand
        with Path(text).open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
        pairs = [(row[0], row[1]) if len(row) == 2 else (",".join(row), "") for row in rows]
        if pairs and pairs[0][0].strip() not in map(str, data.items) and not re.match(r"[\s+-]*[.,]?\d", pairs[0][1]):
            pairs = pairs[1:]  # the header
        where = f"--revenue {text}"
    else:
        pairs = [(part.rpartition("=")[0], part.rpartition("=")[2]) for part in split_labels(text)]
        where = "--revenue"
        if not all(name for name, _ in pairs):
            raise InputError(f"--revenue {text}: no such file, and not of the form item=value,item=value")
    found = {}
    for name, value in pairs:
        item = item_of_data(data, where, name.strip())
        if item in found:
            raise InputError(f"{where}: item {item!r} appears twice")
        found[item] = typed_number(value, f"{where}: {name.strip()}")
    return found
