"""Which column means what; where two readings are possible, the error shows both."""

import warnings

import numpy as np
import pytest
from tests.reference.choice_tables import ITEMS, choices, expected, same_counts, write
from tests.reference.layouts import MENUS_SEEN, PICKS, both, counted, read, same_data

import rumflow as rf
from rumflow.data.choices import ChoiceData


def test_columns_by_content(tmp_path):
    menus, picks = choices()
    rows = [(k, ",".join(m), p, "x") for k, (m, p) in enumerate(zip(menus, picks, strict=True))]
    data = ChoiceData.from_csv(write(tmp_path / "a.csv", ["row", "what", "took", "note"], rows), items=ITEMS)
    same_counts(data, expected(menus, picks))


AMBIGUOUS = [
    ({"menu": ["a,b"], "menus": ["a,b"], "choice": ["a"]}, "could be column 'menu' or 'menus'; say which"),
    ({"menu": ["a,b"], "choice": ["a"], "count": [1], "weight": [1]}, "count='count' or weight='weight'"),
    ({"choice": [1, 1], "x": [1, 0], "y": [1, 1], "z": [1, 1]}, "no error"),
    ({"choice": [1, 1], "x": [1, 1], "y": [1, 1], "z": [1, 0]}, "base=0 or base=1"),
    ({"mask": [3, 7], "choice": [1, 1]}, "base=0 or base=1"),
    ({"mask": [3, 7], "choice": ["x", "y"]}, "pass items="),
    ({"p": ["a,b"], "q": ["a"], "r": ["b"]}, "'p' and 'q' or 'p' and 'r'; say which"),
]


@pytest.mark.parametrize(("table", "message"), AMBIGUOUS)
def test_ambiguity_shows_the_options(table, message):
    if message == "no error":
        assert ChoiceData.from_frame(table).items == ("x", "y", "z")
        return
    with pytest.raises(rf.InputError, match=message):
        ChoiceData.from_frame(table)


def test_columns_without_a_use_are_named(tmp_path):
    rows = [("a|b", "a", "monday", 3), ("a|b", "b", "sunday", 5)]
    more = ChoiceData.from_csv(write(tmp_path / "more.csv", ["menu", "choice", "date", "revenue"], rows))
    assert more.understood.splitlines()[-1] == "not used: date, revenue"
    assert "2 items {a, b}, 1 menu, 2 choices" in more.understood
    assert "not used" not in ChoiceData.from_frame({"menu": ["a|b"], "choice": ["a"]}).understood
    wide = {"menu": ["a|b"], "choice": ["a"]} | {f"x{k}": ["?"] for k in range(14)}
    names = ", ".join(f"x{k}" for k in range(12))
    assert ChoiceData.from_frame(wide).understood.splitlines()[-1] == f"not used: {names}, ... 2 more"
    long = {"trip": [1, 1, 2, 2], "alternative": list("abab"), "chosen": [1, 0, 0, 1], "note": list("wxyz")}
    found = ChoiceData.from_frame(long, observation="trip", item="alternative", choice="chosen")
    assert found.understood.splitlines()[-1] == "not used: note"


def columns(menus=MENUS_SEEN, width=3):
    """a1, a2, a3: one column per offered item, None where a menu is shorter."""
    return {f"a{k + 1}": [m[k] if k < len(m) else None for m in menus] for k in range(width)}


@both
def test_one_column_per_offered_item(tmp_path, kind):
    table = {**columns(), "choice": PICKS, "age": [30] * len(PICKS)}
    data = read(table, tmp_path, kind, menu=["a1", "a2", "a3"], items=ITEMS)
    same_data(data, counted())
    assert "menu = 'a1, a2, a3'" in data.understood
    with pytest.raises(rf.InputError, match=r"no column 'a9' \(given as menu\)"):
        read(table, tmp_path, kind, menu=["a1", "a9"])


@both
@pytest.mark.parametrize("base", [0, 1])
def test_the_choice_as_a_position_among_the_columns(tmp_path, kind, base):
    """A gap in the columns counts as a place."""
    menus, picks = [*MENUS_SEEN, ("tea", "juice")], [*PICKS, "juice"]
    table = columns(menus)
    table["a2"][-1], table["a3"][-1] = None, "juice"
    place = [menu.index(pick) + base for menu, pick in zip(MENUS_SEEN, PICKS, strict=True)]
    table["choice"] = [*place, 2 + base]
    data = read(table, tmp_path, kind, menu=["a1", "a2", "a3"], items=ITEMS)
    same_data(data, counted(menus, picks))
    assert f"positions in the menu, counted from {base}" in data.understood


