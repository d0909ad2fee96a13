"""A line on the terminal while something long runs, or for those who show it otherwise, what is done of how many."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from math import floor, log10
from threading import Event, Lock, Thread
from types import TracebackType
from typing import ClassVar, Protocol, Self, TypeAlias

SILENCE = 1.0  # seconds after which a line is written although nothing new is known

#: What is counted, for people who do not know the theory.
PLAIN = {
    "replicates": "samples drawn",
    "projections": "fits made",
    "linear programmes": "ends of ranges found",
    "values tested at most": "values tried, at most",
    "menus": "menus looked at",
    "menus left out": "menus left out on trial",
    "half-samples": "half samples compared",
}

#: What is counted in plain words, how many of them are done, and how many there are; None: nobody knows.
News: TypeAlias = tuple[str, int | None, int | None]


class RoundLike(Protocol):
    """What a solver reports after a round."""

    objective: float
    gap: float
    seconds: float


class Line:
    """A line of standard error, written anew by whoever has news, and once a second where nobody has.

    `with` makes sure of the latter; the line is left at the end. Where there is a `listener`, it hears the news and nothing is
    written.
    """

    listener: ClassVar[Callable[[News], None] | None] = None

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
        if isinstance(value, KeyboardInterrupt) and not value.args and (where := self._where()):
            raise KeyboardInterrupt(f"interrupted {where}: there is no result yet") from None

    def _where(self) -> str:
        """What an interrupt that ends the work is told to have interrupted."""
        return ""

    def _text(self) -> str:
        raise NotImplementedError

    def _news(self) -> News:
        return "Getting ready", None, None

    def _tick(self) -> None:
        while not self._over.wait(SILENCE):
            with self._lock:
                if time.perf_counter() - self._last > 0.9 * SILENCE:
                    self._write()

    def _write(self, end: str = "") -> None:
        """Show the text as it is now; the lock is held."""
        self._last = time.perf_counter()
        if Line.listener is not None:
            return Line.listener(self._news())
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


def listen(function: Callable[[News], None] | None) -> None:
    """From now on call a function with the news, from any thread, and write nothing; None: write again."""
    Line.listener = function


class _Rounds(Line):
    """What a solver reports."""

    def __init__(self, show: bool, tol: float) -> None:
        super().__init__(show)
        self._last -= 1.0  # the first round is shown
        self._tol = tol
        self._relative: float | None = None  # the gap after the last round
        self._round = "before the first round: the route, the graph"

    def show(self, now: RoundLike) -> None:
        """After every round."""
        relative = now.gap / now.objective if now.objective > 0 else 0.0
        with self._lock:
            self._relative = relative
            self._round = f"relative gap {relative:.1e}, wanted {self._tol:.0e}  objective {now.objective:.6g}"
            if time.perf_counter() - self._last > 0.2:
                self._write()

    def _text(self) -> str:
        return f"{time.perf_counter() - self._begin:6.1f} s  {self._round}"

    def _news(self) -> News:
        if self._relative is None:
            return super()._news()
        wanted = round(-log10(self._tol))
        certain = wanted if self._relative <= self._tol else max(0, floor(-log10(self._relative)))
        return "digits of the answer certain", min(certain, wanted), wanted


class Reporter:
    """Calls the user's function after every round, or rewrites a line on standard error."""

    def __init__(self, progress: bool | Callable[..., None], tol: float) -> None:
        self._line = _Rounds(bool(progress) and not callable(progress), tol)
        self._function = progress if callable(progress) else self._line.show if progress else None

    def __enter__(self) -> Callable[..., None] | None:
        self._line.__enter__()
        return self._function

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.__exit__(kind, value, trace)


class Stage(Line):
    """Says what is being done, and for how long, where nothing can be counted; so does the interrupt that ends it."""

    def __init__(self, show: bool, what: str) -> None:
        super().__init__(show)
        self._what = what

    def _where(self) -> str:
        return f"at {self._what}"

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
    """Counts finished pieces of work; so does the interrupt that ends it."""

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

    def _where(self) -> str:
        return f"after {self._done}{'' if self._total is None else f' of {self._total}'} {self._what}"

    def _text(self) -> str:
        passed = time.perf_counter() - self._begin
        if self._total is None:
            return f"{self._done} {self._what}"
        rest = f"{passed:.0f} s so far"
        if self._done:
            rest = f"{passed * (self._total - self._done) / self._done:.0f} s to go"
        return f"{self._done} of {self._total} {self._what}, {rest}"

    def _news(self) -> News:
        return PLAIN.get(self._what, self._what), self._done, self._total
