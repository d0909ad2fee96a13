"""What follows from known preferences, against tables over all items."""

import numpy as np
import pytest

from rumflow.core.compile import kernel
from rumflow.core.preferences import NOTHING_KNOWN, close_pairs, prefers


@kernel
def ask(known, n):
    """`prefers` of all pairs."""
    table = np.empty((n, n), np.bool_)
    for a in range(n):
        for b in range(n):
            table[a, b] = prefers(known, a, b)
    return table


def closure(pairs, n):
    """The plain twin: a table over all items."""
    table = np.zeros((n, n), bool)
    table[pairs[:, 0], pairs[:, 1]] = True
    for _ in range(n):
        table |= (table.astype(int) @ table) > 0
    return table


@pytest.mark.parametrize("circles", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_what_follows_is_that_of_a_table_over_all_items(seed, circles):
    rng = np.random.default_rng(seed)
    n = 12
    rank = rng.permutation(n)
    pairs = rng.integers(n, size=(seed % 20 + 1, 2))
    if not circles:
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        pairs = np.where((rank[pairs[:, 0]] < rank[pairs[:, 1]])[:, None], pairs, pairs[:, ::-1])
    known, table = close_pairs(pairs, n), closure(pairs, n)
    assert known.named.tolist() == np.unique(pairs).tolist()
    assert np.array_equal(known.table(n), table)
    assert np.array_equal(ask(known, n), table)
    assert np.array_equal(np.stack(known.pairs(), axis=1), np.argwhere(table))
    items = rng.permutation(n)[:7]
    assert np.array_equal(known.cut(items).table(7), table[np.ix_(items, items)])
    assert np.array_equal(ask(known.cut(items), 7), table[np.ix_(items, items)])


def test_nothing_is_known():
    assert not NOTHING_KNOWN.cut(np.arange(3)).table(3).any()
    assert not ask(NOTHING_KNOWN, 3).any()
    assert len(NOTHING_KNOWN.pairs()[0]) == 0


def test_long_chains_take_a_look_at_every_pair():
    n = 2000
    order = np.random.default_rng(0).permutation(n)
    place = np.argsort(order)
    known = close_pairs(np.stack([order[:-1], order[1:]], axis=1), n)
    assert np.array_equal(known.over, place[:, None] < place)
