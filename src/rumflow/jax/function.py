"""`project_cells` for JAX: what goes in are numbers, what comes out are the choice probabilities of a model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from rumflow.check import LARGEST
from rumflow.errors import InputError
from rumflow.jax.primitives import Job, project_p
from rumflow.layers.cells import Cells
from rumflow.layers.checks import require_options
from rumflow.solvers.geometry import DEFAULT_TOL


@lru_cache(maxsize=16)
def _all_of(n: int) -> Cells:
    return Cells(n)


def project_cells(
    z: Any,
    cells: Cells | int,
    *,
    smoothing: float = 0.0,
    tol: float = DEFAULT_TOL,
    atol: float | None = None,
    max_seconds: float | None = None,
    threads: int | None = None,
    nonfinite: str = "error",
    return_distance: bool = False,
    return_flow: bool = False,
) -> Array | tuple[Array, ...]:
    """Project onto a model of choice, under jit, vmap, grad, jvp, and any of them again.

    Parameters
    ----------
    z : array of shape (..., M)
        The last axis runs over cells, the others over samples.
    cells : Cells or int
        n for all menus of n items (in the order of `rumflow.Lattice(n).cells`), or a `Cells` object, made once outside of
        traced functions: `Cells(n, menus, weights)` for some menus, `Cells.of_model(model, menus, items, weights)` for any
        model.
    smoothing : float, default 0
        mu > 0: compute the minimum of 1/2 sum w (rho - z)^2 - mu sum log flow instead (lattice only).
    tol : float, default 1e-12
        Certified: the objective is within tol of the optimum, relatively, or within rounding.
    atol : float, optional
        Accept an error of this size, ||y - y*||_W <= atol, certified; samples that are nearly rational take less time. As for
        `rumflow.torch.AxiomLayer`.
    max_seconds : float, optional
        Time of a forward pass, as for `rumflow.torch.AxiomLayer`: what is not done by then is returned where it is, with a
        RuntimeWarning and what is certified.
    threads : int, optional
        Number of threads; the result is the same for any number.
    nonfinite : {"error", "nan"}, default "error"
        "nan": a sample with a number that is not finite becomes a row of NaN with gradient 0.
    return_distance : bool, default False
        Return also sum w (y - z)^2 per sample, with gradient 2 w (z - y).
    return_flow : bool, default False
        Return also the Block-Marschak polynomials of y (lattice only).

    Returns
    -------
    array or tuple of arrays
        The probabilities y, then the distances and the flows, if asked for.

    Raises
    ------
    InputError
        If the input or an option is not accepted. Compiled programs report it as an error of the JAX runtime, with the same
        message.

    Notes
    -----
    The function computes::

        y = argmin 1/2 sum over cells (D, x) of w(D, x) (rho(D, x) - z(D, x))^2   over all mixtures rho of the model's types

    It runs in float64 on the host, by callback, and returns the dtype of z: JAX rounds to float32 unless `jax_enable_x64`
    is set. Derivatives are exact, forward and backward, of any order; there are none by the weights.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> project_cells(jnp.full((2, 12), 0.4), 3).shape
    (2, 12)
    """
    cells = cells if isinstance(cells, Cells) else _all_of(cells)
    z = jnp.asarray(z)
    if not jnp.issubdtype(z.dtype, jnp.floating):
        raise InputError(f"the input has dtype {z.dtype}; floating point numbers are needed")
    if z.ndim == 0 or z.shape[-1] != cells.n_cells:
        raise InputError(
            f"the last axis must run over the {cells.n_cells} cells (n = {cells.n} items, {cells.n_menus} menus); the "
            f"input has shape {z.shape}"
        )
    require_options(smoothing, tol, nonfinite, threads, atol, max_seconds)
    if (smoothing or return_flow) and cells.graph is not None:
        raise InputError(
            "smoothing and return_flow are available only on the lattice of all menus: Cells(..., lattice=True)"
        )
    inside = z.astype(jax.dtypes.canonicalize_dtype(np.float64))
    if nonfinite == "nan":
        good = (jnp.abs(inside) <= min(LARGEST, float(jnp.finfo(inside.dtype).max))).all(-1)
        inside = jnp.where(good[..., None], inside, 0.0)
    # A smoothed projection is differentiated at its flow.
    n_flow = cells.n << (cells.n - 1) if smoothing or return_flow else 0
    own = cells.inputs.tobytes() if cells.n_cells < cells.n_outputs else b""
    job = Job(
        cells.text,
        cells.weights.tobytes(),
        own,
        cells.n_outputs,
        n_flow,
        float(smoothing),
        float(tol),
        float(atol or 0),
        float(max_seconds or 0),
        threads or 0,
    )
    rho, flow = project_p.bind(inside, job=job, keep=False)
    results = [rho]
    if return_distance:
        results.append(_distance(inside, rho, job))
    if return_flow:
        results.append(flow)
    if nonfinite == "nan":
        results = [
            jnp.where(good.reshape(good.shape + (1,) * (part.ndim - good.ndim)), part, jnp.nan) for part in results
        ]
    results = [part.astype(z.dtype) for part in results]
    return results[0] if len(results) == 1 else tuple(results)


def _distance(z: Array, rho: Array, job: Job) -> Array:
    """sum w (y - z)^2 per sample; at an exact projection y is held fixed for the first derivative, as in `rumflow.torch`."""
    fitted = job.read(rho)
    if job.mu:
        return job.weigh(jnp.square(z - fitted)).sum(-1)
    fixed = jax.lax.stop_gradient(fitted)
    return (job.weigh(jnp.square(z - fixed)) - job.weigh(jnp.square(fitted - fixed))).sum(-1)
