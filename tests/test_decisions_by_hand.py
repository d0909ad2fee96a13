"""Bounds, menus to ask, assortments and budgets by hand; what is counted while they run, and what they assume."""

import inspect
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph import GraphTooLargeError
from rumflow.inference import populations
from rumflow.inference.assortment_inputs import find_items, find_revenue, require_seconds, require_size
from rumflow.inference.assortment_result import BestAssortment
from rumflow.inference.assortment_search import WorstCases
from rumflow.inference.assortment_task import Line, Task
from rumflow.inference.bounds import _asked_functional, ask_functionals, exact_fit
from rumflow.inference.conflicts.search import Search
from rumflow.inference.conflicts.subsets import Subsets, _half
from rumflow.inference.groups import GroupComparison, benjamini_hochberg, holm
from rumflow.inference.populations import Fitted
from rumflow.inference.sharp import given_by, independent, last_items, lay_out
from rumflow.output.progress import Counter

DECOY = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
FITS = rf.ChoiceData.from_counts({("a", "b"): {"a": 60, "b": 40}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
SHOP = rf.ChoiceData.from_counts({("out", "a", "b"): {"out": 50, "a": 30, "b": 20}, ("out", "a"): {"out": 60, "a": 40}})


EXPLAIN = import_module("rumflow.inference.explain")


def defaults(function):
    """The numbers and switches that a function assumes."""
    given = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    return {name: value for name, value in given.items() if isinstance(value, bool | int | float)}


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (rf.rum_test, (None,), {"n_boot": 999, "n_jobs": 1, "progress": False, "tol": 1e-9}),
        (rf.rum_test_many, (None,), {"n_boot": 999, "cluster": False, "n_jobs": 1, "progress": False, "tol": 1e-9}),
        (rf.compare_groups, (None,), {"n_boot": 999, "cluster": False, "n_jobs": 1, "progress": False}),
        (rf.bounds, (DECOY,), {"n_boot": 199, "progress": False}),
        (rf.explain, (DECOY, 7), {"level": 0.05, "n_boot": 199, "most": 3, "halves": 20, "cluster": False, "seed": 0,
                                  "progress": False}),
        (rf.next_menu, (DECOY, [("z",)]), {"most": 60, "seed": 0, "progress": False}),
        (rf.best_assortment, (DECOY, {}), {"n_boot": 999, "seed": 0, "progress": False}),
        (rf.fit_likelihood, (None,), {"tol": 1e-6, "max_iterations": 200, "throw": True}),
        (rf.compare_models, (DECOY, {}), {"tol": 1e-9, "progress": False, "n_boot": 0, "seed": 0, "likelihood": True}),
    ],
)  # fmt: skip
def test_what_is_assumed_where_nothing_is_said(function, arguments, expected):
    assert defaults(function) == expected
    with pytest.raises(rf.InputError):
        function(*arguments)


# What is counted --------------------------------------------------------------------------------------------------------------


def last_line(capsys):
    return capsys.readouterr().err.strip().split("\r")[-1].strip()


def test_what_is_counted_while_it_runs(capsys):
    rf.rum_test(DECOY, 7, 0.1, seed=0, progress=True)
    assert last_line(capsys) == "rumflow: 7 of 7 replicates, 0 s to go"
    rf.rum_test_many([DECOY, FITS], 7, 0.1, seed=0, progress=True)
    assert last_line(capsys) == "rumflow: 14 of 14 replicates, 0 s to go"
    rf.fit_likelihood(DECOY).lr_test(3, 0, progress=True)
    assert last_line(capsys) == "rumflow: 3 of 3 replicates, 0 s to go"
    rf.explain(DECOY, n_boot=19, halves=2, progress=True)
    text = capsys.readouterr().err
    assert "rumflow: 2 of 2 menus left out, 0 s to go" in text
    assert "rumflow: 2 of 2 half-samples, 0 s to go" in text
    rf.explain(DECOY, n_boot=19, halves=2)
    rf.rum_test(DECOY, 7, 0.1, seed=0)
    rf.bounds(FITS, ["a", "c"], confidence=None)
    assert capsys.readouterr().err == ""


