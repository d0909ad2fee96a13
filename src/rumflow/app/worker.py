"""The process that reads and computes, so that the page never freezes: one job after the other, and its end ends everything.

It never hears of Ctrl-C, and watches the server: where that is killed, it removes the folder and ends.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from threading import Lock, Thread
from typing import Any

#: What the library counts, for people.
PLAIN = {
    "replicates": "samples drawn",
    "projections": "fits made",
    "linear programmes": "ends of ranges found",
    "values tested at most": "values tried, at most",
    "menus": "menus looked at",
    "menus left out": "menus left out on trial",
    "half-samples": "half samples compared",
}


def plain_progress(line: str) -> dict[str, Any]:
    """How far the work is: what is done (of all), in plain words; what cannot be counted has words only.

    >>> plain_progress("rumflow: 312 of 999 replicates, 7 s to go")
    {'words': 'samples drawn', 'done': 312, 'all': 999}
    >>> plain_progress("rumflow:    0.8 s  relative gap 3.1e-05, wanted 1e-08  objective 0.1")
    {'words': 'digits of the answer certain', 'done': 4, 'all': 8}
    """
    line = line.removeprefix("rumflow:").strip()
    if found := re.match(r"(\d+)(?: of (\d+))? ([a-z][a-z -]*)", line):
        return {"words": PLAIN.get(found[3], found[3]), "done": int(found[1]), "all": int(found[2] or 0)}
    if found := re.search(r"gap \S+e-(\d+), wanted \S+e-(\d+)", line):
        return {
            "words": "digits of the answer certain",
            "done": min(int(found[1]) - 1, int(found[2])),
            "all": int(found[2]),
        }
    return {"words": "Getting ready"}


class Messages:
    """The pipe to the server; as standard error, what is written to it is the progress of the job."""

    encoding = "utf-8"

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._lock, self._last = pipe, Lock(), 0.0

    def send(self, kind: str, content: Any) -> None:
        """From any thread."""
        with self._lock:
            self._pipe.send((kind, content))

    def write(self, text: str) -> int:
        """The last line, ten times a second at most."""
        news = text.replace("\r", "\n").strip().rpartition("\n")[2]
        if news and time.monotonic() - self._last > 0.1:
            self._last = time.monotonic()
            self.send("progress", plain_progress(news))
        return len(text)

    def flush(self) -> None:
        """Everything is sent at once."""


def work(pipe: Connection, folder: str) -> None:
    """Do jobs until the pipe ends; each is (kind, content), and is answered by ("done", answer)."""
    watch = Thread(target=_watch, args=(folder,), daemon=True)
    watch.start()
    sys.stderr = messages = Messages(pipe)
    from rumflow.app.bench import Bench  # loads NumPy and Numba, which the server does without

    bench = Bench()
    while True:
        try:
            kind, content = pipe.recv()
        except EOFError:  # the server has ended
            return watch.join()
        try:
            answer = getattr(bench, kind)(**content)
        except Exception as fault:  # nothing that goes wrong may end the page
            answer = {"error": f"{type(fault).__name__}: {fault}", "field": ""}
        messages.send("done", answer)


def _watch(folder: str) -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
