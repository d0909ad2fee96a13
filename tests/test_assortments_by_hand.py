"""Searches for menus by hand."""

import numpy as np
import pytest
from hand_examples import FITS, SHOP

import rumflow as rf
from rumflow.core.graph import GraphTooLargeError
from rumflow.inference import assortment_search, populations
from rumflow.inference.assortment_inputs import find_items, find_revenue
from rumflow.inference.assortment_result import BestAssortment
from rumflow.inference.assortment_search import (
    Goal,
    Limits,
    Space,
    Types,
    WorstCases,
    choose_item,
    search,
    search_mixture,
)
from rumflow.inference.assortment_task import Task
from rumflow.inference.bounds import exact_fit
from rumflow.inference.populations import Fitted
from rumflow.models.open_menus import as_words

# Searches ------------------------------------------------------------------------------------------------------------------


def plain_worth(above, inside, allowed, revenue):
    return min(max(revenue[y] for y in range(len(revenue)) if y == x or (above[x, y] and allowed[y])) for x in inside)


@pytest.mark.parametrize("n", [4, 67])
def test_kernels_of_assortments_as_plain_python(n, rng):
    membership = np.zeros((3, n), bool)
    membership[0, [0, 1, n - 1]] = membership[1, [1, 2, n - 2]] = membership[2, [0, 2]] = True
    taken = np.array([[1, 2, 0], [n - 1, n - 2, 2]])
    known = np.zeros((n, n), bool)
    known[3, 1] = True  # [x, y]: y is above x for everybody
    above = np.empty((2, n, (n + 63) // 64), np.uint64)
    assortment_search.relate.py_func(taken, membership, as_words(known), above)
    expected = np.repeat(known[None], 2, axis=0)
    for t, row in enumerate(taken):
        for j, x in enumerate(row):
            expected[t, membership[j] & (np.arange(n) != x), x] = True
        for _ in range(n):
            expected[t] |= (expected[t].astype(int) @ expected[t].astype(int)) > 0
    assert (above == as_words(expected.reshape(-1, n)).reshape(above.shape)).all()
    revenue = np.sort(rng.random(n))[::-1].copy()
    for inside, outside in (
        ([n - 1], []),
        ([2, n - 1], [1]),
        ([0, 3], [2, n - 2]),
        (range(n), []),
        ([n - 2, n - 1], [0]),
    ):
        allowed = np.ones(n, bool)
        allowed[outside] = False
        worth = np.empty(2)
        words = as_words(allowed[None])[0]
        assortment_search.least_revenues.py_func(above, np.array(list(inside)), words, revenue, worth)
        assert worth.tolist() == [plain_worth(row, inside, allowed, revenue) for row in expected]


def make_space(n, must=(), size=None, apart=(), implied=()):
    needed, groups = np.zeros(n, bool), np.zeros((len(apart), n), bool)
    needed[[n - 1, *must]] = True
    for row, group in zip(groups, apart, strict=True):
        row[list(group)] = True
    links = np.zeros((n, n), bool)
    for i, k in implied:
        links[i, k] = True
    return Space(np.arange(n, 0, -1) - 1.0, Limits(needed, n if size is None else size, groups), links)


def items(mask):
    return np.flatnonzero(mask).tolist()


def test_what_follows_in_a_space():
    """Five items, the last is the outside option. Whoever takes in 2 takes in 0; 0 and 3 are kept apart."""
    space = make_space(5, apart=[(0, 3)], implied=[(2, 0)])
    root = space.root()
    assert (items(root.inside), items(root.outside)) == ([4], [])
    having, without = space.split(root, 2)
    assert (items(having.inside), items(having.outside)) == ([0, 2, 4], [3])
    assert (items(without.inside), items(without.outside)) == ([4], [2])
    having, without = space.split(root, 0)
    assert (items(having.inside), items(having.outside)) == ([0, 4], [3])
    assert (items(without.inside), items(without.outside)) == ([4], [0, 2])
    full = make_space(5, size=1)
    having, without = full.split(full.root(), 1)
    assert (items(having.inside), items(having.outside)) == ([1, 4], [0, 2, 3])
    assert (items(without.inside), items(without.outside)) == ([4], [1])
    assert make_space(5, must=(0, 3), apart=[(0, 3)]).root() is None
    assert make_space(5, must=(0, 1), size=1).root() is None
    assert make_space(5, must=(0,), size=1).root() is not None
    nothing = make_space(5, size=0).root()
    assert (items(nothing.inside), items(nothing.outside)) == ([4], [0, 1, 2, 3])
    assert len(space.split(having, 2)) <= 2
    menu = np.array([True, True, False, False, True])
    assert make_space(5, size=2).allows(menu)
    assert not make_space(5, size=1).allows(menu)
    assert not make_space(5, must=(2,)).allows(menu)
    assert not make_space(5, apart=[(0, 1)]).allows(menu)
    assert make_space(5, apart=[(0, 2)]).allows(menu)


def random_types(rng, count, n):
    orders = np.array([rng.permutation(n) for _ in range(count)])
    rank = np.argsort(orders, axis=1)
    above = rank[:, None, :] < rank[:, :, None]
    return orders, above, as_words(above.reshape(count * n, n)).reshape(count, n, -1)


def test_the_item_to_split_by(monkeypatch):
    n = 6
    _, above, words = random_types(np.random.default_rng(2), 4, n)
    space = make_space(n)
    types = Types(words, space.revenue)
    weights = np.array([0.4, 0.0, 0.35, 0.25])
    node = space.split(space.root(), 2)[0]
    scores = {}
    for x in (0, 1, 3, 4):
        bounds = []
        for part in space.split(node, x):
            worth = [plain_worth(row, items(part.inside), ~part.outside, space.revenue) for row in above]
            bounds.append(float(weights @ worth))
        scores[x] = max(bounds), min(bounds)
    assert choose_item(space, types, weights, node) == min(scores, key=scores.get)
    monkeypatch.setattr(assortment_search, "_CANDIDATES", 2)
    assert min((0, 4), key=scores.get) != min(scores, key=scores.get)
    assert choose_item(space, types, weights, node) == min((0, 4), key=scores.get)
    monkeypatch.setattr(assortment_search, "_CANDIDATES", 4)
    assert choose_item(space, types, weights, node) == min(scores, key=scores.get)
    nobody = np.zeros(4)
    assert choose_item(space, types, nobody, node) == 0  # all the same: the first
    worth = types.worth(node)
    assert worth.tolist() == [plain_worth(row, items(node.inside), ~node.outside, space.revenue) for row in above]
    assert types.worth(node, np.array([2, 0])).tolist() == worth[[2, 0]].tolist()


@pytest.mark.parametrize("seed", range(5))
def test_the_best_menu_of_a_mixture_by_trying_all(seed):
    rng = np.random.default_rng(seed)
    n = 6
    orders, _, _ = random_types(rng, 5, n)
    weights = rng.dirichlet(np.ones(5))
    space = make_space(n, size=3, apart=[(0, 1)])
    earned = {}
    for mask in range(1 << (n - 1)):
        menu = np.array([bool(mask >> x & 1) for x in range(n - 1)] + [True])
        if space.allows(menu):
            best = [next(x for x in order if menu[x]) for order in orders]
            earned[tuple(items(menu))] = float(weights @ space.revenue[best])
    start = np.arange(n) == n - 1
    found = search_mixture(orders, weights, space, 1e-9, np.inf, (start, 0.0))
    assert found.value == pytest.approx(max(earned.values()), abs=1e-12)
    assert earned[tuple(items(found.menu))] == pytest.approx(found.value, abs=1e-12)
    assert found.upper - found.value <= 1e-9
    assert found.reason == ""
    late = search_mixture(orders, weights, space, 1e-9, -np.inf, (start, 0.0))
    assert (items(late.menu), late.value, late.nodes, late.reason) == ([n - 1], 0.0, 0, "max_seconds")
    assert late.upper == np.inf


def test_a_search_by_hand():
    """Three items beside the outside option; a menu's value is the sum of its numbers, bounds are what could be added."""
    gain = np.array([4.0, -1.0, 2.0, 0.0])
    space = make_space(4)
    asked, told = [], []

    def value(menu):
        return float(gain[menu].sum())

    def bound(node, beat):
        free = items(~(node.inside | node.outside))
        here = value(node.inside) + sum(max(gain[x], 0.0) for x in free)
        asked.append((here, beat))
        return here, free[0] if free else -1

    found = search(space, bound, value, None, Goal(0.5), report=lambda *numbers: told.append(numbers))
    assert items(found.menu) == [0, 2, 3]
    assert (found.value, found.upper, found.reason) == (6.0, 6.0, "")
    # The root; of its parts with the same bound the latest, without item 0; with it; without item 1; without and with item 2.
    assert found.nodes == len(told) == 6
    assert told[-1] == (found.nodes, 6.0, 6.0)
    assert asked == [(6.0, -np.inf), (2.0, -np.inf), (6.0, -np.inf), (6.0, -np.inf), (4.0, -np.inf), (6.0, 4.5)]
    assert [best for _, best, _ in told] == [-np.inf] * 4 + [4.0, 6.0]
    # A start that is as good up to tol ends it at once; the ceiling is the bound of the root.
    start = np.array([True, False, True, True]), 5.6
    quick = search(space, bound, value, start, Goal(0.5, ceiling=6.0))
    assert (quick.nodes, quick.value, quick.upper) == (0, 5.6, 6.0)
    begun = search(space, bound, value, start, Goal(0.3, ceiling=6.0))
    assert (begun.value, begun.upper) == (6.0, 6.0)
    # Menus to value first count, and are not searched below.
    early = search(space, bound, value, None, Goal(0.5, ceiling=6.0), first=[np.array([True, False, True, True])])
    assert (early.nodes, early.value) == (0, 6.0)
    none = search(make_space(4, must=(0, 1), size=1), bound, value, start, Goal(0.5))
    assert (none.nodes, none.value, none.upper) == (0, 5.6, 5.6)


def test_an_interrupted_search_keeps_its_bound():
    space = make_space(4)
    start = np.array([False, False, False, True]), 1.0

    def interrupt(node, beat):
        raise KeyboardInterrupt

    found = search(space, interrupt, None, start, Goal(0.1, ceiling=7.0))
    assert (found.value, found.upper, found.reason) == (1.0, 7.0, "interrupted")
    with pytest.raises(KeyboardInterrupt):
        search(space, interrupt, None, None, Goal(0.1, ceiling=7.0))

    def large(node, beat):
        raise assortment_search.GraphTooLargeError("too large", 1, 1, 1, 1)

    assert search(space, large, None, start, Goal(0.1)).reason == "too large"
    # What is dropped because it is within tol of the best is part of the upper bound.
    near = search(space, lambda node, beat: (1.05, 0), None, start, Goal(0.1, ceiling=7.0))
    assert (near.value, near.upper, near.nodes) == (1.0, 1.05, 1)


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
    items = SHOP.items
    assert find_revenue(items, {"a": 3, "b": 4}, "out").tolist() == [0.0, 3.0, 4.0]
    assert find_revenue(items, {"a": 3, "b": 4, "out": 1}, "out").tolist() == [1.0, 3.0, 4.0]
    assert find_revenue(items, [1, 2, 3], "out").tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(rf.InputError, match=r"there is none for \{b\}"):
        find_revenue(items, {"a": 3}, "out")
    with pytest.raises(rf.InputError, match=r"there is none for \{out\}"):
        find_revenue(items, {"a": 3, "b": 4}, "a")
    with pytest.raises(rf.InputError, match=r"revenue\['b'\]=inf: a finite number is needed"):
        find_revenue(items, [1, 2, np.inf], "out")
    assert find_items(items, ["b", "out"], "must").tolist() == [True, False, True]
    for wrong in (True, 0.0, 1.0, "0.9"):
        with pytest.raises(rf.InputError, match="a number between 0 and 1 is needed, or None"):
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


def test_assortments_are_named_in_a_plot_where_there_is_room(monkeypatch):
    pytest.importorskip("matplotlib")
    found = assortment(2)
    names = ["past 0: {x}", "past 1: {x}"]
    for room, expected in ((11, names), (10, ["past 0", "past 1"])):
        monkeypatch.setattr("rumflow.inference.assortment_result.MOST_NAME", room)
        assert [text.get_text() for text in found.plot().get_yticklabels()] == expected


def test_assortments_in_words():
    lines = assortment().summary().splitlines()
    assert lines[:4] == [
        "The fit is taken for the truth.",
        "Best in the worst case: {x} beside out, which earns 1 to 2.",
        "No other assortment promises more (certified to 0.2).",
        "A note.",
    ]
    assert assortment(gap=0.0).summary().splitlines()[2] == "No other assortment promises more (certified)."
    for reason, why in (
        ("max_seconds", "time was up"),
        ("interrupted", "the search was interrupted"),
        ("too large", "the graph of the recorded menus and a promising one is too large"),
    ):
        line = assortment(reason=reason).summary().splitlines()[2]
        assert line == f"Not the last word, because {why}: another may promise up to 0.25 more."
    assert assortment(12).as_table().note.endswith("the fitted mixture.")
    assert assortment(14).as_table().note.endswith("mixture. 2 further past assortments earn less in the worst case.")
    assert len(assortment(14).as_table().rows) == 12
    some = assortment(2, confidence=0.9, more={"from": [0.5, np.nan], "to": [2.5, np.nan]}).as_table()
    assert some.note.startswith(
        'from, to: over all populations that are not rejected at 90 %; "-": not computed, for the assortment '
        "is not among the first. lower"
    )
    ends = {"from": [0.5, np.nan, np.nan], "to": [2.5, np.nan, np.nan], "allowed": [True, False, True]}
    assert "for the assortment is beyond the limits (max_size, must, never_together) or is not among the first. " in (
        assortment(3, confidence=0.9, more=ends).as_table().note
    )
    assert "not computed" not in assortment(1, confidence=0.9, more={"from": [0.5], "to": [2.5]}).as_table().note
    hint = "The fit is taken for the truth; confidence=0.95 (--confidence 0.95) allows for sampling error."
    assert assortment(notes=()).summary().splitlines()[0] == hint
    assert "taken for the truth" not in assortment(1, confidence=0.9, more={"from": [0.5], "to": [2.5]}).summary()
    assert [row[-2:] for row in some.rows] == [[0.5, 2.5], [None, None]]
    assert some.columns == ["assortment", "menu", "size", "lower", "upper", "fit", "from", "to"]
