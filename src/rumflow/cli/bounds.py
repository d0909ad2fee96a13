"""`rumflow bounds`: what random utility predicts for menus that were not offered, and which of them to offer next."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from rumflow.check import check_level, check_option
from rumflow.cli.answers import answer, answer_bounds, check_out, show_progress
from rumflow.cli.arguments import Checked, add_data, add_json, add_out, add_sampling
from rumflow.cli.budgets import bound_budgets
from rumflow.cli.models import add_attributes, by_attributes
from rumflow.cli.reading import item_of_data, labels_among, menu_of_data, read_data, say_resampling
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import format_menu
from rumflow.data.readers.settings import split_labels
from rumflow.errors import InputError
from rumflow.inference import bounds, diversion, next_menu
from rumflow.inference.confidence import INTERVALS
from rumflow.models.model import Model
from rumflow.models.triangle_inequalities import TriangleInequalities

N_BOOT = 199

EXAMPLE = 'rumflow bounds choices.csv --for "tea,juice,milk" --item tea'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data and the menu."""
    add_data(parser, budgets=True)
    parser.add_argument(
        "--for",
        dest="target",
        metavar="MENU",
        help='the menu, such as "tea,milk"; a label with a comma in quotes, as in \'"Brown, Ale",stout\'; '
        "with --prices the prices of a new budget, divided by its expenditure",
    )
    parser.add_argument("--item", dest="target_item", help="one item of it (default: all)")
    parser.add_argument(
        "--functional",
        action="append",
        metavar="VALUE:MENU:ITEM",
        help='instead of a menu: a sum of values times probabilities, such as "2.5:tea,milk:tea"; repeated for its terms',
    )
    parser.add_argument(
        "--remove",
        metavar="ITEM",
        help="who gains when this item leaves the menu of --for (default: the largest recorded menu that has it)",
    )
    parser.add_argument(
        "--next",
        action="store_true",
        help="which menu that was not observed would be most informative: about itself, or about the --functional",
    )
    parser.add_argument(
        "--confidence",
        action=Checked,
        check=_confidence,
        default="auto",
        metavar="LEVEL",
        help="level of the intervals: auto (default: 0.95 where there are counts), a number, or none (faster)",
    )
    parser.add_argument(
        "--interval",
        action=Checked,
        check=lambda value, name: check_option(value, name, INTERVALS),
        default="profile",
        metavar="KIND",
        help="how values are tested: profile (default), or distance (wider, and empty where the model is rejected)",
    )
    add_attributes(parser)
    parser.add_argument(
        "--triangle",
        action="store_true",
        help="pairs: of all shares that obey the triangle inequalities, for any number of items",
    )
    add_sampling(parser, N_BOOT, "intervals: replicates for each value tested")
    add_json(parser)
    add_out(parser, "the bounds")


def run(arguments: argparse.Namespace) -> int:
    """Read, bound, print."""
    check_out(arguments)
    options: dict[str, Any] = {"confidence": arguments.confidence, "seed": arguments.seed}
    options |= {"n_boot": arguments.n_boot, "cluster": arguments.cluster, "progress": show_progress(arguments)}
    options["interval"] = arguments.interval
    if arguments.prices:
        if arguments.next or arguments.remove is not None:
            raise InputError("--next and --remove are about menus of items, not about budgets with --prices")
        return bound_budgets(arguments, options)
    data = _read(arguments)
    options["model"] = model = by_attributes(arguments, data)
    if arguments.triangle:
        if model is not None:
            raise InputError("--triangle and --attributes are two models: give one")
        options["model"] = model = TriangleInequalities()
    if arguments.next:
        return _ask_next(data, model, arguments)
    if options["confidence"] is not None:
        say_resampling(data, arguments)
    if arguments.remove is not None:
        return _remove(data, arguments, options)
    if (arguments.target is None) == (arguments.functional is None):
        raise InputError('give a menu with --for "tea,milk", or one of --functional, --remove and --next')
    labels = data.items if model is None else (*data.items, *(x for x in model.known_items if x not in data.items))
    menu: list[Any] = []
    begin = time.perf_counter()
    if arguments.functional is not None:
        found = bounds(data, functional=_functional(labels, arguments.functional), **options)
    else:
        menu = labels_among(labels, "--for", split_labels(arguments.target))
        item = None if arguments.target_item is None else labels_among(labels, "--item", [arguments.target_item])[0]
        found = bounds(data, menu, item, **options)
    seconds = time.perf_counter() - begin
    what = format_menu(menu) if menu else "the functional"
    title = f"What {'a random utility model' if model is None else f'the model of {model.name}'} predicts for {what}"
    return answer_bounds(found, arguments, title, {"menu": menu}, seconds)


