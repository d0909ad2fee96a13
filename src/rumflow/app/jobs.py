"""The server's side of the worker: jobs wait, run one at a time, tell of their progress, and can be cancelled at any time.

To cancel is to kill the process: whatever it does ends at once, and a new one is started.
"""

from __future__ import annotations

import secrets
import shutil
import signal
import time
from dataclasses import dataclass, field
from multiprocessing import get_context, resource_tracker
from threading import Condition, Thread
from typing import Any

from rumflow.app.worker import work

#: Jobs that may wait, and finished ones that are remembered; answers to questions all are, until they are put away.
MOST_WAITING, MOST_KEPT = 20, 100

WAITING, RUNNING, DONE, CANCELLED = "waiting", "running", "done", "cancelled"
CRASHED = "the computation ended in the middle, perhaps for want of memory; nothing else is lost, and you can ask again"


@dataclass
class Job:
    """A piece of work, and how far it is."""

    kind: str
    content: dict[str, Any]
    state: str = WAITING
    progress: dict[str, Any] = field(default_factory=dict)
    begin: float = 0.0  # when it began to run, and how long it took
    seconds: float = 0.0
    answer: dict[str, Any] = field(default_factory=dict)


class Jobs:
    """A queue with one process behind it."""

    def __init__(self, folder: str) -> None:
        self._folder, self._closed = folder, False
        self.all: dict[str, Job] = {}
        self._news = Condition()
        self._process: Any = None
        self._pipe: Any = None
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def add(self, kind: str, content: dict[str, Any]) -> str:
        """Put a job into the queue; its name, or "" where too many wait."""
        with self._news:
            if sum(job.state == WAITING for job in self.all.values()) >= MOST_WAITING:
                return ""
            name = secrets.token_hex(8)
            quick = [own for own, job in self.all.items() if job.kind != "ask" and job.state in (DONE, CANCELLED)]
            old = {*quick[:-MOST_KEPT]}
            self.all = {own: job for own, job in self.all.items() if own not in old} | {name: Job(kind, content)}
            self._news.notify_all()
            return name

    def cancel(self, name: str) -> None:
        """End a job that waits or runs."""
        with self._news:
            job = self.all.get(name)
            if job is not None and job.state in (WAITING, RUNNING):
                if job.state == RUNNING:
                    job.seconds = time.monotonic() - job.begin
                    self._process.kill()
                job.state = CANCELLED

    def forget(self, name: str) -> None:
        """End a job, and remove its answer and files."""
        self.cancel(name)
        with self._news:
            job = self.all.pop(name, None)
        if job is not None and "folder" in job.content:
            shutil.rmtree(job.content["folder"], ignore_errors=True)

    def about(self, job: Job) -> dict[str, Any]:
        """How far a job is: its state, seconds so far, and how many questions are before it."""
        with self._news:
            if job.state == RUNNING:
                job.seconds = time.monotonic() - job.begin
            before = [one for one in self.all.values() if one.kind == "ask" and one.state in (WAITING, RUNNING)]
        place = next((k for k, one in enumerate(before) if one is job), len(before))
        return {"state": job.state, "progress": job.progress, "seconds": job.seconds, "before": place}

    def close(self) -> None:
        """End everything."""
        with self._news:
            self._closed = True
            if self._process is not None:
                self._process.kill()
            self._news.notify_all()
        self._thread.join(10)

    def _restart(self) -> None:
        """Wait for the end of a process, and start another one unless all is over."""
        if self._process is not None:
            self._process.join()
            self._pipe.close()
        with self._news:  # whoever closes waits until there is something to kill
            if not self._closed:
                context = get_context("spawn")
                self._pipe, other = context.Pipe()
                self._process = context.Process(target=work, args=(other, self._folder), daemon=True)
                self._process.start()
                other.close()

    def _next(self) -> Job | None:
        with self._news:
            while not self._closed:
                waiting = [one for one in self.all.values() if one.state == WAITING]
                if waiting:
                    job = min(waiting, key=lambda one: one.kind == "ask")  # to read data is quick
                    job.state, job.begin = RUNNING, time.monotonic()
                    return job
                self._news.wait()
        return None

    def _run(self) -> None:
        if hasattr(signal, "pthread_sigmask"):  # Ctrl-C is for the server: the worker never hears of it
            resource_tracker.ensure_running()  # by itself it starts with the worker, and lets Ctrl-C through again
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
        self._restart()
        while (job := self._next()) is not None:
            try:
                self._pipe.send((job.kind, job.content))
                while (news := self._pipe.recv())[0] == "progress":
                    job.progress = news[1]
                answer = news[1]
            except (EOFError, OSError):
                answer = {"error": CRASHED, "field": ""}
                self._restart()
            with self._news:
                if job.state == RUNNING:
                    job.answer, job.state = answer, DONE
        self._restart()
