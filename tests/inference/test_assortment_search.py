"""The search over menus: kernels against plain twins, spaces, populations, searches by hand."""

from itertools import permutations

import numpy as np
import pytest

from rumflow.core.memory import NoMemoryError
from rumflow.core.patience import OutOfTimeError, limited
from rumflow.core.preferences import NOTHING_KNOWN
from rumflow.inference import assortment_search
from rumflow.inference.assortment_search import (
    Limits,
    Node,
    RankingPool,
    SearchGoal,
    Space,
    TypePool,
    WorstCases,
    choose_item,
    least_revenues,
    relate,
    search,
    search_mixture,
)
from rumflow.models.open_menus import as_words
from tests.reference.assortments import choices_of


def test_the_newest_populations_are_kept(monkeypatch):
    monkeypatch.setattr("rumflow.inference.assortment_search._MOST_POPULATIONS", 2)
    menus = np.ones((1, 3), np.bool_)
    asked = []

    def cheapest(worth, taken):
        asked.append(np.eye(taken.shape[1])[len(asked) % taken.shape[1]])
        return asked[-1]

    cases = WorstCases(menus, menus, NOTHING_KNOWN, np.array([2.0, 1.0, 0.0]), cheapest)
    cases.learn(np.array(list(permutations(range(3)))))
    nothing = np.zeros((0, 3), np.bool_)
    space = Space(cases.types.revenue, Limits(np.array([False, False, True]), 3, nothing), np.zeros((3, 3), np.bool_))
    for count in range(1, 5):
        cases.bound(space, space.root(), -1.0)
        assert [id(kept) for kept in cases.populations] == [id(own) for own in asked[-min(count, 2) :]]


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
    found = search(space, lambda node, least: (1.5, 1), lambda menu: 0.5, start, SearchGoal(1e-9))
    assert (found.reason, found.upper) == ("interrupted", 1.5)
    monkeypatch.setattr(Space, "split", kept)


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
    types = TypePool(words, space.revenue)
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

    found = search(space, bound, value, None, SearchGoal(0.5), report=lambda *numbers: told.append(numbers))
    assert items(found.menu) == [0, 2, 3]
    assert (found.value, found.upper, found.reason) == (6.0, 6.0, "")
    # The root; of its parts with the same bound the latest, without item 0; with it; without item 1; without and with item 2.
    assert found.nodes == len(told) == 6
    assert told[-1] == (found.nodes, 6.0, 6.0)
    assert asked == [(6.0, -np.inf), (2.0, -np.inf), (6.0, -np.inf), (6.0, -np.inf), (4.0, -np.inf), (6.0, 4.5)]
    assert [best for _, best, _ in told] == [-np.inf] * 4 + [4.0, 6.0]
    # A start that is as good up to tol ends it at once; the ceiling is the bound of the root.
    start = np.array([True, False, True, True]), 5.6
    quick = search(space, bound, value, start, SearchGoal(0.5, ceiling=6.0))
    assert (quick.nodes, quick.value, quick.upper) == (0, 5.6, 6.0)
    begun = search(space, bound, value, start, SearchGoal(0.3, ceiling=6.0))
    assert (begun.value, begun.upper) == (6.0, 6.0)
    # Menus to value first count, and are not searched below.
    early = search(space, bound, value, None, SearchGoal(0.5, ceiling=6.0), first=[np.array([True, False, True, True])])
    assert (early.nodes, early.value) == (0, 6.0)
    none = search(make_space(4, must=(0, 1), size=1), bound, value, start, SearchGoal(0.5))
    assert (none.nodes, none.value, none.upper) == (0, 5.6, 5.6)


def test_an_interrupted_search_keeps_its_bound():
    space = make_space(4)
    start = np.array([False, False, False, True]), 1.0

    def interrupt(node, beat):
        raise KeyboardInterrupt

    found = search(space, interrupt, None, start, SearchGoal(0.1, ceiling=7.0))
    assert (found.value, found.upper, found.reason) == (1.0, 7.0, "interrupted")
    with pytest.raises(KeyboardInterrupt):
        search(space, interrupt, None, None, SearchGoal(0.1, ceiling=7.0))

    def large(node, beat):
        raise assortment_search.GraphTooLargeError("too large", 1, 1, 1, 1)

    assert search(space, large, None, start, SearchGoal(0.1)).reason == "too large"
    # What is dropped because it is within tol of the best is part of the upper bound.
    near = search(space, lambda node, beat: (1.05, 0), None, start, SearchGoal(0.1, ceiling=7.0))
    assert (near.value, near.upper, near.nodes) == (1.0, 1.05, 1)


def test_types_are_learnt_once():
    menus = np.array([[True, True, True], [True, False, True]])
    cases = WorstCases(menus, menus, NOTHING_KNOWN, np.array([2.0, 1.0, 0.0]), None)
    cases.learn(np.array([[0, 1, 2], [1, 0, 2], [0, 2, 1]]))
    assert cases.matrix.toarray().tolist() == [[1, 0], [0, 1], [0, 0], [1, 1], [0, 0]]
    cases.learn(np.array([[0, 2, 1], [2, 1, 0]]))
    assert cases.matrix.shape == (5, 3)
    assert len(cases.types.above) == 3
    # Whoever takes 1 from all and 0 from {0, 2}: 1 is above 0 and 2, and 0 above 2.
    assert cases.types.above[1, :, 0].tolist() == [0b010, 0b000, 0b011]


def test_rankings_are_worth_the_same_as_what_they_have_above_each_item(monkeypatch):
    n = 9
    rng = np.random.default_rng(5)
    orders, _, words = random_types(rng, 30, n)
    revenue = np.sort(rng.integers(0, 6, n).astype(float))[::-1].copy()
    known, plain = RankingPool(orders, revenue), TypePool(words, revenue)
    used = np.array([3, 7, 20])
    for _ in range(40):
        state = rng.integers(0, 3, n)
        state[n - 1] = 1
        node = Node(state == 1, state == 2)
        assert known.worth(node).tolist() == plain.worth(node).tolist()
        assert known.worth(node, used).tolist() == plain.worth(node, used).tolist()
    monkeypatch.setattr(assortment_search, "_AT_ONCE", 4 * n)
    assert known.worth(node).tolist() == plain.worth(node).tolist()
    with limited(-np.inf), pytest.raises(OutOfTimeError):
        known.worth(node)


def test_types_that_fit_in_no_memory_are_refused_before_they_take_it(monkeypatch):
    menus = np.ones((1, 3), np.bool_)
    cases = WorstCases(menus, menus, NOTHING_KNOWN, np.array([2.0, 1.0, 0.0]), lambda *_: np.ones(1))
    monkeypatch.setattr("rumflow.core.memory.fits", lambda _: False)
    with pytest.raises(NoMemoryError, match="the table of what 1 types prefer among 3 items needs about"):
        cases.learn(np.array([[0, 1, 2]]))