def _read(arguments: argparse.Namespace) -> ChoiceData:
    """The data; --menu names their columns, which is easily taken for the menu to predict."""
    try:
        return read_data(arguments)
    except InputError as error:
        if "(given as menu)" not in str(error) or arguments.target is not None:
            raise
        raise InputError(f"{error}; the menu to predict is named with --for, as in --for {arguments.menu}") from None


def _remove(data: ChoiceData, arguments: argparse.Namespace, options: dict[str, Any]) -> int:
    """Who gains when an item is taken away."""
    if arguments.functional is not None or arguments.target_item is not None:
        raise InputError("--remove goes with --for alone, not with --item or --functional")
    item = item_of_data(data, "--remove", arguments.remove)
    menu = None if arguments.target is None else menu_of_data(data, "--for", arguments.target)
    found = diversion(data, item, menu, **options)
    return answer(arguments, found.to_dict, found.parts, found.to_frame("dict"), interrupted=found.gains.interrupted)


def _ask_next(data: ChoiceData, model: Model | None, arguments: argparse.Namespace) -> int:
    """Which menu to offer next."""
    if arguments.target is not None or arguments.remove is not None or arguments.target_item is not None:
        raise InputError("--next goes with --functional alone, not with --for, --item or --remove")
    if (
        arguments.confidence not in ("auto", None)
        or arguments.n_boot != N_BOOT
        or arguments.cluster is True
        or arguments.interval != "profile"
    ):
        raise InputError(
            "--next orders menus by sharp bounds, without intervals: --confidence, --interval, --n-boot and --cluster do not go "
            "with it"
        )
    asked = None if arguments.functional is None else _functional(data.items, arguments.functional)
    outside = None
    if arguments.outside_option is not None:
        outside = item_of_data(data, "--outside-option", arguments.outside_option)
    seed, progress = arguments.seed, show_progress(arguments)
    found = next_menu(data, functional=asked, outside_option=outside, model=model, seed=seed, progress=progress)
    document = found.to_dict() | {"left_out": found.skipped}
    return answer(arguments, lambda: document, found.parts, found.to_frame("dict"), interrupted=found.interrupted)


def _confidence(value: object, name: str) -> float | str | None:
    if value in ("auto", "none"):
        return None if value == "none" else "auto"
    return check_level(value, name, also=", or auto or none")


def _functional(labels: Sequence[Any], terms: list[str]) -> dict[tuple[tuple[Any, ...], Any], float]:
    found: dict[tuple[tuple[Any, ...], Any], float] = {}
    for term in terms:
        parts = term.split(":")
        try:
            value = float(parts[0])
        except ValueError:
            value = np.nan
        if len(parts) != 3 or not np.isfinite(value):
            raise InputError(f'--functional {term!r}: VALUE:MENU:ITEM is needed, such as "2.5:tea,milk:tea"')
        menu = labels_among(labels, "--functional", split_labels(parts[1]))
        cell = tuple(menu), labels_among(labels, "--functional", [parts[2]])[0]
        found[cell] = found.get(cell, 0.0) + value
    return found
