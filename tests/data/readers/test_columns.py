"""Which column means what; where two readings are possible, the error shows both."""

import re
import warnings

import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.reference.choice_tables import ITEMS, choices, expected, same_counts, write
from tests.reference.layouts import MENUS_SEEN, PICKS, both, columns, counted, read, same_data


def test_columns_by_content(tmp_path):
    menus, picks = choices()
    rows = [(k, ",".join(m), p, "x") for k, (m, p) in enumerate(zip(menus, picks, strict=True))]
    data = ChoiceData.from_csv(write(tmp_path / "a.csv", ["row", "what", "took", "note"], rows), items=ITEMS)
    same_counts(data, expected(menus, picks))


AMBIGUOUS = [
    ({"menu": ["a,b"], "menus": ["a,b"], "choice": ["a"]}, "could be column 'menu' or 'menus'; say which"),
    (
        {"menu": ["a,b"], "choice": ["a"], "count": [1], "weight": [1]},
        "'weight' may hold how much each choice counts; say weight='weight' (--weight weight) where it does",
    ),
    ({"choice": [1, 1], "x": [1, 0], "y": [1, 1], "z": [1, 1]}, "other orders fit as well"),
    ({"choice": [1, 1], "x": [1, 1], "y": [1, 1], "z": [1, 0]}, "base=0 or base=1"),
    ({"mask": [3, 7], "choice": [1, 1]}, "base=0 or base=1"),
    ({"mask": [3, 7], "choice": ["x", "y"]}, "pass items="),
    ({"p": ["a,b"], "q": ["a"], "r": ["b"]}, "'p' and 'q' or 'p' and 'r'; say which"),
]


@pytest.mark.parametrize(("table", "message"), AMBIGUOUS)
def test_ambiguity_shows_the_options(table, message):
    with pytest.raises(rf.InputError, match=re.escape(message)):
        ChoiceData.from_frame(table)


def test_columns_without_a_use_are_named(tmp_path):
    rows = [("a|b", "a", "monday", 3), ("a|b", "b", "sunday", 5)]
    more = ChoiceData.from_csv(write(tmp_path / "more.csv", ["menu", "choice", "date", "revenue"], rows), count=False)
    assert str(more.understood).splitlines()[-1] == "not used: date, revenue"
    assert "2 items {a, b}, 1 menu, 2 choices" in str(more.understood)
    assert "not used" not in str(ChoiceData.from_frame({"menu": ["a|b"], "choice": ["a"]}).understood)
    wide = {"menu": ["a|b"], "choice": ["a"]} | {f"x{k}": ["?"] for k in range(14)}
    names = ", ".join(f"x{k}" for k in range(14))
    assert str(ChoiceData.from_frame(wide).understood).splitlines()[-1] == f"not used: {names}"
    long = {"trip": [1, 1, 2, 2], "alternative": list("abab"), "chosen": [1, 0, 0, 1], "note": list("wxyz")}
    found = ChoiceData.from_frame(long, observation="trip", alternative="alternative", choice="chosen")
    assert str(found.understood).splitlines()[-1] == "not used: note"


@both
def test_one_column_per_offered_item(tmp_path, kind):
    table = {**columns(), "choice": PICKS, "age": [30] * len(PICKS)}
    data = read(table, tmp_path, kind, menu=["a1", "a2", "a3"], items=ITEMS)
    same_data(data, counted())
    assert "menu = 'a1, a2, a3'" in str(data.understood)
    with pytest.raises(rf.InputError, match=r"no column 'a9' \(given as menu\)"):
        read(table, tmp_path, kind, menu=["a1", "a9"])


@both
def test_groups_nearly_as_many_as_rows(tmp_path, kind):
    table = {
        "menu": ["|".join(m) for m in MENUS_SEEN],
        "choice": PICKS,
        "experiment": [f"e{k}" for k in range(len(PICKS))],
    }
    with pytest.warns(UserWarning, match=r"'?experiment'? has 60 different values in 60 rows"):
        data = read(table, tmp_path, kind, group="experiment")
    assert "is it a group?" in str(data.understood)
    table["experiment"] = [f"e{k % 3}" for k in range(len(PICKS))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(table, tmp_path, kind, group="experiment")


def test_options_that_are_no_labels():
    table = {"menu": ["a,b"], "choice": ["a"]}
    for options in ({"items": ["a", ["b"]]}, {"items": ["a", "a", "b"]}, {"outside_option": {"a"}}):
        with pytest.raises(rf.InputError, match=r"a label is text or a number|appears twice"):
            ChoiceData.from_frame(table, **options)
    with pytest.raises(rf.InputError, match="base='x'"):
        ChoiceData.from_frame(table, base="x")
