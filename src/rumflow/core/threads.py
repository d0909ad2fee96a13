"""How work is spread over threads.

Work is always cut into the same pieces, whatever the number of threads, and each piece writes only what it owns: results
have the same bits for any number of threads. Kernels release the interpreter lock, so threads run them side by side.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from typing import Any

from rumflow.check import MOST_THREADS, check_threads
from rumflow.core.interrupts import hold_interrupt
from rumflow.core.patience import under
from rumflow.errors import InputError


def thread_count(threads: int | None = None) -> int:
    """Threads to use: the argument, else RUMFLOW_THREADS, else the processors this process may run on."""
    if threads is None:
        text = os.environ.get("RUMFLOW_THREADS", "")
        if not text:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
        if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MOST_THREADS):
            raise InputError(
                f"RUMFLOW_THREADS={text[:40]!r}: a whole number from 1 to {MOST_THREADS} is needed, or nothing"
            )
        return int(text)
    check_threads(threads)
    return int(threads)


@lru_cache(maxsize=8)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    # Keyed by process: a pool does not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="rumflow")


_inside = threading.local()  # set in the threads of a pool: a task that would wait for its own pool runs alone instead


def run_threads(task: Callable[[Any], object], pieces: Iterable[Any], threads: int) -> None:
    """Run `task` on every piece and wait for all of them.

    After an error or an interrupt the pieces that have not begun are dropped, and the running ones are told to stop
    (`rumflow.core.patience`); it is raised when they have.
    """
    pieces = list(pieces)
    if threads <= 1 or len(pieces) <= 1 or getattr(_inside, "pool", False):
        for piece in pieces:
            task(piece)
        return

    def work(piece: Any) -> None:
        _inside.pool = True
        task(piece)

    stop = threading.Event()
    patient = under(stop, work)
    waiting: list[Future[None]] = []
    try:
        try:
            for piece in pieces:
                with hold_interrupt():  # inside `submit` Ctrl-C may leave the pool locked, and nothing ends any more
                    waiting.append(_pool(threads, os.getpid()).submit(patient, piece))
        except RuntimeError:  # Python is about to end and takes no more work, or there can be no more threads
            for piece in pieces[len(waiting) :]:
                task(piece)
        for done in waiting:
            done.result()
    except BaseException:
        stop.set()
        for done in waiting:
            done.cancel()
        wait(waiting)
        raise
