"""Frames of pandas whose index has a meaning."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.readers.indexed import with_index

pandas = pytest.importorskip("pandas")

LONG = {"id": [1, 1, 2, 2, 2], "alt": list("abacb"), "choice": [1, 0, 0, 1, 0], "price": [1.0, 2.0, 1.5, 2.5, 2.0]}


def test_one_row_per_alternative():
    frame = pandas.DataFrame(LONG)
    want = rf.ChoiceData.from_frame(frame)
    assert rf.ChoiceData.from_frame(frame.set_index(["id", "alt"])).equals(want)
    assert rf.project(frame.set_index(["id", "alt"])).distance == rf.project(want).distance


def test_counts_in_a_series():
    counts = {("a|b", "a"): 3, ("a|b", "b"): 1, ("a|c", "a"): 2, ("a|c", "c"): 5}
    index = pandas.MultiIndex.from_tuples(counts, names=["menu", "item"])
    want = [[3.0, 1.0, np.nan], [2.0, np.nan, 5.0]]
    for series in (pandas.Series(counts.values(), index), pandas.Series(counts.values(), index, name="n")):
        np.testing.assert_array_equal(rf.ChoiceData.from_frame(series).counts, want)
    assert rf.rum_test(pandas.Series(counts.values(), index), n_boot=9, seed=0).pvalue == 1.0


@pytest.mark.parametrize("name", ["buyers", "y", "choice", 0, 7, "share"])
def test_a_series_by_menu_and_item_is_counts(name):
    index = pandas.MultiIndex.from_tuples([("a|b", "a"), ("a|c", "a"), ("a|c", "c")], names=["menu", "item"])
    data = rf.ChoiceData.from_frame(pandas.Series([1, 1, 0] if name == "share" else [3, 2, 5], index, name=name))
    assert data.n_observations == (2 if name == "share" else 10)
    assert data.understood.layout == "counts by menu and item"


def test_sizes_of_groups():
    frame = pandas.DataFrame({"menu": ["a|b", "a|b", "a|b", "b|c"], "choice": ["a", "b", "b", "c"]})
    want = rf.ChoiceData.from_frame(frame).counts
    sizes = frame.groupby(["menu", "choice"]).size()
    for counted in (sizes, sizes.rename(0), sizes.to_frame(), sizes.rename("k"), sizes.reset_index(name="count")):
        np.testing.assert_array_equal(rf.ChoiceData.from_frame(counted).counts, want)
    with pytest.raises(rf.InputError, match="is '0' how often 'choice' was chosen"):
        rf.ChoiceData.from_frame(sizes.reset_index())


def test_choices_in_a_series_are_no_counts():
    frame = pandas.DataFrame(LONG)
    series = frame.set_index(["id", "alt"])["choice"]
    assert rf.ChoiceData.from_frame(series).equals(rf.ChoiceData.from_frame(frame))


def test_a_named_index_and_columns_of_two_levels():
    frame = pandas.DataFrame({"choice": ["a", "b"]}, index=pandas.Index(["a|b", "a|b"], name="menu"))
    assert rf.ChoiceData.from_frame(frame).counts.tolist() == [[1.0, 1.0]]
    columns = pandas.MultiIndex.from_tuples([("menu", ""), ("choice", "")])
    assert list(with_index(pandas.DataFrame([["a|b", "a"]], columns=columns)).columns) == ["menu", "choice"]
    two = pandas.MultiIndex.from_tuples([("av", "a"), ("av", "b"), ("choice", "")])
    frame = pandas.DataFrame([[1, 1, "a"], [1, 1, "b"]], columns=two)
    assert rf.ChoiceData.from_frame(frame).items == ("a", "b")


def test_what_stays():
    plain = pandas.DataFrame({"x": [1]})
    assert with_index(plain) is plain
    assert with_index("x") == "x"
