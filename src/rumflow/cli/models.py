"""Models on the command line: known preferences, an axis, attributes, inequalities on pairs, and what a projection will cost."""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rumflow.cli.reading import item_of_data
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.data.readers.settings import split_labels
from rumflow.errors import InputError
from rumflow.models.linear_utility import LinearUtility
from rumflow.models.model import Model
from rumflow.models.random_utility import RandomUtility
from rumflow.models.rules import Lexicographic
from rumflow.models.single_peaked import SinglePeaked
from rumflow.models.triangle_inequalities import TriangleInequalities
from rumflow.models.weak_orders import WeakOrders
from rumflow.output.names import name_seconds
from rumflow.projection.cost import estimate_cost
from rumflow.solvers.routes import FEW_ITEMS, ROUTES

#: Models of attributes by name.
_BY_ATTRIBUTES: dict[str, Callable[..., Model]] = {"linear": LinearUtility, "lexicographic": Lexicographic}

#: Seconds from which the cost is announced.
LONG = 2.0


def add_model(
    parser: argparse.ArgumentParser,
    route: bool = True,
    triangle: bool = True,
    title: str = "the model (default: all rankings of the items)",
) -> None:
    """`--above`, `--axis`, `--attributes`, `--triangle`, `--weak-orders` and `--route`."""
    group = parser.add_argument_group(title)
    group.add_argument(
        "--above", action="append", metavar="A>B", help='everybody prefers A to B, such as "tea>milk"; may be repeated'
    )
    group.add_argument("--axis", metavar="ITEMS", help="all items in order, with commas: preferences are single-peaked")
    add_attributes(group)
    if triangle:
        add_triangle(
            group, "for data of pairs: the triangle inequalities in place of rankings, for any number of items"
        )
    if route:
        group.add_argument(
            "--route",
            choices=ROUTES,
            help="lattice of all menus, or graph of the observed ones (default: the cheaper); bounded: search and bounds, the "
            "default where the graph is too large; inequalities: that of --triangle",
        )


def add_attributes(group: argparse._ActionsContainer) -> None:
    """`--attributes`, `--model` and `--signs`."""
    group.add_argument(
        "--attributes",
        metavar="FILE",
        help="CSV with a column 'item', a column for each attribute, and where they differ between menus a column 'menu'",
    )
    group.add_argument(
        "--model", choices=list(_BY_ATTRIBUTES), help="what people do with the --attributes (default: linear utility)"
    )
    group.add_argument(
        "--signs",
        metavar="NAME=SIGN",
        help='signs of --attributes that everybody shares, such as "price=-1,quality=1"',
    )


def add_triangle(parser: argparse._ActionsContainer, text: str) -> None:
    """`--triangle`, in the words of the command, and `--weak-orders`."""
    parser.add_argument("--triangle", action="store_true", help=text)
    parser.add_argument(
        "--weak-orders",
        action="store_true",
        help="for pairs with ties as an outcome (--ties outcome): rankings that may have ties, of up to 10 items",
    )


def model_of(arguments: argparse.Namespace, data: ChoiceData | BudgetData) -> Model | None:
    """The model of `--above`, `--axis`, `--attributes`, `--triangle` or `--weak-orders`, None for all rankings."""
    names = ("above", "axis", "attributes", "triangle", "weak_orders")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(arguments, name, None)]
    if not isinstance(data, ChoiceData):
        return None  # `read_budgets` has refused these options
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are two models: give one of them (rumflow compare takes both)")
    if "--triangle" in given:
        return TriangleInequalities()
    if "--weak-orders" in given:
        return WeakOrders()
    if arguments.above:
        return known_preferences(arguments.above, data)
    return single_peaked(arguments.axis, data) if arguments.axis else by_attributes(arguments, data)


