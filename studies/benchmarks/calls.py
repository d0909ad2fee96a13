"""What a call of a layer costs, forward and backward pass, one thread, best of several interleaved passes in one process.

    RUMFLOW_THREADS=1 python -m studies.benchmarks.calls one       calls.csv: one sample, at once and through the operators
    RUMFLOW_THREADS=1 python -m studies.benchmarks.calls equal     equal.csv: other layers at the same batches, n = 6
    RUMFLOW_THREADS=1 python -m studies.benchmarks.calls state     state.csv: bytes kept for the backward pass, n = 8

The operators (`rumflow::project`) are for what PyTorch traces or transforms; *least* is a plain autograd function over the same
engine, without any check of its input and with the first derivative only. All three give the same bits, which is asserted.
Inputs of *equal* are those of `studies.benchmarks.layers`, whose packages are installed by hand; those that are missing are left
out. For *state* they are softmaxes of noise, one of them nearly rational, as in `studies.benchmarks.flows`.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

import rumflow as rf
from rumflow.core.problem import Stop
from rumflow.layers.engines import Engine, find_engine
from rumflow.torch import MenuSoftmax, RUMLayer, function
from studies.benchmarks.flows import measure
from studies.benchmarks.layers import RIVALS, inputs, make_layer
from studies.benchmarks.record import RESULTS, save, show, stamp
from studies.experiments.files import Row

ITEMS = (4, 6, 8)
BATCHES = (1, 8, 64)
TOOLS = ("rumflow", "qpth", "proxsuite", "cvxpylayers")


def shares(n: int, batch: int, noise: float = 1.0, utility: float = 0.0) -> torch.Tensor:
    """Softmaxes within menus."""
    rng = np.random.default_rng(0)
    cells = rf.Lattice(n).cells
    scores = utility * rng.normal(size=(batch, n))[:, cells[:, 1]] + noise * rng.normal(size=(batch, len(cells)))
    return MenuSoftmax(n)(torch.tensor(scores))


class Least(torch.autograd.Function):
    """The engine, and nothing else."""

    @staticmethod
    def forward(ctx: Any, z: torch.Tensor, engine: Engine) -> torch.Tensor:
        answer = engine.solve(z.numpy(), None, Stop(1e-12), True, False)
        ctx.engine, ctx.state = engine, answer.state
        return torch.from_numpy(answer.rho)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, None]:
        product = ctx.engine.tangent(g.numpy(), None, ctx.state, np.empty((len(g), 0)), False)[0]
        return torch.from_numpy(product), None


def one(n: int) -> Row:
    """Microseconds of one sample."""
    z, layer = shares(n, 1).requires_grad_(), RUMLayer(n)
    engine = find_engine(layer._cells.text, b"", 0.0, 0)

    def through_operators() -> torch.Tensor:
        with patch.object(function, "_looked_on", lambda _: True):
            return layer(z)  # type: ignore[no-any-return]

    calls = {"at_once": lambda: layer(z), "operators": through_operators, "least": lambda: Least.apply(z, engine)}
    answers = []
    for call in calls.values():
        y = call()
        answers.append((y, *torch.autograd.grad(y, z, y.detach())))
    for other in answers[1:]:
        assert all(torch.equal(a, b) for a, b in zip(answers[0], other, strict=True))
    return {name: 1e6 * seconds for name, seconds in measure(calls, 500).items()}


def equal(n: int, batch: int) -> list[Row]:
    """Milliseconds a sample of the layers that are installed."""
    z = torch.tensor(inputs(n, batch, 0)).requires_grad_()
    layers = {tool: make_layer(tool, "rho", n, batch) for tool in TOOLS if tool == "rumflow" or find_spec(tool)}
    found = measure(
        {tool: lambda own=layer: own(z) for tool, layer in layers.items()}, 200 // batch if batch < 8 else 5
    )
    return [{"n": n, "batch": batch, "tool": tool, "ms": 1e3 * seconds / batch} for tool, seconds in found.items()]


def state(n: int, batch: int, nearly: int) -> Row:
    """Bytes of the state, and those of one that is padded to the largest face; so many samples are nearly rational."""
    z = torch.cat([shares(n, batch - nearly), shares(n, nearly, 1e-3, 1.0)]).numpy()
    engine = find_engine(RUMLayer(n)._cells.text, b"", 0.0, 1)
    sizes = [sum(part.nbytes for part in _state(engine, row[None])) for row in z]
    kept = sum(part.nbytes for part in _state(engine, z))
    return {"n": n, "batch": batch, "nearly": nearly, "kept": kept, "padded": batch * max(sizes)}


def _state(engine: Engine, z: np.ndarray) -> tuple[np.ndarray, ...]:
    found = engine.solve(z, None, Stop(1e-12), True, False).state
    assert found is not None
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("one", "equal", "state"))
    part = parser.parse_args().part
    torch.set_num_threads(1)
    name, key = {
        "one": ("calls", ["n"]),
        "equal": ("equal", ["n", "batch", "tool"]),
        "state": ("state", ["n", "nearly"]),
    }[part]
    own = stamp(1, *(RIVALS if part == "equal" else ()))
    if part == "one":
        found = ([{"n": n, **one(n)}] for n in ITEMS)
    elif part == "equal":
        found = (equal(6, batch) for batch in BATCHES)
    else:
        found = ([state(8, 256, nearly)] for nearly in (0, 1))
    for rows in found:
        for row in rows:
            show(row)
        save(RESULTS / f"{name}.csv", [{**row, **own} for row in rows], key)


if __name__ == "__main__":
    main()
