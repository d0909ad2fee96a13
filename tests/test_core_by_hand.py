"""The small parts of `core` by hand: memory, threads, seeds, transforms and layouts."""

import builtins
import io
import threading

import numpy as np
import pytest
import reference

import rumflow as rf
from rumflow.check import nan_where_masked
from rumflow.core import (
    lattice,
    memory,
    paths,
    threads,
    transforms,
)
from rumflow.core.reduced import add_largest, fill_largest
from rumflow.core.seeds import entropy, generator
from rumflow.errors import InputError

# Memory ---------------------------------------------------------------------------------------------------------------------


def test_memory_of_four_items_counted_by_hand():
    """32 cells of 8 bytes; 16 menus, 6 of them in the middle layer; 10 rankings and a pool of 5: 8 * 10 * 15 bytes."""
    assert [memory.cell_bytes(n) for n in (1, 3, 4)] == [8, 96, 256]
    solve = 16 * 16 + 16 * 6 + 1200
    assert memory.projection_bytes(4, False, 5, 10) == 2 * 256 + solve
    assert memory.projection_bytes(4, True, 5, 10) == 4 * 256 + solve
    assert memory.projection_bytes(4, True, 5, 10, menus=100) == 288 + 28 * 100 * 4
    assert memory.interior_bytes(4, False) == 21 * 256
    assert memory.interior_bytes(4, True) == 23 * 256
    assert memory.result_bytes(4) == 3 * 256
    assert memory.batch_bytes(4, 3, False, 5, 2, 10) == 15 * 256 + 2 * (2 * 256 + solve)
    assert memory.test_bytes(4, 4, 3, 2) == (2 * (3 * 6 + 9) + 8 + 2.5) * 256
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
    texts = dict(zip(names, files, strict=True))
    monkeypatch.setattr(builtins, "open", lambda name, *_: io.StringIO(texts[name]))
    assert memory.available_memory() == expected


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
    lattice._membership(3)
    monkeypatch.setattr(lattice, "require_memory", lambda needed, what: asked.append((needed, what)))
    lattice._membership.__wrapped__(3)
    lattice._cells.__wrapped__(3)
    assert asked == [(9 * 24, "the table of menus of 3 items"), (32 * 12, "the list of cells of 3 items")]


# Threads and seeds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 1024, np.int64(3)])
def test_numbers_of_threads(count, monkeypatch):
    assert threads.thread_count(count) == count
    monkeypatch.setenv("RUMFLOW_THREADS", str(count))
    assert threads.thread_count() == count
    assert threads.thread_count(5) == 5


@pytest.mark.parametrize("count", [0, 1025, -1, True, 2.0, "2"])
def test_what_is_no_number_of_threads(count):
    with pytest.raises(InputError, match="threads="):
        threads.thread_count(count)


@pytest.mark.parametrize("text", ["0", "1025", "two", "-1", "1.0", "²", "10000000000000"])
def test_what_is_no_number_of_threads_in_the_environment(text, monkeypatch):
    monkeypatch.setenv("RUMFLOW_THREADS", text)
    with pytest.raises(InputError, match="RUMFLOW_THREADS="):
        threads.thread_count()


def test_all_processors_are_used_where_nothing_is_said(monkeypatch):
    monkeypatch.setenv("RUMFLOW_THREADS", "")
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert threads.thread_count() == 3
    monkeypatch.delattr(threads.os, "sched_getaffinity")
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 7)
    assert threads.thread_count() == 7
    monkeypatch.setattr(threads.os, "cpu_count", lambda: None)
    assert threads.thread_count() == 1


def test_pieces_run_where_they_should():
    """In threads of a pool, but for one piece, one thread, or work inside the pool."""

    def where(pieces, count):
        names = []
        threads.run_threads(lambda _: names.append(threading.current_thread().name), pieces, count)
        return [name.startswith("rumflow") for name in names]

    assert where(range(3), 2) == [True] * 3
    assert where(range(3), 1) == where(range(3), 0) == [False] * 3
    assert where(range(1), 2) == [False]
    inside = []
    threads.run_threads(lambda i: inside.append(threading.current_thread().name), iter(range(4)), 2)
    assert len(inside) == 4
    nested = []

    def outer(_):
        own = threading.current_thread()
        threads.run_threads(lambda _: nested.append(threading.current_thread() is own), range(3), 2)

    threads.run_threads(outer, range(2), 2)
    assert nested == [True] * 6


