"""Spellings of labels that are merged when asked for."""

import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData


def test_clean_merges_spellings():
    table = {"menu": ["Tea,milk", "tea,milk ", "TEA,Milk"], "choice": ["Tea", "milk", "TEA"]}
    data = ChoiceData.from_frame(table, clean=True)
    assert data.items == ("milk", "tea")
    with pytest.raises(rf.InputError, match=r"differ only by blanks or case.*clean=True"):
        ChoiceData.from_frame(table)
