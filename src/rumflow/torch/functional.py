"""`project_cells`: the projection of tensors as a function, which checks what it is given."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from rumflow.check import LARGEST
from rumflow.errors import InputError
from rumflow.layers.checks import require_options
from rumflow.solvers.geometry import DEFAULT_TOL
from rumflow.torch.cells import Cells
from rumflow.torch.checks import require_floating
from rumflow.torch.function import inside, may_be_forward, project
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
    atol: float | None = None,
    max_seconds: float | None = None,
    index: Tensor | None = None,
    warm: WarmStarts | None = None,
    threads: int | None = None,
    nonfinite: str = "error",
    out_dtype: torch.dtype | None = None,
    return_distance: bool = False,
    return_flow: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """Project onto a model of choice: the functional form of the layers.

    Parameters
    ----------
    z : Tensor of shape (..., M)
        Numbers on the cells; leading axes are samples.
    cells : Cells or int
        The cells, or n for all menus of n items without weights.
    smoothing : float, default 0
        As for `RUMLayer`; on the lattice only.
    tol : float, default 1e-12
        As for `AxiomLayer`.
    atol, max_seconds : float, optional
        As for `AxiomLayer`.
    index : Tensor of whole numbers, optional
        The number of each sample, for warm starts.
    warm : WarmStarts, optional
        Where the active sets of the samples are kept.
    threads : int, optional
        Number of threads; the result is the same for any number.
    nonfinite : {"error", "nan"}, default "error"
        As for `AxiomLayer`.
    out_dtype : torch.dtype, optional
        As for `AxiomLayer`.
    return_distance : bool, default False
        Return also sum w (y - z)^2 per sample.
    return_flow : bool, default False
        Return also the Block-Marschak polynomials of y; on the lattice only.

    Returns
    -------
    Tensor or tuple of Tensor
        The probabilities y, then the distances and the flows, if asked for.

    Raises
    ------
    InputError
        If the input or an option is not accepted.

    Examples
    --------
    >>> import torch
    >>> z = torch.full((2, 12), 0.4, dtype=torch.float64)
    >>> project_cells(z, 3).shape
    torch.Size([2, 12])
    """
    cells = cells if isinstance(cells, Cells) else _all_of(cells)
    require_floating("the input", z)
    if z.ndim == 0 or z.shape[-1] != cells.n_cells:
        raise InputError(
            f"the last axis must run over the {cells.n_cells} cells of the layer (n = {cells.n} items, "
            f"{cells.n_menus} menus); the input has shape {tuple(z.shape)}"
        )
    require_options(smoothing, tol, nonfinite, threads, atol, max_seconds)
    if out_dtype is not None and not out_dtype.is_floating_point:
        raise InputError(f"out_dtype={out_dtype}: a floating point type is needed")
    if index is not None and not (isinstance(index, Tensor) and _is_whole(index.dtype)):
        raise InputError("index: a tensor of whole numbers is needed, one for each sample")
    if index is not None and index.shape != z.shape[:-1]:
        raise InputError(
            f"index: one sample number for each of {tuple(z.shape[:-1])} is needed, not {tuple(index.shape)}"
        )
    if (smoothing or return_flow) and cells.graph is not None:
        raise InputError(
            "smoothing and return_flow are available only on the lattice of all menus: Cells(..., lattice=True)"
        )
    rows = inside(z, torch.float64)
    if nonfinite == "nan":
        good = (rows.abs() <= LARGEST).all(-1, keepdim=True)
        rows = torch.where(good, rows, 0.0)
    keys = torch.empty(0, dtype=torch.int64) if index is None else inside(index, torch.int64)
    keep = (torch.is_grad_enabled() and rows.requires_grad) or may_be_forward()
    # A smoothed projection is differentiated at its flow.
    n_flow = cells.n << (cells.n - 1) if return_flow or (smoothing and keep) else 0
    handle = 0 if warm is None else warm.handle
    own = (rows, cells.index, cells.problem, cells.weight, keys, cells.n_outputs, n_flow)
    rho, flow = project(
        *own, float(smoothing), float(tol), float(atol or 0), float(max_seconds or 0), threads or 0, handle, keep
    )
    results = [rho]
    if return_distance:
        results.append(_distance(rows, rho, cells, smoothing > 0))
    if return_flow:
        results.append(flow)
    if nonfinite == "nan":
        results = [torch.where(good if part.ndim == good.ndim else good[..., 0], part, torch.nan) for part in results]
    results = [part.to(z.device, out_dtype or z.dtype) for part in results]
    return results[0] if len(results) == 1 else tuple(results)


def _is_whole(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)


def _distance(z: Tensor, rho: Tensor, cells: Cells, smoothed: bool) -> Tensor:
    """sum w (y - z)^2 per sample.

    The derivative of the exact projection's is that with y held fixed, because the residual is orthogonal to the face. The second
    term is 0, and so is its derivative; the one after that is what is left of the first term's.
    """
    fitted = rho[..., cells.index] if cells.n_cells < cells.n_outputs else rho

    def square(difference: Tensor) -> Tensor:
        product = difference * difference
        return (product if cells.weight is None else cells.weight.to(z.device) * product).sum(-1)

    if smoothed:
        return square(z - fitted)
    fixed = fitted.detach()
    return square(z - fixed) - square(fitted - fixed)
