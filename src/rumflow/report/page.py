"""`make_report`: the answer, its reasons, the data, how far from RUM, the test, what drives it, predictions, how to reproduce."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rumflow.check import check_replicates, check_seed
from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.lattice import items_of
from rumflow.data.accept import DataLike, as_data
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.errors import InputError, NotConvergedError
from rumflow.inference import bounds, rum_test
from rumflow.inference.assortment_inputs import check_revenue
from rumflow.inference.confidence import has_counts
from rumflow.inference.notes import ASSUMPTION
from rumflow.output import plots
from rumflow.output.files import check_target, write_whole
from rumflow.output.frames import optional
from rumflow.output.names import WRAPPED, name_menu, name_order
from rumflow.output.plot_style import Names, key_of
from rumflow.projection.describe import nothing_to_test
from rumflow.projection.results import Projection
from rumflow.projection.single import project
from rumflow.projection.status import Status
from rumflow.report.assortment import DOUBTFUL, assortment_content, find_assortment
from rumflow.report.budgets import make_budget_report
from rumflow.report.explanation import explain_data, explanation_content, is_quick
from rumflow.report.render import PageTable, render
from rumflow.report.svg import draw

#: Menus that were not offered and are shown with predictions, and rows of the long tables. The linear programmes behind a
#: prediction take seconds for 8 items and minutes for 10: beyond 8 items there are none.
MOST_PREDICTED, MOST_PREDICTED_OF_8, MOST_ROWS = 12, 3, 300

#: Shares of a menu that are listed, and items up to which the flow over all menus is drawn.
MOST_SHARES, MOST_DRAWN = 16, 16


def make_report(
    data: DataLike,
    path: str | Path,
    *,
    title: str = "Choices",
    n_boot: int = 499,
    seed: int = 0,
    cluster: bool | str = "auto",
    command: str = "",
    progress: bool = False,
    inputs: Iterable[str | os.PathLike[str]] = (),
    revenue: Mapping[Item, float] | None = None,
    outside_option: Item | None = None,
) -> dict[str, Any]:
    """Write the page; the main numbers are returned. Ctrl-C ends it without a page; an old one stays as it is.

    n_boot    bootstrap replicates of the test; 0 leaves the test out.
    cluster   resample whole subjects, for choices; "auto": where they are known and made several.
    command   how the page was made, for the section on reproducing it.
    inputs    files that the page must not overwrite, such as that of the data.
    revenue, outside_option   for a section on the best assortment, see `rumflow.best_assortment`.
    """
    optional("jinja2", "report")
    optional("matplotlib", "report")
    n_boot = check_replicates(n_boot, least=0)
    check_seed(seed)
    words = (
        command
        or f"rumflow.report.make_report(data, {str(path)!r}, n_boot={n_boot}, seed={seed}"
        + ("" if cluster == "auto" else f", cluster={cluster}")
        + ")"
    )
    data = as_data(data)
    if isinstance(data, BudgetData):
        if revenue is not None or cluster is True:
            raise InputError("revenue and cluster are for choices from menus, not for budgets")
        return make_budget_report(data, path, title, n_boot, seed, words, progress, inputs)
    if revenue is not None:
        check_revenue(data.items, revenue, outside_option)
    if not _several(data).any():
        raise InputError("no menu of two items or more was observed, so there is nothing to report")
    check_target(path, inputs)
    try:
        fit = project(data, progress=progress)
    except NotConvergedError as stopped:
        if stopped.fit.status is Status.INTERRUPTED:
            raise KeyboardInterrupt from None
        raise
    test = None
    if n_boot and has_counts(data):  # probabilities without sample sizes cannot be tested
        test = rum_test(data, n_boot=n_boot, seed=seed, cluster=cluster, progress=progress)
    if test is not None and test.interrupted:
        raise KeyboardInterrupt
    reasons = explain_data(data, n_boot, seed, cluster, progress) if is_quick(fit) else None
    content = _content(data, fit, test)
    idle = bool(nothing_to_test(fit))
    content["explanation"] = None if reasons is None or idle else explanation_content(reasons)
    content["idle"] = idle
    best = (
        None if revenue is None else find_assortment(data, revenue, outside_option, n_boot > 0, seed, cluster, progress)
    )
    doubtful = (reasons is not None and bool(reasons.conflicts)) or (test is not None and test.pvalue <= DOUBTFUL)
    content["assortment"] = None if best is None else assortment_content(data, best, doubtful)
    page = render("page.html.j2", content | {"title": title, "command": words})
    write_whole(path, lambda file: file.write(page.encode()), inputs)
    return {
        "distance": fit.distance,
        "gap": fit.gap,
        "pvalue": None if test is None else float(test.pvalue),
        "taus": None if test is None else list(test.taus),
        "pvalues": None if test is None else test.pvalues.tolist(),
        "conflict": None if reasons is None else [list(menu) for menu in reasons.conflict],
        "assortment": None if best is None else list(best.menu),
        "choices": data.n_observations,
        "bytes": len(page.encode()),
    }


def _several(data: ChoiceData) -> Mask:
    """Which menus have two items or more."""
    found: Mask = data.offered.sizes > 1
    return found


def _sized(data: ChoiceData) -> bool:
    """Is it known how many choices there are? Menus of total 1 have shares."""
    return has_counts(data) or float(data.totals.max()) > 1


def _content(data: ChoiceData, fit: Projection, test: Any) -> dict[str, Any]:
    cells = int((~np.isnan(data.count))[_several(data)[data.offered.menu]].sum())
    certificate = fit.certificate
    predictions, text = _predictions(data, fit)
    return {
        "verdict": _verdict(fit, test, has_counts(data)),
        "assumption": ASSUMPTION,
        "facts": _facts(data, fit, test),
        "about": _about(data),
        "menus": _menus(data),
        "distance": _distance(fit),
        "typical": None if fit.inside else f"{fit.distance / np.sqrt(max(cells, 1)):.3f}",
        "test": None if test is None else {"text": _test_text(test), "summary": test.summary()},
        "drivers": _drivers(data, fit),
        "cells": _cells(data, fit),
        "pictures": _pictures(fit, test),
        "key": key_of(data.items),
        "letters": key_of(data.items) if Names(data.items).coded else [],
        "complete": fit.complete,
        "lattice_text": ""
        if data.n <= MOST_DRAWN
        else f"The flow over all menus is drawn for up to {MOST_DRAWN} items; these are {data.n}.",
        "predictions": predictions,
        "predictions_text": text,
        "certificate": {
            "objective": f"{fit.objective:.8g}",
            "gap": f"{fit.gap:.1e}",
            "least_flow": f"{certificate.least_flow:.1e}",
            "menu_error": f"{certificate.menu_error:.0e}",
            "status": f"{fit.status}: {fit.status.explanation}",
        },
        "understood": str(data.understood) or repr(data),
    }


def _distance(fit: Projection) -> str:
    return "0" if fit.inside else f"{fit.distance:.4g}"


def _verdict(fit: Projection, test: Any, counted: bool) -> dict[str, str]:
    if reason := nothing_to_test(fit):
        return {"kind": "", "text": reason}
    if fit.inside:
        return {
            "kind": "good",
            "text": "Yes: a population of utility maximisers explains every observed share exactly.",
        }
    if test is None:
        return {
            "kind": "",
            "text": f"Not exactly: the nearest random utility model is at a distance of {fit.distance:.4g}. "
            + ("No test was run, so this may be chance." if counted else "The number of choices is not known."),
        }
    if test.pvalue <= 0.05:
        return {
            "kind": "bad",
            "text": f"No: no population of utility maximisers makes choices like these, up to chance (p = {test.pvalue:.3g}).",
        }
    return {
        "kind": "good",
        "text": "They may be: the shares are not exactly those of any population of utility maximisers, but no further off "
        f"than chance explains (p = {test.pvalue:.3g}).",
    }


def _facts(data: ChoiceData, fit: Projection, test: Any) -> list[tuple[str, str]]:
    every = 2**data.n - 1 - data.n
    facts = [
        ("items", str(data.n)),
        ("menus offered", f"{int(_several(data).sum())}" + (f" of {every:,}" if data.n <= 16 else "")),
        *([("choices", f"{data.n_observations:,.6g}")] if _sized(data) else []),
        ("distance", _distance(fit)),
    ]
    if data.rows is not None and data.rows.subject is not None:
        facts.insert(-1, ("subjects", f"{len(data.rows.subjects):,}"))
    if test is not None:
        facts.append(("p-value", f"{test.pvalue:.3g}"))
    return facts


def _about(data: ChoiceData) -> list[str]:
    low, high = float(data.totals.min()), float(data.totals.max())
    lines = [f"Items: {name_order(data.items, length=2000, separator=', ')}."]
    same = (
        f"{low:,.6g} choices from each menu."
        if low == high
        else f"Between {low:,.6g} and {high:,.6g} choices from a menu."
    )
    if not _sized(data):
        same = "The file has shares, but not the numbers of choices."
    elif low < 20:
        same += " Menus with few choices carry as much weight as others in the distance, but less in the test."
    lines.append(same)
    if data.rows is not None and data.rows.group is not None and len(data.rows.groups) > 1:
        lines.append(f"{len(data.rows.groups)} groups are taken together in this report.")
    return lines


def _menus(data: ChoiceData) -> PageTable:
    shown = min(len(data.totals), MOST_ROWS)
    more = "" if shown == len(data.totals) else f", the first {MOST_ROWS} of {len(data.totals)}"
    table = PageTable(f"Shares by menu{more}", ["menu", "choices", "shares"], [False, True, False])
    for menu, inside, shares, total in zip(
        data.menus[:shown], data.membership, data.frequencies, data.totals, strict=False
    ):
        table.add(
            name_menu(data.items, menu, WRAPPED),
            (total, f"{total:,.6g}"),
            _shares(data, np.flatnonzero(inside), shares),
        )
    return table


def _shares(data: ChoiceData, members: Ints, shares: Array) -> str:
    """The shares of a menu in words; of a long one the largest."""
    shown, rest = members, ""
    if len(members) > MOST_SHARES:
        shown = members[np.argsort(-np.nan_to_num(shares[members]), kind="stable")[:MOST_SHARES]]
        rest = f", {len(members) - MOST_SHARES} others {1 - np.nansum(shares[shown]):.1%}"
    texts = [f"{data.items[x]} {'not recorded' if np.isnan(shares[x]) else f'{shares[x]:.1%}'}" for x in shown]
    return ", ".join(texts) + rest


def _drivers(data: ChoiceData, fit: Projection) -> PageTable:
    """Menus by their share of the squared distance."""
    table = PageTable(
        "Menus by their part of the squared distance, where every menu counts the same",
        ["menu", "choices", "part", "largest difference"],
        [False, True, True, False],
    )
    differences = fit.frequencies - fit.fitted
    parts = np.nansum(differences**2, axis=1)
    if fit.inside or parts.sum() == 0:
        return table
    for k in np.argsort(-parts, kind="stable")[:15]:
        if parts[k] <= 1e-9 * parts.sum():
            break
        x = int(np.argmax(np.abs(np.nan_to_num(differences[k]))))
        text = f"{fit.items[x]}: {fit.frequencies[k, x]:.3f}, fitted {fit.fitted[k, x]:.3f}"
        share = parts[k] / parts.sum()
        menu = name_menu(data.items, data.menus[k], WRAPPED)
        table.add(menu, (data.totals[k], f"{data.totals[k]:,.6g}"), (share, f"{share:.1%}"), text)
    return table


def _cells(data: ChoiceData, fit: Projection) -> PageTable:
    table = PageTable(
        "The shares furthest from the model, where every menu counts the same",
        ["menu", "item", "observed", "fitted", "difference"],
        [False, False, True, True, True],
    )
    for menu, item, observed, fitted in [] if fit.inside else fit.misfits(15):
        difference = observed - fitted
        table.add(name_menu(data.items, menu, WRAPPED), str(item), observed, fitted, (difference, f"{difference:+.3f}"))
    return table


def _predictions(data: ChoiceData, fit: Projection) -> tuple[PageTable | None, str]:
    """Bounds for menus that were not offered."""
    left = 2**data.n - 1 - data.n - int(_several(data).sum())
    if left == 0:
        return None, ""
    if data.n > 8:
        return None, (
            f"{f'{left:,}' if data.n <= 30 else 'Nearly all'} menus were not offered. With {data.n} items the bounds of a "
            "prediction take a while, so none are shown here: the command rumflow bounds finds them, one menu at a time."
        )
    offered = {int(m) for m in data.masks}
    missing = [m for m in range(1, 1 << data.n) if m.bit_count() >= 2 and m not in offered]
    missing.sort(key=lambda m: (-m.bit_count(), m))
    shown = missing[: MOST_PREDICTED if data.n < 8 else MOST_PREDICTED_OF_8]
    table = PageTable(
        "Menus not offered", ["menu", "item", "at least", "at most", "this model"], [False, False, True, True, True]
    )
    for mask in shown:
        members = items_of(mask)
        menu = tuple(data.items[x] for x in members)
        found = bounds(fit, menu)
        for k, x in enumerate(members):
            low, high = float(found.lower[k]), float(found.upper[k])
            table.add(name_menu(data.items, menu, WRAPPED), str(data.items[x]), low, high, float(fit.rho[mask, x]))
    more = (
        ""
        if len(shown) == len(missing)
        else f" {len(shown)} of the {len(missing)} menus not offered are shown, the largest first."
    )
    return table, (
        "Many random utility models fit the data equally well and differ here. The lowest and highest probability "
        "over all of them are "
        "what the data say; the last column is the one model shown in this report." + more
    )


def _test_text(test: Any) -> str:
    reached = round(float(test.pvalue) * (1 + test.n_boot)) - 1
    return (
        f"In {reached} of {test.n_boot} samples drawn from a random utility model close to the data the statistic "
        "was as large as in "
        f"the data: the p-value is (1 + {reached}) / (1 + {test.n_boot}) = {test.pvalue:.3g}. A small value speaks "
        "against random utility. "
        + " ".join(f"With tau = {t:.3g} it is {p:.3g}." for t, p in zip(test.taus[1:], test.pvalues[1:], strict=True))
        + (f" Left out of the test: {test.left_out.describe(test.whole.items)}." if test.left_out else "")
        + "".join(f" {note}" for note in test.notes)
    )


def _pictures(fit: Projection, test: Any) -> dict[str, str]:
    n = fit.n
    rankings = min(10, len(fit.rankings.weights))
    found = {
        "fit": draw(lambda ax: plots.plot_fit(fit, ax), 7.6, 4.2, "fit"),
        "rankings": draw(lambda ax: plots.plot_rankings(fit, ax), 7.6, 1.6 + 0.34 * rankings, "rankings"),
    }
    if n <= MOST_DRAWN:
        height = (1.3 + 0.95 * n) if n <= 5 else (1.6 + 0.36 * n)
        found["lattice"] = draw(lambda ax: plots.plot_lattice(fit, ax), 7.6, height, "lattice")
    if test is not None:
        found["null"] = draw(lambda ax: plots.plot_null(test, ax), 7.6, 3.4, "null")
    if fit.complete:
        found["terms"] = draw(lambda ax: plots.plot_block_marschak(fit, ax), 7.6, 3.8, "terms")
    return found
