"""The model of inequalities on pairs: what it says of itself, and what it refuses."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.models.describe import make_model
from rumflow.models.triangle_inequalities import require_pairs


def test_it_is_one_model_whoever_makes_it():
    model = rf.TriangleInequalities()
    assert model == make_model(model.describe())
    assert hash(model) == hash(rf.TriangleInequalities())
    assert model != rf.RandomUtility()
    assert not model.has_types
    assert repr(model) == "TriangleInequalities()"
    assert "ranking" in model.words().chooser


def test_it_has_no_graph():
    with pytest.raises(rf.InputError, match=r"has no types.*rf\.bounds"):
        rf.TriangleInequalities().geometry(Cells([[True, True]]))


def test_larger_menus_are_refused_with_their_names():
    require_pairs(Cells([[True, True, False]]))
    with pytest.raises(rf.InputError, match=r"menu 1 \{a, b, c\} offers 3 items: .* use RandomUtility\(\)"):
        require_pairs(Cells([[True, True, False], [True, True, True]], None, ["a", "b", "c"]))
    with pytest.raises(rf.InputError, match="and 1 more menus are larger"):
        require_pairs(Cells([[True, True, True, False], [True, True, True, True]]))


def test_pairs_on_no_cycle_leave_a_test():
    menus, _ = Menus.from_table([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    kept = rf.TriangleInequalities().relevant(menus, np.ones(4, int), np.ones(8, bool), np.ones(4, bool))
    assert kept.tolist() == [True] * 6 + [False] * 2
