"""`rumflow bounds`: what random utility predicts for a menu that was not offered."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from rumflow.cli.answers import OK, check_out, show_bounds, show_progress
from rumflow.cli.arguments import add_data, add_json, add_out, add_seed, whole_number
from rumflow.cli.budgets import bound_budgets
from rumflow.cli.reading import read_data, split_labels
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import format_menu
from rumflow.errors import InputError
from rumflow.inference import bounds

EXAMPLE = 'rumflow bounds choices.csv --for "tea,juice,milk" --item tea'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data and the menu."""
    add_data(parser, budgets=True)
    parser.add_argument(
        "--for",
        dest="target",
        metavar="MENU",
        help='the menu, such as "tea,milk"; with --prices the prices of a new budget, divided by its expenditure',
    )
    parser.add_argument("--item", dest="target_item", help="one item of it (default: all)")
    parser.add_argument(
        "--functional",
        action="append",
        metavar="VALUE:MENU:ITEM",
        help='instead of a menu: a sum of values times probabilities, such as "2.5:tea,milk:tea"; repeated for its terms',
    )
    parser.add_argument(
        "--confidence",
        default="auto",
        metavar="LEVEL",
        help="level of the intervals: auto (default: 0.95 where there are counts), a number, or none (faster)",
    )
    parser.add_argument(
        "--n-boot",
        type=whole_number(1),
        default=199,
        metavar="B",
        help="replicates for each value tested (default 199)",
    )
    parser.add_argument("--cluster", action="store_true", help="intervals: resample whole subjects")
    add_seed(parser, 0)
    add_json(parser)
    add_out(parser, "the bounds")


def run(arguments: argparse.Namespace) -> int:
    """Read, bound, print."""
    check_out(arguments)
    options: dict[str, Any] = {"confidence": _confidence(arguments.confidence), "seed": arguments.seed}
    options |= {"n_boot": arguments.n_boot, "progress": show_progress(arguments)}
    if arguments.cluster:
        options["cluster"] = True
    if arguments.prices:
        return bound_budgets(arguments, options)
    data = read_data(arguments)
    if (arguments.target is None) == (arguments.functional is None):
        raise InputError('give either a menu with --for "tea,milk", or a functional with --functional')
    menu: list[Any] = []
    begin = time.perf_counter()
    if arguments.functional is not None:
        found = bounds(data, functional=_functional(data, arguments.functional), **options)
    else:
        menu = _labels(data, "--for", arguments.target)
        item = None
        if arguments.target_item is not None:
            item = _labels(data, "--item", arguments.target_item, single=True)[0]
            if item not in menu:
                raise InputError(f"--item {item!r} is not in the menu {format_menu(menu)}")
        found = bounds(data, menu, item, **options)
    seconds = time.perf_counter() - begin
    what = format_menu(menu) if menu else "the functional"
    show_bounds(found, arguments, f"What a random utility model predicts for {what}", {"menu": menu}, seconds)
    return OK


def _confidence(text: str) -> float | str | None:
    if text in ("auto", "none"):
        return None if text == "none" else text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--confidence {text}: auto, none or a number between 0 and 1 is needed") from None


def _labels(data: ChoiceData, option: str, text: str, single: bool = False) -> list[Any]:
    """Labels of the data from text."""
    by_text = {str(label): label for label in data.items}
    labels = [by_text.get(label, label) for label in ([text] if single else split_labels(text))]
    for label in labels:
        if label not in data.items:
            raise InputError(f"{option}: item {label!r} is unknown: the items are {format_menu(data.items)}")
    return labels


def _functional(data: ChoiceData, terms: list[str]) -> dict[tuple[tuple[Any, ...], Any], float]:
    found: dict[tuple[tuple[Any, ...], Any], float] = {}
    for term in terms:
        parts = term.split(":")
        try:
            value = float(parts[0])
        except ValueError:
            value = np.nan
        if len(parts) != 3 or not np.isfinite(value):
            raise InputError(f'--functional {term!r}: VALUE:MENU:ITEM is needed, such as "2.5:tea,milk:tea"')
        cell = tuple(_labels(data, "--functional", parts[1])), _labels(data, "--functional", parts[2], single=True)[0]
        found[cell] = found.get(cell, 0.0) + value
    return found
