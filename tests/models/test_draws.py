"""Types from draws of utilities: each draw takes the best item of every menu."""

import numpy as np
import pandas as pd
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.describe import make_model
from tests.reference.graphs import random_cells, type_of_order, types_of

CELLS = Cells([[True, True, False], [False, True, True]], items=("a", "b", "c"))


@pytest.mark.parametrize("partly", [False, True])
def test_utilities_of_items_take_what_their_rankings_take(partly):
    rng = np.random.default_rng(0)
    for _ in range(5):
        cells = random_cells(rng, 6, 5, partly)
        utilities = rng.normal(size=(40, 6))
        found = types_of(rf.Types.from_utilities(utilities).geometry(cells))
        assert found == {type_of_order(cells, order) for order in np.argsort(-utilities, axis=1).tolist()}


def test_utilities_by_menu_need_not_be_those_of_a_ranking():
    utilities = [[[2.0, 1.0, np.nan], [np.nan, 1.0, 5.0]], [[0.0, 1.0, 9.0], [np.nan, 3.0, 2.0]]]
    model = rf.Types.from_utilities(utilities, items=["a", "b", "c"], menus=[("b", "a"), ("b", "c")])
    assert types_of(model.geometry(CELLS)) == {(0, 1), (1, 0)}
    assert not model.of_rankings
    assert repr(model) == "Types.from_utilities(2 draws, 2 menus, 3 items)"
    assert types_of(make_model(model.describe()).geometry(CELLS)) == {(0, 1), (1, 0)}
    one = Cells([[True, True, False]], items=("a", "b", "c"))
    assert types_of(model.geometry(one)) == {(0,), (1,)}
    with pytest.raises(InputError, match=r"none for menu 0 {a, b, c}"):
        model.geometry(Cells([[True, True, True]], items=("a", "b", "c")))


def test_a_data_frame_names_the_items():
    frame = pd.DataFrame({"c": [1, 2], "b": [2, 3], "a": [3, 1]})
    model = rf.Types.from_utilities(frame)
    assert model.known_items == ("c", "b", "a")
    assert types_of(model.geometry(CELLS)) == {(0, 0), (1, 0)}
    assert types_of(make_model(model.describe()).geometry(CELLS)) == {(0, 0), (1, 0)}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, 2],), "shape .2,.; .draws, items. is needed"),
        (([[[1, 2]]],), "shape .1, 1, 2.; .draws, items. is needed"),
        (([[1, 2]], ["a"]), "items: 2 labels are needed, one per column of utilities, not 1"),
        (([[1, 2]], ["a", "a"]), "items: item 'a' appears twice"),
        (([[[1, 2]]], ["a", "b"], [("a", "b"), ("a",)]), "menus: 1 are needed, one per row of utilities, not 2"),
    ],
)
def test_shapes_that_do_not_fit_are_named(arguments, words):
    with pytest.raises(InputError, match=words):
        rf.Types.from_utilities(*arguments)


@pytest.mark.parametrize(
    ("utilities", "items", "words"),
    [
        ([[1, 2]], ["a", "b"], r"none for item 'c'; there are those of {a, b}"),
        ([[1, 2, 3], [1, np.nan, 3]], ["a", "b", "c"], r"draw 1 has nan for item 'b' of menu 0 {a, b}"),
        (
            [[3, 1, 2], [2, 2, 1]],
            ["a", "b", "c"],
            r"draw 1 has the same utility for items 'a' and 'b', the best of menu 0",
        ),
    ],
)
def test_what_utilities_do_not_say_is_named(utilities, items, words):
    with pytest.raises(InputError, match=words):
        rf.Types.from_utilities(utilities, items).geometry(CELLS)
