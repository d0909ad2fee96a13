"""A line on the terminal while something long runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Protocol, Self

_SILENCE = 1.0  # seconds after which a line is written although nothing new is known


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


class Line:
    """A line of standard error, written anew by whoever has news, and once a second where nobody has.

    `with` makes sure of the latter; the line is left at the end.
    """

    def __init__(self, show: bool) -> None:
        self._show = show
        self._lock = Lock()
        self._last = self._begin = time.perf_counter()
        self._width = 0  # of a line that has no end yet
        self._over = Event()
        self._ticker: Thread | None = None

    def __enter__(self) -> Self:
        if self._show:
            self._ticker = Thread(target=self._tick, daemon=True)
            self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._ticker is not None:
            self._ticker.join()
        self.end()

    def _text(self) -> str:
        raise NotImplementedError

    def _tick(self) -> None:
        while not self._over.wait(_SILENCE):
            with self._lock:
                if time.perf_counter() - self._last > 0.9 * _SILENCE:
                    self._write()

    def _write(self, end: str = "") -> None:
        """Show the text as it is now; the lock is held."""
        self._last = time.perf_counter()
        text = f"rumflow: {self._text()}   "
        sys.stderr.write(f"\r{text.ljust(self._width)}{end}")
        sys.stderr.flush()
        self._width = 0 if end else max(self._width, len(text))

    def end(self) -> None:
        """Leave the line, where there is one."""
        if self._width:
            self._width = 0
            sys.stderr.write("\n")
            sys.stderr.flush()


class Stage(Line):
    """Says what is being done, and for how long, where nothing can be counted; so does the interrupt that ends it."""

    def __init__(self, show: bool, what: str) -> None:
        super().__init__(show)
        self._what = what

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, value, trace)
        if isinstance(value, KeyboardInterrupt) and not value.args:
            raise KeyboardInterrupt(f"interrupted at {self._what}: there is no result yet") from None

    def say(self, what: str) -> None:
        """From now on something else is done."""
        with self._lock:
            self._what = what
            self._begin = time.perf_counter()
            if self._width:
                self._write()

    def _text(self) -> str:
        return f"{self._what}, {time.perf_counter() - self._begin:.0f} s so far"

    def end(self) -> None:
        """Take the line away: what follows has its own."""
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0


class Counter(Line):
    """Counts finished pieces of work."""

    def __init__(self, show: bool, total: int | None, what: str) -> None:
        """`total` None: nobody knows how many there will be."""
        super().__init__(show)
        self._total, self._what = total, what
        self._done = 0

    def add(self, count: int) -> None:
        """`count` more pieces are done; from any thread."""
        with self._lock:
            self._done += count
            last = self._total is not None and self._done >= self._total
            if self._show and (time.perf_counter() - self._last > 0.2 or last):
                self._write("\n" if last else "")

    def _text(self) -> str:
        passed = time.perf_counter() - self._begin
        if self._total is None:
            return f"{self._done} {self._what}"
        rest = f"{passed:.0f} s so far"
        if self._done:
            rest = f"{passed * (self._total - self._done) / self._done:.0f} s to go"
        return f"{self._done} of {self._total} {self._what}, {rest}"
