"""The next menu to ask: widths against bounds, candidates and their order, limits."""

import tracemalloc
from importlib import import_module

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph import GraphTooLargeError
from rumflow.inference.next_menu import default_candidates, open_share
from rumflow.inference.sharp import fixed_by
from tests.reference.enumeration import random_data
from tests.reference.examples import FITS


def test_next_menu_by_width(capsys):
    data = random_data(5, 1)
    found = rf.next_menu(data, progress=True)
    count = len(found.menus)
    assert capsys.readouterr().err.endswith(f"rumflow: {count} of {count} menus, 0 s to go   \n")
    assert len(found.menus) == len(set(found.menus))
    assert not set(map(frozenset, found.menus)) & set(map(frozenset, data.menus))
    for k in (0, len(found.menus) // 2, -1):
        bounds = rf.bounds(data, found.menus[k], confidence=None)
        assert found.width[k] == pytest.approx((bounds.upper - bounds.lower).sum(), abs=1e-7)
        answers = np.random.default_rng(5).dirichlet(np.ones(len(bounds.items)), 4000)
        outside = ((answers < bounds.lower) | (answers > bounds.upper)).any(axis=1).mean()
        assert found.refutes[k] == pytest.approx(outside, abs=0.05)
    assert (np.diff(found.width) <= 1e-12).all()
    assert found.menu == found.menus[0]
    assert "What to ask next" in found.summary()
    bars = [line.get_xdata() for line in found.plot(top=3).lines if line.get_linewidth() > 2]
    assert np.array(bars) == pytest.approx(np.column_stack([np.zeros(3), found.width[:3]]))


def test_menus_whose_answer_is_implied_need_no_programme(monkeypatch):
    counts = {("a", "b", "c", "d"): {"a": 60, "b": 40, "c": 0, "d": 0}, ("a", "b"): {"a": 60, "b": 40}}
    fit = rf.project(rf.ChoiceData.from_counts(counts))
    menus = [("a", "b", "c"), ("a", "b", "d")]
    for menu in menus:  # by the programmes themselves
        found = rf.bounds(fit, menu, confidence=None)
        assert found.upper == pytest.approx(found.lower, abs=1e-9)
    module = import_module("rumflow.inference.next_menu")
    monkeypatch.setattr(module, "make_programs", None)
    answer = rf.next_menu(fit, menus)
    assert set(answer.menus) == set(menus)
    assert answer.width.tolist() == [0.0, 0.0]
    assert answer.refutes.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seed", range(6))
def test_no_bounds_are_wider_than_what_is_open(seed):
    fit = rf.project(random_data(5, seed))
    given = fixed_by(fit)
    rows, _ = default_candidates(given.menus, 12)
    for row in rows:
        found = rf.bounds(fit, [fit.items[x] for x in np.flatnonzero(row)], confidence=None)
        assert (found.upper - found.lower).max() <= open_share(given, row) + 1e-7


def test_next_menu_for_a_functional():
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 5, "b": 3, "c": 2}, ("d", "e"): {"d": 1, "e": 1}})
    target = rf.functionals.share(("a", "b"), "a")
    found = rf.next_menu(data, [("b", "c"), ("a", "b"), ("d", "e", "a")], target)
    assert found.before == pytest.approx(0.2)
    assert found.menus[0] == ("a", "b")  # asking the question itself
    assert found.shrinks[0] == pytest.approx(0.2)
    assert found.shrinks[1] < 0.2
    rows, left = default_candidates(np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]], bool), 100)
    assert {tuple(np.flatnonzero(row).tolist()) for row in rows} >= {(0, 1), (0, 1, 2, 3, 4), (0, 4)}
    assert left == 0
    assert default_candidates(np.array([[1, 1, 1, 0, 0]], bool), 2)[1] > 0
    with pytest.raises(rf.InputError, match="at least 2 items are needed"):
        rf.next_menu(data, [("a",)])


