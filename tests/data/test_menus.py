"""Menus as rows and as bit masks: order, tallies, tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from rumflow.core.menus import Menus
from rumflow.data.menus import find_menus, make_table, masks_of, membership_of, tally, unique_menus


@given(st.integers(1, 80), st.integers(1, 30), st.integers(0, 9))
def test_menus_in_the_order_of_their_masks(n, m, seed):
    """Python's whole numbers have any length: they are the plain twin."""
    rng = np.random.default_rng(seed)
    membership = rng.random((m, n)) < 0.5
    membership[rng.integers(m, size=3)] = membership[0]
    masks = [sum(1 << x for x in range(n) if row[x]) for row in membership]
    different, number = unique_menus(membership)
    assert [sum(1 << x for x in range(n) if row[x]) for row in different] == sorted(set(masks))
    assert [sorted(set(masks))[k] for k in number] == masks
    wanted = rng.integers(m, size=5)
    assert find_menus(membership, membership[wanted]).tolist() == [masks.index(masks[k]) for k in wanted]
    if n <= 62:
        assert masks_of(membership).tolist() == masks
        np.testing.assert_array_equal(membership_of(np.array(masks), n), membership)


def test_tally_against_a_loop(rng):
    membership = rng.random((6, 9)) < 0.7
    menu = rng.integers(6, size=100)
    choice = np.array([rng.choice(np.flatnonzero(membership[k])) for k in menu])
    weight = rng.random(100)
    counts = np.where(membership, 0.0, np.nan)
    for m, x, w in zip(menu, choice, weight, strict=True):
        counts[m, x] += w
    np.testing.assert_allclose(tally(membership, menu, choice, weight), counts, rtol=1e-13)


def test_tables_too_large_for_memory_are_refused():
    menus = Menus(2 * np.arange(10**6 + 1), np.tile(np.array([0, 1], np.int32), 10**6), 10**9)
    with pytest.raises(rf.InputError, match=r"a table of 1,000,000 menus and 1,000,000,000 items .*use data\.cells"):
        make_table(menus, True, False)
