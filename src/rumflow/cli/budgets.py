"""Budgets on the command line: `--prices prices.csv` beside a file of households, for project, test, bounds and report."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from rumflow.cli.answers import answer, answer_bounds, say_understood, show_progress
from rumflow.cli.arguments import READING
from rumflow.cli.reading import column_or_none, delimiter_of, given_options
from rumflow.data.accept import as_data
from rumflow.data.budgets import BudgetData
from rumflow.data.calls import DATASET
from rumflow.data.readers.settings import split_labels
from rumflow.errors import InputError
from rumflow.inference.result import RumTest
from rumflow.output.names import how_many
from rumflow.output.tables import Table


def read_budgets(arguments: argparse.Namespace) -> BudgetData:
    """The households and prices of the command line; how they were read goes to standard error."""
    files = [arguments.data] if isinstance(arguments.data, str) else arguments.data
    if len(files) != 1 or getattr(arguments, "by", None):
        raise InputError("--prices: one file of households is needed, without --by")
    refused = {
        name: "budgets determine the model"
        for name in ("above", "axis", "attributes", "triangle", "weak_orders", "route")
    }
    refused |= {name: "it is for menus and choices" for name in READING if name != "subject"}
    refused |= {"together": "budgets are tested together"}
    for name, reason in refused.items():
        if getattr(arguments, name, None):
            raise InputError(f"--{name.replace('_', '-')} does not go with --prices: {reason}")
    if getattr(arguments, "weights", None) == "inverse-variance":
        raise InputError("--weights: accepted for budgets are none and counts")
    meanings: dict[str, Callable[[str], Any]] = {"shares": split_labels, "quantities": split_labels, "budget": str}
    meanings |= {"expenditure": column_or_none, "instrument": str, "delimiter": delimiter_of}
    options = given_options(arguments, meanings)
    options |= {name: getattr(arguments, name) for name in ("degree", "at_median", "encoding")}
    if arguments.subject is not None:
        options["cluster"] = arguments.subject
    if files[0].startswith(DATASET):
        data = as_data(files[0])
        if not isinstance(data, BudgetData) or arguments.prices != files[0]:
            raise InputError(f"--prices {arguments.prices}: the prices of {files[0]} are not in a file of their own")
    else:
        data = BudgetData.from_csv(files[0], arguments.prices, **options)
    if arguments.only is not None:
        by_text = {str(label): label for label in data.labels}
        data = data.select([by_text.get(text, text) for text in split_labels(arguments.only)])
    say_understood(data, arguments)
    return data


def _facts(data: BudgetData) -> dict[str, Any]:
    return {
        "budgets": list(data.labels),
        "patches": len(data.patches),
        "households": data.n_observations,
        "degree": data.degree,
        "understood": data.understood.to_dict(),
    }


def project_budgets(arguments: argparse.Namespace) -> int:
    """The nearest rational demand."""
    from rumflow.projection.describe import name_distance, nothing_to_test
    from rumflow.projection.single import project
    from rumflow.projection.status import Status

    data = read_budgets(arguments)
    weights = None if arguments.weights == "none" else arguments.weights
    progress = show_progress(arguments)
    fit = project(data, weights, tol=arguments.tol, max_seconds=arguments.max_seconds, throw=False, progress=progress)
    place = {item: i for i, item in enumerate(data.items)}
    misfits = [(data.describe(place[str(item)]), seen, found) for _, item, seen, found in fit.misfits(arguments.top)]
    words = nothing_to_test(fit) or "This demand is rational: the distance is 0."
    table = Table("Observed against fitted: the largest differences", ["patch", "observed", "fitted", "difference"])
    if not fit.inside:
        words = f"Distance to the nearest rational demand: {name_distance(fit)} (a mixture of {how_many(len(fit.types), 'type')})"
        for name, seen, found in misfits:
            table.add(name, seen, found, seen - found)
    objective = 0.0 if fit.inside else fit.objective
    certificate = (
        f"Certificate: objective {objective:.6g}, at most {fit.gap:.1e} above the least possible; {fit.status}."
    )
    document = {
        "distance": fit.distance,
        "objective": fit.objective,
        "gap": fit.gap,
        "status": str(fit.status),
        "interrupted": fit.interrupted,
        "inside": fit.inside,
        "types_in_fit": len(fit.types),
        "misfits": [{"patch": name, "observed": seen, "fitted": found} for name, seen, found in misfits],
    }
    return answer(
        arguments,
        lambda: _facts(data) | document,
        lambda: [words, *([] if fit.inside else [table]), certificate],
        fit.to_frame(backend="dict"),
        good=fit.status is Status.OPTIMAL,
        interrupted=fit.interrupted,
    )


def budget_test_as_dict(result: RumTest, data: BudgetData, convention: str | None) -> dict[str, Any]:
    """A test of budgets for machines."""
    return (
        result.to_dict()
        | _facts(data)
        | {
            "types": str(getattr(result, "n_types", "")),
            "convention": convention or "default",
        }
    )


def bound_budgets(arguments: argparse.Namespace, options: dict[str, Any]) -> int:
    """Bounds on a budget that nobody faced; `options` for `bounds` are those of the command."""
    from rumflow.inference import bounds

    try:
        prices = [float(text) for text in split_labels(arguments.target or "")]
    except ValueError:
        raise InputError(
            f'--for {arguments.target}: the prices of a new budget are needed, such as "0.03,0.04"'
        ) from None
    if arguments.target_item or arguments.functional:
        raise InputError("--item and --functional are not available for budgets")
    data = read_budgets(arguments)
    begin = time.perf_counter()
    found = bounds(data, prices, **options)
    title = "What rational demand implies for a budget that nobody faced"
    return answer_bounds(found, arguments, title, _facts(data) | {"prices": prices}, time.perf_counter() - begin)
