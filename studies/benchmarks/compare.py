"""rumflow against general solvers, on the same data in one process, one thread each.

    python -m studies.benchmarks.compare [--items 6 8 10] [--limit 300]

The solvers and their forms are in `rivals.py`. Times are CPU seconds, the best of calls that take turns. Errors are
measured against an answer none of them computed where the family is `known` (the problem is built backwards from its
projection), else against rumflow at tol 1e-13, whose gap is certified. `violation` is the most negative Block-Marschak
polynomial of the answer; `solved` is what the solver itself says, and `out` that it stopped at the time limit.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "RUMFLOW_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

import rumflow as rf  # noqa: E402
from studies.benchmarks.record import RESULTS, save, show, stamp  # noqa: E402
from studies.benchmarks.rivals import RIVALS, Answer, Solve  # noqa: E402

FAMILIES = ("known", "noisy", "dirichlet")
LONG = 10.0  # who takes so many seconds for one call gets no second turn


def problem(family: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Data as cells, and the reference answer."""
    inside = rf.Lattice(n).membership
    if family == "known":
        known = rf.simulate.known_projection(n, seed, distance=1.0)
        return known.data[inside], known.answer[inside]
    make = rf.simulate.dirichlet if family == "dirichlet" else rf.simulate.noisy_rankings
    data = make(n, seed=seed)[inside]
    return data, rf.project_many([data], tol=1e-13, throw=False).rho[0]


def measure(
    solvers: dict[str, Solve], data: np.ndarray, repeats: int, limit: float, turns: int = 3, patience: float = 2.0
) -> dict[str, tuple[float, Answer, bool]]:
    """Best CPU seconds, answer, and was the limit reached? Calls take turns; a turn ends early after `patience` seconds."""
    found: dict[str, tuple[float, Answer, bool]] = {}
    for _ in range(turns):
        for name, solve in solvers.items():
            if name in found and found[name][0] > LONG:
                continue
            end = time.perf_counter() + patience
            for _ in range(repeats):
                wall, begin = time.perf_counter(), time.process_time()
                answer = solve(data)
                cpu, taken = time.process_time() - begin, time.perf_counter() - wall
                out = not answer.solved and taken > 0.95 * limit
                found[name] = min(cpu, found[name][0] if name in found else np.inf), answer, out
                if time.perf_counter() + taken > end:
                    break
    return found


def main() -> None:
    """Measure and store."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--items",
        type=int,
        nargs="+",
        default=[6, 8],
        help="numbers of items; the others take much longer beyond eight",
    )
    options.add_argument("--families", nargs="+", default=FAMILIES, choices=FAMILIES)
    options.add_argument("--limit", type=float, default=60.0, help="seconds a solver may take")
    options.add_argument("--repeats", type=int, default=20, help="calls in each of three turns; the best counts")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    for n in given.items:
        solvers, packages = {}, []
        for name, (make, most, needs) in RIVALS.items():
            if n > most:
                continue
            try:
                solvers[name] = make(n, given.limit)
                packages += needs
            except ImportError as error:
                print(f"{name}: not installed ({error})", file=sys.stderr)
        for family in given.families:
            data, reference = problem(family, n, given.seed)
            solvers["rumflow"](data)  # compiled and loaded before the clock starts
            found = measure(solvers, data, given.repeats, given.limit)
            rows = []
            for name, (seconds, answer, out) in found.items():
                row = {"n": n, "family": family, "solver": name, "cpu_seconds": seconds}
                row |= {"times_rumflow": seconds / found["rumflow"][0]} | _errors(n, answer, reference)
                row |= {"solved": int(answer.solved), "says": answer.says, "out": int(out), "limit": given.limit}
                rows.append(row)
                show(row)
            mark = stamp(1, *packages)
            save(RESULTS / "compare.csv", [row | mark for row in rows], ["n", "family", "solver"])


def _errors(n: int, answer: Answer, reference: np.ndarray) -> dict[str, float]:
    if answer.cells is None:
        return {"max_error": np.nan, "violation": np.nan}
    lattice = rf.Lattice(n)
    array = lattice.from_internal(lattice.cells_to_internal(answer.cells))
    violation = max(0.0, -float(rf.block_marschak(array).min()))
    return {"max_error": float(np.abs(answer.cells - reference).max()), "violation": violation}


if __name__ == "__main__":
    main()
