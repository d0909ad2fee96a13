"""What the experiments share: CSV files that say where they come from, tables for pages, and figures where matplotlib
is installed."""

from __future__ import annotations

import csv
import platform
import subprocess
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
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


def commit() -> str:
    """The commit of the code that runs, with a + where the package has changed since."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=9", "--exclude=*"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "src"], cwd=ROOT, check=False).returncode
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found + ("+" if changed else "")


def origin(*packages: str) -> Row:
    """Where a row comes from: commit, date and versions, those of `packages` among them."""
    used = " ".join(f"{name}={number}" for name, number in versions(*packages).items())
    return {"commit": commit(), "date": datetime.now(UTC).strftime("%Y-%m-%d"), "versions": used}


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """One line per row, with its origin in the last columns; rows read from a file keep the one they have."""
    stamp = origin()
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [name for name in rows[0] if name not in stamp]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*columns, *stamp])
        writer.writeheader()
        for row in rows:
            old = any(name in row for name in stamp)  # read from a file: what it does not say is not known
            writer.writerow({**(dict.fromkeys(stamp, "") if old else stamp), **row})


def append_csv(path: Path, row: Row) -> None:
    """One more line, after a header where the file is new; its columns must be those of the file."""
    new = not path.exists()
    if not new:
        with path.open(encoding="utf-8", newline="") as file:
            header = next(csv.reader(file))
        if header != list(row):
            raise ValueError(f"{path} has the columns {', '.join(header)}, the new row has {', '.join(row)}")
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def read_csv(path: Path) -> list[Row]:
    """The rows of `write_csv`: numbers as numbers, the rest as text; so are commits, which may look like numbers (12e34567)."""

    def value(name: str, text: str) -> float | int | str:
        for kind in () if name == "commit" else (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        return text

    with path.open(encoding="utf-8", newline="") as file:
        return [{key: value(key, text) for key, text in row.items()} for row in csv.DictReader(file)]


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
