import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from rumflow.core import memory
from rumflow.core.lattice import items_of
from rumflow.core.paths import squeeze, unsqueeze
from rumflow.core.transforms import moebius, moebius_adjoint, zeta, zeta_adjoint


def inside(n, rng):
    return np.where(rf.Lattice(n).membership, rng.normal(size=(1 << n, n)), 0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_cells_are_menu_then_item(n):
    cells = rf.Lattice(n).cells
    assert cells.tolist() == [[d, x] for d in range(1 << n) for x in range(n) if d >> x & 1]
    assert len(cells) == n * 2 ** (n - 1) == rf.Lattice(n).n_cells


@given(st.integers(1, 29), st.data())
def test_squeeze_and_back(n, data):
    item = data.draw(st.integers(0, n - 1))
    column = data.draw(st.integers(0, (1 << (n - 1)) - 1))
    menu = unsqueeze(column, item)
    assert menu >> item & 1
    assert squeeze(menu, item) == column


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


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_transforms_match_their_definition(n, rng):
    lattice = rf.Lattice(n)
    array = inside(n, rng)
    assert lattice.from_internal(zeta(lattice.to_internal(array))) == pytest.approx(reference.zeta(array), abs=1e-12)
    assert lattice.from_internal(moebius(lattice.to_internal(array))) == pytest.approx(
        reference.moebius(array), abs=1e-12
    )


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12, 13, 14, 15])
def test_inverses_and_adjoints(n, rng):
    a, b = rng.normal(size=(2, n, 1 << (n - 1)))
    scale = 2.0 ** (n / 2)
    assert moebius(zeta(a.copy())) == pytest.approx(a, abs=1e-13 * scale)
    assert moebius_adjoint(zeta_adjoint(a.copy())) == pytest.approx(a, abs=1e-13 * scale)
    for forward, adjoint in ((zeta, zeta_adjoint), (moebius, moebius_adjoint)):
        left, right = (forward(a.copy()) * b).sum(), (a * adjoint(b.copy())).sum()
        assert left == pytest.approx(right, rel=1e-9, abs=1e-9 * scale)


@pytest.mark.parametrize("transform", [zeta, moebius, zeta_adjoint, moebius_adjoint])
def test_threads_do_not_change_a_bit(transform, rng):
    a = rng.normal(size=(15, 1 << 14))
    assert (transform(a.copy(), 1) == transform(a.copy(), 3)).all()


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


def test_memory_is_enough_up_to_the_last_byte(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 28)
    assert memory.fits(1 << 28)
    assert not memory.fits((1 << 28) + 1)
    monkeypatch.setattr(memory, "available_memory", lambda: None)  # the system does not say
    assert memory.fits(1 << 60)
