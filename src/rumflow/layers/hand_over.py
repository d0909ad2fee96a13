"""Samples that are nearly rational: where the active set outgrows its use, the smoothed projection takes over.

The nearer a sample is to the model, the more types its projection mixes, and the cost of the active set grows with the cube of
their number. Where an error `atol` of the output is accepted (in the norm of the weights), such samples are projected with
smoothing mu = 0.9 atol^2 / N instead, N the number of cells of the lattice. A point of the central path has a gap of at most
N mu, and ||y - y*||_W^2 <= gap (`rumflow.core.certificate`), which is computed for each of them. What misses it is left to the
active set after all.

Their derivative is that of the smoothed problem, at a point of the central path (`rumflow.solvers.lattice_faces`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.compile import clock
from rumflow.core.problem import Stop
from rumflow.solvers.batch.kernels import FACE
from rumflow.solvers.batch.result import LatticeFits, gather_points, pack_point
from rumflow.solvers.geometry import Faces, SolveOptions
from rumflow.solvers.interior.smoothed import SmoothedProjector
from rumflow.solvers.lattice import LatticeGeometry
from rumflow.solvers.resources import Resources

#: Accuracies of the flow and of a derivative: they need not be better than what `atol` leaves open.
_ACCURACY = 1e-5, 3e-6
#: Samples between two looks at the clock.
_PIECE = 8


class Handed(NamedTuple):
    """Samples that were projected with smoothing."""

    rho: Array  # (b, n, 2^(n-1))
    flow: Array
    faces: Faces
    good: Mask  # (b,): within the gap that was asked for


def project_smoothed(geometry: LatticeGeometry, rows: Array, gap: float, threads: int | None) -> Handed:
    """Project a stack up to a gap."""
    mu = 0.9 * gap / rows[0].size
    rho, flow, trees = SmoothedProjector(geometry.n, geometry.weights, mu, threads, _ACCURACY).solve(rows)
    good = np.array([geometry.certifier(k, z).gap <= gap for k, z in zip(flow, rows, strict=True)])
    points = {i: pack_point(tree, mu / k**2) for i, (tree, k) in enumerate(zip(trees, flow, strict=True))}
    return Handed(rho, flow, gather_points(points, _ACCURACY[1])[1], good)


def take_over(
    fits: LatticeFits, stop: Stop, options: SolveOptions, resources: Resources, keep: bool
) -> tuple[Array, Array, Faces | None]:
    """Project what the active set has left of a stack; probabilities, flows and (to `keep`) faces of the whole stack."""
    assert stop.floor is not None
    geometry: LatticeGeometry = fits.geometry
    rho, flows, faces = fits.rho.copy(), fits.flows.copy(), fits.faces if keep else None

    def put(own: Ints, *new: Any) -> None:
        nonlocal faces
        rho[own], flows[own] = new[:2]
        faces = None if faces is None else faces.replace(own, new[2])

    left = np.array([i for i, reason in enumerate(fits.reasons) if reason == "too_large"], np.int64)
    step = _PIECE if math.isfinite(resources.until) else len(left)
    for own in (left[i : i + step] for i in range(0, len(left), step)):
        late = clock() > resources.until
        for i in own.tolist():
            fits.reasons[i] = "max_seconds" if late else "done"
        if late:  # what the active set has found is kept, with its rankings
            if faces is not None:
                faces.counts[own, 0] = FACE
            continue
        handed = project_smoothed(geometry, fits.targets[own], stop.floor, resources.threads)
        put(own, handed.rho, handed.flow, handed.faces)
        if not handed.good.all():
            missed, options = own[~handed.good], options._replace(leave_large=False)
            found = geometry.solve(fits.targets[missed], stop, options=options, resources=resources)
            found.warn()
            put(missed, found.rho, found.flows, found.faces if keep else None)
    return rho, flows, faces
