"""The commands that analyse a data set: project, test, bounds."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from rumflow.cli.reading import parts_of, print_json, read_data, say_written, show_progress, split_labels
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import format_menu
from rumflow.errors import InputError
from rumflow.output.files import write_table
from rumflow.output.tables import Table, show
from rumflow.projection.results import Projection, Status
from rumflow.projection.single import project as run_projection
from rumflow.projection.table import fit_table

OK, NOT_CONVERGED = 0, 2


def project(arguments: argparse.Namespace) -> int:
    """`rumflow project`."""
    data = read_data(arguments)
    if arguments.by:
        return _project_each(data, arguments)
    fit = _fit(data, arguments)
    if arguments.out:
        write_table(fit_table(fit, data), arguments.out)
    if arguments.json:
        print_json(fit_as_dict(fit, data, arguments.top))
    else:
        show(fit_tables(fit, data, arguments.top))
        if arguments.out:
            say_written(arguments.out, arguments)
    return OK if fit.status is Status.OPTIMAL else NOT_CONVERGED


def _fit(data: ChoiceData, arguments: argparse.Namespace) -> Projection:
    return run_projection(
        data,
        weights=None if arguments.weights == "none" else arguments.weights,
        tol=arguments.tol,
        max_seconds=arguments.max_seconds,
        throw=False,
        progress=show_progress(arguments),
    )


def _project_each(data: ChoiceData, arguments: argparse.Namespace) -> int:
    table = Table(f"Distance to the nearest random utility model, by {arguments.by}", [])
    columns: dict[str, list[Any]] = {
        k: [] for k in ("name", "menus", "choices", "distance", "largest_misfit", "gap", "status")
    }
    for name, part in parts_of(data, arguments.by).items():
        fit = _fit(part, arguments)
        worst = fit.misfits(1)
        values = (
            name,
            len(part.masks),
            part.n_observations,
            fit.distance,
            abs(worst[0][2] - worst[0][3]) if worst else 0.0,
        )
        for key, value in zip(columns, (*values, fit.gap, str(fit.status)), strict=True):
            columns[key].append(value)
    table.columns = [name.replace("_", " ") for name in columns]
    table.rows = [list(row) for row in zip(*columns.values(), strict=True)]
    if arguments.out:
        write_table(columns, arguments.out)
    if arguments.json:
        print_json({"by": arguments.by, "results": [dict(zip(columns, row, strict=True)) for row in table.rows]})
    else:
        show([table])
    return OK if all(s == "optimal" for s in columns["status"]) else NOT_CONVERGED


def fit_tables(fit: Projection, data: ChoiceData, top: int) -> list[Table | str]:
    """A projection as tables."""
    seen = ~np.isnan(data.counts)
    cells = int(seen[np.bitwise_count(data.masks) > 1].sum())
    typical = fit.distance / np.sqrt(max(cells, 1))
    parts: list[Table | str] = []
    if fit.inside:
        parts.append("These choices are consistent with random utility: the distance is 0.")
    else:
        unit = (
            "" if not len(fit.problem.weights) or set(np.unique(fit.problem.weights)) <= {0.0, 1.0} else " (weighted)"
        )
        parts.append(
            f"Distance to the nearest random utility model: {fit.distance:.6g}{unit}"
            + (f"\nTypical difference of an observed share from the fit: {typical:.4f}" if not unit else "")
        )
    if fit.problem.complete and not fit.inside:
        violations = fit.violations()
        table = Table(
            f"Block-Marschak inequalities that fail: {len(violations)} of {fit.lattice.n_cells}",
            ["menu", "item", "value"],
            note="Each must be 0 or more for any population of rankings.",
        )
        for menu, item, value in violations[:top]:
            table.add(format_menu(menu), item, value)
        parts.append(table)
    misfits = fit.misfits(top)
    if misfits and not fit.inside:
        table = Table(
            "Observed against fitted: the largest differences", ["menu", "item", "observed", "fitted", "difference"]
        )
        for menu, item, observed, fitted in misfits:
            table.add(format_menu(menu), item, observed, fitted, observed - fitted)
        parts.append(table)
    many = fit.lattice.n >= 4
    table = Table(
        "Rankings behind the fit",
        ["share", "best to worst"],
        note=f"{'One mixture among many' if many else 'The mixture'} of {len(fit.rankings.weights)} rankings that give these "
        "probabilities.",
    )
    for order, weight in fit.rankings.labelled(top):
        table.add(f"{weight:.1%}", " > ".join(map(str, order)))
    parts.append(table)
    note = (
        ""
        if len(data.masks) >= 2**data.n - 1 - data.n
        else "; on menus not offered the fit is one of many (see bounds)"
    )
    parts.append(
        f"Certificate: objective {fit.objective:.6g}, at most {fit.gap:.1e} above the least possible; {fit.status}: "
        f"{fit.status.explanation}{note}."
    )
    return parts


def fit_as_dict(fit: Projection, data: ChoiceData, top: int) -> dict[str, Any]:
    """A projection for machines."""
    return {
        "items": list(data.items),
        "menus": len(data.masks),
        "choices": data.n_observations,
        "distance": fit.distance,
        "objective": fit.objective,
        "gap": fit.gap,
        "status": str(fit.status),
        "inside": fit.inside,
        "method": fit.method,
        "seconds": fit.seconds,
        "violations": [{"menu": list(m), "item": i, "value": v} for m, i, v in fit.violations()]
        if fit.problem.complete
        else None,
        "misfits": [{"menu": list(m), "item": i, "observed": o, "fitted": f} for m, i, o, f in fit.misfits(top)],
        "rankings": [{"order": list(o), "weight": w} for o, w in fit.rankings.labelled()],
        "rankings_note": "one mixture among many that give the same probabilities when n >= 4",
        "understood": data.understood,
    }


def test(arguments: argparse.Namespace) -> int:
    """`rumflow test`."""
    if arguments.n_boot < 1:
        raise InputError(f"--n-boot {arguments.n_boot}: at least 1 replicate is needed")
    if arguments.by and len(arguments.data) > 1:
        raise InputError("--by needs a single file; several files are groups already")
    options: dict[str, Any] = {
        "n_boot": arguments.n_boot,
        "tau": _taus(arguments.tau),
        "weights": None if arguments.weights == "none" else arguments.weights,
        "n_jobs": arguments.jobs,
        "progress": show_progress(arguments),
    }
    if arguments.convention:
        options["convention"] = arguments.convention
    seed = int(np.random.SeedSequence().entropy % 2**32) if arguments.seed is None else arguments.seed  # type: ignore[operator]
    files = {path: read_data(arguments, path) for path in arguments.data}
    data = next(iter(files.values()))
    if not arguments.cluster and not arguments.quiet and not arguments.json and _has_subjects(data):
        print("choices are resampled one by one; --cluster resamples whole subjects", file=sys.stderr)
    parts = parts_of(data, arguments.by) if arguments.by else files
    if arguments.together and len(parts) < 2:
        raise InputError("--together needs several groups (--by group) or several files")
    if len(parts) > 1 and not arguments.together:
        return _test_each(parts, arguments, options, seed)
    from rumflow.inference import rum_test

    result = rum_test(
        parts if arguments.together else data, cluster=True if arguments.cluster else None, seed=seed, **options
    )
    if arguments.out:
        columns: dict[str, Any] = {
            f"tau_{t:g}": list(d) for t, d in zip(result.taus, result.null_distributions, strict=True)
        }
        write_table(columns, arguments.out)
    if arguments.json:
        print_json(test_as_dict(result, data))
    else:
        show([result.summary()])
        if arguments.out:
            say_written(arguments.out, arguments)
    return NOT_CONVERGED if result.interrupted or result.failed else OK


def _has_subjects(data: ChoiceData) -> bool:
    return data.rows is not None and data.rows.subject is not None and len(data.rows.subjects) > 1


def _taus(given: list[str] | None) -> Any:
    taus: list[str | float] = []
    for text in given or ["auto"]:
        try:
            taus.append(text if text == "auto" else float(text))
        except ValueError:
            raise InputError(f"--tau {text}: auto or a number from 0 to 1 is needed") from None
    return taus[0] if len(taus) == 1 else taus


def test_as_dict(result: Any, data: ChoiceData) -> dict[str, Any]:
    """A test for machines."""
    return {
        "items": list(data.items),
        "menus": len(data.masks),
        "choices": result.sample.n_observations,
        "groups": result.sample.n_groups,
        "statistic": result.statistic,
        "pvalue": result.pvalue,
        "tau": result.tau,
        "taus": list(result.taus),
        "pvalues": [float(p) for p in result.pvalues],
        "n_boot": result.n_boot,
        "seed": result.seed,
        "resample": result.resample,
        "weights": result.weights,
        "interrupted": result.interrupted,
        "failed": result.failed,
        "seconds": result.seconds,
        "misfits": [
            {"menu": list(m), "item": i, "observed": o, "fitted": f, "contribution": c}
            for m, i, _, o, f, c in result.misfits(20)
        ],
        "understood": data.understood,
    }


def _test_each(parts: dict[str, ChoiceData], arguments: argparse.Namespace, options: dict[str, Any], seed: int) -> int:
    from rumflow.inference import holm, rum_test_many

    results = rum_test_many(parts, cluster=arguments.cluster, seed=seed, **options).tests
    names, values = list(parts), [r.pvalue for r in results]
    columns = {
        "name": names,
        "statistic": [r.statistic for r in results],
        "p_value": values,
        "adjusted_p": holm(values).tolist(),
        "tau": [r.tau for r in results],
    }
    if arguments.out:
        write_table(columns, arguments.out)
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    if arguments.json:
        print_json(
            {"by": arguments.by, "seed": seed, "results": [dict(zip(columns, row, strict=True)) for row in rows]}
        )
    else:
        title = f"Test of random utility by {arguments.by or 'file'}; {arguments.n_boot} replicates each, seed {seed}"
        note = "adjusted: Holm's correction for all of them together"
        show([Table(title, [c.replace("_", " ") for c in columns], rows, note)])
    return NOT_CONVERGED if any(r.interrupted or r.failed for r in results) else OK


def bounds(arguments: argparse.Namespace) -> int:
    """`rumflow bounds`."""
    from rumflow.inference import bounds as find_bounds

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
    found = find_bounds(data, menu, item, confidence=arguments.confidence, seed=arguments.seed)
    columns: dict[str, list[Any]] = {
        "item": list(found.items),
        "lower": found.lower.tolist(),
        "upper": found.upper.tolist(),
    }
    if found.confidence_lower is not None and found.confidence_upper is not None:
        columns |= {"from": found.confidence_lower.tolist(), "to": found.confidence_upper.tolist()}
    if arguments.out:
        write_table(columns, arguments.out)
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    if arguments.json:
        seconds = time.perf_counter() - begin
        print_json({"menu": menu, "bounds": [dict(zip(columns, row, strict=True)) for row in rows], "seconds": seconds})
    else:
        title = f"What a random utility model predicts for {format_menu(menu)}"
        note = "lower, upper: over all random utility models that fit the data best."
        if found.confidence is not None:
            note += f" from, to: {100 * found.confidence:g} % confidence."
        show([Table(title, list(columns), rows, note)])
    return OK
