"""Measure what the README and the pages claim: `python -m studies.benchmarks [PART ...] [--quick]` writes studies/results.

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

from studies.benchmarks.record import ROOT

#: By part: what it measures, its commands, and those of --quick (none: the part takes long).
PARTS: dict[str, tuple[str, list[str], list[str]]] = {
    "compare": (
        "one projection, against general solvers (compare.csv)",
        ["-m studies.benchmarks.compare"],
        ["-m studies.benchmarks.compare --repeats 10"],
    ),
    "methods": (
        "the active set, the interior point method, and what auto makes of them (methods.csv)",
        ["-m studies.benchmarks.methods"],
        ["-m studies.benchmarks.methods --items 9 10 --seeds 1"],
    ),
    "scaling": (
        "how cost grows, beside rf.estimate_cost (scaling.csv)",
        ["-m studies.benchmarks.scaling"],
        ["-m studies.benchmarks.scaling --quick"],
    ),
    "graphs": (
        "incomplete data on choice graphs, and where no graph fits (graphs.csv, bounded.csv, budgets_random.csv)",
        [
            "-m studies.benchmarks.graphs",
            "-m studies.benchmarks.graphs --budgets",
            "-m studies.benchmarks.graphs --bounded",
        ],
        ["-m studies.benchmarks.graphs", "-m studies.benchmarks.graphs --budgets"],
    ),
    "pairs": (
        "pairs among thousands of items (pairs.csv)",
        ["-m studies.benchmarks.pairs"],
        ["-m studies.benchmarks.pairs --quick"],
    ),
    "triples": (
        "menus of three where no graph fits (triples.csv)",
        ["-m studies.benchmarks.triples"],
        ["-m studies.benchmarks.triples --seconds 10"],
    ),
    "test": (
        "tests with their replicates (bootstrap.csv)",
        ["-m studies.benchmarks.bootstrap"],
        ["-m studies.benchmarks.bootstrap --quick"],
    ),
    "cluster": (
        "tests on 1, 2 and 4 workers of Dask and joblib (cluster.csv)",
        ["-m studies.benchmarks.cluster"],
        ["-m studies.benchmarks.cluster"],
    ),
    "first_use": (
        "the first call in a new environment, which compiles (first_use.csv)",
        ["-m studies.benchmarks.first_use"],
        ["-m studies.benchmarks.first_use project --repeats 1"],
    ),
    "large": (
        "complete data of 16 to 24 items (large.csv)",
        [f"-m studies.benchmarks.large noisy {n}" for n in (16, 18, 20, 22, 24)]
        + [f"-m studies.benchmarks.large dirichlet {n}" for n in (16, 18, 20)],
        ["-m studies.benchmarks.large noisy 16", "-m studies.benchmarks.large noisy 18"],
    ),
    "memory": (
        "memory expected and taken, 18 to 24 items (memory.csv)",
        [
            "-m studies.benchmarks.memory 18",
            "-m studies.benchmarks.memory 20 --cases complete incomplete test 'test few' likelihood 'likelihood few'",
            "-m studies.benchmarks.memory 22 24 --cases complete incomplete",
        ],
        ["-m studies.benchmarks.memory 18"],
    ),
    "layers": (
        "differentiable layers, against others (layers.csv)",
        [
            "-m studies.benchmarks.layers --n 6 --batch 64 --timeout 75 --out studies/results/layers.csv",
            "-m studies.benchmarks.layers --n 8 --batch 64 --timeout 90 --out studies/results/layers.csv",
            *(
                f"-m studies.benchmarks.layers {sizes} --tools rumflow 'rumflow softmax'{more} "
                "--out studies/results/layers_softmax.csv"
                for sizes, more in (
                    ("--n 8 --batch 256 --repeats 15", " 'rumflow smoothed'"),
                    ("--n 10 --batch 32 --repeats 5", " 'rumflow smoothed'"),
                    ("--n 12 --batch 8 --repeats 5", ""),
                )
            ),
            "-m studies.benchmarks.flows",
            "-m studies.benchmarks.flows --nearly",
            *(f"-m studies.benchmarks.calls {part}" for part in ("one", "equal", "state")),
        ],
        [],
    ),
    "assortments": (
        "the best assortment in the worst case (robust_speed.csv, robust_large.csv, robust_level_speed.csv)",
        [
            "-m studies.experiments.robust speed --seconds 300 --out studies/results",
            "-m studies.experiments.robust large --seeds 1 --seconds 100 --out studies/results",
            "-m studies.experiments.robust level_speed --seeds 2 --seconds 300 --out studies/results",
        ],
        [],
    ),
    "budgets": (
        "the test on 25 years of household demand; needs RUMFLOW_DATA (budgets.csv)",
        ["-m studies.experiments budgets --out studies/results"],
        [],
    ),
}


def main() -> None:
    """Run the parts one after the other; a part that fails does not stop the others."""
    listed = "\n".join(f"  {name:12} {what}" for name, (what, _, _) in PARTS.items())
    options = argparse.ArgumentParser(
        prog="python -m studies.benchmarks",
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
