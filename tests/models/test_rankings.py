"""Rankings are completed as documented."""

import numpy as np
import pytest

from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.errors import InputError
from rumflow.models.random_utility import RandomUtility
from rumflow.models.rankings import decided_items


def test_rankings_are_completed_as_documented():
    cells = Cells([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0]])
    plain, known = RandomUtility(), RandomUtility(above=[(4, 3), (0, 4)])
    takes_1_and_3 = np.array([[0, 1]], np.int32)
    assert plain.orders(cells, takes_1_and_3).tolist() == [[1, 3, 0, 2, 4]]
    assert known.orders(cells, takes_1_and_3).tolist() == [[1, 0, 4, 3, 2]]
    with pytest.raises(InputError, match="type 0 is not what any ranking"):
        RandomUtility(above=[(2, 3)]).orders(cells, takes_1_and_3)


def test_decided_items_by_hand():
    menus = Menus.from_table(np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0]], bool))[0]
    orders = np.array([[0, 1, 2, 3, 4], [2, 0, 1, 3, 4], [3, 4, 2, 1, 0], [3, 4, 1, 0, 2]])
    # The last of the best items of {0, 1} and {1, 2}; where one item is left below it, all are decided.
    assert decided_items(orders, menus).tolist() == [2, 2, 5, 3]
    assert decided_items(orders, menus.take(np.array([2]))[0]).tolist() == [1] * 4  # no choice
