"""`rumflow compare`: how far the data are from several models."""

from __future__ import annotations

import argparse

from rumflow.cli.answers import answer, check_out, inputs_of, show_progress
from rumflow.cli.arguments import add_data, add_json, add_out, add_sampling, add_stopping
from rumflow.cli.models import add_attributes, add_triangle, by_attributes, known_preferences, say_cost, single_peaked
from rumflow.cli.reading import read_data, say_resampling
from rumflow.data.labels import TIE
from rumflow.errors import InputError
from rumflow.inference.compare import compare_models
from rumflow.models.model import Model
from rumflow.models.random_utility import RandomUtility
from rumflow.models.triangle_inequalities import TriangleInequalities
from rumflow.models.weak_orders import WeakOrders
from rumflow.output.files import check_target, write_whole
from rumflow.output.names import name_order

EXAMPLE = 'rumflow compare choices.csv --above "tea>milk" --axis water,milk,tea'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data and the models."""
    add_data(parser)
    parser.add_argument(
        "--above",
        action="append",
        metavar="A>B",
        default=[],
        help='a model in which everybody prefers A to B: "tea>milk", several with commas; may be repeated, each a model',
    )
    parser.add_argument(
        "--axis",
        action="append",
        metavar="ITEMS",
        default=[],
        help="a model of single-peaked preferences: all items in order, with commas; may be repeated, each a model",
    )
    add_attributes(parser)
    add_triangle(parser, "for data of pairs, also the triangle inequalities, which any mixture of rankings obeys")
    parser.add_argument(
        "--weights", choices=["none", "counts"], default="none", help="weight of a cell (default 1 each)"
    )
    add_stopping(parser, "for each model; exit code 2 if it was not enough")
    add_sampling(parser, 0, "bootstrap replicates of a test of each model; 0: no tests", least=0)
    parser.add_argument("--picture", metavar="FILE", help="draw the distances: .png, .svg or .pdf")
    add_json(parser)
    add_out(parser, "the table")


def run(arguments: argparse.Namespace) -> int:
    """Read, project, print."""
    check_out(arguments)
    if arguments.cluster is True and not arguments.n_boot:
        raise InputError("--cluster: there is nothing to resample without tests; --n-boot 199 tests each model")
    kind = arguments.picture.rpartition(".")[2].lower() if arguments.picture else ""
    if arguments.picture:
        if kind not in ("png", "svg", "pdf"):
            raise InputError(f"--picture {arguments.picture}: the name must end in .png, .svg or .pdf")
        check_target(arguments.picture, inputs_of(arguments))
    data = read_data(arguments)
    # Where ties are an outcome rankings have none of it.
    models: dict[str, Model | None] = {} if TIE in data.items else {"all rankings": RandomUtility()}
    for text in arguments.above:
        models[", ".join(" > ".join(x.strip() for x in part.split(">")) for part in text.split(","))] = (
            known_preferences(text.split(","), data)
        )
    for text in arguments.axis:
        model = single_peaked(text, data)
        models[f"single-peaked: {name_order(model.axis, length=40, separator=', ')}"] = model
    attributed = by_attributes(arguments, data)
    if attributed is not None:
        models[attributed.name] = attributed
    if arguments.triangle:
        models["triangle inequalities"] = TriangleInequalities()
    if arguments.weak_orders:
        models["weak orders"] = WeakOrders()
    if not models:
        raise InputError("ties are an outcome of these pairs: name models for them, --triangle or --weak-orders")
    if arguments.n_boot:
        say_resampling(data, arguments)
    for one in models.values():
        say_cost(data, one, None, arguments)
    found = compare_models(
        data,
        models,
        None if arguments.weights == "none" else arguments.weights,
        arguments.tol,
        arguments.max_seconds,
        show_progress(arguments),
        n_boot=arguments.n_boot,
        seed=arguments.seed,
        cluster=arguments.cluster,
    )
    document = {"items": list(data.items), "menus": len(data.totals), "n_boot": arguments.n_boot}
    code = answer(
        arguments,
        lambda: document | found.to_dict(),
        found.parts,
        found.to_frame("dict"),
        good=all(status == "optimal" for status in found.table["status"]),
        interrupted=found.interrupted,
    )
    if arguments.picture:
        figure = found.plot().get_figure()
        write_whole(arguments.picture, lambda file: figure.savefig(file, format=kind), inputs_of(arguments))
    return code
