"""Choices derived from rankings, against a derivation by hand for each person and menu."""

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumflow as rf
from rumflow.data.choices import ChoiceData

ITEMS = ("a", "b", "c", "d")


def every_menu(items, sizes):
    return [menu for size in sizes for menu in combinations(items, size)]


def by_hand(orders, menus, ties, unranked, items=ITEMS):
    """{menu: {item: count}}, person by person, with exact parts; a menu that cannot be derived is missing."""
    found = {}
    for menu in menus:
        counts, refused = dict.fromkeys(menu, Fraction(0)), False
        for order in orders:
            groups = [list(entry) if isinstance(entry, list) else [entry] for entry in order]
            rest = [x for x in items if not any(x in group for group in groups)]
            if unranked == "below":
                groups = [*groups, rest]
            elif any(x in rest for x in menu):
                continue
            best = next(group for group in groups if set(group) & set(menu))
            tied = [x for x in best if x in menu]
            if len(tied) == 1 or ties == "half":
                for x in tied:
                    counts[x] += Fraction(1, len(tied))
            refused |= len(tied) > 1 and ties is None
        if not refused and sum(counts.values()):
            found[menu] = counts
    return found


@st.composite
def rankings(draw):
    """Some items in order, neighbours perhaps tied."""
    order = draw(st.permutations(ITEMS))[: draw(st.integers(1, 4))]
    groups = [[order[0]]]
    for item in order[1:]:
        if draw(st.booleans()):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [group[0] if len(group) == 1 else group for group in groups]


@given(
    st.lists(rankings(), min_size=1, max_size=6),
    st.sampled_from(["pairs", "all"]),
    st.sampled_from([None, "half", "drop"]),
    st.sampled_from(["below", "not offered"]),
)
@settings(max_examples=200, deadline=None)
def test_against_a_derivation_by_hand(orders, menus, ties, unranked):
    wanted = every_menu(ITEMS, [2] if menus == "pairs" else [2, 3, 4])
    want = by_hand(orders, wanted, ties, unranked)
    if not want:
        with pytest.raises(rf.InputError, match=r"ties='half'|no ranking is about"):
            ChoiceData.from_rankings(orders, menus, items=ITEMS, ties=ties, unranked=unranked)
        return
    data = ChoiceData.from_rankings(orders, menus, items=ITEMS, ties=ties, unranked=unranked)
    assert set(data.menus) == set(want)
    for k, menu in enumerate(data.menus):
        start = data.offered.start[k]
        got = data.count[start : start + len(menu)]
        assert got == pytest.approx([float(want[menu][x]) for x in menu], abs=1e-12), menu


@given(st.lists(st.permutations(range(4)), min_size=1, max_size=20), st.sampled_from(["pairs", "all"]))
@settings(max_examples=30, deadline=None)
def test_complete_rankings_are_random_utility_exactly(orders, menus):
    assert rf.project(ChoiceData.from_rankings(orders, menus, items=range(4))).distance < 1e-7


