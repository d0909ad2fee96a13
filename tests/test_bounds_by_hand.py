"""Sharp bounds, menus to ask and gains by hand."""

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from hand_examples import DECOY, FITS

import rumflow as rf
from rumflow.core.graph import GraphTooLargeError
from rumflow.inference import sharp
from rumflow.inference.bounds import _asked_functional, ask_functionals, exact_fit
from rumflow.inference.next_menu import _candidates
from rumflow.inference.sharp import given_by, independent, last_items, lay_out

# Sharp bounds -----------------------------------------------------------------------------------------------------------------


def test_menus_of_a_fit_beside_others():
    fit = rf.project(FITS, tol=1e-12)
    given = given_by(fit)
    assert given.menus.tolist() == [[True, True, False], [True, True, True]]
    assert (given.seen == given.menus).all()
    assert given.values[1] == pytest.approx([0.5, 0.3, 0.2])
    further = np.array([[True, False, True], [True, True, False]])
    layout = lay_out(given, further)
    assert layout.menus.tolist() == [[True, True, False], [True, False, True], [True, True, True]]
    assert (layout.own.tolist(), layout.new.tolist()) == ([0, 2], [1, 0])
    assert layout.fixed.tolist() == [[True, True, False], [False] * 3, [True] * 3]
    assert last_items(layout.menus).tolist() == [1, 2, 2]
    assert independent(layout.menus, layout.fixed).tolist() == [[True, False, False], [False] * 3, [True, True, False]]
    partly = np.array([[True, False, False], [False] * 3, [True] * 3])
    assert independent(layout.menus, partly).tolist() == [[True, False, False], [False] * 3, [True, True, False]]


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_what_a_fit_pulls_at(route):
    """a has 27/70 of both menus: fitted less observed is (6, -6) and (-8, 4, 4) seventieths, where it is known."""
    fit = rf.project(DECOY, tol=1e-12, route=route)
    pull = given_by(fit).pull
    expected = np.array([[6, -6, 0], [-8, 4, 4]]) / 70
    assert pull == pytest.approx(expected if route == "graph" else np.zeros((2, 3)), abs=1e-6)


def test_bounds_on_menus_that_are_not_linked():
    """{d, e} has nothing to do with the rest: its part of a functional is known, beside a range from elsewhere."""
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 5, "b": 3, "c": 2}, ("d", "e"): {"d": 1, "e": 3}})
    both = {(("a", "b"), "a"): 1.0, (("d", "e"), "d"): 4.0, (("e",), "e"): 10.0}
    found = rf.bounds(data, functional=both, confidence=None)
    assert found.interval == pytest.approx((0.5 + 1.0 + 10.0, 0.7 + 1.0 + 10.0), abs=1e-9)
    known = rf.bounds(data, functional={(("d", "e"), "d"): 4.0, (("a", "b", "c"), "c"): 10.0}, confidence=None)
    assert known.interval == pytest.approx((3.0, 3.0), abs=1e-9)
    assert known.gap == 0.0
    minus = rf.bounds(data, functional={(("a", "b"), "a"): -2.0}, confidence=None)
    assert minus.interval == pytest.approx((-1.4, -1.0), abs=1e-9)


@pytest.mark.parametrize(("low", "high"), [((0.5, 0.45), (-0.7, -0.8)), ((0.5, 0.4), (-0.7, -0.75))])
def test_the_gap_is_that_of_the_rougher_end(low, high, monkeypatch):
    """Programmes that end with a value and a bound: the bounds count, and the larger of what they may be off."""

    def minimise(cost):
        value, bound = low if cost.sum() > 0 else high
        return SimpleNamespace(value=value, bound=bound)

    monkeypatch.setattr(sharp, "make_programs", lambda *_: SimpleNamespace(minimise=minimise))
    found = rf.bounds(FITS, ["a", "c"], "a", confidence=None)
    assert found.gap == pytest.approx(0.1)
    assert found.interval == (low[1], -high[1])


