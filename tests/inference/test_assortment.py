"""The best assortment: against every menu and every ranking; limits, time and Ctrl-C."""

from importlib import import_module
from itertools import permutations

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.memory import NoMemoryError
from tests.reference.assortments import (
    allowed_menus,
    choices_of,
    compare,
    compare_level,
    random_case,
    worst_revenues,
)
from tests.reference.linear import sweep

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


def smaller_models(n, seed):
    """Models whose types are some of the rankings, and these, by enumeration."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    yield rf.LinearUtility(dict(enumerate(points))), sweep(points)
    draws = rng.normal(size=(7, n))
    yield rf.Types.from_utilities(draws), np.argsort(-draws, axis=1)
    axis = rng.permutation(n)
    place = np.argsort(axis)[np.array(list(permutations(range(n))))]
    spread = [place[:, :i].max(axis=1) - place[:, :i].min(axis=1) == i - 1 for i in range(1, n + 1)]
    yield rf.SinglePeaked(axis.tolist()), axis[place[np.all(spread, axis=0)]]


@pytest.mark.parametrize("n", [3, 5])
def test_smaller_models_agree_with_enumeration(n):
    """Only the rankings of the model count: by attributes, by draws, on an axis."""
    higher = 0
    for seed in range(4):
        every = compare(n, seed)[0]
        for model, orders in smaller_models(n, seed):
            found, best, own, _ = compare(n, seed, model, orders)
            assert found.lower == pytest.approx(best, abs=1e-5)
            assert own == pytest.approx(best, abs=1e-5)
            higher += found.lower > every.lower + 1e-3
    assert higher > 1  # fewer populations promise more


@pytest.mark.parametrize(("n", "seed", "which"), [(4, 12, 0), (5, 22, 2), (5, 25, 2)])
def test_bounds_of_all_rankings_are_none_of_a_smaller_model(n, seed, which):
    """Here the search would miss the best menu if it bounded menus as if everybody could have any ranking."""
    model, orders = list(smaller_models(n, seed))[which]
    found, best, own, _ = compare(n, seed, model, orders)
    assert found.lower == pytest.approx(best, abs=1e-5)
    assert own == pytest.approx(best, abs=1e-5)


def test_a_level_of_smaller_models_agrees_with_enumeration():
    searched = 0
    for seed in range(4):
        for model, orders in smaller_models(4, seed):
            found, best, own, _ = compare_level(4, seed, 0.9, model, orders)
            if not np.isnan(best):
                searched += 1
                assert found.lower == pytest.approx(best, abs=1e-5)
                assert own == pytest.approx(best, abs=1e-5)
    assert searched >= 3


def test_an_item_below_another_does_not_bring_in_one_that_is_not():
    """Everybody prefers 1 to 2 and takes 1 rather than nothing: beside 1, item 2 does no harm, but 3 would."""
    table = np.full((16, 4), np.nan)
    table[0b0011] = 0.0, 1.0, 0.0, 0.0
    found = rf.best_assortment(table, [0.0, 10.0, 1.0, 2.0], 0, must=(2,), model=rf.RandomUtility(above=[(1, 2)]))
    assert set(found.menu) == {0, 1, 2}
    assert found.lower == pytest.approx(10.0)


def test_the_best_of_the_fit():
    for seed in range(5):
        table, revenue, limits = random_case(5, seed)
        fit = rf.project(table, tol=1e-12)
        found = rf.best_assortment(fit, revenue, 0, **limits)
        menus = allowed_menus(5, limits)
        earned = revenue[choices_of(fit.rankings.orders, menus)].T @ fit.rankings.weights
        assert found.table["fit"][1] == pytest.approx(earned.max(), abs=1e-5)


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
    other = rf.best_assortment(DATA, REVENUE, "none", confidence=0.9, seed=2)
    assert other.lower != found.lower
    assert other.lower == pytest.approx(found.lower, rel=0.03)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outside_option": None}, "is required: name the item.*On every recorded menu: none"),
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
        ({"model": rf.Types([["none"] * 4])}, "assortments need rankings"),
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
    data, revenue = rf.simulate.random_menus(13, 8, 7, 30, None, seed=1), np.append(np.linspace(100, 10, 12), 0.0)
    whole = rf.best_assortment(data, revenue, 12)
    short = rf.best_assortment(data, revenue, 12, max_seconds=1e-9)
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


def test_an_interrupt_of_the_last_check_keeps_the_answer_and_ends(monkeypatch):
    """The menu that was found stands, with what was not checked; ranges that are not known yet are not begun."""
    counts = {("o", "a", "b"): (20, 70, 10), ("o", "a"): (80, 20), ("o", "b"): (80, 20), ("o", "c"): (50, 50)}
    data = rf.ChoiceData.from_counts({m: dict(zip(m, own, strict=True)) for m, own in counts.items()})
    revenue = {"a": 1, "b": 2, "c": 1.5}
    whole = rf.best_assortment(data, revenue, "o")

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("rumflow.inference.assortment"), "find_band", interrupt)
    found = rf.best_assortment(data, revenue, "o")
    assert (found.menu, found.lower) == (whole.menu, pytest.approx(whole.lower, abs=1e-4))
    assert found.reason == "interrupted"
    assert found.table["assortment"][1] == "best of the fit"  # a menu that was not recorded
    assert np.isnan(found.table["lower"][1])
    assert not np.isnan(whole.table["lower"]).any()
    text = found.summary()
    assert "No other assortment promises more" in text
    assert "Whether the data reject every population at 95 % is not known" in text
    assert "Do not rely on it: every population is rejected at 95 %" in whole.summary()


def test_a_graph_that_is_too_large(monkeypatch):
    """The best of the past stands, with what may be missed."""
    module = import_module("rumflow.inference.populations")
    data, revenue = rf.simulate.random_menus(13, 8, 7, 30, None, seed=1), np.append(np.linspace(100, 10, 12), 0.0)
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


def test_assortments_without_a_level_say_so():
    counts = {("o", "a", "b"): {"o": 100, "a": 800, "b": 100}, ("o", "a"): {"o": 800, "a": 200}}
    data = rf.ChoiceData.from_counts(counts | {("o", "b", "c"): {"o": 300, "b": 400, "c": 300}})
    found = rf.best_assortment(data, {"a": 3, "b": 2, "c": 5}, "o", confidence=0.9, n_boot=19)
    assert "Every population is rejected at 90 %, so the model itself is" in found.summary()
    assert "Best in the worst case" in found.summary()
    assert found.confidence is None
    assert found.gap < 1e-4
    late = rf.best_assortment(data, {"a": 3, "b": 2, "c": 5}, "o", confidence=0.9, n_boot=19, max_seconds=1e-9)
    assert late.reason == "max_seconds"
    assert "Nothing is said about 90 %" in late.summary()
    with pytest.raises(rf.InputError, match=r"n_boot=5: with confidence 0\.9 at least 9"):
        rf.best_assortment(data, {"a": 3, "b": 2, "c": 5}, "o", confidence=0.9, n_boot=5)


def test_ctrl_c_keeps_what_a_level_has_found(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    data = rf.ChoiceData.from_counts(
        {("o", "a", "b"): {"o": 100, "a": 800, "b": 100}, ("o", "a"): {"o": 150, "a": 850}}
    )
    asked = data, {"a": 3, "b": 2}, "o"
    options = {"confidence": 0.9, "n_boot": 19}
    whole = rf.best_assortment(*asked, **options)
    for name in ("NotRejected", "find_band"):
        with monkeypatch.context() as patch:
            patch.setattr(import_module("rumflow.inference.assortment"), name, interrupt)
            stopped = rf.best_assortment(*asked, **options)
        assert (stopped.reason, stopped.confidence) == ("interrupted", None)
        assert "Nothing is said about 90 %" in stopped.summary()
    populations = import_module("rumflow.inference.populations").NotRejected
    ranges, calls = populations.range, []

    def stop_later(*arguments):
        calls.append(arguments)
        return ranges(*arguments) if len(calls) == 1 else interrupt()

    monkeypatch.setattr(populations, "range", stop_later)
    kept = rf.best_assortment(*asked, **options)
    assert (kept.menu, kept.lower, kept.confidence) == (whole.menu, whole.lower, 0.9)  # what stands beside is missing
    assert np.isnan(kept.table["from"][1:]).all()


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


def test_a_rejected_model_is_pointed_out_without_a_level():
    """More people take a when b is beside it: no population does that, and the ranges rest on one."""
    counts = {("o", "a", "b"): (20, 70, 10), ("o", "a"): (80, 20), ("o", "b"): (80, 20)}
    data = rf.ChoiceData.from_counts({m: dict(zip(m, own, strict=True)) for m, own in counts.items()})
    found = rf.best_assortment(data, {"a": 1, "b": 2}, "o")
    assert found.notes[0].startswith("Do not rely on it: every population is rejected at 95 %")
    assert found.notes[0] in found.summary()
    assert found.confidence is None
    assert rf.best_assortment(rf.project(data), {"a": 1, "b": 2}, "o").notes == ()  # no sample is known
    same = rf.ChoiceData.from_counts({("o", "a"): {"o": 8, "a": 2}, ("o", "a", "b"): {"o": 6, "a": 3, "b": 1}})
    few = rf.best_assortment(same, {"a": 1, "b": 2}, "o").notes
    assert len(few) == 1
    assert "few choices from 2 of 2 menus, the fewest from {o, a}: 10 choices" in few[0]
    many = rf.ChoiceData(same.items, same.membership, 10 * same.counts, 10 * same.totals)
    assert rf.best_assortment(many, {"a": 1, "b": 2}, "o").notes == ()


def test_without_memory_the_best_of_the_past_comes_back(monkeypatch):
    fit = rf.project(DATA)
    full = rf.best_assortment(fit, REVENUE, "none")
    fit = rf.project(DATA)

    def refuse(*_):
        raise NoMemoryError("too little")

    monkeypatch.setattr("rumflow.projection.fitted.require_memory", refuse)
    monkeypatch.setattr("rumflow.inference.assortment_search.require_memory", refuse)
    found = rf.best_assortment(fit, REVENUE, "none")
    assert found.reason == "too large"
    assert set(found.menu) in [set(menu) for menu in fit.menus]
    assert found.lower <= full.lower <= found.lower + found.gap
    assert np.isnan(found.table["fit"]).all()
    assert "too large" in found.summary()


@pytest.mark.parametrize("status", ["max_seconds", "interrupted"])
def test_advice_on_the_projection_names_only_options_that_are_there(monkeypatch, status):
    short = rf.project(rf.simulate.dirichlet(10, seed=0), max_seconds=1e-9, throw=False)
    with pytest.raises(rf.NotConvergedError, match="or pass the rankings so far as start"):
        rf.best_assortment(short, np.arange(10.0), 0)
    monkeypatch.setattr(type(short), "status", rf.Status(status))
    monkeypatch.setattr(import_module("rumflow.inference.bounds"), "project_exact", lambda *_, **__: short)
    asks = (
        lambda: rf.best_assortment(DATA, REVENUE, "none"),
        lambda: rf.next_menu(DATA),
        lambda: rf.bounds(DATA, ["tea", "wine"]),
    )
    for ask in asks:
        with pytest.raises(
            rf.NotConvergedError, match="the projection that this starts from is not accurate enough"
        ) as found:
            ask()
        assert not {"tol,", "start", "tol"} & set(str(found.value).split("enough: ")[1].split())


def test_tables_that_take_longer_than_is_left_are_not_begun(monkeypatch):
    fit = rf.project(DATA)
    monkeypatch.setattr("rumflow.inference.sharp._BYTES_A_SECOND", 1.0)
    assert rf.best_assortment(fit, REVENUE, "none").reason == ""  # without a limit
    with pytest.raises(
        rf.InputError, match="the tables of 4 menus and 5 items would take longer than what is left of max_seconds"
    ):
        rf.best_assortment(fit, REVENUE, "none", max_seconds=3)
