"""The best assortment: against every menu and every ranking, kernels against plain twins, limits, time and Ctrl-C."""

from __future__ import annotations

from importlib import import_module
from itertools import permutations

import numpy as np
import pytest
from experiments.robust import (
    allowed_menus,
    choices_of,
    compare,
    compare_level,
    random_case,
    random_market,
    worst_revenues,
)

import rumflow as rf
from rumflow.core.graph import GraphTooLargeError
from rumflow.inference.assortment_search import Goal, Limits, Space, WorstCases, least_revenues, relate, search
from rumflow.inference.assortment_task import Task
from rumflow.models.open_menus import as_words

DATA = rf.ChoiceData.from_counts(
    {
        ("none", "tea", "milk", "beer"): {"none": 20, "tea": 30, "milk": 30, "beer": 20},
        ("none", "tea", "milk"): {"none": 30, "tea": 35, "milk": 35},
        ("none", "milk", "beer"): {"none": 35, "milk": 40, "beer": 25},
        ("none", "beer", "wine"): {"none": 40, "beer": 35, "wine": 25},
    }
)
REVENUE = {"tea": 3.0, "milk": 2.0, "beer": 5.0, "wine": 7.0}


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_agrees_with_enumeration(n):
    for seed in range(12):
        found, best, own, _ = compare(n, seed)
        assert found.lower == pytest.approx(best, abs=1e-5)
        assert own == pytest.approx(best, abs=1e-5)
        assert found.gap <= 2e-5
        assert found.reason == ""


@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_level_agrees_with_enumeration(n):
    """Every menu, over all mixtures of all rankings that are not rejected."""
    searched = 0
    for seed in range(6):
        found, best, own, _ = compare_level(n, seed)
        if not np.isnan(best):
            searched += 1
            assert found.lower == pytest.approx(best, abs=1e-5)
            assert own == pytest.approx(best, abs=1e-5)
            assert found.gap <= 2e-5
    assert searched >= 5


def test_known_preferences():
    """With pairs that everybody agrees on, only the rankings that respect them count."""
    for seed in range(6):
        table, revenue, _ = random_case(5, seed)
        above = [(1, 2), (3, 0)]
        fit = rf.project(table, model=rf.RandomUtility(above=above), tol=1e-12, throw=False)
        found = rf.best_assortment(fit, revenue, 0)
        orders = [o for o in permutations(range(5)) if all(o.index(a) < o.index(b) for a, b in above)]
        seen = ~np.isnan(fit.fitted) & ~np.isnan(fit.frequencies) & (fit.membership.sum(axis=1) >= 2)[:, None]
        menus = allowed_menus(5, {})
        worst = worst_revenues(fit.membership, seen, fit.fitted, revenue, menus, np.array(orders))
        assert found.lower == pytest.approx(worst.max(), abs=1e-5)


def test_an_item_below_another_does_not_bring_in_one_that_is_not():
    """Everybody prefers 1 to 2 and takes 1 rather than nothing: beside 1, item 2 does no harm, but 3 would."""
    table = np.full((16, 4), np.nan)
    table[0b0011] = 0.0, 1.0, 0.0, 0.0
    found = rf.best_assortment(table, [0.0, 10.0, 1.0, 2.0], 0, must=(2,), model=rf.RandomUtility(above=[(1, 2)]))
    assert set(found.menu) == {0, 1, 2}
    assert found.lower == pytest.approx(10.0)


def test_what_a_menu_may_as_well_have():
    """k beside i: on every recorded menu with i, not cheaper, in no group, and below nothing that i is not below."""
    rng = np.random.default_rng(7)
    implied = 0
    for _ in range(30):
        n = 6
        menus = rng.random((3, n)) < 0.6
        menus[:, 0] = menus[0, 1] = menus[1:, 5] = True  # two items or more: a menu of one says nothing
        data = rf.ChoiceData.from_counts({tuple(np.flatnonzero(m).tolist()): {0: 5} for m in menus}, items=range(n))
        above = [(1, 2), (2, 3), (4, 3)][: rng.integers(4)]
        revenue = rng.integers(1, 4, n).astype(float)
        revenue[0] = 0.0
        fit = rf.project(data, model=rf.RandomUtility(above=above))
        task = Task(fit, revenue, 0, None, (), [(4, 5)] if rng.random() < 0.3 else [])
        apart = {4, 5} if len(task._space._limits.apart) else set()
        over = {x: {a for a, b in above if b == x} for x in range(n)}
        for x in range(n):
            over[x] |= {a for b in over[x] for a in over[b]}
        for i in range(n):
            for k in range(n):
                expected = (
                    i != k
                    and k not in apart
                    and revenue[k] >= revenue[i]
                    and all(m[k] for m in menus if m[i])
                    and over[i] <= over[k] | {k}
                )
                assert task._space._implied[task._place[i], task._place[k]] == expected
                implied += expected
    assert implied > 50


