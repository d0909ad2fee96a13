"""The replicates of tests on 1, 2 and 4 workers: of a Dask cluster on this machine, of joblib, and threads of one process.

python -m studies.benchmarks.cluster [--rounds 2]

Workers are up and have their kernels loaded before the clock starts. CPU seconds are those of this process and of all that it
has started, so they include what is spent on sending and waiting.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from unittest.mock import patch

import joblib
import numpy as np
import psutil
from distributed import Client, LocalCluster

import rumflow as rf
from rumflow.inference import jobs
from studies.benchmarks.record import RESULTS, save, show, stamp

REPLICATES = 199
WORKERS = (1, 2, 4)
GROUPS = 20

Run = Callable[..., np.ndarray]


def _one() -> Run:
    data = rf.simulate.random_menus(20, 30, 6, seed=0)
    return lambda n_boot, **options: np.array([rf.rum_test(data, n_boot=n_boot, seed=1, **options).pvalue])


def _many() -> Run:
    groups = {k: rf.simulate.random_menus(10, 15, 4, draws=50, seed=k) for k in range(GROUPS)}
    return lambda n_boot, **options: rf.rum_test_many(groups, n_boot=n_boot, seed=1, **options).pvalues


CASES: dict[str, Callable[[], Run]] = {
    "`rum_test`, 20 items, 30 menus of 6": _one,
    f"`rum_test_many`, {GROUPS} groups, 10 items, 15 menus of 4": _many,
}


def _cpu_seconds() -> float:
    """Of this process and all below it."""
    own = psutil.Process()
    times = [process.cpu_times() for process in [own, *own.children(recursive=True)]]
    return float(sum(t.user + t.system for t in times))


@contextmanager
def _workers(way: str, count: int) -> Iterator[dict[str, int]]:
    """Workers of one kind, and the options that use them."""
    if way == "Dask":
        with (
            LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster),
            joblib.parallel_config(backend="dask"),
        ):
            yield {"n_jobs": -1}
    else:
        yield {"threads" if way == "threads" else "n_jobs": count}


def _bytes_sent(run: Run) -> int:
    """What goes to a worker with one piece of work: the replicator of the first test."""
    found = []

    def stop(replicators: list[object], *_: object) -> Iterator[None]:
        found.append(len(pickle.dumps(replicators[0])))
        raise KeyboardInterrupt
        yield

    with patch.object(jobs, "_in_threads", stop), suppress(KeyboardInterrupt):
        run(1, threads=1)
    return found[0]


def _measure(run: Run, way: str, count: int) -> tuple[np.ndarray, float, float]:
    """p-values, seconds on the clock and CPU seconds."""
    with _workers(way, count) as options:
        run(40, **options)  # every worker has had a piece, and has loaded its kernels
        used, begin = _cpu_seconds(), time.perf_counter()
        found = run(REPLICATES, **options)
        return found, time.perf_counter() - begin, _cpu_seconds() - used


def main() -> None:
    """Measure and store the best of several rounds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=2, help="how often each is measured; the shortest time counts")
    given = options.parse_args()
    runs = {case: make() for case, make in CASES.items()}
    expected = {case: run(REPLICATES, threads=1) for case, run in runs.items()}
    ways = [("threads", count) for count in WORKERS] + [("Dask", count) for count in WORKERS]
    ways += [("joblib", count) for count in WORKERS if count > 1]  # n_jobs=1 is one thread of this process
    best: dict[tuple[str, str, int], float] = {}
    for _ in range(given.rounds):
        for (case, run), (way, count) in product(runs.items(), ways):
            found, seconds, cpu = _measure(run, way, count)
            if not np.array_equal(found, expected[case]):
                raise SystemExit(f"{case}, {way}, {count}: another p-value")
            row = {"case": case, "way": way, "workers": count, "replicates": REPLICATES, "seconds": seconds}
            row |= {"cpu_seconds": cpu, "bytes_sent": _bytes_sent(run), "rounds": given.rounds}
            show(row)
            if seconds < best.get((case, way, count), np.inf):
                best[case, way, count] = seconds
                save(RESULTS / "cluster.csv", [row | stamp(1, "joblib", "distributed")], ["case", "way", "workers"])


if __name__ == "__main__":
    main()
