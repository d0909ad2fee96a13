"""`python -m studies.experiments.fuzz --minutes 10 --seed 0`: random input, looking for tracebacks, hangs and disagreements.

Every round draws its own generator from (seed, round) and is one of

    layout     known choices in one of the layouts of tables, beside misleading columns: what is read must be what was written
    reader     a table of choices, often with broken bytes, read; what is read is written and read back
    command    a random command line
    problem    a random projection, by `project` and by `project_many`: same status, values equal to rounding
    clock      a call in a process of its own, with a limit of time or Ctrl-C: does it end in time, and does a test that was
               interrupted go on to the same p-value?
    oracle     a small data set and any function, against enumeration
    saved      a fit in a file, sound and damaged
    sparse     the likelihood of counts of all sizes side by side
    limits     many menus or many items, with a limit of time or Ctrl-C (`studies.experiments.fuzz_limits`)
    labels     odd labels through every result, in every form, and every picture (`fuzz_labels`)

Rounds run in a process of their own; one that is silent for 20 seconds (no answer, and no step of the progress that a user would
see) is a hang, or for a minute or more while others keep the processors busy and it has had less than 20 seconds of them: it is
ended, and the next round begins in a new process. `--round N` runs one round again, here, with its traceback; `--out FILE` stores
how many rounds ended in which way.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from math import comb
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

import rumflow as rf
from rumflow.cli.main import main as run_command
from rumflow.output.progress import Counter
from studies.experiments.clocked import processor_seconds, run_clocked
from studies.experiments.files import Row, append_csv, origin
from studies.experiments.fuzz_fits import fuzz_oracle, fuzz_saved, fuzz_sparse
from studies.experiments.fuzz_labels import fuzz_labels
from studies.experiments.fuzz_limits import fuzz_limits
from studies.experiments.layouts import fuzz_layout

HANG = 20.0  # seconds
_START = 300.0  # seconds for a new process: kernels may have to be compiled

Rng = np.random.Generator

LABELS = [
    *"a b c tea milk A B 1 2 3 4 01 1.0 -1 0 NA None nan True é e\u0301 שלום 🍎 'a' \"q\" x,y x;y x|y =1 @x +a -b {".split(),  # noqa: SIM905
    *("[0,1]", "", "a b", " a", "a ", "a\nb", "\u200b", "l" * 300, "1e308", "inf", "0x1", "a\tb", "\\"),
]
HEADINGS = {
    "menu": ["menu", "menu", "Menu", "choice_set", "menu_id", "offered", "x1", ""],
    "choice": ["choice", "choice", "item", "chosen", "x2", "alternative", ""],
    "count": ["count", "n", "weight", "freq", "total", ""],
    "subject": ["subject", "id", "person", "respondent"],
    "group": ["group", "domain", "frame", "treatment"],
}


class Disagreement(Exception):
    """Two ways to the same answer that differ."""


def pick(rng: Rng, values: Any) -> Any:
    """One of them."""
    return values[int(rng.integers(len(values)))]


# Tables of choices.


def make_table(rng: Rng) -> str:
    """Choices as text: mostly sound, sometimes with strange labels, numbers and columns."""
    strange, wrong = rng.random(2) < (0.4, 0.1)
    count = int(
        rng.integers(1, 7) if rng.random() < 0.95 else pick(rng, [8, 33, 70])
    )  # 20 items may rightly take minutes
    pool = LABELS if strange else [*"abcdefgh", *(f"x{k}" for k in range(62))]
    items = [pool[int(k)] for k in rng.permutation(len(pool))[:count]] if strange else pool[:count]
    separator = pick(rng, [",", "|", ";", " ", "/", ""]) if strange else pick(rng, [",", "|"])
    delimiter = pick(rng, [",", ";", "\t"]) if strange else ","
    counted = rng.random() < 0.4
    columns = ["menu", "choice", *(["count"] if counted else [])]
    columns += [name for name in ("subject", "group", "group") if rng.random() < 0.3]
    names = [pick(rng, HEADINGS[c]) if strange else c + str(k) * (columns.count(c) > 1) for k, c in enumerate(columns)]
    lines, seen = [delimiter.join(names)], set()
    for _ in range(int(rng.integers(0, 60))):
        menu = [x for x in items if rng.random() < 0.6] or items[:1]
        cells = {
            "menu": separator.join(menu),
            "choice": pick(rng, items if wrong and rng.random() < 0.1 else menu),
            "count": pick(
                rng, ["-1", "x", "", "inf", "1e308"] if wrong and rng.random() < 0.1 else ["1", "2", "7", "0", "1000"]
            ),
            "subject": str(rng.integers(5)),
            "group": pick(rng, ["p", "q", "p, q", "1"]),
        }
        key = tuple(cells[c] for c in columns if c != "count")
        if not counted or wrong or key not in seen:  # of a menu and an item there is one count
            seen.add(key)
            lines.append(delimiter.join(quote(cells[c], delimiter) for c in columns))
    return str(pick(rng, ["\n", "\n", "\r\n"])).join(lines) + str(pick(rng, ["\n", ""]))


def quote(text: str, delimiter: str) -> str:
    """A field of a CSV file."""
    return '"' + text.replace('"', '""') + '"' if set(text) & {delimiter, '"', "\n", "\r"} else text


def break_bytes(rng: Rng, content: bytes) -> bytes:
    """A few bytes changed, dropped, doubled or put in."""
    broken = bytearray(content)
    for _ in range(int(rng.integers(0, 4))):
        at = int(rng.integers(len(broken) + 1))
        match int(rng.integers(5)):
            case 0:
                broken[at : at + 1] = rng.integers(0, 256, 1).astype(np.uint8).tobytes()
            case 1:
                del broken[at : at + int(rng.integers(1, 30))]
            case 2:
                broken[at:at] = broken[at : at + int(rng.integers(1, 60))]
            case 3:
                broken[at:at] = pick(
                    rng, [b"\x00", b'"', b"\xff\xfe", b"\n\n", b",,,", b"\xef\xbb\xbf", b"9" * 400, b"(", b"\r"]
                )
            case 4:
                del broken[at:]
    return bytes(broken)


def make_file(rng: Rng, folder: Path) -> Path:
    """A file of choices, broken in one of three cases."""
    content = make_table(rng).encode(pick(rng, ["utf-8", "utf-8", "utf-8", "utf-16"]))
    if rng.random() < 0.33:
        content = break_bytes(rng, content)
    ending = pick(rng, [".csv", ".csv", ".csv", ".txt", ".csv.gz", ".parquet", ".tsv"])
    if ending == ".csv.gz":
        content = gzip.compress(content)
        content = break_bytes(rng, content) if rng.random() < 0.2 else content
    path = folder / f"data{ending}"
    if ending == ".parquet":
        with contextlib.suppress(rf.InputError):
            rf.ChoiceData.from_matrix(rng.integers(0, 9, (8, 3)) * rf.Lattice(3).membership, list("xyz")).to_parquet(
                path
            )
            content = break_bytes(rng, path.read_bytes()) if rng.random() < 0.5 else path.read_bytes()
    path.write_bytes(content)
    return path


def fuzz_reader(rng: Rng, folder: Path) -> str:
    """Read a file; write what was read and read it back."""
    path = make_file(rng, folder)
    try:
        data = rf.ChoiceData.from_csv(path)
    except rf.InputError:
        return "refused"
    form = "rows" if data.rows is not None and rng.random() < 0.5 else "long"
    again = folder / pick(rng, ["again.csv", "again.parquet"])
    try:
        (data.to_csv if again.suffix == ".csv" else data.to_parquet)(again, form)
    except rf.InputError:
        return "read, not written"
    back = rf.ChoiceData.from_csv(again)
    # Rows need not hold an item that was never offered; labels may come back in another order.
    offered = {str(x) for k, x in enumerate(data.items) if form != "rows" or data.membership[:, k].any()}
    if not offered <= {str(x) for x in back.items} <= {str(x) for x in data.items}:
        raise Disagreement(f"{form} {again.suffix}: items {data.items!r} came back as {back.items!r}")
    if table_of(back) != table_of(data):
        raise Disagreement(f"{form} {again.suffix}: the counts of {data!r} came back as {back!r}")
    return "read"


def table_of(data: rf.ChoiceData) -> dict[tuple[frozenset[str], str], float]:
    """Positive counts by menu and item."""
    return {
        (frozenset(str(data.items[k]) for k in range(data.n) if row[k]), str(data.items[x])): float(counts[x])
        for row, counts in zip(data.membership.tolist(), data.counts, strict=True)
        for x in range(data.n)
        if counts[x] > 0
    }


# Command lines.

VALUES = ["", "\x00", "9" * 30, *"no x 0 1 -1 3 1e-9 nan inf a a,b menu choice count group é".split()]  # noqa: SIM905
OPTIONS: dict[str, list[str]] = {
    "--by": ["group", "subject", "group,subject", "item"],
    "--weights": ["none", "counts", "inverse-variance"],
    "--for": ["a,b", "a,b,c", "b,a", "a,a"],
    "--n-boot": ["1", "9", "19", "0", "99999999999"],
    "--tau": ["auto", "0", "0.5", "1", "nan"],
    "--seed": ["0", "1", "-5"],
    "--convention": ["abkk", "kitamura-stoye", "default", "mine"],
    "--confidence": ["0.9", "0", "2"],
    "--max-seconds": ["0.001", "5", "0"],
    "--tol": ["1e-9", "1e-3", "0"],
    "--top": ["0", "3", "-1"],
    "--base": ["0", "1", "2"],
    "--menus": ["subsets:a,b,c", "subsets:", "no.json"],
    "--encoding": ["utf-8", "latin-1", "utf-16", "none"],
    "--delimiter": [",", ";", "tab", "", ",,"],
    "--form": ["rows", "long"],
    "--draws": ["1", "50", "0", "100000000000000000"],
    "--share": ["0.5", "1", "0", "2"],
    "--items": ["a,b,c,d", "a,a", ","],
    "-n": ["2", "3", "4", "5", "40"],
    "--only": ["g", "1", "s1", "no such", ""],
    "--leave-out": ["a", "b,c", "z", ",", "a,b,c"],
    "--max-n": ["2", "4", "99"],
    "--revenue": ["a=1,b=2,c=3", "a=1", "a=x", "a=1,a=2", "no.csv", "1=1,2=2"],
    "--outside": ["a", "b", "c", "1", "no"],
    "--max-size": ["0", "1", "2", "-1"],
    "--must": ["a", "a,b", "z"],
    "--never-together": ["a,b", "a", "z,a"],
    "--most": ["1", "2", "0"],
    "--remove": ["a", "b", "z"],
    "--above": ["a>b", "a>b,b>a", "a", ">"],
    "--family": ["noisy", "dirichlet"],
    **{f"--{name}": VALUES for name in ("menu", "choice", "alternative", "losers", "count", "weight", "total")},
    **{f"--{name}": VALUES for name in ("subject", "observation", "group")},
    **{f"--{name}": VALUES for name in ("available", "outside-option", "separator", "title", "item")},
    **{f"--{name}": [] for name in ("json", "quiet", "clean", "together", "cluster", "help", "next")},
}
READING = (  # noqa: SIM905
    "--menu --choice --alternative --losers --count --weight --total --subject --group --available --items --menus --base "
    "--outside-option --separator --clean --delimiter --encoding --quiet --json --observation --only --leave-out"
).split()
COMMANDS = {
    "project": ["--by", "--weights", "--tol", "--max-seconds", "--top", *READING],
    "test": ["--by", "--weights", "--together", "--tau", "--cluster", "--convention", "--seed", *READING],
    "bounds": ["--item", "--confidence", "--seed", "--remove", "--next", "--cluster", *READING],
    "explain": ["--most", "--cluster", "--seed", *READING],
    "assort": ["--outside", "--max-size", "--must", "--never-together", "--seed", *READING],
    "compare": ["--above", "--tol", *READING],
    "report": ["--title", "--seed", "--revenue", "--outside", *READING],
    "simulate": ["-n", "--draws", "--share", "--items", "--form", "--seed", "--json"],
    "bench": ["--family", "--seed", "--json"],
    "demo": ["--seed", "--json"],
    "completion": [],
}


def fuzz_command(rng: Rng, folder: Path) -> str:
    """Run a random command line; the exit code must be one of ours."""
    often = ["project"] * 5 + ["test"] * 4 + ["bounds", "explain", "assort"] * 3 + ["simulate"] * 2
    name = pick(rng, [*often, "compare", "report", "bench", "demo", "completion"])
    words = [name]
    if name in ("project", "test", "bounds", "explain", "assort", "compare", "report"):
        path = make_file(rng, folder)
        words.append(pick(rng, [str(path)] * 8 + ["-", "no.csv", ""]))
    if name == "simulate":
        words.append(pick(rng, ["noisy", "rankings", "logit", "dirichlet", "x"]))
    elif name == "completion":
        words.append(pick(rng, ["bash", "x"]))
    elif name == "bounds":
        words += ["--for", pick(rng, OPTIONS["--for"])]
    elif name == "assort":
        words += ["--revenue", pick(rng, OPTIONS["--revenue"]), "--max-seconds", "5"]
    elif name == "bench":
        words += ["--max-n", pick(rng, OPTIONS["--max-n"])]
    drawing = name in ("test", "report", "bounds", "explain", "compare")
    words += ["--n-boot", pick(rng, OPTIONS["--n-boot"])] if drawing else []
    for _ in range(int(rng.geometric(0.45)) - 1 if COMMANDS[name] else 0):
        option = pick(rng, COMMANDS[name] if rng.random() < 0.97 else list(OPTIONS))
        values = VALUES if rng.random() < 0.1 else OPTIONS[option]
        words += [option] if not OPTIONS[option] else [option, pick(rng, values)]
    if name in ("simulate", "report") or (rng.random() < 0.3 and name not in ("demo", "completion")):
        endings = ["csv", "csv", "parquet", "json", "tex", "md", "html", "xlsx", "txt"]
        target = pick(rng, [*(f"out.{ending}" for ending in endings), "no/out.csv", ".", *words[1:2]])
        words += ["--out", target if target.startswith("/") else str(folder / target)]
    text = make_table(rng)
    with contextlib.redirect_stdout(io.StringIO()) as told, contextlib.redirect_stderr(io.StringIO()) as said:
        kept, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(text.encode()))
        try:
            code = run_command(words)
        except Exception as error:
            error.add_note(f"command: {words!r}")
            raise
        finally:
            sys.stdin = kept
    if code not in (0, 1, 2):
        raise Disagreement(f"exit code {code} of {words!r}: {said.getvalue()[-300:]}")
    printed = told.getvalue() + said.getvalue()
    if "--json" not in words and (found := re.search("[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]", printed)):
        raise Disagreement(f"{found[0]!r} is printed by {words!r}")
    return f"{name}: exit code {code}"


# Problems.


def fuzz_problem(rng: Rng, folder: Path) -> str:
    """One projection by both ways."""
    n = int(rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9], p=[0.02, 0.1, 0.2, 0.23, 0.15, 0.12, 0.08, 0.05, 0.05]))
    lattice = rf.Lattice(n)
    inside = lattice.membership
    rho = make_probabilities(rng, n)
    weights = make_weights(rng, lattice)
    hidden = np.zeros(inside.shape, bool)
    if rng.random() < 0.5:
        menus = rng.random(len(inside)) < rng.random()
        menus[1 << np.arange(n)] = False
        hidden = menus[:, None] & inside
        if not (inside & ~hidden)[inside.sum(axis=1) > 1].any():
            hidden[:] = False
    single = inside & (inside.sum(axis=1, keepdims=True) == 1)
    filled = np.where(single, 1.0, rho)  # the same for both: with weights far apart a unit in the last place can decide
    given = np.where(hidden, np.nan, filled)
    w = None if weights is None else np.where(hidden, 0.0, np.where(single, 1.0, weights))
    fit = rf.project(given, weights=w, throw=False, max_seconds=15)
    both = np.where(inside & ~hidden, 1.0, 0.0) if w is None and hidden.any() else w
    batch = rf.project_many(filled[None], weights=both, throw=False)
    size = 0.5 * float(np.nansum((1.0 if both is None else both) * filled**2))
    room = fit.gap + float(batch.gap[0]) + 1e-13 * max(size, 1e-300)
    if fit.status is rf.Status.MAX_SECONDS:
        return "15 seconds were not enough"
    if fit.status is not batch.status[0]:
        raise Disagreement(
            f"n = {n}, {describe(w, hidden)}: project says {fit.status} (gap {fit.gap:.2g}, objective {fit.objective:.6g}, "
            f"{fit.method}), project_many {batch.status[0]} (gap {batch.gap[0]:.2g}, objective {batch.objective[0]:.6g})"
        )
    if not abs(fit.objective - float(batch.objective[0])) <= room:
        raise Disagreement(
            f"n = {n}, {describe(w, hidden)}: objectives {fit.objective!r} and {float(batch.objective[0])!r}"
        )
    return str(fit.status)


def make_probabilities(rng: Rng, n: int) -> Any:
    """Choice probabilities far from, near, on the border of and inside the polytope."""
    inside = rf.Lattice(n).membership
    kind = pick(rng, ["dirichlet", "noisy", "mixture", "vertices", "logit", "sparse", "rounded"])
    if kind == "noisy":
        return rf.simulate.noisy_rankings(n, seed=rng)
    if kind == "mixture":
        return rf.simulate.rankings_mixture(n, seed=rng)
    if kind == "logit":
        return rf.simulate.mixed_logit(n, seed=rng)
    rho = rf.simulate.dirichlet(n, seed=rng)
    if kind == "vertices":  # one item of every menu, for sure
        rho = np.where(rho == rho.max(axis=1, keepdims=True), 1.0, 0.0) * inside
    if kind == "sparse":
        rho = np.where((rng.random(rho.shape) < 0.5) & inside, rho, 0.0)
        rho[(rho.sum(axis=1) == 0) & inside.any(axis=1)] = inside[(rho.sum(axis=1) == 0) & inside.any(axis=1)]
    if kind == "rounded":
        rho = np.round(5 * rho)
        rho[(rho.sum(axis=1) == 0) & inside.any(axis=1)] = inside[(rho.sum(axis=1) == 0) & inside.any(axis=1)]
    rho[1:] /= rho[1:].sum(axis=1, keepdims=True)
    return rho


def make_weights(rng: Rng, lattice: rf.Lattice) -> Any:
    """None, or weights by menu or by cell, spread over a few or many powers of ten."""
    if rng.random() < 0.4:
        return None
    spread = pick(rng, [0.0, 1.0, 1.0, 3.0, 6.0])
    shape = (len(lattice.membership), 1) if rng.random() < 0.5 else lattice.shape
    return np.where(lattice.membership, 10.0 ** rng.uniform(-spread, spread, shape), 0.0)


def describe(weights: Any, hidden: Any) -> str:
    """Of the data, for a message."""
    spread = "no weights" if weights is None else f"weights {weights[weights > 0].min():.1e} to {weights.max():.1e}"
    return f"{int(hidden.any(axis=1).sum())} menus hidden, {spread}"


# Clocks.

#: Calls that take long on large data; `limit` is max_seconds, or nothing.
CALLS = [
    "rf.project(data, tol=1e-13, throw=False, **limit)",
    "rf.best_assortment(data, dict(zip(data.items, range(99))), data.items[0], confidence=0.9, **limit)",
    "rf.compare_models(data, {'all': None}, **limit)",
    "rf.rum_test_many([data, data], 9999, seed=1)",
    "rf.bounds(data, data.items[:3], n_boot=999, seed=1)",
    "rf.diversion(data, data.items[0], n_boot=999, seed=1)",
    "rf.explain(data, n_boot=999)",
    "rf.next_menu(data)",
    "rf.fit_likelihood(data).lr_test(9999, 1)",
    "rf.rationalizable_share(data)",
]
LATE = 4.0  # seconds after the signal, or above the limit: twice what is promised, for others use the machine as well

_CLOCKED = """
import rumflow as rf
data = rf.simulate.random_menus({sizes}, 9, 30, seed={seed})
limit = {limit}
print("ready", flush=True)
try:
    {call}
