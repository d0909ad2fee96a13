"""The largest studentised deviation, against a programme over all rankings listed."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.solvers import largest_deviation
from rumflow.solvers.largest_deviation import LargestDeviation
from tests.reference.listed_rankings import farkas, listed


@pytest.mark.parametrize(("n", "share"), [(3, 1.0), (4, 1.0), (4, 0.5), (5, 0.4)])
def test_the_value_is_that_of_all_rankings_listed(rng, n, share):
    masks = [m for m in range(1, 1 << n) if m & (m - 1) and (share == 1 or rng.random() < share)]
    menus = np.array([[bool(m >> x & 1) for x in range(n)] for m in masks])
    cells = Cells(menus, menus, tuple(range(n)))
    graph = rf.RandomUtility().geometry(cells)
    menu, item = np.nonzero(menus)
    own = menu * graph.shape[1] + cells.column[menu, item]
    a = listed(menus)
    for _ in range(4):
        scales = rng.uniform(0.01, 1, len(menu))
        b = rng.normal(size=len(menu))
        inside = a @ rng.dirichlet(np.ones(a.shape[1])) * rng.uniform(0, 2)
        program = LargestDeviation(graph, own, scales)
        assert program(b) == pytest.approx(farkas(a, scales, b), rel=1e-7)
        assert program(inside) == pytest.approx(0, abs=1e-9)


def test_what_is_too_large_is_refused(monkeypatch):
    menus = np.array([[True, True, True], [True, True, False]])
    graph = rf.RandomUtility().geometry(Cells(menus, menus, ("a", "b", "c")))
    monkeypatch.setattr(largest_deviation, "FLOW_ARCS", 2)
    with pytest.raises(rf.InputError, match=r"statistic='fsst' .* accepted are up to 2; take fewer menus"):
        LargestDeviation(graph, np.arange(2), np.ones(2))
