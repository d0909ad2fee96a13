"""The projection as a differentiable function of PyTorch, exact (mu = 0) or smoothed (mu > 0).

    forward    y = P(z) = argmin 1/2 sum w (rho - z)^2 over the model       for every sample of a batch
    smoothed   y = Z k(mu, z),   k(mu, z) = argmin 1/2 sum w (Z k - z)^2 - mu sum log k   over unit flows k
    first      J t = T (W t, 0)  and  J^T g = W T g  with one symmetric operator T on pairs (probabilities, flow): `engines`
    higher     exact: T is locally constant. Smoothed: T = [Z; I] P [Z^T, I] with P = (Q + mu / k^2)^{-1}, so a change dk of the
               flow changes T a by T (0, 2 mu q dk / k^3), q the flow of T a.

So there are two functions, the projection and T, and each has the other for its derivative, in both directions and to any order.

The state that a projection leaves for T is three tensors (`rumflow.layers.engines.State`): the face of an exact projection (how
many types, which, the factor or inverse of their matrix), or the spanning tree of a smoothed one, whose flow stands beside it.
Only the first has a row for every sample; the others hold as many numbers as each sample needs, one sample after another.

Where PyTorch has to see what is done, two operators do the work, `rumflow::project` and `rumflow::tangent`, on float64 tensors
of the CPU. They are registered with the shapes of their results and with a rule for batching, so that `torch.compile` sees
one node each and `torch.func.vmap` one larger batch. Elsewhere the same functions are called at once (`ProjectAtOnce`): the way
through an operator takes several times as long as projecting one sample of few items.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from rumflow.core.arrays import Array
from rumflow.core.problem import Stop
from rumflow.layers.checks import require_finite
from rumflow.layers.engines import Engine, find_engine, solve_distinct
from rumflow.torch.warm import find

_PLAIN = (Tensor, nn.Parameter)
_KINDS = (torch.int64, torch.int32, torch.float64)  # of the state


def _rows(tensor: Tensor) -> Any:
    """A row per sample."""
    size = tensor.shape[:-1].numel()
    return tensor.detach().reshape(size, tensor.shape[-1]).contiguous().numpy()


def _tensor(rows: Array, shape: torch.Size) -> Tensor:
    return torch.from_numpy(rows).reshape(*shape, rows.shape[1])


def _bytes(weights: Tensor | None) -> bytes:
    return b"" if weights is None else weights.numpy().tobytes()


def _engine(problem: Tensor, weights: Tensor | None, mu: float, threads: int) -> Engine:
    return find_engine(problem.numpy().tobytes(), _bytes(weights), mu, threads)


def inside(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor where projections are computed: on the CPU. On the meta device there is nothing to compute."""
    return tensor.to(dtype=dtype) if tensor.is_meta else tensor.to("cpu", dtype)


def _project(
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
    starts = find(warm)
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


project_op = torch.library.custom_op("rumflow::project", _project, mutates_args=())


@project_op.register_fake
def _(z: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    *_, n_outputs, n_flow, _, _, _, _, _, _, keep = rest
    shape = z.shape[:-1]
    known = z.is_meta or not keep
    sizes = [0 if known else torch.library.get_ctx().new_dynamic_size() for _ in range(3)]
    shapes = (*shape, sizes[0]), (sizes[1],), (sizes[2],)
    return (
        z.new_empty((*shape, n_outputs)),
        z.new_empty((*shape, n_flow)),
        *(z.new_empty(own, dtype=kind) for own, kind in zip(shapes, _KINDS, strict=True)),
    )


@project_op.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], z: Tensor, *rest: Any) -> tuple[tuple[Tensor, ...], Any]:
    problem, weights, keys, *options = rest
    keys = batch_at(info, keys, in_dims[3]) if keys.numel() else keys
    # Samples have rows in the first part of the state, which say where their numbers begin in the other two.
    return project_op(batch_at(info, z, in_dims[0]), problem, weights, keys, *options), (0, 0, 0, None, None)


