"""A table of types as a model: its graph has the rows of the table, equal ones once."""

import pytest

from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.types import Types
from tests.reference.graphs import types_of

CELLS = Cells([[True, True, False], [False, True, True]], items=("a", "b", "c"))


def test_types_are_the_rows_of_the_table():
    assert types_of(Types([["a", "b"], ["b", "c"], ["a", "b"]]).geometry(CELLS)) == {(0, 0), (1, 1)}


def test_one_column_per_observed_menu():
    with pytest.raises(InputError, match="2 columns are needed, one per observed menu, not 1"):
        Types([["a"]]).geometry(CELLS)


def test_the_table_cannot_be_changed():
    """Graphs that were built from it are kept."""
    model = Types([["a", "b"], ["a", "c"]])
    with pytest.raises(ValueError, match="read-only"):
        model.table[0, 0] = "b"
