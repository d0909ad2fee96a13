"""Layouts of choice arrays: cells, squeezed rows, lattices by hand."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core import lattice, paths
from rumflow.core.lattice import items_of
from rumflow.core.paths import squeeze
from rumflow.errors import InputError
from tests.reference import lattice as reference


def inside(n, rng):
    return np.where(rf.Lattice(n).membership, rng.normal(size=(1 << n, n)), 0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_cells_are_menu_then_item(n):
    cells = rf.Lattice(n).cells
    assert cells.tolist() == [[d, x] for d in range(1 << n) for x in range(n) if d >> x & 1]
    assert len(cells) == n * 2 ** (n - 1) == rf.Lattice(n).n_cells


@pytest.mark.parametrize("n", [1, 2, 4, 6, 15])
def test_three_forms_hold_the_same(n, rng):
    lattice = rf.Lattice(n)
    array = inside(n, rng)
    rows = lattice.to_internal(array)
    for menu in (1, (1 << n) - 1, (1 << n) // 2):
        for x in items_of(menu):
            assert rows[x, squeeze(menu, x)] == array[menu, x]
    assert (lattice.from_internal(rows) == array).all()
    cells = lattice.internal_to_cells(rows)
    assert (cells == array[lattice.membership]).all()
    assert (lattice.cells_to_internal(cells) == rows).all()
    batch = np.stack([cells, 2 * cells])
    assert (lattice.internal_to_cells(lattice.cells_to_internal(batch)) == batch).all()


@pytest.mark.parametrize(("n", "words"), [(0, "from 1 to 30"), (31, "from 1 to 30"), (2.5, "whole number")])
def test_bad_sizes_are_refused(n, words):
    with pytest.raises(rf.InputError, match=words):
        rf.Lattice(n)


def test_menus_by_number():
    lattice = rf.Lattice(4)
    assert lattice.mask([0, 3]) == 9
    with pytest.raises(rf.InputError, match=r"item 7 is unknown: the items are \{0, 1, 2, 3\}"):
        lattice.mask([7])
    with pytest.raises(rf.InputError, match="item 2 appears twice"):
        lattice.mask([2, 2])


def test_lattices_of_the_same_items_are_the_same():
    assert rf.Lattice(4) == rf.Lattice(4) != rf.Lattice(5)
    assert len({rf.Lattice(4), rf.Lattice(4), rf.Lattice(5)}) == 2


def test_layouts_in_pieces(rng, monkeypatch):
    monkeypatch.setattr(lattice, "_PIECE", 3)
    array = np.where(rf.Lattice(3).membership, rng.random((8, 3)), 0.0)
    for count in (1, 2):
        rows = rf.Lattice(3).to_internal(array + 7 * ~rf.Lattice(3).membership, count)
        np.testing.assert_array_equal(rows, reference.to_rows(array))
        np.testing.assert_array_equal(rf.Lattice(3).from_internal(rows, count), array)


def test_a_lattice_of_three_items_by_hand():
    own = rf.Lattice(3)
    assert (own.n, own.n_menus, own.n_cells, own.shape, own.internal_shape) == (3, 8, 12, (8, 3), (3, 4))
    assert own.cells.tolist() == [[d, x] for d in range(8) for x in range(3) if d >> x & 1]
    index = [4 * x + reference.column(d, x) for d, x in own.cells.tolist()]
    assert own.cell_index.tolist() == index
    for table in (own.membership, own.cells, own.cell_index):
        assert not table.flags.writeable
    assert lattice.items_of(0b10110) == (1, 2, 4)
    assert lattice.items_of(0) == ()
    assert own.mask([]) == 0
    assert rf.Lattice(30).n == 30
    assert rf.Lattice(1).internal_shape == (1, 1)
    for wrong in (True, 31, 0, "3"):
        with pytest.raises(InputError, match="a whole number from 1 to 30 is needed"):
            rf.Lattice(wrong)
    for wrong in (-1, 3, 1.0):
        with pytest.raises(InputError, match=r"is unknown: the items are \{0, 1, 2\}"):
            own.mask([wrong])
    with pytest.raises(InputError, match=r"has shape \(8, 3\), not \(3, 8\)"):
        own.to_internal(np.zeros((3, 8)))
    with pytest.raises(InputError, match=r"3 items have N = 12 cells; the last axis has \(11,\)"):
        own.cells_to_internal(np.zeros((2, 11)))
    assert paths.squeeze(0b10110, 2) == 0b1010
    assert paths.unsqueeze(0b1010, 2) == 0b10110
    assert paths.unsqueeze(0b111, 0) == 0b1111
