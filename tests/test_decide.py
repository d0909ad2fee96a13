"""Functionals by label, diversion and the next menu: against linear programmes over all rankings."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise, permutations

import numpy as np
import pytest
from experiments.robust import choices_of
from scipy.optimize import linprog

import rumflow as rf
from rumflow.inference.bounds import bound_functionals
from rumflow.inference.next_menu import _candidates


def random_data(n, seed, count=4):
    """Shares of some menus over the first n letters, from random rankings."""
    rng = np.random.default_rng(seed)
    membership = rng.random((count, n)) < 0.6
    membership[:, :2] = True
    membership = np.unique(membership, axis=0)
    weights = rng.dirichlet(np.ones(9))
    taken = choices_of(np.array([rng.permutation(n) for _ in range(9)]), membership)
    labels = "abcdefgh"[:n]
    counts = {}
    for j, row in enumerate(membership):
        shares = np.bincount(taken[:, j], weights, n)
        counts[tuple(labels[x] for x in np.flatnonzero(row))] = {labels[x]: shares[x] for x in np.flatnonzero(row)}
    return rf.ChoiceData.from_counts(counts, items=list(labels))


class Enumeration:
    """All rankings of the items of a fit, and mixtures of them with the fitted values."""

    def __init__(self, data):
        self.fit = rf.project(data, tol=1e-12)
        self.items = list(self.fit.items)
        self.orders = np.array(list(permutations(range(len(self.items)))))
        rows = self.fit.membership.sum(axis=1) >= 2
        menu, item = np.nonzero(self.fit.membership[rows])
        taken = choices_of(self.orders, self.fit.membership[rows])
        self.matrix = np.vstack([(taken[:, menu] == item).T, np.ones(len(self.orders))]).astype(float)
        self.given = np.append(self.fit.fitted[rows][menu, item], 1.0)

    def value(self, functional):
        """What each ranking contributes to a functional."""
        total = np.zeros(len(self.orders))
        for (menu, item), value in functional.items():
            row = np.isin(self.items, menu)
            total += value * (choices_of(self.orders, row[None])[:, 0] == self.items.index(item))
        return total

    def range(self, cost):
        ends = [linprog(s * cost, A_eq=self.matrix, b_eq=self.given) for s in (1, -1)]
        return ends[0].fun, -ends[1].fun

    def ratio(self, part, whole):
        """Charnes and Cooper: part / whole over the mixtures, scaled so that the whole is 1."""
        ends = []
        scaled = np.hstack([self.matrix, -self.given[:, None]])
        for s in (1, -1):
            equal = np.vstack([scaled, np.append(whole, 0.0)])
            target = np.append(np.zeros(len(scaled)), 1.0)
            ends.append(s * linprog(np.append(s * part, 0.0), A_eq=equal, b_eq=target).fun)
        return tuple(ends)


def prefer(orders, chain):
    place = np.argsort(orders, axis=1)
    return np.all([place[:, a] < place[:, b] for a, b in pairwise(chain)], axis=0).astype(float)


def test_functionals_say_what_they_mean():
    """Each counts, ranking by ranking, the people that it is about."""
    world = Enumeration(random_data(4, 0))
    f, orders = rf.functionals, world.orders
    place = np.argsort(orders, axis=1)
    assert (world.value(f.prefers("a", "c")) == prefer(orders, [0, 2])).all()
    assert (world.value(f.prefers("d", "b", "a")) == prefer(orders, [3, 1, 0])).all()
    best = [np.array(menu)[place[:, menu].argmin(axis=1)] for menu in ([0, 1], [0, 2, 3])]
    better = place[np.arange(len(orders)), best[1]] < place[np.arange(len(orders)), best[0]]
    assert (world.value(f.better_off(("a", "b"), ("a", "c", "d"))) == better).all()
    taken = choices_of(orders, np.array([[True, True, True, False]]))[:, 0]
    assert (world.value(f.revenue(("a", "b", "c"), {"a": 2.0, "c": 5.0})) == np.array([2.0, 0.0, 5.0])[taken]).all()
    before, after = (world.value(f.share(menu, "a")) for menu in (("a", "b"), ("a", "b", "c")))
    assert (world.value(f.change(("a", "b"), ("a", "b", "c"), "a")) == after - before).all()
    assert (world.value(f.change(("b", "c"), ("a", "b", "c"), "a")) == after).all()


@pytest.mark.parametrize("n", [3, 4, 5])
def test_bounds_of_functionals(n):
    for seed in range(3):
        world = Enumeration(random_data(n, seed))
        f, everything = rf.functionals, tuple(world.items)
        asked = {
            "share": f.share(everything[1:], everything[1]),
            "change": f.change(everything, everything[1:], everything[2]),
            "revenue": f.revenue(everything[1:], {x: k + 1.0 for k, x in enumerate(everything)}),
            "chain": f.prefers(*everything[:3]),
            "pair": f.prefers(everything[2], everything[0]),
            "better": f.better_off(everything[:2], (everything[0], everything[2])),
        }
        together = bound_functionals(world.fit, asked)
        for name, functional in asked.items():
            expected = world.range(world.value(functional))
            assert rf.bounds(world.fit, functional=functional).interval == pytest.approx(expected, abs=1e-7)
            assert together[name] == pytest.approx(expected, abs=1e-7)


def test_functional_errors():
    f = rf.functionals
    for call, message in [
        (lambda: f.share(("a", "b"), "c"), "not in the menu"),
        (lambda: f.share("ab", "a"), "a list of items is needed"),
        (lambda: f.change(("a",), ("b",), "c"), "neither in"),
        (lambda: f.prefers("a", "a"), r"prefers\('a', 'a'\): the items must differ"),
        (lambda: f.prefers("a", "b", "a"), "must differ"),
        (lambda: f.better_off(("a", "b"), ("a",)), "has nothing"),
    ]:
        with pytest.raises(rf.InputError, match=message):
            call()


@pytest.mark.parametrize("observed", [True, False])
def test_diversion_agrees_with_enumeration(observed):
    checked = 0
    for seed in range(8):
        world = Enumeration(random_data(4, seed, 3))
        menu = None if observed else ("a", "c", "d")
        found = rf.diversion(world.fit, "a", menu)
        if found.observed != observed:
            continue
        rest = tuple(x for x in found.menu if x != "a")
        own = world.value({(found.menu, "a"): 1.0})
        assert found.share == pytest.approx(world.range(own), abs=1e-7)
        for k, item in enumerate(rest):
            gain = world.value({(rest, item): 1.0, (found.menu, item): -1.0})
            assert found.gains[item] == pytest.approx(world.range(gain), abs=1e-7)
            ratio = (found.ratio_lower[k], found.ratio_upper[k])
            if found.share[0] > 1e-6:
                assert ratio == pytest.approx(world.ratio(gain, own), abs=1e-6)
                checked += 1
            else:
                assert ratio == (0.0, 1.0)
    assert checked >= 4


def test_ratios_where_the_own_share_is_not_known():
    """Of a on {a, c, d} only a range is known, and it is above 0: ratios are quotients of two unknowns."""
    counts = {("a", "b", "c", "d"): {"a": 0.4, "b": 0.2, "c": 0.3, "d": 0.1}, ("c", "d"): {"c": 0.6, "d": 0.4}}
    world = Enumeration(rf.ChoiceData.from_counts(counts))
    found = rf.diversion(world.fit, "a", ("a", "c", "d"))
    assert 0.1 < found.share[0] < found.share[1] - 0.1
    own = world.value({(("a", "c", "d"), "a"): 1.0})
    for k, item in enumerate(("c", "d")):
        gain = world.value({(("c", "d"), item): 1.0, (("a", "c", "d"), item): -1.0})
        assert (found.ratio_lower[k], found.ratio_upper[k]) == pytest.approx(world.ratio(gain, own), abs=1e-6)
    assert found.ratio_lower[0] > 0.01


def test_diversion_words_and_intervals():
    data = rf.ChoiceData.from_counts(
        {("tea", "milk", "beer"): {"tea": 50, "milk": 30, "beer": 20}, ("milk", "beer"): {"milk": 60, "beer": 40}}
    )
    found = rf.diversion(data, "tea", n_boot=19, confidence=0.9, seed=1)
    assert found.menu == ("tea", "milk", "beer")
    assert found.gains["milk"] == pytest.approx((0.3, 0.3))
    assert found.ratio_lower == pytest.approx([0.6, 0.4])
    low, high = found.table["from"][0], found.table["to"][0]
    assert low <= 0.3 <= high
    assert "Who gains when tea leaves" in found.summary()
    assert list(found.to_frame().columns) == list(found.table)
    with pytest.raises(rf.InputError, match="item 'rum' is unknown"):
        rf.diversion(data, "rum")
    with pytest.raises(rf.InputError, match="it must have 'tea'"):
        rf.diversion(data, "tea", ("milk", "beer"))


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


def test_next_menu_for_a_functional():
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 5, "b": 3, "c": 2}, ("d", "e"): {"d": 1, "e": 1}})
    target = rf.functionals.share(("a", "b"), "a")
    found = rf.next_menu(data, [("b", "c"), ("a", "b"), ("d", "e", "a")], target)
    assert found.before == pytest.approx(0.2)
    assert found.menus[0] == ("a", "b")  # asking the question itself
    assert found.shrinks[0] == pytest.approx(0.2)
    assert found.shrinks[1] < 0.2
    rows, left = _candidates(np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]], bool), 100)
    assert {tuple(np.flatnonzero(row).tolist()) for row in rows} >= {(0, 1), (0, 1, 2, 3, 4), (0, 4)}
    assert left == 0
    assert _candidates(np.array([[1, 1, 1, 0, 0]], bool), 2)[1] > 0
    with pytest.raises(rf.InputError, match="at least 2 items are needed"):
        rf.next_menu(data, [("a",)])


def test_next_menu_keeps_what_is_done(monkeypatch):
    data = random_data(5, 1)
    module = import_module("rumflow.inference.next_menu")
    true_worth, calls = module._worth, []

    def interrupt(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return true_worth(*arguments)

    monkeypatch.setattr(module, "_worth", interrupt)
    found = rf.next_menu(data)
    assert len(found.menus) == 3
    assert "Interrupted" in found.summary()


def test_the_only_other_item_takes_all():
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 30, "b": 50, "c": 20}})
    found = rf.diversion(data, "a", ("a", "b"), confidence=None)
    assert found.gains.lower[0] < found.gains.upper[0]
    assert found.table["ratio_lower"] == found.table["ratio_upper"] == [1.0]


def test_a_projection_has_its_own_options():
    data = rf.ChoiceData.from_counts({("o", "a", "b"): {"o": 30, "a": 50, "b": 20}, ("o", "a"): {"o": 60, "a": 40}})
    fit = rf.project(data)
    for options in ({"model": rf.SinglePeaked(["o", "a", "b"])}, {"weights": "counts"}, {"route": "graph"}):
        with pytest.raises(rf.InputError, match="its own weights, model and route"):
            rf.bounds(fit, ("a", "b"), **options)
    gone = rf.diversion(data, "b", weights="counts", confidence=None)
    assert len(gone.table["item"]) == 2


def test_arguments_of_next_menu_and_assortments_are_checked():
    data = rf.ChoiceData.from_counts({("o", "a", "b"): {"o": 30, "a": 50, "b": 20}, ("o", "a"): {"o": 60, "a": 40}})
    found = rf.next_menu(data, [("o", "a"), ("a", "b"), ("b", "a")])
    assert found.menu in (("a", "b"), ("b", "a"))
    assert len(found.table["menu"]) == 1
    for options, words in (
        ({"candidates": [("o", "a")]}, "were observed"),
        ({"most": -1}, "most=-1"),
        ({"functional": {(("a", "b"), "a"): np.nan}}, "finite"),
        ({"functional": {(("a", "b"), "a"): "x"}}, "a finite number is needed"),
    ):
        with pytest.raises(rf.InputError, match=words):
            rf.next_menu(data, **options)
    for level in ("auto", 95, True):
        with pytest.raises(rf.InputError, match="confidence="):
            rf.best_assortment(data, {"a": 1, "b": 2}, "o", confidence=level)
    for revenue, words in (({"a": "x", "b": 2}, "='x': a finite number is needed"), ("abc", "revenue")):
        with pytest.raises(rf.InputError, match=words):
            rf.best_assortment(data, revenue, "o")
    with pytest.raises(rf.InputError, match="one item"):
        rf.explain(rf.ChoiceData.from_counts({("a",): {"a": 3}, ("b",): {"b": 4}}))
    with pytest.raises(rf.InputError, match="with counts"):
        rf.best_assortment(rf.project(data), {"a": 1, "b": 2}, "o", confidence=0.9)


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
