"""Menus as text, lists, bit masks, availability columns and identifiers."""

import json

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.reference.choice_tables import ITEMS, choices, expected, same_counts, write
from tests.reference.layouts import MENUS_SEEN, PICKS, both, counted, read, same_data


@pytest.mark.parametrize("separator", [",", ";", "|", "/", " ", "+"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_menus_as_text(tmp_path, separator, delimiter):
    menus, picks = choices()
    rows = [(separator.join(m), p) for m, p in zip(menus, picks, strict=True)]
    data = ChoiceData.from_csv(write(tmp_path / "a.csv", ["menu", "choice"], rows, delimiter), items=ITEMS)
    same_counts(data, expected(menus, picks))
    assert len(data.rows.menu) == len(rows)
    assert "menu = 'menu'" in str(data.understood)


@pytest.mark.parametrize("style", [json.dumps, str, lambda m: "{" + ", ".join(m) + "}"])
def test_menus_as_lists_in_text(tmp_path, style):
    menus, picks = choices()
    rows = [(style(list(m)), p) for m, p in zip(menus, picks, strict=True)]
    data = ChoiceData.from_csv(write(tmp_path / "a.csv", ["set", "selected"], rows), items=ITEMS)
    same_counts(data, expected(menus, picks))


@pytest.mark.parametrize("base", [0, 1])
def test_availability(tmp_path, base):
    menus, picks = choices()
    rows = [[ITEMS.index(p) + base, *(int(x in m) for x in ITEMS)] for m, p in zip(menus, picks, strict=True)]
    data = ChoiceData.from_csv(write(tmp_path / "a.csv", ["Choice", *ITEMS], rows))
    same_counts(data, expected(menus, picks))
    named = [[p, *("yes" if x in m else "no" for x in ITEMS)] for m, p in zip(menus, picks, strict=True)]
    header = ["picked", *(f"{x}_av" for x in ITEMS)]
    same_counts(ChoiceData.from_csv(write(tmp_path / "b.csv", header, named)), expected(menus, picks))


def test_availability_beside_other_flags():
    """Columns marked as availability are taken, other 0/1 columns are not."""
    table = {
        "CHOICE": [1, 2, 3, 3],
        "MALE": [0, 1, 1, 0],
        "CAR_AV": [1, 1, 0, 1],
        "SM_AV": [1, 1, 1, 0],
        "TRAIN_AV": [1, 0, 1, 1],
    }
    table["CHOICE"] = ["CAR", "SM", "TRAIN", "TRAIN"]
    data = ChoiceData.from_frame(table)
    assert data.items == ("CAR", "SM", "TRAIN")
    assert data.understood.unused == ("MALE",)
    plain = {"pick": ["x", "y", "x"], "x": [1, 1, 1], "y": [1, 1, 0], "z": [1, 0, 1]}
    with pytest.raises(rf.InputError, match=r"z holds 0 and 1 but is never chosen: .* available=\['x', 'y'\]"):
        ChoiceData.from_frame(plain, choice="pick")
    assert ChoiceData.from_frame(plain, choice="pick", available=["x", "y", "z"]).items == ("x", "y", "z")


def test_bit_masks(tmp_path):
    menus, picks = choices()
    rows = [(sum(1 << ITEMS.index(x) for x in m), p) for m, p in zip(menus, picks, strict=True)]
    path = write(tmp_path / "a.csv", ["menu_mask", "choice"], rows)
    same_counts(ChoiceData.from_csv(path, items=ITEMS), expected(menus, picks))
    numbered = [(mask, ITEMS.index(p)) for mask, p in rows]
    data = ChoiceData.from_csv(write(tmp_path / "b.csv", ["mask", "choice"], numbered))
    assert data.items == (0, 1, 2)
    np.testing.assert_array_equal(data.counts, expected(menus, picks).counts)


def test_winner_and_losers():
    menus, picks = choices()
    pairs = [(p, [x for x in m if x != p]) for m, p in zip(menus, picks, strict=True)]
    data = ChoiceData.from_pairs(pairs, items=ITEMS)
    same_counts(data, expected(menus, picks))
    same_counts(ChoiceData.from_pairs(data.to_pairs(), items=ITEMS), data)


@both
@pytest.mark.parametrize("style", ["[{}]", "({})", "{{{}}}", "{}"])
def test_menus_such_as_0_1_2(tmp_path, kind, style):
    menus = [tuple(ITEMS.index(x) for x in menu) for menu in MENUS_SEEN]
    picks = [ITEMS.index(p) for p in PICKS]
    for separator in (",", ", "):
        table = {"menu": [style.format(separator.join(map(str, m))) for m in menus], "choice": picks}
        same_data(read(table, tmp_path, kind), counted(menus, picks, (0, 1, 2)))


def test_text_menus_with_whole_choices():
    """Texts hold no types: '5' of a text menu is the choice 5."""
    data = ChoiceData.from_frame({"menu": ["5,7", "5,9", "7,9"], "choice": [5, 9, 7]})
    assert data.items == (5, 7, 9)
    named = ChoiceData.from_frame({"menu": ["5,x", "5,9", "x,9"], "choice": [5, 9, "x"]})
    assert named.items == ("5", "9", "x")
    lists = ChoiceData.from_frame({"menu": ["[5, 7]", "[5, 9]"], "choice": ["5", "9"]})
    assert lists.items == (5, 7, 9)
    position = ChoiceData.from_frame({"menu": ["tea,milk", "milk,juice", "tea,juice"], "choice": [1, 2, 2]})
    assert np.nansum(position.counts) == 3
    assert "counted from 1" in str(position.understood)
    assert dict(zip(position.items, np.nansum(position.counts, axis=0), strict=True)) == {
        "tea": 1,
        "juice": 2,
        "milk": 0,
    }


@both
def test_menus_by_id_are_the_items_in_their_rows(tmp_path, kind):
    table = {"menu_id": [], "item": [], "count": []}
    whole = counted()
    for k, (menu, counts) in enumerate(zip(whole.menus, whole.counts, strict=True)):
        for item in menu:
            table["menu_id"].append(f"shop {k}")
            table["item"].append(item)
            table["count"].append(counts[ITEMS.index(item)])
    data = read(table, tmp_path, kind, items=ITEMS)
    same_data(data, whole)
    assert "the items in the rows of its 'menu_id'" in str(data.understood)


@pytest.mark.parametrize("ids", [[1, 1, 2, 2], ["shelf 1", "shelf 1", "shelf 2", "shelf 2"], ["s1", "s1", "s2", "s2"]])
def test_a_menu_column_of_ids_is_pointed_out(ids):
    table = {"menu": ids, "item": list("abbc"), "count": [5, 2, 3, 7]}
    with pytest.raises(rf.InputError, match=r"menu_id='menu' \(--menu-id menu\)"):
        ChoiceData.from_frame(table)
    assert ChoiceData.from_frame(table, menu_id="menu").n_observations == 17


def test_an_empty_mask_says_what_the_column_was_taken_for():
    with pytest.raises(rf.InputError, match=r"column 'menu' was taken for bit masks, and mask 0 is .*menu_id='menu'"):
        ChoiceData.from_frame({"menu": [0, 1, 2], "choice": ["tea", "milk", "tea"]})
