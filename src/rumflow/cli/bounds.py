"""`rumflow bounds`: what random utility predicts for a menu that was not offered."""

from __future__ import annotations

import argparse
import time
from typing import Any

from rumflow.cli.answers import OK, check_out, print_json, records_of, rows_of, write_out
from rumflow.cli.arguments import add_data, add_json, add_out, add_seed
from rumflow.cli.reading import read_data, split_labels
from rumflow.data.labels import format_menu
from rumflow.errors import InputError
from rumflow.inference import bounds
from rumflow.output.tables import Table, show

EXAMPLE = 'rumflow bounds choices.csv --for "tea,juice,milk" --item tea'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data and the menu."""
    add_data(parser)
    parser.add_argument("--for", dest="target", required=True, metavar="MENU", help='the menu, such as "tea,milk"')
    parser.add_argument("--item", dest="target_item", help="one item of it (default: all)")
    parser.add_argument(
        "--confidence", type=float, metavar="LEVEL", help="also confidence intervals, such as 0.95 (slower)"
    )
    add_seed(parser, 0)
    add_json(parser)
    add_out(parser, "the bounds")


def run(arguments: argparse.Namespace) -> int:
    """Read, bound, print."""
    check_out(arguments)
    data = read_data(arguments)
    by_text = {str(label): label for label in data.items}
    menu = [by_text.get(label, label) for label in split_labels(arguments.target)]
    for label in menu:
        if label not in data.items:
            raise InputError(f"--for: item {label!r} is unknown: the items are {format_menu(data.items)}")
    item = None if arguments.target_item is None else by_text.get(arguments.target_item, arguments.target_item)
    if item is not None and item not in menu:
        raise InputError(f"--item {item!r} is not in the menu {format_menu(menu)}")
    begin = time.perf_counter()
    found = bounds(data, menu, item, confidence=arguments.confidence, seed=arguments.seed)
    columns: dict[str, list[Any]] = {
        "item": list(found.items),
        "lower": found.lower.tolist(),
        "upper": found.upper.tolist(),
    }
    if found.confidence_lower is not None and found.confidence_upper is not None:
        columns |= {"from": found.confidence_lower.tolist(), "to": found.confidence_upper.tolist()}
    if arguments.json:
        print_json({"menu": menu, "bounds": records_of(columns), "seconds": time.perf_counter() - begin})
    else:
        note = "lower, upper: over all random utility models that fit the data best."
        if found.confidence is not None:
            note += f" from, to: {100 * found.confidence:g} % confidence."
        title = f"What a random utility model predicts for {format_menu(menu)}"
        show([Table(title, list(columns), rows_of(columns), note)])
    write_out(columns, arguments)
    return OK
