"""Conflicts among menus: against enumeration, planted ones, the public projection and test."""

import json
import sys
from dataclasses import replace
from functools import cache
from itertools import combinations, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from experiments.explain import DESIGNS, draw, exact_data, make_design
from scipy.optimize import linprog

import rumflow as rf
from rumflow.data.menus import membership_of
from rumflow.inference.conflicts import inequality, small, subsets
from rumflow.inference.conflicts.search import Search
from rumflow.inference.conflicts.subsets import Sampling, Subsets, half_samples

CYCLE = {("a", "b"): {"a": 80, "b": 20}, ("b", "c"): {"b": 80, "c": 20}, ("a", "c"): {"c": 80, "a": 20}}


planted_design = cache(make_design)


def labels(data, rows):
    return tuple(data.menus[row] for row in sorted(rows))


def part_of(data, menus):
    """Some menus of the data, by their labels."""
    table = {
        menu: {item: count for item, count in zip(data.items, row, strict=True) if not np.isnan(count)}
        for menu, row in zip(data.menus, data.counts, strict=True)
        if menu in menus
    }
    return rf.ChoiceData.from_counts(table)


def choices_of(menus, n):
    """(rankings, cells of the menus): what every ranking takes."""
    return np.array(
        [[float(min(menu, key=order.index) == x) for menu in menus for x in menu] for order in permutations(range(n))]
    )


def is_rational(data, rows):
    """By a linear programme over all rankings."""
    menus = [data.menus[row] for row in rows]
    shares = np.concatenate([data.frequencies[row][list(data.menus[row])] for row in rows])
    types = choices_of(menus, data.n)
    return linprog(np.zeros(len(types)), A_eq=types.T, b_eq=shares, method="highs").status == 0


@pytest.mark.parametrize("kind", ["cycle", "decoy"])
@pytest.mark.parametrize("n", list(DESIGNS))
def test_planted_conflicts_are_named_exactly(n, kind):
    design = planted_design(n, kind)
    data = exact_data(design)
    found = rf.explain(data)
    planted = labels(data, design.planted)
    assert found.conflict == planted
    assert found.complete
    assert len(found.conflicts) == 1
    assert found.conflicts[0].irreducible
    assert found.pattern == {"cycle": "cycle", "decoy": "attraction"}[kind]
    assert found.inequality.bound == {"cycle": 2, "decoy": 1}[kind]
    assert found.inequality.value == pytest.approx({"cycle": 2.25, "decoy": 1.15}[kind])
    # Irreducible by the public projection, not by the search itself.
    assert rf.project(part_of(data, planted)).distance > 0.05
    for menu in planted:
        assert rf.project(part_of(data, set(planted) - {menu})).distance < 1e-6
        assert rf.project(part_of(data, set(data.menus) - {menu})).distance < 1e-6
    carried = dict(zip(found.influence["menu"], found.influence["share"], strict=True))
    assert sum(carried[menu] for menu in planted) > 0.8


@pytest.mark.parametrize(("n", "kind"), [(5, "decoy"), (8, "cycle"), (12, "decoy"), (40, "cycle")])
def test_planted_conflicts_are_named_exactly_in_large_samples(n, kind, rng):
    design = planted_design(n, kind)
    data = draw(design, 3000, rng)
    found = Search(Subsets(data, None, Sampling(0.05, 39, 0, False), 1)).first()
    assert set(found) == design.planted
    menus = labels(data, found)
    assert rf.rum_test(part_of(data, menus), n_boot=59, seed=5).pvalue <= 0.05
    for menu in menus:
        assert rf.rum_test(part_of(data, set(menus) - {menu}), n_boot=59, seed=5).pvalue > 0.05


def test_a_sample_is_explained_from_end_to_end(rng):
    design = planted_design(5, "cycle")
    data = draw(design, 1000, rng)
    found = rf.explain(data, n_boot=39, halves=6)
    assert found.conflict == labels(data, design.planted)
    assert found.complete
    assert found.pvalue <= 0.05
    named = dict(zip(found.influence["menu"], found.influence["named"], strict=True))
    assert all(named[menu] > 0.5 for menu in found.conflict)
    assert sum(named.values()) < 4
    p = dict(zip(found.influence["menu"], found.influence["pvalue_without"], strict=True))
    assert all(p[menu] > 0.05 for menu in found.conflict)


