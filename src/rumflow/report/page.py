"""`make_report`: the answer, its reasons, the data, how far from RUM, the test, what drives it, predictions, how to reproduce."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rumflow.check import check_replicates
from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.seeds import ZERO, Seed, entropy
from rumflow.data.accept import DataLike, as_data
from rumflow.data.budgets import BudgetData
from rumflow.data.calls import DATA, Call
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import TIE, Item, tie_number
from rumflow.errors import InputError
from rumflow.inference.assortment_inputs import check_revenue
from rumflow.inference.confidence import has_counts
from rumflow.inference.notes import ASSUMPTION
from rumflow.models.model import Model, require_model
from rumflow.output import plots
from rumflow.output.files import check_target, write_whole
from rumflow.output.frames import optional
from rumflow.output.names import WRAPPED, name_menu, name_order
from rumflow.output.plot_style import Names, key_of
from rumflow.projection.describe import nothing_to_test
from rumflow.projection.results import Projection
from rumflow.report.assortment import assortment_content, find_assortment
from rumflow.report.budgets import make_budget_report
from rumflow.report.explanation import explanation_content, first_conflict
from rumflow.report.findings import RATIONAL, Findings, find, find_verdict, plain_notes
from rumflow.report.other_model import other_content
from rumflow.report.page_model import PageModel, model_of_page
from rumflow.report.pairs import is_pairs, pairs_content
from rumflow.report.predictions import predict
from rumflow.report.render import PageTable, numbered_labels, render, signed
from rumflow.report.svg import draw

#: Rows of the long tables.
MOST_ROWS = 300

#: Shares of a menu that are listed, and items up to which the flow over all menus is drawn.
MOST_SHARES, MOST_DRAWN = 16, 16


def make_report(
    data: DataLike,
    path: str | Path,
    *,
    title: str = "Choices",
    n_boot: int = 499,
    seed: Seed = ZERO,
    rng: Seed = None,
    cluster: bool | str = "auto",
    command: str = "",
    progress: bool = False,
    inputs: Iterable[str | os.PathLike[str]] = (),
    revenue: Mapping[Item, float] | None = None,
    outside_option: Item | None = None,
    model: Model | None = None,
    words: Callable[[str], str] = str,
) -> dict[str, Any]:
    """Write a self-contained page about a data set, as `rumflow report` does.

    Parameters
    ----------
    data : ChoiceData, BudgetData or what they can be read from
        The data.
    path : str or Path
        The page to write. Ctrl-C ends it without a page; an old one stays as it is.
    title : str
        Of the page.
    n_boot : int
        Bootstrap replicates of the test; 0 leaves the test out.
    seed, rng : int or random generator, optional
        Of the random numbers, under either name.
    cluster : bool or "auto"
        Resample whole subjects, for choices; "auto": where they are known and made several.
    command : str, optional
        How the page was made, for the section on reproducing it.
    progress : bool
        Print a progress line.
    inputs : iterable of paths
        Files that the page must not overwrite, such as that of the data.
    revenue, outside_option : optional
        For a section on the best assortment, see `rumflow.best_assortment`.
    model : Model, optional
        For a section on this model beside random utility; the best assortment is then over its populations. Pairs with ties
        as an outcome are compared with weak orders in place of random utility, beyond 10 items with the triangle inequalities.
    words : callable, optional
        Rewrites sentences that name arguments of Python, such as cluster=False, for readers who do not program.

    Returns
    -------
    dict
        The main numbers of the page.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import rumflow as rf
    >>> from rumflow.report import make_report
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 7, "b": 3}, ("a", "b", "c"): {"a": 2, "b": 4, "c": 4}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numbers = make_report(data, Path(folder) / "report.html", n_boot=0)
    """
    optional("jinja2", "report")
    optional("matplotlib", "report")
    n_boot = check_replicates(n_boot, least=0)
    seed = entropy(seed, rng)
    require_model(model)
    given = {"n_boot": n_boot, "seed": seed} | ({} if cluster == "auto" else {"cluster": cluster})
    call = command or Call("make_report", (DATA, str(path)), given, "rumflow.report").text
    data = as_data(data)
    if isinstance(data, BudgetData):
        if revenue is not None or cluster is True or model is not None:
            raise InputError("revenue, cluster and model are for choices from menus, not for budgets")
        return make_budget_report(data, path, title, n_boot, seed, call, progress, inputs)
    if revenue is not None:
        if tie_number(data.items) >= 0:
            raise InputError(
                "revenue: an assortment has no ties; make half wins of them (data.resolve_ties('half'), --ties)"
            )
        if model is not None and not model.has_types:
            raise model.no_types()
        check_revenue(data.items, revenue, outside_option)
    if not _several(data).any():
        raise InputError("no menu of two items or more was observed, so there is nothing to report")
    check_target(path, inputs)
    words_of = model_of_page(data)
    found = find(data, words_of.model, n_boot, seed, cluster, progress)
    fit, test, reasons = found
    content = _content(data, found, words_of, words)
    idle = bool(nothing_to_test(fit))
    content["explanation"] = None if reasons is None or idle else explanation_content(reasons, words_of)
    content["idle"] = idle
    if content["explanation"] is not None:
        content["explanation"]["notes"] = [words(note) for note in content["explanation"]["notes"]]
    beside = model is not None and model != words_of.model
    other = find(data, model, n_boot, seed, cluster, progress) if beside else None
    content["other"] = None if other is None else other_content(other, found, words_of, has_counts(data))
    content["transitivity"] = pairs_content(data, n_boot, seed, cluster, progress) if is_pairs(data) else None
    best = None
    if revenue is not None:
        best = find_assortment(data, revenue, outside_option, n_boot > 0, seed, cluster, progress, model)
    doubtful = (other or found).doubtful
    content["assortment"] = None if best is None else assortment_content(best, doubtful)
    page = render("page.html.j2", content | {"title": title, "command": call})
    write_whole(path, lambda file: file.write(page.encode()), inputs)
    return {
        "distance": fit.distance,
        "gap": fit.gap,
        "pvalue": None if test is None else float(test.pvalue),
        "taus": None if test is None else list(test.taus),
        "pvalues": None if test is None else test.pvalues.tolist(),
        "model": None if other is None else other.fit.model.name,
        "model_distance": None if other is None else other.fit.distance,
        "model_pvalue": None if other is None or other.test is None else float(other.test.pvalue),
        "conflict": first_conflict(reasons),
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


def _content(data: ChoiceData, found: Findings, model: PageModel, words: Callable[[str], str]) -> dict[str, Any]:
    fit, test, _ = found
    cells = int((~np.isnan(data.count))[_several(data)[data.offered.menu]].sum())
    certificate = fit.certificate
    predictions, text = predict(data, fit)
    tied = tie_number(data.items) >= 0
    return {
        "verdict": find_verdict(found, has_counts(data)),
        "assumption": ASSUMPTION,
        "rational": RATIONAL if model.model is None else model.definition,
        "facts": _facts(data, fit, test),
        "about": _about(data),
        "menus": _menus(data),
        "distance": _distance(fit),
        "typical": None if fit.inside else f"{fit.distance / np.sqrt(max(cells, 1)):.3f}",
        "test": None if test is None else _test_content(test, model, words),
        "drivers": _drivers(data, fit),
        "cells": _cells(data, fit),
        "pictures": _pictures(fit, test),
        "key": key_of(data.items),
        "labels": numbered_labels(data.items),
        "letters": key_of(data.items) if Names(data.items).coded else [],
        "complete": fit.complete,
        "model": model,
        "lattice_text": ""
        if tied or data.n <= MOST_DRAWN
        else f"The flow over all menus is drawn for up to {MOST_DRAWN} items; these are {data.n}.",
        "predictions": predictions,
        "predictions_text": words(text),
        "certificate": {
            "objective": f"{fit.objective:.8g}",
            "gap": f"{fit.gap:.1e}",
            "least": "flow" if fit.model.has_types else "share",
            "least_flow": f"{certificate.least_flow:.1e}",
            "menu_error": f"{certificate.menu_error:.0e}",
            "status": f"{fit.status}: {fit.status.explanation}",
        },
        "understood": str(data.understood) or repr(data),
    }


def _distance(fit: Projection) -> str:
    return "0" if fit.inside else f"{fit.distance:.4g}"


def _facts(data: ChoiceData, fit: Projection, test: Any) -> list[tuple[str, str]]:
    n = sum(item != TIE for item in data.items)
    kind, every = ("menus", 2**n - 1 - n) if n == data.n else ("pairs", n * (n - 1) // 2)
    facts = [
        ("items", str(n)),
        (f"{kind} offered", f"{int(_several(data).sum())}" + (f" of {every:,}" if n <= 16 else "")),
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
    items = [item for item in data.items if item != TIE]
    tied = " Ties are an outcome of their own." if len(items) < data.n else ""
    lines = [f"Items: {name_order(items, length=2000, separator=', ')}.{tied}"]
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
    menus, observed = fit.observations.menus, fit.observations.shares
    differences = np.nan_to_num(observed - fit.fitted_cells)
    parts = menus.sums(differences**2)
    if fit.inside or parts.sum() == 0:
        return table
    for k in np.argsort(-parts, kind="stable")[:15]:
        if parts[k] <= 1e-9 * parts.sum():
            break
        c = int(menus.start[k] + np.argmax(np.abs(differences[menus.start[k] : menus.start[k + 1]])))
        text = f"{fit.items[menus.item[c]]}: {observed[c]:.3f}, fitted {fit.fitted_cells[c]:.3f}"
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
        table.add(name_menu(data.items, menu, WRAPPED), str(item), observed, fitted, (difference, signed(difference)))
    return table


def _test_content(test: Any, model: PageModel, words: Callable[[str], str]) -> dict[str, str]:
    """The test in words, and what only those who know the theory ask for."""
    reached = round(float(test.pvalue) * (1 + test.n_boot)) - 1
    text = (
        f"In {reached} of {test.n_boot} samples drawn from a {model.noun} close to the data the statistic "
        "was as large as in "
        f"the data: the p-value is (1 + {reached}) / (1 + {test.n_boot}) = {test.pvalue:.3g}. A small value speaks "
        f"against {model.short}."
        + (f" Left out of the test: {test.left_out.describe(test.whole.items)}." if test.left_out else "")
        + "".join(f" {words(note)}" for note in plain_notes(test))
    )
    others = zip(test.taus[1:], test.pvalues[1:], strict=True)
    theory = " ".join(f"With tau = {tau:.3g} the p-value is {own:.3g}." for tau, own in others)
    return {"text": text, "theory": theory, "summary": test.summary()}


def _pictures(fit: Projection, test: Any) -> dict[str, str]:
    n = fit.n
    found = {"fit": draw(lambda ax: plots.plot_fit(fit, ax), 7.6, 4.2, "fit")}
    if fit.model.all_rankings:
        height = 1.6 + 0.34 * len(fit.heaviest(10)[0].weights)
        found["rankings"] = draw(lambda ax: plots.plot_rankings(fit, ax), 7.6, height, "rankings")
    if fit.model.all_rankings and n <= MOST_DRAWN:
        height = (1.3 + 0.95 * n) if n <= 5 else (1.6 + 0.36 * n)
        found["lattice"] = draw(lambda ax: plots.plot_lattice(fit, ax), 7.6, height, "lattice")
    if test is not None:
        found["null"] = draw(lambda ax: plots.plot_null(test, ax), 7.6, 3.4, "null")
    if fit.complete:
        found["terms"] = draw(lambda ax: plots.plot_block_marschak(fit, ax), 7.6, 3.8, "terms")
    return found
