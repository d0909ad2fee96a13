"""Large projections: time, memory and certified gap.

    python benchmarks/large.py noisy 20         one of them
    python benchmarks/large.py dirichlet 18
    python benchmarks/large.py noisy 24         201 million cells: about a quarter of an hour of two processors, 6.5 GiB

The peak is that of the whole process, which holds the data as well; beside it stands what was expected.
"""

from __future__ import annotations

import argparse
import resource
import time

import rumflow as rf
from rumflow.core.memory import available_memory, cell_bytes, projection_bytes
from rumflow.solvers.active_set.on_lattice import pool_size

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
    fit = rf.project(
        data, tol=given.tol, max_seconds=given.max_seconds, threads=given.threads, progress=True, throw=False
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"{given.family} n={given.items} cells={fit.lattice.n_cells:,}: {fit.seconds:.1f} s "
        f"(simulated in {simulated:.1f} s), relative gap {fit.gap / fit.objective:.1e}, {fit.status}, "
        f"{len(fit.mixture[1])} rankings, {fit.iterations} lattice passes, menu sums within "
        f"{fit.certificate.menu_error:.1e}, least flow {fit.certificate.least_flow:g}, "
        f"peak {peak / GIB:.2f} GiB (expected {expected / GIB:.2f})"
    )


if __name__ == "__main__":
    main()
