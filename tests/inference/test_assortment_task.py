"""The task of one search: what a menu may as well have, past assortments, the line of progress."""

import tracemalloc

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference.assortment_inputs import find_items
from rumflow.inference.assortment_task import SearchLine, Task
from rumflow.inference.bounds import exact_fit
from rumflow.inference.populations import Fitted
from tests.reference.examples import SHOP


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
        apart = {4, 5} if rng.random() < 0.3 else set()
        groups = [find_items(fit.items, apart, "never_together")] if apart else []
        task = Task(fit, revenue, 0, None, np.zeros(n, bool), groups)
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


def task(data=SHOP, revenue=None, outside="out", size=None, must=(), apart=()):
    needed, groups = (find_items(data.items, must), [find_items(data.items, group) for group in apart])
    return Task(exact_fit(data), revenue or {"a": 3.0, "b": 4.0}, outside, size, needed, groups)


def test_a_task_by_hand():
    own = task()
    assert own.fit.items == ("out", "a", "b")
    assert own.values.tolist() == [0.0, 3.0, 4.0]
    assert own._tol == pytest.approx(4e-6)
    assert own._order.tolist() == [2, 1, 0]
    alone = np.array([True, False, False])
    assert own.range(Fitted(own.fit), alone) == (0.0, 0.0)
    assert own.range(Fitted(own.fit), np.array([True, False, True])) == pytest.approx((0.8, 2.0), abs=1e-9)
    assert own.range(Fitted(own.fit), np.array([True, True, False])) == pytest.approx((1.2, 1.2), abs=1e-9)
    assert [row[0].tolist() for row in own.past] == [[True, True, True], [True, True, False]]
    assert [row[1:] for row in own.past] == [pytest.approx((1.7, 1.7)), pytest.approx((1.2, 1.2))]
    rows = own.rows(alone, alone)
    assert [(row.name, row.allowed) for row in rows] == [
        ("best in the worst case", True), ("best of the fit", True), ("past 1", True), ("past 2", True)
    ]  # fmt: skip
    small = task(size=1)
    assert [row.allowed for row in small.rows(alone, alone)] == [True, True, False, True]
    assert rows[2].labels(own.fit) == ("out", "a", "b")
    assert own.table(rows[:1])["size"] == [0]
    with pytest.raises(rf.InputError, match="no assortment satisfies max_size, must and never_together together"):
        task(must=["a", "b"], apart=[("a", "b")])
    with pytest.raises(rf.InputError, match="the outside option 'out' is on every menu"):
        task(apart=[("a", "out")])


def test_past_assortments_stand_by_what_they_promise():
    """Of the larger menu only a was recorded: b has at least the 5 % that a has lost, at most all of the rest."""
    data = rf.ChoiceData(
        ("out", "a", "b"),
        np.array([[True, True, False], [True, True, True]]),
        np.array([[60.0, 40.0, np.nan], [np.nan, 35.0, np.nan]]),
        np.array([100.0, 100.0]),
    )
    own = task(data, {"a": 3.0, "b": 1.0})
    assert [row[0].tolist() for row in own.past] == [[True, True, False], [True, True, True]]
    (_, low, high), (_, least, most) = own.past
    assert (low, high) == pytest.approx((1.2, 1.2), abs=1e-9)
    assert (least, most) == pytest.approx((1.05 + 0.05, 1.05 + 0.65), abs=1e-6)


def test_time_is_up_before_anything_was_valued():
    own = task()
    menus = [np.array([True, False, True]), np.array([True, True, False])]
    found = own.search(Fitted(own.fit), None, menus, np.inf, -np.inf, lambda *_: None)
    assert (found.menu.tolist(), found.reason) == ([True, False, True], "max_seconds")
    assert found.value == 0.0  # what the cheapest item earns
    assert found.upper == 4.0  # no menu earns more than the dearest item


def test_the_line_of_a_search(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    line = SearchLine(True)
    for seconds in (0.1, 0.2, 0.21, 0.4, 0.42):
        now[0] = seconds
        line.show(3, 1.5, 2.0)
    line.end()
    text = "\rrumflow: 3 sets of menus, best 1.5, none above 2, 0 s so far   "
    assert capsys.readouterr().err == 2 * text + "\r" + " " * (len(text) - 1) + "\r"
    quiet = SearchLine(False)
    now[0] = 9.0
    quiet.show(3, 1.5, 2.0)
    quiet.end()
    assert capsys.readouterr().err == ""


def test_many_items_have_no_table_of_items_by_items(monkeypatch):
    monkeypatch.setattr("rumflow.inference.assortment_task._MOST_LINKED", 100)
    n = 6000
    data = rf.ChoiceData.from_counts({tuple(range(n)): {0: 3, 5: 2, n - 1: 5}, (0, n - 1): {0: 4, n - 1: 6}})
    fit = rf.project(data)
    tracemalloc.start()
    own = Task(fit, np.arange(n)[::-1].astype(float), n - 1, None, np.zeros(n, bool), [])
    found = own.search_fit(np.inf)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n / 2
    assert found.menu[n - 1]


def test_a_search_of_the_fit_without_time_or_memory_has_a_recorded_menu(monkeypatch):
    data = rf.ChoiceData.from_counts({("o", "a", "b"): {"o": 5, "a": 3, "b": 2}, ("o", "a"): {"o": 6, "a": 4}})
    for reason in ("max_seconds", "too large"):
        own = Task(rf.project(data), {"a": 4.0, "b": 2.0}, "o", None, np.zeros(3, bool), [])
        if reason == "max_seconds":
            monkeypatch.setattr("rumflow.inference.assortment_search._AT_ONCE", 1)  # a look after every ranking
            found = own.search_fit(-np.inf)
            monkeypatch.undo()
        else:
            monkeypatch.setattr("rumflow.core.memory.fits", lambda _: False)
            found = own.search_fit(np.inf)
        assert found.reason == reason
        assert any((found.menu == menu).all() for menu in own.given.menus)
        assert found.upper == 4.0
