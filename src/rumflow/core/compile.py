"""How the kernels of this package are compiled, kept on disk, and announced.

A *kernel* is a function compiled by Numba: no Python objects, no exceptions, clean contiguous input. It releases the interpreter
lock, so threads outside run kernels side by side; inside, a kernel is sequential.

A kernel that Python calls is optimised and turned into machine code as a whole, with all the kernels it calls. For this every
kernel has two forms: one for Python, and one for other kernels, which stops at LLVM's intermediate code and is linked into its
callers. Numba alone would optimise each kernel, emit its machine code and do both again inside every caller: twice the time to
compile, and slower code, because loops are laid out before it is known what surrounds them.

Machine code is kept on disk by Numba (`NUMBA_CACHE_DIR`) and used again while the kernel, the kernels it calls and the constants
they use are the same: `_fingerprint`.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
import time
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from types import CodeType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.options import DefaultOptions
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering
from numba.extending import intrinsic

from rumflow.core.interrupts import hold_interrupt
from rumflow.core.kernel_files import KernelFiles, KernelIndex, shared_folder
from rumflow.version import __version__

#: The environment variable NUMBA_DISABLE_JIT is set: kernels run as plain Python.
_PLAIN: bool = bool(getattr(numba.config, "DISABLE_JIT", 0))


# Numba's switch for counting references. It is always set, on or off: a kernel would inherit it from its caller.
_COUNTED, _UNCOUNTED = ({"_nrt": True}, {"_nrt": False}) if hasattr(DefaultOptions, "_nrt") else ({}, {})


class _LinkedLibrary(JITCodeLibrary):
    """Intermediate code for callers to link: neither optimised as a whole nor turned into machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """From typed code to a `_LinkedLibrary`."""

    _name = "rumflow_linked_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags = state.flags.copy()
        state.flags.no_compile = True
        super().run_pass(state)
        key = object()  # in place of the address of machine code: callers find the library by it
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return True


class _LinkedCompiler(CompilerBase):
    """Numba's own steps, up to the last."""

    def define_pipelines(self) -> list[Any]:
        pipeline = PassManager("rumflow_linked")
        for step, description in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            pipeline.add_pass(_LinkedLowering if step is NativeLowering else step, description)
        pipeline.finalize()
        return [pipeline]


class _Flags(Flags):
    """Numba's options of a compilation, compared quickly: typing does it tens of thousands of times."""

    __slots__ = ()
    _DEFAULTS = {name: option.default for name, option in Flags.options.items()}  # noqa: RUF012
    _HASH = hash(Flags())  # of the names alone: the same for all

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Flags):
            return NotImplemented
        return self._values == other._values or self._DEFAULTS | self._values == self._DEFAULTS | other._values

    def __hash__(self) -> int:
        return self._HASH


class _LinkedKernel(CPUDispatcher):
    """The form of a kernel that other kernels call."""

    _compiler: Any

    def __init__(self, *rest: Any, **options: Any) -> None:
        super().__init__(*rest, **options)
        self._compiler._customize_flags = _Flags

    def add_overload(self, result: Any) -> None:
        self.overloads[tuple(result.signature.args)] = result  # not where calls from Python would look for machine code


class Kernel(CPUDispatcher):
    """A compiled function as Python sees it. Nothing is prepared before the first call: most kernels are never used."""

    _compiler: Any

    def __init__(self, function: Callable[..., Any], *rest: Any, **options: Any) -> None:
        super().__init__(function, *rest, **options)
        self._compiler._customize_flags = _Flags
        self._cache = _Cache(self)

    def __call__(self, *arguments: Any) -> Any:
        """Run. Python also runs while a tuple of results is put together, and may raise KeyboardInterrupt there, of which Numba
        knows nothing: the interpreter then complains about a result beside an exception. What is raised is Ctrl-C.
        """
        try:
            return super().__call__(*arguments)
        except SystemError as fault:
            cause: BaseException | None = fault
            while isinstance(cause, SystemError):
                cause = cause.__cause__
            if isinstance(cause, KeyboardInterrupt):
                raise cause from None
            raise

    def compile(self, sig: Any) -> Any:
        """Compile for arguments of given types, or load from disk.

        Without Python's search for unused cycles: it would walk over the compiler's many objects again and again, a tenth of
        the time, and hardly find any. Ctrl-C waits for a safe point.
        """
        collecting = gc.isenabled()
        gc.disable()
        try:
            with hold_interrupt():
                return super().compile(sig)
        finally:
            if collecting:
                gc.enable()

    @cached_property
    def linked(self) -> Any:
        """The form for other kernels."""
        options = {**self.targetoptions, "no_cpython_wrapper": True}
        return _LinkedKernel(self.py_func, {}, options, pipeline_class=_LinkedCompiler)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.linked)


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    if _PLAIN:  # for debugging: plain Python, with its index errors
        plain: Any = function
        plain.py_func = function
        return plain
    # Nothing but Python and other kernels calls a kernel: no wrapper for C.
    return Kernel(
        function,
        targetoptions={
            "nopython": True,
            "nogil": True,
            "error_model": "numpy",
            "boundscheck": None,
            "no_cfunc_wrapper": True,
            **options,
        },
    )


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