def test_an_error_ends_the_work_and_is_raised():
    done = []

    def task(i):
        if i == 0:
            raise ValueError("the first")
        done.append(i)

    with pytest.raises(ValueError, match="the first"):
        threads.run_threads(task, range(50), 2)
    assert 0 not in done


def test_seeds_as_numbers():
    assert entropy(5) == 5
    assert entropy(0) == 0
    assert entropy(np.int32(7)) == 7
    assert entropy(np.random.default_rng(1)) == np.random.default_rng(1).integers(1 << 62)
    words = np.random.SeedSequence(3).generate_state(4)
    assert entropy(np.random.SeedSequence(3)) == sum(int(word) << 32 * i for i, word in enumerate(words))
    assert entropy(None) != entropy(None)
    for wrong in (-1, True, 2.5, "1"):
        with pytest.raises(InputError, match="seed="):
            entropy(wrong)


def test_generators_of_seeds():
    own = np.random.default_rng(4)
    assert generator(own) is own
    assert generator(4).random() == np.random.default_rng(4).random()
    sequence = np.random.SeedSequence(9)
    assert generator(sequence).random() == np.random.default_rng(np.random.SeedSequence(9)).random()
    assert generator(None).random() != generator(None).random()
    with pytest.raises(InputError, match="seed="):
        generator(-1)


def test_masked_entries_become_nan():
    masked = np.ma.masked_array([[1, 2], [3, 4]], [[False, True], [False, False]])
    np.testing.assert_array_equal(nan_where_masked(masked), [[1.0, np.nan], [3.0, 4.0]])
    np.testing.assert_array_equal(nan_where_masked([masked[0], [1.0, 2.0]]), [[1.0, np.nan], [1.0, 2.0]])
    np.testing.assert_array_equal(nan_where_masked(([masked[0]],)), [[[1.0, np.nan]]])
    plain = [1.0, 2.0]
    assert nan_where_masked(plain) is plain


# Transforms and layouts -----------------------------------------------------------------------------------------------------


def one_axis_at_a_time(row, bits, sign, adjoint):
    """Each bit as an axis of length 2."""
    cube = row.reshape((2,) * bits).copy()
    for axis in range(bits):
        lower, upper = np.split(cube, 2, axis)
        pair = [lower, upper + sign * lower] if adjoint else [lower + sign * upper, upper]
        cube = np.concatenate(pair, axis)
    return cube.reshape(-1)


@pytest.mark.parametrize("bits", [*range(14)])
def test_transforms_of_one_row_for_any_number_of_bits(bits, rng):
    row = rng.integers(-9, 10, 1 << bits).astype(float)
    for name, sign, adjoint in (("zeta", 1.0, False), ("moebius_adjoint", -1.0, True)):
        found = getattr(transforms, name)(row[None].copy(), 1)[0]
        np.testing.assert_array_equal(found, one_axis_at_a_time(row, bits, sign, adjoint))


@pytest.mark.parametrize("name", ["zeta", "moebius", "zeta_adjoint", "moebius_adjoint"])
def test_long_rows_go_to_threads_one_by_one(name, rng, monkeypatch):
    rows = rng.integers(-9, 10, (3, 8)).astype(float)
    sign, adjoint = -1.0 if "moebius" in name else 1.0, "adjoint" in name
    expected = [one_axis_at_a_time(row, 3, sign, adjoint) for row in rows]
    calls = []
    monkeypatch.setattr(transforms, "run_threads", lambda task, pieces, count: calls.append([*map(task, pieces)]))
    for limit, threaded in ((8, True), (9, False)):
        monkeypatch.setattr(transforms, "THREADED_ROW", limit)
        own = rows.copy()
        assert getattr(transforms, name)(own) is own
        np.testing.assert_array_equal(own, expected)
        assert bool(calls) == threaded
        calls.clear()


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


def test_the_largest_item_of_every_menu(rng):
    n = 4
    values = rng.integers(-9, 10, (n, 1 << (n - 1))).astype(float)
    added, filled = values.copy(), values.copy()
    for mask in range(1, 1 << n):
        *others, top = lattice.items_of(mask)
        largest = reference.column(mask, top)
        filled[top, largest] = -sum(values[x, reference.column(mask, x)] for x in others)
        for x in others:
            added[x, reference.column(mask, x)] += 0.5 * values[top, largest]
    own = values.copy()
    add_largest(own, n, 0.5)
    np.testing.assert_array_equal(own, added)
    own = values.copy()
    fill_largest(own, n)
    np.testing.assert_array_equal(own, filled)
