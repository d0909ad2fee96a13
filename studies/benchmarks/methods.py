"""Is `method="auto"` as fast as the better of the two? CPU seconds of rankings, ipm and auto, calls in turn.

`python -m studies.benchmarks.methods [--items 9 10 11] [--seeds 2] [--tol 1e-6]` measures the families of `rf.simulate` into
studies/results/methods.csv, where incomplete ones have a random half of the menus. The best of `--repeats` counts: the processor
is shared, and what others do in its caches makes calls slower, never faster. A method that takes more than `--limit` seconds is
measured once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import rumflow as rf
from studies.benchmarks.record import RESULTS, save, show, stamp
from studies.experiments.files import Row

METHODS = ("rankings", "ipm", "auto")
Make = Callable[[int, np.random.Generator], np.ndarray]


def _logit(draws: int | None) -> Make:
    return lambda n, rng: rf.simulate.mixed_logit(n, 5, draws, rng)


def _noisy(draws: int) -> Make:
    return lambda n, rng: rf.simulate.noisy_rankings(n, 50, draws, rng)


FAMILIES: dict[str, tuple[Make, bool]] = {
    **{f"noisy, {draws:,} draws": (_noisy(draws), True) for draws in (100, 1000, 30_000)},
    "dirichlet": (lambda n, rng: rf.simulate.dirichlet(n, seed=rng), True),
    **{f"mixed logit, {draws:,} draws": (_logit(draws), True) for draws in (30, 300, 1000, 3000, 30_000)},
    "rankings, half of the menus": (lambda n, rng: rf.simulate.rankings_mixture(n, seed=rng), False),
    "mixed logit, half of the menus": (_logit(None), False),
    "mixed logit, 1,000 draws, half of the menus": (_logit(1000), False),
}


def problem(family: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Probabilities, and weights where menus are hidden."""
    make, complete = FAMILIES[family]
    rng = np.random.default_rng([n, seed])
    rho = make(n, rng)
    if complete:
        return rho, None
    weights = rf.Lattice(n).membership.astype(float)
    hidden = rng.random(len(weights)) < 0.5
    hidden[1 << np.arange(n)] = False
    weights[hidden] = 0.0
    return rho, weights


def measure(family: str, n: int, seed: int, tol: float, repeats: int, limit: float) -> Row:
    """The best CPU seconds of each method; infinite where it did not come to its end within the limit."""
    rho, weights = problem(family, n, seed)
    best = dict.fromkeys(METHODS, np.inf)
    took = ""
    long: set[str] = set()
    for _ in range(repeats):
        for method in METHODS:
            if method in long:
                continue
            begin = time.process_time()
            fit = rf.project(rho, weights, method, tol, throw=False, max_seconds=4 * limit, threads=1, route="lattice")
            seconds = time.process_time() - begin
            if seconds > limit:
                long.add(method)
            if fit.status == "optimal":
                best[method] = min(best[method], seconds)
            took = fit.method if method == "auto" else took
    row: Row = {"family": family, "items": n, "seed": seed, "tol": tol, **best, "took": took}
    return row | {"ratio": best["auto"] / min(best["rankings"], best["ipm"])}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--items", type=int, nargs="+", default=[9, 10, 11])
    options.add_argument("--seeds", type=int, default=2)
    options.add_argument("--tol", type=float, default=1e-6)
    options.add_argument("--repeats", type=int, default=6)
    options.add_argument("--limit", type=float, default=2.0)
    given = options.parse_args()
    rf.project(rf.simulate.noisy_rankings(9, seed=0), method="ipm")
    rf.project(rf.simulate.noisy_rankings(9, seed=0), method="rankings")
    ratios = []
    for n in given.items:
        for family in FAMILIES:
            for seed in range(given.seeds):
                row = measure(family, n, seed, given.tol, given.repeats, given.limit)
                show(row)
                ratios.append(float(row["ratio"]))
                save(RESULTS / "methods.csv", [row | stamp(1)], ("family", "items", "seed", "tol"))
    print(f"worst {max(ratios):.2f}, {sum(r > 1.5 for r in ratios)} of {len(ratios)} above 1.5")


if __name__ == "__main__":
    main()
