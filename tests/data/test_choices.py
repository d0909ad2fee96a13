"""Choice data: menus in any order, items left out, hundreds of items, pickles."""

import pickle

import numpy as np
import pytest

import rumflow as rf
from rumflow.data import labels
from rumflow.data.choices import ChoiceData
from rumflow.data.counted import Rows
from rumflow.errors import InputError


def test_split(large_shop):
    parts = large_shop.split("subject")
    assert len(parts) == 50
    assert sum(part.n_observations for part in parts.values()) == 3_000
    total = {}
    for part in parts.values():
        for menu, total_of in zip(part.membership, part.totals, strict=True):
            total[menu.tobytes()] = total.get(menu.tobytes(), 0) + total_of
    assert [total[menu.tobytes()] for menu in large_shop.membership] == large_shop.totals.tolist()


def test_shapes_are_checked():
    with pytest.raises(rf.InputError, match="boolean array"):
        ChoiceData(("a", "b"), np.array([3]), np.ones((1, 2)), np.array([2.0]))


def test_menus_in_any_order_are_the_same_data():
    counts = {("a", "b"): {"a": 5, "b": 7}, ("b", "c"): {"b": 2, "c": 9}, ("a", "c"): {"a": 4, "c": 4}}
    data = rf.ChoiceData.from_counts(counts)
    order = np.array([2, 0, 1])
    rows = rf.ChoiceData.from_frame({"menu": ["b,c", "a,b", "a,c", "a,b"], "choice": ["c", "a", "a", "b"]}).rows
    mixed = ChoiceData(data.items, data.membership[order], data.counts[order], data.totals[order])
    assert mixed.menus == data.menus
    assert np.array_equal(mixed.counts, data.counts, equal_nan=True)
    assert np.array_equal(mixed.totals, data.totals)
    one = ChoiceData(data.items, data.membership, data.counts, data.totals, rows)
    place = np.argsort(order)
    other = ChoiceData(
        *(x[order] if i else x for i, x in enumerate((data.items, data.membership, data.counts, data.totals))),
        rows._replace(menu=place[rows.menu].astype(np.int32)),
    )
    assert np.array_equal(one.rows.menu, other.rows.menu)


def test_without_items():
    counts = {
        ("a", "b", "none"): {"a": 3, "b": 1, "none": 6},
        ("a", "b"): {"a": 2, "b": 2},
        ("b", "none"): {"b": 0, "none": 4},
        ("a", "c", "none"): {"a": 5, "c": 1, "none": 0},
    }
    data = rf.ChoiceData.from_counts(counts, items=["a", "none", "b", "c"])
    left = data.without(["none"])
    assert left.equals(rf.ChoiceData.from_counts({("a", "b"): {"a": 5, "b": 3}, ("a", "c"): {"a": 5, "c": 1}}))
    assert data.without("none").equals(left)
    with pytest.raises(InputError, match="item 'nil' is unknown"):
        data.without(["nil"])
    with pytest.raises(InputError, match="no choice left"):
        data.without(["a", "b", "c", "none"])
    partial = rf.ChoiceData.from_matrix([*[[np.nan] * 3] * 6, [0.5, np.nan, 0.25]])
    assert partial.without([2]).totals.tolist() == [0.75]  # what was not recorded stays so
    with pytest.raises(InputError, match="does not say how often"):
        partial.without([1])


def test_without_items_keeps_single_choices():
    frame = {
        "menu": ["a,b,c", "a,b,c", "b,c", "a,c"],
        "choice": ["c", "a", "b", "c"],
        "subject": [1, 2, 2, 3],
        "weight": [1, 2, 3, 4],
    }
    data = rf.ChoiceData.from_frame(frame, weight="weight").without(["c"])
    kept = {"menu": ["a,b", "b"], "choice": ["a", "b"], "subject": [2, 2], "weight": [2, 3]}
    other = rf.ChoiceData.from_frame(kept, weight="weight")
    assert data.menus == other.menus == [("b",), ("a", "b")]
    assert np.array_equal(data.counts, other.counts, equal_nan=True)
    assert [data.rows.subjects[s] for s in data.rows.subject] == [2, 2]
    assert data.rows.weight.tolist() == [2, 3]


def test_pickles_of_other_versions():
    """Data were tables once, and rows of choices lived in another module; what cannot be read says so at once."""
    counted = rf.ChoiceData.from_counts({("b", "c"): {"b": 1, "c": 2}, ("a", "b"): {"a": 4, "b": 3}})
    for data in (counted, rf.ChoiceData.from_frame({"menu": ["a;b", "a;b", "b;c"], "choice": ["a", "b", "c"]})):
        again = pickle.loads(pickle.dumps(data))
        assert repr(again) == repr(data)
        state = {
            name: getattr(data, name) for name in ("items", "membership", "counts", "totals", "rows", "understood")
        }
        old = ChoiceData.__new__(ChoiceData)
        old.__setstate__(state | {"masks": data.masks})
        assert (old.count[~np.isnan(old.count)] == data.count[~np.isnan(data.count)]).all()
        assert rf.project(old).objective == rf.project(data).objective
        assert (old.rows is None) == (data.rows is None)
        del state["totals"]
        with pytest.raises(InputError, match="pickled by another version of rumflow: read the data again"):
            ChoiceData.__new__(ChoiceData).__setstate__(state)
    assert labels.Rows is Rows
    with pytest.raises(AttributeError, match="no attribute 'Columns'"):
        labels.Columns  # noqa: B018
