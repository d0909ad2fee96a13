"""Small conflicts, nested menus and circles of pairs, against plain loops."""

from itertools import combinations, permutations

import numpy as np
import pytest

import rumflow as rf
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
    recorded = ~np.isnan(data.counts)
    found = small.SmallConflicts(data.membership, recorded, None).find(data.frequencies, None)
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
    recorded = ~np.isnan(both.counts)
    screen = small.SmallConflicts(both.membership, recorded, both.totals)
    strict, loose = (screen.find(both.frequencies, level) for level in (1e-6, 0.4))
    assert set(strict) <= set(loose)
    assert small.SmallConflicts(both.membership, recorded, 1e9 * both.totals).find(both.frequencies, 0.05)


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
    screen = small.SmallConflicts(data.membership, ~np.isnan(data.counts), data.totals)
    pairs, strength, compared = screen._nested(data.frequencies)
    assert compared == len(rises)
    expected = {}
    for (d, e, _), value in rises.items():
        expected[row[d], row[e]] = max(value, expected.get((row[d], row[e]), -np.inf))
    found = dict(zip(map(tuple, pairs.tolist()), strength.tolist(), strict=True))
    assert found == pytest.approx(expected, rel=1e-12)
    triples, force, count = screen._cycles(data.frequencies)
    assert count == len(cycles) == len(triples)
    assert sorted(force) == pytest.approx(sorted(cycles.values()), rel=1e-12)


def test_nested_menus_are_not_looked_for_among_many(monkeypatch):
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 8, "b": 2}, ("a", "b", "c"): {"a": 9, "b": 1, "c": 0}})
    for most, expected in ((2, [(0, 1)]), (1, [])):
        monkeypatch.setattr(small, "MOST_MENUS", most)
        assert (
            small.SmallConflicts(data.membership, ~np.isnan(data.counts), None).find(data.frequencies, None) == expected
        )


def test_nested_menus_and_pairs():
    menus = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1]], bool)
    lower, upper = small.nested_menus(menus)
    found = set(zip(lower.tolist(), upper.tolist(), strict=True))
    assert found == {(0, 2), (1, 2), (0, 4), (1, 4), (2, 4), (3, 4)}
    table, players = small._pairs(menus, menus)
    assert players.tolist() == [0, 1, 2, 3]
    assert table.tolist() == [[-1, 0, 1, -1], [0, -1, -1, -1], [1, -1, -1, 3], [-1, -1, 3, -1]]
    nothing = menus.copy()
    nothing[3] = False
    table, players = small._pairs(menus, nothing)
    assert players.tolist() == [0, 1, 2]


def test_strengths_of_small_conflicts_by_hand():
    """a rises from 0.3 to 0.5 (100 choices each), its share is (30 + 50 + 1) / 202 if it is the same on both."""
    own = small.SmallConflicts(DECOY.membership, DECOY.membership, DECOY.totals)
    pairs, strength, compared = own._nested(DECOY.frequencies)
    share = 81 / 202
    assert pairs.tolist() == [[0, 1]]
    assert strength == pytest.approx([0.2 / np.sqrt(share * (1 - share) * 0.02)])
    assert compared == 2
    cycle = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 80, "b": 20}, ("b", "c"): {"b": 70, "c": 30}, ("a", "c"): {"c": 90, "a": 10}}
    )
    own = small.SmallConflicts(cycle.membership, cycle.membership, cycle.totals)
    rows, strength, compared = own._cycles(cycle.frequencies)
    assert compared == 2  # both directions
    assert rows.tolist() == [[0, 2, 1], [1, 2, 0]]
    variance = sum(s * (1 - s) / 100 for s in (81 / 102, 71 / 102, 91 / 102))
    assert strength == pytest.approx(np.array([0.4, -1.4]) / np.sqrt(variance))
    assert own.find(cycle.frequencies, 0.05) == [(0, 1, 2)]
    exact = small.SmallConflicts(cycle.membership, cycle.membership, None)
    assert exact._cycles(cycle.frequencies)[1] == pytest.approx([0.4, -1.4])
    assert exact.find(cycle.frequencies, None) == [(0, 1, 2)]
    half = cycle.frequencies.copy()
    half[0, 0] = np.nan  # of {a, b} only b was recorded: a has the rest
    assert exact._cycles(half)[1] == pytest.approx([0.4, -1.4])


def test_candidates_come_strongest_first_and_not_too_many(monkeypatch):
    table = {("a", "b"): (30, 70), ("a", "c"): (45, 55), ("b", "c"): (50, 50), ("a", "b", "c"): (60, 20, 20)}
    data = rf.ChoiceData.from_counts({menu: dict(zip(menu, own, strict=True)) for menu, own in table.items()})
    own = small.SmallConflicts(data.membership, data.membership, None)
    assert data.menus[3] == ("a", "b", "c")
    assert own.find(data.frequencies, None) == [
        (0, 3),
        (1, 3),
    ]  # a rises by 0.3 from the first, by 0.15 from the second
    monkeypatch.setattr(small, "_PIECE", 1)
    assert own.find(data.frequencies, None) == [(0, 3), (1, 3)]
    assert own._nested(data.frequencies)[2] == 6  # three pairs in the triple, two items each
    monkeypatch.setattr(small, "MOST_CANDIDATES", 1)
    assert own.find(data.frequencies, None) == [(0, 3)]
