"""`python -m studies.experiments.reading --out studies/results/reading.csv`: how long reading takes, beside pandas and polars.

Two layouts, a row for each choice (menu, choice, subject) and a row for each alternative (chid, alt, choice, price), as a CSV
file and as a pandas frame. pandas and polars count by menu and choice; for long tables they join the alternatives of each
observation first. Every measurement is a process of its own, which prints its processor seconds (the best of several, without
imports) and its peak memory; the ways take turns.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

WAYS = ("nothing", "from_csv", "from_csv, row by row", "from_frame", "pandas", "polars")


def write(path: Path, layout: str, rows: int) -> None:
    """A file of the layout."""
    pd = import_module("pandas")

    rng = np.random.default_rng(0)
    items = np.array(list("abcdefgh"))
    if layout == "rows":
        menus = [sorted(rng.choice(items, rng.integers(2, 6), replace=False).tolist()) for _ in range(60)]
        menu = rng.integers(0, 60, rows)
        place = (rng.random(rows) * np.array([len(m) for m in menus])[menu]).astype(int)
        table = np.array([m + [""] * (8 - len(m)) for m in menus])
        texts = np.array(["|".join(m) for m in menus])
        frame = pd.DataFrame(
            {"menu": texts[menu], "choice": table[menu, place], "subject": rng.integers(0, rows // 10 + 1, rows)}
        )
    else:
        cases = rows // 4
        order = rng.random((cases, 8)).argsort(axis=1)[:, :4]
        chosen = np.zeros((cases, 4), int)
        chosen[np.arange(cases), rng.integers(0, 4, cases)] = 1
        case = np.repeat(np.arange(cases), 4)
        frame = pd.DataFrame(
            {
                "chid": case,
                "alt": items[order.ravel()],
                "choice": chosen.ravel(),
                "price": rng.random(4 * cases).round(3),
            }
        )
    frame.to_csv(path, index=False)


def way_of(way: str, layout: str, path: str) -> Callable[[], Any]:
    """What is timed."""
    if way.startswith("from_csv"):
        from rumflow.data.choices import ChoiceData
        from rumflow.data.readers.sources import TextSource

        if way != "from_csv":
            TextSource._by_arrow = lambda self, wanted: iter(())  # type: ignore[method-assign]
        return lambda: ChoiceData.from_csv(path)
    if way == "from_frame":
        pd = import_module("pandas")

        from rumflow.data.choices import ChoiceData

        frame = pd.read_csv(path)
        return lambda: ChoiceData.from_frame(frame)
    if way == "pandas":
        return lambda: _by_pandas(path, layout)
    if way == "polars":
        return lambda: _by_polars(path, layout)
    return lambda: None


def _by_pandas(path: str, layout: str) -> Any:
    pd = import_module("pandas")

    frame = pd.read_csv(path)
    if layout == "rows":
        return frame.groupby(["menu", "choice"]).size()
    frame = frame.sort_values(["chid", "alt"], kind="stable")
    menus = frame.groupby("chid")["alt"].agg("|".join)
    taken = frame[frame["choice"] == 1].set_index("chid")["alt"]
    return pd.DataFrame({"menu": menus, "choice": taken}).groupby(["menu", "choice"]).size()


def _by_polars(path: str, layout: str) -> Any:
    pl = import_module("polars")

    frame = pl.read_csv(path)
    if layout == "rows":
        return frame.group_by("menu", "choice").len()
    each = frame.group_by("chid").agg(
        pl.col("alt").sort().str.join("|"), pl.col("alt").filter(pl.col("choice") == 1).first().alias("taken")
    )
    return each.group_by("alt", "taken").len()


def measure(way: str, layout: str, path: str, times: int) -> tuple[float, float]:
    """Processor seconds, the best of several, and the peak memory of this process in MiB."""
    run = way_of(way, layout, path)
    best = np.inf
    for _ in range(times):
        begin = time.process_time()
        run()
        best = min(best, time.process_time() - begin)
    peak = next(
        line for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM")
    )
    return best, int(peak.split()[1]) / 1024


def main(argv: list[str] | None = None) -> int:
    """Write the files, measure, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--out", type=Path, help="a CSV file")
    parser.add_argument(
        "--one", nargs=4, metavar=("WAY", "LAYOUT", "FILE", "TIMES"), help="one measurement, in this process"
    )
    arguments = parser.parse_args(argv)
    if arguments.one:
        way, layout, path, times = arguments.one
        print(*measure(way, layout, path, int(times)))
        return 0
    one_thread = os.environ | {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
    root = Path(__file__).parents[2]
    options: dict[str, Any] = {"capture_output": True, "text": True, "env": one_thread, "cwd": root}
    found: list[list[Any]] = [["layout", "rows", "way", "cpu_seconds", "peak_mib"]]
    with tempfile.TemporaryDirectory() as folder:
        for rows in arguments.rows:
            for layout in ("rows", "alternatives"):
                path = str(Path(folder) / "table.csv")
                write(Path(path), layout, rows)
                for way in WAYS:
                    if "row by row" in way and rows > 10**6:
                        continue
                    words = [way, layout, path, "3" if rows <= 10**6 else "1"]
                    command = [sys.executable, "-m", "studies.experiments.reading", "--one", *words]
                    seconds, peak = subprocess.run(command, check=True, **options).stdout.split()
                    found.append([layout, rows, way, f"{float(seconds):.3f}", f"{float(peak):.0f}"])
                    print(*found[-1], sep="  ", flush=True)
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