@pytest.mark.parametrize("seed", range(12))
def test_all_irreducible_conflicts_against_a_linear_programme_over_all_subsets(seed):
    rng = np.random.default_rng(seed)
    n, m = 4, 6
    masks = np.sort(rng.choice([k for k in range(16) if k.bit_count() >= 2], m, replace=False))
    inside = membership_of(masks, n)
    mixed = rng.dirichlet(np.full(24, 0.3)) @ np.array(
        [[[float(min(np.flatnonzero(row), key=order.index) == x) for x in range(n)] for row in inside]
         for order in permutations(range(n))]
    ).reshape(24, -1)  # fmt: skip
    noise = np.array([np.where(row, rng.exponential(size=n), 0.0) for row in inside])
    shares = 0.8 * mixed.reshape(m, n) + 0.2 * noise / noise.sum(axis=1, keepdims=True)
    data = rf.ChoiceData(tuple(range(n)), inside, np.where(inside, shares, np.nan), np.ones(m))
    conflicts = [
        set(rows) for size in range(1, m + 1) for rows in combinations(range(m), size) if not is_rational(data, rows)
    ]
    irreducible = [rows for rows in conflicts if not any(other < rows for other in conflicts)]
    found = rf.explain(data, most=20)
    named = [{data.menus.index(menu) for menu in one.menus} for one in found.conflicts]
    assert all(rows in irreducible for rows in named)
    assert found.complete
    assert len(named) == len(irreducible)
    assert [len(rows) for rows in named] == sorted(len(rows) for rows in named)


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
        found = set(search._shrink(rng.permutation(40)))
        assert oracle.asked < 120
        assert found in oracle.conflicts
        assert not any(oracle.of_menus(found - {row}).is_conflict for row in found)
    # What cannot be left out at first may be left out later: 7 only after 8.
    search.subsets = Oracle([{0, 1}], [(7, 8)])
    assert search._shrink(np.array([7, 0, 8, 1])) == [0, 1]


def test_the_smallest_set_of_several_orders_is_taken():
    """What carries least goes first, and leaves five menus; large menus first leaves two."""
    oracle = Oracle([{0, 1, 2, 3, 4}, {5, 6}], [])
    small = np.isin(np.arange(12), (5, 6))
    oracle.data = SimpleNamespace(membership=np.arange(8)[None] < np.where(small, 2, 8)[:, None])
    oracle.whole = SimpleNamespace(contributions=np.array([9.0] * 5 + [1.0] * 6 + [2.0]))
    search = object.__new__(Search)
    search.subsets = oracle
    found = search._several_orders(np.arange(12))
    assert [set(rows) for rows in found] == [{0, 1, 2, 3, 4}, {5, 6}]  # and then it is small


def test_choices_behind_a_menu():
    """Repeated subjects and unequal weights say less than their number."""
    columns = {"menu": ["a,b"] * 6 + ["a,c"] * 2, "choice": list("abaabbac"), "subject": list("xxyyzzxy")}
    data = rf.ChoiceData.from_frame(columns)
    assert subsets.choices_behind(data, False).tolist() == [6, 2]
    assert subsets.choices_behind(data, True).tolist() == [3, 2]
    weighted = rf.ChoiceData.from_frame(columns | {"weight": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.1, 0.2]}, weight="weight")
    assert subsets.choices_behind(weighted, False) == pytest.approx([6, 0.3**2 / 0.05])
    few = Subsets(weighted, None, Sampling(0.05, 39, 0, False), 1)
    assert few.behind == pytest.approx([6, 1.8])


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


