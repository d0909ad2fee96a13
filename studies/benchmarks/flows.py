"""Layers side by side, forward and backward pass, CPU time a sample with one thread, best of several interleaved passes.

    RUMFLOW_THREADS=1 python -m studies.benchmarks.flows            flows.csv: a softmax per menu, FlowRUM, the projection
    RUMFLOW_THREADS=1 python -m studies.benchmarks.flows --nearly   nearly.csv: the projection of nearly rational inputs, and atol

Scores of the first are standard normal numbers in every cell; the projection gets their softmax. In the second, items have
standard normal utilities, and cells s times as much noise: a softmax of these is a logit up to s.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

import rumflow as rf
from rumflow.torch import FlowRUM, MenuSoftmax, RUMLayer
from studies.benchmarks.record import RESULTS, save, show, stamp

#: Items, and samples in a batch; a batch of one shows what a call costs.
SIZES = ((4, 1), (4, 256), (6, 1), (6, 128), (8, 1), (8, 64), (10, 16), (12, 4))
NOISE = (1.0, 0.3, 0.1, 0.01, 1e-3, 1e-4)
ATOL = 1e-4


def measure(calls: dict[str, Callable[[], torch.Tensor]], repeats: int) -> dict[str, float]:
    """The best CPU seconds of each, forward and backward, one after the other in every round."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats + 1):  # the first round loads and compiles, and is hardly ever the best
        for name, call in calls.items():
            begin = time.process_time()
            y = call()
            y.backward(torch.ones_like(y))
            best[name] = min(best[name], time.process_time() - begin)
    return best


def compare(n: int, batch: int) -> dict[str, float]:
    """Milliseconds a sample of the three layers."""
    z = torch.randn(batch, rf.Lattice(n).n_cells, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    shares = MenuSoftmax(n)(z).requires_grad_()
    z.requires_grad_()
    layers = {"softmax": MenuSoftmax(n), "flow": FlowRUM(n), "projection": RUMLayer(n)}
    found = measure(
        {name: lambda own=layer, x=shares if name == "projection" else z: own(x) for name, layer in layers.items()},
        200 if batch == 1 else 20,
    )
    return {name: 1e3 * seconds / batch for name, seconds in found.items()}


def nearly(n: int, noise: float) -> dict[str, float]:
    """Milliseconds a sample of the projection, with and without an error that is accepted; the largest error."""
    batch = 4 if n <= 8 else 2
    rng = np.random.default_rng(0)
    cells = rf.Lattice(n).cells
    utility = rng.normal(size=(batch, n))[:, cells[:, 1]]
    z = MenuSoftmax(n)(torch.tensor(utility + noise * rng.normal(size=utility.shape))).requires_grad_()
    layers = {"exact": RUMLayer(n), "atol": RUMLayer(n, atol=ATOL)}
    found = measure({name: lambda own=layer: own(z) for name, layer in layers.items()}, 1 if noise < 0.1 else 5)
    with torch.no_grad():
        error = float((layers["exact"](z) - layers["atol"](z)).norm(dim=-1).max())
    return {name: 1e3 * seconds / batch for name, seconds in found.items()} | {"error": error}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nearly", action="store_true")
    nearly_rational = parser.parse_args().nearly
    torch.set_num_threads(1)
    own = stamp(1)
    if nearly_rational:
        nearly(8, 0.01)  # compiles
        for n in (8, 10):
            for noise in NOISE:
                row = {"n": n, "noise": noise, "accepted": ATOL, **nearly(n, noise), **own}
                show(row)
                save(RESULTS / "nearly.csv", [row], ["n", "noise"])
        return
    for n, batch in SIZES:
        row = {"n": n, "batch": batch, **compare(n, batch), **own}
        show(row)
        save(RESULTS / "flows.csv", [row], ["n", "batch"])


if __name__ == "__main__":
    main()
