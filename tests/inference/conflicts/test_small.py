"""Small conflicts, nested menus and circles of pairs, against plain loops."""

from itertools import combinations, permutations

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.menus import Menus
from rumflow.inference.conflicts import small, subsets
from rumflow.inference.conflicts.subsets import Subsets
from tests.reference.examples import DECOY


def nested_twin(data, tolerance):
    """Pairs of menus by hand, with their largest rise."""
    found = {}
    for (i, small_menu), (j, large) in combinations(enumerate(data.menus), 2):
        for a, b, d, e in ((i, j, small_menu, large), (j, i, large, small_menu)):
            if set(d) < set(e):
                rise = max(data.frequencies[b][x] - data.frequencies[a][x] for x in map(data.items.index, d))
                if rise > tolerance:
                    found[tuple(sorted((a, b)))] = rise
    return found


def cycles_twin(data, tolerance):
    """Triangles of pairs by hand."""
    found = {}
    rows = {frozenset(menu): k for k, menu in enumerate(data.menus) if len(menu) == 2}

    def share(a, b):
        return data.frequencies[rows[frozenset((a, b))]][data.items.index(a)]

    for a, b, c in permutations(data.items, 3):
        if all(frozenset(pair) in rows for pair in ((a, b), (b, c), (c, a))):
            excess = share(a, b) + share(b, c) + share(c, a) - 2
            if excess > tolerance:
                found[tuple(sorted(rows[frozenset(pair)] for pair in ((a, b), (b, c), (c, a))))] = excess
    return found


def test_small_conflicts_against_loops():
    data = Subsets(rf.ChoiceData.from_matrix(rf.simulate.dirichlet(5, 1)), None, None).data
    found = small.SmallConflicts(data.offered).find(data.shares)
    pairs, cycles = nested_twin(data, subsets.TOLERANCE), cycles_twin(data, subsets.TOLERANCE)
    assert len(cycles) > 0
    assert found[: len(pairs)] == sorted(pairs, key=lambda rows: -pairs[rows])
    assert found[len(pairs) :] == sorted(cycles, key=lambda rows: -cycles[rows])


def test_small_conflicts_of_samples_are_screened_for_the_number_of_comparisons(rng):
    data = rf.simulate.random_menus(6, 20, size=3, draws=40, seed=2)
    both = rf.ChoiceData.from_counts(
        {menu: dict(zip(menu, row[[data.items.index(x) for x in menu]], strict=True))
         for menu, row in zip(data.menus, data.counts, strict=True)}
        | {(0, 1): {0: 2, 1: 38}}
    )  # fmt: skip
    screen = small.SmallConflicts(both.offered)
    strict, loose = (screen.find(both.shares, both.totals, level) for level in (1e-6, 0.4))
    assert set(strict) <= set(loose)
    assert screen.find(both.shares, 1e9 * both.totals, 0.05)


def test_small_conflicts_of_samples_against_loops():
    """Differences in standard errors: of a share common to both menus, and of the three shares of a cycle."""
    rng = np.random.default_rng(3)
    menus = [menu for size in (2, 3) for menu in combinations(range(4), size)]
    counts = {menu: dict(zip(menu, rng.integers(1, 40, len(menu)).tolist(), strict=True)) for menu in menus}
    data = rf.ChoiceData.from_counts(counts)
    row = {menu: k for k, menu in enumerate(data.menus)}
    total = {menu: sum(own.values()) for menu, own in counts.items()}
    rises, cycles = {}, {}
    for d, e in permutations(menus, 2):
        if set(d) < set(e):
            for x in d:
                share = (counts[d][x] + counts[e][x] + 1) / (total[d] + total[e] + 2)
                error = np.sqrt(share * (1 - share) * (1 / total[d] + 1 / total[e]))
                rises[d, e, x] = (counts[e][x] / total[e] - counts[d][x] / total[d]) / error
    for circle in permutations(range(4), 3):
        if circle[0] == min(circle):
            steps = [(a, tuple(sorted((a, b)))) for a, b in zip(circle, (*circle[1:], circle[0]), strict=True)]
            shares = [(counts[pair][a] + 1) / (total[pair] + 2) for a, pair in steps]
            error = np.sqrt(sum(s * (1 - s) / total[pair] for s, (_, pair) in zip(shares, steps, strict=True)))
            cycles[circle] = (sum(counts[pair][a] / total[pair] for a, pair in steps) - 2) / error
    screen = small.SmallConflicts(data.offered)
    pairs, strength, compared = screen.rises(data.shares, data.totals)
    assert compared == len(rises)
    expected = {}
    for (d, e, _), value in rises.items():
        expected[row[d], row[e]] = max(value, expected.get((row[d], row[e]), -np.inf))
    found = dict(zip(map(tuple, pairs.tolist()), strength.tolist(), strict=True))
    assert found == pytest.approx(expected, rel=1e-12)
    triples, force, count = screen.excesses(data.shares, data.totals)
    assert count == len(cycles) == len(triples)
    assert sorted(force) == pytest.approx(sorted(cycles.values()), rel=1e-12)


