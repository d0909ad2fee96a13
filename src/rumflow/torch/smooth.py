"""The smoothed projection as a differentiable function of PyTorch.

    forward   y = Z k(mu, z),   k(mu, z) = argmin 1/2 sum w (Z k - z)^2 - mu sum log k  over unit flows k
    backward  g -> w Z S Z^T g,   S the solution operator of the Newton system at k(mu, z)

See `rumflow.solvers.interior.smoothed`. The operators are `rumflow::smooth` and `rumflow::pull_smooth`; the flow and the spanning
tree of the forward pass serve the backward pass.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from rumflow.core.problem import NO_WEIGHTS
from rumflow.solvers.interior.smoothed import CentralProjector, Centre
from rumflow.torch.function import all_cells, batch_first, from_rows, require_finite, to_rows
from rumflow.torch.warm import find


@lru_cache(maxsize=16)
def _projector(n: int, weights: bytes, mu: float, threads: int) -> CentralProjector:
    shape = (n, 1 << (n - 1))
    return CentralProjector(
        n, np.frombuffer(weights).reshape(shape).copy() if weights else NO_WEIGHTS, mu, threads or None
    )


@torch.library.custom_op("rumflow::smooth", mutates_args=())
def smooth_op(
    z: Tensor,
    index: Tensor,
    output: Tensor,
    weights: Tensor,
    keys: Tensor,
    n: int,
    mu: float,
    threads: int,
    warm: int,
    keep: bool,
    with_flow: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Probabilities on the cells `output`, the flow on all edges (if asked for), and flow and tree for the way back."""
    require_finite(z, index, n)
    shape = z.shape[:-1]
    starts = find(warm)
    known = None
    if starts is not None:
        names = keys.reshape(-1).tolist() if keys.numel() else list(range(shape.numel()))
        starts.bind((n, hash(weights.numpy().tobytes()), mu))
        known = [start if isinstance(start, Centre) else None for start in starts.get(names)]
    rhos, flows, trees = _projector(n, weights.numpy().tobytes(), mu, threads).solve(to_rows(z, index, n), known)
    if starts is not None:
        starts.put(names, [Centre(flow.copy(), tree.copy()) for flow, tree in zip(flows, trees, strict=True)])
    rho = from_rows(rhos, output, shape)
    flow = from_rows(flows, all_cells(n), shape) if with_flow else z.new_empty((*shape, 0))
    if not keep:
        return rho, flow, z.new_empty((*shape, 0)), z.new_empty((*shape, 0), dtype=torch.int32)
    state, tree = torch.from_numpy(flows), torch.from_numpy(trees)
    return rho, flow, state.reshape(*shape, n << (n - 1)), tree.reshape(*shape, 3 << n)


@smooth_op.register_fake
def _(
    z: Tensor,
    index: Tensor,
    output: Tensor,
    weights: Tensor,
    keys: Tensor,
    n: int,
    mu: float,
    threads: int,
    warm: int,
    keep: bool,
    with_flow: bool,
) -> tuple[Tensor, ...]:
    shape = z.shape[:-1]
    return (
        z.new_empty((*shape, output.shape[0])),
        z.new_empty((*shape, n << (n - 1) if with_flow else 0)),
        z.new_empty((*shape, n << (n - 1) if keep else 0)),
        z.new_empty((*shape, 3 << n if keep else 0), dtype=torch.int32),
    )


@smooth_op.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], z: Tensor, *rest: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    index, output, weights, keys, *options = rest
    keys = batch_first(info, keys, in_dims[4]) if keys.numel() else keys
    return smooth_op(batch_first(info, z, in_dims[0]), index, output, weights, keys, *options), (0,) * 4


@torch.library.custom_op("rumflow::pull_smooth", mutates_args=())
def pull_op(
    by_rho: Tensor,
    by_flow: Tensor,
    state: Tensor,
    tree: Tensor,
    index: Tensor,
    output: Tensor,
    weights: Tensor,
    n: int,
    mu: float,
    threads: int,
) -> Tensor:
    """The gradient by z, given the gradients by the probabilities and by the flow."""
    shape = by_rho.shape[:-1]
    rows = to_rows(by_rho, output, n)
    flows = to_rows(by_flow, all_cells(n), n) if by_flow.shape[-1] else None
    own = state.reshape(rows.shape).numpy(), tree.reshape(len(rows), 3, 1 << n).numpy()
    result = _projector(n, weights.numpy().tobytes(), mu, threads).pull(*own, rows, flows)
    return from_rows(result, index, shape)


@pull_op.register_fake
def _(by_rho: Tensor, *rest: Any) -> Tensor:
    return by_rho.new_empty((*by_rho.shape[:-1], rest[3].shape[0]))


@pull_op.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Tensor, int]:
    whole = (batch_first(info, arg, dim) for arg, dim in zip(args[:4], in_dims, strict=False))
    return pull_op(*whole, *args[4:]), 0


class Smooth(torch.autograd.Function):
    """`smooth_op` with its derivative."""

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
        threads: int,
        warm: int,
        keep: bool,
        with_flow: bool,
    ) -> tuple[Tensor, ...]:
        """See `smooth_op`."""
        result: tuple[Tensor, ...] = torch.ops.rumflow.smooth(
            z, index, output, weights, keys, n, mu, threads, warm, keep, with_flow
        )
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Save flow and tree, if they were kept."""
        _, index, out, weights, _, n, mu, threads, _, keep, _ = inputs
        ctx.mark_non_differentiable(*output[2:])
        if keep:
            ctx.save_for_backward(*output[2:], index, out, weights)
            ctx.n, ctx.mu, ctx.threads = n, mu, threads

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_rho: Tensor, by_flow: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        """J^T g."""
        gradient = torch.ops.rumflow.pull_smooth(by_rho, by_flow, *ctx.saved_tensors, ctx.n, ctx.mu, ctx.threads)
        return (gradient, *(None,) * 10)
