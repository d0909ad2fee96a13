"""Choices as labels, as positions and as columns of 0 and 1."""

import numpy as np
import pytest

import rumflow as rf
from tests.reference.choice_tables import ITEMS
from tests.reference.layouts import MENUS_SEEN, PICKS, both, columns, counted, read, same_data


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
    assert f"positions in the menu, counted from {base}" in str(data.understood)


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


@pytest.mark.parametrize(
    ("menu", "choice", "words"),
    [
        (
            "shown",
            "price",
            "column 'price', with '1.99', '2.5', has no label of the menus, such as {tea, milk}; is it the right",
        ),
        (
            "price",
            "product",
            "column 'price' does not hold the menus of the choices in 'product', such as 'tea', 'milk'",
        ),
    ],
)
def test_a_wrong_column_is_named_and_no_row(menu, choice, words):
    table = {"shown": ["tea;milk", "tea;milk;cola", "milk;cola"] * 3, "product": ["tea", "milk", "cola"] * 3}
    table["price"] = ["1.99", "2.5", "1.99"] * 3
    with pytest.raises(rf.InputError) as caught:
        rf.ChoiceData.from_frame(table, menu=menu, choice=choice)
    assert words in str(caught.value)
    assert "outside_option" not in str(caught.value)


def test_one_wrong_row_is_named():
    table = {"menu": ["tea;milk", "tea;milk;cola", "milk;cola", "milk;cola"], "choice": ["tea", "milk", "cola", "none"]}
    with pytest.raises(rf.InputError, match=r"'none' is not in the menu .* pass outside_option='none'"):
        rf.ChoiceData.from_frame(table)


def test_an_outside_option_that_some_menus_lacked():
    table = {"menu": ["tea;none", "tea;milk;none", "milk;tea", "tea;milk"], "choice": ["tea", "none", "milk", "tea"]}
    (said,) = rf.ChoiceData.from_frame(table, outside_option="none").understood.warnings
    assert said.startswith("'none' was not on 1 of 3 menus and has been put there by outside_option=")
    never = table | {"menu": ["tea;cola", "tea;milk", "milk;tea", "tea;milk"], "choice": ["tea", "", "milk", "tea"]}
    assert rf.ChoiceData.from_frame(never, outside_option="none").understood.warnings == ()
    assert rf.ChoiceData.from_frame(table).understood.warnings == ()


@pytest.mark.parametrize(("empty", "code"), [(None, ""), ("", ""), ("NA", "NA")])
def test_the_advice_on_missing_choices_holds(empty, code):
    table = {"menu": ["tea,milk", "tea,milk"], "choice": ["tea", empty]}
    with pytest.raises(rf.InputError, match=f"left out with missing='{code}'"):
        rf.ChoiceData.from_frame(table)
    assert rf.ChoiceData.from_frame(table, missing=code).n_observations == 1