@pytest.fixture
def counters(monkeypatch):
    """What was to be counted, and what was: [shown, total, words, pieces, ...] of every counter."""
    found = []

    class Counting(Counter):
        def __init__(self, show, total, what):
            super().__init__(show, total, what)
            self._list = [show, total, what]
            found.append(self._list)

        def add(self, count):
            self._list.append(count)
            super().add(count)

    for name in ("bounds", "sharp", "jobs", "explain", "likelihood", "next_menu"):
        monkeypatch.setattr(import_module(f"rumflow.inference.{name}"), "Counter", Counting)
    return found


def test_everything_is_counted_once(counters):
    rf.next_menu(FITS)
    assert counters.pop() == [False, 2, "menus", 1, 1]
    rf.fit_likelihood(DECOY).lr_test(3, 0)
    assert counters.pop() == [False, 3, "replicates", 1, 1, 1]
    rf.rum_test(DECOY, 107, 0.1, seed=0)
    assert counters.pop() == [False, 107, "replicates", 0, 100, 7]


def test_linear_programmes_are_counted_once(counters):
    rf.bounds(FITS, ["a", "c"], confidence=None)
    assert counters == [[False, 4, "linear programmes", 1, 1, 1, 1]]


def test_values_of_an_interval_are_counted(counters):
    """At most 27 for each: three inside, and for both ends four steps and eight halvings."""
    rf.bounds(FITS, ["a", "c"], n_boot=19, seed=1)
    assert counters[1][:3] == [False, 54, "values tested at most"]


def test_menus_left_out_and_half_samples_are_counted(counters):
    rf.explain(DECOY, n_boot=19, halves=2)
    assert counters[0][:3] == [False, None, "sets of menus tried"]
    assert counters[1:] == [[False, 2, "menus left out", 1, 1], [False, 2, "half-samples", 1, 1]]


