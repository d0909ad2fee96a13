"""Draw the tables and figures of the pages from the stored CSV files: `python -m studies.benchmarks.pages`. Measures nothing.

A page has places for them, `<!-- bench: NAME -->` to `<!-- end -->`; what is between is made here and nowhere else.
`studies/tests/test_bench_pages.py` fails where a page says something else than its CSV files. A figure keeps a digest of the rows
that it shows, so that the test need not draw it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from studies import experiments
from studies.benchmarks import guides, size_tables, speed_tables
from studies.benchmarks.record import RESULTS, ROOT
from studies.experiments import endogenous, limits

DOCS = (
    "speed",
    "test",
    "attributes",
    "budgets",
    "pairs",
    "guide-decide",
    "guide-explain",
    "guide-shops",
    "scale",
    "paper/paper",
)
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in DOCS),
    ROOT / "studies" / "README.md",
    RESULTS / "test_rules.md",
    RESULTS / "test_rates.md",
    RESULTS / "speed_details.md",
)
FIGURE = RESULTS / "scaling.png"
PARTS = speed_tables.TABLES | guides.TABLES | size_tables.TABLES


def fill(text: str) -> str:
    """A page with all its places filled anew."""

    def part(match: re.Match[str]) -> str:
        return f"{match[1]}\n{PARTS[match[2]]()}{match[3]}"

    return re.sub(r"(<!-- bench: (\w+) -->)\n.*?(<!-- end -->)", part, text, flags=re.DOTALL)


def digest() -> str:
    """Of the rows that the figure shows."""
    return hashlib.sha256((RESULTS / "scaling.csv").read_bytes()).hexdigest()[:16]


def draw(path: Path) -> None:
    """How cost grows, measured (points) and estimated (lines)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    FigureCanvasAgg(figure)
    titles = {"items": "items", "menus": "menus", "sample": "choices a menu", "batch": "problems in a stack"}
    for ax, (axis, label) in zip(figure.subplots(2, 2).flat, titles.items(), strict=True):
        for number, ((kind, family), found) in enumerate(
            item for item in speed_tables.families().items() if item[0][0] == axis
        ):
            del kind
            values = [row["value"] for row in found]
            ax.plot(values, [row["estimate"] for row in found], color=f"C{number}", linewidth=1, alpha=0.7)
            ax.plot(values, [row["cpu_seconds"] for row in found], "o", color=f"C{number}", markersize=4, label=family)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel(label)
        ax.set_ylabel("CPU seconds")
        ax.legend(fontsize=8, frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=100, metadata={"Description": digest()})


#: Pages of single studies, each with its figure, and how it is drawn from the CSV files of a folder.
STUDIES: dict[str, Callable[[Path], object]] = {
    name: getattr(experiments, f"render_{name}")
    for name in ("budgets", "choices", "exp1", "exp2", "exp3", "explain", "hotel", "power", "training")
} | {"limits": limits.render_limits, "budgets_endogenous": endogenous.render_endogenous}


def main() -> None:
    """Redraw all pages; those that have changed are named."""
    for render in STUDIES.values():
        render(RESULTS)
    for page in PAGES:
        if (new := fill(old := page.read_text(encoding="utf-8"))) != old:
            page.write_text(new, encoding="utf-8")
            print("redrawn:", page.relative_to(ROOT))
    draw(FIGURE)


if __name__ == "__main__":
    main()
