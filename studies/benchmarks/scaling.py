"""How cost grows with items, menus, sample size, batch and threads, and what `rf.estimate_cost` says beforehand.

    python -m studies.benchmarks.scaling [--quick] [--only "items: all"]

Every row is one case, with one thread unless the axis is threads: the best CPU seconds and seconds on the clock of several calls,
beside the estimate. On the axis `threads` only the clock counts; elsewhere CPU seconds, which other work on the machine hardly
changes. An estimate of a stack is that of one problem times their number.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import rumflow as rf
from studies.benchmarks import jobs
from studies.benchmarks.record import RESULTS, save, show, stamp
from studies.experiments.files import read_csv

PATH = RESULTS / "scaling.csv"
KEY = ("axis", "family", "value")
PATIENCE = 3.0  # seconds for the repetitions of one case


class Case(NamedTuple):
    """What is varied, in which family, its value, and how the call is made."""

    axis: str
    family: str
    value: int
    make: Callable[[], tuple[jobs.Call, float]]  # the call, and the estimated seconds
    threads: int = 1


def _complete(n: int, draws: int | None = 100, threads: int = 1) -> Callable[[], tuple[jobs.Call, float]]:
    def make() -> tuple[jobs.Call, float]:
        if draws is None:
            data = rf.simulate.dirichlet(n, seed=1)
            return jobs.complete("dirichlet", n, threads=threads), rf.estimate_cost(data).seconds
        counts = jobs.some_menus(n, 1.0, draws)
        return jobs.complete("noisy", n, draws, threads=threads), rf.estimate_cost(counts).seconds

    return make


def _some(make_data: Callable[[], rf.ChoiceData], route: str | None = None, threads: int = 1):
    def make() -> tuple[jobs.Call, float]:
        data = make_data()
        return jobs.incomplete(data, route, threads), rf.estimate_cost(data, route=route).seconds

    return make


def _budgets(years: int):
    def make() -> tuple[jobs.Call, float]:
        data = jobs.households(years)
        return lambda: rf.project(data, threads=1).fitted, rf.estimate_cost(data).seconds

    return make


def _stack(n: int, batch: int, threads: int = 1):
    def make() -> tuple[jobs.Call, float]:
        one = rf.estimate_cost(jobs.some_menus(n, 1.0)).seconds
        return jobs.stack(n, batch, threads), one * batch

    return make


def cases(quick: bool) -> Iterator[Case]:
    """All of them, or those that take a second or less."""
    for n in range(4, 15 if quick else 19):
        yield Case("items", "all menus", n, _complete(n))
    for n in range(4, 13 if quick else 16):
        yield Case("items", "all menus, random shares", n, _complete(n, None))
    for n in (8, 10, 12) if quick else (8, 10, 12, 14):
        yield Case("items", "a fifth of all menus", n, _some(lambda n=n: jobs.some_menus(n, 0.2)))
    for n in (15, 20, 30, 40) if quick else (15, 20, 30, 40, 50, 60):
        yield Case("items", "50 menus of half", n, _some(lambda n=n: rf.simulate.random_menus(n, 50, n // 2, seed=0)))
    for n in (25, 50, 100, 200, 300):
        yield Case("items", "as many stock-outs", n, _some(lambda n=n: rf.simulate.stock_outs(n, n, 0.05, seed=0)))
    for m in (10, 25, 50, 100, 200):
        yield Case("menus", "menus of 8 of 20", m, _some(lambda m=m: rf.simulate.random_menus(20, m, 8, seed=0)))
    for m in (40, 79, 120, 160):
        data = lambda m=m: rf.simulate.random_menus(27, m, 2, seed=0)  # noqa: E731
        yield Case("menus", "pairs of 27, bounded", m, _some(data, "bounded"))
    for years in (3, 5, 7, 9) if quick else (3, 5, 7, 9, 11, 13):
        yield Case("menus", "budgets of 3 goods", years, _budgets(years))
    for draws in (10, 30, 100, 300, 1000, 10_000):
        yield Case("sample", "all menus of 8", draws, _complete(8, draws))
        yield Case("sample", "all menus of 12", draws, _complete(12, draws))
        data = lambda draws=draws: rf.simulate.random_menus(20, 50, 8, draws=draws, seed=0)  # noqa: E731
        yield Case("sample", "50 menus of 8 of 20", draws, _some(data))
    for batch in (1, 10, 100, 1000):
        yield Case("batch", "all menus of 6", batch, _stack(6, batch))
        yield Case("batch", "all menus of 8", batch, _stack(8, batch))
    for threads in (1, 2) if quick else (1, 2, 4):
        yield Case("threads", "all menus of 14", threads, _complete(14, threads=threads), threads)
        yield Case("threads", "all menus of 18", threads, _complete(18, threads=threads), threads)
        data = lambda: rf.simulate.random_menus(30, 100, 15, seed=0)  # noqa: E731
        yield Case("threads", "100 menus of 15 of 30", threads, _some(data, threads=threads), threads)
        yield Case("threads", "1000 times all menus of 8", threads, _stack(8, 1000, threads), threads)


def measure(call: jobs.Call) -> tuple[float, float]:
    """The best seconds and CPU seconds of calls that follow one another; the first one loads what is compiled."""
    begin = time.perf_counter()
    call()
    end = time.perf_counter() + (PATIENCE if time.perf_counter() - begin < PATIENCE else 0.0)
    best = cpu = float("inf")
    for _ in range(50):
        wall, used = time.perf_counter(), time.process_time()
        call()
        cpu = min(cpu, time.process_time() - used)
        best = min(best, time.perf_counter() - wall)
        if time.perf_counter() + best > end:
            break
    return best, cpu


def main() -> None:
    """Measure and store."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="without the cases that take long")
    options.add_argument(
        "--estimates", action="store_true", help="measure nothing, only estimate what was measured anew"
    )
    options.add_argument("--only", default="", help="axes or families whose name holds this text")
    given = options.parse_args()
    stored = {tuple(row[name] for name in KEY): row for row in read_csv(PATH)} if PATH.exists() else {}
    for case in cases(given.quick):
        if given.only not in f"{case.axis}: {case.family}":
            continue
        known = stored.get((case.axis, case.family, case.value))
        if given.estimates and known is None:
            continue
        call, estimate = case.make()
        if given.estimates:
            save(PATH, [known | {"estimate": estimate}], KEY)
            continue
        seconds, cpu = measure(call)
        row = {"axis": case.axis, "family": case.family, "value": case.value, "seconds": seconds, "cpu_seconds": cpu}
        row |= {"estimate": estimate}
        show(row)
        save(PATH, [row | stamp(case.threads)], KEY)


if __name__ == "__main__":
    main()
