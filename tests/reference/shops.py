"""Data of a shop with hundreds of items, and when two are the same."""

import numpy as np

from rumflow.data.choices import ChoiceData

N = 300


def only_counts(data):
    return ChoiceData(data.items, data.membership, data.counts, data.totals)


def same_shop(a, b):
    assert a.items == b.items
    np.testing.assert_array_equal(a.membership, b.membership)
    np.testing.assert_array_equal(a.counts, b.counts)
