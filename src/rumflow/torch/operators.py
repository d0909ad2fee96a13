"""The operators `rumflow::project` and `rumflow::tangent`: the projection and its derivative, on float64 tensors of the CPU.

`rumflow.torch.function` has the mathematics. The state that a projection leaves for T is three tensors
(`rumflow.layers.engines.State`): the face of an exact projection (how many types, which, the factor or inverse of their matrix),
or the spanning tree of a smoothed one, whose flow stands beside it. Only the first has a row for every sample; the others hold as
many numbers as each sample needs, one sample after another.

The operators are registered with the shapes of their results and with a rule for batching, so that `torch.compile` sees one
node each and `torch.func.vmap` one larger batch. `project_rows` and `tangent_rows` are the same without PyTorch's dispatcher.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rumflow.core.arrays import Array
from rumflow.core.problem import Stop
from rumflow.layers.checks import require_finite
from rumflow.layers.engines import Engine, find_engine, solve_distinct
from rumflow.torch.warm import find

_KINDS = (torch.int64, torch.int32, torch.float64)  # of the state


def _rows(tensor: Tensor) -> Any:
    """A row per sample."""
    own = tensor.detach()
    if own.ndim != 2:
        own = own.reshape(own.shape[:-1].numel(), own.shape[-1])
    return own.contiguous().numpy()


def _tensor(rows: Array, shape: torch.Size) -> Tensor:
    tensor = torch.from_numpy(rows)
    return tensor if len(shape) == 1 else tensor.reshape(*shape, rows.shape[1])


def _bytes(weights: Tensor | None) -> bytes:
    return b"" if weights is None else weights.numpy().tobytes()


def _engine(problem: Tensor, weights: Tensor | None, mu: float, threads: int) -> Engine:
    return find_engine(problem.numpy().tobytes(), _bytes(weights), mu, threads)


def project_rows(
    z: Tensor,
    problem: Tensor,
    weights: Tensor | None,
    keys: Tensor,
    n_outputs: int,
    n_flow: int,
    mu: float,
    tol: float,
    atol: float,
    seconds: float,
    threads: int,
    warm: int,
    keep: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Probabilities of the output cells, the flow (if n_flow > 0), and the state (if it is to be kept)."""
    engine = _engine(problem, weights, mu, threads)
    require_finite(z.detach().numpy(), engine)
    shape = z.shape[:-1]
    starts = find(warm) if warm else None
    rows = _rows(z)
    known = None
    if starts is not None:
        given = np.empty(0) if weights is None else weights.numpy()
        starts.bind((hash(problem.numpy().tobytes()), hash(given.tobytes()), mu), z.shape[-1], given)
        names, known, sketch = starts.find(rows, keys.reshape(-1).tolist() if keys.numel() else None)
    stop = Stop(tol, atol * atol if atol else None)
    answer = solve_distinct(engine, rows, known, stop, keep, n_flow > 0, seconds or None)
    if starts is not None:
        starts.put(names, answer.starts, sketch, engine.distance(answer.rho, rows))
    flow = z.new_empty((*shape, 0)) if answer.flow is None else _tensor(answer.flow, shape)
    rho = _tensor(answer.rho, shape)
    if answer.state is None:
        counts, types, factor = (torch.empty(0, dtype=kind) for kind in _KINDS)
        return rho, flow, counts.expand(*shape, 0).contiguous(), types, factor
    rows, *numbers = answer.state
    types, factor = map(torch.from_numpy, numbers)
    return rho, flow, _tensor(rows, shape), types, factor


project_op = torch.library.custom_op("rumflow::project", project_rows, mutates_args=())


@project_op.register_fake
def _(z: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    *_, n_outputs, n_flow, _, _, _, _, _, _, keep = rest
    shape = z.shape[:-1]
    sizes = [_unknown_size() if keep and not z.is_meta else 0 for _ in range(3)]
    shapes = (*shape, sizes[0]), (sizes[1],), (sizes[2],)
    return (
        z.new_empty((*shape, n_outputs)),
        z.new_empty((*shape, n_flow)),
        *(z.new_empty(own, dtype=kind) for own, kind in zip(shapes, _KINDS, strict=True)),
    )


def _unknown_size() -> Any:
    """How many numbers the state has depends on the samples; nothing where shapes must be plain numbers."""
    try:
        return torch.library.get_ctx().new_dynamic_size()
    except RuntimeError:  # fake tensors without an environment of shapes: nobody computes with this state
        return 0


@project_op.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], z: Tensor, *rest: Any) -> tuple[tuple[Tensor, ...], Any]:
    problem, weights, keys, *options = rest
    keys = batch_at(info, keys, in_dims[3]) if keys.numel() else keys
    # Samples have rows in the first part of the state, which say where their numbers begin in the other two.
    return project_op(batch_at(info, z, in_dims[0]), problem, weights, keys, *options), (0, 0, 0, None, None)


def tangent_rows(
    rho: Tensor,
    flow: Tensor,
    meta: Tensor,
    whole: Tensor,
    real: Tensor,
    centre: Tensor,
    problem: Tensor,
    weights: Tensor | None,
    mu: float,
    threads: int,
    forward: bool,
) -> tuple[Tensor, Tensor]:
    """T times pairs (probabilities, flow), at the state and flow of a projection; no flow in, no flow out.

    Pairs may have more leading axes than the state: several directions at the same projection.
    """
    shape = rho.shape[:-1]
    rows, flows = _rows(rho), _rows(flow) if flow.shape[-1] else None
    if not (rows.any() or (flows is not None and flows.any())):
        return torch.zeros_like(rho), torch.zeros_like(flow)
    state = _rows(meta), whole.numpy(), real.numpy()
    engine = _engine(problem, weights, mu, threads)
    product, flows = engine.tangent(rows, flows, state, _rows(centre), forward)
    return _tensor(product, shape), torch.empty_like(flow) if flows is None else _tensor(flows, shape)


tangent_op = torch.library.custom_op("rumflow::tangent", tangent_rows, mutates_args=())


@tangent_op.register_fake
def _(rho: Tensor, flow: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return torch.empty_like(rho), torch.empty_like(flow)


@tangent_op.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
    pairs, (meta, whole, real, centre), rest = args[:2], args[2:6], args[6:]
    dims, (own, _, _, by_centre) = in_dims[:2], in_dims[2:6]
    at = 0
    if own is not None or by_centre is not None:
        # More samples, as opposed to more directions: axes of directions, if there are any, stay in front.
        at = (args[0].ndim - (dims[0] is not None)) - (meta.ndim - (own is not None))
        meta, centre = batch_at(info, meta, own), batch_at(info, centre, by_centre)
    pairs = tuple(batch_at(info, tensor, dim, at) for tensor, dim in zip(pairs, dims, strict=True))
    return tangent_op(*pairs, meta, whole, real, centre, *rest), (at, at)


def batch_at(info: Any, tensor: Tensor, dim: int | None, at: int = 0) -> Tensor:
    """The tensor with its batch dimension at a place, repeated where it has none."""
    if dim is None:
        tensor, dim = tensor.expand(info.batch_size, *tensor.shape), 0
    return tensor.movedim(dim, at).contiguous()
