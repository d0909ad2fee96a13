"""When long work ends early: at Ctrl-C, which only the main thread hears, and when the time of a whole call is up.

Loops that take long look here once a round, a few times a second at least. Work that is handed to another thread goes through
`under`: it ends when whoever waits for it sets the flag, and keeps to the time limit of the call that it belongs to. A limit is
set by `limited`, for all that is called inside; solvers that can stop with what they have ask for the `deadline` instead, and
return it.
"""

from __future__ import annotations

import atexit
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from numba.core import event

from rumflow.core.compile import clock
from rumflow.core.interrupts import pass_interrupt
from rumflow.errors import RumflowError

_LISTEN = 0.05  # seconds between two looks while something runs that does not look itself
_GRACE = 1.0  # seconds that what was left to itself has to end, before Python does

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


def watch(until: float, heard: bool = False) -> Callable[[], None]:
    """A look for loops: it raises OutOfTimeError from `until` on, and like `check_interrupt` unless Ctrl-C was heard before."""

    def look() -> None:
        if not heard:
            check_interrupt()
        if clock() > until:
            raise OutOfTimeError("the time is up")

    return look


class _SafePoints(event.Listener):
    """Between two passes of Numba's compiler, in whatever thread it runs, work can end without harm."""

    def on_start(self, heard: Any) -> None:
        pass_interrupt()
        check_interrupt()

    def on_end(self, heard: Any) -> None:
        pass


event.register("numba:run_pass", _SafePoints())


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
    try:
        thread.start()  # Ctrl-C may come before this returns, when the thread runs already
        while thread.is_alive():
            thread.join(_LISTEN)
            check_patience()
    except BaseException:
        _leave(thread)
        raise
    if faults:
        raise faults[0]
    return done[0]


_left: list[threading.Thread] = []  # that nobody waits for


def _leave(thread: threading.Thread) -> None:
    _left[:] = [one for one in _left if one.is_alive()] + [thread]


def end_process(code: int) -> None:
    """Where work was left to itself, wait a moment for it, and end the process here, with an exit code.

    A library that comes back from its threads while Python shuts down, or whose threads outlive those of Python that started
    them, brings the process down with an abort.
    """
    until = time.monotonic() + _GRACE
    for thread in _left:
        with suppress(RuntimeError):  # never started
            thread.join(max(until - time.monotonic(), 0.0))
    if _left:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # closed, or its reader is gone
                stream.flush()
        os._exit(code)


@atexit.register  # here, not where work is left: what others registered since is done first
def _at_exit() -> None:
    fault = getattr(sys, "last_type", None)  # of the exception that ended the script, if one did
    end_process(0 if fault is None else 130 if issubclass(fault, KeyboardInterrupt) else 1)
