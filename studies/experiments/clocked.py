"""Run Python in a process of its own, with a clock: the first line of progress, Ctrl-C after some seconds, and how it ends.

On a machine that others use as well, seconds of the processor say more than those of the clock, so both are counted, and Ctrl-C
comes after so many of the former (or four times as many of the latter).

The code says when the clock starts by printing READY on a line of standard output; what it prints afterwards is kept.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

READY = "ready"
PROGRESS = b"rumflow: "


class Seconds(NamedTuple):
    """Of the clock, and of the processor."""

    clock: float
    processor: float

    @property
    def least(self) -> float:
        """What it would have taken at most on an idle machine."""
        return min(self)

    def minus(self, other: Seconds) -> Seconds:
        """The time between two."""
        return Seconds(self.clock - other.clock, self.processor - other.processor)


class Clocked(NamedTuple):
    """What a process did; times from READY on, None for what never came."""

    first_line: Seconds | None  # of progress
    taken: Seconds  # until it ended
    since_signal: Seconds | None  # until it ended, from Ctrl-C on
    code: int
    out: str
    err: str


def processor_seconds(pid: int) -> float:
    """Of all threads of a process; infinite where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return float("inf")


def run_clocked(code: str, interrupt: float | None = None, most: float = 120.0) -> Clocked:
    """Run some code; `interrupt`: seconds after which Ctrl-C comes; after `most` seconds it is killed."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.fileno(), process.stderr.fileno()
    said = {out: b"", err: b""}
    begin = first = sent = None
    open_ends = [out, err]
    started = now = Seconds(time.monotonic(), 0.0)
    while open_ends:
        for end in select.select(open_ends, [], [], 0.01)[0]:
            more = os.read(end, 1 << 16)
            if not more:
                open_ends.remove(end)
            said[end] += more
        used = processor_seconds(process.pid)
        now = Seconds(time.monotonic(), max(used, now.processor))
        if begin is None and READY.encode() in said[out]:
            begin, before = now, len(said[err])
        if begin is not None and first is None and PROGRESS in said[err][before:]:
            first = now.minus(begin)
        if begin is not None and interrupt is not None and sent is None:
            passed = now.minus(begin)
            if passed.processor >= interrupt or passed.clock >= 4 * interrupt:
                process.send_signal(signal.SIGINT)
                sent = now
        if now.minus(started).clock > most:
            process.kill()
    process.wait()
    now = now._replace(clock=time.monotonic())
    return Clocked(
        first,
        now.minus(started if begin is None else begin),
        None if sent is None else now.minus(sent),
        process.returncode,
        said[out].decode(errors="replace").partition(READY)[2].strip(),
        said[err].decode(errors="replace"),
    )
