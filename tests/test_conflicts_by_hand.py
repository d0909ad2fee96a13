"""Conflicts by hand: subsets of data, small conflicts, whole coefficients and patterns."""

from dataclasses import replace

import numpy as np
import pytest
import reference
from hand_examples import DECOY

import rumflow as rf
from rumflow.data.choices import Rows
from rumflow.inference.conflicts import inequality, search, small, subsets
from rumflow.inference.conflicts.patterns import find_pattern
from rumflow.inference.conflicts.subsets import Sampling, Subsets

# Subsets of data --------------------------------------------------------------------------------------------------------------

#: {a, b} and {b, c, d}, with five single choices of three subjects.
MEMBER = np.array([[True, True, False, False], [False, True, True, True]])
ROWS = Rows(
    np.array([0, 0, 1, 1, 1], np.int32),
    np.array([0, 1, 2, 3, 3], np.int16),
    np.array([1.0, 2.0, 1.0, 1.0, 3.0]),
    np.array([0, 1, 1, 2, 2]),
)
DATA = rf.ChoiceData(
    ("a", "b", "c", "d"),
    MEMBER,
    np.array([[1.0, 2.0, np.nan, np.nan], [np.nan, 0.0, 1.0, 4.0]]),
    np.array([3.0, 5.0]),
    ROWS,
)


@pytest.mark.parametrize(
    ("level", "n_boot", "enough"), [(0.05, 199, 20), (0.05, 399, 40), (0.1, 199, 40), (0.05, 401, 42)]
)
def test_how_many_replicates_are_enough(level, n_boot, enough):
    assert Sampling(level, n_boot, 0, False).enough == enough


def test_choices_behind_by_hand():
    assert subsets.choices_behind(DATA.replace(rows=None), False).tolist() == [3.0, 5.0]
    assert subsets.choices_behind(DATA, False).tolist() == [3.0, 5.0]  # whole weights are numbers of choices
    assert subsets.choices_behind(DATA, True) == pytest.approx([9 / 5, 25 / 17])  # subjects with 1 and 2; with 1 and 4
    half = DATA.replace(rows=ROWS._replace(weight=0.5 * ROWS.weight))
    assert subsets.choices_behind(half, False) == pytest.approx([9 / 5, 25 / 11])


def test_halves_of_counts():
    rng = np.random.default_rng(0)
    found = subsets._half(rng, np.array([3, 4]))
    assert found.sum() == 4
    assert (found <= [3, 4]).all()
    assert subsets._half(np.random.default_rng(0), np.array([3, 3])).sum() == 3
    many = subsets._half(np.random.default_rng(0), np.array([6 * 10**8, 4 * 10**8]))
    assert many.tolist() == np.random.default_rng(0).binomial([6 * 10**8, 4 * 10**8], 0.5).tolist()
    (half,) = subsets.half_samples(DATA.replace(rows=None, totals=np.array([3.0, 7.0])), False, 0, 1)
    assert half.totals.tolist() == [2.0, 4.0]
    assert np.isnan(half.counts).tolist() == np.isnan(DATA.counts).tolist()
    for by_subject, units in ((False, 5), (True, 3)):
        for one in subsets.half_samples(DATA, by_subject, 1, 6):
            kept = len(np.unique(one.rows.subject)) if by_subject else len(one.rows.menu)
            assert kept == (units + 1) // 2


def test_the_data_of_some_cells():
    kept = np.array([[False] * 4, [False, False, True, True]])
    found = subsets.select(DATA, kept, True)
    assert found.items == ("b", "c", "d")
    assert found.menus == [("b", "c", "d")]
    np.testing.assert_array_equal(found.counts, [[np.nan, 1.0, 4.0]])
    assert found.totals.tolist() == [5.0]
    assert found.rows.menu.tolist() == [0, 0, 0]
    assert found.rows.choice.tolist() == [1, 2, 2]
    assert found.rows.weight.tolist() == [1.0, 1.0, 3.0]
    assert found.rows.subject.tolist() == [1, 2, 2]
    assert subsets.select(DATA, kept, False).items == DATA.items
    assert subsets.select(DATA, kept, False).rows.choice.tolist() == [2, 3, 3]


