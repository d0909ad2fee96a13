"""The page about budgets: is this demand rational, where is it not, could it be chance."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from rumflow.data.budgets import BudgetData
from rumflow.errors import ctrl_c_raises
from rumflow.inference import rum_test
from rumflow.inference.notes import PRICES
from rumflow.output import plots
from rumflow.output.budget_plots import MOST_TRIANGLES, plot_budgets
from rumflow.output.files import check_target, write_whole
from rumflow.projection.describe import nothing_to_test
from rumflow.projection.results import Projection
from rumflow.projection.single import project
from rumflow.report.render import PageTable, render, signed
from rumflow.report.svg import draw


def make_budget_report(
    data: BudgetData,
    path: str | Path,
    title: str,
    n_boot: int,
    seed: int,
    command: str,
    progress: bool,
    inputs: Iterable[str | os.PathLike[str]],
) -> dict[str, Any]:
    """Write the page; arguments and result as for `make_report`."""
    check_target(path, inputs)
    with ctrl_c_raises():
        fit = project(data, progress=progress)
    test = None
    if n_boot and (data.households is not None or not data.is_smoothed):
        test = rum_test(data, n_boot=n_boot, seed=seed, progress=progress)
        if test.interrupted:
            raise KeyboardInterrupt
    page = render("budgets.html.j2", _content(data, fit, test) | {"title": title, "command": command})
    write_whole(path, lambda file: file.write(page.encode()), inputs)
    return {
        "distance": fit.distance,
        "gap": fit.gap,
        "pvalue": None if test is None else float(test.pvalue),
        "choices": data.n_observations,
        "bytes": len(page.encode()),
    }


def _content(data: BudgetData, fit: Projection, test: Any) -> dict[str, Any]:
    facts = [
        ("budgets", str(len(data.labels))),
        ("patches", f"{len(data.patches):,}"),
        ("households", f"{data.n_observations:,.6g}"),
        ("distance", "0" if fit.inside else f"{fit.distance:.4g}"),
    ]
    if test is not None:
        facts.append(("p-value", f"{test.pvalue:.3g}"))
    smoothing = "Probabilities are the plain shares of the households."
    if data.is_smoothed:
        smoothing = (
            f"Probabilities are those at the median expenditure of each budget, by a polynomial of degree {data.degree} in log "
            "expenditure, which is "
            + ("corrected for being endogenous by an instrument." if data.is_instrumented else "taken as exogenous.")
        )
    return {
        "verdict": _verdict(fit, test),
        "assumption": PRICES,
        "facts": facts,
        "patches": _patches(data),
        "misfits": _misfits(data, fit),
        "test": None if test is None else {"text": _test_text(test), "summary": test.summary()},
        "pictures": _pictures(data, test),
        "certificate": {
            "objective": f"{fit.objective:.8g}",
            "gap": f"{fit.gap:.1e}",
            "status": f"{fit.status}: {fit.status.explanation}",
        },
        "smoothing": smoothing,
        "understood": str(data.understood) or repr(data),
    }


def _verdict(fit: Projection, test: Any) -> dict[str, str]:
    if reason := nothing_to_test(fit):
        return {"kind": "", "text": reason}
    if fit.inside:
        return {"kind": "good", "text": "Yes: a population of utility maximisers explains every share exactly."}
    if test is None:
        return {
            "kind": "",
            "text": f"Not exactly: the nearest rational demand is at a distance of {fit.distance:.4g}. No test was run, so this "
            "may be chance.",
        }
    if test.pvalue <= 0.05:
        return {
            "kind": "bad",
            "text": f"No: no population of utility maximisers buys like this, up to chance (p = {test.pvalue:.3g}).",
        }
    return {
        "kind": "good",
        "text": "It may be: the shares are not exactly those of any population of utility maximisers, but no further off than "
        f"chance explains (p = {test.pvalue:.3g}).",
    }


def _patches(data: BudgetData) -> PageTable:
    table = PageTable("Patches", ["budget", "patch", "share"], [False, False, True])
    for i, j in enumerate(data.budget.tolist()):
        table.add(str(data.labels[j]), data.describe(i), float(data.probabilities[i]))
    return table


def _misfits(data: BudgetData, fit: Projection) -> PageTable:
    table = PageTable(
        "The shares furthest from rational demand",
        ["patch", "observed", "fitted", "difference"],
        [False, True, True, True],
    )
    place = {item: i for i, item in enumerate(data.items)}
    for _, item, observed, fitted in [] if fit.inside else fit.misfits(15):
        table.add(data.describe(place[str(item)]), observed, fitted, (observed - fitted, signed(observed - fitted)))
    return table


def _test_text(test: Any) -> str:
    reached = round(float(test.pvalue) * (1 + test.n_boot)) - 1
    return (
        f"In {reached} of {test.n_boot} bootstrap samples around rational demand close to the data the statistic was as large "
        f"as in the data: the p-value is (1 + {reached}) / (1 + {test.n_boot}) = {test.pvalue:.3g}. A small value speaks against "
        "rational choice."
    )


def _pictures(data: BudgetData, test: Any) -> dict[str, str]:
    found = {}
    goods = 0 if data.pieces is None or data.prices is None else data.prices.shape[1]
    if goods == 2 or (goods == 3 and len(data.labels) <= MOST_TRIANGLES):
        rows = int(np.ceil(len(data.labels) / 4))
        height = 5.6 if goods == 2 else 0.6 + 2.0 * rows
        found["budgets"] = draw(lambda ax: plot_budgets(data, ax), 7.6, height, "budgets")
    if test is not None:
        found["null"] = draw(lambda ax: plots.plot_null(test, ax), 7.6, 3.4, "null")
    return found
