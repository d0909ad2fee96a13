"""Ties of pairs: as an outcome, as half wins, left out; through files, parts and labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from rumflow import ChoiceData
from rumflow.data.ties import second_halves, tied_shares

GAMES = {
    "one": ["a", "a", "b", "a", "c", "b"],
    "two": ["b", "c", "c", "b", "a", "a"],
    "result": [1, 0.5, 0, 0.5, 0.5, 1],
    "who": ["p", "p", "q", "q", "q", "p"],
    "part": ["x", "y", "x", "x", "y", "y"],
}
OPTIONS = {"menu": ["one", "two"], "choice": "result", "subject": "who", "group": "part"}


def games(ties, **options):
    """The games, read from a table."""
    return ChoiceData.from_frame(GAMES, ties=ties, **OPTIONS | options)


def test_a_tie_is_a_cell_of_its_pair():
    data = games("outcome")
    assert data.items == ("a", "b", "c", rf.TIE)
    assert data.menus == [("a", "b", rf.TIE), ("a", "c", rf.TIE), ("b", "c", rf.TIE)]
    assert data.count.tolist() == [1, 1, 1, 0, 0, 2, 0, 1, 0]
    assert data.outcomes is None
    assert "an outcome of their own" in str(data.understood)
    assert games("outcome", items=["c", "b", "a"]).items == ("c", "b", "a", rf.TIE)


def test_half_wins_and_data_without_ties_are_made_of_it():
    for ties in ("half", "drop"):
        assert games("outcome").resolve_ties(ties).equals(games(ties))
    half = games("half")
    assert half.count.tolist() == [1.5, 1.5, 1, 1, 0, 1]
    assert half.rows.weight.tolist() == [1, 0.5, 0.5, 1, 0.5, 0.5, 0.5, 0.5, 1]
    assert second_halves(half).tolist() == [False, False, True, False, False, True, False, True, False]
    assert tied_shares(half).tolist() == [1 / 3, 1, 0]
    assert half.outcomes.equals(games("outcome"))
    assert games("outcome").resolve_ties("outcome").equals(games("outcome"))
    plain = ChoiceData.from_counts({("a", "b"): {"a": 1}})
    assert plain.resolve_ties("half").equals(plain)
    with pytest.raises(rf.InputError, match="ties='lot': accepted are 'half', 'drop' and 'outcome'"):
        plain.resolve_ties("lot")


def test_parts_labels_and_items_that_leave():
    half, whole = games("half"), games("outcome")
    for by in ("group", "subject"):
        for key, part in half.split(by).items():
            own = whole.split(by)[key]
            assert part.outcomes.equals(own)
            assert part.equals(own.resolve_ties("half"))
    assert half.without(["b"]).equals(whole.without(["b"]).resolve_ties("half"))
    assert whole.without(["b"]).menus == [("a", "c", rf.TIE)]
    assert whole.without([rf.TIE]).equals(games("drop"))
    with pytest.raises(rf.InputError, match="no choice left"):
        whole.without(["a", "b"])
    other = half.replace(items=("x", "y", "z"))
    assert other.outcomes.items == ("x", "y", "z", rf.TIE)
    assert half.replace(counts=half.count).outcomes is None


def test_what_is_no_pair_with_a_tie_is_refused():
    for menus, found in (
        ({("a", "b", rf.TIE): {"a": 1}, ("a", "c"): {"a": 1}}, r"menu \{a, c\}.*does not have it"),
        ({("a", "b", "c", rf.TIE): {"a": 1}}, r"menu \{a, b, c, \(tie\)\}.*has 3 items beside it"),
        ({("a", rf.TIE): {"a": 1}}, "has 1 items beside it"),
    ):
        with pytest.raises(rf.InputError, match=found):
            ChoiceData.from_counts(menus)
    with pytest.raises(rf.InputError, match="a tie of 3 items; ties='outcome' is for pairs"):
        ChoiceData.from_frame({"A": ["x"], "B": ["y"], "C": ["z"], "choice": ["tie"]}, ties="outcome", menu=["A", "B", "C"],
                              choice="choice")  # fmt: skip
    hidden = games("outcome")
    counts = hidden.count.copy()
    counts[2] = np.nan
    with pytest.raises(rf.InputError, match="number of ties was not recorded"):
        hidden.replace(counts=counts).resolve_ties("half")


@pytest.mark.parametrize("call", [rf.project, rf.rum_test, rf.fit_likelihood, rf.explain])
def test_models_of_rankings_say_what_to_do(call):
    with pytest.raises(rf.InputError, match=r"ties as an outcome.*resolve_ties\('half'\)"):
        call(games("outcome"))


GAME = st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["win", "loss", "draw"]))


@given(st.lists(GAME, min_size=1, max_size=12), st.booleans())
def test_files_are_read_as_they_were_written(rows, numbers):
    rows = [(a, b, r) for a, b, r in rows if a != b]
    if not rows:
        return
    name = {x: 10 * x if numbers else f"item {x}" for x in range(4)}
    table = {"one": [name[a] for a, *_ in rows], "two": [name[b] for _, b, _ in rows], "result": [r for *_, r in rows]}
    data = ChoiceData.from_frame(table, ties="outcome", menu=["one", "two"], choice="result")
    for form in ("long", "rows"):
        assert ChoiceData.from_frame(data.to_frame(form)).equals(data.replace(rows=None) if form == "long" else data)


@pytest.mark.parametrize("labels", ["abc", (1, 2, 3)])
def test_text_files_too(tmp_path, labels):
    data = games("outcome").replace(items=(*labels, rf.TIE))
    data.to_csv(tmp_path / "pairs.csv")
    assert ChoiceData.from_csv(tmp_path / "pairs.csv").equals(data.replace(rows=None))


def test_rankings_with_ties():
    orders = [["a", ["b", "c"]], [["a", "b"], "c"], ["c", "b", "a"]]
    data = ChoiceData.from_rankings(orders, ties="outcome")
    assert data.menus == [("a", "b", rf.TIE), ("a", "c", rf.TIE), ("b", "c", rf.TIE)]
    assert data.count.tolist() == [1, 1, 1, 2, 1, 0, 1, 1, 1]
    assert data.rows.subject.tolist() == [0, 1, 2] * 3
    half = ChoiceData.from_rankings(orders, ties="half")
    assert half.equals(data.resolve_ties("half"))
    assert half.outcomes.equals(data)
    with pytest.raises(rf.InputError, match="larger than a pair"):
        ChoiceData.from_rankings(orders, "all", ties="outcome")


def test_half_wins_are_made_again_of_their_outcomes():
    data = ChoiceData.from_counts({("a", "b", rf.TIE): {"a": 3, "b": 1, rf.TIE: 4}})
    half = data.resolve_ties("half")
    assert half.resolve_ties("drop").counts.tolist() == [[3.0, 1.0]]
    assert half.resolve_ties("half").counts.tolist() == [[5.0, 3.0]] == half.counts.tolist()
    assert half.resolve_ties("outcome").items == data.items