def test_some_of_the_single_choices():
    found = subsets.recount(DATA, np.array([False, False, True, True, False]))
    assert found.menus == [("b", "c", "d")]
    assert found.counts[0, 1:].tolist() == [0.0, 1.0, 1.0]
    assert found.totals.tolist() == [2.0]
    assert found.rows.menu.tolist() == [0, 0]
    both = subsets.recount(DATA, np.array([False, True, False, False, True]))
    np.testing.assert_array_equal(both.counts, [[0.0, 2.0, np.nan, np.nan], [np.nan, 0.0, 0.0, 3.0]])


def test_menus_without_a_choice_are_left_out():
    member = np.vstack([MEMBER, [[True, False, False, False], [True, True, True, False]]])
    counts = np.vstack([DATA.counts, [[7.0] + [np.nan] * 3, [np.nan] * 4]])
    order = [2, 0, 3, 1]  # ascending bit masks: {a}, {a, b}, {a, b, c}, {b, c, d}
    data = rf.ChoiceData(DATA.items, member[order], counts[order], np.array([7.0, 3.0, 4.0, 5.0]))
    assert subsets._with_choices(data, False).menus == [("a", "b"), ("b", "c", "d")]
    assert subsets._with_choices(DATA, False).rows is None
    assert subsets._with_choices(DATA, True).rows is not None
    with pytest.raises(rf.InputError, match="every menu has one item"):
        subsets._with_choices(rf.ChoiceData.from_counts({("a",): {"a": 1}}), False)


def test_a_subset_by_hand():
    """a gets 27/70 of both menus: see `test_words_in_full`."""
    asked = []
    own = Subsets(DECOY, None, None, 1, lambda: asked.append(1))
    assert own.exact
    assert own.whole.distance == pytest.approx(np.sqrt(24 / 700))
    assert own.whole.normal == pytest.approx(np.array([[-6, 6, 0], [8, -4, -4]]) / 70)
    assert own.whole.contributions == pytest.approx(np.array([72, 96]) / 4900)
    assert own.whole.is_conflict
    assert len(asked) == 1
    alone = own.of_menus([1])
    assert not alone.is_conflict
    assert alone.statistic == alone.distance == 0.0
    assert alone.contributions == pytest.approx([0.0, 0.0], abs=1e-20)
    assert own.of_menus(np.array([1])) is alone
    assert len(asked) == 2
    sampled = Subsets(DECOY, None, Sampling(0.05, 39, 0, False), 1)
    assert not sampled.exact
    assert sampled.whole.statistic == pytest.approx(24 / 7)
    assert sampled.whole.pvalue == 1 / 40
    assert sampled.of_menus([0]).pvalue == 1.0
    assert sampled.behind.tolist() == [100.0, 100.0]


def test_exact_shares_are_a_conflict_beyond_rounding():
    """By what is certified: the squared distance less its gap, against 1e-12."""
    for statistic, gap, expected in ((3e-12, 2.5e-12, False), (3e-12, 1e-12, True), (0.9e-12, 0.0, False)):
        subset = Subsets(DECOY, None, None, 1).of_menus([0])
        subset.__dict__["measured"] = subset.measured._replace(statistic=np.array([statistic]), gap=np.array([gap]))
        assert subset.is_conflict == expected


def test_subsets_asked_for_last_are_kept(monkeypatch):
    asked = []
    own = Subsets(DECOY, None, None, 1, lambda: asked.append(1))
    assert [own.of_menus(rows).sample.projector.size for rows in ([0], [1])] == [4, 12]
    monkeypatch.setattr(subsets, "MOST_KEPT", 16)
    own.of_menus([0])
    assert own.whole.sample.projector.size == 12  # what was asked for longest ago has to go: the second menu
    own.of_menus([0])
    assert len(asked) == 3
    own.of_menus([1])
    assert len(asked) == 4
    monkeypatch.setattr(subsets, "MOST_KEPT", 0)
    last = own.of(DECOY.membership & [True, True, False])
    assert own.of(DECOY.membership & [True, True, False]) is last
    assert len(own._kept) == 1


