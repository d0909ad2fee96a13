"""The cell of the largest item of every menu, left out and filled in."""

import numpy as np

from rumflow.core import lattice
from rumflow.core.reduced import add_largest, fill_largest
from tests.reference import lattice as reference


def test_the_largest_item_of_every_menu(rng):
    n = 4
    values = rng.integers(-9, 10, (n, 1 << (n - 1))).astype(float)
    added, filled = values.copy(), values.copy()
    for mask in range(1, 1 << n):
        *others, top = lattice.items_of(mask)
        largest = reference.column(mask, top)
        filled[top, largest] = -sum(values[x, reference.column(mask, x)] for x in others)
        for x in others:
            added[x, reference.column(mask, x)] += 0.5 * values[top, largest]
    own = values.copy()
    add_largest(own, n, 0.5)
    np.testing.assert_array_equal(own, added)
    own = values.copy()
    fill_largest(own, n)
    np.testing.assert_array_equal(own, filled)
