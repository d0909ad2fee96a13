"""Attributes in all their forms are the same rows; what is missing or double is named."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.attributes import Attributes

CELLS = Cells([[True, True, False], [False, True, True]], items=("a", "b", "c"))
COLUMNS = {"item": ["a", "b", "c"], "price": [1.0, 2, 4], "size": [3, 1, 7]}
BY_MENU = {"menu": [1, 1, 2, 2], "item": ["a", "b", "c", "b"], "price": [1.0, 2.0, 3.0, 4.0]}


@pytest.mark.parametrize(
    "table",
    [
        {"a": (1, 3), "b": [2, 1], "c": np.array([4, 7])},
        {"a": {"price": 1, "size": 3}, "b": {"price": 2, "size": 1}, "c": {"price": 4, "size": 7}},
        COLUMNS,
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).set_index("item"),
        pd.DataFrame({"price": [1, 2, 4], "size": [3, 1, 7]}, index=["a", "b", "c"]),
        pl.DataFrame(COLUMNS, strict=False),
        pa.table(COLUMNS),
    ],
)
def test_forms_by_item(table):
    given = Attributes(table)
    assert given.of(CELLS).tolist() == [[1, 3], [2, 1], [2, 1], [4, 7]]
    assert given.items == ("a", "b", "c")
    assert not given.by_menu
    assert Attributes(given.describe()).of(CELLS).tolist() == given.of(CELLS).tolist()
    assert repr(given) == "Attributes(3 items, 2 attributes)"


@pytest.mark.parametrize(
    "table",
    [
        {(("b", "a"), "a"): 1, (("a", "b"), "b"): 2, (("b", "c"), "b"): 4, (frozenset("bc"), "c"): 3},
        BY_MENU,
        pd.DataFrame(BY_MENU),
        pd.DataFrame(BY_MENU).set_index(["menu", "item"]),
    ],
)
def test_forms_by_menu(table):
    given = Attributes(table)
    assert given.of(CELLS).tolist() == [[1], [2], [4], [3]]
    assert given.by_menu
    assert Attributes(given.describe()).of(CELLS).tolist() == given.of(CELLS).tolist()
    assert repr(given) == "Attributes(3 items, 2 menus, 1 attributes)"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (3, "a column for each attribute is needed, not int"),
        ({}, "is needed, not dict"),
        ({"a": (1, "x")}, "attributes of 'a'='x': a finite number is needed"),
        ({"a": (1, np.nan)}, "attributes of 'a'=nan: a finite number is needed"),
        ({"a": ()}, "attributes of 'a': at least one number is needed"),
        ({"a": (1, 2), "b": 1}, "'b' has attribute 0, and others have attribute 0, attribute 1"),
        ({"a": 1, (("a", "b"), "b"): 2}, "some rows name a menu and some do not"),
        ({(("a", "b"), "c"): 2}, "item 'c' is not in its menu {a, b}"),
        ({"item": ["a", "b"]}, "no column beside 'item' and 'menu'"),
        ({"item": ["a", "b"], "x": [1]}, "different lengths"),
        (
            {"item": ["a", "a"], "x": [1, 2]},
            "item 'a' appears twice, with different attributes; attributes that differ",
        ),
        ({"item": ["a", "b"], "x": [1, None]}, "attributes: x of item 'b'=None: a finite number is needed"),
        ({"item": ["a", "b", "a"], "menu": [1, 1, 1], "x": [1, 2, 3]}, "item 'a' in menu {a, b} appears twice"),
        (pd.DataFrame({"item": [], "x": []}), "the table has no rows"),
        (pl.DataFrame({"name": ["a"], "x": [1]}), "no column 'item' among name, x"),
    ],
)
def test_what_is_wrong_is_named(table, words):
    with pytest.raises(InputError, match=words.replace("{", r"\{").replace("(", r"\(")):
        Attributes(table)


def test_items_without_attributes_and_equal_ones_are_named():
    with pytest.raises(InputError, match=r"item 'c' has none; there are those of {a, b}"):
        Attributes({"a": 1, "b": 2}).of(CELLS)
    with pytest.raises(InputError, match=r"item 'b' in menu {b, c} has none; there are those of {a, b}"):
        Attributes({(("a", "b"), "a"): 1, (("a", "b"), "b"): 2}).of(CELLS)
    with pytest.raises(InputError, match=r"items 'b' and 'c' of menu 1 {b, c} have the same attributes \(2, 5\)"):
        Attributes({"a": (1, 5), "b": (2, 5), "c": (2, 5)}).of(CELLS)
    apart = Attributes({"a": (1, 5), "b": (2, 5), "c": (1, 5)}).of(CELLS)  # a and c are never offered together
    assert apart.shape == (4, 2)


def test_signs():
    given = Attributes(COLUMNS)
    assert given.signs(None).tolist() == [0, 0]
    assert given.signs([1, -1]).tolist() == [1, -1]
    assert given.signs({"size": 1}).tolist() == [0, 1]
    for signs, words in [
        ([1], "2 are needed, one per attribute .price, size., not 1"),
        ([1, 2], "2 for attribute size: 1 .more is better., -1"),
        ({"weight": 1}, "attribute 'weight' is unknown: the attributes are price, size"),
        ("++", "2 are needed"),
    ]:
        with pytest.raises(InputError, match=words):
            given.signs(signs)


def test_an_index_that_only_counts_rows_has_no_items():
    """Labels in a column of another name are no attribute; numbers of items may be the index."""
    with pytest.raises(InputError, match="there is no column 'item' among Item, price"):
        Attributes(pd.DataFrame({"Item": ["a", "b"], "price": [1, 2]}))
    assert Attributes(pd.DataFrame({"price": [1.0, 2.0]})).items == (0, 1)
