"""Numbers for values, chunk by chunk: whole numbers in arrays are numbered as a dictionary would."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rumflow.data.readers.coded import Coded, Wholes
from rumflow.data.readers.coders import Coder, RowCoder

NUMBERS = st.integers(-5, 20) | st.sampled_from([2**62, -(2**63)])
CHUNK = st.lists(NUMBERS | st.none(), min_size=1, max_size=12)


def as_column(values, text):
    """As it comes from Arrow: the different values in order of first appearance."""
    different = list(dict.fromkeys(v for v in values if v is not None))
    codes = np.array([-1 if v is None else different.index(v) for v in values], np.int64)
    return Coded(codes, Wholes(np.array(different, np.int64), text))


@given(st.lists(CHUNK, min_size=1, max_size=5), st.booleans(), st.lists(st.booleans(), min_size=5, max_size=5))
def test_numbers_are_those_of_a_dictionary(chunks, text, plain):
    """Chunks may come in arrays or as lists, in any order, with missing values."""
    coder, index = Coder(), {}
    for chunk, as_list in zip(chunks, plain, strict=False):
        values = [None if v is None else str(v) if text else v for v in chunk]
        codes = coder.encode(values if as_list else as_column(chunk, text))
        if not as_list and None in values:
            index.setdefault(None, len(index))  # code -1 comes first
        expected = [index.setdefault(v, len(index)) for v in values]
        assert codes.tolist() == expected
    assert coder.values == list(index)
    assert len(coder) == len(index)
    assert coder.has_gaps is (None in index)


@given(st.lists(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8), min_size=1, max_size=4))
def test_rows_of_two_columns(chunks):
    rows, seen = RowCoder(2), {}
    for chunk in chunks:
        codes = rows.encode([as_column(part, True) for part in zip(*chunk, strict=True)])
        for pair, code in zip(chunk, codes.tolist(), strict=True):
            assert seen.setdefault(pair, code) == code
    assert len(rows) == len(seen) == len(set(seen.values()))
    for pair, code in seen.items():
        assert rows.values(code) == [str(v) for v in pair]


def test_arrays_of_numbers():
    coder = Coder()
    assert coder.encode(np.array([5, 3, 5], np.uint8)).tolist() == [1, 0, 1]
    assert coder.encode(np.array([2.0, 5.0, np.nan])).tolist() == [2, 1, 3]
    assert coder.values == [3, 5, 2, None]
    large = Coder()
    large.encode(np.array([2**64 - 1, 1], np.uint64))
    assert large.values == [1, 2**64 - 1]
