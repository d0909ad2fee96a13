"""What sharp bounds are over: menus of a fit beside others."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference.sharp import fixed_by, independent, last_items, lay_out
from tests.reference.examples import DECOY, FITS


def test_menus_of_a_fit_beside_others():
    fit = rf.project(FITS, tol=1e-12)
    given = fixed_by(fit)
    assert given.menus.tolist() == [[True, True, False], [True, True, True]]
    assert (given.seen == given.menus).all()
    assert given.values[1] == pytest.approx([0.5, 0.3, 0.2])
    further = np.array([[True, False, True], [True, True, False]])
    layout = lay_out(given, further)
    assert layout.menus.tolist() == [[True, True, False], [True, False, True], [True, True, True]]
    assert (layout.own.tolist(), layout.new.tolist()) == ([0, 2], [1, 0])
    assert layout.fixed.tolist() == [[True, True, False], [False] * 3, [True] * 3]
    assert last_items(layout.menus).tolist() == [1, 2, 2]
    assert independent(layout.menus, layout.fixed).tolist() == [[True, False, False], [False] * 3, [True, True, False]]
    partly = np.array([[True, False, False], [False] * 3, [True] * 3])
    assert independent(layout.menus, partly).tolist() == [[True, False, False], [False] * 3, [True, True, False]]


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_the_normal_at_a_fit(route):
    """a has 27/70 of both menus: fitted less observed is (6, -6) and (-8, 4, 4) seventieths."""
    fit = rf.project(DECOY, tol=1e-12, route=route)
    expected = np.array([[6, -6, 0], [-8, 4, 4]]) / 70
    assert fixed_by(fit).normal == pytest.approx(expected, abs=1e-6)
    heavy = rf.project(DECOY, "counts", tol=1e-12, route=route)  # 100 choices from both menus
    assert fixed_by(heavy).normal == pytest.approx(100 * expected, abs=1e-4)


def test_only_a_projection_fixes_cells():
    with pytest.raises(rf.InputError, match="a projection, data or an array is needed, not dict"):
        fixed_by({})