def test_pvalues_count_what_reaches_the_statistic():
    own = Subsets(DECOY, None, Sampling(0.05, 39, 0, False), 1)
    subset = own.whole
    null = np.zeros(39)
    null[:3] = subset.statistic * (1 - 1e-9), subset.statistic, 2 * subset.statistic
    assert replace(subset, _null=null).pvalue == 4 / 40
    early = np.full(30, 2 * subset.statistic)
    early[[0, 5, 7]] = 0.0
    assert replace(subset, _null=early).pvalue == 20 / 23  # the twentieth that reaches it is number 23


# Small conflicts --------------------------------------------------------------------------------------------------------------


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


# Inequalities -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.0, 5.0, 2.5], [0, 2, 1]),
        ([0.0, 0.3, 0.1], [0, 3, 1]),
        ([0.0, 12.0, 1.0], [0, 12, 1]),
        ([0.0, 13.0, 1.0], [0, 1, 0.077]),
        ([0.0, 1.0, 0.5019], [0, 2, 1]),
        ([0.0, 1.0, 0.5021], [0, 1, 0.502]),
        ([0.0, 2.0, 2.0], [0, 1, 1]),
    ],
)
def test_whole_coefficients(given, expected):
    assert inequality._tidy(np.array(given)).tolist() == expected


def test_what_counts_of_a_menu_in_words():
    inside = np.array([False, True, True, True])
    for c, text in [
        ([0, 1, 0, 0], "b from {b, c, d}"),
        ([0, 1, 1, 0], "anything but d from {b, c, d}"),
        ([0, 2, 0, 1], "d from {b, c, d} and 2 x (b from {b, c, d})"),
        ([0, 0, 0, 0], ""),
        ([0, 2, 2, 0], "2 x (anything but d from {b, c, d})"),
    ]:
        assert inequality._choice(DATA, inside, np.array(c, float)) == text
    four = np.ones(4, bool)
    assert inequality._choice(DATA, four, np.array([1.0, 0.0, 1.0, 0.0])) == "a or c from {a, b, c, d}"


def test_inequalities_in_words():
    terms = tuple((f"t{k}", 0.1) for k in range(10))
    assert inequality._words(terms, True, 3.0, 3.25, "with a ranking") == (
        "Of these 10 choices nobody with a ranking makes more than 3: t0; t1; t2; t3; t4; t5; t6; t7; and 2 more. Their shares "
        "can therefore add up to at most 3; they add up to 3.25."
    )
    assert "and" not in inequality._words(terms[:8], False, 1.5, 2.0, "here").split("Nobody")[0]
    assert inequality._words(terms[:2], False, 1.5, 2.0, "here") == (
        "Add up: t0; t1. Nobody here comes to more than 1.5, nor does any population of them; the data come to 2."
    )
    assert inequality._words(terms[:1], True, 0.0, 0.2, "here") == (
        "Nobody here takes t0, so that its share is at most 0; it is 0.2."
    )


def test_the_dearest_ranking(rng):
    menus = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0]], bool)
    c = rng.integers(0, 9, menus.shape) * menus
    expected = max(
        sum(c[j, next(x for x in order if menus[j, x])] for j in range(4)) for order in reference.all_rankings(4)
    )
    assert inequality.highest(menus, c.astype(float), tuple("abcd"), None) == expected
    axis = rf.SinglePeaked("abcd")
    peaked = [o for o in reference.all_rankings(4) if all(np.ptp(o[:k]) == k - 1 for k in range(1, 5))]
    expected = max(sum(c[j, next(x for x in order if menus[j, x])] for j in range(4)) for order in peaked)
    assert inequality.highest(menus, c.astype(float), tuple("abcd"), axis) == expected


def test_block_marschak_terms_of_three_items():
    table = rf.simulate.dirichlet(3, 1)
    data = Subsets(rf.ChoiceData.from_matrix(table), None, None).data
    lattice, terms = inequality.block_marschak_terms(data)
    plain = reference.moebius(table)
    assert terms == pytest.approx([plain[mask, x] for mask, x in lattice.cells.tolist()], abs=1e-15)
    found = inequality.negative_terms(data, 1e-6)
    assert [value for *_, value in found] == pytest.approx(sorted(terms[terms < -1e-6]))
    for menu, item, value in found:
        assert plain[sum(1 << x for x in menu), item] == pytest.approx(value)


