"""Pairs with results, letters as places, numbers of wins: the same choices in every such layout, as files and as frames."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.reference.layouts import both, read

FIRST, SECOND = ["tea", "milk", "tea", "juice"], ["milk", "juice", "juice", "tea"]
WINNER = ["tea", "juice", None, "tea"]  # None: a tie
WHO = ["p", "q", "p", "q"]
HALF = {("milk", "tea"): {"tea": 1}, ("milk", "juice"): {"juice": 1}, ("juice", "tea"): {"tea": 1.5, "juice": 0.5}}
DROP = {("milk", "tea"): {"tea": 1}, ("milk", "juice"): {"juice": 1}, ("juice", "tea"): {"tea": 1}}


def results(first, second, tie):
    """For each row the word for what won."""
    return [tie if w is None else first if w == a else second for a, w in zip(FIRST, WINNER, strict=True)]


TABLES = {
    "scores": {"player1": FIRST, "player2": SECOND, "result": results(1, 0, 0.5)},
    "words": {"home": FIRST, "away": SECOND, "outcome": results("win", "loss", "draw")},
    "chess": {"white": FIRST, "black": SECOND, "result": results("1-0", "0-1", "1/2-1/2")},
    "letters of teams": {"home_team": FIRST, "away_team": SECOND, "result": results("H", "A", "D")},
    "signs": {"home": FIRST, "away": SECOND, "result": results(1, -1, 0)},
    "one, x, two": {"home": FIRST, "away": SECOND, "result": results("1", "2", "X")},
    "one, d, two": {"item1": FIRST, "item2": SECOND, "outcome": results("1", "2", "D")},
    "x beside teams": {"home": FIRST, "away": SECOND, "result": results("H", "A", "X")},
    "d beside names": {"model_a": FIRST, "model_b": SECOND, "winner": results("a", "b", "D")},
    "names of columns": {"model_a": FIRST, "model_b": SECOND, "winner": results("model_a", "model_b", "tie")},
    "ends of names": {"model_a": FIRST, "model_b": SECOND, "winner": results("a", "b", "tie (bothbad)")},
    "labels": {"item1": FIRST, "item2": SECOND, "winner": [w or "draw" for w in WINNER]},
    "letters": {"A": FIRST, "B": SECOND, "choice": results("A", "B", "tie")},
    "wins": {"player1": FIRST, "player2": SECOND, "win1": results(1, 0, 0), "win2": results(0, 1, 0),
             "ties": results(0, 0, 1)},
    "marked": {"winner": [w or a for w, a in zip(WINNER, FIRST, strict=True)],
               "loser": [b if w in (a, None) else a for a, b, w in zip(FIRST, SECOND, WINNER, strict=True)],
               "tie": results(0, 0, 1)},
}  # fmt: skip


@both
@pytest.mark.parametrize("name", TABLES)
def test_ties_in_every_layout(tmp_path, kind, name):
    table = TABLES[name]
    for ties, counts in (("half", HALF), ("drop", DROP)):
        data = read(table, tmp_path, kind, ties=ties)
        want = ChoiceData.from_counts(counts, items=["juice", "milk", "tea"])
        assert data.items == want.items
        np.testing.assert_array_equal(data.counts, want.counts)
        assert f"ties: {'each of' if ties == 'half' else 'left out'}" in str(data.understood)
    with pytest.raises(rf.InputError, match="a tie between tea and juice; say ties='half'") as fault:
        read(table, tmp_path, kind)
    assert ("line 4" if kind == "csv" else "row 2") in str(fault.value)


@both
def test_other_columns_go_along(tmp_path, kind):
    table = TABLES["names of columns"] | {"judge": WHO, "price": [1, 2, 3, 4]}
    data = read(table, tmp_path, kind, ties="half", subject="judge")
    assert data.rows.subjects == ("p", "q")
    assert data.rows.weight.tolist() == [1.0, 1.0, 0.5, 0.5, 1.0]
    assert data.understood.unused == ("price",)
    assert data.understood.roles["menu"] == ("model_a", "model_b")
    assert data.understood.roles["subject"] == "judge"
    assert data.understood.coding == {
        "model_a": "the item in model_a",
        "model_b": "the item in model_b",
        "tie": "a tie",
    }


@both
def test_weights_are_divided(tmp_path, kind):
    table = TABLES["scores"] | {"w": [2, 4, 6, 8]}
    data = read(table, tmp_path, kind, ties="half", weight="w", menu=["player1", "player2"], choice="result")
    assert data.totals.tolist() == [4.0, 14.0, 2.0] or sorted(data.totals.tolist()) == [2.0, 4.0, 14.0]
    assert sorted(data.rows.weight.tolist()) == [2.0, 3.0, 3.0, 4.0, 8.0]


@both
def test_letters_as_places(tmp_path, kind):
    menus = [("tea", "milk", "juice"), ("milk", "juice", "water"), ("juice", "tea", None)]
    table = {letter: [menu[k] for menu in menus] for k, letter in enumerate("ABC")} | {"choice": ["B", "C", "A"]}
    want = ChoiceData.from_pairs([("milk", ["tea", "juice"]), ("water", ["milk", "juice"]), ("juice", ["tea"])])
    for options in ({}, {"menu": ["A", "B", "C"]}, {"menu": ["A", "B", "C"], "choice": "choice"}):
        data = read(table, tmp_path, kind, **options)
        assert data.menus == want.menus
        np.testing.assert_array_equal(data.counts, want.counts)
    table["choice"] = ["A", "B", "B"]  # C was never chosen
    assert len(read(table, tmp_path, kind).menus[-1]) == 3
    table["choice"] = ["A", "B", "C"]
    with pytest.raises(rf.InputError, match="the outcome is 'c', but 'C' is empty"):
        read(table, tmp_path, kind)


def test_names_of_places_that_are_items_too():
    table = {"A": ["B", "x"], "B": ["x", "A"], "choice": ["A", "y"]}
    with pytest.raises(rf.InputError, match="is an item and the name of a place"):
        ChoiceData.from_frame(table | {"choice": ["A", "B"], "B": ["x", "y"]}, menu=["A", "B"], choice="choice")


BAD = [
    ({"A": ["x", "y"], "B": ["y", "z"], "choice": ["A", "C"]}, {"menu": ["A", "B"], "choice": "choice"},
     "row 1: 'c' in column 'choice' is unknown; accepted are 'a', 'b'"),
    ({"player1": ["x"], "player2": ["y"], "result": [0.5]}, {"ties": "drop"}, "there are only ties"),
    ({"player1": ["x", "y"], "player2": ["y", "x"], "win1": [1, 2], "win2": [0, 1]}, {"choice": ["win1", "none"]}, "none"),
    ({"a": ["x", "y"], "b": ["y", "z"], "n1": [1, "x"], "n2": [0, 1]}, {"menu": ["a", "b"], "choice": ["n1", "n2"]},
     "row 1: 'x' in column 'n1' is not a number of wins or ties"),
    ({"a": ["x"], "b": ["y"], "choice": ["x"]}, {"ties": "lot"}, "ties='lot': accepted are None, 'half', 'drop' and 'outcome'"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "options", "message"), BAD)
def test_refused(table, options, message):
    with pytest.raises(rf.InputError, match=message):
        ChoiceData.from_frame(table, **options)


def test_what_is_no_table_of_places():
    """Labels and numbers of places are read as before; prices are no items."""
    labels = {"a1": ["tea", "milk"], "a2": ["milk", "juice"], "choice": ["tea", "juice"]}
    assert ChoiceData.from_frame(labels, menu=["a1", "a2"]).counts.tolist()[0][:2] == [1.0, 0.0]
    numbers = labels | {"choice": [1, 2]}
    assert ChoiceData.from_frame(numbers, menu=["a1", "a2"]).equals(ChoiceData.from_frame(labels, menu=["a1", "a2"]))
    wide = {"tea_av": [1, 1], "milk_av": [1, 1], "price1": [1, 0], "price2": [0, 1], "choice": ["tea", "milk"]}
    assert ChoiceData.from_frame(wide).items == ("tea", "milk")


@given(st.lists(st.tuples(st.permutations("abcd"), st.sampled_from([0, 1, -1])), min_size=1, max_size=12))
@settings(max_examples=50, deadline=None)
def test_pairs_by_hand(rows):
    first, second = [r[0][0] for r in rows], [r[0][1] for r in rows]
    want = {}
    for (order, won), a, b in zip(rows, first, second, strict=True):
        cell = want.setdefault(tuple(sorted((a, b))), {a: 0, b: 0})
        for k, item in enumerate((a, b)):
            cell[item] += 0.5 if won < 0 else float(won == k)
        assert order
    words = [{0: "left", 1: "right", -1: "tie"}[won] for _, won in rows]
    table = {"left": first, "right": second, "winner": words}
    data = ChoiceData.from_frame(table, ties="half", menu=["left", "right"], choice="winner")
    found = {menu: data.counts[k] for k, menu in enumerate(data.menus)}
    assert set(found) == set(want)
    for menu, cell in want.items():
        assert [found[menu][data.items.index(x)] for x in menu] == [cell[x] for x in menu]


def test_one_interpretation_for_large_tables():
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(5, 2, replace=False) for _ in range(30_000)])
    won = rng.integers(2, size=len(pairs))
    table = {"item1": [f"i{x}" for x in pairs[:, 0]], "item2": [f"i{x}" for x in pairs[:, 1]]}
    table["winner"] = np.where(won == 0, "item1", "item2").tolist()
    table["winner"][-1] = "tie"  # long after the rows that are looked at first
    data = ChoiceData.from_frame(table, ties="half")
    assert data.n_observations == 30_000
    assert data.rows.weight[-2:].tolist() == [0.5, 0.5]


def test_nothing_is_taken_for_a_pair_by_chance():
    wide = {"menu": ["a|b"], "choice": ["a"]} | {f"x{k}": ["?"] for k in range(14)}
    assert ChoiceData.from_frame(wide).menus == [("a", "b")]
    letters = {"x1": ["p", "q"], "x2": ["r", "s"], "result": ["w", "l"], "menu": ["w|l", "w|l"]}
    assert ChoiceData.from_frame(letters, menu="menu", choice="result").items == ("l", "w")
    # 0 and 1 in a column that is not called a result are numbers of places, not scores.
    numbers = {"item1": ["x", "y"], "item2": ["y", "x"], "choice": [0, 1]}
    data = ChoiceData.from_frame(numbers, menu=["item1", "item2"], choice="choice")
    assert data.counts.tolist() == [[2.0, 0.0]]
    scores = {"item1": ["x", "y"], "item2": ["y", "x"], "result": [0, 1]}
    assert ChoiceData.from_frame(scores).counts.tolist() == [[0.0, 2.0]]


def test_a_tie_is_no_item(tmp_path):
    table = {"home": ["a", "a", "b"], "away": ["b", "c", "c"], "result": [1, 0.5, 0]}
    for ties in ("half", "outcome"):
        assert "3 items {a, b, c}, 3 menus, 3 choices in 3 rows" in str(
            rf.ChoiceData.from_frame(table, ties=ties).understood
        )


@pytest.mark.parametrize("options", [{}, {"menu": ["home", "away"]}, {"menu": ["home", "away"], "choice": "result"}])
def test_codes_of_results_that_are_not_known(options):
    table = {"home": FIRST, "away": SECOND, "result": [1, 2, 0, 2]}
    wanted = "home and away are a pair, but result has the codes 0, 1, 2; recode it as 1, 0 and 0.5"
    with pytest.raises(rf.InputError, match=wanted):
        ChoiceData.from_frame(table, **options)
    coding = ChoiceData.from_frame(table | {"result": [1, -1, 0, -1]}, ties="half", **options).understood.coding
    assert coding == {"1": "the item in home", "0": "a tie", "-1": "the item in away"}


def test_the_rows_are_those_of_the_file():
    table = {"item1": FIRST, "item2": SECOND, "win1": [3, 0, 5, 2], "win2": [1, 4, 2, 2], "ties": [1, 0, 2, 0]}
    for ties in ("half", "drop", "outcome"):
        assert "choices in 4 rows" in str(ChoiceData.from_frame(table, ties=ties).understood)


@both
@pytest.mark.parametrize(("a", "b"), [("item_a", "item_b"), ("player1", "player2"), ("home", "away")])
def test_the_winner_of_a_pair_by_its_label(tmp_path, kind, a, b):
    """Also without a tie. Numbers that may be those of places are asked about; a winner that did not play is an error."""
    table = {a: ["tea", "milk", "tea"], b: ["milk", "juice", "juice"], "winner": ["tea", "juice", "tea"]}
    want = ChoiceData.from_counts(DROP, items=["juice", "milk", "tea"])
    np.testing.assert_array_equal(read(table, tmp_path, kind).counts, want.counts)
    with pytest.raises(rf.InputError, match="'juice' is not in the menu"):
        read({**table, "winner": ["juice", "juice", "tea"]}, tmp_path, kind)
    with pytest.raises(rf.InputError, match="no menu column"):
        read({a: [1, 2, 1], b: [2, 3, 3], "winner": [1, 2, 1]}, tmp_path, kind)


@both
@pytest.mark.parametrize("choice", [["tea", "milk", "milk", "tea"], ["a", "a", "b", "a"]])
def test_words_for_nothing_are_empty_places_and_said(tmp_path, kind, choice):
    table = {"a": ["tea", "milk", "NA", "tea"], "b": ["milk", "NA", "milk", "milk"], "winner": choice}
    data = read(table, tmp_path, kind, menu=["a", "b"], choice="winner")
    assert data.items == ("milk", "tea")
    assert data.menus == [("milk",), ("milk", "tea")]
    assert "NA in 'a', 'b' counts as empty (2 rows)" in str(data.understood)
    assert "counts as empty" not in str(read(table | {"a": ["tea"] * 4, "b": ["milk"] * 4, "winner": ["tea"] * 4},
                                             tmp_path, kind, menu=["a", "b"], choice="winner").understood)  # fmt: skip


@both
def test_an_empty_place_that_won_is_named(tmp_path, kind):
    table = {"a": ["tea", "NA"], "b": ["milk", "milk"], "winner": ["b", "a"]}
    with pytest.raises(rf.InputError, match=r"but 'a' is empty \(NA counts as empty: rename it"):
        read(table, tmp_path, kind, menu=["a", "b"], choice="winner")