def test_the_newest_populations_are_kept(monkeypatch):
    monkeypatch.setattr("rumflow.inference.assortment_search._MOST_POPULATIONS", 2)
    menus = np.ones((1, 3), np.bool_)
    asked = []

    def cheapest(worth, taken):
        asked.append(np.eye(taken.shape[1])[len(asked) % taken.shape[1]])
        return asked[-1]

    cases = WorstCases(menus, menus, np.zeros((3, 3), np.bool_), np.array([2.0, 1.0, 0.0]), cheapest)
    cases.learn(np.array(list(permutations(range(3)))))
    nothing = np.zeros((0, 3), np.bool_)
    space = Space(cases.types._revenue, Limits(np.array([False, False, True]), 3, nothing), np.zeros((3, 3), np.bool_))
    for count in range(1, 5):
        cases.bound(space, space.root(), -1.0)
        assert [id(kept) for kept in cases._populations] == [id(own) for own in asked[-min(count, 2) :]]


def test_the_best_of_the_fit():
    for seed in range(5):
        table, revenue, limits = random_case(5, seed)
        fit = rf.project(table, tol=1e-12)
        found = rf.best_assortment(fit, revenue, 0, **limits)
        menus = allowed_menus(5, limits)
        earned = revenue[choices_of(fit.rankings.orders, menus)].T @ fit.rankings.weights
        assert found.table["fit"][1] == pytest.approx(earned.max(), abs=1e-5)


def plain_above(taken, membership, known):
    """What each type likes better than what, by chains of any length."""
    n = membership.shape[1]
    found = []
    for row in taken:
        better = known.copy()  # [a, b]: a above b
        for x, menu in zip(row, membership, strict=True):
            better[x] |= menu & (np.arange(n) != x)
        for _ in range(n.bit_length()):  # each round doubles the length
            better |= (better.astype(int) @ better.astype(int)) > 0
        found.append(better.T)
    return np.array(found)


@pytest.mark.parametrize("n", [5, 70, 140])
def test_kernels(n):
    rng = np.random.default_rng(n)
    membership = rng.random((6, n)) < 0.5
    membership[:, :2] = True
    taken = choices_of(np.array([rng.permutation(n) for _ in range(7)]), membership)
    known = np.zeros((n, n), np.bool_)
    expected = plain_above(taken, membership, known)
    words = as_words(known)
    above = np.empty((7, n, words.shape[1]), np.uint64)
    relate(taken, membership, words, above)
    assert (above == as_words(expected.reshape(-1, n)).reshape(above.shape)).all()
    revenue = np.sort(rng.integers(0, 9, n).astype(float))[::-1].copy()
    for _ in range(20):
        state = rng.integers(0, 3, n)
        state[n - 1] = 1
        inside, allowed = np.flatnonzero(state == 1), state != 2
        worth = np.empty(7)
        least_revenues(above, inside, as_words(allowed[None])[0], revenue, worth)
        plain = [
            min(max(revenue[y] for y in range(n) if y == x or (row[x, y] and allowed[y])) for x in inside)
            for row in expected
        ]
        assert worth.tolist() == plain


def test_space_keeps_the_limits():
    n = 5
    must, apart = np.zeros(n, np.bool_), np.zeros((1, n), np.bool_)
    must[[4, 0]], apart[0, [1, 2]] = True, True
    space = Space(np.arange(n)[::-1].astype(float), Limits(must, 2, apart), np.zeros((n, n), np.bool_))
    found, todo = set(), [space.root()]
    while todo:
        node = todo.pop()
        free = np.flatnonzero(~(node.inside | node.outside))
        if len(free):
            todo += space.split(node, int(free[0]))
        else:
            found.add(tuple(np.flatnonzero(node.inside).tolist()))
    assert found == {(0, 4), (0, 1, 4), (0, 2, 4), (0, 3, 4)}


def test_labels_table_and_summary():
    found = rf.best_assortment(DATA, REVENUE, "none")
    assert "none" in found.menu
    assert found.lower <= found.table["fit"][0] + 1e-9 <= found.upper + 2e-9
    assert found.lower >= max(found.table["lower"]) - 1e-5
    assert found.table["assortment"][:2] == ["best in the worst case", "best of the fit"]
    assert "No other assortment promises more" in found.summary()
    assert "best in the worst case" in found.to_frame()["assortment"].tolist()
    shown = found.as_table()
    assert [row[shown.columns.index("menu")] for row in shown.rows] == [
        "{" + ", ".join(item for item in menu if item != "none") + "}" for menu in found.table["menu"]
    ]
    same = rf.bounds(DATA, functional=rf.functionals.revenue(found.menu, REVENUE), confidence=None)
    assert same.interval == pytest.approx((found.lower, found.upper), abs=1e-6)
    limited = rf.best_assortment(DATA, REVENUE, "none", max_size=1, must=["tea"])
    assert set(limited.menu) == {"none", "tea"}
    assert not all(limited.table["allowed"])