def test_the_line_of_a_search(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("rumflow.inference.assortment_task.clock", lambda: now[0])
    line = Line(True)
    for seconds in (0.1, 0.2, 0.21, 0.4, 0.42):
        now[0] = seconds
        line.show(3, 1.5, 2.0)
    line.end()
    assert capsys.readouterr().err == 2 * "\rrumflow: 3 sets of menus, best 1.5, none above 2   " + "\n"
    quiet = Line(False)
    now[0] = 9.0
    quiet.show(3, 1.5, 2.0)
    quiet.end()
    assert capsys.readouterr().err == ""


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


def test_functionals_by_label_and_by_array():
    fit = exact_fit(FITS)
    table = {(("b", "a"), "a"): 2.0, (("a", "c"), "c"): -1.0, (("c",), "c"): 5.0, (("a", "b"), "a"): 1.0}
    asked = _asked_functional(fit, table)
    assert asked.menus.tolist() == [[True, True, False], [True, False, True]]
    assert asked.coefficients.tolist() == [[[3.0, 0, 0], [0, 0, -1.0]]]
    assert asked.constant.tolist() == [5.0]
    array = np.zeros((8, 3))
    array[0b011, 0], array[0b101, 2], array[0b100, 2], array[0b001, 1] = 3.0, -1.0, 5.0, 7.0
    by_array = _asked_functional(fit, array)  # what stands outside a menu does not count
    assert by_array.menus.tolist() == asked.menus.tolist()
    assert by_array.coefficients.tolist() == asked.coefficients.tolist()
    assert by_array.constant.tolist() == [5.0]
    several = ask_functionals(fit, [{(("a", "c"), "a"): 1.0, (("a",), "a"): 3.0}, {(("a", "b"), "b"): 2.0}])
    assert several.menus.tolist() == [[True, True, False], [True, False, True]]
    assert several.coefficients.tolist() == [[[0, 0, 0], [1.0, 0, 0]], [[0, 2.0, 0], [0, 0, 0]]]
    assert several.constant.tolist() == [3.0, 0.0]
    for wrong in (np.inf, np.nan):
        with pytest.raises(rf.InputError, match="must be finite"):
            _asked_functional(fit, {(("a", "b"), "a"): wrong})
        with pytest.raises(rf.InputError, match="must be finite"):
            ask_functionals(fit, [{(("a", "b"), "a"): wrong}])


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
    with pytest.raises(rf.InputError, match=r"the menu \{a\} leaves no choice"):
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
    with pytest.raises(rf.InputError, match=r"menu \{c\}: it must have 'c' and at least one other item"):
        rf.diversion(FITS, "c", ("c",))


def test_shares_that_are_nearly_known():
    found = rf.diversion(FITS, "c", confidence=None)
    for width, text in ((4e-4, "0.200"), (6e-4, "0.200 to 0.201")):
        title = replace(found, share=(0.2, 0.2 + width)).as_table().title
        assert title == f"Who gains when c leaves {{a, b, c}}; its share there is {text}"
    gains = replace(found.gains, notes=("", "mind this"))
    assert replace(found, gains=gains).as_table().note.endswith("turn to this item. b: mind this.")


# Assortments ------------------------------------------------------------------------------------------------------------------


def task(data=SHOP, revenue=None, outside="out", size=None, must=(), apart=()):
    return Task(exact_fit(data), revenue or {"a": 3.0, "b": 4.0}, outside, size, must, apart)


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
    assert found.value == pytest.approx(0.8, abs=1e-9)
    assert found.upper == 4.0  # no menu earns more than the dearest item


def test_ranges_where_the_graph_is_too_large(monkeypatch):
    def fail(*_):
        raise GraphTooLargeError("too large", 1, 1, 1, 1)

    own = Fitted(exact_fit(SHOP))
    full, new = np.array([True, True, True]), np.array([True, False, True])
    values = np.array([0.0, 3.0, 4.0])
    assert own._fitted == pytest.approx(np.array([[0.6, 0.4, 0.0], [0.5, 0.3, 0.2]]))
    monkeypatch.setattr(populations, "find_bounds", fail)
    assert own.range(full, values) == pytest.approx((1.7, 1.7))  # recorded in full: no search
    assert np.isnan(own.range(new, values)).all()
    assert len(own.range(new, values)) == 2


def test_the_best_in_the_worst_case_by_trying_all():
    data = rf.ChoiceData.from_counts(
        {
            ("out", "a", "b", "c"): {"out": 30, "a": 20, "b": 30, "c": 20},
            ("out", "a", "b"): {"out": 40, "a": 25, "b": 35},
            ("out", "c"): {"out": 55, "c": 45},
        }
    )
    revenue = {"a": 5.0, "b": 2.0, "c": 4.0}
    promised = {}
    for menu in (("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")):
        asked = rf.functionals.revenue(("out", *menu), revenue)
        promised[menu] = rf.bounds(data, functional=asked, confidence=None).interval[0]
    found = rf.best_assortment(data, revenue, "out")
    assert found.lower == pytest.approx(max(promised.values()), abs=1e-5)
    assert promised[found.menu[1:]] == pytest.approx(found.lower, abs=1e-5)
    one = rf.best_assortment(data, revenue, "out", max_size=1)
    assert one.lower == pytest.approx(max(promised[(x,)] for x in "abc"), abs=1e-5)
    nothing = rf.best_assortment(data, revenue, "out", max_size=0)
    assert (nothing.menu, nothing.lower, nothing.upper) == (("out",), 0.0, 0.0)
    apart = rf.best_assortment(data, revenue, "out", never_together=[("a", "c"), ("a", "b")])
    allowed = [m for m in promised if not ({"a", "c"} <= set(m) or {"a", "b"} <= set(m))]
    assert apart.lower == pytest.approx(max(promised[m] for m in allowed), abs=1e-5)
    with_b = rf.best_assortment(data, revenue, "out", must=["b"])
    assert with_b.lower == pytest.approx(max(v for m, v in promised.items() if "b" in m), abs=1e-5)


def test_types_are_learnt_once():
    menus = np.array([[True, True, True], [True, False, True]])
    cases = WorstCases(menus, menus, np.zeros((3, 3), bool), np.array([2.0, 1.0, 0.0]), None)
    cases.learn(np.array([[0, 1, 2], [1, 0, 2], [0, 2, 1]]))
    assert cases._matrix.toarray().tolist() == [[1, 0], [0, 1], [0, 0], [1, 1], [0, 0]]
    cases.learn(np.array([[0, 2, 1], [2, 1, 0]]))
    assert cases._matrix.shape == (5, 3)
    assert len(cases.types.above) == 3
    # Whoever takes 1 from all and 0 from {0, 2}: 1 is above 0 and 2, and 0 above 2.
    assert cases.types.above[1, :, 0].tolist() == [0b010, 0b000, 0b011]


def test_what_is_asked_of_an_assortment():
    fit = exact_fit(SHOP)
    assert find_revenue(fit, {"a": 3, "b": 4}, 0).tolist() == [0.0, 3.0, 4.0]
    assert find_revenue(fit, {"a": 3, "b": 4, "out": 1}, 0).tolist() == [1.0, 3.0, 4.0]
    assert find_revenue(fit, [1, 2, 3], 0).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(rf.InputError, match=r"there is none for \{b\}"):
        find_revenue(fit, {"a": 3}, 0)
    with pytest.raises(rf.InputError, match=r"there is none for \{out\}"):
        find_revenue(fit, {"a": 3, "b": 4}, 1)
    with pytest.raises(rf.InputError, match="revenue of 'b': a finite number is needed"):
        find_revenue(fit, [1, 2, np.inf], 0)
    assert find_items(fit, ["b", "out"], "must").tolist() == [True, False, True]
    assert [require_size(size) for size in (0, 3, np.int64(2))] == [0, 3, 2]
    assert require_seconds(2) == 2.0
    for wrong in (True, -1, 1.0):
        with pytest.raises(rf.InputError, match="max_size="):
            require_size(wrong)
    for wrong in (True, 0, -1.0, "1"):
        with pytest.raises(rf.InputError, match="max_seconds="):
            require_seconds(wrong)
    for wrong in (True, 0.0, 1.0, "0.9"):
        with pytest.raises(rf.InputError, match="None or a number between 0 and 1 is needed"):
            rf.best_assortment(SHOP, {"a": 3, "b": 4}, "out", confidence=wrong)


def test_an_assortment_remembers_its_fit():
    found = rf.best_assortment(SHOP, {"a": 3, "b": 4}, "out")
    assert found.projection.items == ("out", "a", "b")
    assert found.notes == ()
    assert found.reason == ""
    assert 0 < found.seconds < 60
    assert rf.best_assortment(SHOP, {"a": 3, "b": 4}, "out", max_seconds=600).reason == ""
    gone = rf.diversion(FITS, "c", confidence=None)
    assert gone.projection.items == ("a", "b", "c")
    assert gone.gains.fit is gone.projection


def assortment(count=3, **changes):
    table = {
        "assortment": [f"past {k}" for k in range(count)], "menu": [("out", "x")] * count, "size": [1] * count,
        "lower": [1.0] * count, "upper": [2.0] * count, "fit": [1.5] * count, "allowed": [True] * count,
    }  # fmt: skip
    table |= changes.pop("more", {})
    values = {
        "menu": ("out", "x"), "lower": 1.0, "upper": 2.0, "gap": 0.25, "outside_option": "out", "table": table,
        "confidence": None, "nodes": 4, "seconds": 1.0, "reason": "", "notes": ("A note.",),
    }  # fmt: skip
    return BestAssortment(**values | changes)


def test_assortments_in_words():
    lines = assortment().summary().splitlines()
    assert lines[:3] == [
        "Best in the worst case: {x} beside out, which earns 1 to 2.",
        "No other assortment promises more (certified to 0.2).",
        "A note.",
    ]
    assert assortment(gap=0.0).summary().splitlines()[1] == "No other assortment promises more (certified)."
    for reason, why in (
        ("max_seconds", "time was up"),
        ("interrupted", "the search was interrupted"),
        ("too large", "the graph of the recorded menus and a promising one is too large"),
    ):
        line = assortment(reason=reason).summary().splitlines()[1]
        assert line == f"Not the last word, because {why}: another may promise up to 0.25 more."
    assert assortment(12).as_table().note.endswith("the fitted mixture.")
    assert assortment(14).as_table().note.endswith("mixture. 2 further past assortments earn less in the worst case.")
    assert len(assortment(14).as_table().rows) == 12
    some = assortment(2, confidence=0.9, more={"from": [0.5, np.nan], "to": [2.5, np.nan]}).as_table()
    assert some.note.startswith(
        "from, to: over all populations that are not rejected at 90 %, of the first rows only. lower"
    )
    assert [row[-2:] for row in some.rows] == [[0.5, 2.5], [None, None]]
    assert some.columns == ["assortment", "menu", "size", "lower", "upper", "fit", "from", "to"]


# Groups -----------------------------------------------------------------------------------------------------------------------


def test_verdicts_on_groups():
    together = rf.rum_test([DECOY, FITS], 19, 0.1, seed=1)
    each = rf.rum_test_many([DECOY, FITS], 19, 0.1, seed=1)
    assert together.pvalue == 0.05
    assert each.holm.tolist() == [0.1, 1.0]
    said = {level: GroupComparison(together, each).summary(level).splitlines() for level in (0.01, 0.05, 0.1)}
    assert said[0.01][0] == "One distribution of rankings for all groups is not rejected."
    assert said[0.05][0].endswith("random utility within the groups is not: the groups differ.")
    assert said[0.1][0] == (
        "One distribution for all groups is rejected, and so is random utility within at least one group."
    )
    assert said[0.05][1] == f"  all groups together: statistic {together.statistic:.6g}, p-value 0.05 at tau = 0.1"
    assert rf.compare_groups([DECOY, FITS], 19, 0.1, seed=1).each.pvalues.tolist() == each.pvalues.tolist()


def test_many_tests_by_name():
    each = rf.rum_test_many([DECOY, FITS], 3, 0.1, seed=1)
    assert [test.seconds for test in each.tests] == [each.seconds / 2] * 2
    for count, more in ((8, "$"), (9, r", \.\.\.$")):
        many = replace(each, names=tuple(range(count)), tests=each.tests[:1] * count)
        with pytest.raises(rf.InputError, match=r"names are 0, 1, 2, 3, 4, 5, 6, 7" + more):
            _ = many["x"]
    with pytest.raises(rf.InputError, match="data set 'x': "):
        rf.rum_test_many({"x": rf.ChoiceData.from_counts({("a",): {"a": 1}})}, 3)


def test_adjusted_pvalues_by_hand():
    p = [0.04, 0.01, 0.03, 0.5]
    assert holm(p) == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert benjamini_hochberg(p) == pytest.approx([4 * 0.04 / 3, 0.04, 4 * 0.04 / 3, 0.5])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([0.0, 1.0]).tolist() == [0.0, 1.0]
    for wrong in ([[0.1]], [-0.1], [1.1], [np.nan]):
        with pytest.raises(rf.InputError, match="numbers from 0 to 1"):
            holm(wrong)


def test_choices_that_no_type_makes():
    """Everybody prefers a to b, and b was taken from both: the likelihood is 0."""
    models = {"known": rf.RandomUtility([("a", "b")]), "every": None}
    found = rf.compare_models(DECOY, models)
    assert found.logliks["known"] == -np.inf
    assert found.logliks["every"] > -np.inf
    words = " Log-likelihood -inf: a choice was made that no type of the model makes."
    assert found.as_table().note.endswith(words)
    assert words not in rf.compare_models(DECOY, {"every": None}).as_table().note


# Shares -----------------------------------------------------------------------------------------------------------------------


def test_the_rational_part_by_hand():
    found = rf.rationalizable_share(DECOY)
    assert found.share == pytest.approx(0.8)
    assert np.nansum(found.fitted, axis=1) == pytest.approx([0.8, 0.8])
    assert (np.nan_to_num(found.fitted) <= np.nan_to_num(found.frequencies) + 1e-9).all()
    assert found.rankings.weights.sum() == pytest.approx(0.8)
    assert (np.diff(found.rankings.weights) <= 0).all()
    assert found.part[0b111].sum() == pytest.approx(0.8)
    assert found.part[0b011, 2] == 0.0
    partly = rf.ChoiceData(("a", "b", "c"), np.array([[True] * 3]), np.array([[2.0, np.nan, np.nan]]), np.array([10.0]))
    assert rf.rationalizable_share(partly).share == pytest.approx(1.0)
    alone = rf.rationalizable_share(rf.ChoiceData.from_counts({("a",): {"a": 3}}))
    assert (alone.share, alone.upper, alone.gap) == (1.0, 1.0, 0.0)
    assert alone.rankings.orders.tolist() == [[0]]
    assert alone.fitted.shape == (0, 1)


# Explanations -----------------------------------------------------------------------------------------------------------------


def test_what_explain_accepts():
    for wrong in (0.0, 0.5, -0.1, "x"):
        with pytest.raises(rf.InputError, match=r"a number between 0 and 0\.5 is needed"):
            rf.explain(DECOY, wrong)
    for options in ({"most": 0}, {"most": True}, {"halves": -1}, {"halves": 1.5}):
        with pytest.raises(rf.InputError, match=r"a whole number, [01] or more, is needed"):
            rf.explain(DECOY, **options)
    with pytest.raises(
        rf.InputError, match=r"n_boot=18: no test of so few replicates rejects at level=0\.05; take 19 or more"
    ):
        rf.explain(DECOY, n_boot=18)
    assert rf.explain(DECOY, 0.05, 19, halves=0).level == 0.05
    assert rf.explain(rf.ChoiceData.from_matrix(rf.simulate.dirichlet(3, 0))).level is None


def test_what_an_explanation_remembers():
    rows = {"menu": ["a,b"] * 40 + ["a,b,c"] * 40, "choice": ["a"] * 4 + ["b"] * 36 + ["a"] * 36 + ["c"] * 4}
    data = rf.ChoiceData.from_frame(rows | {"subject": list(range(20)) * 4})
    found = rf.explain(data, n_boot=39, halves=0, cluster=True, seed=5)
    assert (found.seed, found.n_boot, found.level, found.n_observations) == (5, 39, 0.05, 80.0)
    assert found.by_subject
    assert found.behind == {("a", "b"): 20.0, ("a", "b", "c"): 20.0}
    assert found.inequality.error is None  # of repeated choices it is not known
    assert found.items == ("a", "b", "c")
    assert not found.interrupted
    single = rf.explain(data, n_boot=39, halves=0)
    assert not single.by_subject
    assert single.behind == {("a", "b"): 40.0, ("a", "b", "c"): 40.0}
    assert single.inequality.error > 0
    weighted = rf.ChoiceData.from_frame(rows | {"weight": [0.5, 1.5] * 40}, weight="weight")
    assert rf.explain(weighted, n_boot=39, halves=0).inequality.error is None
    exact = rf.explain(data, None)
    assert (exact.behind, exact.by_subject, exact.n_observations) == ({}, False, None)


def test_menus_that_are_left_out(monkeypatch):
    """Three pairs that go round carry a third of the distance each; a menu by itself carries nothing."""
    cycle = {("a", "b"): {"a": 80, "b": 20}, ("b", "c"): {"b": 80, "c": 20}, ("a", "c"): {"c": 80, "a": 20}}
    data = rf.ChoiceData.from_counts({**cycle, ("d", "e"): {"d": 1, "e": 1}})
    found = rf.explain(data, 0.05, 19, halves=0)
    assert found.influence["share"] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0], abs=1e-9)
    assert found.influence["menu"][3] == ("d", "e")
    assert found.influence["distance_without"][:3] == pytest.approx([0.0] * 3, abs=1e-6)
    assert found.influence["distance_without"][3] == found.distance
    assert found.influence["pvalue_without"] == [1.0, 1.0, 1.0, None]
    assert found.influence["conflicts"] == [[1], [1], [1], []]
    assert found.influence["choices"] == [100.0, 100.0, 100.0, 2.0]
    assert found.influence["named"] == [None] * 4
    monkeypatch.setattr(EXPLAIN, "MOST_LEFT_OUT", 1)
    fewer = rf.explain(data, None)
    assert [value is None for value in fewer.influence["distance_without"]] == [False, True, True, False]
    assert fewer.influence["pvalue_without"] == [None] * 4
    assert fewer.influence["choices"] == [None] * 4