def test_next_menu_keeps_what_is_done(monkeypatch):
    data = random_data(5, 1)
    module = import_module("rumflow.inference.next_menu")
    true_worth, calls = module.worth_of_menu, []

    def interrupt(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return true_worth(*arguments)

    monkeypatch.setattr(module, "worth_of_menu", interrupt)
    found = rf.next_menu(data)
    assert len(found.menus) == 3
    assert "Interrupted" in found.summary()


def test_candidates_that_are_given():
    found = rf.next_menu(FITS, [("b", "c"), ("c", "b"), ("a", "b"), ("a", "c")])
    assert found.menus == (("b", "c"), ("a", "c"))  # none twice, and none that was observed
    assert (found.skipped, found.reason) == (0, "")
    with pytest.raises(rf.InputError, match="all of these menus were observed"):
        rf.next_menu(FITS, [("a", "b")])
    assert rf.next_menu(FITS, []).menus == ()
    with pytest.raises(rf.InputError, match=r"candidates=\{a\}: at least 2 items are needed"):
        rf.next_menu(FITS, [("a",)])
    for wrong in (0, True, 1.5):
        with pytest.raises(rf.InputError, match="a whole number, 1 or more, is needed"):
            rf.next_menu(FITS, most=wrong)


def test_menus_whose_graph_is_too_large(monkeypatch):
    module = import_module("rumflow.inference.next_menu")
    true_worth = module.worth_of_menu

    def large(fit, row, *rest):
        if not row[0]:
            raise GraphTooLargeError("too large", 1, 1, 1, 1)
        return true_worth(fit, row, *rest)

    monkeypatch.setattr(module, "worth_of_menu", large)
    found = rf.next_menu(FITS)
    assert found.menus == (("a", "c"),)
    assert (found.skipped, found.reason) == (1, "For 1 of them the graph of all menus is too large.")
    data = rf.ChoiceData.from_counts({("a", "b", "c", "d"): {"a": 5, "b": 3, "c": 1, "d": 1}})
    few = rf.next_menu(data, most=5)  # 10 candidates: {b, c, d}, {b, c}, {b, d} and {c, d} have no a
    assert few.skipped == 10 - len(few.menus)


def test_equal_menus_are_ordered_by_what_they_refute():
    """Shrinkage first, then width, then the chance to refute: all of them falling."""
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 5, "b": 3, "c": 2}, ("a", "d"): {"a": 1, "d": 1}})
    found = rf.next_menu(data)
    keys = list(zip(found.width.round(9).tolist(), found.refutes.tolist(), strict=True))
    assert keys == sorted(keys, reverse=True)
    for menu, width in zip(found.menus, found.width, strict=True):
        bounds = rf.bounds(data, menu, confidence=None)
        assert width == pytest.approx((bounds.upper - bounds.lower).sum(), abs=1e-8)


def test_candidates_in_their_order():
    """Less one item; unions and intersections; pairs. Small menus first, then by bit mask; none twice, none observed."""
    menus = np.array([[1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 0, 0]], bool)
    expected = [0b101, 0b110, 0b1010, 0b1100, 0b1111, 0b1001]
    rows, left = default_candidates(menus, 10)
    assert [int(row @ [1, 2, 4, 8]) for row in rows] == expected
    assert left == 0
    rows, left = default_candidates(menus, 4)
    assert [int(row @ [1, 2, 4, 8]) for row in rows] == expected[:4]
    assert left == 2
    assert default_candidates(np.ones((1, 2), bool), 6)[0].shape == (0, 2)


def test_menus_to_ask_have_the_outside_option():
    """Without {a, b, c} and its part {a, b}, those with a are {a, c}; {b, c} goes."""
    assert set(rf.next_menu(FITS).menus) == {("a", "c"), ("b", "c")}
    assert rf.next_menu(FITS, outside_option="a").menus == (("a", "c"),)
    assert rf.next_menu(FITS, [("a", "c")], outside_option="a").menus == (("a", "c"),)
    with pytest.raises(
        rf.InputError, match=r"the menu \{b, c\} does not have the outside option 'a', which is on every menu"
    ):
        rf.next_menu(FITS, [("a", "c"), ("b", "c")], outside_option="a")
    with pytest.raises(rf.InputError, match="outside_option: item 'z' is unknown"):
        rf.next_menu(FITS, outside_option="z")


def test_candidates_of_many_pairs_are_counted_not_listed():
    """2,500 pairs: 12 million pairs of 5,000 items, of which 19,900 unions of four come first."""
    menus = np.zeros((2500, 5000), bool)
    menus[np.repeat(np.arange(2500), 2), np.arange(5000)] = True
    tracemalloc.start()
    rows, left = default_candidates(menus, 20_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6  # 60 GB where all were rows; these alone have 100 MB
    assert rows[:19_900].sum(axis=1).tolist() == [4] * 19_900
    assert np.flatnonzero(rows[19_900]).tolist() == [0, 2]
    assert len(rows) + left == 5000 * 4999 // 2 - 2500 + 19_900


def test_ctrl_c_among_the_candidates(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("rumflow.inference.next_menu"), "combinations", interrupt)
    with pytest.raises(KeyboardInterrupt, match="interrupted at the menus that could be asked"):
        rf.next_menu(FITS)