def test_level_labels_table_and_summary():
    found = rf.best_assortment(DATA, REVENUE, "none", confidence=0.9)
    assert found.confidence == 0.9
    assert found.table["assortment"][:2] == ["best at 90 %", "best in the worst case"]
    assert (found.lower, found.upper) == (found.table["from"][0], found.table["to"][0])
    assert found.lower >= max(found.table["from"]) - 1e-5
    for low, least, most, high in zip(*(found.table[name] for name in ("from", "lower", "upper", "to")), strict=True):
        assert low <= least + 1e-6  # the fit is not rejected, nor are the populations equal to it
        assert most <= high + 1e-6
    assert "Best at 90 %" in found.summary()
    assert "No other assortment promises more" in found.summary()
    higher = rf.best_assortment(DATA, REVENUE, "none", confidence=0.99)
    assert higher.lower < found.lower < rf.best_assortment(DATA, REVENUE, "none").lower
    again = rf.best_assortment(DATA, REVENUE, "none", confidence=0.9)
    assert (again.menu, again.lower) == (found.menu, found.lower)
    other = rf.best_assortment(DATA, REVENUE, "none", confidence=0.9, seed=1)
    assert other.lower != found.lower
    assert other.lower == pytest.approx(found.lower, rel=0.03)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outside_option": None}, "it is needed. Name the item.*On every recorded menu: none"),
        ({"outside_option": "water"}, "item 'water' is unknown"),
        ({"revenue": {"tea": 1.0}}, "there is none for"),
        ({"revenue": REVENUE | {"rum": 1.0}}, "item 'rum' is unknown"),
        ({"revenue": REVENUE | {"tea": np.inf}}, "revenue\\['tea'\\]=inf: a finite number"),
        ({"revenue": [1.0, 2.0]}, "5 numbers are needed"),
        ({"must": "tea"}, "a list of items is needed"),
        ({"must": ["rum"]}, "must: item 'rum' is unknown"),
        ({"max_size": -1}, "max_size=-1"),
        ({"max_size": 0, "must": ["tea"]}, "no assortment satisfies"),
        ({"never_together": [("none", "tea")]}, "is on every menu"),
        ({"must": ["tea", "milk"], "never_together": [("tea", "milk")]}, "no assortment satisfies"),
        ({"max_seconds": 0}, "max_seconds=0"),
        ({"model": rf.SinglePeaked(["none", "tea", "milk", "beer", "wine"])}, "assortments need rankings"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(rf.InputError, match=message):
        rf.best_assortment(DATA, **({"revenue": REVENUE, "outside_option": "none"} | arguments))


def test_confidence_needs_counts():
    fit = rf.project(DATA)
    with pytest.raises(rf.InputError, match="a level needs ChoiceData"):
        rf.best_assortment(fit, REVENUE, "none", confidence=0.9)


def test_time_and_interruption(monkeypatch):
    data, revenue = random_market(12, 8, 30, 1, 0.5)
    whole = rf.best_assortment(data, revenue, 12)
    short = rf.best_assortment(data, revenue, 12, max_seconds=1e-3)
    assert short.reason == "max_seconds"
    assert short.lower <= whole.lower + 1e-4
    assert short.lower + short.gap >= whole.lower - 1e-4
    assert "time was up" in short.summary()
    calls = []

    def interrupt(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return true_worst(*arguments)

    assortment = import_module("rumflow.inference.populations")
    true_worst = assortment.worst_case
    monkeypatch.setattr(assortment, "worst_case", interrupt)
    kept = rf.best_assortment(data, revenue, 12)
    assert kept.reason == "interrupted"
    assert kept.lower + kept.gap >= whole.lower - 1e-4
    assert "interrupted" in kept.summary()


def test_a_graph_that_is_too_large(monkeypatch):
    """The best of the past stands, with what may be missed."""
    module = import_module("rumflow.inference.populations")
    data, revenue = random_market(12, 8, 30, 1, 0.5)
    whole = rf.best_assortment(data, revenue, 12)

    def fail(*arguments):
        raise GraphTooLargeError("too large", 1, 1, 1, 1)

    monkeypatch.setattr(module, "worst_case", fail)
    found = rf.best_assortment(data, revenue, 12)
    assert found.reason == "too large"
    assert found.lower <= whole.lower + 1e-4 <= found.lower + found.gap + 2e-4
    assert "is too large" in found.summary()


def test_plot():
    pytest.importorskip("matplotlib")
    ax = rf.best_assortment(DATA, REVENUE, "none").plot()
    assert "earns" in ax.get_title(loc="left")


def test_what_an_interruption_cuts_off_still_counts(monkeypatch):
    """Ctrl-C between taking a node off and putting its parts on: the bound of the node is kept."""
    kept = Space.split

    def stop(self, node, item):
        raise KeyboardInterrupt

    space = Space(
        np.array([0.0, 1.0, 2.0]),
        Limits(np.array([True, False, False]), 3, np.zeros((0, 3), bool)),
        np.zeros((3, 3), bool),
    )
    start = np.array([True, False, False]), 0.0
    monkeypatch.setattr(Space, "split", stop)
    found = search(space, lambda node, least: (1.5, 1), lambda menu: 0.5, start, Goal(1e-9))
    assert (found.reason, found.upper) == ("interrupted", 1.5)
    monkeypatch.setattr(Space, "split", kept)
