"""How the kernels of this package are compiled, and how work is spread over threads.

A *kernel* is a function compiled by Numba: no Python objects, no exceptions, clean contiguous input. It
releases the interpreter lock, so threads outside run kernels side by side; inside, a kernel is sequential.
Work is always cut into the same pieces, whatever the number of threads, and each piece writes only what
it owns: results have the same bits for any number of threads.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.extending import intrinsic


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first use, keep the result on disk, release the interpreter lock."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


def reduction(function: Callable[..., Any]) -> Any:
    """A kernel whose sums may be reordered for vector units; infinities and NaN keep their meaning.

    Only for loops that write nothing: where a loop also writes, the compiler chooses between two versions of it by the addresses
    of the arrays, and reordered sums would then differ from run to run.
    """
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})(function)


@intrinsic
def _popcount(typingctx: Any, value: Any) -> Any:
    if not isinstance(value, types.Integer):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return value(value), codegen


#: Number of set bits, one machine instruction; only inside kernels.
popcount: Any = _popcount


def thread_count(threads: int | None = None) -> int:
    """Threads to use: the argument, else RUMFLOW_THREADS, else the processors this process may run on."""
    if threads is None:
        text = os.environ.get("RUMFLOW_THREADS", "")
        if text.isdigit() and int(text) > 0:
            return int(text)
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, int(threads))


@lru_cache(maxsize=8)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    # Keyed by process: a pool does not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="rumflow")


def run_threads(task: Callable[[Any], object], pieces: Iterable[Any], threads: int) -> None:
    """Run `task` on every piece; wait for all of them, then raise the first error."""
    pieces = list(pieces)
    if threads <= 1 or len(pieces) <= 1:
        for piece in pieces:
            task(piece)
        return
    for done in [_pool(threads, os.getpid()).submit(task, piece) for piece in pieces]:
        done.result()


def cache_is_warm(dispatcher: Any) -> bool:
    """True where the compiled code of a kernel is in memory or on disk."""
    if dispatcher.signatures:
        return True
    path = str(getattr(dispatcher.stats, "cache_path", ""))
    name = dispatcher.py_func.__qualname__
    return bool(path) and any(Path(path).glob(f"*{name}-*.nbc"))


def announce_compilation(dispatcher: Any) -> Callable[[], None]:
    """Say on the terminal that kernels are being compiled, if they are; returns what to call at the end."""
    if cache_is_warm(dispatcher):
        return lambda: None
    begin = time.perf_counter()
    print("rumflow: compiling its kernels, once per machine (about half a minute) ...", file=sys.stderr, flush=True)
    return lambda: print(f"rumflow: compiled in {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
