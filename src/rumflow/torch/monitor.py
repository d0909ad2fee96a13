"""How far a network is from the axioms, over time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from rumflow.check import check_number, check_whole
from rumflow.output.result import Result


class _ConflictReport(NamedTuple):
    distance: Tensor
    score: Tensor
    outlier: Tensor
    mean: float
    std: float


class ConflictReport(Result, _ConflictReport):
    """What a `ConflictMonitor` says about a batch.

    Attributes
    ----------
    distance : Tensor of shape (B,)
        The distances, square roots of the input.
    score : Tensor of shape (B,)
        Standard deviations above the mean before this batch; 0 during the warm-up.
    outlier : Tensor of bool, shape (B,)
        Whether the score is above the threshold, or not a finite number.
    mean : float
        Mean of the baseline, including this batch where it belongs to it.
    std : float
        Standard deviation of the baseline.

    Examples
    --------
    >>> import torch
    >>> report = ConflictMonitor(warmup=2)(torch.tensor([1.0, 4.0]))
    >>> report.distance, report.outlier
    (tensor([1., 2.], dtype=torch.float64), tensor([False, False]))
    """

    __slots__ = ()

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row per sample: distance, score, outlier."""
        return {name: getattr(self, name).tolist() for name in ("distance", "score", "outlier")}

    def _title(self) -> str:
        found = f"{int(self.outlier.sum())} of {len(self.outlier)} samples are outliers"
        return f"{found}; baseline {self.mean:.4g}, standard deviation {self.std:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, for JSON; None for what is not a finite number."""

        def plain(values: Tensor) -> list[float | None]:
            return [value if math.isfinite(value) else None for value in values.tolist()]

        return {
            "distance": plain(self.distance),
            "score": plain(self.score),
            "outlier": self.outlier.tolist(),
            "mean": self.mean,
            "std": self.std,
        }


class ConflictMonitor(nn.Module):
    """Monitor the distance between raw outputs and their projections, and flag samples that are far off.

    Call it with the squared distances that a layer with `return_distance=True` returns. A sample is an outlier when its
    distance is more than `threshold` standard deviations above the mean of the baseline, once `warmup` samples are known.
    From then on outliers do not enter the baseline: a lasting shift is reported for as long as it lasts (`reset` accepts
    it).

    Parameters
    ----------
    threshold : float, default 4
        Standard deviations above the mean.
    warmup : int, default 256
        Number of samples before anything is flagged.
    momentum : float, optional
        None weighs all samples alike; a number in (0, 1] is the weight of the newest batch, so that old ones are forgotten.
    sync : bool, default True
        Where `torch.distributed` runs, the batches of all processes count together; all of them must then call the monitor
        equally often. False: each process alone.

    Notes
    -----
    Statistics are part of the state dict and stay in double precision. In evaluation mode they do not change.

    Examples
    --------
    >>> import torch
    >>> monitor = ConflictMonitor(warmup=8)
    >>> _ = monitor(torch.linspace(0.9, 1.1, 16))
    >>> monitor(torch.tensor([1.0, 9.0])).outlier
    tensor([False,  True])
    """

    count: Tensor
    mean: Tensor
    square: Tensor
    largest: Tensor
    flagged: Tensor

    def __init__(
        self, threshold: float = 4.0, warmup: int = 256, momentum: float | None = None, sync: bool = True
    ) -> None:
        super().__init__()
        if momentum is not None:
            check_number(momentum, "momentum", 0, 1, "(]", ", or None")
        self.threshold: float = check_number(threshold, "threshold", 0, np.inf)
        self.warmup: int = check_whole(warmup, "warmup")
        self.momentum: float | None = momentum
        self.sync: bool = sync
        for name in ("count", "flagged"):
            self.register_buffer(name, torch.zeros((), dtype=torch.int64))
        for name in ("mean", "square", "largest"):
            self.register_buffer(name, torch.zeros((), dtype=torch.float64))

    @property
    def std(self) -> Tensor:
        """Standard deviation of the distances so far."""
        return self.square.clamp(min=0.0).sqrt()

    def reset(self) -> None:
        """Forget all batches."""
        for buffer in self.buffers():
            buffer.zero_()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> ConflictMonitor:
        """To another device, but not to another precision: half of it would spoil sums over many batches."""
        before = dict(self.named_buffers())
        super()._apply(fn, recurse)
        for name, old in before.items():
            self._buffers[name] = old.to(getattr(self, name).device)
        return self

    @torch.no_grad()
    def forward(self, squared_distance: Tensor) -> ConflictReport:
        """Compare a batch with the baseline, then, in training mode, add what is not an outlier to the baseline.

        Parameters
        ----------
        squared_distance : Tensor of shape (B,)
            Squared distances.

        Returns
        -------
        ConflictReport
        """
        distance = squared_distance.detach().to(self.mean.device, torch.float64).reshape(-1).clamp(min=0.0).sqrt()
        finite = torch.isfinite(distance)
        score = torch.zeros_like(distance)
        if int(self.count) >= self.warmup:
            score = (distance - self.mean) / self.std.clamp(min=1e-12 + 1e-9 * float(self.mean))
        outlier = (score > self.threshold) | ~finite
        if self.training:
            self._add(distance[~outlier], distance[finite], outlier.sum())
        return ConflictReport(distance, score, outlier, float(self.mean), float(self.std))

    def _add(self, usual: Tensor, finite: Tensor, flagged: Tensor) -> None:
        """Merge mean and variance of a batch (Chan, Golub and LeVeque), or of the batches of all processes."""
        away = usual - self.mean
        sums = torch.stack([away.new_tensor(len(usual)), away.sum(), away.square().sum(), flagged.to(away)])
        largest = torch.cat([finite, self.largest[None]]).max()
        if self.sync and torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.all_reduce(sums)
            torch.distributed.all_reduce(largest, op=torch.distributed.ReduceOp.MAX)
        self.largest.copy_(largest)
        self.flagged += sums[3].to(torch.int64)
        before, new = int(self.count), int(sums[0])
        if new == 0:
            return
        share = new / (before + new) if self.momentum is None or before == 0 else self.momentum
        change = sums[1] / new
        spread = sums[2] / new - change * change
        self.square.copy_((1 - share) * self.square + share * spread + share * (1 - share) * change * change)
        self.mean += share * change
        self.count += new

    def extra_repr(self) -> str:
        """Return what `print(monitor)` shows."""
        seen = f"seen={int(self.count)}, mean={float(self.mean):.4g}, std={float(self.std):.4g}"
        return f"threshold={self.threshold:g}, {seen}"
