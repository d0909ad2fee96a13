"""When long work ends early: at Ctrl-C, which only the main thread hears, and when the time of a whole call is up.

Loops that take long look here once a round, a few times a second at least. Work that is handed to another thread goes through
`under`: it ends when whoever waits for it sets the flag, and keeps to the time limit of the call that it belongs to. A limit is
set by `limited`, for all that is called inside; solvers that can stop with what they have ask for the `deadline` instead, and
return it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from rumflow.core.compile import clock
from rumflow.errors import RumflowError

_LISTEN = 0.05  # seconds between two looks while something runs that does not look itself

P = ParamSpec("P")
T = TypeVar("T")


class OutOfTimeError(RumflowError):
    """The time of a call is up; the function that has the limit says so in its own way."""


class _Here(threading.local):
    """What this thread has to keep to."""

    stops: tuple[threading.Event, ...] = ()
    deadline = math.inf


_here = _Here()


def deadline() -> float:
    """When the time of the call is up, on the clock of `rumflow.core.compile.clock`; infinite without a limit."""
    return _here.deadline


def check_interrupt() -> None:
    """Raise KeyboardInterrupt in a thread whose work nobody waits for any more."""
    for stop in _here.stops:
        if stop.is_set():
            raise KeyboardInterrupt


def check_patience() -> None:
    """The same, or raise OutOfTimeError where the time of the call is up."""
    check_interrupt()
    if clock() > _here.deadline:
        raise OutOfTimeError("the time is up")


@contextmanager
def limited(until: float) -> Iterator[None]:
    """All that is called inside ends at a time on the clock of `rumflow.core.compile.clock`, if not earlier."""
    before = _here.deadline
    _here.deadline = min(before, until)
    try:
        yield
    finally:
        _here.deadline = before


def under(stop: threading.Event, task: Callable[P, T]) -> Callable[P, T]:
    """`task` for another thread: it ends when `stop` is set, or when this thread's own work would have to."""
    stops, until = (*_here.stops, stop), _here.deadline

    @wraps(task)
    def work(*given: P.args, **named: P.kwargs) -> T:
        before = _here.stops, _here.deadline
        _here.stops, _here.deadline = stops, until
        try:
            return task(*given, **named)
        finally:
            _here.stops, _here.deadline = before

    return work


def listen(call: Callable[[], T]) -> T:
    """Run something long that does not look up, and look up meanwhile. After an interrupt it is left to itself."""
    done: list[T] = []
    faults: list[BaseException] = []

    def work() -> None:
        try:
            done.append(call())
        except BaseException as fault:
            faults.append(fault)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_LISTEN)
        check_patience()
    if faults:
        raise faults[0]
    return done[0]
