"""Ctrl-C while kernels are compiled or loaded, while modules are imported, and while work is handed to threads.

Python raises KeyboardInterrupt between any two instructions of the main thread. Inside Numba that does harm: its tables of
functions are left half read, so that no kernel can be compiled any more in the same process ("generator raised StopIteration"),
and an interrupt that falls into the finalizer of an LLVM object is lost. So the signal is held back while Numba works, and passed
on at the next safe point: between two passes of the compiler (`rumflow.core.patience` looks there), or at the end.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_before: Any = None  # the handler that the signal is held back from; None: it is not held
_waiting = False  # the signal has come meanwhile


def _hear(number: int, frame: Any) -> None:
    global _waiting  # noqa: PLW0603
    _waiting = True


@contextmanager
def hold_interrupt() -> Iterator[None]:
    """Hold Ctrl-C back inside, but for `pass_interrupt`. Only the main thread hears signals; elsewhere nothing is done."""
    global _before, _waiting  # noqa: PLW0603
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or _before is not None or not callable(handler):
        yield
        return
    _before = handler
    signal.signal(signal.SIGINT, _hear)
    try:
        yield
    finally:
        # In this order none is lost: what comes before the handler is back is noted, and passed on after it.
        _before = None
        signal.signal(signal.SIGINT, handler)
        if _waiting:
            _waiting = False
            handler(signal.SIGINT, None)


def load_module(module: str) -> ModuleType:
    """Import a module; Ctrl-C waits meanwhile, since inside a compiled module it would become an ImportError."""
    with hold_interrupt():
        return import_module(module)


def pass_interrupt() -> None:
    """At a safe point: do what Ctrl-C does outside, if it has come."""
    global _waiting  # noqa: PLW0603
    if _waiting and threading.current_thread() is threading.main_thread():
        _waiting = False
        _before(signal.SIGINT, None)
