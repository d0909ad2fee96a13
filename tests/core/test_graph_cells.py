"""Cells: recorded items of menus, remainders, labels, and what is refused."""

import numpy as np
import pytest

from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError


def test_cells():
    cells = Cells([[1, 1, 0, 1], [0, 1, 1, 1]], [[1, 0, 0, 1], [0, 1, 1, 1]])
    assert cells.shape == (2, 3)
    assert cells.column.tolist() == [[0, 2, -1, 1], [-1, 0, 1, 2]]
    assert cells.item.tolist() == [[0, 3, -1], [1, 2, 3]]
    array = np.arange(8.0).reshape(2, 4)
    assert cells.to_table(array).tolist() == [[0, 3, 0], [5, 6, 7]]
    back = cells.to_array(cells.to_table(array))
    assert np.array_equal(np.isnan(back), ~cells.recorded)
    assert np.array_equal(back[cells.recorded], array[cells.recorded])
    assert cells.items_of_types(np.array([[2, 0], [1, 2]], np.int32)).tolist() == [[-1, 1], [3, 3]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([True, False],), "a .menus, items. table"),
        (([[True, True], [False, False]],), "menu 1 is empty"),
        (([[True, True]], [[True]]), "recorded: shape"),
        (([[True, False]], [[True, True]], ("x", "y")), r"menu 0 \{x\}: item 'y' is recorded but not in the menu"),
        (([[True, False]], None, ("x",)), "items: 2 labels"),
    ],
)
def test_wrong_cells(arguments, message):
    with pytest.raises(InputError, match=message):
        Cells(*arguments)


def test_cells_in_words_and_in_part():
    many = Cells(np.ones((1, 7), bool), items="abcdefg")
    assert many.name(0) == "0 {a, b, c, d, e, f, ... 7 items}"
    few = Cells(np.ones((2, 6), bool), items="abcdef")
    assert few.name(1) == "1 {a, b, c, d, e, f}"
    assert few.n_items == 6
    menus = [[True, True, False], [True, True, True]]
    recorded = [[True, False, False], [True, True, True]]
    cells = Cells(menus, recorded, "abc")
    assert cells.count.tolist() == [2, 3]
    assert cells.remainder.tolist() == [1, -1]
    assert cells.item.tolist() == [[0, -1, -2], [0, 1, 2]]
    assert cells.types_of_orders(np.array([[1, 0, 2], [2, 0, 1]])).tolist() == [[1, 1], [0, 2]]
    assert cells.same(Cells(menus, recorded, "abc"))
    assert not cells.same(Cells(menus, recorded, "abd"))
    assert not cells.same(Cells(menus, None, "abc"))
    assert not cells.same(Cells([[True, True, True], menus[1]], recorded, "abc"))
    first = cells.part(np.array([0]))
    assert (first.membership.tolist(), first.recorded.tolist(), first.items) == (
        menus[:1],
        recorded[:1],
        ("a", "b", "c"),
    )
    with pytest.raises(InputError, match=r"table is needed, not shape \(0, 3\)"):
        Cells(np.empty((0, 3), bool))
