"""The projection as a differentiable function of PyTorch, exact (mu = 0) or smoothed (mu > 0).

    forward    y = P(z) = argmin 1/2 sum w (rho - z)^2 over the model       for every sample of a batch
    smoothed   y = Z k(mu, z),   k(mu, z) = argmin 1/2 sum w (Z k - z)^2 - mu sum log k   over unit flows k
    first      J t = T (W t, 0)  and  J^T g = W T g  with one symmetric operator T on pairs (probabilities, flow): `engines`
    higher     exact: T is locally constant. Smoothed: T = [Z; I] P [Z^T, I] with P = (Q + mu / k^2)^{-1}, so a change dk of the
               flow changes T a by T (0, 2 mu q dk / k^3), q the flow of T a.

So there are two functions, the projection and T, and each has the other for its derivative, in both directions and to any order.

Where PyTorch has to see what is done, two operators do the work, `rumflow::project` and `rumflow::tangent`
(`rumflow.torch.operators`). Elsewhere the same functions are called at once (`ProjectAtOnce`): the way through an operator takes
longer than projecting one sample of few items.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from rumflow.torch.operators import project_rows, tangent_rows

_PLAIN = (Tensor, nn.Parameter)


def inside(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor where projections are computed: on the CPU. On the meta device there is nothing to compute."""
    return tensor.to(dtype=dtype) if tensor.is_meta else tensor.to("cpu", dtype)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    """Save the state of a projection, if it was kept."""
    _, own, problem, weights, _, n_outputs, n_flow, mu, _, _, _, threads, _, keep = inputs
    if keep:
        saved = *output[2:], output[1], problem, weights, own
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)
        ctx.options = n_outputs, n_flow, mu, threads


def _gradient(ctx: Any, grad_rho: Tensor | None, grad_flow: Tensor | None) -> Tensor:
    """J^T g = W T g on the input cells."""
    *state, weights, own = ctx.saved_tensors
    n_outputs, _, mu, threads = ctx.options
    flow = state[3]
    grad_flow = torch.zeros_like(flow) if grad_flow is None else grad_flow
    grad_rho = flow.new_zeros((*grad_flow.shape[:-1], n_outputs)) if grad_rho is None else grad_rho
    product = tangent(grad_rho, grad_flow, *state, weights, mu, threads, False)[0]
    if own.shape[0] < n_outputs:
        product = product[..., own]
    return product if weights is None else product * weights.to(product.device)


def _change(ctx: Any, change: Tensor) -> tuple[Tensor, Tensor]:
    """J t = T (W t, 0)."""
    *state, weights, own = ctx.saved_tensors
    n_outputs, n_flow, mu, threads = ctx.options
    rows = change if weights is None else change * weights.to(change.device)
    if own.shape[0] < n_outputs:
        rows = rows.new_zeros((*rows.shape[:-1], n_outputs)).index_copy(-1, own, rows)
    flow = rows.new_zeros((*rows.shape[:-1], n_flow))
    return tangent(rows, flow, *state, weights, mu, threads, True)


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
        ctx.mark_non_differentiable(*output[2:])
        ctx.set_materialize_grads(False)  # no zeros in the shape of the state
        _save(ctx, inputs, output)

    @staticmethod
    def backward(ctx: Any, grad_rho: Tensor | None, grad_flow: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
        """J^T g = W T g on the input cells."""
        return _gradient(ctx, grad_rho, grad_flow), *(None,) * 13


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
        """See `_change`."""
        return *_change(ctx, change), None, None, None


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
    """`ProjectBothWays` without the operator: the state is no result, and what has no derivative comes as one argument."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, rest: tuple[Any, ...]) -> tuple[Tensor, ...]:
        """See `project_rows`; `rest` begins with the input cells."""
        output = project_rows(z, *rest[1:])
        ctx.set_materialize_grads(False)
        _save(ctx, (z, *rest), output)
        return output[:2]

    @staticmethod
    def backward(ctx: Any, grad_rho: Tensor | None, grad_flow: Tensor | None) -> tuple[Tensor | None, ...]:
        """See `Project`."""
        return _gradient(ctx, grad_rho, grad_flow), None

    @staticmethod
    def jvp(ctx: Any, change: Tensor, _: None) -> tuple[Tensor, Tensor]:
        """See `ProjectBothWays`."""
        return _change(ctx, change)


class TangentAtOnce(torch.autograd.Function):
    """`TangentBothWays` without the operator."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, Tensor]:
        """See `tangent_rows`."""
        output = tangent_rows(*args)
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


def project(z: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    """Project, with derivatives both ways where that can be: probabilities, and the flow if it was asked for."""
    if _looked_on(z):
        function: Any = Project if torch.compiler.is_compiling() else ProjectBothWays
        output: tuple[Tensor, ...] = function.apply(z, *rest)
    elif torch.is_grad_enabled() or may_be_forward():
        output = ProjectAtOnce.apply(z, rest)
    else:
        output = project_rows(z, *rest[1:])
    return output[:2]


def tangent(*args: Any) -> tuple[Tensor, Tensor]:
    """T times pairs, likewise."""
    if _looked_on(args[0]):
        function: Any = Tangent if torch.compiler.is_compiling() else TangentBothWays
    elif torch.is_grad_enabled() or may_be_forward():
        function = TangentAtOnce
    else:
        return tangent_rows(*args)
    result: tuple[Tensor, Tensor] = function.apply(*args)
    return result
