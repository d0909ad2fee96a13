"""`RUMLayer`: what goes in are numbers, what comes out are the choice probabilities of a random utility model."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from rumflow.errors import InputError
from rumflow.solvers.batch.projector import DEFAULT_TOL
from rumflow.torch.cells import Cells, Menu
from rumflow.torch.function import Project
from rumflow.torch.warm import WarmStarts


@lru_cache(maxsize=16)
def _all_of(n: int) -> Cells:
    return Cells(n, None, None)


def project_cells(
    z: Tensor,
    cells: Cells | int,
    *,
    smoothing: float = 0.0,
    tol: float = DEFAULT_TOL,
    index: Tensor | None = None,
    warm: WarmStarts | None = None,
    threads: int | None = None,
    return_distance: bool = False,
    return_flow: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """The functional form of `RUMLayer`; `cells` is a `Cells` object, or n for all menus of n items without weights."""
    cells = cells if isinstance(cells, Cells) else _all_of(cells)
    if not z.dtype.is_floating_point:
        raise InputError(f"the input has dtype {z.dtype}; a floating point tensor is needed")
    if z.ndim == 0 or z.shape[-1] != cells.index.shape[0]:
        raise InputError(
            f"the last axis must run over the {cells.index.shape[0]} cells of the layer (n = {cells.n} items, "
            f"{len(cells.masks)} menus); the input has shape {tuple(z.shape)}"
        )
    if index is not None and index.shape != z.shape[:-1]:
        raise InputError(
            f"index: one sample number for each of {tuple(z.shape[:-1])} is needed, not {tuple(index.shape)}"
        )
    inside = z.to("cpu", torch.float64)
    keys = torch.empty(0, dtype=torch.int64) if index is None else index.to("cpu", torch.int64)
    keep = torch.is_grad_enabled() and inside.requires_grad
    own = (inside, cells.index, cells.output, cells.weights, keys, cells.n)
    handle = 0 if warm is None else warm.handle
    rho, flow = Project.apply(*own, smoothing, tol, threads or 0, handle, keep, return_flow)[:2]
    results = [rho.to(z.device, z.dtype)]
    if return_distance:
        fitted = rho[..., cells.inputs]
        # The derivative of the squared distance of the exact projection is that with P(z) held fixed.
        residual = inside - (fitted if smoothing > 0.0 else fitted.detach())
        results.append((cells.cell_weights * residual * residual).sum(-1).to(z.device, z.dtype))
    if return_flow:
        results.append(flow.to(z.device, z.dtype))
    return results[0] if len(results) == 1 else tuple(results)


class RUMLayer(nn.Module):
    """Project onto the random utility models over n items.

        y = argmin 1/2 sum over cells (D, x) of w(D, x) (rho(D, x) - z(D, x))^2   over all RUMs rho

    The last axis of z and y runs over the cells: `Lattice(n).cells` (menu mask ascending, then item ascending), or
    those of `menus`, menu after menu in the order given (`layer.cells` lists them). Leading axes are samples. Any
    floating dtype and device: computed in float64 on the CPU, returned as z came; menu sums and signs are exact to
    about 1e-15 in float64.

    n, menus      items, and the menus that are read: bit masks or collections of items; None for all.
    weights       one per cell (or (2^n, n)), >= 0; a cell of weight 0 counts for nothing (but must be finite) and has gradient 0.
    smoothing     mu > 0: the minimum of 1/2 sum w (rho - z)^2 - mu sum log flow instead, which moves with every
                  direction of z. The exact projection passes on gradients along its face only.
    warm_start    keep the active set of every sample for the next pass: by `index`, the sample numbers given with the
                  call; without, by the position in the batch (in training mode only). In at most `warm_bytes` bytes.
                  The result does not depend on it.
    all_menus     write all N cells. On cells that are not read (also those of weight 0) the values are those of the
                  mixture of rankings found, one among many, and can jump where the fit is close.
    return_distance  also return sum w (y - z)^2 per sample, with gradient 2 w (z - y).
    return_flow   also return the Block-Marschak polynomials of y on all N cells, every one >= 0.
    tol           certified: the objective is within tol of the optimum, relatively, or within rounding.

    A number that is not finite raises an InputError that names the sample. The layer has no parameters.
    """

    def __init__(
        self,
        n: int,
        menus: Iterable[Menu] | None = None,
        weights: ArrayLike | Tensor | None = None,
        smoothing: float = 0.0,
        warm_start: bool = False,
        *,
        all_menus: bool = False,
        return_distance: bool = False,
        return_flow: bool = False,
        tol: float = DEFAULT_TOL,
        warm_bytes: int = 256 << 20,
        threads: int | None = None,
    ) -> None:
        super().__init__()
        if not (np.isfinite(smoothing) and smoothing >= 0):
            raise InputError(f"smoothing={smoothing!r}: a finite number, 0 or more, is needed")
        if not 0 < tol < 1:
            raise InputError(f"tol={tol!r}: a number between 0 and 1 is needed")
        self._cells = Cells(n, menus, weights, all_menus)
        self.n = self._cells.n
        self.smoothing, self.tol, self.threads = float(smoothing), float(tol), threads
        self.return_distance, self.return_flow = return_distance, return_flow
        self.warm = WarmStarts(warm_bytes) if warm_start else None

    @property
    def cells(self) -> NDArray[np.int64]:
        """(M, 2): mask and item of each input cell."""
        return self._cells.cells

    @property
    def output_cells(self) -> NDArray[np.int64]:
        """(M', 2): mask and item of each output cell."""
        return self._cells.output_cells

    def forward(self, z: Tensor, index: Tensor | None = None) -> Tensor | tuple[Tensor, ...]:
        """(..., M) numbers to (..., M') probabilities; then the distances and the flows, if asked for."""
        return project_cells(
            z,
            self._cells,
            smoothing=self.smoothing,
            tol=self.tol,
            index=index,
            warm=self.warm if index is not None or self.training else None,
            threads=self.threads,
            return_distance=self.return_distance,
            return_flow=self.return_flow,
        )

    def extra_repr(self) -> str:
        """What `print(layer)` shows."""
        text = f"n={self.n}, cells={len(self.cells)}"
        if self._cells.weights.numel():
            text += ", weighted"
        if self.smoothing:
            text += f", smoothing={self.smoothing:g}"
        return text + (", warm_start=True" if self.warm is not None else "")
