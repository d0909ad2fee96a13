"""What may leave a test of random utility: only what changes no distance, which an enumeration of rankings confirms."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import rumflow as rf
from rumflow.core.menus import Menus
from rumflow.models.relevance import relevant_cells, relevant_pairs

AB, AC, BC, ABC = ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")


def squared_distance(tables, weights=None):
    """The least of sum w (p - rho)^2 over mixtures of all rankings; tables: {menu: shares by item}, weights alike (1)."""
    items = sorted({x for menu in tables for x in menu})
    cells = [(menu, x) for menu, own in tables.items() for x in own]
    w = np.sqrt([1.0 if weights is None else weights[menu][x] for menu, x in cells])
    p = np.array([tables[menu][x] for menu, x in cells])
    takes = np.array(
        [
            [min(menu, key=order.index) == x for menu, x in cells]
            for order in permutations(items)
        ],
        float,
    ).T  # fmt: skip
    takes = np.unique(takes, axis=1)
    heavy = 1e4  # mixtures add up to 1
    found = nnls(np.vstack([takes * w[:, None], heavy * np.ones(takes.shape[1])]), np.append(w * p, heavy))[0]
    return float((w * (takes @ found / found.sum() - p)) @ (w * (takes @ found / found.sum() - p)))


def left(tables, times=None, even=None):
    """The menus as they stay in the test, by label."""
    items = sorted({x for menu in tables for x in menu})
    menus = Menus.from_table([[x in menu for x in items] for menu in tables])[0]
    taken = np.array([tables[menu].get(x, 0) > 0 for menu in tables for x in items if x in menu])
    count = len(tables)
    times = np.ones(count, np.int64) if times is None else np.asarray(times)
    even = np.ones(count, np.bool_) if even is None else np.asarray(even)
    kept = relevant_cells(menus, times, taken, even)
    rows = [
        [items[x] for x, m, k in zip(menus.item, menus.menu, kept, strict=True) if m == j and k] for j in range(count)
    ]
    return [tuple(row) for row in rows]


def test_an_item_in_some_menus_of_its_block_only_stays():
    pair, triple = {"a": 0.9, "b": 0.1}, {"a": 0.2, "b": 0.6, "c": 0.2}
    plain = squared_distance({AB: pair, ABC: triple})
    larger = squared_distance({AB: pair, (*ABC, "x"): triple | {"x": 0.0}})
    both = squared_distance({(*AB, "x"): pair | {"x": 0.0}, (*ABC, "x"): triple | {"x": 0.0}})
    assert [round(np.sqrt(value), 4) for value in (plain, larger, both)] == [0.4629, 0.4472, 0.4629]
    assert left({AB: pair, (*ABC, "x"): triple}) == [AB, (*ABC, "x")]
    assert left({(*AB, "x"): pair, (*ABC, "x"): triple}) == [AB, ABC]
    data = [rf.ChoiceData.from_counts({m: {x: 100 * own.get(x, 0) for x in m} for m, own in tables}) for tables in (
        [(AB, pair), (ABC, triple)], [(AB, pair), ((*ABC, "x"), triple)], [((*AB, "x"), pair), ((*ABC, "x"), triple)],
    )]  # fmt: skip
    assert [round(rf.project(one).distance, 4) for one in data] == [0.4629, 0.4472, 0.4629]


def test_menus_that_share_two_items_stay():
    first, second = {"a": 0.9, "b": 0.1, "c": 0.0}, {"a": 0.1, "b": 0.9, "d": 0.0}
    tables = {("a", "b", "c"): first, ("a", "b", "d"): second}
    assert left(tables) == [("a", "b", "c"), ("a", "b", "d")]
    assert squared_distance(tables) > 0.1


def test_menus_that_share_one_item_leave_and_those_of_several_groups_stay():
    tables = {AB: {"a": 1, "b": 2}, BC: {"b": 1, "c": 3}, ("c", "d", "e"): {"c": 1, "d": 0, "e": 2}}
    assert left(tables) == [(), (), ()]
    assert left(tables, times=[1, 2, 1]) == [(), BC, ()]
    circle = tables | {AC: {"a": 1, "c": 1}}
    assert left(circle) == [AB, BC, (), AC]


def test_items_leave_block_by_block_and_blocks_are_formed_again():
    # x is in every menu of the first block, where nobody takes it. It is taken in the second, where it stays.
    tables = {
        (*AB, "x"): {"a": 1, "b": 1},
        (*ABC, "x"): {"a": 1, "b": 1, "c": 1},
        ("x", "y"): {"x": 1, "y": 1},
        ("x", "y", "z"): {"x": 1, "y": 1, "z": 1},
    }
    assert left(tables) == [AB, ABC, ("x", "y"), ("x", "y", "z")]
    # Without x there are two menus of two blocks, which leave.
    assert left({(*AB, "x"): {"a": 1, "b": 1}, ("b", "c", "x"): {"b": 1, "c": 1}}) == [(), ()]
    # An isolated pair in which x is taken leaves first; then nobody takes x.
    more = {(*AB, "x"): {"a": 1, "b": 1}, (*ABC, "x"): {"a": 1, "b": 1, "c": 1}, ("w", "x"): {"w": 1, "x": 1}}
    assert left(more) == [AB, ABC, ()]
    assert left({AB: {"a": 1}, ABC: {"a": 1, "b": 1}}) == [AB, ABC]  # c is in one of the two
    assert left({("a",): {"a": 1}, ("b",): {"b": 1}}) == [(), ()]


def test_menus_recorded_in_part_and_uneven_weights_keep_items_that_nobody_takes():
    assert left({(*AB, "x"): {"a": 1, "b": 1}, (*ABC, "x"): {"a": 1, "b": 1}}, even=[True, False]) == [
        (*AB, "x"),
        (*ABC, "x"),
    ]

    def with_x(tables, more):
        return {(*menu, "x"): own | {"x": more} for menu, own in tables.items()}

    # What would happen otherwise: with c of the triple not recorded, or with other weights for some cells, x matters.
    ac, bc = {"a": 1.0, "c": 0.0}, {"b": 2 / 3, "c": 1 / 3}
    partly = {ABC: {"a": 0.0, "b": 0.0}, AC: ac, BC: bc}
    found = squared_distance(partly), squared_distance(with_x(partly, 0.0))
    assert found == pytest.approx((0.4, 0.3902), abs=1e-4)
    whole = {ABC: {"a": 0.0, "b": 0.0, "c": 1.0}, AC: ac, BC: bc}
    weights = {ABC: {"a": 5.0, "b": 5.0, "c": 1.0}, AC: {"a": 1.0, "c": 5.0}, BC: {"b": 1.0, "c": 1.0}}
    assert squared_distance(with_x(whole, 0.0), with_x(weights, 1.0)) < squared_distance(whole, weights) - 0.2


def test_a_tree_of_pairs_is_in_conflict_with_single_peaked_preferences():
    data = rf.ChoiceData.from_counts({AB: {"a": 9, "b": 1}, BC: {"b": 1, "c": 9}})
    model = rf.SinglePeaked(["a", "b", "c"])
    assert rf.project(data, model=model).distance > 0.1
    assert model.relevant(data.offered, np.ones(2, np.int64), data.count > 0, np.ones(2, np.bool_)) is None
    tested = rf.rum_test(data, n_boot=9, seed=1, model=model)
    assert not tested.left_out
    assert len(tested.sample.sizes) == 2


def test_known_preferences_keep_everything():
    data = rf.ChoiceData.from_counts({AB: {"a": 9, "b": 1}, BC: {"b": 1, "c": 9}})
    model = rf.RandomUtility(above=[("c", "a")])
    assert model.relevant(data.offered, np.ones(2, np.int64), data.count > 0, np.ones(2, np.bool_)).all()
    assert not rf.rum_test(data, n_boot=9, seed=1, model=model).left_out


@st.composite
def choices(draw):
    """Shares of random menus of five items with many zeros, and a weight for each menu."""
    items = "abcde"
    menus = draw(
        st.lists(st.sets(st.sampled_from(items), min_size=2, max_size=4), min_size=1, max_size=5, unique_by=tuple)
    )
    tables, weights = {}, {}
    for menu in dict.fromkeys(tuple(sorted(menu)) for menu in menus):
        counts = draw(st.lists(st.integers(0, 3), min_size=len(menu), max_size=len(menu)).filter(any))
        tables[menu] = {x: c / sum(counts) for x, c in zip(menu, counts, strict=True)}
        weight = draw(st.sampled_from([0.5, 1.0, 3.0]))
        weights[menu] = dict.fromkeys(menu, weight)
    return tables, weights


@settings(max_examples=150, deadline=None)
@given(choices())
def test_what_stays_has_the_same_distance(drawn):
    tables, weights = drawn
    stay = left(tables)
    rest = {s: {x: own[x] for x in s} for s, own in zip(stay, tables.values(), strict=True) if s}
    own_weights = {s: {x: w[x] for x in s} for s, w in zip(stay, weights.values(), strict=True) if s}
    part = squared_distance(rest, own_weights) if rest else 0.0
    assert part == pytest.approx(squared_distance(tables, weights), abs=1e-7)


@pytest.mark.parametrize("items", list(permutations(range(4))))
def test_the_outcome_of_ties_may_have_any_number(items):
    a, b, c, tie = items
    star, triangle = [(a, b), (b, c)], [(a, b), (b, c), (a, c)]
    for pairs, times, stay in ((star, (1, 1), (0, 0)), (star, (2, 1), (1, 0)), (triangle, (1, 1, 1), (1, 1, 1))):
        menus = Menus(3 * np.arange(len(pairs) + 1), np.sort([[*pair, tie] for pair in pairs], axis=1).reshape(-1), 4)
        kept = relevant_pairs(menus, np.array(times), np.ones(len(menus.item), bool), np.ones(len(menus), bool))
        assert kept.tolist() == np.repeat(np.array(stay, bool), 3).tolist()
