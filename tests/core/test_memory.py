"""Estimates of memory against what NumPy allocates and by hand, and the check before the work starts."""

import builtins
import io
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import rumflow as rf
from rumflow.core import lattice, memory
from rumflow.errors import InputError
from tests.reference.systems import only_on_linux

N = 14
RANKINGS = 360  # space is set aside for twice as many rankings as the pool holds, 256
CELLS = memory.cell_bytes(N)


def keep_small_tables():
    """The tables of the last four lattices are kept: those of larger ones go."""
    for n in range(4, 8):
        own = rf.Lattice(n)
        assert own.membership.sum() == len(own.cells) == len(own.cell_index)


def peak(call):
    """The most bytes that `call` held at once."""
    keep_small_tables()
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
    """Compiling allocates, too; from 13 items on other kernels run than below."""
    for n in (9, 13):
        small = rf.simulate.noisy_rankings(n, seed=0)
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
    few = {"tol": 0.5, "throw": False, "route": "lattice"}
    close(peak(lambda: rf.project(data, **few)), memory.projection_bytes(N, False, 256, RANKINGS))
    close(peak(lambda: rf.project(hidden, **few)), memory.projection_bytes(N, True, 256, RANKINGS))
    close(peak(lambda: rf.project(data, weights, **few)), memory.projection_bytes(N, True, 256, RANKINGS))
    close(peak(lambda: rf.project(data, method="ipm", **few)), memory.interior_bytes(N, False))


@pytest.mark.parametrize("share", [0.02, 1.0])
def test_choices(data, share):
    given = choices(data, share)
    menus = len(given.masks)
    few = {"tol": 0.5, "throw": False, "route": "lattice"}
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


def test_memory_is_enough_up_to_the_last_byte(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 28)
    assert memory.fits(1 << 28)
    assert not memory.fits((1 << 28) + 1)
    monkeypatch.setattr(memory, "available_memory", lambda: None)  # the system does not say
    assert memory.fits(1 << 60)


def test_memory_of_four_items_counted_by_hand():
    """32 cells of 8 bytes; 16 menus, 6 of them in the middle layer; 10 rankings and a pool of 5: 8 * 10 * 15 bytes."""
    assert [memory.cell_bytes(n) for n in (1, 3, 4)] == [8, 96, 256]
    solve = 16 * 16 + 16 * 6 + 1200
    assert memory.projection_bytes(4, False, 5, 10) == 2 * 256 + solve
    assert memory.projection_bytes(4, True, 5, 10) == 4 * 256 + solve
    assert memory.projection_bytes(4, True, 5, 10, menus=100) == 288 + 28 * 100 * 4
    assert memory.interior_bytes(4, False) == 21 * 256
    assert memory.interior_bytes(4, True) == 23 * 256
    assert memory.batch_bytes(4, 3, False, 5, 2, 10) == 15 * 256 + 2 * (2 * 256 + solve)
    assert memory.test_bytes(4, 4, 3, 2) == (2 * (3 * 4 + 9) + 8 + 2.5) * 256
    assert memory.likelihood_bytes(4, 8, 5, 10) == 18 * 256 + 1200


def test_rankings_that_are_expected_where_none_are_given():
    assert [memory.typical_rankings(n) for n in (18, 20, 24)] == [1500, 1815, 2657]
    for weighted in (False, True):
        assert memory.projection_bytes(18, weighted, 7) == memory.projection_bytes(18, weighted, 7, 1500)
    assert memory.likelihood_bytes(18, 9, 7) == memory.likelihood_bytes(18, 9, 7, 1500)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("MemTotal: 9 kB\nMemAvailable:   100 kB\n", "max", "5"), 102400),
        (("MemAvailable: 100 kB\n", "50000\n", "1000\n"), 49000),
        (("MemAvailable: 40 kB\n", "50000", "1000"), 40960),
        (("MemAvailable: 40 kB\n", "no number", "1000"), 40960),
    ],
)
def test_free_memory_is_the_least_that_the_system_names(files, expected, monkeypatch):
    names = ("/proc/meminfo", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current")
    with_files(dict(zip(names, files, strict=True)), monkeypatch)
    assert memory.available_memory() == expected


def with_files(texts, monkeypatch):
    def read(name, *_):
        if name not in texts:
            raise FileNotFoundError
        return io.StringIO(texts[name])

    monkeypatch.setattr(builtins, "open", read)


@pytest.mark.parametrize(
    ("own", "root", "limit", "used"),
    [
        ("0::/a/b", "/sys/fs/cgroup", "memory.max", "memory.current"),
        ("9:cpu:/x\n4:memory:/a/b\n0::/", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ],
)
def test_control_groups_around_this_process_count(own, root, limit, used, monkeypatch):
    texts = {"/proc/meminfo": "MemAvailable: 1000 kB\n", "/proc/self/cgroup": own}
    for folder, most in (("", "900000"), ("/a", "500000"), ("/a/b", "max")):
        texts |= {f"{root}{folder}/{limit}": most + "\n", f"{root}{folder}/{used}": "300000\n"}
    with_files(texts, monkeypatch)
    assert memory.available_memory() == 200000
    cached = "inactive_file 60000\n" if own.startswith("0") else "inactive_file 1\ntotal_inactive_file 60000\n"
    with_files(texts | {f"{root}/a/memory.stat": f"anon 5\n{cached}"}, monkeypatch)
    assert memory.available_memory() == 260000
    with_files(texts | {f"{root}/a/{used}": "600000"}, monkeypatch)
    assert memory.available_memory() == 0


@only_on_linux
def test_the_limit_of_the_address_space_counts():
    """In a process of its own, since the limit cannot be taken back."""
    code = (
        "import resource; from rumflow.core.memory import available_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); print(available_memory())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(found.stdout) < 3 << 30


def test_free_memory_where_there_are_no_such_files(monkeypatch):
    def missing(*_):
        raise FileNotFoundError

    monkeypatch.setattr(builtins, "open", missing)
    monkeypatch.setattr(memory.os, "sysconf", {"SC_AVPHYS_PAGES": 30, "SC_PAGE_SIZE": 4096}.__getitem__, raising=False)
    monkeypatch.setattr(memory.os, "sysconf_names", {"SC_AVPHYS_PAGES": 1}, raising=False)
    assert memory.available_memory() == 30 * 4096
    monkeypatch.setattr(memory.os, "sysconf_names", {}, raising=False)
    assert memory.available_memory() is None


def test_small_needs_are_not_asked_about(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 0)
    assert memory.fits((1 << 26) - 1)
    assert not memory.fits(1 << 26)


@pytest.mark.parametrize(
    ("number", "text"), [(2**29, "0.5 GiB"), (2**29 - 1, "512 MiB"), (3 * 2**40, "3,072.0 GiB"), (2**27, "128 MiB")]
)
def test_sizes_in_words(number, text, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 0)
    with pytest.raises(InputError, match=rf"^this needs about {text} of memory and 0 MiB is free: take less$"):
        memory.require_memory(number, "this", "take less")


def test_tables_ask_for_the_memory_they_take(monkeypatch):
    asked = []
    keep_small_tables()
    monkeypatch.setattr(lattice, "require_memory", lambda needed, what: asked.append((needed, what)))
    assert len(rf.Lattice(3).cells) == 12
    assert asked == [(32 * 12, "the list of cells of 3 items"), (9 * 24, "the table of menus of 3 items")]