@pytest.mark.parametrize("seed", range(8))
def test_inequalities_hold_for_every_ranking_and_not_for_the_data(seed):
    rng = np.random.default_rng(100 + seed)
    n = 5
    masks = np.sort(rng.choice([k for k in range(32) if k.bit_count() >= 2], 12, replace=False))
    data = rf.ChoiceData(
        tuple(range(n)),
        inside := membership_of(masks, n),
        np.where(inside, rf.simulate.dirichlet(n, seed)[masks], np.nan),
        np.ones(12),
    )
    for one in rf.explain(data, most=4).conflicts:
        menus = list(one.menus)
        c = np.array([one.inequality.coefficients.get((menu, x), 0.0) for menu in menus for x in menu])
        shares = np.concatenate([list(own.values()) for own in one.shares])
        assert (choices_of(menus, n) @ c).max() == pytest.approx(one.inequality.bound)
        assert c @ shares == pytest.approx(one.inequality.value)
        assert one.inequality.value > one.inequality.bound + 1e-6
        for menu in menus:  # the smallest coefficient of a menu is 0
            assert min(one.inequality.coefficients.get((menu, x), 0.0) for x in menu) == 0
        assert {menu for menu, _ in one.cells} == set(menus)


def test_the_slack_of_an_inequality_is_a_sum_of_block_marschak_terms(rng):
    table = rf.simulate.dirichlet(4, 3)
    data = rf.ChoiceData.from_matrix(table)
    own = Subsets(data, None, None).data
    c = np.where(own.membership, rng.integers(0, 4, own.membership.shape), 0).astype(float)
    bound = inequality.highest(own.membership, c, own.items, None)
    weight, (lattice, terms) = inequality.multipliers(own, c), inequality.block_marschak_terms(own)
    assert (weight >= 0).all()
    assert weight @ terms == pytest.approx(bound - (c * np.nan_to_num(own.frequencies)).sum())
    mask, item = lattice.cells.T
    assert terms == pytest.approx(rf.block_marschak(table)[mask, item])
    found = rf.explain(table)
    assert [value for _, _, value in found.block_marschak] == sorted(terms[terms < -1e-6])
    for one in found.conflicts:
        assert sum(k * v for _, _, k, v in one.block_marschak) <= -one.inequality.excess + 1e-9
        assert all(k > 0 > v for _, _, k, v in one.block_marschak)


def test_incomplete_data_have_no_block_marschak_terms():
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), level=None)
    assert found.block_marschak is None
    assert found.conflicts[0].block_marschak is None


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


def test_halves_have_whole_subjects_or_single_choices():
    """Six subjects choose three times each, every one from a menu of her own."""
    pairs = list(combinations("abcd", 2))
    table = [(s, ",".join(pairs[s]), pairs[s][k % 2]) for s in range(6) for k in range(3)]
    rows = [{"subject": s, "menu": menu, "choice": choice} for s, menu, choice in table]
    data = rf.ChoiceData.from_frame({name: [row[name] for row in rows] for name in rows[0]}, subject="subject")
    for half in half_samples(data, True, 1, 5):
        assert half.totals.tolist() == [3.0, 3.0, 3.0]
    sizes = {tuple(half.totals.tolist()) for half in half_samples(data, False, 1, 5)}
    assert all(sum(own) == 9 for own in sizes)
    assert any(set(own) != {3.0} for own in sizes)


def test_nested_menus_are_not_looked_for_among_many(monkeypatch):
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 8, "b": 2}, ("a", "b", "c"): {"a": 9, "b": 1, "c": 0}})
    for most, expected in ((2, [(0, 1)]), (1, [])):
        monkeypatch.setattr(small, "MOST_MENUS", most)
        assert (
            small.SmallConflicts(data.membership, ~np.isnan(data.counts), None).find(data.frequencies, None) == expected
        )


def test_pvalues_stop_early_and_say_the_same(monkeypatch):
    data = rf.ChoiceData.from_counts(CYCLE)
    whole = Subsets(data, None, Sampling(0.05, 199, 3, False), 1).whole
    assert whole.pvalue == rf.rum_test(data, n_boot=199, tau=["auto"], seed=3).pvalue
    null = np.arange(1.0, 200.0)
    for statistic, expected in ((195.5, 5 / 200), (180.5, 20 / 200), (179.5, 20 / 199), (150.5, 20 / 170), (0.0, 1.0)):
        whole = Subsets(data, None, Sampling(0.05, 199, 3, False), 1).whole
        whole.__dict__["measured"] = whole.measured._replace(statistic=np.array([statistic]), rounding=np.array([0.0]))

        def draw_some(whole=whole):
            whole._null = null[: len(whole._null) + 50]

        monkeypatch.setattr(whole, "_draw", draw_some)
        assert whole.pvalue == pytest.approx(expected)