def _tangent(
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
    with_flow = flow.shape[-1] > 0
    if not rho.numel() or not (rho.any() or flow.any()):
        return torch.zeros_like(rho), torch.zeros_like(flow)
    state = _rows(meta), whole.numpy(), real.numpy()
    engine = _engine(problem, weights, mu, threads)
    product, flows = engine.tangent(_rows(rho), _rows(flow) if with_flow else None, state, _rows(centre), forward)
    return _tensor(product, shape), torch.empty_like(flow) if flows is None else _tensor(flows, shape)


tangent_op = torch.library.custom_op("rumflow::tangent", _tangent, mutates_args=())


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


class Project(torch.autograd.Function):
    """`project_op` with its derivative."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        z: Tensor,
        inputs: Tensor,
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
    ) -> tuple[Tensor, ...]:
        """See `project_op`; arguments are spelled out because `torch.compile` counts them."""
        result: tuple[Tensor, ...] = torch.ops.rumflow.project(
            z, problem, weights, keys, n_outputs, n_flow, mu, tol, atol, seconds, threads, warm, keep
        )
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Save the state, if it was kept."""
        _, own, problem, weights, _, n_outputs, n_flow, mu, _, _, _, threads, _, keep = inputs
        ctx.mark_non_differentiable(*output[2:])
        ctx.set_materialize_grads(False)  # no zeros in the shape of the state
        if keep:
            saved = *output[2:], output[1], problem, weights, own
            ctx.save_for_backward(*saved)
            ctx.save_for_forward(*saved)
            ctx.options = n_outputs, n_flow, mu, threads

    @staticmethod
    def backward(ctx: Any, grad_rho: Tensor | None, grad_flow: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
        """J^T g = W T g on the input cells."""
        *state, weights, own = ctx.saved_tensors
        n_outputs, _, mu, threads = ctx.options
        flow = state[3]
        grad_flow = torch.zeros_like(flow) if grad_flow is None else grad_flow
        grad_rho = flow.new_zeros((*grad_flow.shape[:-1], n_outputs)) if grad_rho is None else grad_rho
        product = tangent(grad_rho, grad_flow, *state, weights, mu, threads, False)[0]
        if own.shape[0] < n_outputs:
            product = product[..., own]
        return (product if weights is None else product * weights.to(product.device), *(None,) * 13)


class Tangent(torch.autograd.Function):
    """`tangent_op`, T as a function of what it is applied to and of the flow of a smoothed projection."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
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
        """See `tangent_op`."""
        result: tuple[Tensor, Tensor] = torch.ops.rumflow.tangent(
            rho, flow, meta, whole, real, centre, problem, weights, mu, threads, forward
        )
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        """T again, and for smoothed projections what it was applied to and what came out."""
        saved = *inputs[2:8], output[1]
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)
        ctx.options = inputs[8:]

    @staticmethod
    def backward(ctx: Any, grad_rho: Tensor, grad_flow: Tensor) -> tuple[Tensor | None, ...]:
        """T is symmetric; by the flow k of a smoothed projection it is 2 mu p q / k^3, p the flow of T g."""
        *state, flow = ctx.saved_tensors
        mu, threads, forward = ctx.options
        rho, change = tangent(grad_rho, grad_flow, *state, mu, threads, not forward)
        by_centre = 2.0 * mu * change * flow / state[3] ** 3 if mu else None
        return rho, change, None, None, None, by_centre, *(None,) * 5


class ProjectBothWays(Project):
    """The same for derivatives forward. (`torch.compile` takes no function that has them.)"""

    @staticmethod
    def jvp(ctx: Any, change: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        """J t = T (W t, 0)."""
        *state, weights, own = ctx.saved_tensors
        n_outputs, n_flow, mu, threads = ctx.options
        rows = change if weights is None else change * weights.to(change.device)
        if own.shape[0] < n_outputs:
            rows = rows.new_zeros((*rows.shape[:-1], n_outputs)).index_copy(-1, own, rows)
        flow = rows.new_zeros((*rows.shape[:-1], n_flow))
        rho, flow = tangent(rows, flow, *state, weights, mu, threads, True)
        return rho, flow, None, None, None


class TangentBothWays(Tangent):
    """The same for derivatives forward."""

    @staticmethod
    def jvp(ctx: Any, rho: Tensor, flow: Tensor, *rest: Tensor | None) -> tuple[Tensor, Tensor]:
        """T is linear; a change dk of the flow of a smoothed projection adds T (0, 2 mu q dk / k^3)."""
        *state, own = ctx.saved_tensors
        mu, threads, forward = ctx.options
        moved = rest[3]
        if mu and moved is not None:
            flow = flow + 2.0 * mu * own * moved / state[3] ** 3
        return tangent(rho, flow, *state, mu, threads, forward)


class ProjectAtOnce(torch.autograd.Function):
    """`ProjectBothWays` without the operator."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, own: Tensor, *rest: Any) -> tuple[Tensor, ...]:
        """See `_project`."""
        output = _project(z, *rest)
        Project.setup_context(ctx, (z, own, *rest), output)
        return output

    backward = staticmethod(Project.backward)
    jvp = staticmethod(ProjectBothWays.jvp)


class TangentAtOnce(torch.autograd.Function):
    """`TangentBothWays` without the operator."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, Tensor]:
        """See `_tangent`."""
        output = _tangent(*args)
        Tangent.setup_context(ctx, args, output)
        return output

    backward = staticmethod(Tangent.backward)
    jvp = staticmethod(TangentBothWays.jvp)


def may_be_forward() -> bool:
    """May derivatives be computed forward here? PyTorch has no public way to ask: without its private one, always."""
    return getattr(forward_ad, "_current_level", 0) >= 0


def _looked_on(tensor: Tensor) -> bool:
    """Does PyTorch have to see the operators: does it trace, transform, or only compute shapes?"""
    if torch.compiler.is_compiling() or type(tensor) not in _PLAIN or tensor.is_meta:
        return True
    try:
        transformed = torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack() > 0
        batched = torch._C._functorch.is_legacy_batchedtensor(
            tensor
        )  # as `autograd.grad(is_grads_batched=True)` makes them
        return transformed or batched or torch._C._get_tracing_state() is not None
    except AttributeError:  # private as well: another version may not have them
        return True


def project(z: Tensor, own: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    """Project, with derivatives both ways where that can be."""
    if _looked_on(z):
        function: Any = Project if torch.compiler.is_compiling() else ProjectBothWays
    elif torch.is_grad_enabled() or may_be_forward():
        function = ProjectAtOnce
    else:
        return _project(z, *rest)
    result: tuple[Tensor, ...] = function.apply(z, own, *rest)
    return result


def tangent(*args: Any) -> tuple[Tensor, Tensor]:
    """T times pairs, likewise."""
    if _looked_on(args[0]):
        function: Any = Tangent if torch.compiler.is_compiling() else TangentBothWays
    elif torch.is_grad_enabled() or may_be_forward():
        function = TangentAtOnce
    else:
        return _tangent(*args)
    result: tuple[Tensor, Tensor] = function.apply(*args)
    return result
