"""Two source trees side by side: is the second as fast as the first, and are the results the same to the bit?

    python -m studies.benchmarks.before_after /path/to/before /path/to/after [--turns 20] [--only n=6] [--out FILE]

Each tree runs in a process of its own, with one thread; calls alternate between the two, so that whatever else the machine does
hits both. A turn repeats a call for at least 20 ms and reports its fastest, in CPU seconds; the best of all turns counts. Both
make their data from the same seeds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from studies.benchmarks.jobs import JOBS, LONG, Call
from studies.benchmarks.record import save, stamp

ROOT = Path(__file__).parents[2]  # nothing is imported here that an earlier tree of the package may not have


def serve() -> None:
    """Answer one line with one line: a job's name with its time, and a digest of its result."""
    call: Call | None = None
    name = ""
    for line in sys.stdin:
        asked = line.strip()
        if asked != name:
            name = asked
            try:
                call = JOBS[asked]()
                call()  # compiled and loaded before the clock starts
            except (AttributeError, TypeError, ImportError, ValueError) as missing:
                call = None
                print(json.dumps({"missing": str(missing)}), flush=True)
                continue
        assert call is not None
        best, end = float("inf"), time.perf_counter() + 0.02
        while True:
            begin = time.process_time()
            result = call()
            best = min(best, time.process_time() - begin)
            if time.perf_counter() > end:
                break
        digest = hashlib.sha1(np.ascontiguousarray(result).tobytes()).hexdigest()
        print(json.dumps({"seconds": best, "digest": digest, "sum": float(np.sum(result**2))}), flush=True)


class Worker:
    """A process that runs one source tree."""

    def __init__(self, tree: Path) -> None:
        self.tree, source = tree, tree / "src"
        if not (source / "rumflow").is_dir():
            raise SystemExit(f"{tree}: no src/rumflow there")
        environment = os.environ | {"PYTHONPATH": str(source), "RUMFLOW_THREADS": "1"}
        command = [sys.executable, "-m", "studies.benchmarks.before_after", "--serve"]
        self.process = subprocess.Popen(
            command,
            env=environment,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, job: str) -> dict[str, object]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(job + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.process.args}: ended during {job!r}")
        return dict(json.loads(answer))


def commit_of(tree: Path) -> str:
    """The commit that is checked out there."""
    command = ["git", "-C", str(tree), "rev-parse", "--short=9", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("before", type=Path)
    options.add_argument("after", type=Path)
    options.add_argument("--turns", type=int, default=20, help="turns of each tree; 3 at n = 18")
    options.add_argument("--only", default="", help="jobs whose name holds this text")
    options.add_argument("--out", type=Path, help="store the rows in a CSV file, too")
    given = options.parse_args()
    workers = [Worker(given.before), Worker(given.after)]
    print(f"{'':45}{'before':>12}{'after':>12}{'ratio':>8}  same bits")
    for job in JOBS:
        if given.only not in job:
            continue
        best, digests, sums = [float("inf")] * 2, ["", ""], [0.0, 0.0]
        missing = [worker.tree for worker in workers if "missing" in worker.ask(job)]
        if missing:
            print(f"{job:45} not in {', '.join(map(str, missing))}", flush=True)
            continue
        for turn in range(min(given.turns, 3) if job == LONG else given.turns):
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                answer = workers[side].ask(job)
                best[side] = min(best[side], float(answer["seconds"]))  # type: ignore[arg-type]
                digests[side], sums[side] = str(answer["digest"]), float(answer["sum"])  # type: ignore[arg-type]
        same = "yes" if digests[0] == digests[1] else f"no (sums of squares differ by {sums[1] / sums[0] - 1:.1e})"
        print(f"{job:45}{1e3 * best[0]:9.3f} ms{1e3 * best[1]:9.3f} ms{best[1] / best[0]:8.2f}  {same}", flush=True)
        if given.out:
            row = {"job": job, "before": commit_of(given.before), "before_seconds": best[0], "after_seconds": best[1]}
            save(given.out, [row | {"ratio": best[1] / best[0], "same_bits": same} | stamp(1)], ["job"])


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve()
    else:
        main()