def test_data_that_are_not_rejected_have_no_conflict():
    rational = rf.simulate.random_menus(5, 10, size=3, draws=50, seed=1)
    found = rf.explain(rational, n_boot=39, halves=4)
    assert found.pvalue > 0.05
    assert (found.conflict, found.conflicts, found.pattern, found.inequality) == ((), (), None, None)
    assert "no conflict that sampling error could not explain" in found.summary()
    assert len(found.influence["menu"]) == 10
    assert sum(found.influence["share"]) == pytest.approx(1)
    exact = rf.explain(rf.project(rf.simulate.dirichlet(4, 0)).rho)
    assert exact.conflict == ()
    assert exact.complete
    assert "no conflict" in exact.summary()


def test_influence_without_a_menu_is_that_of_the_other_menus():
    data = rf.ChoiceData.from_matrix(rf.simulate.dirichlet(4, 7))
    found = rf.explain(data)
    for menu, distance in zip(found.influence["menu"], found.influence["distance_without"], strict=True):
        rest = part_of(Subsets(data, None, None).data, set(data.menus) - {menu, *((x,) for x in data.items)})
        assert distance == pytest.approx(rf.project(rest).distance, rel=1e-6)
    assert found.influence["share"] == sorted(found.influence["share"], reverse=True)


def test_half_samples_are_half_of_the_choices():
    data = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 3, "b": 4}, ("b", "c"): {"b": 1}, ("a", "c"): {"a": 10, "c": 10}}
    )
    halves = list(half_samples(data, False, 0, 30))
    assert all((half.totals == np.ceil(data.totals / 2)).all() for half in halves)
    assert all((np.nan_to_num(half.counts) <= np.nan_to_num(data.counts)).all() for half in halves)
    assert len({half.counts[0, 0] for half in halves}) > 1
    again = half_samples(data, False, 0, 30)
    assert all(np.array_equal(a.counts, b.counts, equal_nan=True) for a, b in zip(halves, again, strict=True))