def by_attributes(arguments: argparse.Namespace, data: ChoiceData) -> Model | None:
    """The model of `--attributes`; None where there are none."""
    if not arguments.attributes:
        for name in ("model", "signs"):
            if getattr(arguments, name):
                raise InputError(f"--{name} goes with --attributes FILE")
        return None
    signs: dict[str, int] | None = None
    if arguments.signs:
        signs = {}
        for part in split_labels(arguments.signs):
            name, _, value = part.partition("=")
            if value.strip() not in ("-1", "0", "1", "+1"):
                raise InputError(f'--signs {part!r}: NAME=1, NAME=-1 or NAME=0 is needed, such as "price=-1"')
            signs[name.strip()] = int(value)
    columns = _read_columns(arguments.attributes)
    by_text = {str(label): label for label in data.items}
    columns["item"] = [by_text.get(text, text) for text in columns["item"]]
    if not (arguments.quiet or getattr(arguments, "by", None)):
        named = ", ".join(name for name in columns if name not in ("item", "menu"))
        by_menu = ", by menu" if "menu" in columns else ""
        print(f"{arguments.attributes}: {len(set(columns['item']))} items with {named}{by_menu}", file=sys.stderr)
    return _BY_ATTRIBUTES[arguments.model or "linear"](columns, signs=signs)


def _read_columns(path: str) -> dict[str, list[Any]]:
    """The columns of a CSV file of attributes; numbers, but for items and menus."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"--attributes {path}: {error}") from None
    if not rows:
        raise InputError(f"--attributes {path}: the file is empty")
    names = [name.strip() for name in rows[0]]
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise InputError(f"--attributes {path}: column {twice[0]!r} appears twice")
    if "item" not in names:
        raise InputError(f"--attributes {path}: there is no column 'item' among {', '.join(names)}")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            raise InputError(f"--attributes {path}, row {number}: {len(names)} fields are needed, not {len(row)}")
        for name, text in zip(names, row, strict=True):
            try:
                columns[name].append(text.strip() if name in ("item", "menu") else float(text))
            except ValueError:
                raise InputError(
                    f"--attributes {path}, row {number}: {name} is {text!r}, not a number; every column beside 'item' and "
                    "'menu' is an attribute: write numbers (0 and 1 for no and yes), or leave the column out"
                ) from None
    return columns


def known_preferences(texts: list[str], data: ChoiceData) -> RandomUtility:
    """Of texts such as "tea>milk" or "tea>milk>water"."""
    pairs: list[tuple[Item, Item]] = []
    for text in texts:
        chain = [item_of_data(data, "--above", part.strip()) for part in text.split(">")]
        if len(chain) < 2:
            raise InputError(f'--above {text!r}: give two items, the better one first, such as "tea>milk"')
        pairs += itertools.pairwise(chain)
    return RandomUtility(pairs)


def single_peaked(text: str, data: ChoiceData) -> SinglePeaked:
    """Of items in order, with commas."""
    return SinglePeaked(item_of_data(data, "--axis", label) for label in split_labels(text))


def say_cost(
    data: ChoiceData, model: Model | None, route: str | None, arguments: argparse.Namespace, projections: int = 1
) -> None:
    """Before long work: what it will cost, on standard error."""
    if arguments.quiet or arguments.json or data.n <= FEW_ITEMS:
        return
    cost = estimate_cost(data, model, route)
    if cost.note:
        print(
            f"rumflow: {cost.note}" + ("; --max-seconds limits the time" if hasattr(arguments, "max_seconds") else ""),
            file=sys.stderr,
            flush=True,
        )
    elif cost.route == "bounded":
        print(
            "rumflow: the graph of these menus is too large, or not wanted: rankings by search, and bounds, about "
            f"{name_seconds(cost.seconds * projections)} or more"
            + ("; --max-seconds limits the time" if hasattr(arguments, "max_seconds") else ""),
            file=sys.stderr,
            flush=True,
        )
    elif cost.seconds * projections >= LONG:
        each = f" for one of {projections:,} projections" if projections > 1 else ""
        print(
            f"rumflow: a {cost.route} of {cost.nodes:,} nodes and {cost.arcs:,} arcs, {cost.bytes / 1e6:,.0f} MB, "
            f"about {name_seconds(cost.seconds)}{each} (a factor of three either way)",
            file=sys.stderr,
            flush=True,
        )