def test_menus_without_which_something_is_left():
    """Two conflicts that have nothing to do with each other: without a menu of one the other is rejected all the same."""
    counts = {("a", "b"): {"a": 300, "b": 700}, ("a", "b", "c"): {"a": 500, "b": 300, "c": 200}}
    other = {("d", "e"): {"d": 300, "e": 700}, ("d", "e", "f"): {"d": 500, "e": 300, "f": 200}}
    found = rf.explain(rf.ChoiceData.from_counts(counts | other), n_boot=19, halves=0)
    assert found.influence["pvalue_without"] == [0.05] * 4
    assert found.influence["distance_without"] == pytest.approx([found.distance / np.sqrt(2)] * 4)
    assert sorted(map(tuple, found.influence["conflicts"])) == [(1,), (1,), (2,), (2,)]
    alone = rf.ChoiceData.from_counts({("a", "b"): {"a": 80, "b": 20}})
    single = rf.explain(alone, n_boot=19, halves=0, model=rf.RandomUtility([("a", "b")]))
    assert single.influence["distance_without"] == [0.0]  # nothing is left
    assert single.influence["pvalue_without"] == [1.0]


def test_complete_data_have_terms(monkeypatch):
    table = rf.simulate.dirichlet(3, 1)
    assert rf.explain(table).block_marschak is not None
    monkeypatch.setattr(EXPLAIN, "MOST_TERM_ITEMS", 3)
    assert rf.explain(table).block_marschak is not None
    monkeypatch.setattr(EXPLAIN, "MOST_TERM_ITEMS", 2)
    assert rf.explain(table).block_marschak is None


