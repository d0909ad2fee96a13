"""The search for irreducible conflicts: deletion, orders, strongest first, time."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

import rumflow as rf
from rumflow.inference.conflicts import search
from rumflow.inference.conflicts.search import Search
from rumflow.inference.conflicts.subsets import Sampling, Subsets
from tests.reference.examples import DECOY


class Oracle:
    """In place of the subsets of a sample: a set is a conflict when it holds one of the given ones, and not b without a."""

    exact, sampling = False, None

    def __init__(self, conflicts, tied):
        self.conflicts, self.tied, self.asked = [set(c) for c in conflicts], tied, 0

    def of_menus(self, rows):
        self.asked += 1
        rows = {int(row) for row in rows}
        free = all(a in rows or b not in rows for a, b in self.tied)
        return SimpleNamespace(is_conflict=free and any(c <= rows for c in self.conflicts))


def test_deletion_ends_with_an_irreducible_set(rng):
    for size in (1, 2, 3, 4, 5) * 6:
        planted = [rng.choice(30, size, replace=False).tolist() for _ in range(2)]
        search = object.__new__(Search)
        search.subsets = oracle = Oracle(planted, [])
        found = set(search.shrink(rng.permutation(40)))
        assert oracle.asked < 120
        assert found in oracle.conflicts
        assert not any(oracle.of_menus(found - {row}).is_conflict for row in found)
    # What cannot be left out at first may be left out later: 7 only after 8.
    search.subsets = Oracle([{0, 1}], [(7, 8)])
    assert search.shrink(np.array([7, 0, 8, 1])) == [0, 1]


def test_the_smallest_set_of_several_orders_is_taken():
    """What carries least goes first, and leaves five menus; large menus first leaves two."""
    oracle = Oracle([{0, 1, 2, 3, 4}, {5, 6}], [])
    small = np.isin(np.arange(12), (5, 6))
    oracle.data = SimpleNamespace(offered=SimpleNamespace(sizes=np.where(small, 2, 8)))
    oracle.whole = SimpleNamespace(contributions=np.array([9.0] * 5 + [1.0] * 6 + [2.0]))
    search = object.__new__(Search)
    search.subsets = oracle
    found = search.shrink_in_orders(np.arange(12))
    assert [set(rows) for rows in found] == [{0, 1, 2, 3, 4}, {5, 6}]  # and then it is small


def test_weights_in_another_unit_change_nothing():
    """A hundred choices of weight 0.01 are a hundred choices, in the screen and in the notes."""
    rng = np.random.default_rng(0)
    chances = {"a,b": [0.3, 0.7], "a,b,c": [0.7, 0.2, 0.1]}
    rows = [(menu, rng.choice(menu.split(","), p=p)) for menu, p in chances.items() for _ in range(100)]
    menus, choices = zip(*rows, strict=True)
    found = {}
    for unit in (1.0, 0.01):
        frame = {"menu": list(menus), "choice": list(choices), "weight": (unit * rng.choice([0.9, 1.1], 200)).tolist()}
        data = rf.ChoiceData.from_frame(frame, weight="weight")
        found[unit] = rf.explain(data, n_boot=39, halves=0)
        assert len(found[unit].conflict) == 2
        assert not any("few choices" in note for note in found[unit].notes)
        search = Search(Subsets(data, None, Sampling(0.05, 39, 0, False), 1))
        assert search.candidates == [(0, 1)]


def test_a_pair_that_stands_out_among_many_menus_is_a_lead(rng):
    shares = np.full((256, 8), np.nan)
    for mask in (k for k in range(256) if k.bit_count() >= 2):
        members = [x for x in range(8) if mask >> x & 1]
        shares[mask, members] = rng.multinomial(200, np.full(len(members), 1 / len(members)))
    shares[0b11, :2] = 20, 180
    data = rf.ChoiceData.from_matrix(shares)
    search = Search(Subsets(data, None, Sampling(0.05, 39, 0, False), 1))
    assert not search.subsets.whole.is_conflict
    assert search.first() is None
    leads = [[search.subsets.data.menus[row] for row in menus] for menus in search.leads(3)]
    assert leads
    assert all((0, 1) in menus for menus in leads)
    quiet = rf.explain(rf.simulate.random_menus(4, 5, size=2, draws=30, seed=1), n_boot=19, halves=0)
    assert quiet.leads == ()
    assert "{0, 1} and {0, 1, 2}" in replace(quiet, leads=(((0, 1), (0, 1, 2)),)).summary()


def test_small_conflicts_are_looked_up_once_for_the_same_menus():
    first = Search(Subsets(DECOY, None, None, 1))
    again = Search(Subsets(DECOY.replace(counts=2 * DECOY.count, totals=2 * DECOY.totals), None, None, 1), first.small)
    assert again.small is first.small
    assert again.candidates == first.candidates
    other = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 1}})
    assert Search(Subsets(other, None, None, 1), first.small).small is not first.small


def test_spreads_of_coefficients():
    assert search.spread(np.array([1.0, 5.0, -2.0, 3.0, 3.0]), DECOY.offered).tolist() == [4.0, 5.0]


def test_menus_that_are_a_conflict_by_themselves():
    """Everybody prefers a to b, and b is taken where a is there: by 20 %, and by 40 %, which is further away."""
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 80, "b": 20}, ("a", "b", "c"): {"a": 50, "b": 40, "c": 10}})
    own = search.Search(Subsets(data, rf.RandomUtility([("a", "b")]), None, 1))
    assert own.alone == [1, 0]
    assert own.first() == (1,)
    assert own.first(np.array([0])) == (0,)
    found = rf.explain(data, level=None, model=rf.RandomUtility([("a", "b")]))
    assert [one.menus for one in found.conflicts] == [(("a", "b", "c"),), (("a", "b"),)]
    assert found.conflicts[0].inequality.text == (
        "Nobody with a ranking that has a over b takes b from {a, b, c}, so that its share is at most 0; it is 0.4."
    )
    assert found.complete


def test_part_of_a_circle_is_enough_where_preferences_are_known():
    """Everybody prefers a to b, as all do here: b over c and c over a are two thirds of a circle, and too much by themselves."""
    data = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 100, "b": 0}, ("b", "c"): {"b": 80, "c": 20}, ("a", "c"): {"a": 20, "c": 80}}
    )
    assert rf.explain(data, level=None).conflict == (("a", "b"), ("a", "c"), ("b", "c"))
    known = rf.explain(data, level=None, model=rf.RandomUtility([("a", "b")]))
    assert known.conflict == (("a", "c"), ("b", "c"))


def test_how_long_is_searched(monkeypatch):
    """Six pairs of menus that are in conflict, and nothing else: each search finds the first that is left."""
    own = object.__new__(search.Search)
    own.subsets = SimpleNamespace(data=SimpleNamespace(totals=np.ones(12)))
    own.rank = lambda menus: menus
    searched = []

    def first(allowed):
        searched.append(len(allowed))
        left = set(allowed.tolist())
        return next(((2 * k, 2 * k + 1) for k in range(6) if {2 * k, 2 * k + 1} <= left), None)

    own.first = first
    found = own.several(2, [])
    assert (found.menus, found.complete) == ([(0, 1), (2, 3)], False)
    assert len(searched) == 2
    monkeypatch.setattr(search, "MOST_SEARCHES", 1)
    own.first = lambda allowed: searched.append(1) or None if len(allowed) < 12 else (0, 1)
    searched.clear()
    found = own.several(2, [])
    assert found.menus == [(0, 1)]
    assert len(searched) == 1  # the first search found a conflict; one more is allowed
    assert not found.complete
    monkeypatch.setattr(search, "MOST_SEARCHES", 2)
    searched.clear()
    assert own.several(2, []).complete
    assert len(searched) == 2


def test_a_set_of_three_is_small_enough():
    own = object.__new__(search.Search)
    own.subsets = Subsets(DECOY, None, None, 1)
    for size, tried in ((3, 1), (4, 3)):
        own.shrink = lambda rows, size=size: [0] * size
        assert len(own.shrink_in_orders(np.array([0, 1]))) == tried


def test_the_search_keeps_only_what_is_needed():
    search = Search(Subsets(DECOY, None, None, 1))
    kept = search.cells((0, 1))
    assert kept.tolist() == [False, True, True, False, False]
    assert search.is_irreducible((0, 1))
    assert not search.is_irreducible((0,))
    assert search.first() == (0, 1)
    assert search.first(np.array([1])) is None
    assert search.first(np.array([], np.int64)) is None
    assert search.alone == []
    assert sorted(search.shrink(np.array([0, 1]))) == [0, 1]
    found = search.several(3, [])
    assert (found.menus, found.complete) == ([(0, 1)], True)


def test_cells_of_exact_shares_are_those_that_stay_one_by_one():
    """Many at once, or one after the other: of exact shares the same cells are left."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        data = rf.simulate.random_menus(6, 5, 4, draws=4, seed=seed)
        subsets = Subsets(data, None, None, 1)
        search = Search(subsets)
        if not subsets.whole.is_conflict:
            continue
        kept, menu = subsets.recorded, data.offered.menu
        order = rng.permutation(len(menu))
        alone = kept.copy()
        for cell in order:
            smaller = alone.copy()
            smaller[cell] = False
            if smaller[menu == menu[cell]].any() and subsets.of(smaller).is_conflict:
                alone = smaller
        assert (search._thin(kept, order) == alone).all()
        assert alone.sum() < kept.sum()
