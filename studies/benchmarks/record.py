"""Measured rows as CSV files that say where they come from: processor, threads, versions, commit and date of every row.

A file may be measured in pieces, at different times: a new row takes the place of the old one with the same key.
"""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from studies.experiments.files import ROOT, Row, origin, read_csv

RESULTS = ROOT / "studies" / "results"
STAMP = ("threads", "cpu", "commit", "date", "versions")


def processor() -> str:
    """The name of the processor, and how many of its cores there are for this process."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):  # not Linux, or a processor without a name
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores"


def stamp(threads: int, *packages: str) -> Row:
    """What is added to every row; `packages`: further ones whose version counts."""
    return {"threads": threads, "cpu": processor(), **origin(*packages)}


def save(path: Path, new: Sequence[Row], key: Sequence[str]) -> None:
    """Write rows, in place of those with the same key; the others in the file stay where they are."""
    old = read_csv(path) if path.exists() else []
    if old and list(old[0]) != list(new[0]):
        old = []  # the columns have changed
    merged = {tuple(str(row[name]) for name in key): row for row in [*old, *new]}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(new[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(merged.values())


def rows(name: str) -> list[Row]:
    """The rows of one file of results."""
    return read_csv(RESULTS / f"{name}.csv")


def show(row: Row) -> None:
    """A line on the terminal, without the stamp."""
    print("  ".join(f"{name} {_short(value)}" for name, value in row.items() if name not in STAMP), flush=True)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
