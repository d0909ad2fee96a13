"""How far a network is from the axioms, over time."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from rumflow.errors import InputError


class ConflictReport(NamedTuple):
    """What a batch showed."""

    distance: Tensor  # (B,): the distances, square roots of what came in
    score: Tensor  # (B,): standard deviations above the mean before this batch; 0 during the warm-up
    outlier: Tensor  # (B,): score above the threshold, or not a finite number
    mean: float  # of all so far, this batch included
    std: float


class ConflictMonitor(nn.Module):
    """Running mean and standard deviation of the distance between raw outputs and their projections; flags what is far
    off.

    Call it with the squared distances that `RUMLayer(return_distance=True)` returns. A sample is an outlier when its
    distance is more than `threshold` standard deviations above the mean of what came before, once `warmup` samples are
    known. `momentum` None weighs all samples alike; a number in (0, 1] is the weight of the newest batch, so that old
    ones are forgotten. Statistics are part of the state dict.
    """

    count: Tensor
    mean: Tensor
    square: Tensor
    largest: Tensor
    flagged: Tensor

    def __init__(self, threshold: float = 4.0, warmup: int = 256, momentum: float | None = None) -> None:
        super().__init__()
        if not threshold > 0:
            raise InputError(f"threshold={threshold!r}: a positive number of standard deviations is needed")
        if momentum is not None and not 0 < momentum <= 1:
            raise InputError(f"momentum={momentum!r}: a number in (0, 1] is needed, or None")
        self.threshold, self.warmup, self.momentum = float(threshold), int(warmup), momentum
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

    @torch.no_grad()
    def forward(self, squared_distance: Tensor) -> ConflictReport:
        """Compare a batch with the past, then add it to the past."""
        distance = squared_distance.detach().to(self.mean.device, torch.float64).reshape(-1).clamp(min=0.0).sqrt()
        finite = torch.isfinite(distance)
        score = torch.zeros_like(distance)
        if int(self.count) >= self.warmup:
            score = (distance - self.mean) / self.std.clamp(min=1e-12 + 1e-9 * float(self.mean))
        outlier = (score > self.threshold) | ~finite
        known = distance[finite]
        if len(known):
            self._add(known)
        self.flagged += outlier.sum()
        return ConflictReport(distance, score, outlier, float(self.mean), float(self.std))

    def _add(self, distance: Tensor) -> None:
        """Merge mean and variance of a batch (Chan, Golub and LeVeque)."""
        before, new = int(self.count), len(distance)
        share = new / (before + new) if self.momentum is None or before == 0 else self.momentum
        change = distance.mean() - self.mean
        spread = distance.var(correction=0) if new > 1 else torch.zeros_like(self.square)
        self.square.copy_((1 - share) * self.square + share * spread + share * (1 - share) * change * change)
        self.mean += share * change
        self.count += new
        self.largest.copy_(torch.maximum(self.largest, distance.max()))

    def extra_repr(self) -> str:
        """What `print(monitor)` shows."""
        seen = f"seen={int(self.count)}, mean={float(self.mean):.4g}, std={float(self.std):.4g}"
        return f"threshold={self.threshold:g}, {seen}"
