"""The projection and its derivative as two primitives of JAX.

    project    z                       -> rho, flow       y = P(z), exact or smoothed
    tangent    rho, flow; z, centre    -> rho, flow       T of `rumflow.layers.engines` at the projection of z

T is symmetric and linear in the pair (rho, flow). At a smoothed projection it also depends on its flow, the `centre`: a
change dk adds T (0, 2 mu q dk / k^3), q the flow of the answer. At an exact projection T is locally constant. So each primitive
has `tangent` for its derivative, forward, backward and to any order.

Both run on the host, by callback. Shapes have to be known before a program runs, but not how many types span a face: the state
of a projection stays here, in `States`, under the numbers that were projected. Where it is gone they are projected again.

JAX returns before its programs are done. Python must not end while they call back, so results that somebody holds are waited for
at exit.

The axes of samples of z and centre are those of rho and flow, or 1 where the latter are several directions at one projection.
"""

from __future__ import annotations

import atexit
import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache, partial
from threading import Lock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array as JaxArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from rumflow.core.arrays import Array
from rumflow.core.problem import Stop
from rumflow.layers.checks import require_finite
from rumflow.layers.engines import Engine, State, find_engine, solve_distinct


@dataclass(frozen=True, repr=False)
class Job:
    """What is projected onto, and how: hashed by JAX."""

    text: bytes
    weights: bytes
    inputs: bytes  # of the cells that are written, those that are read; empty: all
    n_outputs: int
    n_flow: int
    mu: float
    tol: float
    atol: float
    seconds: float  # 0: any number
    threads: int

    def __repr__(self) -> str:
        return f"Job(cells={self.n_outputs}, mu={self.mu:g}, tol={self.tol:g})"

    @property
    def engine(self) -> Engine:
        """What does the work."""
        return find_engine(self.text, self.weights, self.mu, self.threads)

    @property
    def stop(self) -> Stop:
        """When a projection ends."""
        return Stop(self.tol, self.atol * self.atol if self.atol else None)

    def weigh(self, values: JaxArray) -> JaxArray:
        """W times numbers on the cells that are read."""
        return values * jnp.asarray(np.frombuffer(self.weights), values.dtype) if self.weights else values

    def read(self, values: JaxArray) -> JaxArray:
        """Of the cells that are written, those that are read."""
        return values[..., np.frombuffer(self.inputs, np.int64)] if self.inputs else values

    def spread(self, values: JaxArray) -> JaxArray:
        """The way back; 0 elsewhere."""
        if not self.inputs:
            return values
        rows = jnp.zeros((*values.shape[:-1], self.n_outputs), values.dtype)
        return rows.at[..., np.frombuffer(self.inputs, np.int64)].set(values, unique_indices=True)