@given(st.lists(rankings(), min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_ties_broken_by_lot_are_random_utility(orders):
    assert rf.project(ChoiceData.from_rankings(orders, "all", items=ITEMS, ties="half")).distance < 1e-7


def test_each_ranking_is_one_subject():
    data = ChoiceData.from_rankings([["a", "b", "c"], ["c", "b", "a"]], counts=[2, 1])
    assert data.rows.subjects == (1, 2, 3)
    assert np.bincount(data.rows.subject).tolist() == [3, 3, 3]
    parts = data.split("subject")
    assert parts[1].equals(parts[2].replace(rows=parts[1].rows))
    assert {m: c for m, c in zip(parts[3].menus, parts[3].counts[:, 2].tolist(), strict=True) if "c" in m} == {
        ("a", "c"): 1.0,
        ("b", "c"): 1.0,
    }
    assert rf.rum_test(data, n_boot=19, cluster=True, seed=0).pvalue == 1.0


def test_counts_are_people_and_weights_are_not():
    orders = [["a", "b"], ["b", "a"]]
    people = ChoiceData.from_rankings(orders, counts=[3, 1])
    weighted = ChoiceData.from_rankings(orders, weights=[3, 1])
    assert people.counts.tolist() == weighted.counts.tolist() == [[3.0, 1.0]]
    assert (len(people.rows.subjects), len(weighted.rows.subjects)) == (4, 2)


def test_orders_in_other_forms():
    want = ChoiceData.from_rankings([["a", "b", "c"], ["c", "a", "b"], ["b"]], "all", ties="half")
    array = np.array([["a", "b", "c"], ["c", "a", "b"], ["b", None, None]], object)
    assert ChoiceData.from_rankings(array, "all", ties="half").equals(want)
    ranks = [[1, 2, 3], [2, 3, 1], [0, 1, np.nan]]
    assert ChoiceData.from_rankings(ranks, "all", items=["a", "b", "c"], ties="half", form="ranks").equals(want)
    tied = ChoiceData.from_rankings([[1, 1, 2]], form="ranks", items="xyz", ties="half")
    assert tied.counts[0, :2].tolist() == [0.5, 0.5]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(array, columns=["first", "second", "third"])
    assert ChoiceData.from_rankings(frame, "all", ties="half").equals(want)
    named = pandas.DataFrame(ranks, columns=["a", "b", "c"])
    assert ChoiceData.from_rankings(named, "all", ties="half", form="ranks").equals(want)


def test_menus_that_were_asked_for():
    data = ChoiceData.from_rankings([["a", "b", "c"], ["c", "b", "a"]], menus=[("c", "a"), ["a", "b", "c"], ("a", "c")])
    assert data.menus == [("a", "c"), ("a", "b", "c")]


def test_what_was_understood():
    orders = [["a", "b", "c", "d"], ["c", "b"], ["d", ["a", "b"], "c"]]
    text = str(ChoiceData.from_rankings(orders).understood)
    assert "3 rankings, each one subject" in text
    assert "the first is a > b > c > d" in text
    assert "1 order leaves items out: these are below" in text
    assert "2 menus are left out because some ranking ties their best items: {a, b}, {a, d}" in text
    text = str(ChoiceData.from_rankings(orders, ties="drop").understood)
    assert "2 choices are left out" in text
    assert "depends on tastes" in text
    assert "not shown" in str(ChoiceData.from_rankings(orders[:2], unranked="not offered").understood)


BAD = [
    ({"menus": "exploded"}, "who is asked about which menu would depend on tastes"),
    ({"menus": "rank-ordered"}, "accepted are 'pairs', 'all' and a list of menus"),
    ({"menus": "triples"}, "menus='triples': accepted are 'pairs', 'all' and a list of menus"),
    ({"menus": 3}, "menus=3: accepted are"),
    ({"menus": []}, "the list is empty"),
    ({"menus": [("a",)]}, "at least 2 items are needed"),
    ({"menus": [("a", "z")]}, r"menus\[0\]: item 'z' is unknown"),
    ({"orders": "abc"}, "a list of rankings is needed"),
    ({"orders": []}, "there are no rankings"),
    ({"orders": ["abc"]}, "ranking 0: 'abc' is not a list of labels"),
    ({"orders": [["a", "b"], [None]]}, "ranking 1 is empty"),
    ({"orders": [["a", "b", "a"]]}, "ranking 0: item 'a' appears twice"),
    ({"items": ["a", "b"]}, "ranking 0: item 'c' is not among the items given: {a, b}"),
    ({"counts": [1, 2]}, "counts: one number for each of the 1 rankings is needed"),
    ({"counts": [1.5]}, "counts: ranking 0 has 1.5; whole numbers from 1 on are accepted"),
    ({"weights": [0]}, "weights: ranking 0 has 0; positive numbers are accepted"),
    ({"weights": ["x"]}, "weights: a number for each ranking"),
    ({"ties": "lot"}, "ties='lot': accepted are None, 'half', 'drop' and 'outcome'"),
    ({"unranked": "x"}, "unranked='x': accepted are 'below' and 'not offered'"),
    ({"form": "x"}, "form='x': accepted are 'orders' and 'ranks'"),
    ({"form": "ranks"}, "a table of numbers is needed"),
    ({"form": "ranks", "orders": [[1, -2]]}, "ranking 0, item 1: the rank -2 must be 1 for the best"),
    ({"form": "ranks", "orders": [[1, 2]], "items": "abc"}, "3 labels for 2 columns"),
    ({"form": "ranks", "orders": [[0, 0]]}, "ranking 0 is empty"),
    ({"form": "ranks", "orders": [1, 2]}, "a table .rankings, items. is needed"),
    ({"orders": [["a"]], "items": "abc", "menus": [("b", "c")]}, "ranking 0 does not rank b and c, the best of menu {b, c}"),
    ({"orders": [["a", ["b", "c"]]], "menus": [("b", "c")]}, "ranking 0 ties b and c"),
    ({"orders": [["a"]], "items": "abc", "unranked": "not offered"}, "no ranking is about all items"),
    ({"orders": [list(range(21))], "menus": "all"}, "at most 20 items are possible"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD)
def test_refused(change, message):
    with pytest.raises(rf.InputError, match=message):
        ChoiceData.from_rankings(**{"orders": [["a", "b", "c"]]} | change)


def population(rng, n, people, types=6):
    every = np.array(list(permutations(range(n))))
    orders = every[rng.choice(len(every), types, replace=False)]
    return orders[rng.choice(types, people, p=rng.dirichlet(np.ones(types)))]


def exploded(orders):
    """What is refused: the first place from all items, the second from what is left, ..."""
    rows = [(tuple(o[k:]), o[k], s) for s, o in enumerate(orders.tolist()) for k in range(len(o) - 1)]
    menu, choice, subject = (list(column) for column in zip(*rows, strict=True))
    table = {"menu": menu, "choice": choice, "subject": subject}
    return ChoiceData.from_frame(table, menu="menu", choice="choice", subject="subject")


def shown_at_random(rng, orders, size):
    n = orders.shape[1]
    shown = [set(rng.choice(n, size, replace=False).tolist()) for _ in orders]
    return [[x for x in o if x in own] for o, own in zip(orders.tolist(), shown, strict=True)]


@pytest.mark.slow
def test_rankings_of_a_population_are_seldom_rejected_and_exploded_ones_often():
    rejected = {"three shown": 0, "exploded": 0}
    for seed in range(100):
        rng = np.random.default_rng(seed)
        orders = population(rng, 4, 100)
        data = {
            "three shown": ChoiceData.from_rankings(shown_at_random(rng, orders, 3), "all", unranked="not offered"),
            "exploded": exploded(orders),
        }
        for name, own in data.items():
            rejected[name] += rf.rum_test(own, n_boot=99, cluster=True, seed=seed).pvalue <= 0.05
    assert rejected["three shown"] <= 10  # 5 % of 100, and more than two standard deviations above
    assert rejected["exploded"] >= 50