def test_nested_menus_are_not_looked_for_among_many(monkeypatch):
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 8, "b": 2}, ("a", "b", "c"): {"a": 9, "b": 1, "c": 0}})
    for most, expected in ((2, [(0, 1)]), (1, [])):
        monkeypatch.setattr(small, "MOST_MENUS", most)
        assert small.SmallConflicts(data.offered).find(data.shares) == expected


def test_nested_menus_and_triangles(monkeypatch):
    table = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]], bool)
    menus, _ = Menus.from_table(table)
    expected = [[0, 2], [0, 4], [1, 2], [1, 4], [2, 4], [3, 4], [5, 2], [5, 4]]
    assert small.nested_menus(menus).tolist() == expected
    # Cells 0 and 1 are {a, b}, 2 and 3 {a, c}, 13 and 14 {b, c}: a over b over c over a, and the other way round.
    assert small.triangles(menus).tolist() == [[0, 13, 3], [2, 14, 1]]
    monkeypatch.setattr(small, "_PIECE", 1)
    assert small.nested_menus(menus).tolist() == expected
    wide, _ = Menus.from_table(np.pad(table, ((0, 0), (126, 0))))  # items in two words
    assert small.nested_menus(wide).tolist() == expected
    assert small.triangles(menus.take(np.arange(5))[0]).tolist() == []


@pytest.mark.parametrize("seed", range(4))
def test_triangles_against_loops(seed):
    """Among pairs of 9 items, some of which were offered, and menus of three: in both directions, the earliest item first."""
    rng = np.random.default_rng(seed)
    rows = [list(row) for size in (2, 3) for row in combinations(range(9), size) if rng.random() < 0.5]
    table = np.zeros((len(rows), 9), bool)
    for k, row in enumerate(rows):
        table[k, row] = True
    menus, _ = Menus.from_table(table)
    pairs = {tuple(row): k for k, row in enumerate(rows) if len(row) == 2}
    expected = []
    for circle in permutations(range(9), 3):
        steps = list(zip(circle, (*circle[1:], circle[0]), strict=True))
        if circle[0] == min(circle) and all(tuple(sorted(step)) in pairs for step in steps):
            expected.append([int(menus.start[pairs[tuple(sorted(step))]]) + (step[0] > step[1]) for step in steps])
    assert small.triangles(menus).tolist() == expected


def test_strengths_of_small_conflicts_by_hand():
    """a rises from 0.3 to 0.5 (100 choices each), its share is (30 + 50 + 1) / 202 if it is the same on both."""
    pairs, strength, compared = small.SmallConflicts(DECOY.offered).rises(DECOY.shares, DECOY.totals)
    share = 81 / 202
    assert pairs.tolist() == [[0, 1]]
    assert strength == pytest.approx([0.2 / np.sqrt(share * (1 - share) * 0.02)])
    assert compared == 2
    cycle = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 80, "b": 20}, ("b", "c"): {"b": 70, "c": 30}, ("a", "c"): {"c": 90, "a": 10}}
    )
    own = small.SmallConflicts(cycle.offered)
    rows, strength, compared = own.excesses(cycle.shares, cycle.totals)
    assert compared == 2  # both directions
    assert rows.tolist() == [[0, 2, 1], [1, 2, 0]]
    variance = sum(s * (1 - s) / 100 for s in (81 / 102, 71 / 102, 91 / 102))
    assert strength == pytest.approx(np.array([0.4, -1.4]) / np.sqrt(variance))
    assert own.find(cycle.shares, cycle.totals, 0.05) == [(0, 1, 2)]
    assert own.excesses(cycle.shares, None).strength == pytest.approx([0.4, -1.4])
    assert own.find(cycle.shares) == [(0, 1, 2)]
    half = cycle.shares.copy()
    half[0] = np.nan  # of {a, b} only b was recorded: a has the rest
    assert own.excesses(half, None).strength == pytest.approx([0.4, -1.4])
    half[1] = np.nan
    assert own.excesses(half, None).compared == 0


def test_candidates_come_strongest_first_and_not_too_many(monkeypatch):
    table = {("a", "b"): (30, 70), ("a", "c"): (45, 55), ("b", "c"): (50, 50), ("a", "b", "c"): (60, 20, 20)}
    data = rf.ChoiceData.from_counts({menu: dict(zip(menu, own, strict=True)) for menu, own in table.items()})
    own = small.SmallConflicts(data.offered)
    assert data.menus[3] == ("a", "b", "c")
    assert own.find(data.shares) == [(0, 3), (1, 3)]  # a rises by 0.3 from the first, by 0.15 from the second
    monkeypatch.setattr(small, "_PIECE", 1)
    assert own.find(data.shares) == [(0, 3), (1, 3)]
    assert own.rises(data.shares, None).compared == 6  # three pairs in the triple, two items each
    monkeypatch.setattr(small, "MOST_CANDIDATES", 1)
    assert own.find(data.shares) == [(0, 3)]