def fused(function: Callable[..., Any]) -> Any:
    """A leaf in which a product and a sum may become one instruction, rounded once; no sum is reordered."""
    return _compile(function, fastmath={"contract"}, forceinline=False, **_UNCOUNTED)


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


@intrinsic
def _subset_count(typingctx: Any, value: Any) -> Any:
    if not isinstance(value, types.Integer):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.shl(args[0].type(1), builder.ctpop(args[0]))

    return types.int32(types.int32), codegen


#: Number of set bits, one machine instruction; only inside kernels.
popcount: Any = (lambda bits: int(bits).bit_count()) if _PLAIN else _popcount

#: 2 to the number of set bits: how many subsets a set has. 32 bits throughout, which is twice as fast as 64 in vector units.
subset_count: Any = (lambda bits: 1 << int(bits).bit_count()) if _PLAIN else _subset_count


# --- What is kept on disk -----------------------------------------------------------------------------------------------------


def _names(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*(_names(constant) for constant in inner))


def _closure(kernel: Kernel) -> list[Kernel]:
    """A kernel and all that it calls, directly or not."""
    found: dict[Kernel, None] = {}
    waiting = [kernel]
    while waiting:
        here = waiting.pop()
        if here not in found:
            found[here] = None
            scope = here.py_func.__globals__
            waiting += [
                scope[name] for name in sorted(_names(here.py_func.__code__)) if isinstance(scope.get(name), Kernel)
            ]
    return list(found)