def test_part_of_a_menu_and_its_error():
    """Of {a, b, c} only a is kept: the rest of the choices have one coefficient."""
    kept = np.array([[False, True, False], [True, False, False]])
    normal = np.array([[0.0, 0.1, 0.0], [0.1, 0.0, 0.0]])
    found, c = inequality.make_inequality(DECOY, kept, normal, None, True)
    assert c.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert (found.bound, found.value) == pytest.approx((1.0, 1.2))
    assert found.coefficients == {(("a", "b"), "b"): 1.0, (("a", "b", "c"), "a"): 1.0}
    assert found.terms == (("b from {a, b}", pytest.approx(0.7)), ("a from {a, b, c}", pytest.approx(0.5)))
    means = (70 + 1 / 2) / 101, (50 + 1 / 3) / 101
    assert found.error == pytest.approx(np.sqrt(sum(m * (1 - m) / 100 for m in means)))
    below, c = inequality.make_inequality(DECOY, kept, -normal, None, False)
    assert c.tolist() == [[1, 0, 0], [0, 1, 1]]
    assert below.error is None
    assert below.value == pytest.approx(0.3 + 0.5)


def test_spreads_of_coefficients():
    assert search.spread(
        np.array([[1.0, 5.0, 9.0], [-2.0, 3.0, 3.0]]), np.array([[1, 1, 0], [1, 1, 1]], bool)
    ).tolist() == [
        4.0,
        5.0,
    ]


# Patterns ---------------------------------------------------------------------------------------------------------------------


def pattern_of(table, coefficients=None, rows=None):
    counts = {tuple(menu): dict(zip(menu, own, strict=True)) for menu, own in table.items()}
    data = rf.ChoiceData.from_counts(counts, items=list("xyzvw"))
    chosen = tuple(range(len(data.menus))) if rows is None else rows
    c = np.zeros(data.membership.shape)
    for menu, item in coefficients or ():
        c[data.menus.index(tuple(menu)), data.items.index(item)] = 1.0
    return find_pattern(data, chosen, c)


def test_patterns_in_words():
    assert pattern_of({"xy": (40, 60), "xyz": (55, 40, 5)}).text == (
        "x is taken by 40.0 % from {x, y}, but by 55.0 % when z is on offer as well, which is itself taken least of all (5.0 %): "
        "a decoy."
    )
    assert pattern_of({"xy": (40, 60), "xyz": (50, 20, 30)}).text == (
        "x is taken by 40.0 % from {x, y}, but by 50.0 % when z is on offer as well, which wins 30.0 % and costs y more than "
        "that: y falls from 60.0 % to 20.0 %."
    )
    assert pattern_of({"xy": (40, 60), "xyzv": (55, 35, 5, 5)}).text == (
        "x is taken by 40.0 % from {x, y}, but by 55.0 % when z and v are on offer as well: more on offer made it more popular."
    )
    assert pattern_of({"xy": (40, 60), "xz": (50, 50), "xyz": (55, 40, 5)}, rows=(0, 2)).text == (
        "x is taken by 40.0 % from {x, y}, but by 55.0 % when z is on offer as well; and from {x, z} it is taken by 50.0 %. x "
        "gains whichever of the other two is added, as an item between two extremes does."
    )
    reversal = pattern_of({"xyz": (80, 10, 10), "xyv": (10, 80, 10)}, [("xyz", "x"), ("xyz", "z"), ("xyv", "y")])
    assert reversal.text == (
        "x is taken from {x, y, z} and y from {x, y, v}, though all of them are on both: too many people would have to change "
        "their mind."
    )
    circle = [("xy", "x"), ("yz", "y"), ("xz", "z")]
    found = pattern_of({"xy": (80, 20), "yz": (80, 20), "xz": (20, 80)}, circle)
    assert found.text == (
        "Preferences go round in a circle: x over y by 80.0 %, y over z by 80.0 %, z over x by 80.0 %. No ranking agrees with "
        "all 3 of these choices."
    )


