"""The process that reads and computes, so that the page never freezes: one job after the other, and its end ends everything.

It never hears of Ctrl-C, and watches the server: where that is killed, it removes the folder and ends.
"""

from __future__ import annotations

import os
import shutil
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from threading import Lock, Thread
from typing import Any

from rumflow.output.progress import listen


def work(pipe: Connection, folder: str) -> None:
    """Do jobs until the pipe ends; each is (kind, content), and is answered by ("done", answer)."""
    watch = Thread(target=_watch, args=(folder,), daemon=True)
    watch.start()
    from rumflow.app.bench import Bench  # loads NumPy and Numba, which the server does without

    bench, lock = Bench(), Lock()

    def send(kind: str, content: Any) -> None:
        with lock:  # there is news from any thread
            pipe.send((kind, content))

    listen(lambda news: send("progress", dict(zip(("words", "done", "all"), news, strict=True))))
    while True:
        try:
            kind, content = pipe.recv()
        except EOFError:  # the server has ended
            return watch.join()
        try:
            answer = getattr(bench, kind)(**content)
        except Exception as fault:  # nothing that goes wrong may end the page
            answer = {"error": f"{type(fault).__name__}: {fault}", "field": ""}
        send("done", answer)


def _watch(folder: str) -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
