"""Rankings are completed as documented."""

import numpy as np
import pytest

from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.random_utility import RandomUtility


def test_rankings_are_completed_as_documented():
    cells = Cells([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0]])
    plain, known = RandomUtility(), RandomUtility(above=[(4, 3), (0, 4)])
    takes_1_and_3 = np.array([[0, 1]], np.int32)
    assert plain.orders(cells, takes_1_and_3).tolist() == [[1, 3, 0, 2, 4]]
    assert known.orders(cells, takes_1_and_3).tolist() == [[1, 0, 4, 3, 2]]
    with pytest.raises(InputError, match="type 0 is not what any ranking"):
        RandomUtility(above=[(2, 3)]).orders(cells, takes_1_and_3)