def survey(people=60, seed=0):
    """Three choices of each person, from a cycle; one person has a menu for herself."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        for menu, better in ((("a", "b"), "a"), (("b", "c"), "b"), (("a", "c"), "c")):
            other = next(x for x in menu if x != better)
            rows.append((person, ",".join(menu), better if rng.random() < 0.85 else other))
    rows.append((0, "a,d", "d"))
    columns = zip(*rows, strict=True)
    return rf.ChoiceData.from_frame(dict(zip(("subject", "menu", "choice"), map(list, columns), strict=True)))


def test_half_samples_and_tests_by_subject():
    data = survey()
    halves = list(half_samples(data, True, 0, 6))
    sizes = {half.n_observations for half in halves}
    assert sizes <= {90.0, 91.0}
    assert {len(half.totals) for half in halves} == {3, 4}  # the menu of one person is there or not
    found = rf.explain(data, n_boot=39, halves=4, cluster=True)
    assert found.pattern == "cycle"
    assert found.halves == 4
    assert max(found.influence["named"]) > 0.5


def test_menus_that_were_recorded_in_part():
    table = np.full((8, 3), np.nan)
    table[0b011, 0], table[0b110, 1], table[0b101, 2] = 0.8, 0.8, 0.8
    found = rf.explain(rf.ChoiceData.from_matrix(table))
    assert found.pattern == "cycle"
    assert found.inequality.value == pytest.approx(2.4)
    table[0b111, 1] = 0.1
    more = rf.explain(rf.ChoiceData.from_matrix(table))
    assert found.conflict in [one.menus for one in more.conflicts]
    # Four fifths prefer 2 to 0 and 1 to 2, so three fifths take 1 from all three.
    assert ((0, 2), (1, 2), (0, 1, 2)) in [one.menus for one in more.conflicts]


@pytest.mark.parametrize("level", [None, 0.05])
def test_the_answer_does_not_depend_on_the_number_of_threads(level):
    data = rf.ChoiceData.from_counts(CYCLE | {("a", "b", "d"): {"a": 40, "b": 30, "d": 30}})
    found = [rf.explain(data, level, 59, halves=3, threads=threads).to_dict() for threads in (1, 3)]
    assert found[0] | {"seconds": 0} == found[1] | {"seconds": 0}


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


def test_large_conflicts_are_cut_in_words():
    # One Block-Marschak polynomial of six items is negative: 16 menus, none of which can be left out.
    inside = rf.Lattice(6).membership
    shares = np.where(inside, 1 / np.maximum(inside.sum(axis=1, keepdims=True), 1), 0.0)
    shares[0b11, :2] += -0.04, 0.04
    found = rf.explain(shares, most=1)
    assert len(found.conflict) == 16
    assert found.conflicts[0].irreducible
    assert all({0, 1} <= set(menu) for menu in found.conflict)
    (menu, item, _, value), *_ = found.conflicts[0].block_marschak
    assert (menu, item) == ((0, 1), 0)
    assert value == pytest.approx(1 / 30 - 0.04)
    assert "and 8 more" in found.inequality.text
    assert "... and 8 more menus" in found.summary()


def test_thin_ice_is_named():
    few = rf.ChoiceData.from_counts({("a", "b"): {"b": 4}, ("a", "b", "c"): {"a": 4}})
    found = rf.explain(few, n_boot=99, halves=10)
    assert found.conflict
    assert any("few choices" in note for note in found.notes)


def test_interrupts_keep_what_was_found(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    data = rf.ChoiceData.from_counts(CYCLE)
    run = sys.modules["rumflow.inference.explain"]._Run  # the package has the function under this name
    monkeypatch.setattr(run, "leave_out", stop)
    found = rf.explain(data, n_boot=39)
    assert found.interrupted
    assert len(found.conflict) == 3
    assert found.complete  # the search had ended
    assert "interrupted" in found.summary()
    monkeypatch.setattr(Search, "several", stop)
    with pytest.raises(KeyboardInterrupt):
        rf.explain(data, n_boot=39)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 0.7}, "level=0.7"),
        ({"n_boot": 9}, "take 19 or more"),
        ({"most": 0}, "most=0"),
        ({"halves": -1}, "halves=-1"),
        ({"cluster": "yes"}, "cluster='yes'"),
        ({"cluster": True}, "subject"),
        ({"model": rf.Types([["a", "b", "c"]])}, "type 0 takes 'b' from menu 1"),
        ({"model": rf.Types}, "is a class"),
        ({"model": "logit"}, "a model such as RandomUtility"),
    ],
)
def test_wrong_arguments_are_named(options, words):
    with pytest.raises(rf.InputError, match=words):
        rf.explain(rf.ChoiceData.from_counts(CYCLE), **options)


def test_too_large_graphs_are_refused(monkeypatch):
    pairs = {(x, y): {x: 1, y: 1} for x, y in combinations(range(27), 2) if (x * y + x) % 4 == 0}
    with pytest.raises(rf.InputError, match="route 'bounded'"):
        rf.explain(rf.ChoiceData.from_counts(pairs))


def test_results_as_frames_and_json():
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), n_boot=39, halves=2)
    assert json.loads(json.dumps(found.to_dict()))["conflicts"][0]["pattern"]["name"] == "cycle"
    frame = found.to_frame("dict")
    assert frame["menu"][0] == "{" + ", ".join(found.influence["menu"][0]) + "}"
    assert "cycle" in repr(found)
    assert "not adjusted for the search" in found.summary()


def test_missing_subjects_are_refused():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}, ("a", "b", "c"): {"a": 5, "b": 30, "c": 5}})
    with pytest.raises(rf.InputError, match="no subjects"):
        rf.explain(data, cluster=True)


def test_an_interrupted_search_keeps_its_conflicts(monkeypatch):
    from rumflow.inference.conflicts.search import Search

    data = rf.ChoiceData.from_counts(
        {
            ("a", "b"): {"a": 0.2, "b": 0.8},
            ("a", "b", "c"): {"a": 0.6, "b": 0.2, "c": 0.2},
            ("d", "e"): {"d": 0.2, "e": 0.8},
            ("d", "e", "f"): {"d": 0.6, "e": 0.2, "f": 0.2},
        }
    )
    first, calls = Search.first, []

    def once(self, allowed=None):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return first(self, allowed)

    monkeypatch.setattr(Search, "first", once)
    found = rf.explain(data, None)
    assert found.interrupted
    assert len(found.conflicts) == 1
