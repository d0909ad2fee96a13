"""Samples that are nearly rational: where the active set outgrows its use, the smoothed projection takes over.

The nearer a sample is to the model, the more types its projection mixes, and the cost of the active set grows with the cube of
their number. Where an error `atol` of the output is accepted (in the norm of the weights), such samples are projected with
smoothing mu = 0.9 atol^2 / N instead, N the number of cells of the lattice. A point of the central path has a gap of at most
N mu, and ||y - y*||_W^2 <= gap (`rumflow.core.certificate`), which is computed for each of them. What misses it is left to the
active set after all.

Their derivative is that of the smoothed problem. Its state lies in the rows of the others (`rumflow.solvers.geometry.Faces`):

    counts   LEFT, the bits of mu
    types    the spanning tree, then the bits of the flow
    factor   nothing
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.solvers.batch.kernels import LEFT
from rumflow.solvers.geometry import Faces
from rumflow.solvers.interior.smoothed import SmoothedProjector
from rumflow.solvers.lattice import LatticeGeometry

#: Accuracies of the flow and of a derivative: they need not be better than what `atol` leaves open.
_ACCURACY = 1e-5, 3e-6


class Handed(NamedTuple):
    """Samples that were projected with smoothing."""

    rho: Array  # (b, n, 2^(n-1))
    flow: Array
    faces: Faces
    good: Mask  # (b,): within the gap that was asked for


def project_smoothed(geometry: LatticeGeometry, rows: Array, gap: float, threads: int | None) -> Handed:
    """Project a stack up to a gap."""
    mu = 0.9 * gap / rows[0].size
    rho, flow, tree = SmoothedProjector(geometry.n, geometry.weights, mu, threads, _ACCURACY).solve(rows)
    good = np.array([geometry.certifier(k, z).gap <= gap for k, z in zip(flow, rows, strict=True)])
    size = len(rows)
    counts = np.full((size, 2), LEFT, np.int64)
    counts[:, 1] = np.array([mu]).view(np.int64)
    types = np.concatenate([tree.reshape(size, -1), flow.reshape(size, -1).view(np.int32)], axis=1)
    return Handed(rho, flow, Faces(counts, types, np.empty((size, 0))), good)


def tangent_of_both(
    geometry: LatticeGeometry, faces: Faces, rows: Array, by_flow: Array | None, forward: bool, threads: int | None
) -> Array:
    """S times each of a stack of vectors, in place: on faces, or at projections with smoothing."""
    handed = faces.counts[:, 0] == LEFT
    for own in (handed, ~handed):
        part, flows = rows[own], None if by_flow is None else by_flow[own]
        counts, types, factor = (state[own] for state in faces)
        if own is handed:
            _smoothed_tangent(geometry, counts, types, part, flows, threads)
        elif len(part):
            exact = Faces(counts, types[:, : types.shape[1] // geometry.n * geometry.n], factor)
            geometry.tangent(exact, part, flows, forward=forward, threads=threads)
        rows[own] = part
        if by_flow is not None:
            by_flow[own] = flows
    return rows


def _smoothed_tangent(
    geometry: LatticeGeometry,
    counts: Ints,
    types: NDArray[np.int32],
    rows: Array,
    by_flow: Array | None,
    threads: int | None,
) -> None:
    n, size = geometry.n, len(rows)
    split, length = 3 << n, 2 * rows[0].size
    trees = np.ascontiguousarray(types[:, :split]).reshape(size, 3, 1 << n)
    flows = np.ascontiguousarray(types[:, split : split + length]).view(np.float64).reshape(rows.shape)
    mu = float(counts[:1, 1].copy().view(np.float64)[0])
    SmoothedProjector(n, geometry.weights, mu, threads, _ACCURACY).tangent(flows, trees, rows, by_flow)


def put_rows(into: Faces, own: Ints, rows: Faces) -> Faces:
    """Replace the rows `own` of a stack; what is shorter is padded."""
    known = [part.shape[1] > 0 for part in (into.factor, rows.factor)]
    lost = (known[0] and not known[1] and bool((rows.counts[:, 0] != LEFT).any())) or (
        known[1] and not known[0] and bool(np.delete(into.counts[:, 1], own).any())
    )

    def put(old: Any, new: Any) -> Any:
        found = np.zeros((len(old), max(old.shape[1], new.shape[1])), old.dtype)
        found[:, : old.shape[1]] = old
        found[own] = 0
        found[own, : new.shape[1]] = new
        return found

    counts, types, factor = (put(old, new) for old, new in zip(into, rows, strict=True))
    # Factors that were not kept for some are computed again for all.
    return Faces(counts, types, factor[:, :0] if lost else factor)
