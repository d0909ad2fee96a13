"""Large projections: time, memory and certified gap.

    python -m studies.benchmarks.large noisy 20         one of them
    python -m studies.benchmarks.large dirichlet 18
    python -m studies.benchmarks.large noisy 24         201 million cells: about a quarter of an hour of two processors, 6.5 GiB

The peak is that of the whole process, which holds the data as well; beside it stands what was expected.
"""

from __future__ import annotations

import argparse
import resource
import time

import rumflow as rf
from rumflow.core.memory import available_memory, cell_bytes, projection_bytes
from rumflow.core.threads import thread_count
from rumflow.solvers.active_set.on_lattice import pool_size
from studies.benchmarks.record import RESULTS, save, show, stamp

GIB = 2**30


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("family", choices=["noisy", "dirichlet"])
    options.add_argument("items", type=int)
    options.add_argument("--tol", type=float, default=1e-7)
    options.add_argument("--threads", type=int)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--max-seconds", type=float, help="stop there, with the best point so far")
    given = options.parse_args()
    rf.project(rf.simulate.dirichlet(9, 0))  # compiled and loaded before the clock starts
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    make = rf.simulate.dirichlet if given.family == "dirichlet" else rf.simulate.noisy_rankings
    expected = before + 2 * cell_bytes(given.items) + projection_bytes(given.items, False, pool_size(given.items))
    free = available_memory()
    print(
        f"expected peak {expected / GIB:.2f} GiB" + ("" if free is None else f", free {free / GIB:.1f} GiB"), flush=True
    )
    begin = time.perf_counter()
    data = make(given.items, seed=given.seed)
    simulated = time.perf_counter() - begin
    used = time.process_time()
    fit = rf.project(
        data, tol=given.tol, max_seconds=given.max_seconds, threads=given.threads, progress=True, throw=False
    )
    cpu = time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    row = {"family": given.family, "n": given.items, "cells": fit.lattice.n_cells, "seconds": fit.seconds}
    row |= {
        "cpu_seconds": cpu,
        "simulated": simulated,
        "relative_gap": fit.gap / fit.objective,
        "status": str(fit.status),
    }
    row |= {"rankings": len(fit.mixture[1]), "passes": fit.iterations, "menu_error": fit.certificate.menu_error}
    row |= {"least_flow": fit.certificate.least_flow, "peak_gib": peak / GIB, "expected_gib": expected / GIB}
    show(row)
    threads = given.threads or thread_count()
    save(RESULTS / "large.csv", [row | stamp(threads)], ["family", "n"])


if __name__ == "__main__":
    main()
