"""What a solve may use: threads, time, and whom it tells how it gets on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """What a long solve reports after each round."""

    round: int
    objective: float
    gap: float
    rankings: int
    seconds: float


class Resources(NamedTuple):
    """Threads, a deadline, and functions that are called on the way."""

    threads: int | None = 1
    deadline: float | None = None  # on the clock of `rumflow.core.compile.clock`
    report: Callable[[Progress], None] | None = None  # after every round of a single problem
    advance: Callable[[int], None] | None = None  # how many more problems of a stack are done


ONE_THREAD, ALL_THREADS = Resources(), Resources(None)
