"""A line on the terminal while something long runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Protocol


class RoundLike(Protocol):
    """What a solver reports after a round."""

    objective: float
    gap: float
    seconds: float


#: Seconds after which a line that says nothing new is written again, with the time.
SILENCE = 2.0


class Reporter:
    """Calls the user's function after every round, or rewrites a line on standard error.

    The line also shows that time passes where a round takes long, or before the first one, while the graph is built.
    """

    def __init__(self, progress: bool | Callable[..., None], tol: float) -> None:
        self._function = progress if callable(progress) else self._print if progress else None
        self._shown = self._function == self._print
        self._tol = tol
        self._begin = time.perf_counter()
        self._last = self._begin - 0.2  # the first round is shown
        self._text = "before the first round: the route, the graph"
        self._width = 0
        self._lock, self._over = Lock(), Event()

    def __enter__(self) -> Callable[..., None] | None:
        if self._shown:
            Thread(target=self._repeat, daemon=True).start()
        return self._function

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        with self._lock:
            if self._width:
                sys.stderr.write("\n")
                sys.stderr.flush()
                self._width = 0

    def _print(self, now: RoundLike) -> None:
        relative = now.gap / now.objective if now.objective > 0 else 0.0
        goal = f"relative gap {relative:.1e}, wanted {self._tol:.0e}"
        self._text = f"{goal}  objective {now.objective:.6g}"
        self._write(0.2)

    def _repeat(self) -> None:
        while not self._over.wait(SILENCE / 4):
            self._write(SILENCE)

    def _write(self, pause: float) -> None:
        """The line, unless the last one is younger than the pause."""
        with self._lock:
            now = time.perf_counter()
            if now - self._last < pause or self._over.is_set():
                return
            self._last = now
            line = f"rumflow: {now - self._begin:6.1f} s  {self._text}"
            sys.stderr.write("\r" + line.ljust(self._width))
            sys.stderr.flush()
            self._width = max(self._width, len(line))


class Counter:
    """Counts finished pieces of work on a line of standard error."""

    def __init__(self, show: bool, total: int | None, what: str) -> None:
        """`total` None: nobody knows how many there will be."""
        self._show, self._total, self._what = show, total, what
        self._done = 0
        self._lock = Lock()
        self._last = self._begin = time.perf_counter()
        self._open = False  # a line that has no end yet

    def add(self, count: int) -> None:
        """`count` more pieces are done; from any thread."""
        with self._lock:
            self._done += count
            now = time.perf_counter()
            last = self._total is not None and self._done >= self._total
            if self._show and (now - self._last > 0.2 or last):
                self._last = now
                end = "\n" if last else ""
                self._open = not end
                if self._total is None:
                    text = f"{self._done} {self._what}"
                else:
                    rest = (now - self._begin) * (self._total - self._done) / max(self._done, 1)
                    text = f"{self._done} of {self._total} {self._what}, {rest:.0f} s to go"
                sys.stderr.write(f"\rrumflow: {text}   {end}")
                sys.stderr.flush()

    def end(self) -> None:
        """Leave the line, where fewer pieces were needed than could have been."""
        if self._open:
            sys.stderr.write("\n")
            sys.stderr.flush()
