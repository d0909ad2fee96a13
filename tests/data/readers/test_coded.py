"""Columns out of Arrow: whole numbers in arrays, texts as they are written."""

import subprocess
import sys

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


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("values", [[], [1.5, None, -2.0, 0.25], [None, None], [0.5, 1.0, 1e30]])
def test_floats_of_slices_are_those_of_arrow(values, kind):
    for begin in range(len(values) + 1):
        array = arrow.array(values, kind).slice(begin)
        np.testing.assert_array_equal(from_arrow(array), array.to_numpy(zero_copy_only=False))


@pytest.mark.parametrize("index", ["int8", "uint32", "int64"])
def test_dictionaries_of_any_index(index):
    codes = arrow.array([1, None, 0, 2, 1], index)
    column = from_arrow(arrow.DictionaryArray.from_arrays(codes, ["x", "y", "z"]).slice(1))
    assert listed(column) == [None, "x", "z", "y"]
    assert column.codes.dtype == np.int64


def test_a_file_is_read_without_importing_pandas(tmp_path):
    pytest.importorskip("pandas")
    path = tmp_path / "choices.csv"
    path.write_text("winner,loser,count\na,b,3\nb,a,1.5\na,c,2\n", encoding="utf-8")
    code = "import sys, rumflow as rf; rf.ChoiceData.from_csv(sys.argv[1]); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
