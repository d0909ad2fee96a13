"""Ranges where the graph is too large."""

import numpy as np
import pytest

from rumflow.core.graph import GraphTooLargeError
from rumflow.inference import populations
from rumflow.inference.bounds import exact_fit
from rumflow.inference.populations import Fitted
from tests.reference.examples import SHOP


def test_ranges_where_the_graph_is_too_large(monkeypatch):
    def fail(*_):
        raise GraphTooLargeError("too large", 1, 1, 1, 1)

    own = Fitted(exact_fit(SHOP))
    full, new = np.array([True, True, True]), np.array([True, False, True])
    values = np.array([0.0, 3.0, 4.0])
    assert own.fitted == pytest.approx(np.array([[0.6, 0.4, 0.0], [0.5, 0.3, 0.2]]))
    monkeypatch.setattr(populations, "find_bounds", fail)
    assert own.range(full, values) == pytest.approx((1.7, 1.7))  # recorded in full: no search
    assert np.isnan(own.range(new, values)).all()
    assert len(own.range(new, values)) == 2
