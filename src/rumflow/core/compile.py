"""How the kernels of this package are compiled, and how work is spread over threads.

A *kernel* is a function compiled by Numba: no Python objects, no exceptions, clean contiguous input. It
releases the interpreter lock, so threads outside run kernels side by side; inside, a kernel is sequential.
Work is always cut into the same pieces, whatever the number of threads, and each piece writes only what
it owns: results have the same bits for any number of threads.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core.options import DefaultOptions
from numba.extending import intrinsic

#: The environment variable NUMBA_DISABLE_JIT is set: kernels run as plain Python.
_PLAIN: bool = bool(getattr(numba.config, "DISABLE_JIT", 0))


# Numba's switch for counting references; said both ways, for a kernel inherits it from the one that calls it.
_COUNTED, _UNCOUNTED = ({"_nrt": True}, {"_nrt": False}) if hasattr(DefaultOptions, "_nrt") else ({}, {})


@cache
def _stamp() -> str:
    """Of all the sources a kernel may draw on: those of this folder, of the models and of the solvers."""
    package = Path(__file__).parents[1]
    files = [file for folder in ("core", "models", "solvers") for file in package.glob(f"{folder}/**/*.py")]
    return hashlib.sha1(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    if _PLAIN:  # for debugging: plain Python, with its index errors
        plain: Any = function
        plain.py_func = function
        return plain
    options["no_cfunc_wrapper"] = True  # nothing but Python and other kernels calls them
    dispatcher = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    # Numba's cache on disk watches the file of a kernel, not those of the kernels and constants it uses: let it watch those, too.
    index: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = (index._source_stamp, _stamp())
    return dispatcher


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first use, keep the result on disk, release the interpreter lock."""
    return _compile(function, forceinline=False, **_COUNTED)


def leaf(function: Callable[..., Any]) -> Any:
    """A kernel that allocates nothing: no array, no copy of one, no assignment of one array to a slice of another.

    Its views of arrays are not counted. Counting takes an atomic operation each time, a tenth of the time of small problems.
    """
    return _compile(function, forceinline=False, **_UNCOUNTED)


def inlined(function: Callable[..., Any]) -> Any:
    """A leaf that is copied into the kernels that call it: passing many arrays takes longer than a short loop over one."""
    return _compile(function, forceinline=True, **_UNCOUNTED)


def reduction(function: Callable[..., Any]) -> Any:
    """A kernel whose sums may be reordered for vector units; infinities and NaN keep their meaning.

    Only for loops that write nothing: where a loop also writes, the compiler chooses between two versions of it by the addresses
    of the arrays, and reordered sums would then differ from run to run.
    """
    return _compile(function, fastmath={"reassoc", "contract", "nsz"}, forceinline=True, **_UNCOUNTED)


@intrinsic
def _popcount(typingctx: Any, value: Any) -> Any:
    if not isinstance(value, types.Integer):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return value(value), codegen


#: Number of set bits, one machine instruction; only inside kernels.
popcount: Any = (lambda bits: int(bits).bit_count()) if _PLAIN else _popcount


_announced = False


def clock() -> float:
    """Seconds on a clock for time limits."""
    return time.perf_counter()


def announce_compilation(dispatcher: Any) -> Callable[[], None]:
    """Before the first work of a process: say that kernels are being compiled, if they are not in the cache on disk.

    Returns what to call when they are.
    """
    global _announced  # noqa: PLW0603  # once per process
    if _announced or _PLAIN:
        return lambda: None
    _announced = True
    path = str(getattr(dispatcher.stats, "cache_path", ""))
    if path and any(Path(path).glob(f"*{dispatcher.py_func.__qualname__}-*.nbc")):
        return lambda: None
    begin = time.perf_counter()
    print("rumflow: compiling its kernels, once per machine (about half a minute) ...", file=sys.stderr, flush=True)
    return lambda: print(f"rumflow: compiled in {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
