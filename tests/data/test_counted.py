"""Choices by cell: when two data sets are the same, which rows are picked, and where masks end."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data import simulate
from rumflow.data.choices import ChoiceData
from rumflow.data.counted import Rows
from rumflow.data.understood import Understood

ROWS = {"menu": ["a,b", "a,b", "b,c"], "choice": ["a", "b", "c"], "subject": [7, 8, 7], "weight": [1, 2, 3]}


@pytest.mark.parametrize(
    "change", [{"menu": ["a,b", "a,b,c", "b,c"]}, {"choice": ["a", "a", "c"]}, {"subject": [7, 8, 8]}, {"subject": [7, 9, 7]},
               {"weight": [1, 2, 4]}],
)  # fmt: skip
def test_data_differ_in_any_part(change):
    data, other = (ChoiceData.from_frame(table, weight="weight") for table in (ROWS, ROWS | change))
    assert data.equals(ChoiceData.from_frame(ROWS, weight="weight").replace(understood=Understood("elsewhere")))
    assert not data.equals(other)
    assert not other.equals(data)
    assert not data.equals(data.replace(rows=None))
    assert not data.equals(data.replace(items=("a", "b", "d")))
    assert not data.equals(ROWS)


def test_cells_that_were_not_recorded_are_the_same():
    hidden = [[np.nan] * 2, [np.nan] * 2, [0.25, np.nan]]
    assert ChoiceData.from_matrix(hidden).equals(ChoiceData.from_matrix(hidden))
    np.testing.assert_array_equal(ChoiceData.from_matrix(hidden).shares, [0.25, np.nan])


def test_some_rows():
    rows = Rows(np.arange(4), np.arange(4), np.arange(4.0), subject=np.array([0, 1, 0, 1]), subjects=("x", "y"))
    for chosen in ([1, 3], np.array([False, True, False, True]), slice(1, None, 2)):
        some = rows.pick(chosen)
        assert [part.tolist() for part in some[:4]] == [[1, 3], [1, 3], [1.0, 3.0], [1, 1]]
        assert (some.group, some.subjects) == (None, ("x", "y"))


def test_masks_end_at_62_items():
    for n in (62, 63):
        data = simulate.random_menus(n, 9, 40, seed=0)
        assert data.to_frame(backend="dict").keys() >= (
            {"menu_mask", "menu"} if n == 62 else {"menu_id", "item_number"}
        )
        assert ChoiceData.from_frame(data.to_frame(backend="dict")).equals(data)
        if n == 62:
            assert (np.diff(data.masks) > 0).all()
            assert data.masks.tolist() == [sum(1 << x for x in menu) for menu in data.menus]
        else:
            with pytest.raises(rf.InputError, match=r"data\.membership.*data\.menus"):
                _ = data.masks
