"""Five hotels: how far their bookings are from random utility, and how well it predicts bookings, beside a plain logit.

    RUMFLOW_DATA=folder python -m studies.experiments hotel --out studies/results

The bookings (Bodea, Ferguson and Garrow 2009, as prepared by Berbeglia, Garassino and Vulcano: one row per assortment and room
chosen, split into a sample `in` to fit and a sample `out` to predict) are not part of the project: `RUMFLOW_DATA` names a folder
that holds `hotel/hotel_1.csv` to `hotel_5.csv`. Their rows "no purchase" were added by those who prepared them and are left out.

Random utility says nothing about what no type in the fit does: a maximum-likelihood mixture gives probability 0 to some choices
that are made later. A logit never does. Both are random utility models, and so is every mixture of the two: its share of logit is
chosen by five-fold cross-validation within the sample `in`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

import rumflow as rf
from studies.experiments.files import Row, markdown_table, read_csv, write_csv

SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
FOLDS = 5
ASKED = ("King Room 4", "2 Double Beds Room 1", "Suite 2")  # an assortment that hotel 1 never had alone
OUTSIDE = "no purchase"


def read_hotel(path: Path) -> tuple[rf.ChoiceData, rf.ChoiceData]:
    """The samples `in` and `out` of a hotel over the same rooms, without the rows that were assumed."""
    counts: dict[str, dict[tuple[str, ...], dict[str, float]]] = {"in": {}, "out": {}}
    rooms: dict[str, None] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            menu = tuple(room for room in row["offered"].split("|") if room != OUTSIDE)
            if row["chosen"] != OUTSIDE and len(menu) > 1:
                rooms.update(dict.fromkeys(menu))
                cells = counts[row["sample"]].setdefault(menu, dict.fromkeys(menu, 0.0))
                cells[row["chosen"]] += float(row["count"])
    samples = [rf.ChoiceData.from_counts(counts[name], items=list(rooms)) for name in ("in", "out")]
    return samples[0], samples[1]


def fit_logit(data: rf.ChoiceData) -> np.ndarray:
    """Utilities of the most likely logit; a tiny ridge holds those of rooms never chosen."""
    counts, inside = np.nan_to_num(data.counts), data.membership

    def loss(utility):
        logs = log_softmax(np.where(inside, utility, -np.inf), axis=1)
        value = -(counts[inside] * logs[inside]).sum() + 0.005 * utility @ utility
        slope = (np.exp(logs) * data.totals[:, None] - counts).sum(axis=0) + 0.01 * utility
        return value, slope

    return minimize(loss, np.zeros(len(data.items)), jac=True, method="BFGS").x


def logit_probabilities(utility: np.ndarray, membership: np.ndarray) -> np.ndarray:
    """(m, n), 0 outside the menus."""
    return np.exp(log_softmax(np.where(membership, utility, -np.inf), axis=1))


def predictions(fit: rf.inference.LikelihoodFit, data: rf.ChoiceData) -> np.ndarray:
    """(m, n) probabilities of the fit for the menus of `data`, 0 outside them."""
    rows = [fit.probabilities(menu) for menu in data.menus]
    return np.array([[row.get(item, 0.0) for item in data.items] for row in rows])


def mean_loglik(shares: np.ndarray, data: rf.ChoiceData) -> float:
    """Log-likelihood of a choice on average."""
    counts = np.nan_to_num(data.counts)
    chosen = counts > 0
    with np.errstate(divide="ignore"):
        return float((counts[chosen] * np.log(shares[chosen])).sum() / counts.sum())


def split(data: rf.ChoiceData, folds: int, seed: int) -> list[tuple[rf.ChoiceData, rf.ChoiceData]]:
    """Every choice is left out once: pairs of the rest and what is left out."""
    cells = np.argwhere(np.nan_to_num(data.counts) > 0)
    choices = np.repeat(cells, data.counts[tuple(cells.T)].astype(int), axis=0)
    fold = np.random.default_rng(seed).permutation(len(choices)) % folds
    pairs = []
    for k in range(folds):
        both = []
        for part in (choices[fold != k], choices[fold == k]):
            counts = np.zeros(data.counts.shape)
            np.add.at(counts, tuple(part.T), 1.0)
            kept = counts.sum(axis=1) > 0
            table = {
                menu: {item: row[data.items.index(item)] for item in menu}
                for menu, row, keep in zip(data.menus, counts, kept, strict=True)
                if keep
            }
            both.append(rf.ChoiceData.from_counts(table, items=list(data.items)))
        pairs.append((both[0], both[1]))
    return pairs


def best_share(data: rf.ChoiceData, seed: int) -> float:
    """The share of logit beside random utility that predicts choices left out best."""
    totals = np.zeros(len(SHARES))
    for rest, left in split(data, FOLDS, seed):
        free = predictions(rf.fit_likelihood(rest), left)
        logit = logit_probabilities(fit_logit(rest), left.membership)
        totals += [mean_loglik((1 - a) * free + a * logit, left) * left.n_observations for a in SHARES]
    return SHARES[int(np.argmax(totals))]


def one_hotel(number: int, folder: Path, n_boot: int) -> Row:
    """Distance, test and likelihoods of one hotel."""
    inside, outside = read_hotel(folder / f"hotel_{number}.csv")
    fit, utility = rf.fit_likelihood(inside), fit_logit(inside)
    cost = rf.estimate_cost(inside)
    share = best_share(inside, seed=number)
    free, logit = predictions(fit, outside), logit_probabilities(utility, outside.membership)
    score = fit.score(outside)
    seen = {frozenset(menu) for menu in inside.menus}
    new = [frozenset(menu) not in seen for menu in outside.menus]
    test = rf.rum_test(inside, n_boot, seed=number)
    unit = rf.rum_test(inside, n_boot, weights=None, draws="empirical", seed=number)
    return {
        "hotel": number,
        "rooms": len(inside.items),
        "menus": len(inside.totals),
        "menus_below_5": int((inside.totals < 5).sum()),
        "bookings": int(inside.n_observations),
        "nodes": cost.nodes,
        "distance": round(rf.project(inside, weights="counts").distance, 4),
        "pvalue": float(test.pvalue),
        "pvalue_unit_empirical": float(unit.pvalue),
        "saturated": round(fit.loglik_saturated / inside.n_observations, 4),
        "rum": round(fit.loglik / inside.n_observations, 4),
        "logit": round(mean_loglik(logit_probabilities(utility, inside.membership), inside), 4),
        "held_out": int(outside.n_observations),
        "new_menus": int(np.sum(new)),
        "impossible": int(score.n_impossible),
        "logit_out": round(mean_loglik(logit, outside), 4),
        "share": share,
        "mixture_out": round(mean_loglik((1 - share) * free + share * logit, outside), 4),
    }


def unseen_menu(folder: Path, n_boot: int) -> list[Row]:
    """What hotel 1 would book from an assortment that it never had: ranges of all best fits, and 95 % intervals."""
    found = rf.bounds(read_hotel(folder / "hotel_1.csv")[0], ASKED, n_boot=n_boot, seed=1, interval="distance")
    assert found.confidence_lower is not None
    assert found.confidence_upper is not None
    columns = (found.lower, found.upper, found.confidence_lower, found.confidence_upper)
    return [
        {"item": item}
        | {name: round(float(end[k]), 4) for name, end in zip(("lower", "upper", "from", "to"), columns, strict=True)}
        for k, item in enumerate(found.items)
    ]


def run_hotel(out: Path, n_boot: int = 999, progress: Callable[[str], None] | None = None) -> list[Row]:
    """All five hotels: `hotel.csv`, `hotel_1_bounds.csv` and `hotel.md` in `out`."""
    data = os.environ.get("RUMFLOW_DATA")
    if not data or not (Path(data) / "hotel").is_dir():
        raise SystemExit(
            "hotel: the bookings are not part of rumflow; set RUMFLOW_DATA to a folder that holds hotel/hotel_1.csv"
        )
    rows = []
    for number in range(1, 6):
        rows.append(one_hotel(number, Path(data) / "hotel", n_boot))
        if progress is not None:
            progress(f"hotel {number}: p = {rows[-1]['pvalue']:.3f}")
    write_csv(out / "hotel.csv", rows)
    write_csv(out / "hotel_1_bounds.csv", unseen_menu(Path(data) / "hotel", n_boot))
    render_hotel(out)
    return rows


def render_hotel(out: Path) -> None:
    """The page, from the stored numbers."""
    rows = read_csv(out / "hotel.csv")
    tests = (
        "hotel",
        "rooms",
        "menus",
        "menus_below_5",
        "bookings",
        "nodes",
        "distance",
        "pvalue",
        "pvalue_unit_empirical",
    )
    fits = ("hotel", "saturated", "rum", "logit", "held_out", "new_menus", "impossible", "logit_out", "share")
    tables = [
        markdown_table(header, [[row[name] for name in header] for row in rows])
        for header in (tests, (*fits, "mixture_out"))
    ]
    bounds = read_csv(out / "hotel_1_bounds.csv")
    asked = ("item", "lower", "upper", "from", "to")
    tables.append(markdown_table(asked, [[row[name] for name in asked] for row in bounds]))
    words = (
        "Tests with unit weights and draws from the data stand beside those of the default.",
        "Log-likelihoods of a booking, fitted and held out.",
        "Hotel 1, a menu that was never offered: what all best fits agree on, and 95 % intervals.",
    )
    parts = [f"{text}\n\n{table}" for text, table in zip(words, tables, strict=True)]
    (out / "hotel.md").write_text("# Five hotels\n\n" + "\n".join(parts), encoding="utf-8")
