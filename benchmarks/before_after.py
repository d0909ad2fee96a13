"""Two source trees side by side: is the second as fast as the first, and are the results the same to the bit?

    python benchmarks/before_after.py /path/to/before /path/to/after [--turns 20] [--only n=6]

Each tree runs in a process of its own; calls alternate between the two, so that whatever else the machine does hits both. A turn
repeats a call for at least 20 ms and reports its fastest; the best of all turns counts. Both make their data from the same seeds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

LONG = "project noisy n=18"


def jobs() -> dict[str, Callable[[], Callable[[], np.ndarray]]]:
    """By name: what prepares a call. The call returns the numbers that are compared."""

    def project(family: str, n: int) -> Callable[[], np.ndarray]:
        import rumflow as rf

        if family == "known":
            data = rf.simulate.known_projection(n, seed=1, distance=0.1).data[None]
            return lambda: rf.project_many(data, tol=1e-9).flow
        array = rf.simulate.dirichlet(n, seed=1) if family == "dirichlet" else rf.simulate.noisy_rankings(n, seed=1)
        tol = 1e-7 if n > 12 else 1e-9
        return lambda: rf.project(array, tol=tol).flow

    def stack() -> Callable[[], np.ndarray]:
        import rumflow as rf

        data = np.array([rf.simulate.dirichlet(6, seed=i) for i in range(1000)])
        return lambda: rf.project_many(data).flow

    def layer() -> Callable[[], np.ndarray]:
        import torch

        import rumflow as rf
        from rumflow.torch import RUMLayer

        cells = rf.Lattice(8).cells
        rng = np.random.default_rng(0)
        z = torch.tensor(1 / np.bitwise_count(cells[:, 0].astype(np.uint32)) + 0.3 * rng.normal(size=(256, len(cells))))
        g = torch.tensor(rng.normal(size=tuple(z.shape)))
        one = RUMLayer(8)

        def call() -> np.ndarray:
            point = z.clone().requires_grad_()
            y = one(point)
            (gradient,) = torch.autograd.grad(y, point, g)
            return np.stack([y.detach().numpy(), gradient.numpy()])

        return call

    table: dict[str, Callable[[], Callable[[], np.ndarray]]] = {
        f"project {family} n={n}": lambda family=family, n=n: project(family, n)  # type: ignore[misc]
        for n in (6, 8, 10)
        for family in ("known", "dirichlet", "noisy")
    }
    return table | {
        "project_many n=6, stack of 1000": stack,
        "layer n=8, batch 256, forward and backward": layer,
        LONG: lambda: project("noisy", 18),
    }


def serve() -> None:
    """Answer one line with one line: a job's name with its time, and a digest of its result."""
    call: Callable[[], np.ndarray] | None = None
    name = ""
    for line in sys.stdin:
        asked = line.strip()
        if asked != name:
            name, call = asked, jobs()[asked]()
            call()  # compiled and loaded before the clock starts
        assert call is not None
        best, end = float("inf"), time.perf_counter() + 0.02
        while True:
            begin = time.perf_counter()
            result = call()
            now = time.perf_counter()
            best = min(best, now - begin)
            if now > end:
                break
        digest = hashlib.sha1(np.ascontiguousarray(result).tobytes()).hexdigest()
        print(json.dumps({"seconds": best, "digest": digest, "sum": float(np.sum(result**2))}), flush=True)


class Worker:
    """A process that runs one source tree."""

    def __init__(self, tree: Path) -> None:
        source = tree / "src"
        if not (source / "rumflow").is_dir():
            raise SystemExit(f"{tree}: no src/rumflow there")
        environment = os.environ | {"PYTHONPATH": str(source)}
        command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
        self.process = subprocess.Popen(
            command,
            env=environment,
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("before", type=Path)
    options.add_argument("after", type=Path)
    options.add_argument("--turns", type=int, default=20, help="turns of each tree; 3 at n = 18")
    options.add_argument("--only", default="", help="jobs whose name holds this text")
    given = options.parse_args()
    workers = [Worker(given.before), Worker(given.after)]
    print(f"{'':45}{'before':>12}{'after':>12}{'ratio':>8}  same bits")
    for job in jobs():
        if given.only not in job:
            continue
        best, digests, sums = [float("inf")] * 2, ["", ""], [0.0, 0.0]
        for turn in range(min(given.turns, 3) if job == LONG else given.turns):
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                answer = workers[side].ask(job)
                best[side] = min(best[side], float(answer["seconds"]))  # type: ignore[arg-type]
                digests[side], sums[side] = str(answer["digest"]), float(answer["sum"])  # type: ignore[arg-type]
        same = "yes" if digests[0] == digests[1] else f"no (sums of squares differ by {sums[1] / sums[0] - 1:.1e})"
        print(f"{job:45}{1e3 * best[0]:9.3f} ms{1e3 * best[1]:9.3f} ms{best[1] / best[0]:8.2f}  {same}", flush=True)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve()
    else:
        main()
