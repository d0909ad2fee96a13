"""The replicates of many tests on a Dask cluster: `python examples/cluster.py 2` with two workers on this machine."""

import sys
import time

import joblib
from distributed import Client, LocalCluster

import rumflow as rf


def main(workers: int) -> None:
    """Test four groups at once, here and on the cluster, and compare."""
    groups = {f"shop {k}": rf.simulate.random_menus(10, 15, 4, draws=50, seed=k) for k in range(4)}
    here = rf.rum_test_many(groups, n_boot=199, seed=1, threads=1)
    # Workers elsewhere: Client("scheduler:8786") in place of the cluster.
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        begin = time.perf_counter()
        with joblib.parallel_config(backend="dask"):
            there = rf.rum_test_many(groups, n_boot=199, seed=1, n_jobs=-1)
        print(f"{workers} workers: {time.perf_counter() - begin:.1f} s")
    print("the same p-values:", (here.pvalues == there.pvalues).all())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
