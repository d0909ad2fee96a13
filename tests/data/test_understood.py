"""How a table was read: as an object, as text and as JSON; kept by what changes the data and empty where nothing was read."""

import json

import pytest

import rumflow as rf
from rumflow.data.understood import Understood

TABLE = {
    "tea_av": [1, 0, 1, 0],
    "milk_av": [1, 1, 0, 1],
    "juice_av": [0, 1, 1, 0],
    "choice": [1, 2, 3, 2],
    "subject": [7, 7, 8, 8],
    "price": [3, 4, 5, 6],
    "date": ["x", "y", "z", "w"],
}


def test_layout_roles_coding_and_unused_columns():
    understood = rf.ChoiceData.from_frame(TABLE).understood
    assert understood.source == "the data frame"
    assert understood.roles == {
        "choice": "choice",
        "available": ("tea_av", "milk_av", "juice_av"),
        "subject": "subject",
    }
    assert understood.coding == {1: "tea", 2: "milk", 3: "juice"}
    assert understood.unused == ("price", "date")
    assert str(understood).splitlines()[0] == (
        "the data frame: one row per choice, 3 availability columns; choice = 'choice', "
        "available = 'tea_av, milk_av, juice_av', subject = 'subject'"
    )
    assert "codes: 1 = tea, 2 = milk, 3 = juice" in str(understood).splitlines()
    assert str(understood).splitlines()[-1] == "not used: price, date"
    again = json.loads(json.dumps(understood.to_dict()))
    assert again["coding"] == {"1": "tea", "2": "milk", "3": "juice"}
    assert again["roles"]["available"] == ["tea_av", "milk_av", "juice_av"]
    assert again["unused"] == ["price", "date"]
    assert set(again) == set(Understood.__dataclass_fields__)


def test_it_is_kept_and_empty_without_a_table():
    data = rf.ChoiceData.from_frame(TABLE)
    assert data.without(["juice"]).understood == data.replace(totals=data.totals).understood == data.understood
    assert data.understood.noting(["more"]).notes == (*data.understood.notes, "more")
    made = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 2}}).understood
    assert not made
    assert str(made) == ""
    assert data.understood
    with pytest.raises(rf.InputError, match="an Understood is needed"):
        data.replace(understood="in words")


def test_budgets_say_which_columns_were_used():
    prices = {"year": [1, 2], "price_food": [1.0, 2.0], "price_rest": [2.0, 1.0]}
    rows = {
        "year": [1, 1, 2, 2],
        "share_food": [0.5, 0.4, 0.3, 0.2],
        "share_rest": [0.5, 0.6, 0.7, 0.8],
        "age": [1, 2, 3, 4],
    }
    understood = rf.BudgetData.from_frame(rows, prices).understood
    assert understood.roles == {
        "budget": "year",
        "shares": ("share_food", "share_rest"),
        "prices": ("price_food", "price_rest"),
    }
    assert understood.unused == ("age",)
    assert understood.notes[0].startswith("2 budgets of 2 goods")