@both
def test_positions_that_fit_both_ways_are_asked_about(tmp_path, kind):
    table = {**columns(width=3), "choice": [1] * len(PICKS)}
    with pytest.raises(rf.InputError, match="base=0 or base=1"):
        read(table, tmp_path, kind, menu=["a1", "a2", "a3"])
    data = read(table, tmp_path, kind, menu=["a1", "a2", "a3"], base=1, items=ITEMS)
    same_data(data, counted(picks=[menu[0] for menu in MENUS_SEEN]))


@both
def test_numbers_that_may_be_labels_or_positions_are_asked_about(tmp_path, kind):
    table = {"a1": [2, 1, 3], "a2": [1, 2, 1], "choice": [2, 1, 1]}
    with pytest.raises(rf.InputError, match=r"labels or positions .* say base='label' or base=1"):
        read(table, tmp_path, kind, menu=["a1", "a2"])
    by_label = read(table, tmp_path, kind, menu=["a1", "a2"], base="label")
    assert by_label.counts.tolist()[0] == [1, 1, pytest.approx(np.nan, nan_ok=True)]
    by_place = read(table, tmp_path, kind, menu=["a1", "a2"], base=1)
    assert by_place.items == (1, 2, 3)
    assert by_place.counts[0, :2].tolist() == [2, 0]
    plain = {"a1": [2, 1, 3], "a2": [1, 4, 1], "choice": [2, 4, 3]}  # 4 is no position
    assert read(plain, tmp_path, kind, menu=["a1", "a2"]).items == (1, 2, 3, 4)


@both
def test_0_1_choice_columns(tmp_path, kind):
    flags = {f"choice_{x}": [int(p == x) for p in PICKS] for x in ITEMS}
    offered = {f"av_{x}": [int(x in m) for m in MENUS_SEEN] for x in ITEMS}
    same_data(read({**offered, **flags}, tmp_path, kind), counted())
    texts = {"menu": ["|".join(m) for m in MENUS_SEEN], **flags}
    same_data(read(texts, tmp_path, kind, choice=list(flags), items=ITEMS), counted())
    renamed = {"menu": texts["menu"], **{f"c{k}": flags[f"choice_{x}"] for k, x in enumerate(ITEMS)}}
    mapping = {f"c{k}": x for k, x in enumerate(ITEMS)}
    same_data(read(renamed, tmp_path, kind, choice=mapping, items=ITEMS), counted())
    flags["choice_tea"][5] = flags["choice_milk"][5] = 1
    with pytest.raises(rf.InputError, match=r"(line 7|row 5): 2 choice columns are 1"):
        read({**offered, **flags}, tmp_path, kind)
    flags = {name: [0, *column[1:]] for name, column in flags.items()}
    flags["choice_tea"][5], flags["choice_milk"][5], flags["choice_juice"][5] = 0, 0, 0
    with pytest.raises(rf.InputError, match="no choice is given"):
        read({**offered, **flags}, tmp_path, kind)


@both
def test_groups_nearly_as_many_as_rows(tmp_path, kind):
    table = {
        "menu": ["|".join(m) for m in MENUS_SEEN],
        "choice": PICKS,
        "experiment": [f"e{k}" for k in range(len(PICKS))],
    }
    with pytest.warns(UserWarning, match=r"'?experiment'? has 60 different values in 60 rows"):
        data = read(table, tmp_path, kind)
    assert "is it a group?" in data.understood
    table["experiment"] = [f"e{k % 3}" for k in range(len(PICKS))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(table, tmp_path, kind)


def test_options_that_are_no_labels():
    table = {"menu": ["a,b"], "choice": ["a"]}
    for options in ({"items": ["a", ["b"]]}, {"items": ["a", "a", "b"]}, {"outside_option": {"a"}}):
        with pytest.raises(rf.InputError, match=r"a label is text or a number|stands twice"):
            ChoiceData.from_frame(table, **options)
    with pytest.raises(rf.InputError, match="base='x'"):
        ChoiceData.from_frame(table, base="x")
