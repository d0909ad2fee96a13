"""Awkward labels come back from files exactly as they were, and labels that look alike are pointed out."""

import csv

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.reference.labelled import make

LABELS = [
    # quotation marks, separators, brackets
    'say "tea"', '"', '"tea"', "'tea'", "'", "it's", "tea,milk", ",", "tea;milk", "a|b", "|", "[a]", "(a)", "{a}", "[1, 2]",
    '["a"]',
    "a/b", "a+b", "a&b", "a-b", "a\\b", "\\n", "a:b", "#", "%", "$1",
    # blanks and line breaks
    " a", "a ", "  a  ", "\ta", "a b", "a  b", "a\nb", "a\r\nb", "a\rb", "\u00a0a", "a\u2028b",
    # what is read as missing, as a number or as a truth value elsewhere
    "NA", "na", "None", "nan", "NaN", "null", "N/A", "1", "01", "1.0", "-0", "1e3", "True", "False", "yes", "\u0661", "inf",
    # letters of the world, accents in both forms, right to left, pictures, marks that cannot be seen
    "caf\u00e9", "cafe\u0301", "\u05e9\u05dc\u05d5\u05dd", "\u0634\u0627\u064a", "\u8336", "\U0001f375",
    "\U0001f468\u200d\U0001f469",
    "te\u200ba", "\ufefftea", "stra\u00dfe", "STRASSE",
    # formulas, and a very long one
    "=1+1", "+tea", "-tea", "@SUM(A1)", "=cmd|' /C calc'!A0", "x" * 5000,
    # names of columns
    "menu", "choice", "count",
]  # fmt: skip


def test_there_are_sixty():
    assert len(LABELS) >= 60
    assert len(set(LABELS)) == len(LABELS)


def trip(data, path, form):
    if path.suffix == ".csv":
        data.to_csv(path, form)
    else:
        pytest.importorskip("pyarrow")
        data.to_parquet(path, form)
    return ChoiceData.from_csv(path)


def together():
    """Every label alone beside plain ones, then five at a time, then all of them."""
    cases = [(label, "tea", "milk") for label in LABELS]
    cases += [tuple(LABELS[k : k + 5]) for k in range(0, len(LABELS), 5)]
    return [*cases, tuple(LABELS[:30]), tuple(LABELS[30:])]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("form", ["long", "rows"])
def test_round_trips(tmp_path, form, kind):
    for k, items in enumerate(together()):
        for subjects in ((7, 3, 11), ("s 1", " s", "NA")):
            data = make(items, form, subjects, seed=k)
            again = trip(data, tmp_path / f"a.{kind}", form)
            if form == "rows":  # subjects that happen to have no row are not in the file
                assert [again.rows.subjects[s] for s in again.rows.subject] == [
                    data.rows.subjects[s] for s in data.rows.subject
                ]
                np.testing.assert_array_equal(again.rows.choice, data.rows.choice)
            in_menus = [x for x, offered in zip(items, data.membership.any(axis=0), strict=True) if offered]
            if form == "rows" and len(in_menus) < len(items):
                continue
            assert again.items == data.items, (items, again.understood)
            np.testing.assert_array_equal(again.membership, data.membership)
            np.testing.assert_array_equal(again.counts, data.counts)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("form", ["long", "rows"])
@pytest.mark.parametrize("items", [(3, 1, 2), (-5, 0, 2**62)])
def test_whole_numbers_as_items_and_subjects(tmp_path, form, kind, items):
    data = make(items, form, seed=3)
    again = trip(data, tmp_path / f"a.{kind}", form)
    assert again.items == items
    assert again.equals(data)


def test_data_files_hold_labels_exactly(tmp_path):
    """Formula signs are not touched in data files: reading them again must give the same items."""
    data = make(("=1+1", "+tea", "@x"), "long")
    data.to_csv(tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        assert {row["item"] for row in csv.DictReader(file)} <= {"=1+1", "+tea", "@x"}


def test_several_group_columns_round_trip(tmp_path):
    table = {
        "menu": ["a,b"] * 12,
        "choice": ["a", "b"] * 6,
        "domain": ["x, y", "x"] * 6,
        "block": [1, 2, 3] * 4,
    }
    data = ChoiceData.from_frame(table)
    data.to_csv(tmp_path / "a.csv", "rows")
    again = ChoiceData.from_csv(tmp_path / "a.csv")
    assert again.rows.groups == data.rows.groups
    assert again.equals(data)


LOOK_ALIKE = [
    ("caf\u00e9", "cafe\u0301", "how accents are written"),
    ("tea", "te\u200ba", "cannot be seen"),
    ("tea", "\ufefftea", "cannot be seen"),
    ("tea", "te\u00ada", "cannot be seen"),
    ("\u00e9", "e\u0301", "how accents are written"),
]


@pytest.mark.parametrize(("one", "other", "words"), LOOK_ALIKE)
def test_labels_that_look_alike_are_pointed_out(one, other, words):
    table = {"menu": [[one, "milk"], [other, "milk"]], "choice": [one, other]}
    with pytest.raises(rf.InputError, match=words) as caught:
        ChoiceData.from_frame(table)
    assert "\\" in str(caught.value)  # the mark is shown by its number
    assert "clean=True" in str(caught.value)
    assert ChoiceData.from_frame(table, clean=True).n == 2


def test_a_mark_that_cannot_be_seen_is_pointed_out():
    data = ChoiceData.from_frame({"menu": [["te\u200ba", "milk"]], "choice": ["milk"]})
    assert r"'te\u200ba' holds a character that cannot be seen" in str(data.understood)
    family = "\U0001f468\u200d\U0001f469"  # a joiner belongs to the picture
    assert "seen" not in str(ChoiceData.from_frame({"menu": [[family, "milk"]], "choice": ["milk"]}).understood)


@pytest.mark.parametrize(("first", "second"), [("tea", "Tea"), ("Tea", "tea")])
def test_two_spellings_are_named_with_their_own_lines(tmp_path, first, second):
    (tmp_path / "a.csv").write_text(
        f"menu,choice\n{first}|milk,milk\nmilk|steam,milk\n{second}|milk,milk\n", encoding="utf-8"
    )
    with pytest.raises(
        rf.InputError, match=rf"line 4: items '{first}' \(first in .*line 2\) and '{second}' differ only"
    ):
        ChoiceData.from_csv(tmp_path / "a.csv")
