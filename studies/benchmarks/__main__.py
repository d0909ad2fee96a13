"""Measure what the README and the pages claim, and store it in docs/results: `python -m benchmarks [PART ...] [--quick]`.

Each part is a command of its own, printed before it runs; rows that a part does not measure stay as they are in its CSV file.
`--quick` takes some ten minutes on two idle cores, everything several hours. `make bench-pages` then redraws the pages.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time

from benchmarks.record import ROOT

#: By part: what it measures, its commands, and those of --quick (none: the part takes long).
PARTS: dict[str, tuple[str, list[str], list[str]]] = {
    "compare": (
        "one projection, against general solvers (compare.csv)",
        ["-m benchmarks.compare"],
        ["-m benchmarks.compare --repeats 10"],
    ),
    "methods": (
        "the active set, the interior point method, and what auto makes of them (methods.csv)",
        ["-m benchmarks.methods"],
        ["-m benchmarks.methods --items 9 10 --seeds 1"],
    ),
    "scaling": (
        "how cost grows, beside rf.estimate_cost (scaling.csv)",
        ["-m benchmarks.scaling"],
        ["-m benchmarks.scaling --quick"],
    ),
    "graphs": (
        "incomplete data on choice graphs, and where no graph fits (graphs.csv, bounded.csv, budgets_random.csv)",
        ["-m benchmarks.graphs", "-m benchmarks.graphs --budgets", "-m benchmarks.graphs --bounded"],
        ["-m benchmarks.graphs", "-m benchmarks.graphs --budgets"],
    ),
    "test": (
        "tests with their replicates (bootstrap.csv)",
        ["-m benchmarks.bootstrap"],
        ["-m benchmarks.bootstrap --quick"],
    ),
    "large": (
        "complete data of 16 to 24 items (large.csv)",
        [f"-m benchmarks.large noisy {n}" for n in (16, 18, 20, 22, 24)]
        + [f"-m benchmarks.large dirichlet {n}" for n in (16, 18, 20)],
        ["-m benchmarks.large noisy 16", "-m benchmarks.large noisy 18"],
    ),
    "memory": (
        "memory expected and taken, 18 to 24 items (memory.csv)",
        [
            "-m benchmarks.memory 18",
            "-m benchmarks.memory 20 --cases complete incomplete test 'test few' likelihood 'likelihood few'",
            "-m benchmarks.memory 22 24 --cases complete incomplete",
        ],
        ["-m benchmarks.memory 18"],
    ),
    "layers": (
        "differentiable layers, against others (layers.csv)",
        [
            "-m benchmarks.layers --n 6 --batch 64 --timeout 75 --out docs/results/layers.csv",
            "-m benchmarks.layers --n 8 --batch 64 --timeout 90 --out docs/results/layers.csv",
            *(
                f"-m benchmarks.layers {sizes} --tools rumflow 'rumflow softmax'{more} --out docs/results/layers_softmax.csv"
                for sizes, more in (
                    ("--n 8 --batch 256 --repeats 15", " 'rumflow smoothed'"),
                    ("--n 10 --batch 32 --repeats 5", " 'rumflow smoothed'"),
                    ("--n 12 --batch 8 --repeats 5", ""),
                )
            ),
        ],
        [],
    ),
    "assortments": (
        "the best assortment in the worst case (robust_speed.csv, robust_large.csv, robust_level_speed.csv)",
        [
            "-m experiments.robust speed --seconds 300 --out docs/results",
            "-m experiments.robust large --seeds 1 --seconds 100 --out docs/results",
            "-m experiments.robust level_speed --seeds 2 --seconds 300 --out docs/results",
        ],
        [],
    ),
    "budgets": (
        "the test on 25 years of household demand; needs RUMFLOW_DATA (budgets.csv)",
        ["-m experiments budgets --out docs/results"],
        [],
    ),
}


def main() -> None:
    """Run the parts one after the other; a part that fails does not stop the others."""
    listed = "\n".join(f"  {name:12} {what}" for name, (what, _, _) in PARTS.items())
    options = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"{__doc__}\nparts:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("part", nargs="*", help="which parts (default: all)")
    options.add_argument("--quick", action="store_true", help="the cases that are soon done")
    given = options.parse_args()
    for name in given.part:
        if name not in PARTS:
            options.error(f"part {name!r} is unknown; there are {', '.join(PARTS)}")
    failed = []
    for name in given.part or PARTS:
        if name == "budgets" and not given.quick and not os.environ.get("RUMFLOW_DATA"):
            print("budgets: RUMFLOW_DATA does not name the folder of the data; left out", file=sys.stderr)
            continue
        for command in PARTS[name][2 if given.quick else 1]:
            print(f"\n{name}: python {command}", flush=True)
            begin = time.perf_counter()
            code = subprocess.run([sys.executable, *shlex.split(command)], cwd=ROOT, check=False).returncode
            print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
            if code:
                failed.append(command)
    if failed:
        raise SystemExit("failed: " + "; ".join(failed))


if __name__ == "__main__":
    main()
