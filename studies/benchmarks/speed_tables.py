"""Tables of docs/speed.md and its details, docs/scale.md, the README and the paper, from the stored measurements.

`pages.py` puts them in their places.
"""

from __future__ import annotations

from collections.abc import Callable

from studies.benchmarks.record import rows
from studies.experiments.files import Row, markdown_table

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


def measured(name: str, words: str = "Measured") -> str:
    """Processors, commits and dates behind a file."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in rows(name):
        found.setdefault((str(row["cpu"]), str(row["date"])), set()).add(str(row["commit"]))
    parts = [f"{cpu}, {date}, commit {' and '.join(sorted(commits))}" for (cpu, date), commits in found.items()]
    return f"\n{words} on {'; '.join(parts)}.\n"


def large() -> str:
    """Complete data of many items."""
    body = [
        (
            f"{row['family']}, n = {row['n']}",
            f"{row['cells']:,}",
            number(row["seconds"], 3),
            row["threads"],
            _memory(row),
        )
        for row in rows("large")
    ]
    return markdown_table(("data", "cells", "seconds", "threads", "memory"), body) + measured("large")


def _memory(row: Row) -> str:
    return f"{row['peak_gib']:.1f} GiB"


def memory() -> str:
    """What was expected before the work, and what it took."""
    found = {(row["n"], row["case"]): row for row in rows("memory")}
    cases = list(dict.fromkeys(case for _, case in found))
    body = []
    for n in sorted({n for n, _ in found}):
        own = [found.get((n, case)) for case in cases]
        body.append([n, *("" if row is None else f"{_gib(row['expected'])} / {_gib(row['measured'])}" for row in own)])
    worst = max(max(row["ratio"], 1 / row["ratio"]) for row in found.values())
    words = f"The two differ by a factor of {worst:.2f} at most. Measured"
    return markdown_table(("items", *cases), body) + measured("memory", words)


def _gib(size: float) -> str:
    return number(size / 2**30, 2)


def graphs() -> str:
    """Incomplete data."""
    body = [
        (row["case"], f"{row['nodes']:,}", f"{row['arcs']:,}", time(row["cpu_seconds"]), error(row["relative_gap"]))
        for row in rows("graphs")
    ]
    header = ("items x menus x items a menu", "nodes", "arcs", "CPU time", "relative gap")
    return markdown_table(header, body) + measured("graphs", "One thread; measured")


def bounded() -> str:
    """Where no graph fits: the last limit of each case."""
    last = {row["case"]: row for row in rows("bounded")}
    body = [(name, time(row["cpu_seconds"]), row["status"], error(row["relative_gap"])) for name, row in last.items()]
    header = ("items x menus x items a menu", "CPU time", "status", "gap, relative to the objective")
    return markdown_table(header, body) + measured("bounded", "One thread; measured")


def fastest(found: list[Row], n: int, family: str, error: float = float("inf")) -> Row | None:
    """The fastest rival that says "solved" and is not further off than `error`."""
    some = [row for row in found if row["n"] == n and row["family"] == family and row["solver"] != "rumflow"]
    some = [row for row in some if row["solved"] and row["max_error"] <= error]
    return min(some, key=lambda row: row["cpu_seconds"], default=None)


def compare() -> str:
    """How many times longer the fastest rival takes."""
    found, body = rows("compare"), []
    items = sorted({row["n"] for row in found})
    families = {"known": "known answer", "noisy": "sample of 50 rankings", "dirichlet": "random shares"}
    for family, words in families.items():
        for most, kind in ((float("inf"), "of all"), (WRONG, "of those within 1e-6")):
            best = [fastest(found, n, family, most) for n in items]
            cells = [f"{number(row['times_rumflow'])} ({row['solver']})" if row else "none" for row in best]
            body.append((words, kind, *cells))
    own = [row for row in found if row["solver"] == "rumflow"]
    times = ", ".join(f"n = {n}: {_range([r['cpu_seconds'] for r in own if r['n'] == n], time)}" for n in items)
    worst = max(row["max_error"] for row in own if row["family"] == "known")
    text = markdown_table(("data", "fastest rival", *(f"n = {n}" for n in items)), body)
    text += f"\nA projection by rumflow takes {times}. Where the answer is known beforehand its error is at most {worst:.0e}. "
    return text + measured("compare").lstrip()


def _range(values: list[float], show: Callable[[float], str]) -> str:
    low, high = min(values), max(values)
    return show(low) if show(low) == show(high) else f"{show(low)} to {show(high)}"


def wrong() -> str:
    """Each rival: how often it says solved, how often that is wrong, how often it ran out of time."""
    found, body = rows("compare"), []
    for solver in dict.fromkeys(row["solver"] for row in found):
        own = [row for row in found if row["solver"] == solver]
        errors = [row["max_error"] for row in own if row["solved"]]
        out = sum(bool(row["out"]) for row in own)
        off = sum(value > WRONG for value in errors)
        worst, limit = f"{max(errors, default=float('nan')):.0e}", f", {own[0]['limit']:g} s" if out else ""
        most = f"n = {max(row['n'] for row in own)}"
        body.append((solver, len(own), len(errors), off, worst, f"{out}{limit}", most))
    header = ("solver", "problems", 'says "solved"', "of these further off than 1e-6", "largest error", "time-outs")
    return markdown_table((*header, "tried up to"), body)


def layers() -> str:
    """Differentiable layers."""
    found, body = rows("layers"), []
    for n in sorted({row["n"] for row in found}):
        own = next(row for row in found if row["tool"] == "rumflow" and row["n"] == n)
        for row in (row for row in found if row["n"] == n):
            name, each = f"{row['tool']}, {row['form']}", row["ms_per_sample"]
            if each == "":
                body.append((n, name, row["batch"], row["note"], "", "", ""))
                continue
            gradient = error(row["gradient_error"]) if row["gradient_error"] != "" else ""
            times = number(each / own["ms_per_sample"])
            body.append((n, name, row["batch"], f"{number(each)} ms", times, error(row["output_error"]), gradient))
    header = (
        "items",
        "layer",
        "batch",
        "a sample, forward and backward",
        "times rumflow",
        "error of the output",
        "of the gradient",
    )
    return markdown_table(header, body) + measured("layers")


def equal() -> str:
    """Layers at the same batches, and each at its best."""
    found = {(row["tool"], row["batch"]): row["ms"] for row in rows("equal")}
    batches = sorted({batch for _, batch in found})
    body = []
    for tool in dict.fromkeys(tool for tool, _ in found):
        own = [found[tool, batch] for batch in batches]
        times = [number(ms / found["rumflow", batch]) for ms, batch in zip(own, batches, strict=True)]
        best = number(min(own) / min(found["rumflow", batch] for batch in batches))
        cells = [
            f"{number(ms)} ms" + (f" ({ratio})" if tool != "rumflow" else "")
            for ms, ratio in zip(own, times, strict=True)
        ]
        body.append((tool, *cells, "" if tool == "rumflow" else best))
    header = ("layer", *(f"batch {batch}" for batch in batches), "best against best")
    return markdown_table(header, body) + measured("equal", "One thread; measured")


def calls() -> str:
    """One sample: at once, and through the operators."""
    body = [
        (row["n"], *(f"{number(row[name])} µs" for name in ("at_once", "operators", "least"))) for row in rows("calls")
    ]
    header = ("items", "`RUMLayer(n)`", "the same, traced or transformed", "the engine in a plain autograd function")
    return markdown_table(header, body) + measured("calls", "One thread; measured")


def state() -> str:
    """Memory of the backward pass."""
    body = [
        (row["n"], row["batch"], row["nearly"], *(f"{number(row[name] / 1e6)} MB" for name in ("kept", "padded")))
        for row in rows("state")
    ]
    header = ("items", "batch", "of these nearly rational", "kept", "padded to the largest face it would be")
    return markdown_table(header, body) + measured("state")


def softmax() -> str:
    """The layer at what networks say, by items."""
    found = {(row["n"], row["tool"]): row for row in rows("layers_softmax")}
    body = []
    for n in sorted({n for n, _ in found}):
        own = [found.get((n, f"rumflow{kind}")) for kind in ("", " softmax", " smoothed")]
        body.append((n, *(f"{number(row['ms_per_sample'])} ms" if row else "" for row in own)))
    header = ("items", "noise", "softmax in each menu", "noise, smoothed (1e-3)")
    return markdown_table(header, body) + measured("layers_softmax")


def flows() -> str:
    """The projection beside layers that are rational by construction, and a softmax that is not."""
    body = [
        (row["n"], row["batch"], *(f"{number(row[name])} ms" for name in ("softmax", "flow", "projection")))
        for row in rows("flows")
    ]
    header = ("items", "batch", "`MenuSoftmax`", "`FlowRUM`", "`RUMLayer`, after a softmax")
    return markdown_table(header, body) + measured("flows", "One thread; measured")


def nearly() -> str:
    """Nearly rational inputs, with and without an error that is accepted."""
    found = rows("nearly")
    body = [
        (row["n"], f"{row['noise']:g}", f"{number(row['exact'])} ms", f"{number(row['atol'])} ms", error(row["error"]))
        for row in found
    ]
    header = ("items", "noise s", "`RUMLayer(n)`", f"`RUMLayer(n, atol={found[0]['accepted']:g})`", "its largest error")
    return markdown_table(header, body) + measured("nearly", "One thread; measured")


def test() -> str:
    """Tests with their replicates."""
    body = [(row["case"], row["replicates"], time(row["cpu_seconds"])) for row in rows("bootstrap")]
    return markdown_table(("data", "replicates", "CPU time"), body) + measured("bootstrap", "One thread; measured")


def cluster() -> str:
    """Seconds of tests by kind and number of workers."""
    found = {(row["case"], row["way"], row["workers"]): row for row in rows("cluster")}
    counts = sorted({workers for *_, workers in found})
    names = {
        "threads": "`threads=`",
        "joblib": "`n_jobs=`, processes of joblib",
        "Dask": "`n_jobs=-1`, workers of Dask",
    }
    body = []
    for case, way in dict.fromkeys((case, way) for case, way, _ in found):
        own = [found.get((case, way, count)) for count in counts]
        cells = [f"{row['seconds']:.1f} ({row['cpu_seconds']:.1f})" if row else "" for row in own]
        body.append((case, names[way], *cells))
    header = ("test", "workers are", *(f"{count} worker{'s' * (count > 1)}" for count in counts))
    sizes = {case: f"{number(row['bytes_sent'] / 1e3)} kB" for (case, *_), row in found.items()}
    sent = "; ".join(f"{case}: {size}" for case, size in sizes.items())
    words = f"Bytes that go with a piece of work: {sent}. Measured beside other work"
    return markdown_table(header, body) + measured("cluster", words)


def sweeps() -> str:
    """Other ways to sweep over a choice graph."""
    found = {(row["design"], row["way"]): number(row["milliseconds"]) for row in rows("sweeps")}
    designs, names = dict.fromkeys(design for design, _ in found), dict.fromkeys(way for _, way in found)
    body = [(name, *(f"{found[design, name]} ms" for design in designs)) for name in names]
    return markdown_table(("a sweep, for one replicate", *designs), body) + measured("sweeps", "CPU time; measured")


def assortments() -> str:
    """The best assortment in the worst case."""
    names = ("robust_speed", "robust_large", "robust_level_speed")
    groups: dict[tuple[int, int, float, int, int], list[Row]] = {}
    for row in (row for name in names for row in rows(name)):
        key = row["products"], row["past"], row["chance"], row["rankings"], row["choices"]
        groups.setdefault(key, []).append(row)
    body = []
    for (products, past, chance, rankings, choices), found in groups.items():
        gaps = [
            f"{number(row['gap'])} of {number(row['lower'])}, ended after {row['seconds']:.0f} s on the clock"
            for row in found
            if row["reason"]
        ]
        seconds = ", ".join(number(row["cpu_seconds"]) for row in found)
        data = f"{choices} choices a menu, at 95 %" if choices else "exact shares"
        market = f"{products}, {past} that have {chance:.0%} of them"
        body.append((market, f"{rankings:,}", data, seconds, ", ".join(gaps) or "none"))
    header = ("products, past assortments", "rankings", "data", "CPU seconds, each market", "certified gap")
    commits = sorted({str(row["commit"]) for name in names for row in rows(name)})
    return markdown_table(header, body) + f"\nMeasured at commit {' and '.join(commits)}.\n"


def scaling() -> str:
    """Estimates beside what was measured: for each family the ends of its axis, and the worst estimate."""
    body = []
    for (axis, family), found in families().items():
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
    return text + measured("scaling", "CPU time of one thread; measured")


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
    return markdown_table(header, body) + measured("methods")


def threads() -> str:
    """Seconds on the clock by number of threads."""
    found = {family: own for (axis, family), own in families().items() if axis == "threads"}
    counts = sorted({row["value"] for own in found.values() for row in own})
    body = [
        (family, *({row["value"]: time(row["seconds"]) for row in own}.get(count, "") for count in counts))
        for family, own in found.items()
    ]
    return markdown_table(("data", *(f"{count} thread{'s' * (count > 1)}" for count in counts)), body)


def families() -> dict[tuple[str, str], list[Row]]:
    """The rows of scaling.csv by axis and family, each ordered along its axis."""
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
    six = f"{_range([row['cpu_seconds'] for row in own], time)}; the fastest of eight general solvers takes "
    six += f"{_range(ratios, number)} times as long; error at most {worst:.0e}"
    many = f"{big['n']} items, {big['cells'] / 1e6:.0f} million cells, relative gap 1e-7"
    seconds = f"{number(big['seconds'], 3)} s with {big['threads']} threads, {_memory(big)}"
    years = f"{budget['years']} years of household demand, {budget['n_boot']:,} bootstrap replicates"
    body = (
        ("six items, 192 cells", six, "benchmarks compare`"),
        (many, seconds, f"benchmarks.large noisy {big['n']}`"),
        ("50 items, 50 menus of 25, relative gap 1e-9", time(graph["cpu_seconds"]), "benchmarks graphs`"),
        (f"test of five items, {test['replicates']} replicates", time(test["cpu_seconds"]), "benchmarks test`"),
        (years, f"{budget['cpu_seconds']:.0f} s of one core", "experiments budgets` (needs `RUMFLOW_DATA`)"),
    )
    return markdown_table(
        ("", "", ""), [(what, found, f"`python -m studies.{command}") for what, found, command in body]
    )


def first_use() -> str:
    """The first call in a new environment, and the same call in the next process."""
    body = [
        (f"`{row['call']}`", time(row["cpu_seconds"]), time(row["again_seconds"]), row["kernels"])
        for row in rows("first_use")
    ]
    header = ("first call", "CPU time", "in the next process", "kernels compiled for Python")
    return markdown_table(header, body) + measured("first_use", "One thread, beside other work; measured")


def triples() -> str:
    """Lower bound and distance for menus of three, by the time allowed, of an older version and of this one."""
    found = {(row["items"], row["menus"], row["choices"], row["limit"], row["version"]): row for row in rows("triples")}
    body = []
    for design in dict.fromkeys(key[:3] for key in found):
        first = found[*design, "first bound", "now"]
        own = [found[*design, limit, version] for limit in (10.0, 40.0) for version in ("before", "now")]
        spans = (f"{row['lower']:.4f} to {row['distance']:.4f}" for row in own)
        body.append([*design, f"{first['lower']:.4f} in {time(first['cpu_seconds'])}", *spans])
    head = ("items", "menus of three", "choices", "first bound", "10 s: before", "now", "40 s: before", "now")
    return markdown_table(head, body) + measured("triples", "One thread; measured")


ALL = (large, memory, graphs, bounded, compare, wrong, layers, equal, calls, state, softmax, flows, nearly)
ALL += (test, assortments, triples, sweeps, cluster)
ALL += (scaling, methods, threads, first_use, headline)
TABLES: dict[str, Callable[[], str]] = {table.__name__: table for table in ALL}