def test_functionals_by_label_and_by_array():
    fit = exact_fit(FITS)
    table = {(("b", "a"), "a"): 2.0, (("a", "c"), "c"): -1.0, (("c",), "c"): 5.0, (("a", "b"), "a"): 1.0}
    asked = _asked_functional(fit.items, table)
    assert asked.menus.tolist() == [[True, True, False], [True, False, True]]
    assert asked.coefficients.tolist() == [[[3.0, 0, 0], [0, 0, -1.0]]]
    assert asked.constant.tolist() == [5.0]
    array = np.zeros((8, 3))
    array[0b011, 0], array[0b101, 2], array[0b100, 2], array[0b001, 1] = 3.0, -1.0, 5.0, 7.0
    by_array = _asked_functional(fit.items, array)  # what stands outside a menu does not count
    assert by_array.menus.tolist() == asked.menus.tolist()
    assert by_array.coefficients.tolist() == asked.coefficients.tolist()
    assert by_array.constant.tolist() == [5.0]
    several = ask_functionals(fit.items, [{(("a", "c"), "a"): 1.0, (("a",), "a"): 3.0}, {(("a", "b"), "b"): 2.0}])
    assert several.menus.tolist() == [[True, True, False], [True, False, True]]
    assert several.coefficients.tolist() == [[[0, 0, 0], [1.0, 0, 0]], [[0, 2.0, 0], [0, 0, 0]]]
    assert several.constant.tolist() == [3.0, 0.0]
    for wrong in (np.inf, np.nan):
        with pytest.raises(rf.InputError, match="a finite number is needed"):
            _asked_functional(fit.items, {(("a", "b"), "a"): wrong})
        with pytest.raises(rf.InputError, match="a finite number is needed"):
            ask_functionals(fit.items, [{(("a", "b"), "a"): wrong}])


def test_fits_to_start_from():
    fit = rf.project(FITS, tol=1e-12)
    assert exact_fit(fit) is fit
    assert exact_fit(fit, None) is fit
    for options in ({"weights": "counts"}, {"model": rf.RandomUtility()}, {"route": "graph"}):
        with pytest.raises(rf.InputError, match="a Projection has its own weights, model and route"):
            exact_fit(fit, **options)
    assert exact_fit(DECOY).distance == pytest.approx(np.sqrt(24 / 7))
    assert exact_fit(DECOY, None).distance == pytest.approx(np.sqrt(24 / 700))
    assert exact_fit(rf.simulate.dirichlet(3, 0)).weighted is False


# Menus to ask -----------------------------------------------------------------------------------------------------------------


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
    true_worth = module._worth

    def large(fit, row, *rest):
        if not row[0]:
            raise GraphTooLargeError("too large", 1, 1, 1, 1)
        return true_worth(fit, row, *rest)

    monkeypatch.setattr(module, "_worth", large)
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
    rows, left = _candidates(menus, 10)
    assert [int(row @ [1, 2, 4, 8]) for row in rows] == expected
    assert left == 0
    rows, left = _candidates(menus, 4)
    assert [int(row @ [1, 2, 4, 8]) for row in rows] == expected[:4]
    assert left == 2
    assert _candidates(np.ones((1, 2), bool), 6)[0].shape == (0, 2)


# Who gains --------------------------------------------------------------------------------------------------------------------


def test_ratios_where_nobody_may_take_the_item():
    """From {a, b, c} nobody takes c: of those who would, nothing is known."""
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 5, "b": 5, "c": 0}})
    found = rf.diversion(data, "c", confidence=None)
    assert found.ratio_lower.tolist() == [0.0, 0.0]
    assert found.ratio_upper.tolist() == [1.0, 1.0]
    assert found.as_table().title == "Who gains when c leaves {a, b, c}; its share there is 0.000"
    largest = rf.diversion(FITS, "a", confidence=None)
    assert largest.menu == ("a", "b", "c")
    unseen = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}}, items=["a", "b", "c"])
    assert rf.diversion(unseen, "c", confidence=None).menu == ("a", "b", "c")
    with pytest.raises(rf.InputError, match=r"menu=\{c\}: at least 2 items are needed"):
        rf.diversion(FITS, "c", ("c",))


def test_shares_that_are_nearly_known():
    found = rf.diversion(FITS, "c", confidence=None)
    for width, text in ((4e-4, "0.200"), (6e-4, "0.200 to 0.201")):
        title = replace(found, share=(0.2, 0.2 + width)).as_table().title
        assert title == f"Who gains when c leaves {{a, b, c}}; its share there is {text}"
    gains = replace(found.gains, notes=("", "mind this"))
    assert replace(found, gains=gains).as_table().note.endswith("turn to this item. b: mind this.")


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


def test_sharp_bounds_and_confidence_intervals_are_told_apart():
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 30, "b": 30, "c": 40}, ("a", "b"): {"a": 50, "b": 50}})
    one = rf.bounds(data, functional=rf.functionals.share(("a", "c"), "a"), n_boot=49, seed=1)
    low, high = one.confidence_interval()
    assert low < one.interval[0] <= one.interval[1] < high
    assert (low, high) == (one.confidence_lower[0], one.confidence_upper[0])
    both = rf.bounds(data, ("a", "c"), n_boot=49, seed=1)
    assert both.confidence_interval("c") == (both.confidence_lower[1], both.confidence_upper[1])
    with pytest.raises(rf.InputError, match="there are intervals for 2 items"):
        both.confidence_interval()
    with pytest.raises(rf.InputError, match="item 'd': intervals were computed for"):
        both.confidence_interval("d")
    with pytest.raises(rf.InputError, match="no confidence intervals were computed"):
        rf.bounds(data, ("a", "c"), confidence=None).confidence_interval("a")
