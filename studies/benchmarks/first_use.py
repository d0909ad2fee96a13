"""What the first use costs: five calls, each in a process of its own with an empty folder of kernels, then with a full one.

python -m studies.benchmarks.first_use [CALL ...]

CPU seconds of the process from the import of rumflow on, without the import of PyTorch; what was compiled is named on request.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

from studies.benchmarks.record import RESULTS, ROOT, save, show, stamp

DATA = """
data = rf.ChoiceData.from_counts(
    {("tea", "milk"): {"tea": 31, "milk": 9}, ("tea", "milk", "gin"): {"tea": 5, "milk": 15, "gin": 20}}
)
"""
CALLS = {
    "project": DATA + "rf.project(data)",
    "rum_test": DATA + "rf.rum_test(data, seed=0)",
    "bounds": DATA + "rf.bounds(data, ('milk', 'gin'))",
    "explain": DATA + "rf.explain(data, seed=0)",
    "RUMLayer": """
from rumflow.torch import RUMLayer
layer = RUMLayer(4)
z = torch.linspace(0, 1, 2 * len(layer.cells), dtype=torch.float64).reshape(2, -1).requires_grad_()
(layer(z) ** 2).sum().backward()
""",
}
PROGRAM = """
import json, sys, time
if "torch" in sys.argv[1]:
    import torch
    torch.set_num_threads(1)
begin = time.process_time()
import rumflow as rf
from numba.core import event
from rumflow.core.compile import Kernel, compiling_seconds

class Names(event.Listener):
    def __init__(self):
        self.names = []
    def on_start(self, heard):
        if isinstance(heard.data["dispatcher"], Kernel):
            self.names.append(heard.data["dispatcher"].py_func.__name__)
    def on_end(self, heard):
        pass

heard = Names()
event.register("numba:compile", heard)
exec(sys.argv[1])
print(json.dumps([time.process_time() - begin, heard.names]))
"""


def use(call: str, folder: str) -> tuple[float, list[str]]:
    """CPU seconds of one call in a new process, and the kernels that it compiled."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "OMP_NUM_THREADS": "1", "RUMFLOW_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, CALLS[call]]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, names = json.loads(done.stdout)
    return seconds, names


def main() -> None:
    """Measure and store; the better of two first uses counts, because other work slows a shared machine down."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("call", nargs="*", help=f"which of {', '.join(CALLS)} (default: all)")
    options.add_argument("--repeats", type=int, default=2, help="first uses, of which the quickest counts (default 2)")
    options.add_argument("--names", action="store_true", help="print the kernels that were compiled")
    given = options.parse_args()
    for call in given.call or CALLS:
        first = []
        for _ in range(given.repeats):
            with tempfile.TemporaryDirectory() as folder:
                seconds, names = use(call, folder)
                first.append(seconds)
                again, left = use(call, folder)
                assert not left, f"{call}: {left} compiled again"
        row = {"call": call, "cpu_seconds": min(first), "again_seconds": again, "kernels": len(names)}
        show(row)
        if given.names:
            print("  " + " ".join(names), flush=True)
        save(RESULTS / "first_use.csv", [row | stamp(1)], ["call"])


if __name__ == "__main__":
    main()