def test_what_is_no_pattern():
    assert pattern_of({"xy": (40, 60), "zv": (55, 45)}) is None  # nothing in common
    assert pattern_of({"xy": (40, 60), "xyz": (40, 50, 10)}) is None  # nothing rises
    circle = [("xy", "x"), ("yz", "y"), ("xz", "z")]
    assert pattern_of({"xy": (80, 20), "yz": (60, 40), "xz": (40, 60)}, circle) is None  # 2.0 is not more than 2
    assert pattern_of({"xy": (80, 20), "yz": (80, 20), "xz": (20, 80)}, circle[:2]) is None
    assert pattern_of({"xy": (80, 20), "yz": (80, 20), "xz": (80, 20)}, [("xy", "x"), ("yz", "y"), ("xz", "x")]) is None
    assert pattern_of({"xy": (80, 20), "yz": (80, 20), "xzv": (20, 70, 10)}, [*circle[:2], ("xzv", "z")]) is None
    # A rival has lost as much as the added item has won, not more: plain regularity; as often taken as it: a rival.
    assert pattern_of({"xyv": (30, 50, 20), "xyvz": (40, 25, 10, 25)}).name == "regularity"
    assert pattern_of({"xyv": (30, 50, 20), "xyvz": (45, 22, 11, 22)}).name == "similarity"
    assert pattern_of({"xyv": (10, 60, 30), "xyvz": (30, 20, 20, 30)}).items["rival"] == "y"


def test_a_pair_of_which_the_other_item_was_recorded():
    """Of {x, y} only y has a count: x beats it with the rest."""
    member = np.array([[True, True, False], [True, False, True], [False, True, True]])
    counts = np.array([[np.nan, 20.0, np.nan], [20.0, np.nan, 80.0], [np.nan, 80.0, 20.0]])
    data = rf.ChoiceData(("x", "y", "z"), member, counts, np.full(3, 100.0))
    c = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, 1.0, 0]])
    found = find_pattern(data, (0, 1, 2), c)
    assert found.items == {"circle": ("x", "y", "z")}
    assert "x over y by 80.0 %" in found.text
    # Two menus may come in either order.
    assert find_pattern(DECOY, (1, 0), np.zeros((2, 3))) == find_pattern(DECOY, (0, 1), np.zeros((2, 3)))


def test_patterns_are_those_of_rankings():
    """On the axis a, b, c, d who takes a from {a, b, d} has their peak there. Rankings need not."""
    data = rf.ChoiceData.from_counts(
        {("a", "b", "c"): {"a": 20, "b": 40, "c": 40}, ("a", "b", "d"): {"a": 40, "b": 40, "d": 20}}
    )
    found = rf.explain(data, level=None, model=rf.SinglePeaked("abcd"))
    assert len(found.conflicts) == 1
    assert found.pattern is None
    assert rf.explain(data, level=None).conflicts == ()


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
    own.subsets = Subsets(DECOY, None, None, 1)
    own.subsets.recorded = np.ones((12, 3), bool)
    own._rank = lambda menus: menus
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
        own._shrink = lambda rows, size=size: [0] * size
        assert len(own._several_orders(np.array([0, 1]))) == tried


def test_terms_at_the_tolerance():
    """0.25 more take item 0 from all three than from {0, 1}: a term of -0.25."""
    table = np.array(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.25, 0.75, 0], [0, 0, 1], [1, 0, 0], [0, 0.5, 0.5], [0.5, 0.25, 0.25]]
    )
    data = Subsets(rf.ChoiceData.from_matrix(table), None, None).data
    assert ((0, 1), 0, -0.25) in inequality.negative_terms(data, 0.2)
    assert ((0, 1), 0, -0.25) not in inequality.negative_terms(data, 0.25)
    c = np.where(
        data.membership.sum(axis=1)[:, None] == 3,
        [[1.0, 0, 0]],
        np.where(data.masks[:, None] == 0b011, [[0, 1.0, 0]], 0),
    )
    (term,) = [term for term in inequality.slack_terms(data, c, 0.2) if term[:2] == ((0, 1), 0)]
    assert term[2:] == pytest.approx((1.0, -0.25))  # the slack is rho(011, 0) - rho(111, 0), this term itself
    assert all(term[:2] != ((0, 1), 0) for term in inequality.slack_terms(data, c, 0.25))
