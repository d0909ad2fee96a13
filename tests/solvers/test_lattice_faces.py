"""Faces on the lattice: how menus give up their surplus, and derivatives on large faces."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.paths import flow_from_paths
from rumflow.core.problem import NO_WEIGHTS, Stop
from rumflow.core.transforms import zeta
from rumflow.solvers.derivatives import FaceTangent, vjp
from rumflow.solvers.geometry import Keep, SolveOptions
from rumflow.solvers.lattice import LatticeGeometry


def test_a_surplus_is_spread_in_proportion_to_one_over_the_weights():
    lattice = rf.Lattice(2)
    weights = lattice.to_internal([[0, 0], [2, 0], [0, 0], [1, 3]])  # item 1 alone was not observed
    share = lattice.from_internal(LatticeGeometry(2, weights).faces.share)
    assert share == pytest.approx(np.array([[0, 0], [1, 0], [0, 0], [0.75, 0.25]]))
    assert lattice.from_internal(LatticeGeometry(2).faces.share).tolist() == [[0, 0], [1, 0], [0, 1], [0.5, 0.5]]
    assert not LatticeGeometry(2, cone=True).faces.share.any()


@pytest.mark.parametrize("n", [4, 9])
def test_faces_found_later_are_those_that_were_kept(n, rng):
    targets = np.array([rf.Lattice(n).to_internal(rf.simulate.dirichlet(n, seed=i)) for i in range(2)])
    geometry = LatticeGeometry(n)
    kept = geometry.solve(targets, Stop(1e-12), options=SolveOptions(keep=Keep.FACES))
    later = geometry.solve(targets, Stop(1e-12))
    rows = rng.normal(size=targets.shape)
    one, two = (geometry.tangent(fits.faces, rows.copy(), forward=True) for fits in (kept, later))
    assert two == pytest.approx(one, abs=1e-8)


@pytest.mark.parametrize("spread", [0.0, 4.0])
@pytest.mark.parametrize("n", [6, 7, 8])
def test_gradients_on_large_faces(n, spread, rng):
    """What the stack gets from the inverse that the solver left, against a factor of its own."""
    target = rf.Lattice(n).to_internal(rf.simulate.mixed_logit(n, draws=20_000, seed=1))
    weights = 10 ** rng.uniform(0, spread, target.shape) if spread else NO_WEIGHTS
    geometry = LatticeGeometry(n, weights)
    result = geometry.solve(target[None].copy(), Stop(1e-12), options=SolveOptions(keep=Keep.FACES))
    assert not result.inside[0]
    g = rng.normal(size=target.shape)
    found = vjp(FaceTangent(geometry, result.faces), weights, g[None].copy())[0]
    start = result.starts[0]
    # The span of the rankings themselves: J^T = W V (V^T W V)^+ V^T.
    cells = np.array([zeta(flow_from_paths(path[None], np.ones(1))).ravel() for path in start.paths])
    v = (cells[1:] - cells[0]).T
    w = weights.ravel() if len(weights) else np.ones(target.size)
    expected = (w * (v @ np.linalg.lstsq(np.sqrt(w)[:, None] * v, g.ravel() / np.sqrt(w), rcond=1e-13)[0])).reshape(
        g.shape
    )
    assert found == pytest.approx(expected, abs=1e-8 * np.abs(expected).max())
