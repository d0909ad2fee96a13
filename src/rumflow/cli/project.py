"""`rumflow project`: the nearest random utility model, how far it is and what drives the distance."""

from __future__ import annotations

import argparse
from typing import Any

from rumflow.cli.answers import answer, check_out, columns_of, show_progress, table_of
from rumflow.cli.arguments import Checked, add_data, add_json, add_out, add_stopping, whole_number
from rumflow.cli.budgets import project_budgets
from rumflow.cli.models import add_model, model_of, say_cost
from rumflow.cli.reading import parts_of, read_data
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.output.result import records_of
from rumflow.projection.describe import types_of
from rumflow.projection.results import Projection
from rumflow.projection.single import project
from rumflow.projection.status import Status

EXAMPLE = "rumflow project choices.csv --out fitted.csv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data, and when to stop."""
    add_data(parser, by=True, budgets=True)
    parser.add_argument(
        "--weights",
        choices=["none", "counts", "inverse-variance"],
        default="none",
        help="weight of a cell: none (default: 1 each), the menu's sample size, or the inverse of the variance of a share",
    )
    add_stopping(parser, "stop after this time with the best point so far (exit code 2)")
    add_model(parser)
    parser.add_argument(
        "--top", action=Checked, check=whole_number(0), default=8, help="rows of each table (default 8)"
    )
    add_json(parser)
    add_out(parser, "the fitted probabilities")


def run(arguments: argparse.Namespace) -> int:
    """Read, project, print."""
    check_out(arguments)
    if arguments.prices:
        return project_budgets(arguments)
    data = read_data(arguments)
    if arguments.by:
        return _project_each(data, arguments)
    model = model_of(arguments, data)
    say_cost(data, model, arguments.route, arguments)
    fit = _fit(data, arguments, model)
    return answer(
        arguments,
        lambda: fit_as_dict(fit, data, arguments.top),
        lambda: fit.parts(arguments.top),
        fit.to_frame(data, backend="dict") if arguments.out else None,
        good=fit.status is Status.OPTIMAL,
        interrupted=fit.interrupted,
    )


def _fit(data: ChoiceData, arguments: argparse.Namespace, model: Model | None) -> Projection:
    return project(
        data,
        weights=None if arguments.weights == "none" else arguments.weights,
        tol=arguments.tol,
        max_seconds=arguments.max_seconds,
        throw=False,
        progress=show_progress(arguments),
        model=model,
        route=arguments.route,
    )


def _project_each(data: ChoiceData, arguments: argparse.Namespace) -> int:
    rows: list[tuple[Any, ...]] = []
    refused: dict[str, str] = {}
    interrupted = False
    for name, part in parts_of(data, arguments.by).items():
        try:
            fit = _fit(part, arguments, model_of(arguments, part))
        except InputError as fault:
            refused[name] = str(fault)
            continue
        worst = fit.misfits(1)
        misfit = abs(worst[0][2] - worst[0][3]) if worst else 0.0
        rows.append((name, len(part.totals), part.n_observations, fit.distance, misfit, fit.gap, str(fit.status)))
        if interrupted := fit.interrupted:
            break
    columns = columns_of(("name", "menus", "choices", "distance", "largest_misfit", "gap", "status"), rows)
    if not rows:
        raise InputError("; ".join(f"{name}: {reason}" for name, reason in refused.items()))
    title = f"Distance to the nearest random utility model, by {arguments.by}"
    note = "; ".join(f"not projected: {name} ({reason})" for name, reason in refused.items())
    return answer(
        arguments,
        lambda: {"by": arguments.by, "results": records_of(columns), "refused": refused},
        lambda: [table_of(title, columns, note)],
        columns,
        good=all(status == "optimal" for status in columns["status"]),
        interrupted=interrupted,
    )


def fit_as_dict(fit: Projection, data: ChoiceData, top: int) -> dict[str, Any]:
    """A projection for machines."""
    return {
        "items": list(data.items),
        "menus": len(data.totals),
        "choices": data.n_observations,
        "distance": fit.distance,
        "objective": fit.objective,
        "gap": fit.gap,
        "status": str(fit.status),
        "interrupted": fit.interrupted,
        "inside": fit.inside,
        "method": fit.method,
        "seconds": fit.seconds,
        "violations": [{"menu": list(m), "item": i, "value": v} for m, i, v in fit.violations()]
        if fit.complete
        else None,
        "misfits": [{"menu": list(m), "item": i, "observed": o, "fitted": f} for m, i, o, f in fit.misfits(top)],
        **_mixture_as_dict(fit),
        "understood": data.understood.to_dict(),
    }


def _mixture_as_dict(fit: Projection) -> dict[str, Any]:
    note = "one mixture among many that give the same probabilities when n >= 4"
    if not fit.model.has_types:
        return {"rankings": None}
    if not fit.model.types_are_rankings:
        return {"types": types_of(fit), "types_note": note}
    return {
        "rankings": [{"order": list(o), "weight": w} for o, w in fit.rankings.labelled()],
        "rankings_note": note,
    }