def test_half_of_a_hundred_choices():
    assert _half(np.random.default_rng(0), np.array([60, 41])).sum() == 51


def test_the_search_keeps_only_what_is_needed():
    search = Search(Subsets(DECOY, None, None, 1))
    kept = search.cells((0, 1))
    assert kept.tolist() == [[False, True, False], [True, False, False]]
    assert search.is_irreducible((0, 1))
    assert not search.is_irreducible((0,))
    assert search.first() == (0, 1)
    assert search.first(np.array([1])) is None
    assert search.first(np.array([], np.int64)) is None
    assert search.alone == []
    assert sorted(search._shrink(np.array([0, 1]))) == [0, 1]
    found = search.several(3, [])
    assert (found.menus, found.complete) == ([(0, 1)], True)


# Budgets ----------------------------------------------------------------------------------------------------------------------

#: x + 2 y = 1 and 2 x + y = 1: who spends all on the dear good on both budgets is not rational.
PRICES = [[1.0, 2.0], [2.0, 1.0]]


def demand(first, second):
    """So many of ten on each budget spend all on what is dear there."""
    shares = [[0.1, 0.9]] * first + [[0.9, 0.1]] * (10 - first) + [[0.9, 0.1]] * second + [[0.1, 0.9]] * (10 - second)
    return rf.BudgetData.from_shares(PRICES, [0] * 10 + [1] * 10, shares)


