"""Residuals by hand, on the lattice and on graphs."""

import numpy as np

from rumflow.core.graph_certificate import residual_of
from rumflow.core.residual import residual_row


def test_residuals_by_hand():
    row = np.array([0.5, 0.25, 1.0])
    target = np.array([0.25, 0.5, np.nan])
    own = row.copy()
    assert residual_row(own, target, np.array([2.0, 4.0, 0.0])) == 0.5 * (2 / 16 + 4 / 16)
    assert own.tolist() == [0.5, -1.0, 0.0]
    own = row[:2].copy()
    assert residual_row(own, target[:2], np.empty(0)) == 0.5 * (2 / 16)
    assert own.tolist() == [0.25, -0.25]
    left = residual_of(row[None], target[None], np.array([[2.0, 4.0, 0.0]]))
    assert (left.objective, left.inner, left.mass, left.inverse) == (0.1875, 0.0, 0.75, 0.75)
    assert left.cost.tolist() == [[0.5, -1.0, 0.0]]
    assert left.gap(-0.5) == 0.5
    assert left.gap(0.5) == 0.0
    on_cone = left._replace(cone=True)
    assert on_cone.gap(-2.0) == 2.0 * 0.75 + 0.5 * 4.0 * 0.75
    assert on_cone.gap(2.0) == 0.0
