"""`python -m studies.experiments.limits --out FOLDER`: do time limits hold, does Ctrl-C end a call soon, and is there progress?

Every function with `max_seconds` or `progress`, on six sizes, each call in a process of its own:

    limit    max_seconds: seconds asked for and taken
    Ctrl-C   the seconds from the signal to the end of the process, when the first line of progress came, and what was kept

What holds: limits within max(2 s, 20 %), Ctrl-C within 2 s, progress within 5 s of the start. Some ten minutes on two idle cores.
Every row is stored when it is measured; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import signal
from pathlib import Path

from studies.experiments.clocked import READY, Clocked, run_clocked
from studies.experiments.files import Row, append_csv, markdown_table, origin, read_csv, write_csv

SECONDS = 2.0  # asked for
SIGNAL = 3.0  # seconds after which Ctrl-C comes

#: Sizes by name, and the data of each.
SIZES = {
    "8 items, all menus": "counted(rf.simulate.noisy_rankings(8, seed=0))",
    "13 items, all menus": "counted(rf.simulate.noisy_rankings(13, seed=0))",
    "16 items, 40 menus of 4": "rf.simulate.random_menus(16, 40, 4, 9, 30, seed=0)",
    "24 items, 44 menus of 2 to 5": "mixed(24, 44)",
    "200 items, 400 pairs": "rf.simulate.random_menus(200, 400, 2, 9, 30, seed=0)",
    "9,000 items, 30,000 menus of 3": "rf.simulate.random_menus(9000, 30000, 3, 9, 1, seed=0)",
}

_SET_UP = f"""
import numpy as np, rumflow as rf

def counted(rho):
    return rf.ChoiceData.from_matrix(np.random.default_rng(0).poisson(20 * np.clip(rho, 0, 1)) + (rho > 0))

def mixed(n, m):
    rng, counts = np.random.default_rng(0), dict()
    while len(counts) < m:
        menu = tuple(sorted(rng.choice(n, rng.integers(2, 6), replace=False).tolist()))
        counts[menu] = dict(zip(menu, rng.multinomial(100, rng.dirichlet(np.ones(len(menu)))).tolist()))
    return rf.ChoiceData.from_counts(counts)

data = DATA
items = data.items
menu, revenue = items[:3], dict(zip(items, range(len(items), 0, -1)))
halves = [data, data]
print("{READY}", flush=True)
"""

#: Calls by name: of all functions with progress, and of those with a limit.
CALLS = {
    "project": "rf.project(data, tol=1e-13, progress=True, throw=False, **limit)",
    "project_many": "rf.project_many([data] * 200, progress=True, throw=False)",
    "rum_test": "rf.rum_test(data, 9999, seed=1, progress=True)",
    "rum_test_many": "rf.rum_test_many(halves, 9999, seed=1, progress=True)",
    "compare_groups": "rf.compare_groups(halves, 9999, seed=1, progress=True)",
    "bounds": "rf.bounds(data, menu, n_boot=999, seed=1, progress=True)",
    "diversion": "rf.diversion(data, items[0], n_boot=999, seed=1, progress=True)",
    "explain": "rf.explain(data, n_boot=999, progress=True)",
    "next_menu": "rf.next_menu(data, progress=True)",
    "best_assortment": "rf.best_assortment(data, revenue, items[-1], confidence=0.9, progress=True, **limit)",
    "compare_models": "rf.compare_models(data, {'all': None}, n_boot=0 if limit else 999, progress=True, **limit)",
    "fit_likelihood": "rf.fit_likelihood(data, progress=True)",
    "lr_test": "rf.fit_likelihood(data, progress=True).lr_test(9999, 1, progress=True)",
    "rationalizable_share": "rf.rationalizable_share(data, progress=True)",
}
LIMITED = [name for name, call in CALLS.items() if "**limit" in call]

_RUN = """
limit = {limit}
try:
    found = {call}
except BaseException as stop:
    print(f"{{type(stop).__name__}}: {{stop}}")
else:
    print(repr(found)[:200].replace(chr(10), " "))
