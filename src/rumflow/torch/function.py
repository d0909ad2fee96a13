"""The projection as a differentiable function of PyTorch, exact (mu = 0) or smoothed (mu > 0).

    forward   y = P(z) = argmin 1/2 sum w (rho - z)^2 over RUM              for every sample of a batch
    smoothed  y = Z k(mu, z),   k(mu, z) = argmin 1/2 sum w (Z k - z)^2 - mu sum log k   over unit flows k
    backward  g -> J^T g = W S g,     S as in `rumflow.solvers.derivatives`

The state that the forward pass leaves for the backward pass is three tensors: the exact projection's face (kind and number of
rankings, paths, factor or inverse of their matrix), or the smoothed one's flow and spanning tree.

Two operators do the work, `rumflow::project` and `rumflow::vjp`, on float64 tensors of the CPU. They are registered
with the shapes of their results and with a rule for batching, so that `torch.compile` sees one node each and
`torch.func.vmap` one larger batch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from rumflow.core.arrays import Array
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.paths import unsqueeze
from rumflow.core.problem import NO_WEIGHTS
from rumflow.errors import InputError
from rumflow.projection.inputs import LARGEST
from rumflow.solvers.batch.kernels import Keep, Start
from rumflow.solvers.batch.projector import BatchProjector
from rumflow.solvers.batch.result import Faces
from rumflow.solvers.interior.smoothed import Centre, SmoothedProjector
from rumflow.torch.warm import find


def _weights(n: int, data: bytes) -> Array:
    return np.frombuffer(data).reshape(n, 1 << (n - 1)).copy() if data else NO_WEIGHTS


@lru_cache(maxsize=16)
def _exact(n: int, weights: bytes, threads: int) -> BatchProjector:
    return BatchProjector(n, _weights(n, weights), threads or None)


@lru_cache(maxsize=16)
def _smoothed(n: int, weights: bytes, mu: float, threads: int) -> SmoothedProjector:
    return SmoothedProjector(n, _weights(n, weights), mu, threads or None)


def to_rows(z: Tensor, index: Tensor, n: int) -> Array:
    """(..., M) numbers on the cells `index` to a stack (B, n, 2^(n-1)), 0 elsewhere."""
    flat = z.detach().reshape(-1, len(index)).numpy()
    rows = np.zeros((len(flat), n << (n - 1)))
    rows[:, index.numpy()] = flat
    return rows.reshape(-1, n, 1 << (n - 1))


def from_rows(rows: Array, index: Tensor, shape: torch.Size) -> Tensor:
    """The cells `index` of a stack, with the leading shape of the samples."""
    flat = rows.reshape(len(rows), rows.shape[1] * rows.shape[2]).take(index.numpy(), axis=1)
    return torch.from_numpy(flat).reshape(*shape, len(index))


@lru_cache(maxsize=16)
def all_cells(n: int) -> Tensor:
    """Where all N cells lie in the internal layout, in the order of `Lattice(n).cells`."""
    return torch.from_numpy(Lattice(n).cell_index.copy())


def require_finite(z: Tensor, index: Tensor, n: int) -> None:
    """An error that names the first sample, menu and item that is not a finite number."""
    if (
        np.abs(z.detach().numpy()) <= LARGEST
    ).all():  # NumPy takes one thread: faster here than waking up those of PyTorch
        return
    *sample, cell = torch.nonzero(~(z.abs() <= LARGEST))[0].tolist()
    item, column = divmod(int(index[cell]), 1 << (n - 1))
    menu = unsqueeze.py_func(column, item)
    name = "the sample" if not sample else f"sample {sample[0] if len(sample) == 1 else tuple(sample)}"
    raise InputError(
        f"{name}: menu {items_of(menu)} (mask {menu}), item {item} is {float(z[(*sample, cell)])}; "
        f"every number must be finite, at most {LARGEST:g}"
    )


@torch.library.custom_op("rumflow::project", mutates_args=())
def project_op(
    z: Tensor,
    index: Tensor,
    output: Tensor,
    weights: Tensor,
    keys: Tensor,
    n: int,
    mu: float,
    tol: float,
    threads: int,
    warm: int,
    keep: bool,
    with_flow: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Probabilities on the cells `output`, the flow on all edges (if asked for), and the state (if it is to be kept)."""
    require_finite(z, index, n)
    shape = z.shape[:-1]
    rows, bytes_ = to_rows(z, index, n), weights.numpy().tobytes()
    starts = find(warm)
    known: list[Any] | None = None
    if starts is not None:
        names = keys.reshape(-1).tolist() if keys.numel() else list(range(shape.numel()))
        starts.bind((n, hash(bytes_), mu))
        known = [start if isinstance(start, Centre if mu else Start) else None for start in starts.get(names)]
    new: list[Any]
    if mu:
        rhos, flows, trees = _smoothed(n, bytes_, mu, threads).solve(rows, known)
        new = [] if starts is None else [Centre(k.copy(), t.copy()) for k, t in zip(flows, trees, strict=True)]
        state = (
            np.empty((len(rows), 0), np.int64),
            trees.reshape(len(rows), 3 << n),
            flows.reshape(len(rows), n << (n - 1)),
        )
    else:
        solver = _exact(n, bytes_, threads)
        result = solver.solve(rows, known, tol=tol, keep=Keep.FACES if keep or starts is not None else Keep.NOTHING)
        solver.warn(result)
        rhos, flows = result.rhos, result.flows
        new = [] if starts is None else result.starts()
        if keep:
            faces = result.faces(solver.threads)
            meta = np.stack([faces.kind, faces.atoms], axis=1)
            state = meta, faces.paths.reshape(len(rows), faces.paths.shape[1] * n), faces.factor
    if starts is not None:
        starts.put(names, new)
    rho = from_rows(rhos, output, shape)
    flow = from_rows(flows, all_cells(n), shape) if with_flow else z.new_empty((*shape, 0))
    if not keep:
        kinds = (torch.int64, torch.int32, torch.float64)
        return rho, flow, *(torch.empty((*shape, 0), dtype=kind) for kind in kinds)  # type: ignore[return-value]
    return rho, flow, *(torch.from_numpy(part).reshape(*shape, part.shape[1]) for part in state)  # type: ignore[return-value]


