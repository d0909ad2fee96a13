"""Single-peaked preferences: their types are those of the rankings whose best items are always an interval of the axis."""

import numpy as np
import pytest

from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.models.open_menus import Limit
from rumflow.models.single_peaked import SinglePeaked
from tests.reference.graphs import is_single_peaked, orders, random_cells, type_of_order, types_of


@pytest.mark.parametrize("axis", [(0, 1, 2, 3, 4), (3, 0, 4, 2, 1)])
@pytest.mark.parametrize("partly", [False, True])
def test_types_are_those_of_all_single_peaked_rankings(axis, partly):
    peaked = orders(5, lambda order: is_single_peaked([axis.index(x) for x in order]))
    assert len(peaked) == 2**4
    for seed in range(4):
        cells = random_cells(np.random.default_rng(seed), 5, 4, partly)
        assert types_of(SinglePeaked(axis).geometry(cells)) == {type_of_order(cells, order) for order in peaked}


def test_more_items_than_fit_are_refused():
    cells = Cells(np.eye(40, dtype=bool)[:1] | np.eye(40, dtype=bool)[1:2])
    with pytest.raises(GraphTooLargeError, match="40 items on the axis has 821 nodes and 1,600 arcs"):
        SinglePeaked(range(40)).geometry(cells, Limit(bytes=1e4))
