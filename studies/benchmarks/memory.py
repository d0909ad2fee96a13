"""Estimates of memory beside the measured peak, each case in a process of its own.

    python -m studies.benchmarks.memory 18 20 22        into studies/results/memory.csv
    python -m studies.benchmarks.memory 24 --cases complete incomplete

Data are samples of 100 choices a menu by 50 rankings, from all menus, a third of them (incomplete, test), or one in a thousand
(few). Projections are solved to a relative gap of 1e-6, because the active set takes memory as it grows; the others stop early.
The peak of the process before the call, with the data, is taken off.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

import rumflow as rf
from rumflow.core import memory
from rumflow.core.threads import thread_count
from rumflow.solvers.active_set.on_lattice import pool_size
from studies.benchmarks.jobs import some_menus
from studies.benchmarks.record import RESULTS, save, show, stamp

CASES = ("complete", "incomplete", "ipm", "test", "test few", "likelihood", "likelihood few")
REPLICATES = 2


def run(case: str, n: int) -> None:
    """One case: prints the measured and the expected bytes."""
    rf.project(rf.simulate.noisy_rankings(9, seed=0), tol=0.5, throw=False)
    few = {"tol": 0.5 if case == "ipm" else 1e-6, "throw": False, "max_seconds": 3600.0, "route": "lattice"}
    small = some_menus(9, 0.2)
    pool = pool_size(n)
    if case in ("complete", "ipm"):
        data = rf.simulate.noisy_rankings(n, seed=0)
        method = "ipm" if case == "ipm" else "rankings"
        expected = memory.interior_bytes(n, False) if case == "ipm" else memory.projection_bytes(n, False, pool)
        call = lambda given: rf.project(given, method=method, **few)  # noqa: E731
        small = rf.simulate.noisy_rankings(9, seed=0)
    else:
        share = {"incomplete": 0.3, "test": 0.3, "likelihood": 1.0}.get(case, 0.001)
        data = some_menus(n, share)
        menus = len(data.counts)
        if case == "incomplete":
            expected = memory.projection_bytes(n, True, pool, menus=menus)
            call = lambda given: rf.project(given, method="rankings", **few)  # noqa: E731
        elif case.startswith("test"):
            expected = memory.test_bytes(n, menus, REPLICATES, 1)
            call = lambda given: rf.rum_test(  # noqa: E731
                given, REPLICATES, tau=0.1, tol=0.5, threads=1, seed=0, route="lattice"
            )
        else:
            expected = memory.likelihood_bytes(n, menus, pool)
            call = lambda given: rf.fit_likelihood(  # noqa: E731
                given, tol=1e3, max_iterations=1, throw=False, route="lattice"
            )
    call(small)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts again from here
    before = _status("VmRSS")
    found = call(data)
    # Where it stopped early, the active set may not have its full size.
    print(_status("VmHWM") - before, expected, getattr(found, "status", "done"))


def _status(key: str) -> int:
    try:
        with open("/proc/self/status") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith(key))
    except OSError:  # not Linux
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("items", type=int, nargs="+")
    options.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    options.add_argument("--here", action="store_true", help="the first of them, in this process")
    given = options.parse_args()
    if given.here:
        run(given.cases[0], given.items[0])
        return
    for n in given.items:
        for case in given.cases:
            command = [sys.executable, "-m", "benchmarks.memory", str(n), "--cases", case, "--here"]
            found = subprocess.run(command, check=False, capture_output=True, text=True)
            if found.returncode:
                why = found.stderr.strip().splitlines()[-1:] or [f"ended with code {found.returncode}"]
                print(f"n={n} {case}: {why[0]}", file=sys.stderr, flush=True)
                continue
            *numbers, ended = found.stdout.split()[-3:]
            peak, expected = (float(value) for value in numbers)
            row = {
                "n": n,
                "case": case,
                "measured": peak,
                "expected": expected,
                "ratio": expected / peak,
                "status": ended,
            }
            show(row)
            save(RESULTS / "memory.csv", [row | stamp(thread_count())], ["n", "case"])


if __name__ == "__main__":
    main()