"""


def measure(function: str, size: str, kind: str) -> Row:
    """A row of the table."""
    limit = {"max_seconds": SECONDS} if kind == "limit" else {}
    code = _SET_UP.replace("DATA", SIZES[size]) + _RUN.format(limit=limit, call=CALLS[function])
    found = run_clocked(code, None if limit else SIGNAL)
    early = kind == "Ctrl-C" and (found.since_signal is None or _after_the_answer(found))
    taken = found.taken if early else found.since_signal or found.taken
    row: Row = {"function": function, "size": size, "kind": kind, "asked": SECONDS if limit else SIGNAL}
    row |= {"taken": round(taken.clock, 2), "processor": round(taken.processor, 2)}
    row["first_line"] = "" if found.first_line is None else round(found.first_line.clock, 2)
    row["ended"] = "before" if early else "limit" if limit else "Ctrl-C"
    row["holds"] = early or holds(found, kind)
    row["load"] = round(os.getloadavg()[0], 1)
    row["answer"] = found.out[:160] or found.err.strip()[-160:]
    if found.code < 0 and not early:
        row |= {"holds": False, "answer": f"ended by signal {-found.code}: {row['answer']}"}
    return row | origin()


def _after_the_answer(found: Clocked) -> bool:
    """Whether the signal came when the answer had been printed and Python was about to end."""
    return found.code == -signal.SIGINT and bool(found.out) and not found.out.startswith("KeyboardInterrupt")


def holds(found: Clocked, kind: str) -> bool:
    """Is the rule kept, by the clock or by the processor? A call that ended by itself need not have shown a line."""
    if kind == "limit":
        return found.taken.least <= SECONDS + max(2.0, 0.2 * SECONDS)
    if found.since_signal is None:
        return True
    return found.first_line is not None and found.first_line.least <= 5.0 and found.since_signal.least <= 2.0


def run_limits(out: Path, functions: list[str], again: bool = False) -> list[Row]:
    """Rows that are not in `limits.csv` yet, and the page; `again`: those of these functions are measured anew."""
    path = out / "limits.csv"
    out.mkdir(parents=True, exist_ok=True)
    cases = [(function, size, "limit") for function in LIMITED for size in SIZES]
    cases += [(function, size, "Ctrl-C") for function in CALLS for size in SIZES]
    old = read_csv(path) if path.exists() else []
    kept = {_case(row): row for row in old if _case(row) in cases and not (again and row["function"] in functions)}
    if len(kept) < len(old):
        path.unlink()
        for row in kept.values():
            append_csv(path, row)
    for case in cases:
        if case in kept or case[0] not in functions:
            continue
        row = measure(*case)
        append_csv(path, row)
        names = ("function", "size", "kind", "taken", "processor", "first_line", "ended", "holds", "answer")
        print(*(row[name] for name in names), flush=True)
    rows = sorted(read_csv(path), key=lambda row: cases.index(_case(row)))
    write_csv(path, rows)
    render_limits(out)
    return rows


def _case(row: Row) -> tuple[str, str, str]:
    return str(row["function"]), str(row["size"]), str(row["kind"])


def render_limits(out: Path) -> None:
    """`limits.md` from `limits.csv`."""
    rows = read_csv(out / "limits.csv")
    loads = [float(row["load"]) for row in rows]
    parts = [
        "# Limits, asked and taken",
        f"""Every function with `max_seconds` or `progress` on six sizes, each call in a process of its own, on two shared cores
(`python -m studies.experiments.limits`). *max_seconds*: seconds taken where {SECONDS:g} s were asked for. *Ctrl-C*: seconds
from the signal, which comes after {SIGNAL:g} s of the processor, to the end of the process; in brackets when the first line of
progress came. *done*: the call ended before the signal. In **bold** what does not hold: limits within 2 s or 20 %, Ctrl-C within
2 s, progress within 5 s of the start. Others used the machine at the same time ({min(loads):g} to {max(loads):g} processes ran on
two cores), so that a rule holds where the seconds of the clock or those of the processor keep to it; `limits.csv` has both.""",
    ]
    for kind, title in (("limit", "max_seconds"), ("Ctrl-C", "Ctrl-C")):
        own = [row for row in rows if row["kind"] == kind]
        functions, sizes = (list(dict.fromkeys(row[name] for row in own)) for name in ("function", "size"))
        cells = {(row["function"], row["size"]): _cell(row) for row in own}
        table = [[f"`{function}`", *(cells.get((function, size), "") for size in sizes)] for function in functions]
        parts += [f"## {title}", markdown_table(["function", *sizes], table)]
    (out / "limits.md").write_text("\n\n".join(parts).rstrip() + "\n", encoding="utf-8")


def _cell(row: Row) -> str:
    if row["ended"] == "before":
        return "done"
    text = f"{float(row['taken']):.1f}"
    if row["kind"] == "Ctrl-C":
        text += f" ({float(row['first_line']):.1f})" if row["first_line"] != "" else " (none)"
    return text if str(row["holds"]) == "True" else f"**{text}**"


def main(argv: list[str] | None = None) -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(prog="python -m studies.experiments.limits", description="Do limits hold?")
    parser.add_argument("functions", nargs="*", default=list(CALLS), help=f"which of {', '.join(CALLS)} (default all)")
    parser.add_argument("--again", action="store_true", help="measure anew what is in the file")
    parser.add_argument(
        "--out", default="results", type=Path, metavar="FOLDER", help="where to write (default results)"
    )
    arguments = parser.parse_args(argv)
    rows = run_limits(arguments.out, arguments.functions, arguments.again)
    print(f"{len(rows)} rows, {sum(str(row['holds']) != 'True' for row in rows)} that do not hold: see {arguments.out}")


if __name__ == "__main__":
    main()
