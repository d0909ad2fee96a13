"""Rational demand over 25 years: the test of Kitamura and Stoye (2018) on spans of 7, 10, 15, 20 and 25 years.

Data: the UK Family Expenditure Survey 1975-1999 as prepared by Kitamura and Stoye for three groups of
goods, prices divided by median expenditure, found in the folder `kitamura_stoye` of RUMFLOW_DATA. Every span of consecutive
years is one test, in the published convention (the cone) and in that of rumflow (the simplex); the longest one at several
tau. Spans of seven years are set beside the published numbers.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rumflow as rf
from rumflow.inference.groups import holm
from studies.experiments.files import Row, draw, markdown_table, origin, read_csv, write_csv

CONVENTIONS = {"cone": "kitamura-stoye", "simplex": None}

#: Which tests, in this order: set, years of a span, tau.
PLAN = (
    ("cone", 7, "auto"),
    ("cone", 25, "auto"),
    ("cone", 10, "auto"),
    ("cone", 15, "auto"),
    ("cone", 20, "auto"),
    ("simplex", 25, "auto"),
    ("cone", 25, 0.0),
    ("simplex", 7, "auto"),
    ("simplex", 10, "auto"),
    ("simplex", 15, "auto"),
    ("simplex", 20, "auto"),
)

#: Spans that are tested again with ten times as many replicates, because 1,000 cannot tell how small their p-values are.
AGAIN = (("cone", 15, 1985), ("cone", 10, 1985), ("cone", 10, 1986))


def _place(folder: str | Path | None) -> Path:
    return Path(folder or os.environ.get("RUMFLOW_DATA", "")) / "kitamura_stoye"


def read_households(folder: str | Path | None = None) -> rf.BudgetData:
    """All 25 years, from this folder or RUMFLOW_DATA."""
    place = _place(folder)
    return rf.BudgetData.from_csv(place / "households.csv.gz", place / "budgets.csv")


def run_budgets(
    out_dir: str | Path,
    plan: Sequence[tuple[str, int, str | float]] = PLAN,
    n_boot: int = 1000,
    seed: int = 1,
    folder: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Row]:
    """Test every span; rows that budgets.csv in `out_dir` has already are kept.

    Writes budgets.csv, budgets_share.csv (the largest part that can be rational), budgets.png, budgets.md.
    """
    place, data = _place(folder), read_households(folder)
    with open(place / "published_7years.csv", newline="") as file:
        published = {int(row["first_year"]): row for row in csv.DictReader(file)}
    path = Path(out_dir) / "budgets.csv"
    rows = read_csv(path) if path.exists() else []
    done = {(row["set"], row["years"], row["tau_rule"], row["first"], row["n_boot"]) for row in rows}
    years = [int(str(label)) for label in data.labels]
    tasks: list[tuple[str, int, str | float, int, int]] = [
        (name, length, rule, first, n_boot) for name, length, rule in plan for first in years[: len(years) - length + 1]
    ]
    tasks += [(name, length, "auto", first, 10 * n_boot - 1) for name, length, first in AGAIN]
    for name, length, rule, first, draws in tasks:
        if (name, length, rule, first, draws) not in done:
            span = data.select(range(first, first + length))
            begin, cpu = time.perf_counter(), time.process_time()
            test = rf.rum_test(span, n_boot=draws, seed=seed, convention=CONVENTIONS[name], tau=[rule])
            known = published.get(first, {}) if (name, length) == ("cone", 7) else {}
            rows.append(
                {
                    "set": name,
                    "years": length,
                    "tau_rule": rule,
                    "first": first,
                    "last": first + length - 1,
                    "households": int(span.n_observations),
                    "patches": len(span.patches),
                    "types": test.n_types,  # type: ignore[attr-defined]
                    "statistic": test.statistic,
                    "gap": test.gap,
                    "tau": test.tau,
                    "pvalue": test.pvalue,
                    "n_boot": test.n_boot,
                    "not_certified": test.failed,
                    "seconds": round(time.perf_counter() - begin, 2),
                    "cpu_seconds": round(time.process_time() - cpu, 2),
                    "seed": seed,
                    **{f"published_{key}": known.get(key, "") for key in ("types", "statistic", "tau", "pvalue")},
                    **origin(),
                }
            )
            write_csv(path, rows)
            if progress is not None:
                progress(f"budgets: {name} {first}-{first + length - 1} {test!r}")
    shares = [data.select(years[:7]), data]
    write_csv(
        Path(out_dir) / "budgets_share.csv",
        [
            {"first": span.labels[0], "last": span.labels[-1], "share": round(rf.rationalizable_share(span).share, 5)}
            for span in shares
        ],
    )
    render_budgets(out_dir)
    return rows


def render_budgets(out_dir: str | Path) -> None:
    """Figure and page from the stored CSV."""
    folder = Path(out_dir)
    everything = read_csv(folder / "budgets.csv")
    rows = most_reliable(everything)
    parts = ["# Rational demand over spans of 7 to 25 years", _words(rows)]
    for name in CONVENTIONS:
        own = [row for row in rows if row["set"] == name and row["tau_rule"] == "auto"]
        if own:
            parts += [f"## By length of the span ({name})", _by_length(own)]
    seven = [row for row in rows if row["published_statistic"] != ""]
    if seven:
        parts += ["## Spans of seven years beside the published numbers", _published(seven)]
    longer = [row for row in everything if row["years"] > 7]
    if longer:
        parts += ["## Longer spans", _spans(longer)]
    (folder / "budgets.md").write_text("\n\n".join(parts), encoding="utf-8")
    draw(folder / "budgets.png", lambda ax: _paint(ax, rows), (7.2, 4.0))


def most_reliable(rows: Sequence[Row]) -> list[Row]:
    """One row for each test of 1,000 replicates, with the p-value of the run that has the most."""

    def key(row: Row) -> tuple[object, ...]:
        return tuple(row[name] for name in ("set", "years", "tau_rule", "first"))

    best = {key(row): row["pvalue"] for row in sorted(rows, key=lambda row: row["n_boot"])}
    return [row | {"pvalue": best[key(row)]} for row in rows if row["n_boot"] == 1000]


def _adjusted(rows: Sequence[Row]) -> dict[tuple[str, int, int], float]:
    """P-values adjusted for all spans of all lengths that were tried on the same set (Holm)."""
    found: dict[tuple[str, int, int], float] = {}
    for name in CONVENTIONS:
        own = [row for row in rows if row["set"] == name and row["tau_rule"] == "auto"]
        if own:
            values = holm([float(row["pvalue"]) for row in own])
            found |= {(name, row["years"], row["first"]): float(p) for row, p in zip(own, values, strict=True)}
    return found


def _words(rows: Sequence[Row]) -> str:
    tried = {name: sum(row["set"] == name and row["tau_rule"] == "auto" for row in rows) for name in CONVENTIONS}
    return (
        "UK Family Expenditure Survey 1975-1999 as prepared by Kitamura and Stoye (2018, Econometrica 86), three "
        "groups of goods, demand at median expenditure by a cubic in log expenditure; 1,000 bootstrap replicates (9,999 for "
        "the spans whose p-values 1,000 cannot tell), tau by the published rule. "
        "p-values are (1 + replicates at least as large) / (1 + replicates). *Adjusted* ones are Holm's: for the spans of one "
        f"length, and for all spans of all lengths in this table ({tried['cone']} on the cone, {tried['simplex']} on the "
        "simplex), whatever their dependence. Times are of two cores shared with other work; CPU seconds count both."
    )


def _by_length(rows: Sequence[Row]) -> str:
    adjusted = _adjusted(rows)
    lines = []
    for length in sorted({row["years"] for row in rows}):
        own = [row for row in rows if row["years"] == length]
        p = [float(row["pvalue"]) for row in own]
        least = min(adjusted[(row["set"], length, row["first"])] for row in own)
        types = max(int(row["types"]) for row in own)
        lines.append(
            [
                length,
                len(own),
                f"{min(r['patches'] for r in own)} to {max(r['patches'] for r in own)}",
                f"{types:.3g}" if types > 1e6 else f"{types:,}",
                f"{min(p):.3f} to {max(p):.3f}",
                f"{min(1.0, len(p) * min(p)):.3f}",
                f"{least:.3f}",
                sum(value <= 0.05 for value in p),
                int((holm(p) <= 0.05).sum()),
                f"{np.mean([row['cpu_seconds'] for row in own]):.1f}",
            ]
        )
    header = [
        "years",
        "spans",
        "patches",
        "types, at most",
        "p-values",
        "least, adjusted for this length",
        "least, adjusted for all",
        "at 5 %",
        "at 5 %, adjusted for this length",
        "CPU s",
    ]
    return markdown_table(header, lines)


def _published(rows: Sequence[Row]) -> str:
    lines = [
        [
            f"{row['first']}-{row['last']}",
            row["patches"],
            f"{row['types']:,}",
            f"{row['statistic']:.6f}",
            f"{row['published_statistic']:.6f}",
            f"{row['tau']:.4f}",
            f"{row['published_tau']:.4f}",
            f"{row['pvalue']:.3f}",
            f"{row['published_pvalue']:.3f}",
        ]
        for row in rows
    ]
    header = ["years", "patches", "types", "statistic", "published", "tau", "published", "p-value", "published"]
    most = max(abs(row["pvalue"] - row["published_pvalue"]) for row in rows)
    tau = max(abs(row["tau"] / row["published_tau"] - 1) for row in rows)
    off = max(abs(row["statistic"] - row["published_statistic"]) for row in rows)
    equal = sum(row["types"] == row["published_types"] for row in rows)
    cpu = sum(row["cpu_seconds"] for row in rows)
    return markdown_table(header, lines) + (
        f"\nNumbers of types are equal in {equal} of {len(rows)} spans. Largest differences: statistic {off:.1e}, tau {tau:.1%}, "
        f"p-value {most:.3f}. All together took {cpu:.0f} CPU seconds (published: 1,274 s on 16 cores, 297 s of it to "
        "list the types).\n"
    )


def _spans(rows: Sequence[Row]) -> str:
    lines = [
        [
            row["set"],
            f"{row['first']}-{row['last']}",
            row["patches"],
            f"{row['types']:,}",
            f"{row['statistic']:.4f}",
            f"{row['tau']:.4f}",
            f"{row['pvalue']:.4f}",
            f"{row['n_boot']:,}",
            row["not_certified"],
            f"{row['cpu_seconds']:.0f}",
        ]
        for row in rows
    ]
    return markdown_table(
        ["set", "years", "patches", "types", "statistic", "tau", "p-value", "replicates", "not certified", "CPU s"],
        lines,
    )


def _paint(ax: Any, rows: Sequence[Row]) -> None:
    lengths = sorted({row["years"] for row in rows})
    for name, colour in (("cone", "#2f6fb0"), ("simplex", "#d98c1f")):
        own = [row for row in rows if row["set"] == name and row["tau_rule"] == "auto"]
        if own:
            shift = -0.1 if name == "cone" else 0.1
            x = [lengths.index(row["years"]) + shift for row in own]
            ax.scatter(x, [row["pvalue"] for row in own], s=18, color=colour, alpha=0.7, label=name)
    ax.axhline(0.05, color="#8a8f98", lw=0.8, ls="--")
    ax.set_yscale("log")
    ax.set_xticks(range(len(lengths)), [str(length) for length in lengths])
    ax.set_xlabel("years of a span")
    ax.set_ylabel("p-value")
    ax.legend(frameon=False)
    ax.set_title("Rational demand: p-values by length of the span", fontsize=10)