except (KeyboardInterrupt, rf.RumflowError):
    pass
"""


def fuzz_clock(rng: Rng, folder: Path) -> str:
    """A limit of time or Ctrl-C, at a random moment of a random call."""
    n, size = int(rng.integers(5, 23)), int(rng.integers(2, 5))
    menus = int(rng.integers(3, min(comb(n, size), 2 * n)))
    sizes, seed, seconds = f"{n}, {menus}, {size}", int(rng.integers(1 << 30)), float(rng.uniform(0.2, 3.0))
    if rng.random() < 0.4:
        return interrupt_test(sizes, seed, seconds, folder / "run.npz")
    call = pick(rng, CALLS)
    limited = "**limit" in call and rng.random() < 0.5
    code = _CLOCKED.format(sizes=sizes, seed=seed, call=call, limit={"max_seconds": seconds} if limited else {})
    found = run_clocked(code, None if limited else seconds)
    what = f"{call} of random_menus({sizes}, 9, 30, seed={seed})"
    if "Traceback" in found.err or found.code not in (0, -signal.SIGINT):
        raise Disagreement(f"{what}, exit code {found.code}: {found.err[-300:]}")
    after = found.taken if limited else found.since_signal
    if after is not None and after.least > LATE + seconds * limited:
        raise Disagreement(
            f"{what}: {'limit' if limited else 'Ctrl-C'} after {seconds:.2f} s, ended after {after} more"
        )
    return "limit" if limited else "ended before" if after is None else "Ctrl-C"


def interrupt_test(sizes: str, seed: int, seconds: float, file: Path) -> str:
    """A test that is interrupted goes on from its checkpoint to the same p-value."""
    call = f"rf.rum_test(data, 60, seed=1, checkpoint={str(file)!r})"
    found = run_clocked(_CLOCKED.format(sizes=sizes, seed=seed, call=call, limit={}), seconds)
    what = f"rum_test of random_menus({sizes}, 9, 30, seed={seed}), Ctrl-C after {seconds:.2f} s"
    if found.since_signal is not None and found.since_signal.least > LATE:
        raise Disagreement(f"{what}, ended after {found.since_signal} more")
    n, menus, size = map(int, sizes.split(","))
    data = rf.simulate.random_menus(n, menus, size, 9, 30, seed=seed)
    done = file.exists()
    again = rf.rum_test(data, 60, seed=1, checkpoint=file)
    whole = rf.rum_test(data, 60, seed=1)
    if (again.null_distributions != whole.null_distributions).any() or again.pvalue != whole.pvalue:
        raise Disagreement(f"{what}: p = {again.pvalue} with the checkpoint, {whole.pvalue} without")
    return "test gone on" if done else "test interrupted before a replicate"


# Rounds.

KINDS: dict[str, Callable[[Rng, Path], str]] = {
    "reader": fuzz_reader,
    "layout": fuzz_layout,
    "command": fuzz_command,
    "problem": fuzz_problem,
    "clock": fuzz_clock,
    "oracle": fuzz_oracle,
    "saved": fuzz_saved,
    "sparse": fuzz_sparse,
    "limits": fuzz_limits,
    "labels": fuzz_labels,
}


def run_round(seed: int, number: int, kinds: list[str]) -> tuple[str, str]:
    """The kind of the round and how it ended; errors are raised."""
    rng = np.random.default_rng([seed, number])
    kind = kinds[number % len(kinds)]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        return kind, KINDS[kind](rng, Path(folder))


def warm_up() -> None:
    """Load the kernels, or compile them."""
    for n in (4, 9):
        rho = rf.simulate.dirichlet(n, 0)
        for weights in (None, 2.0 * rf.Lattice(n).membership):
            rf.project(rho, weights, max_seconds=0.1, throw=False)
            rf.project(rho, weights, "ipm", max_seconds=0.1, throw=False)
            rf.project_many([rf.simulate.noisy_rankings(n, seed=0)], weights)
    pairs = rf.simulate.random_menus(40, 300, 2, draws=5, seed=0)
    rf.project(pairs, max_seconds=1.0, throw=False)
    rf.project(pairs, model=rf.RandomUtility([(0, 1)]), max_seconds=1.0, throw=False)
    with contextlib.redirect_stdout(io.StringIO()):
        run_command(["demo"])


def work(seed: int, first: int, kinds: list[str], pipe: Any) -> None:
    """Rounds from `first` on, each announced and then reported; progress is a sign of life."""
    count, one_at_a_time = Counter.add, Lock()

    def alive(self: Counter, number: int) -> None:
        with one_at_a_time:
            pipe.send(("alive",))
        count(self, number)

    warm_up()
    setattr(Counter, "add", alive)  # noqa: B010
    number = first
    while True:
        pipe.send(("begin", number))
        try:
            pipe.send(("done", *run_round(seed, number, kinds)))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            key = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
            notes = " ".join(getattr(error, "__notes__", []))
            pipe.send(("wrong", kinds[number % len(kinds)], key, f"{str(error)[:400]} {notes[:400]}"))
        number += 1


def busy_processors() -> float:
    """How many processes wait for each processor, 1 at least."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def store_counts(
    path: Path, run: Row, counts: dict[str, int], found: dict[tuple[str, str], list[tuple[int, str]]]
) -> None:
    """Add to a file how many rounds of a run ended in which way."""
    faults = {f"{kind}: fault, {key}": len(cases) for (kind, key), cases in found.items()}
    for ended, times in sorted((counts | faults).items()):
        append_csv(path, run | {"ended": ended, "times": times} | origin())


