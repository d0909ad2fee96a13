"""Columns out of Arrow: whole numbers in arrays, texts as they are written."""

import numpy as np
import pytest

from rumflow.data.readers.coded import Wholes, from_arrow

arrow = pytest.importorskip("pyarrow")


def listed(column):
    return [None if code < 0 else column.values[code] for code in column.codes]


@pytest.mark.parametrize(
    ("values", "wholes"),
    [
        (["12", "7", "12", "-3"], True),
        (["12", "007", "12"], False),
        (["12", "+7"], False),
        (["12", " 7"], False),
        (["12", "-0"], False),
        (["12", ""], False),
        (["12", "7.0"], False),
        (["12", "0x10"], False),
        (["12", "9223372036854775808"], False),
        (["a", "b", "a"], False),
        ([12, 7, 12, -3], True),
        ([12, None, 12], True),
        (["12", None], True),
        ([True, False, True], False),
    ],
)
def test_values_come_back_as_they_were(values, wholes):
    column = from_arrow(arrow.array(values))
    assert listed(column) == values
    assert [type(v) for v in listed(column)] == [type(v) for v in values]
    assert isinstance(column.values, Wholes) is wholes


def test_numbers_beyond_64_bits_with_sign():
    values = [(1 << 63) + 1, 5]
    assert listed(from_arrow(arrow.array(values, arrow.uint64()))) == values


def test_categories_keep_their_values():
    column = from_arrow(arrow.array(["b", "a", "b"]).dictionary_encode())
    assert listed(column) == ["b", "a", "b"]


def test_wholes_are_a_sequence():
    texts, numbers = Wholes(np.array([3, 1, 2]), True), Wholes(np.array([3, 1, 2]), False)
    assert (list(texts), texts[0], list(texts[1:]), len(texts)) == (["3", "1", "2"], "3", ["1", "2"], 3)
    assert (list(numbers), numbers[-1], "1" in texts, 1 in texts) == ([3, 1, 2], 2, True, False)
