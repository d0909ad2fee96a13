"""The exact projection as a differentiable function of PyTorch.

    forward   y = P(z) = argmin 1/2 sum w (rho - z)^2 over RUM              for every sample of a batch
    backward  g -> J^T g,   J = V (V^T W V)^{-1} V^T W,                      V the tangent space of the face of P(z)

from the active rankings and their matrix, factored or inverted, of the forward pass (`rumflow.solvers.batch.projector`). Where
strict complementarity fails J is one element of the generalised Jacobian. J is constant on a face: there are no second
derivatives to be had.

Two operators do the work, `rumflow::project` and `rumflow::pull`, on float64 tensors of the CPU. They are registered
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
from rumflow.solvers.batch.projector import BatchProjector, Faces
from rumflow.torch.warm import find


@lru_cache(maxsize=16)
def _projector(n: int, weights: bytes, threads: int) -> BatchProjector:
    shape = (n, 1 << (n - 1))
    return BatchProjector(n, np.frombuffer(weights).reshape(shape).copy() if weights else NO_WEIGHTS, threads or None)


def projector(n: int, weights: Tensor, threads: int) -> BatchProjector:
    """The solver for these weights (none: all 1); the same object for the same weights."""
    return _projector(n, weights.numpy().tobytes(), threads)


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
    if (np.abs(z.detach().numpy()) <= LARGEST).all():  # one thread: cheaper here than waking up all of them
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
    tol: float,
    threads: int,
    warm: int,
    keep: bool,
    with_flow: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Probabilities on the cells `output`, the flow on all edges (if asked for), and the faces (if they are to be kept)."""
    require_finite(z, index, n)
    shape = z.shape[:-1]
    starts = find(warm)
    known = None
    if starts is not None:
        names = keys.reshape(-1).tolist() if keys.numel() else list(range(shape.numel()))
        starts.bind((n, hash(weights.numpy().tobytes())))
        known = [start if isinstance(start, Start) else None for start in starts.get(names)]
    solver = projector(n, weights, threads)
    what = Keep.FACES if keep or starts is not None else Keep.NOTHING
    result = solver.solve(to_rows(z, index, n), known, tol=tol, keep=what)
    solver.warn(result)
    if starts is not None:
        starts.put(names, result.starts())
    rho = from_rows(result.rhos, output, shape)
    flow = from_rows(result.flows, all_cells(n), shape) if with_flow else z.new_empty((*shape, 0))
    if not keep:
        whole = torch.empty(shape, dtype=torch.int64)
        return (
            rho,
            flow,
            whole,
            whole.clone(),
            whole.new_empty((*shape, 0, n), dtype=torch.int32),
            z.new_empty((*shape, 0)),
        )
    kind, atoms, paths, factor = (torch.from_numpy(part) for part in result.faces(solver.threads))
    return (
        rho,
        flow,
        kind.reshape(shape),
        atoms.reshape(shape),
        paths.reshape(*shape, *paths.shape[1:]),
        factor.reshape(*shape, factor.shape[1]),
    )


@project_op.register_fake
def _(
    z: Tensor,
    index: Tensor,
    output: Tensor,
    weights: Tensor,
    keys: Tensor,
    n: int,
    tol: float,
    threads: int,
    warm: int,
    keep: bool,
    with_flow: bool,
) -> tuple[Tensor, ...]:
    shape = z.shape[:-1]
    most: int | torch.SymInt = 0
    length: int | torch.SymInt = 0
    if keep:
        most, length = (torch.library.get_ctx().new_dynamic_size() for _ in range(2))
    whole = z.new_empty(shape, dtype=torch.int64)
    return (
        z.new_empty((*shape, output.shape[0])),
        z.new_empty((*shape, n << (n - 1) if with_flow else 0)),
        whole,
        torch.empty_like(whole),
        z.new_empty((*shape, most, n), dtype=torch.int32),
        z.new_empty((*shape, length)),
    )


@project_op.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], z: Tensor, *rest: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    index, output, weights, keys, *options = rest
    keys = batch_first(info, keys, in_dims[4]) if keys.numel() else keys
    return project_op(batch_first(info, z, in_dims[0]), index, output, weights, keys, *options), (0,) * 6


@torch.library.custom_op("rumflow::pull", mutates_args=())
def pull_op(
    by_rho: Tensor,
    by_flow: Tensor,
    kind: Tensor,
    atoms: Tensor,
    paths: Tensor,
    factor: Tensor,
    index: Tensor,
    output: Tensor,
    weights: Tensor,
    n: int,
    threads: int,
) -> Tensor:
    """The gradient by z, given the gradients by the probabilities and by the flow."""
    shape = by_rho.shape[:-1]
    faces = Faces(
        kind.reshape(-1).numpy(),
        atoms.reshape(-1).numpy(),
        paths.reshape(shape.numel(), *paths.shape[-2:]).numpy(),
        factor.reshape(shape.numel(), factor.shape[-1]).numpy(),
    )
    rows = to_rows(by_rho, output, n)
    flows = to_rows(by_flow, all_cells(n), n) if by_flow.shape[-1] else None
    solver = projector(n, weights, threads)
    product = solver.tangent(faces, rows, flows, forward=False)
    if len(solver.weights):
        product *= solver.weights
    return from_rows(product, index, shape)


@pull_op.register_fake
def _(by_rho: Tensor, *rest: Any) -> Tensor:
    return by_rho.new_empty((*by_rho.shape[:-1], rest[5].shape[0]))


@pull_op.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Tensor, int]:
    whole = (batch_first(info, arg, dim) for arg, dim in zip(args[:6], in_dims, strict=False))
    return pull_op(*whole, *args[6:]), 0


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
        tol: float,
        threads: int,
        warm: int,
        keep: bool,
        with_flow: bool,
    ) -> tuple[Tensor, ...]:
        """See `project_op`."""
        result: tuple[Tensor, ...] = torch.ops.rumflow.project(
            z, index, output, weights, keys, n, tol, threads, warm, keep, with_flow
        )
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Save the faces, if they were kept."""
        _, index, out, weights, _, n, _, threads, _, keep, _ = inputs
        ctx.mark_non_differentiable(*output[2:])
        if keep:
            ctx.save_for_backward(*output[2:], index, out, weights)
            ctx.n, ctx.threads = n, threads

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_rho: Tensor, by_flow: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        """J^T g."""
        gradient = torch.ops.rumflow.pull(by_rho, by_flow, *ctx.saved_tensors, ctx.n, ctx.threads)
        return (gradient, *(None,) * 10)
