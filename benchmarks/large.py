"""Large projections: time, memory and certified gap. `python benchmarks/large.py noisy 20` or `dirichlet 18`."""

from __future__ import annotations

import argparse
import resource
import time

import rumflow as rf


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("family", choices=["noisy", "dirichlet"])
    options.add_argument("items", type=int)
    options.add_argument("--tol", type=float, default=1e-7)
    options.add_argument("--threads", type=int)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    rf.project(rf.simulate.dirichlet(9, 0))  # compiled and loaded before the clock starts
    make = rf.simulate.dirichlet if given.family == "dirichlet" else rf.simulate.noisy_rankings
    begin = time.perf_counter()
    data = make(given.items, seed=given.seed)
    simulated = time.perf_counter() - begin
    fit = rf.project(data, tol=given.tol, threads=given.threads, progress=True, throw=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{given.family} n={given.items} cells={fit.lattice.n_cells:,}: {fit.seconds:.1f} s "
        f"(simulated in {simulated:.1f} s), relative gap {fit.gap / fit.objective:.1e}, {fit.status}, "
        f"{len(fit.rankings.weights)} rankings, {fit.iterations} lattice passes, menu sums within "
        f"{fit.certificate.menu_error:.1e}, least flow {fit.certificate.least_flow:g}, peak {peak:.2f} GiB"
    )


if __name__ == "__main__":
    main()