def main(argv: list[str] | None = None) -> int:
    """Fuzz until the time is over; 1 where something was found."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.fuzz", description="Random input, looking for what breaks."
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all rounds (default 0)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which, in turn (default all)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="a CSV file to which the counts are added")
    parser.add_argument("--round", type=int, help="run only this round, in this process")
    arguments = parser.parse_args(argv)
    kinds = arguments.kinds.split(",")
    if arguments.round is not None:
        print(*run_round(arguments.seed, arguments.round, kinds))
        return 0
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # in the background of a shell; processes of rounds are to hear it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    end = time.monotonic() + 60 * arguments.minutes
    counts: dict[str, int] = {}
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    number = 0
    context = multiprocessing.get_context("spawn")
    while time.monotonic() < end:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(arguments.seed, number, kinds, there), daemon=True)
        process.start()
        there.close()
        patience = _START
        while time.monotonic() < end:
            try:
                began, had = time.monotonic(), processor_seconds(process.pid or 0)
                silent = not here.poll(patience)
                while silent and time.monotonic() - began < 3 * patience * (busy := busy_processors()):
                    used = processor_seconds(process.pid or 0) - had
                    if used > patience or (busy <= 1.0 and used < 0.1 * patience):
                        break
                    silent = not here.poll(2.0)
                message = None if silent else here.recv()
            except EOFError:
                process.join(5)
                silent = False
                message = ("wrong", kinds[number % len(kinds)], f"the process ended with {process.exitcode}", "")
            if message is None:
                message = ("wrong", kinds[number % len(kinds)], f"hang: nothing for {HANG:g} s", "")
            if message[0] == "begin":
                number, patience = message[1], HANG
            elif message[0] == "alive":
                continue
            elif message[0] == "done":
                key = f"{message[1]}: {message[2]}"
                counts[key] = counts.get(key, 0) + 1
            else:
                found.setdefault((message[1], message[2]), []).append((number, message[3]))
            if message[0] == "wrong" and (silent or not process.is_alive()):
                number += 1
                break
        process.kill()
        process.join()
    if arguments.out is not None:
        run: Row = {"seed": arguments.seed, "minutes": arguments.minutes, "rounds": number}
        store_counts(arguments.out, run, counts, found)
    print(f"{number} rounds, seed {arguments.seed}, kinds {','.join(kinds)}")
    for key in sorted(counts):
        print(f"  {counts[key]:6d}  {key}")
    print(f"{len(found)} kinds of faults" if found else "nothing found")
    for (kind, key), cases in sorted(found.items()):
        print(
            f"\n{kind}: {key}, {len(cases)} times; rounds {', '.join(str(k) for k, _ in cases[:8])}\n    {cases[0][1]}"
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
