"""A layer over many items: customers of a shop with thirty articles in two departments, seen in a hundred assortments.

Shares of customer types (rankings of the articles) depend on features x of the market, softmax(B x); the truth y(x) is what such
a population takes from each assortment. Networks with the same body, features to (menu, item) cells and softmax within each
menu, learn from frequencies of a few draws per menu, by squared error:

    plain             as it is
    plain, projected  the same network, its outputs projected onto random utility when it is tested
    layer             with `RUMLayer` as its last step, in training and when it is tested

*Error* is the mean squared error per cell on markets not seen, against the truth; *loss* the same against frequencies. The menus
of eight of the fifteen articles of a department have 800 cells; all subsets of thirty articles would have 16 billion, the choice
graphs of the menus have a few thousand nodes.

Written: assortments.csv, with CPU seconds of training, and of one pass of a batch forward and backward, cold and warm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.graph_cells import Cells
from studies.experiments.files import Row, write_csv

if TYPE_CHECKING:
    from torch import Tensor, nn


def run_assortments(
    out_dir: str | Path,
    seeds: Iterable[int] = range(3),
    n: int = 30,
    menus: int = 100,
    size: int = 8,
    groups: int = 2,
    types: int = 60,
    draws: int = 20,
    train: int = 96,
    test: int = 64,
    epochs: int = 60,
    every: int = 10,
    width: int = 64,
    context: int = 8,
    batch: int = 32,
    rate: float = 1e-2,
    timed: int = 64,
    progress: Callable[[str], None] | None = None,
) -> list[Row]:
    """Train on every seed; writes assortments.csv into `out_dir` and returns its rows. Needs PyTorch."""
    import torch

    rows: list[Row] = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for seed in seeds:
            task = _Task(seed, n, menus, size, groups, types, draws, train, test, context)
            for method in ("plain", "layer"):
                for row in task.learn(method, epochs, every, width, batch, rate):
                    rows.append({"seed": seed, **row})
                    if progress is not None:
                        progress(f"assortments: {rows[-1]}")
        rows += [{"seed": 0, **row} for row in task.time(timed, width)]
    finally:
        torch.set_num_threads(threads)
    settings: Row = {
        "n": n,
        "menus": menus,
        "size": size,
        "groups": groups,
        "cells": menus * size,
        "nodes": task.nodes,
        "draws": draws,
    }
    settings |= {"train": train, "test": test, "width": width, "batch": batch, "rate": rate}
    rows = [
        {**dict.fromkeys(("seed", "method", "epoch", "loss", "error", "train_loss", "seconds")), **row} for row in rows
    ]
    write_csv(Path(out_dir) / "assortments.csv", [{**row, **settings} for row in rows])
    return rows


class _Task:
    """Markets, menus and truth of one seed."""

    def __init__(
        self,
        seed: int,
        n: int,
        menus: int,
        size: int,
        groups: int,
        types: int,
        draws: int,
        train: int,
        test: int,
        context: int,
    ) -> None:
        import torch

        from rumflow.torch import RUMLayer

        rng = np.random.default_rng(seed)
        self.torch, self.seed, self.n, self.train = torch, seed, n, train
        chosen: set[tuple[int, ...]] = set()
        while len(chosen) < menus:
            first = n // groups * (len(chosen) % groups)
            chosen.add(tuple(sorted((first + rng.choice(n // groups, size, replace=False)).tolist())))
        self.menus = sorted(chosen)
        member = np.zeros((menus, n), np.bool_)
        np.put_along_axis(member, np.array(self.menus), True, axis=1)
        taken = Cells(member).types_of_orders(rng.permuted(np.tile(np.arange(n), (types, 1)), axis=1))
        behaviour = np.zeros((types, menus, size))
        np.put_along_axis(behaviour, taken[:, :, None], 1.0, axis=2)
        x = rng.normal(size=(train + test, context))
        scores = x @ rng.normal(size=(context, types))
        shares: Array = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        truth = np.einsum("bt,tmc->bmc", shares, behaviour)
        seen = rng.multinomial(draws, truth) / draws
        self.x, self.y, self.seen = (torch.tensor(a.reshape(train + test, -1)) for a in (x, truth, seen))
        self.layer = RUMLayer(n, menus=self.menus)
        self.nodes = 0 if self.layer._cells.graph is None else self.layer._cells.graph.n_nodes

    def student(self, width: int) -> nn.Sequential:
        """The body, the same at the start for all methods."""
        from torch import nn

        from rumflow.torch import MenuSoftmax

        self.torch.manual_seed(1000 + self.seed)
        body = nn.Linear(self.x.shape[1], width), nn.ReLU(), nn.Linear(width, self.y.shape[1])
        return nn.Sequential(*body, MenuSoftmax(self.n, self.menus)).double()

    def learn(self, method: str, epochs: int, every: int, width: int, batch: int, rate: float) -> Iterable[Row]:
        """Train a student; yields what is measured."""
        from rumflow.torch import RUMLayer

        torch = self.torch
        model, warm = self.student(width), RUMLayer(self.n, menus=self.menus, warm_start=True, warm_bytes=1 << 30)
        optimiser = torch.optim.Adam(model.parameters(), lr=rate)
        generator = torch.Generator().manual_seed(2000 + self.seed)
        spent = 0.0
        for epoch in range(epochs + 1):
            if epoch % every == 0:
                with torch.no_grad():
                    raw, projected = model(self.x), self.layer(model(self.x))
                seconds = round(spent, 1)
                if method == "plain":
                    yield {"method": "plain", "epoch": epoch, **self.measure(raw), "seconds": seconds}
                name = "layer" if method == "layer" else "plain, projected"
                yield {"method": name, "epoch": epoch, **self.measure(projected), "seconds": seconds}
            if epoch == epochs:
                return
            begin = time.process_time()
            for rows in torch.randperm(self.train, generator=generator).split(batch):
                optimiser.zero_grad()
                answer = model(self.x[rows])
                if method == "layer":
                    answer = warm(answer, index=rows)
                (answer - self.seen[rows]).square().mean().backward()
                optimiser.step()
            spent += time.process_time() - begin

    def measure(self, answer: Tensor) -> Row:
        """Squared errors per cell."""
        loss, error = ((answer - other).square().mean(-1) for other in (self.seen, self.y))
        return {
            "loss": float(loss[self.train :].mean()),
            "error": float(error[self.train :].mean()),
            "train_loss": float(loss[: self.train].mean()),
        }

    def time(self, batch: int, width: int) -> Iterable[Row]:
        """Seconds of one batch, forward and backward, from nothing and after a step of training."""
        from rumflow.torch import RUMLayer

        torch = self.torch
        model, layer = self.student(width), RUMLayer(self.n, menus=self.menus, warm_start=True, warm_bytes=1 << 30)
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
        rows = torch.arange(batch) % len(self.x)
        for name in ("cold", "warm", "warm again"):
            answer = model(self.x[rows])
            begin = time.process_time()
            projected = layer(answer)
            middle = time.process_time()
            (projected - self.seen[rows]).square().mean().backward()
            end = time.process_time()
            optimiser.step()
            optimiser.zero_grad()
            yield {"method": f"time of {batch}, {name}, forward", "seconds": round(middle - begin, 3)}
            yield {"method": f"time of {batch}, {name}, backward", "seconds": round(end - middle, 3)}
