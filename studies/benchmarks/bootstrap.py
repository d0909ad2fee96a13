"""How long a test takes: the statistic and 199 replicates, each a projection of its own, in one thread.

python -m studies.benchmarks.bootstrap [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import rumflow as rf
from studies.benchmarks.jobs import bootstrap, households, some_menus
from studies.benchmarks.record import RESULTS, save, show, stamp

REPLICATES = 199

CASES: dict[str, Callable[[], rf.ChoiceData | rf.BudgetData]] = {
    "3 items, all menus": lambda: some_menus(3, 1.0),
    "5 items, all menus": lambda: some_menus(5, 1.0),
    "7 items, all menus": lambda: some_menus(7, 1.0),
    "10 items, a tenth of all menus": lambda: some_menus(10, 0.1),
    "20 items, 30 menus of 6": lambda: rf.simulate.random_menus(20, 30, 6, seed=0),
    "60 items, 40 stock-outs": lambda: rf.simulate.stock_outs(60, 40, 0.1, seed=0),
    "9 budgets of 3 goods": lambda: households(9),
    "10 items, all menus": lambda: some_menus(10, 1.0),
    "50 items, 50 menus of 25": lambda: rf.simulate.random_menus(50, 50, 25, seed=0),
}
LONG = ("10 items, all menus", "50 items, 50 menus of 25")


def main() -> None:
    """Measure and store."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="without the cases that take minutes")
    given = options.parse_args()
    for name, make in CASES.items():
        if given.quick and name in LONG:
            continue
        data = make()
        bootstrap(data, 3, threads=1)()  # compiled and loaded before the clock starts
        call = bootstrap(data, REPLICATES, threads=1)
        begin, used = time.perf_counter(), time.process_time()
        pvalue = float(call()[0])
        cpu, seconds = time.process_time() - used, time.perf_counter() - begin
        row = {"case": name, "replicates": REPLICATES, "pvalue": pvalue, "seconds": seconds, "cpu_seconds": cpu}
        show(row)
        save(RESULTS / "bootstrap.csv", [row | stamp(1)], ["case"])


if __name__ == "__main__":
    main()
