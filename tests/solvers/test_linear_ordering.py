"""The cheapest order against all orders, and its bounds."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumflow.core.pairs import Cycles, arc_lengths, find_short_cycles, make_pairs
from rumflow.solvers import linear_ordering
from rumflow.solvers.linear_ordering import Wishes, cheapest_order, cycle_bound, wish_prices
from tests.reference.pairs import random_pairs


def drawn(seed, n, part=0.9):
    rng = np.random.default_rng(seed)
    a, b = random_pairs(rng, n, part)
    return Wishes(n, a, b, rng.integers(1, 20, len(a)) / 8)


def least(wishes):
    return min(wishes.price(np.argsort(order)) for order in permutations(range(wishes.n)))


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([0.4, 0.9]))
@settings(max_examples=40)
def test_no_order_is_cheaper(seed, n, part):
    wishes = drawn(seed, n, part)
    found = cheapest_order(wishes)
    assert sorted(found.order.tolist()) == list(range(n))
    assert found.cost == wishes.price(np.argsort(found.order)) == pytest.approx(least(wishes))
    assert found.lower == pytest.approx(found.cost)


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_large_tangles_have_bounds_on_both_sides(seed):
    wishes = drawn(seed, 6, 1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_ordering, "_QUICK", 2)
        closed = cheapest_order(wishes)
        patch.setattr(linear_ordering, "MOST_EXACT", 2)
        found = cheapest_order(wishes)
    assert found.lower <= least(wishes) + 1e-9 <= found.cost + 2e-9
    assert closed.cost == pytest.approx(least(wishes))
    assert closed.lower == pytest.approx(closed.cost)


def test_a_large_tangle_is_closed_where_the_relaxation_is_exact():
    wishes = drawn(3, 40, 0.15)
    found = cheapest_order(wishes)
    assert found.lower == pytest.approx(found.cost)
    assert found.cost > 0
    again = cheapest_order(wishes, threads=2)
    assert again.cost == found.cost
    assert (again.order == found.order).all()


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_any_multipliers_of_cycles_give_a_bound(seed):
    rng = np.random.default_rng(seed)
    wishes = drawn(seed, 5)
    pairs = make_pairs(wishes.a, wishes.b, wishes.n)
    cycles = find_short_cycles(pairs, arc_lengths(rng.integers(0, 2, len(wishes.a)).astype(float))).cycles
    lam = rng.exponential(1.0, len(cycles.sizes))
    assert cycle_bound(wishes, pairs, cycles, lam) <= least(wishes) + 1e-9


def test_a_bound_from_what_is_no_cycle_is_refused():
    wishes = Wishes(3, np.array([0, 1, 2]), np.array([1, 2, 0]), np.ones(3))
    pairs = make_pairs(wishes.a, wishes.b, 3)
    back = Cycles(np.array([0, 3]), np.array([1, 5, 3], np.int32))  # against all three wishes
    assert cycle_bound(wishes, pairs, back, np.array([1.0])) == 1.0 == cheapest_order(wishes).cost
    with pytest.raises(ValueError, match="negative"):
        cycle_bound(wishes, pairs, back, np.array([-1.0]))
    with pytest.raises(ValueError, match="follow"):
        cycle_bound(wishes, pairs, Cycles(np.array([0, 2]), np.array([1, 3], np.int32)), np.array([1.0]))


def test_prices_are_the_wishes_that_a_choice_goes_against():
    wishes = Wishes(3, np.array([0, 2]), np.array([1, 1]), np.array([2.0, 5.0]))
    prices = wish_prices(wishes)
    assert prices[1].tolist() == [0.0, 2.0, 5.0, 7.0]  # taking 1 from {1}, {0, 1}, {1, 2}, all
    assert not prices[[0, 2]].any()


def test_items_without_wishes_are_in_the_order_too():
    found = cheapest_order(Wishes(4, np.array([3]), np.array([1]), np.array([1.0])))
    assert sorted(found.order.tolist()) == [0, 1, 2, 3]
    assert (found.cost, found.lower) == (0.0, 0.0)
