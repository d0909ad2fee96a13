"""Columns as the caller named them, or by their names."""

import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData

WIDE = {
    "car_av": [1, 1, 0],
    "bus_av": [1, 0, 1],
    "bike_av": [0, 1, 1],
    "choice": ["car", "bike", "bus"],
    "male": [1, 0, 1],
}


def test_marks_of_availability_are_taken_off_the_labels():
    named = ["car_av", "bus_av", "bike_av"]
    for options in ({}, {"available": named}, {"available": tuple(named), "choice": "choice"}):
        assert ChoiceData.from_frame(WIDE, **options).items == ("car", "bus", "bike")
    labels = {"car_av": "auto", "bus_av": "bus", "bike_av": "velo"}
    data = ChoiceData.from_frame(WIDE | {"choice": ["auto", "velo", "bus"]}, available=labels)
    assert data.items == ("auto", "bus", "velo")


def test_no_availability_and_no_menu_where_there_is_none():
    with pytest.raises(rf.InputError, match="no menu column found"):
        ChoiceData.from_frame(WIDE, available=False)
    with pytest.raises(rf.InputError, match="no menu column found"):
        ChoiceData.from_frame({"what": ["a|b"], "choice": ["a"]}, menu=False)


def test_a_column_of_0_and_1_is_no_menu():
    table = {"id": [1, 1, 2, 2], "alt": list("abab"), "choice": [1, 0, 0, 1], "available": [1, 1, 1, 1]}
    assert ChoiceData.from_frame(table).understood.roles["available"] == ("available",)


@pytest.mark.parametrize("name", ["Product picked", "item_chosen", "Selected product", "chosen option"])
def test_choices_under_longer_names(name):
    table = {"menu": ["tea;milk", "tea;milk;cola"] * 3, name: ["tea", "milk"] * 3, "brand": ["x", "y"] * 3}
    assert rf.ChoiceData.from_frame(table).understood.roles["choice"] == name
    with pytest.raises(rf.InputError, match="the choice could be"):
        rf.ChoiceData.from_frame(table | {"picked": ["tea", "cola"] * 3})
