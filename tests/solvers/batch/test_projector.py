"""Gradients of a stack on large faces."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.paths import flow_from_paths
from rumflow.core.problem import NO_WEIGHTS
from rumflow.core.transforms import zeta


@pytest.mark.parametrize("spread", [0.0, 4.0])
@pytest.mark.parametrize("n", [6, 7, 8])
def test_gradients_on_large_faces(n, spread, rng):
    """What the batch gets from the inverse that the solver left, against a factor of its own."""
    from rumflow.solvers.batch.projector import BatchProjector

    from rumflow.solvers.batch.kernels import Keep
    from rumflow.solvers.derivatives import FaceTangent, vjp

    target = rf.Lattice(n).to_internal(rf.simulate.mixed_logit(n, draws=20_000, seed=1))
    weights = 10 ** rng.uniform(0, spread, target.shape) if spread else NO_WEIGHTS
    projector = BatchProjector(n, weights)
    result = projector.solve(target[None].copy(), keep=Keep.FACES)
    assert not result.inside[0]
    g = rng.normal(size=target.shape)
    found = vjp(FaceTangent(projector, result.faces(1)), weights, g[None].copy())[0]
    start = result.starts()[0]
    # The span of the rankings themselves: J^T = W V (V^T W V)^+ V^T.
    cells = np.array([zeta(flow_from_paths(path[None], np.ones(1))).ravel() for path in start.paths])
    v = (cells[1:] - cells[0]).T
    w = weights.ravel() if len(weights) else np.ones(target.size)
    expected = (w * (v @ np.linalg.lstsq(np.sqrt(w)[:, None] * v, g.ravel() / np.sqrt(w), rcond=1e-13)[0])).reshape(
        g.shape
    )
    assert found == pytest.approx(expected, abs=1e-8 * np.abs(expected).max())
