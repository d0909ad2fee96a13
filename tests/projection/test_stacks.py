"""Forms of stacks of arrays, and what is refused."""

import numpy as np
import pytest

import rumflow as rf
from tests.reference.stacks import stack


def test_forms_and_threads_give_the_same_bits():
    lattice = rf.Lattice(5)
    targets = stack(5, 40)
    arrays = rf.project_many(targets, threads=1)
    cells = rf.project_many(targets[:, lattice.membership], threads=3)
    assert (cells.rho == arrays.rho[:, lattice.membership]).all()
    assert (cells.flow == arrays.flow[:, lattice.membership]).all()
    assert (cells.gap == arrays.gap).all()


def test_empty_batch():
    batch = rf.project_many(np.empty((0, 80)))
    assert len(batch) == 0
    assert batch.rho.shape == (0, 80)
    assert rf.project_many(np.empty((0, 8, 3))).flow.shape == (0, 8, 3)


def test_an_empty_stack():
    for threads in (1, 2):
        batch = rf.project_many(np.empty((0, 8, 3)), threads=threads)
        assert (len(batch), batch.rho.shape, batch.lattice.n) == (0, (0, 8, 3), 3)
        assert len(rf.project_many(np.empty((0, 8, 3)), start=batch)) == 0


def test_bad_input():
    targets = stack(3, 4)
    with pytest.raises(rf.InputError, match=r"shape \(B, 2\^n, n\)"):
        rf.project_many(np.zeros((2, 7)))
    targets[2, 5, 2] = np.nan
    with pytest.raises(rf.InputError, match=r"problem 2: menu \{0, 2\} \(mask 5\), item 2 is nan"):
        rf.project_many(targets)
    with pytest.raises(rf.InputError, match="3 mixtures for 4 problems"):
        rf.project_many(stack(3, 4), start=[None] * 3)
    with pytest.raises(rf.InputError, match="every weight is 0"):
        rf.project_many(stack(3, 4), np.zeros((8, 3)))


def test_numbers_that_would_overflow():
    with pytest.raises(rf.InputError, match="1e\\+150"):
        rf.project_many(np.full((1, 12), 1e200))
    with pytest.raises(rf.InputError, match="1e\\+150"):
        rf.project_many(np.ones((1, 12)), np.full(12, 1e200))