@project_op.register_fake
def _(z: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    _, output, _, _, n, mu, _, _, _, keep, with_flow = rest
    shape = z.shape[:-1]
    sizes: list[int | torch.SymInt] = [0, 0, 0]
    if keep and mu:
        sizes = [0, 3 << n, n << (n - 1)]
    elif keep:
        sizes = [2, *(torch.library.get_ctx().new_dynamic_size() for _ in range(2))]
    kinds = (torch.int64, torch.int32, torch.float64)
    return (
        z.new_empty((*shape, output.shape[0])),
        z.new_empty((*shape, n << (n - 1) if with_flow else 0)),
        *(z.new_empty((*shape, size), dtype=kind) for size, kind in zip(sizes, kinds, strict=True)),
    )


@project_op.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], z: Tensor, *rest: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    index, output, weights, keys, *options = rest
    keys = batch_first(info, keys, in_dims[4]) if keys.numel() else keys
    return project_op(batch_first(info, z, in_dims[0]), index, output, weights, keys, *options), (0,) * 5


@torch.library.custom_op("rumflow::vjp", mutates_args=())
def vjp_op(
    grad_rho: Tensor,
    grad_flow: Tensor,
    meta: Tensor,
    whole: Tensor,
    real: Tensor,
    index: Tensor,
    output: Tensor,
    weights: Tensor,
    n: int,
    mu: float,
    threads: int,
) -> Tensor:
    """The gradient by z, given the gradients by the probabilities and by the flow, and the state of the forward pass."""
    shape = grad_rho.shape[:-1]
    size, bytes_ = shape.numel(), weights.numpy().tobytes()
    rows = to_rows(grad_rho, output, n)
    flows = to_rows(grad_flow, all_cells(n), n) if grad_flow.shape[-1] else None
    integers, reals = whole.reshape(size, whole.shape[-1]).numpy(), real.reshape(size, real.shape[-1]).numpy()
    if mu:
        smoothed = _smoothed(n, bytes_, mu, threads)
        product = smoothed.tangent(reals.reshape(rows.shape), integers.reshape(size, 3, 1 << n), rows, flows)
    else:
        kind, atoms = meta.reshape(size, 2).T.contiguous().numpy()
        faces = Faces(kind, atoms, integers.reshape(size, whole.shape[-1] // n, n), reals)
        product = _exact(n, bytes_, threads).tangent(faces, rows, flows, forward=False)
    if weights.numel():
        product *= weights.numpy().reshape(rows.shape[1:])
    return from_rows(product, index, shape)


@vjp_op.register_fake
def _(grad_rho: Tensor, *rest: Any) -> Tensor:
    return grad_rho.new_empty((*grad_rho.shape[:-1], rest[4].shape[0]))


@vjp_op.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Tensor, int]:
    own = (batch_first(info, arg, dim) for arg, dim in zip(args[:5], in_dims, strict=False))
    return vjp_op(*own, *args[5:]), 0


def batch_first(info: Any, tensor: Tensor, dim: int | None) -> Tensor:
    """The tensor with the batch dimension in front, repeated where it has none."""
    if dim is None:
        return tensor.expand(info.batch_size, *tensor.shape).contiguous()
    return tensor.movedim(dim, 0).contiguous()


class Project(torch.autograd.Function):
    """`project_op` with its derivative."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        z: Tensor,
        index: Tensor,
        output: Tensor,
        weights: Tensor,
        keys: Tensor,
        n: int,
        mu: float,
        tol: float,
        threads: int,
        warm: int,
        keep: bool,
        with_flow: bool,
    ) -> tuple[Tensor, ...]:
        """See `project_op`; arguments are spelled out because `torch.compile` counts them."""
        result: tuple[Tensor, ...] = torch.ops.rumflow.project(
            z, index, output, weights, keys, n, mu, tol, threads, warm, keep, with_flow
        )
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Save the state, if it was kept."""
        _, index, out, weights, _, n, mu, _, threads, _, keep, _ = inputs
        ctx.mark_non_differentiable(*output[2:])
        if keep:
            ctx.save_for_backward(*output[2:], index, out, weights)
            ctx.options = n, mu, threads

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_rho: Tensor, grad_flow: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        """J^T g."""
        gradient = torch.ops.rumflow.vjp(grad_rho, grad_flow, *ctx.saved_tensors, *ctx.options)
        return (gradient, *(None,) * 11)
