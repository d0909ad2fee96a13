"""What a solve may use: threads, time, whom it tells how it gets on, and workspaces of earlier solves."""

from __future__ import annotations

import math
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, TypeVar

from rumflow.core.compile import clock
from rumflow.core.patience import deadline, watch

Workspace = TypeVar("Workspace")


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

    @property
    def until(self) -> float:
        """When to stop: at the deadline, or when the time of the whole call is up."""
        return min(math.inf if self.deadline is None else self.deadline, deadline())


_AFTER = (
    1.0  # seconds that a certificate may take after the end of the time; after Ctrl-C half as many, in every thread
)
_AFTER_SHARE = 0.1  # or this part of the time a solve had, if that is more


def watch_certificate(reason: str, spent: float, until: float = math.inf) -> Callable[[], None]:
    """A look for the certificate of a solve that ended for this reason after `spent` seconds: soon, where it was stopped.

    until   when the time of a solve that was not stopped is up
    """
    if reason == "interrupted":
        return watch(clock() + 0.5 * _AFTER, heard=True)
    return watch((clock() if reason == "max_seconds" else until) + max(_AFTER, _AFTER_SHARE * spent))


ONE_THREAD, ALL_THREADS = Resources(), Resources(None)


class Spares(Generic[Workspace]):
    """Workspaces that nobody uses at the moment; where there is none, one is made."""

    def __init__(self, make: Callable[[], Workspace]) -> None:
        self._make, self._waiting = make, SimpleQueue[Workspace]()

    def take(self) -> Workspace:
        """One to work in, to be given back."""
        try:
            return self._waiting.get_nowait()
        except Empty:
            return self._make()

    def give_back(self, workspace: Workspace) -> None:
        """For the next solve."""
        self._waiting.put(workspace)
