"""What the experiments share: CSV files that say where they come from, tables for pages, and figures where matplotlib
is installed."""

from __future__ import annotations

import csv
import platform
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def versions(*others: str) -> dict[str, str]:
    """Of the software that the numbers depend on, and of `others`."""
    found = {"python": platform.python_version()}
    for name in ("rumflow", "numpy", "scipy", "numba", "torch", *others):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """One line per row, with the versions in the last column."""
    used = " ".join(f"{name}={number}" for name, number in versions().items())
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "versions"])
        writer.writeheader()
        writer.writerows({**row, "versions": used} for row in rows)


def append_csv(path: Path, row: Row) -> None:
    """One more line, after a header where the file is new."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def read_csv(path: Path) -> list[Row]:
    """The rows of `write_csv`: numbers as numbers, the rest as text."""

    def value(text: str) -> float | int | str:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        return text

    with path.open(newline="") as file:
        return [{key: value(text) for key, text in row.items()} for row in csv.DictReader(file)]


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for a page."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def draw(path: Path, paint: Callable[[Any], None], size: tuple[float, float] = (6.4, 4.0)) -> bool:
    """Let `paint` fill a figure's axes and store it; False where matplotlib is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    paint(figure.subplots())
    figure.savefig(path, dpi=150)
    return True
