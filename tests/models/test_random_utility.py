"""Random utility, with and without known preferences: its types are those of the rankings that respect them."""

import numpy as np
import pytest

from rumflow.models.random_utility import RandomUtility
from tests.reference.graphs import orders, random_cells, respects, type_of_order, types_of


@pytest.mark.parametrize("above", [[], [(0, 1)], [(2, 0), (0, 3)]])
@pytest.mark.parametrize("partly", [False, True])
def test_types_are_those_of_all_rankings_that_respect_the_preferences(above, partly):
    for seed in range(4):
        cells = random_cells(np.random.default_rng(seed), 4, 3, partly)
        expected = {type_of_order(cells, order) for order in orders(4, respects(above))}
        assert types_of(RandomUtility(above).geometry(cells)) == expected
