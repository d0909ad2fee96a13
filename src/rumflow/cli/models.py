"""Models on the command line: known preferences, an axis, and what a projection will cost."""

from __future__ import annotations

import argparse
import itertools
import sys

from rumflow.cli.reading import item_of_data, split_labels
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked
from rumflow.projection.cost import estimate_cost
from rumflow.solvers.routes import FEW_ITEMS, ROUTES

#: Seconds from which the cost is announced.
LONG = 2.0


def add_model(parser: argparse.ArgumentParser, route: bool = True) -> None:
    """`--above`, `--axis` and `--route`."""
    group = parser.add_argument_group("the model (default: all rankings of the items)")
    group.add_argument(
        "--above", action="append", metavar="A>B", help='everybody prefers A to B, such as "tea>milk"; may be repeated'
    )
    group.add_argument("--axis", metavar="ITEMS", help="all items in order, with commas: preferences are single-peaked")
    if route:
        group.add_argument(
            "--route",
            choices=ROUTES,
            help="lattice of all menus, or graph of the observed ones (default: the cheaper); bounded: search and bounds, the "
            "default where the graph is too large",
        )


def model_of(arguments: argparse.Namespace, data: ChoiceData) -> Model | None:
    """The model of `--above` or `--axis`, None for all rankings."""
    if arguments.above and arguments.axis:
        raise InputError("--above and --axis are two models: give one of them (rumflow compare takes both)")
    if arguments.above:
        return known_preferences(arguments.above, data)
    return single_peaked(arguments.axis, data) if arguments.axis else None


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
            f"{cost.seconds * projections:.2g} s or more"
            + ("; --max-seconds limits the time" if hasattr(arguments, "max_seconds") else ""),
            file=sys.stderr,
            flush=True,
        )
    elif cost.seconds * projections >= LONG:
        each = f" for one of {projections:,} projections" if projections > 1 else ""
        print(
            f"rumflow: a {cost.route} of {cost.nodes:,} nodes and {cost.arcs:,} arcs, {cost.bytes / 1e6:,.0f} MB, "
            f"about {cost.seconds:.2g} s{each} (a factor of three either way)",
            file=sys.stderr,
            flush=True,
        )