def _describe(code: CodeType) -> str:
    constants = [_describe(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _fingerprint(kernel: Kernel) -> str:
    """Of all that the machine code of a kernel depends on: the code of the kernels it is made of, their options and constants."""
    parts = [
        Path(__file__).read_text(encoding="utf-8"),
        __version__,
    ]  # classes of arguments may have moved between versions
    for part in _closure(kernel):
        scope = part.py_func.__globals__
        constants = {
            name: scope[name]
            for name in sorted(_names(part.py_func.__code__))
            if isinstance(scope.get(name), int | float | complex | str | tuple | frozenset | np.generic | np.ndarray)
        }
        options = sorted((name, repr(value)) for name, value in part.targetoptions.items() if name != "fastmath")
        fastmath = sorted(part.targetoptions.get("fastmath", ()))
        parts.append(f"{part.py_func.__qualname__} {_describe(part.py_func.__code__)} {constants} {options} {fastmath}")
    return hashlib.sha1("\n".join(sorted(parts)).encode()).hexdigest()


class _Cache(FunctionCache):
    """Numba's cache, by what a kernel is made of instead of by its file. If it cannot be written, work goes on.

    Numba takes the first folder that can be written to: what NUMBA_CACHE_DIR names, that of the sources, that of the user. In an
    image the first two may hold all kernels and be closed to whoever runs it, so those before the one for writing are read.
    """

    _impl_class = KernelFiles
    _cache_path = ""
    _opened = False
    is_shared = False  # what is compiled is kept for all environments

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def _open(self) -> None:
        # Not when the kernel is defined: it may call kernels that are defined after it.
        self._opened = True
        try:
            super().__init__(self._kernel.py_func)
        except RuntimeError:  # NUMBA_CACHE_LOCATOR_CLASSES names other places, and none of them can be written to
            self.disable()
            return
        name, content = self._impl.filename_base, _fingerprint(self._kernel)
        # Two states of the sources may use the shared folder in turn; elsewhere the newer one takes the place of the older.
        names = {"shared": f"{name}-{content[:16]}", "sources": name, "user": name}
        sources = os.path.join(
            os.path.dirname(self._kernel.py_func.__code__.co_filename), "__pycache__"
        )  # as Numba writes it
        closed: list[KernelIndex] = []
        for place, folder in {"shared": shared_folder(), "sources": sources}.items():
            if folder and folder == self._cache_path:
                break
            if os.path.isdir(folder):
                closed.append(KernelIndex(folder, names[place], content, place))
        else:
            place = "user"
        self._cache_file = KernelIndex(self._cache_path, names[place], content, place, closed)
        self.is_shared = place == "shared"

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        # Arguments that are named tuples: kernels know their entries by position.
        return *super()._index_key(sig, codegen), tuple(getattr(argument, "fields", None) for argument in sig)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if not self._opened:
            self._open()
        return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            where = f"{self._cache_path}: " if self._cache_path else ""
            _say_not_kept(f"{where}{error.strerror or error}")
        else:
            if not self._enabled:
                _say_not_kept("no folder can be written to")


@cache
def _say_not_kept(reason: str) -> None:
    _say(f"rumflow: compiled kernels cannot be kept on disk ({reason}); NUMBA_CACHE_DIR may name another folder")


# --- What is said about it, and how long it took -------------------------------------------------------------------------------

_SILENCE = 4.0  # seconds of compiling that are not announced


def _say(text: str, end: str = "\n") -> None:
    print(text, file=sys.stderr, flush=True, end=end)


def _estimate(kernel: Kernel) -> float:
    """Seconds to compile a kernel, by the size of its parts; those that other kernels have used before are typed already."""
    sizes = [(len(part.py_func.__code__.co_code), bool(part.linked.overloads)) for part in _closure(kernel)]
    return sum((1.5e-4 if typed else 3.3e-4) * size for size, typed in sizes)  # measured on one machine


class _Clock(event.Listener):
    """Hears from Numba when a kernel that is not on disk is compiled. Numba compiles one at a time, whatever the threads."""

    def __init__(self) -> None:
        self.finished = 0.0  # seconds, in all
        self.silent = 0.0  # of them since something was said
        self.since: float | None = None
        self.announced = False
        self.expected = 0.0  # by `_estimate`, for what is compiled now
        self.estimated = 0.0  # for all that has been compiled

    @property
    def pace(self) -> float:
        """How long this machine takes, as a multiple of the estimate: by all that it has compiled so far, as if ten seconds had
        gone as estimated before. One short kernel says little."""
        return (10.0 + self.finished) / (10.0 + self.estimated)

    def on_start(self, heard: Any) -> None:
        kernel = heard.data["dispatcher"]
        if isinstance(kernel, Kernel):
            self.since, self.expected = time.perf_counter(), _estimate(kernel)
            seconds = self.pace * self.expected
            self.announced = self.silent + seconds > _SILENCE
            if self.announced:
                often = "once for all that share NUMBA_CACHE_DIR" if kernel._cache.is_shared else "once per environment"
                name = kernel.py_func.__name__
                _say(f"rumflow: compiling {name}, {often} (about {max(seconds, 1.0):.0f} s) ...", end="")
                self.silent = 0.0

    def on_end(self, heard: Any) -> None:
        kernel = heard.data["dispatcher"]
        if isinstance(kernel, Kernel) and self.since is not None:
            seconds = time.perf_counter() - self.since
            self.finished += seconds  # before `since`: a clock read between the two may stand still, not jump ahead
            self.since = None
            self.estimated += self.expected
            if self.announced:
                _say(f" compiled in {seconds:.1f} s")
            else:
                self.silent += seconds


_clock = _Clock()
event.register("numba:compile", _clock)


def clock() -> float:
    """Seconds on a clock for time limits: it stands still while kernels are compiled, in whatever thread."""
    since = _clock.since
    return (time.perf_counter() if since is None else since) - _clock.finished


def compiling_seconds() -> float:
    """Seconds that this process has spent compiling."""
    return _clock.finished
