"""Estimates of memory against what NumPy allocates, and the check before the work starts."""

import tracemalloc

import numpy as np
import pytest

import rumflow as rf
from rumflow.core import lattice, memory

N = 14
RANKINGS = 360  # space is set aside for twice as many rankings as the pool holds, 256
CELLS = memory.cell_bytes(N)


def peak(call):
    """The most bytes that `call` held at once."""
    for table in (lattice._cells, lattice._membership, lattice._cell_index):
        table.cache_clear()
    tracemalloc.start()
    call()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def close(found, expected):
    assert expected / 1.5 <= found <= 1.5 * expected, f"{found / CELLS:.1f} arrays, expected {expected / CELLS:.1f}"


@pytest.fixture(scope="module")
def data():
    return rf.simulate.noisy_rankings(N, seed=0)


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compiling allocates, too."""
    small = rf.simulate.noisy_rankings(9, seed=0)
    rf.project(small, throw=False, tol=0.5)
    rf.project(small, throw=False, tol=0.5, method="ipm")
    given = rf.ChoiceData.from_counts({(0, 1): {0: 30, 1: 10}, (0, 1, 2): {0: 20, 1: 15, 2: 5}}, items=range(9))
    rf.project(given, throw=False)


def choices(array, share):
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << N)) >= 2)
    masks = masks[:: round(1 / share)]
    member = (masks[:, None] >> np.arange(N) & 1).astype(bool)
    counts = np.where(member, np.round(100 * array[masks]), np.nan)
    return rf.ChoiceData(tuple(range(N)), member, counts, np.nansum(counts, axis=1))


def test_projections(data):
    hidden = rf.simulate.hide(data, rf.simulate.observed_cells(N, 0.5, seed=1))
    weights = np.where(rf.Lattice(N).membership, 2.0, 0.0)
    few = {"tol": 0.5, "throw": False, "max_seconds": 1.0, "route": "lattice"}
    close(peak(lambda: rf.project(data, **few)), memory.projection_bytes(N, False, 256, RANKINGS))
    close(peak(lambda: rf.project(hidden, **few)), memory.projection_bytes(N, True, 256, RANKINGS))
    close(peak(lambda: rf.project(data, weights, **few)), memory.projection_bytes(N, True, 256, RANKINGS))
    close(peak(lambda: rf.project(data, method="ipm", **few)), memory.interior_bytes(N, False))


@pytest.mark.parametrize("share", [0.02, 1.0])
def test_choices(data, share):
    given = choices(data, share)
    menus = len(given.masks)
    few = {"tol": 0.5, "throw": False, "max_seconds": 1.0, "route": "lattice"}
    close(peak(lambda: rf.project(given, **few)), memory.projection_bytes(N, share < 1, 256, RANKINGS, menus))
    rows = 6
    close(
        peak(lambda: rf.rum_test(given, n_boot=rows, tau=0.1, tol=0.5, threads=1, seed=0, route="lattice")),
        memory.test_bytes(N, menus, rows, 1),
    )
    if share < 1:  # with all menus it takes minutes
        fit = peak(lambda: rf.fit_likelihood(given, tol=1e-3, max_iterations=1, throw=False, route="lattice"))
        close(fit, memory.likelihood_bytes(N, menus, 256, RANKINGS))


@pytest.mark.parametrize("rows", [1, 8])
def test_stacks(data, rows):
    stack = np.repeat(data[None], rows, axis=0)
    close(
        peak(lambda: rf.project_many(stack, tol=0.5, throw=False, threads=1)),
        memory.batch_bytes(N, rows, False, 256, 1, RANKINGS),
    )


def test_what_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2**30)
    memory.require_memory(0.9 * 2**30, "this")
    with pytest.raises(rf.InputError, match=r"this needs about 1\.5 GiB of memory and 1\.0 GiB is free"):
        memory.require_memory(1.5 * 2**30, "this")
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    memory.require_memory(2.0**50, "this")
    assert (found := memory.available_memory()) is None or found > 0
