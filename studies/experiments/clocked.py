"""Run Python in a process of its own, with a clock: the first line of progress, Ctrl-C after some seconds, and how it ends.

The code says when the clock starts by printing READY on a line of standard output; what it prints afterwards is kept.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from typing import NamedTuple

READY = "ready"
PROGRESS = b"rumflow: "


class Clocked(NamedTuple):
    """What a process did; seconds from READY on, None for what never came."""

    first_line: float | None  # of progress
    taken: float  # until it ended
    since_signal: float | None  # until it ended, from Ctrl-C on
    code: int
    out: str
    err: str


def run_clocked(code: str, interrupt: float | None = None, most: float = 120.0) -> Clocked:
    """Run some code; `interrupt`: seconds after which Ctrl-C comes; after `most` seconds it is killed."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.fileno(), process.stderr.fileno()
    said = {out: b"", err: b""}
    begin = first = sent = None
    open_ends = [out, err]
    started = time.monotonic()
    while open_ends:
        for end in select.select(open_ends, [], [], 0.01)[0]:
            more = os.read(end, 1 << 16)
            if not more:
                open_ends.remove(end)
            said[end] += more
        now = time.monotonic()
        if begin is None and READY.encode() in said[out]:
            begin, before = now, len(said[err])
        if begin is not None and first is None and PROGRESS in said[err][before:]:
            first = now - begin
        if begin is not None and interrupt is not None and sent is None and now - begin >= interrupt:
            process.send_signal(signal.SIGINT)
            sent = now
        if now - started > most:
            process.kill()
    process.wait()
    now = time.monotonic()
    return Clocked(
        first,
        now - (started if begin is None else begin),
        None if sent is None else now - sent,
        process.returncode,
        said[out].decode(errors="replace").partition(READY)[2].strip(),
        said[err].decode(errors="replace"),
    )