def test_a_test_of_budgets_in_words():
    """Patches below the other budget: shares s and t with s + t <= 1 for the rational; 0.7 and 0.7 are 2 (0.2^2 + 0.2^2) away."""
    data = demand(7, 7)
    found = rf.rum_test(data, 19, 0.1, seed=1, convention="kitamura-stoye")
    assert found.n_types == 3
    lines = found.summary().splitlines()
    assert lines[:3] == [
        "Test of rational choice from budgets: does this demand come from a population of utility maximisers?",
        "  data         2 budgets, 4 patches, 20 households, plain frequencies",
        "  types        3 rational ones (not listed)",
    ]
    assert lines[3].endswith(
        "20 x squared distance to the cone of rational demand (any total), weights: 1 on every patch"
    )
    assert lines[4] == "  bootstrap    19 replicates, households resampled within their budgets and recentred, seed 1"
    assert (
        lines[5]
        == f"  tau = 0.1       p-value {found.pvalue:.4g}   critical value at 0.05: {found.critical_value(0.05):.6g}"
    )
    verdict = "is rejected" if found.pvalue <= 0.05 else "is not rejected"
    assert lines[6] == f"Rational choice {verdict} at the 5 % level (tau = 0.1)."
    assert "Furthest from rational demand:" in lines
    clustered = rf.rum_test(data, 19, 0.1, seed=1, convention="kitamura-stoye", cluster=list(range(20)))
    assert (
        clustered.summary().splitlines()[4]
        == "  bootstrap    19 replicates, clusters resampled whole and recentred, seed 1"
    )
    by_household = rf.rum_test(data, 19, 0.1, seed=1, convention="kitamura-stoye", cluster=False)
    assert by_household.summary() == found.summary()
    with pytest.raises(rf.InputError, match="one id for each of the 20 households is needed"):
        rf.rum_test(data, 19, 0.1, convention="kitamura-stoye", cluster=True)
    with pytest.raises(rf.InputError, match="there is one cluster in all"):
        rf.rum_test(data, 19, 0.1, convention="kitamura-stoye", cluster=[0] * 20)
    fits = rf.rum_test(demand(4, 4), 19, 0.1, seed=1, convention="kitamura-stoye")
    assert fits.statistic == 0.0
    assert "The observed demand is that of a population of utility maximisers itself." in fits.summary()
    plain = rf.rum_test(data, 19, [0.1, 0.2], seed=1)
    assert plain.statistic == pytest.approx(10 * 4 * 0.2**2, rel=1e-6)
    assert plain.summary().splitlines()[5].endswith("<- the test")
    assert not plain.summary().splitlines()[6].endswith("<- the test")
    assert (
        plain.summary().splitlines()[4].endswith("19 replicates, choices drawn from the fitted model by menu, seed 1")
    )


