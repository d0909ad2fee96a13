"""Draw the tables and figures of the pages again from the stored CSV files, without measuring: `python -m benchmarks.pages`.

A page has places for them, `<!-- bench: NAME -->` to `<!-- end -->`; what stands between is made here and nowhere else.
`tests/test_bench_pages.py` fails where a page says something else than its CSV files. A figure keeps a digest of the rows
that it shows, so that the test need not draw it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import experiments
from experiments import test_page
from experiments.files import Row, markdown_table

from benchmarks.guides import TABLES, rows
from benchmarks.record import RESULTS, ROOT

GUIDES = ("budgets.md", "guide-decide.md", "guide-explain.md", "guide-shops.md")
PAGES = (ROOT / "README.md", *(ROOT / "docs" / name for name in ("speed.md", "paper/paper.md", *GUIDES)))
FIGURE = RESULTS / "scaling.png"

#: An answer further off than this is wrong, whatever its solver says.
WRONG = 1e-6


def number(value: float, digits: int = 2) -> str:
    """Two digits, and no more zeros than needed; commas in thousands."""
    if value >= 10 ** (digits - 1):
        whole = round(value, digits - len(str(int(value))))
        return f"{whole:,.0f}"
    return f"{value:.{digits}g}"


def time(seconds: float) -> str:
    """Seconds in a unit that reads well."""
    for unit, size in (("µs", 1e-6), ("ms", 1e-3)):
        if seconds < 995 * size:
            return f"{number(seconds / size)} {unit}"
    return f"{number(seconds)} s"


def error(value: float) -> str:
    """A power of ten, or per cent."""
    return "0" if value == 0 else f"{value:.0%}" if value > 0.05 else f"{value:.0e}"


def origin(*names: str) -> str:
    """Processors, threads, commits and dates behind some files."""
    found: dict[tuple[str, str], set[str]] = {}
    for name in names:
        for row in rows(name):
            found.setdefault((str(row["cpu"]), str(row["date"])), set()).add(str(row["commit"]))
    parts = [f"{cpu}, {date}, commit {' and '.join(sorted(commits))}" for (cpu, date), commits in found.items()]
    return "; ".join(parts)


def large() -> str:
    """Complete data of many items."""
    body = []
    for row in rows("large"):
        body.append(
            (
                f"{row['family']}, n = {row['n']}",
                f"{row['cells']:,}",
                number(row["seconds"], 3),
                row["threads"],
                f"{row['peak_gib']:.1f} GiB",
            )
        )
    return (
        markdown_table(("data", "cells", "seconds", "threads", "memory"), body) + f"\nMeasured on {origin('large')}.\n"
    )


def memory() -> str:
    """What was expected before the work, and what it took."""
    found = {(row["n"], row["case"]): row for row in rows("memory")}
    cases = list(dict.fromkeys(case for _, case in found))
    body = []
    for n in sorted({n for n, _ in found}):
        own = [found.get((n, case)) for case in cases]
        body.append([n, *("" if row is None else f"{_gib(row['expected'])} / {_gib(row['measured'])}" for row in own)])
    worst = max(max(row["ratio"], 1 / row["ratio"]) for row in found.values())
    return (
        markdown_table(("items", *cases), body)
        + f"\nThe two differ by a factor of {worst:.2f} at most. Measured on {origin('memory')}.\n"
    )


def _gib(size: float) -> str:
    return number(size / 2**30, 2)


def graphs() -> str:
    """Incomplete data."""
    body = [
        (
            row["case"],
            f"{row['nodes']:,}",
            f"{row['arcs']:,}",
            time(row["cpu_seconds"]),
            error(row["relative_gap"]),
        )
        for row in rows("graphs")
    ]
    header = ("items x menus x items a menu", "nodes", "arcs", "CPU time", "relative gap")
    return markdown_table(header, body) + f"\nOne thread; measured on {origin('graphs')}.\n"


def bounded() -> str:
    """Where no graph fits: the last limit of each case."""
    last = {row["case"]: row for row in rows("bounded")}
    body = [(name, time(row["cpu_seconds"]), row["status"], error(row["relative_gap"])) for name, row in last.items()]
    header = ("items x menus x items a menu", "CPU time", "status", "gap, relative to the objective")
    return markdown_table(header, body) + f"\nOne thread; measured on {origin('bounded')}.\n"


def fastest(found: list[Row], n: int, family: str, error: float = float("inf")) -> Row | None:
    """The fastest rival that says "solved" and is not further off than `error`."""
    some = [row for row in found if row["n"] == n and row["family"] == family and row["solver"] != "rumflow"]
    some = [row for row in some if row["solved"] and row["max_error"] <= error]
    return min(some, key=lambda row: row["cpu_seconds"], default=None)


def compare() -> str:
    """How many times longer the fastest rival takes."""
    found = rows("compare")
    items = sorted({row["n"] for row in found})
    body = []
    for family, words in (
        ("known", "known answer"),
        ("noisy", "sample of 50 rankings"),
        ("dirichlet", "random shares"),
    ):
        for most, kind in ((float("inf"), "of all"), (WRONG, "of those within 1e-6")):
            cells = []
            for n in items:
                best = fastest(found, n, family, most)
                cells.append("none" if best is None else f"{number(best['times_rumflow'])} ({best['solver']})")
            body.append((words, kind, *cells))
    own = [row for row in found if row["solver"] == "rumflow"]
    times = ", ".join(f"n = {n}: {_range([r['cpu_seconds'] for r in own if r['n'] == n], time)}" for n in items)
    worst = max(row["max_error"] for row in own if row["family"] == "known")
    text = markdown_table(("data", "fastest rival", *(f"n = {n}" for n in items)), body)
    text += f"\nA projection by rumflow takes {times}. Where the answer is known beforehand its error is at most {worst:.0e}. "
    return text + f"Measured on {origin('compare')}.\n"


def _range(values: list[float], show: Callable[[float], str]) -> str:
    low, high = min(values), max(values)
    return show(low) if show(low) == show(high) else f"{show(low)} to {show(high)}"


def wrong() -> str:
    """Each rival: how often it says solved, how often that is wrong, how often it ran out of time."""
    found, body = rows("compare"), []
    for solver in dict.fromkeys(row["solver"] for row in found):
        own = [row for row in found if row["solver"] == solver]
        solved = [row for row in own if row["solved"]]
        off = [row for row in solved if row["max_error"] > WRONG]
        out = [row for row in own if row["out"]]
        limit = f", {own[0]['limit']:g} s" if out else ""
        worst = max((row["max_error"] for row in solved), default=float("nan"))
        body.append(
            (
                solver,
                len(own),
                len(solved),
                len(off),
                f"{worst:.0e}",
                f"{len(out)}{limit}",
                f"n = {max(row['n'] for row in own)}",
            )
        )
    header = (
        "solver",
        "problems",
        'says "solved"',
        "of these further off than 1e-6",
        "largest error",
        "time-outs",
        "tried up to",
    )
    return markdown_table(header, body)


def layers() -> str:
    """Differentiable layers."""
    found, body = rows("layers"), []
    for n in sorted({row["n"] for row in found}):
        own = next(row for row in found if row["tool"] == "rumflow" and row["n"] == n)
        for row in found:
            if row["n"] != n:
                continue
            name = f"{row['tool']}, {row['form']}"
            if row["ms_per_sample"] == "":
                body.append((n, name, row["note"], "", "", ""))
                continue
            gradient = error(row["gradient_error"]) if row["gradient_error"] != "" else ""
            times = number(row["ms_per_sample"] / own["ms_per_sample"])
            body.append((n, name, f"{number(row['ms_per_sample'])} ms", times, error(row["output_error"]), gradient))
    header = (
        "items",
        "layer",
        "a sample, forward and backward",
        "times rumflow",
        "error of the output",
        "of the gradient",
    )
    return markdown_table(header, body) + f"\nMeasured on {origin('layers')}.\n"


def softmax() -> str:
    """The layer at what networks say, by items."""
    found = {(row["n"], row["tool"]): row for row in rows("layers_softmax")}
    body = []
    for n in sorted({n for n, _ in found}):
        own = [found.get((n, f"rumflow{kind}")) for kind in ("", " softmax", " smoothed")]
        body.append((n, *(f"{number(row['ms_per_sample'])} ms" if row else "" for row in own)))
    return (
        markdown_table(("items", "noise", "softmax in each menu", "noise, smoothed (1e-3)"), body)
        + f"\nMeasured on {origin('layers_softmax')}.\n"
    )


def test() -> str:
    """Tests with their replicates."""
    body = [(row["case"], row["replicates"], time(row["cpu_seconds"])) for row in rows("bootstrap")]
    return (
        markdown_table(("data", "replicates", "CPU time"), body) + f"\nOne thread; measured on {origin('bootstrap')}.\n"
    )


def assortments() -> str:
    """The best assortment in the worst case."""
    groups: dict[tuple[int, int, float, int, int], list[Row]] = {}
    for row in [*rows("robust_speed"), *rows("robust_large"), *rows("robust_level_speed")]:
        key = row["products"], row["past"], row["chance"], row["rankings"], row["choices"]
        groups.setdefault(key, []).append(row)
    body = []
    for (products, past, chance, rankings, choices), found in groups.items():
        gaps = [row for row in found if row["reason"]]
        gap = (
            ", ".join(
                f"{number(row['gap'])} of {number(row['lower'])}, ended after {row['seconds']:.0f} s on the clock"
                for row in gaps
            )
            or "none"
        )
        seconds = ", ".join(number(row["cpu_seconds"]) for row in found)
        data = f"{choices} choices a menu, at 95 %" if choices else "exact shares"
        body.append((f"{products}, {past} that have {chance:.0%} of them", f"{rankings:,}", data, seconds, gap))
    header = ("products, past assortments", "rankings", "data", "CPU seconds, each market", "certified gap")
    names = ("robust_speed", "robust_large", "robust_level_speed")
    return markdown_table(header, body) + f"\nMeasured at commit {_commits(*names)}.\n"


def _commits(*names: str) -> str:
    return " and ".join(sorted({str(row["commit"]) for name in names for row in rows(name)}))


def scaling() -> str:
    """Estimates beside what was measured: for each family the ends of its axis, and the worst estimate."""
    body = []
    for (axis, family), found in _families().items():
        if axis == "threads":
            continue
        factors = [max(row["estimate"] / row["cpu_seconds"], row["cpu_seconds"] / row["estimate"]) for row in found]
        within = sum(factor <= 2 for factor in factors)
        ends = [
            f"{row['value']:,}: {time(row['cpu_seconds'])} ({time(row['estimate'])})" for row in (found[0], found[-1])
        ]
        body.append((axis, family, *ends, f"{within} of {len(found)}", f"{max(factors):.1f}"))
    header = ("axis", "data", "first (estimate)", "last (estimate)", "within a factor of 2", "worst factor")
    text = markdown_table(header, body)
    return text + f"\nCPU time of one thread; measured on {origin('scaling')}.\n"


def methods() -> str:
    """The interior point method beside the active set, by family, and what `auto` loses against the better of them."""
    found: dict[str, list[Row]] = {}
    for row in rows("methods"):
        found.setdefault(row["family"], []).append(row)
    body = []
    for family, own in found.items():
        both = [row["ipm"] / row["rankings"] for row in own if max(row["ipm"], row["rankings"]) < float("inf")]
        items = sorted({row["items"] for row in own})
        times = _range(both, number) if both else "one of them took longer than the limit"
        worst = max(row["ratio"] for row in own)
        body.append((family, f"{items[0]} to {items[-1]}", len(own), times, f"{worst:.2f}"))
    header = ("data", "items", "problems", "interior point / active set", "auto / the better of the two, at most")
    return markdown_table(header, body) + f"\nMeasured on {origin('methods')}.\n"


def threads() -> str:
    """Seconds on the clock by number of threads."""
    found = {family: own for (axis, family), own in _families().items() if axis == "threads"}
    counts = sorted({row["value"] for own in found.values() for row in own})
    body = [
        (family, *({row["value"]: time(row["seconds"]) for row in own}.get(count, "") for count in counts))
        for family, own in found.items()
    ]
    return markdown_table(("data", *(f"{count} thread{'s' * (count > 1)}" for count in counts)), body)


def _families() -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows("scaling"):
        found.setdefault((row["axis"], row["family"]), []).append(row)
    return {key: sorted(own, key=lambda row: row["value"]) for key, own in found.items()}


def headline() -> str:
    """The table of the README."""
    found = rows("compare")
    own = [row for row in found if row["solver"] == "rumflow" and row["n"] == 6]
    ratios = [
        best["times_rumflow"] for family in ("known", "noisy", "dirichlet") if (best := fastest(found, 6, family))
    ]
    worst = max(row["max_error"] for row in found if row["solver"] == "rumflow" and row["family"] == "known")
    big = max((row for row in rows("large") if row["family"] == "noisy"), key=lambda row: row["n"])
    graph = next(row for row in rows("graphs") if row["case"] == "50x50x25")
    budget = next(row for row in rows("budgets") if (row["set"], row["years"], row["tau_rule"]) == ("cone", 25, "auto"))
    test = next(row for row in rows("bootstrap") if row["case"] == "5 items, all menus")
    body = [
        (
            "six items, 192 cells",
            f"{_range([row['cpu_seconds'] for row in own], time)}; the fastest of eight general solvers takes "
            f"{_range(ratios, number)} times as long; error at most {worst:.0e}",
            "`python -m benchmarks compare`",
        ),
        (
            f"{big['n']} items, {big['cells'] / 1e6:.0f} million cells, relative gap 1e-7",
            f"{number(big['seconds'], 3)} s with {big['threads']} threads, {big['peak_gib']:.1f} GiB",
            f"`python -m benchmarks.large noisy {big['n']}`",
        ),
        ("50 items, 50 menus of 25, relative gap 1e-9", time(graph["cpu_seconds"]), "`python -m benchmarks graphs`"),
        (
            f"test of five items, {test['replicates']} replicates",
            time(test["cpu_seconds"]),
            "`python -m benchmarks test`",
        ),
        (
            f"{budget['years']} years of household demand, {budget['n_boot']:,} bootstrap replicates",
            f"{budget['cpu_seconds']:.0f} s of one core",
            "`python -m experiments budgets` (needs `RUMFLOW_DATA`)",
        ),
    ]
    return markdown_table(("", "", ""), body)


PARTS: dict[str, Callable[[], str]] = {
    "large": large,
    "memory": memory,
    "graphs": graphs,
    "bounded": bounded,
    "compare": compare,
    "wrong": wrong,
    "layers": layers,
    "softmax": softmax,
    "test": test,
    "assortments": assortments,
    "scaling": scaling,
    "methods": methods,
    "threads": threads,
    "headline": headline,
    **TABLES,
}


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
        for number, ((kind, family), found) in enumerate(item for item in _families().items() if item[0][0] == axis):
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
    "budgets": experiments.render_budgets,
    "choices": experiments.render_choices,
    "exp1": experiments.render_exp1,
    "exp2": experiments.render_exp2,
    "exp3": experiments.render_exp3,
    "explain": experiments.render_explain,
    "hotel": experiments.render_hotel,
    "power": experiments.render_power,
}


def main() -> None:
    """Redraw all pages; those that have changed are named."""
    for render in STUDIES.values():
        render(RESULTS)
    test_page.write_pages(RESULTS, RESULTS.parent)
    for page in PAGES:
        if page.exists() and (new := fill(old := page.read_text(encoding="utf-8"))) != old:
            page.write_text(new, encoding="utf-8")
            print("redrawn:", page.relative_to(ROOT))
    draw(FIGURE)


if __name__ == "__main__":
    main()
