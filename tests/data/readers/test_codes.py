"""Choices as codes of availability columns: which orders fit, compared with trying them all; codes beyond the columns."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from rumflow.data.readers.codes import Codes, _another_order, _some_order, read_codes


@st.composite
def tables(draw):
    n = draw(st.integers(2, 5))
    rows = draw(st.lists(st.tuples(st.integers(1, 2**n - 1), st.integers(0, n - 1)), min_size=1, max_size=8))
    return n, rows


def codes_of(n, rows, base=1):
    chosen = {}
    for mask, code in rows:
        chosen.setdefault(code + base, []).append(tuple(x for x in range(n) if mask >> x & 1))
    columns = [f"c{x}_av" for x in range(n)]
    return Codes("a.csv", "choice", columns, [f"c{x}" for x in range(n)], chosen, lambda code: "a.csv, line 2")


@given(tables())
def test_orders_are_those_of_enumeration(drawn):
    n, rows = drawn
    codes = codes_of(n, rows)
    fits = [order for order in permutations(range(n)) if all(mask >> order[code] & 1 for mask, code in rows)]
    some = _some_order(codes, 1)
    assert (some is None) == (not fits)
    assert some is None or tuple(some) in fits
    if tuple(range(n)) in fits:
        other = _another_order(codes, 1)
        assert (other is None) == (len(fits) == 1)
        assert other is None or (tuple(other) in fits and other != list(range(n)))
        if len(fits) == 1:
            assert read_codes(codes, (1,), False) == {x + 1: f"c{x}" for x in range(n)}
        else:
            with pytest.raises(rf.InputError, match="other orders fit as well"):
                read_codes(codes, (1,), False)
        assert read_codes(codes, (1,), True) == {x + 1: f"c{x}" for x in range(n)}


def test_swissmetro_is_asked_about_with_a_remedy_that_helps():
    """0 means nothing; 2 is the third column: "missing=3" would drop all who took the car."""
    rng = np.random.default_rng(0)
    car = rng.integers(0, 2, 40)
    choice = [0 if k % 8 == 0 else 3 if car[k] and k % 3 == 0 else 1 + k % 2 for k in range(40)]
    table = {"TRAIN_AV": [1] * 40, "CAR_AV": car.tolist(), "SM_AV": [1] * 40, "CHOICE": choice}
    with pytest.raises(rf.InputError) as caught:
        rf.ChoiceData.from_frame(table)
    message = str(caught.value)
    assert "0 is beyond the 3 columns (counted from 1: 1 to 3); where no choice was recorded, pass missing=0" in message
    assert "2 would be CAR, which was not available everywhere it was chosen" in message
    assert "available=['TRAIN_AV', 'SM_AV', 'CAR_AV']" in message
    assert "missing=3" not in message
    with pytest.raises(rf.InputError, match="name the columns in the order of the codes") as caught:
        rf.ChoiceData.from_frame(table, missing=0)
    order = ["TRAIN_AV", "SM_AV", "CAR_AV"]
    data = rf.ChoiceData.from_frame(table, missing=0, available=order)
    assert data.understood.coding == {1: "TRAIN", 2: "SM", 3: "CAR"}
    assert data.n_observations == sum(c > 0 for c in choice)


def test_a_list_of_columns_that_does_not_fit_names_the_row():
    table = {"a_av": [1, 0], "b_av": [1, 1], "choice": [2, 1]}
    with pytest.raises(rf.InputError, match=r"row 1: .* 1 would be a, which was not available .* correct the rows"):
        rf.ChoiceData.from_frame(table, available=["a_av", "b_av"], base=1)