class States:
    """The states of the latest projections, in at most `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._known: OrderedDict[tuple[Job, int, bytes], tuple[State, Array]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def put(self, job: Job, z: Array, state: State, flow: Array) -> None:
        """Keep a state, and the flow of a smoothed projection."""
        size = _bytes(state, flow)
        if size > self.max_bytes:
            return
        with self._lock:
            old = self._known.pop(_key(job, z), None)
            self._bytes += size - (0 if old is None else _bytes(*old))
            self._known[_key(job, z)] = state, flow
            while self._bytes > self.max_bytes:
                self._bytes -= _bytes(*self._known.popitem(last=False)[1])

    def get(self, job: Job, z: Array) -> tuple[State, Array]:
        """The state of a projection, which is done again where it is not there any more."""
        with self._lock:
            found = self._known.get(_key(job, z))
            if found is not None:
                self._known.move_to_end(_key(job, z))
                return found
        answer = solve_distinct(job.engine, z, None, job.stop, True, job.mu > 0, job.seconds or None)
        assert answer.state is not None
        flow = np.empty((len(z), 0)) if answer.flow is None else answer.flow
        self.put(job, z, answer.state, flow)
        return answer.state, flow


def _key(job: Job, z: Array) -> tuple[Job, int, bytes]:
    return job, len(z), hashlib.blake2b(z.data).digest()


def _bytes(state: State, flow: Array) -> int:
    return sum(part.nbytes for part in state) + flow.nbytes


states: States = States(512 << 20)


def _rows(array: Any) -> Array:
    """A row per sample, in float64."""
    values = np.asarray(array)
    return np.ascontiguousarray(values.reshape(-1, values.shape[-1]), np.float64)


def _project(z: Any, *, job: Job, keep: bool) -> tuple[Any, Any]:
    """On the host: probabilities of the cells that are written, and the flow (if it is wanted)."""
    shape, kind = z.shape[:-1], z.dtype
    require_finite(np.asarray(z, np.float64), job.engine)
    rows = _rows(z)
    answer = solve_distinct(job.engine, rows, None, job.stop, keep, job.n_flow > 0, job.seconds or None)
    flow = np.empty((len(rows), 0)) if answer.flow is None else answer.flow
    if answer.state is not None:
        states.put(job, rows, answer.state, flow if job.mu else flow[:, :0])
    return answer.rho.reshape(*shape, job.n_outputs).astype(kind), flow.reshape(*shape, job.n_flow).astype(kind)


def _tangent(rho: Any, flow: Any, z: Any, centre: Any, *, job: Job, forward: bool) -> tuple[Any, Any]:
    """On the host: T times pairs. `centre` is the flow that the state has already; it is there for its derivative."""
    rho, flow, z = np.asarray(rho), np.asarray(flow), np.asarray(z)
    if not rho.size or not (rho.any() or flow.any()):
        return np.zeros_like(rho), np.zeros_like(flow)
    state, own = states.get(job, _rows(z))
    # Engines take all samples in the first direction, then all in the next.
    samples = [i for i in range(z.ndim - 1) if z.shape[i] == rho.shape[i]]
    axes = [i for i in range(z.ndim - 1) if z.shape[i] != rho.shape[i]] + samples + [z.ndim - 1]
    back = np.argsort(axes)
    turned = [part.transpose(axes) for part in (rho, flow)]
    found = job.engine.tangent(_rows(turned[0]), _rows(turned[1]) if job.n_flow else None, state, own, forward)
    results = [
        old if new is None else new.reshape(part.shape).transpose(back).astype(rho.dtype)
        for old, part, new in zip((rho, flow), turned, found, strict=True)
    ]
    return results[0], results[1]


@cache
def _wait_at_exit() -> None:
    """Once, where a program is compiled: before that there is nothing to wait for."""
    atexit.register(lambda: jax.block_until_ready(jax.live_arrays()))


def _define(name: str, function: Any, shapes: Any) -> Primitive:
    """A primitive that runs on the host: at once, or as part of a compiled program."""
    primitive = Primitive(name)
    primitive.multiple_results = True

    def types(*operands: Any, **options: Any) -> list[Any]:
        # Of the first operand, so that the axes of a mesh along which values differ are kept.
        return [operands[0].update(shape=shape, weak_type=False) for shape in shapes(*operands, options["job"])]

    def call(*operands: Any, **options: Any) -> Any:
        _wait_at_exit()
        results = [jax.ShapeDtypeStruct(shape, operands[0].dtype) for shape in shapes(*operands, options["job"])]
        return jax.pure_callback(partial(function, **options), results, *operands, vmap_method="sequential")

    primitive.def_impl(lambda *operands, **options: [jnp.asarray(part) for part in function(*operands, **options)])
    primitive.def_abstract_eval(types)
    mlir.register_lowering(primitive, mlir.lower_fun(call, multiple_results=True))
    return primitive


project_p = _define(
    "rumflow_project", _project, lambda z, job: [(*z.shape[:-1], size) for size in (job.n_outputs, job.n_flow)]
)
tangent_p = _define("rumflow_tangent", _tangent, lambda rho, flow, *rest: [rho.shape, flow.shape])


def _project_jvp(primals: Any, tangents: Any, *, job: Job, keep: bool) -> Any:
    """J t = T (W t, 0)."""
    (z,), (change,) = primals, tangents
    rho, flow = project_p.bind(z, job=job, keep=True)
    rows = job.spread(job.weigh(change))
    return [rho, flow], tangent_p.bind(rows, jnp.zeros_like(flow), z, flow, job=job, forward=True)


def _tangent_jvp(primals: Any, tangents: Any, *, job: Job, forward: bool) -> Any:
    """T is linear; a change dk of the flow of a smoothed projection adds T (0, 2 mu q dk / k^3)."""
    z, centre = primals[2:]
    answer = tangent_p.bind(*primals, job=job, forward=forward)
    rho, flow, _, moved = tangents
    by_centre = job.mu > 0 and type(moved) is not ad.Zero
    if type(rho) is ad.Zero and type(flow) is ad.Zero and not by_centre:
        return answer, [_zero(part) for part in answer]
    rho, flow = ad.instantiate_zeros(rho), ad.instantiate_zeros(flow)
    if by_centre:
        flow = flow + 2.0 * job.mu * answer[1] * moved / centre**3
    return answer, tangent_p.bind(rho, flow, z, centre, job=job, forward=forward)


def _zero(value: Any) -> Any:
    return ad.Zero.from_primal_value(value)  # type: ignore[attr-defined]


def _tangent_transpose(cotangents: Any, rho: Any, flow: Any, z: Any, centre: Any, *, job: Job, forward: bool) -> Any:
    """T is symmetric; `forward` says which side is meant where it is not."""
    pair = [ad.instantiate_zeros(part) for part in cotangents]
    found = tangent_p.bind(*pair, z, centre, job=job, forward=not forward)
    own = [new if ad.is_undefined_primal(old) else None for old, new in zip((rho, flow), found, strict=True)]
    return [*own, None, None]


def _project_batch(operands: Any, axes: Any, **options: Any) -> Any:
    """A batch is one more axis of samples."""
    return project_p.bind(jnp.moveaxis(operands[0], axes[0], 0), **options), (0, 0)


def _tangent_batch(operands: Any, axes: Any, **options: Any) -> Any:
    """More samples, or more directions at the same projections, which then have an axis of length 1."""
    size = next(part.shape[axis] for part, axis in zip(operands, axes, strict=True) if axis is not None)
    moved = [
        part[None] if axis is None else jnp.moveaxis(part, axis, 0) for part, axis in zip(operands, axes, strict=True)
    ]
    pair = [jnp.broadcast_to(part, (size, *part.shape[1:])) for part in moved[:2]]
    own = moved[2:]
    if axes[2] is not None or axes[3] is not None:
        own = [jnp.broadcast_to(part, (size, *part.shape[1:])) for part in own]
    return tangent_p.bind(*pair, *own, **options), (0, 0)


ad.primitive_jvps[project_p] = _project_jvp
ad.primitive_jvps[tangent_p] = _tangent_jvp
ad.primitive_transposes[tangent_p] = _tangent_transpose
batching.primitive_batchers[project_p] = _project_batch
batching.primitive_batchers[tangent_p] = _tangent_batch
