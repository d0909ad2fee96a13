"""Codes for missing choices and the column of a status quo."""

import re

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.reference.choice_tables import ITEMS
from tests.reference.layouts import both, read, same_data


@both
def test_status_quo_column(tmp_path, kind):
    """The status quo belongs to the menu of its row, listed or not; a missing choice keeps it."""
    table = {
        "menu": ["milk|juice", "milk", "tea|milk", "juice"],
        "status_quo": ["tea", "tea", "tea", "milk"],
        "choice": ["tea", None, "milk", "status quo"],
    }
    data = read(table, tmp_path, kind, items=ITEMS)
    assert data.menus == [("tea", "milk"), ("milk", "juice"), ("tea", "milk", "juice")]
    assert np.nansum(data.counts, axis=0).tolist() == [2, 2, 0]
    renamed = {"menu": table["menu"], "kept": table["status_quo"], "choice": table["choice"]}
    renamed["choice"] = [*renamed["choice"][:3], "kept"]
    same_data(read(renamed, tmp_path, kind, status_quo="kept", items=ITEMS), data)
    flags = {"menu": table["menu"], "sq": [0, 1, 0, 1], "choice": ["milk", "milk", "tea", "juice"]}
    with pytest.raises(rf.InputError, match="holds 0 and 1"):
        read(flags, tmp_path, kind, status_quo="sq")


@both
def test_codes_for_missing_choices(tmp_path, kind):
    """Swissmetro: 0 unknown, then the numbers of the modes."""
    table = {
        "TRAIN_AV": [1, 1, 1, 1, 0],
        "SM_AV": [1, 1, 1, 1, 1],
        "CAR_AV": [1, 0, 1, 1, 1],
        "CHOICE": [0, 1, 2, 3, 0],
        "AGE": [3, 2, 5, 4, 1],
    }
    with pytest.raises(
        rf.InputError, match=r"by the order of the columns 1 = TRAIN, 2 = SM, 3 = CAR, but other orders fit"
    ):
        read(table, tmp_path, kind, missing=0)
    data = read(table, tmp_path, kind, missing=0, available=["TRAIN_AV", "SM_AV", "CAR_AV"])
    assert data.items == ("TRAIN", "SM", "CAR")
    assert data.n_observations == 3
    assert "2 rows without a recorded choice are left out" in str(data.understood)
    with pytest.raises(rf.InputError, match="missing=0"):
        read(table, tmp_path, kind, base=1)
    texts = {"menu": ["a,b", "a,b", "a,b"], "choice": ["a", "?", "refused"]}
    assert read(texts, tmp_path, kind, missing=["?", "refused"]).n_observations == 1
    with pytest.raises(rf.InputError, match="no recorded choice"):
        read(texts, tmp_path, kind, missing=["?", "refused", "a"])


def test_points_that_may_be_thousands_are_asked_about(tmp_path):
    path = tmp_path / "a.csv"
    for numbers, words in (
        (("1.000", "2.500"), "line 2: '1.000' in column 'count' could be 1000 or 1, since files with semicolons"),
        (("7", "2.500"), "line 3: '2.500' in column 'count' could be 2500 or 2.5"),
        (("1.000.000", "3"), "line 2: '1.000.000' in column 'count' is not a number; write it without points"),
    ):
        path.write_text("menu;item;count\na|b;a;{}\na|b;b;{}\n".format(*numbers), encoding="utf-8")
        with pytest.raises(rf.InputError, match=re.escape(words)):
            ChoiceData.from_csv(path)
    for numbers, total in ((("0.500", "2.500"), 3), (("1.25", "2.500"), 3.75), (("1000", "2500"), 3500)):
        path.write_text("menu;item;count\na|b;a;{}\na|b;b;{}\n".format(*numbers), encoding="utf-8")
        assert ChoiceData.from_csv(path).n_observations == total
    path.write_text("menu,item,count\na|b,a,1.000\na|b,b,2.500\n", encoding="utf-8")
    assert ChoiceData.from_csv(path).n_observations == 3.5


def test_a_comma_before_decimals(tmp_path):
    path = tmp_path / "a.csv"
    for mark in (";", "\t"):
        path.write_text(
            mark.join(["menu", "item", "count"])
            + "".join(f"\na|b{mark}{x}{mark}{n}" for x, n in (("a", "3,5"), ("b", "7"))),
            encoding="utf-8",
        )
        assert rf.ChoiceData.from_csv(path).counts.tolist() == [[3.5, 7.0]]
    path.write_text("menu;item;count\na|b;a;1,000\na|b;b;7", encoding="utf-8")
    with pytest.raises(rf.InputError, match="line 2: '1,000' in column 'count': is the comma before decimals"):
        rf.ChoiceData.from_csv(path)
    path.write_text('menu,item,count\na|b,a,"3,5"\na|b,b,7', encoding="utf-8")
    with pytest.raises(rf.InputError, match="with a point for decimals"):
        rf.ChoiceData.from_csv(path)