def test_how_a_test_of_budgets_is_made():
    data = demand(9, 9)
    own = rf.Convention(set="simplex", scale=2.0, weights=None, draws="empirical", tau=0.1)
    published = {"n_boot": 19, "tau": 0.1, "seed": 1, "convention": "kitamura-stoye"}
    assert rf.rum_test(data, **published).weights == "1 on every patch"
    assert rf.rum_test(data, **published, weights="counts").weights == "counts"
    assert rf.rum_test(data, **published, weights=np.ones(data.padded_choices.counts.shape)).weights == "given"
    assert rf.rum_test(data, **published).sample.scale == 20.0
    rng = np.random.default_rng(0)
    first = rng.random(40) < 0.9
    shares = np.where(first[:, None] ^ (np.arange(40) >= 20)[:, None], [[0.1, 0.9]], [[0.9, 0.1]])
    smooth = rf.BudgetData.from_shares(PRICES, [0] * 20 + [1] * 20, shares, rng.uniform(1, 2, 40), 2)
    tested = rf.rum_test(smooth, 19, 0.1, seed=1)
    assert tested.sample.scale == 40 / 2
    assert tested.sample.convention.set == "simplex"
    assert tested.sample.convention.draws == "empirical"
    assert "smoothed at median expenditure (degree 2)" in tested.summary()
    assert "20 x squared distance to the set of rational demand, weights" in tested.summary()
    assert rf.rum_test(smooth, 19, 0.1, seed=1, convention=own).sample.scale == 2.0
    assert "No replicate was as large: the p-value is the smallest that 19 replicates can give." in (
        replace(tested, pvalues=np.array([0.05])).summary()
    )
    assert "No replicate was as large" not in replace(tested, pvalues=np.array([0.1])).summary()
    with pytest.raises(rf.InputError, match="accepted is 'empirical'"):
        rf.rum_test(smooth, 19, 0.1, draws="null")
    for wrong in (0.0, 1.0):
        with pytest.raises(rf.InputError, match="a number between 0 and 1 is needed"):
            rf.rum_test(smooth, 19, 0.1, tol=wrong)


def test_demand_that_does_not_vary():
    """All households of a budget in one patch: there is no variance to set tau by."""
    found = rf.rum_test(demand(0, 0), 9, "smallest", seed=0, convention="kitamura-stoye")
    assert found.taus == (0.0,)
    assert found.statistic == 0.0


def test_bounds_on_a_budget_between_two():
    """Weights are those of the test, ten households on each budget, unless others are given."""
    data = demand(6, 6)
    found = rf.bounds(data, [1.5, 1.5], confidence=None)
    assert found.menu == ("a new budget",)
    equal = rf.bounds(data, [1.5, 1.5], confidence=None, weights=None)
    assert equal.distance == pytest.approx(found.distance / np.sqrt(10))
    assert rf.bounds(data, [1.5, 1.5], confidence=None, weights="counts").distance == pytest.approx(found.distance)
    assert (found.lower <= found.upper + 1e-9).all()
    far = rf.bounds(data, [9.0, 9.0])
    assert (far.lower.tolist(), far.upper.tolist()) == ([1.0], [1.0])
    assert far.gap == 0.0
    assert np.isnan(far.distance)
    assert far.notes == ("it crosses no observed budget; are these prices divided by its expenditure?",)
