"""The small parts of `core` by hand: memory, threads, seeds and sizes; and the ways of many items, tried on few."""

import builtins
import io
import threading
from itertools import permutations, product

import numpy as np
import pytest
import reference

import rumflow as rf
from rumflow import RandomUtility, SinglePeaked
from rumflow.core import (
    certificate,
    graph,
    lattice,
    membership,
    memory,
    paths,
    rational_types,
    threads,
    transforms,
    tree,
)
from rumflow.core.arrangement import find_patches, merge_equal
from rumflow.core.arrays import nan_where_masked
from rumflow.core.graph_build import build_graph, label_arcs
from rumflow.core.graph_cells import Cells
from rumflow.core.graph_certificate import residual_of
from rumflow.core.problem import (
    NO_WEIGHTS,
    Problem,
    Stop,
    data_size,
    is_complete,
    is_rum_distance,
    least_weight,
    rounding_floor,
)
from rumflow.core.reduced import add_largest, fill_largest
from rumflow.core.residual import residual_row
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
    assert [memory.typical_rankings(n, False) for n in (18, 20, 24)] == [1500, 1815, 2657]
    assert [memory.typical_rankings(n, True) for n in (18, 20)] == [3000, 6482]
    for weighted in (False, True):
        expected = memory.projection_bytes(18, weighted, 7, memory.typical_rankings(18, weighted))
        assert memory.projection_bytes(18, weighted, 7) == expected
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
        with pytest.raises(InputError, match="number of items"):
            rf.Lattice(wrong)
    for wrong in (-1, 3, 1.0):
        with pytest.raises(InputError, match="is unknown: items are 0 to 2"):
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


# Paths ------------------------------------------------------------------------------------------------------------------------


def ways(cost):
    """Cheapest ways from every menu down, and from the full menu to it, by recursion over sets."""
    n = len(cost)
    below, above = np.full(1 << n, np.inf), np.full(1 << n, np.inf)
    below[0] = above[-1] = 0.0
    for mask in range(1, 1 << n):
        below[mask] = min(cost[x, reference.column(mask, x)] + below[mask - 2**x] for x in lattice.items_of(mask))
    for mask in range((1 << n) - 2, -1, -1):
        larger = [(x, mask + 2**x) for x in range(n) if not mask >> x & 1]
        above[mask] = min(cost[x, reference.column(m, x)] + above[m] for x, m in larger)
    return below, above


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_cheapest_ways_of_every_menu(n, rng):
    cost = rng.integers(-20, 20, (n, 1 << (n - 1))).astype(float)
    below, above = ways(cost)
    own = np.empty(1 << n)
    assert paths.cheapest_below(cost, 1, own) is own
    np.testing.assert_array_equal(own, below)
    assert paths.cheapest_above(cost, 1, own) is own
    np.testing.assert_array_equal(own, above)
    np.testing.assert_array_equal(paths.cheapest_below(cost), below)
    np.testing.assert_array_equal(paths.cheapest_above(cost), above)


def test_cheapest_ways_in_parts_for_threads(rng, monkeypatch):
    """Many items are cut by their highest bits; here few are, in blocks of 16 menus."""
    monkeypatch.setattr(paths, "_THREADED_ITEMS", 8)
    cost = rng.integers(-20, 20, (8, 128)).astype(float)
    for found, expected in zip((paths.cheapest_below(cost, 2), paths.cheapest_above(cost, 2)), ways(cost), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_parts_of_the_lattice_for_threads():
    by_size = [[p for p in range(16) if p.bit_count() == k] for k in range(5)]
    assert paths._blocks(18, 2) == by_size
    assert paths._blocks(17, 2) == paths._blocks(18, 1) == [[0]]
    assert tree.menu_parts(15, 2) == [(1024 * i, 1024 * (i + 1)) for i in range(32)]
    assert tree.menu_parts(14, 2) == [(0, 1 << 14)]
    assert tree.menu_parts(15, 1) == [(0, 1 << 15)]
    assert tree.row_parts(15, 2) == [(x, x + 1) for x in range(15)]
    assert tree.row_parts(14, 2) == [(0, 14)]
    assert tree.row_parts(15, 1) == [(0, 15)]


def test_of_equal_rankings_the_lowest_items_come_first():
    cost = np.zeros((4, 8))
    value, path = paths.cheapest_ranking(cost)
    assert value == 0.0
    assert paths.orders_from_paths(path[None]).tolist() == [[0, 1, 2, 3]]
    totals, through = paths.cheapest_through(cost, np.array([0b0110]))
    assert totals.tolist() == [0.0]
    assert paths.orders_from_paths(through).tolist() == [[3, 0, 1, 2]]


def test_walks_follow_their_draws():
    """At the full menu item 0 has 0.25, item 1 nothing, item 2 0.75; afterwards everything is fixed or equal."""
    orders = np.array([[0, 1, 2], [2, 0, 1], [2, 1, 0]])
    flow = paths.flow_from_paths(paths.paths_from_orders(orders), np.array([0.25, 0.5, 0.25]))
    draws = np.array([[0.0, 0.0, 0.0], [0.24, 0.9, 0.5], [0.26, 0.66, 0.0], [0.99, 0.67, 0.99], [1.0, 1.0, 1.0]])
    found = np.empty((5, 3), np.int32)
    paths._walk(flow, 3, draws, found)
    expected = [[0, 1, 2], [0, 1, 2], [2, 0, 1], [2, 1, 0], [2, 1, 0]]
    assert paths.orders_from_paths(found).tolist() == expected
    nothing = np.empty((1, 3), np.int32)
    paths._walk(np.zeros((3, 4)), 3, draws[:1], nothing)
    assert paths.orders_from_paths(nothing).tolist() == [[0, 1, 2]]


def test_heaviest_paths_are_peeled_first():
    orders = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    shares = np.array([0.5, 0.3, 0.2])
    flow = paths.flow_from_paths(paths.paths_from_orders(orders), shares)
    found, weights = paths.decompose(flow)
    assert paths.orders_from_paths(found).tolist() == orders.tolist()
    assert weights == pytest.approx(shares, abs=1e-15)
    found, weights = paths.decompose(flow, limit=2)
    assert weights == pytest.approx(shares[:2], abs=1e-15)
    for floor, count in (
        (0.6, 1),
        (0.5, 1),
        (0.49, 2),
        (0.21, 2),
        (0.19, 3),
    ):  # 0.5 is left after one path, 0.2 after two
        assert len(paths.decompose(flow, floor=floor)[1]) == count


def test_a_flow_without_direction_divides_evenly():
    np.testing.assert_allclose(paths.conserve(np.zeros((4, 8))), paths.uniform_flow(4), rtol=1e-15)
    every = paths.paths_from_orders(np.array(list(permutations(range(4)))))
    np.testing.assert_allclose(paths.flow_from_paths(every, np.full(24, 1 / 24)), paths.uniform_flow(4), rtol=1e-14)
    flow = np.full((3, 4), -1.0)
    flow[2, 3] = 5.0  # everybody takes item 2 first; what is negative counts as nothing
    mended = paths.conserve(flow)
    assert mended[:, 3].tolist() == [0.0, 0.0, 1.0]
    assert mended[:2, reference.column(0b011, 0)].tolist() == [0.5, 0.5]


def test_the_middle_layer_in_order():
    assert paths.middle_menus(4).tolist() == [3, 5, 6, 9, 10, 12]
    assert paths.middle_menus(5).tolist() == [3, 5, 6, 9, 10, 12, 17, 18, 20, 24]
    assert paths.middle_menus(1).tolist() == [0]


# Trees ------------------------------------------------------------------------------------------------------------------------


def ends(x, m):
    """The menus that an edge joins, the larger first."""
    low = m % 2**x + m // 2**x * 2 ** (x + 1)
    return low + 2**x, low


def test_divergence_and_differences_in_parts_for_threads(rng, monkeypatch):
    monkeypatch.setattr(tree, "THREADED_ITEMS", 8)
    monkeypatch.setattr(tree, "_PARTS", 4)
    flow = rng.integers(0, 100, (8, 128)).astype(float)
    expected = np.zeros(256)
    for x, m in product(range(8), range(128)):
        high, low = ends(x, m)
        expected[high] += flow[x, m]
        expected[low] -= flow[x, m]
    own = np.empty(256)
    assert tree.flow_divergence(flow, 2, own) is own
    np.testing.assert_array_equal(own, expected)
    np.testing.assert_array_equal(tree.flow_divergence(flow, 1), expected)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("ties", [False, True])
def test_small_trees_are_those_of_sorted_edges(n, ties, rng, monkeypatch):
    monkeypatch.setattr(tree, "THREADED_ITEMS", 3)
    monkeypatch.setattr(tree, "_PARTS", 1)
    weights = rng.integers(0, 3 if ties else 10**9, (n, 1 << (n - 1))).astype(float)
    group = list(range(1 << n))
    edges = np.zeros(weights.shape, bool)
    for e in np.argsort(weights.reshape(-1), kind="stable").tolist():
        x, m = divmod(e, 1 << (n - 1))
        a, b = (group[v] for v in ends(x, m))
        if a != b:
            edges[x, m] = True
            group = [a if g == b else g for g in group]
    found = tree.minimum_spanning_tree(weights)
    np.testing.assert_array_equal(found.edges, edges)
    assert tree.is_spanning_tree(edges)
    values = rng.integers(-9, 10, weights.shape).astype(float)
    p = tree.potentials(found, values)
    assert p[0] == 0.0
    difference = np.array([[p[ends(x, m)[0]] - p[ends(x, m)[1]] for m in range(1 << (n - 1))] for x in range(n)])
    np.testing.assert_array_equal(difference[edges], values[edges])
    np.testing.assert_array_equal(tree.extend_adjoint(found, values.copy(), 2), np.where(edges, 0, values - difference))
    flow = tree.extend(found, np.where(edges, 0.0, values))
    np.testing.assert_array_equal(flow[~edges], values[~edges])
    assert not tree.flow_divergence(flow).any()


def test_a_rooted_tree_by_hand():
    """All edges of item 0, and that of item 1 between the empty menu and {1}: 0 - 1, 0 - 2, 2 - 3."""
    found = tree.tree_from_edges(np.array([[True, True], [True, False]]))
    assert found.order.tolist() == [0, 1, 2, 3]
    assert found.parent.tolist() == [0, 0, 0, 2]
    assert found.edge.tolist() == [0, 0, 2, 1]
    upside_down = tree.tree_from_edges(np.array([[True, True], [False, True]]))
    assert upside_down.order.tolist() == [0, 1, 3, 2]
    assert upside_down.parent.tolist() == [0, 0, 1, 2]
    assert upside_down.edge.tolist() == [0, 0, 3, ~1]


# Certificates and data that are RUM -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [0.0, 1.0])
@pytest.mark.parametrize("cone", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_certificates_of_many_items_tried_on_few(cone, weighted, more, rng, monkeypatch):
    """`more`: the data are above the model, so that some ranking has a negative cost."""
    n = 3
    inside = rf.Lattice(n).membership
    orders = np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    mixture = paths.paths_from_orders(orders), rng.dirichlet(np.ones(3)) * (1.5 if cone else 1.0)
    target = np.where(inside, rng.random(inside.shape) + more, 0.0)
    w = np.where(inside, rng.uniform(0.1, 3, inside.shape) * (rng.random(inside.shape) < 0.8), 0.0)
    w = w if weighted else inside.astype(float)
    rho = sum(s * reference.choice_array(o) for s, o in zip(mixture[1], orders, strict=True))
    g, used = w * (rho - target), w > 0
    cheapest = min((g * reference.choice_array(o)).sum() for o in reference.all_rankings(n))
    gap = (g * rho).sum() - cheapest
    if cone:
        miss = max(0.0, -cheapest)
        assert (miss > 0) == (more > 0)
        gap = max((g * rho).sum() + miss * rho[used].sum() + miss**2 / 2 * (1 / w[used]).sum(), 0.0)
    rows = reference.to_rows(target)
    problem = Problem(rows, reference.to_rows(w) if weighted else NO_WEIGHTS, cone)
    flow = paths.flow_from_paths(*mixture)
    found = [certificate.certify(problem, flow)]
    found += certificate.Certifier(n, problem.weights, cone).stack(np.stack([flow, flow]), np.stack([rows, rows]))
    monkeypatch.setattr(certificate, "_ONE_CALL", n - 1)
    found += [
        certificate.certify(problem, flow, 1),
        certificate.Certifier(n, problem.weights, cone).mixture(mixture, rows),
    ]
    for one in found:
        assert one.objective == pytest.approx(0.5 * (w * (rho - target) ** 2).sum(), rel=1e-12)
        assert one.gap == pytest.approx(gap, rel=1e-10)
        assert one.least_flow == flow.min()
        assert one.menu_error <= 1e-15
        assert one.size == pytest.approx((w * target * np.minimum(target, 1.0)).sum(), rel=1e-12)
        assert one.scale == pytest.approx(w.sum(), rel=1e-12)
        assert one.floor == rounding_floor(one.size, w[used].min())
    flow[0, 3] += 0.25  # menus no longer add up to the total of the weights
    monkeypatch.setattr(certificate, "_ONE_CALL", 12)
    leaks = [certificate.certify(problem, flow)]
    monkeypatch.setattr(certificate, "_ONE_CALL", 2)
    leaks.append(certificate.certify(problem, flow))
    assert [one.menu_error for one in leaks] == pytest.approx([0.25] * 2)


def test_when_a_gap_is_small_enough():
    found = certificate.Certificate(2.0, 0.2, 0.01, 0.0, 0.0, 1.0, 10.0)
    assert found.is_optimal(Stop(0.1))
    assert not found.is_optimal(Stop(0.09))
    assert found.is_optimal(Stop(0.0, 0.2))
    assert not found.is_optimal(Stop(0.0, 0.19))
    assert not found.is_optimal(Stop(0.0))
    assert found._replace(gap=0.01).is_optimal(Stop(0.0))
    assert found._replace(objective=0.01).is_optimal(Stop(0.0))
    far = found._replace(objective=1000.0)
    assert far._replace(gap=1.0).is_optimal(Stop(0.1))
    assert not far._replace(gap=1.01).is_optimal(Stop(0.1))
    assert not found._replace(objective=np.inf, gap=0.0).is_optimal(Stop(0.1))
    assert not found.is_rum
    assert found._replace(objective=1e-24).is_rum
    assert not found._replace(objective=2e-24).is_rum


def test_sizes_and_floors_by_hand():
    target = np.array([[0.5, -2.0], [np.nan, 1.0]])
    weights = np.array([[2.0, 3.0], [0.0, 4.0]])
    assert data_size(target, weights) == 2 * 0.25 + 3 * 2.0 + 4.0
    assert data_size(np.array([[0.5, -2.0]]), NO_WEIGHTS) == 0.25 + 2.0
    assert least_weight(weights) == 2.0
    assert least_weight(NO_WEIGHTS) == 1.0
    assert is_complete(NO_WEIGHTS)
    assert not is_complete(weights)
    assert is_complete(weights + 1)
    eps = np.finfo(float).eps
    assert rounding_floor(3.0, 1.0) == 32 * eps * 3.0
    assert rounding_floor(1e12, 1e-3) == pytest.approx(1e-9)
    assert is_rum_distance(1e-24, 1.0)
    assert not is_rum_distance(1.1e-24, 1.0)
    problem = Problem(np.zeros((3, 4)), np.array([[1.0, 0.0, 1.0, 1.0]] * 3))
    assert problem.n == 3
    assert not problem.complete
    assert Problem(np.zeros((3, 4))).complete


def test_residuals_by_hand():
    row = np.array([0.5, 0.25, 1.0])
    target = np.array([0.25, 0.5, np.nan])
    own = row.copy()
    assert residual_row(own, target, np.array([2.0, 4.0, 0.0])) == 0.5 * (2 / 16 + 4 / 16)
    assert own.tolist() == [0.5, -1.0, 0.0]
    own = row[:2].copy()
    assert residual_row(own, target[:2], np.empty(0)) == 0.5 * (2 / 16)
    assert own.tolist() == [0.25, -0.25]
    left = residual_of(row[None], target[None], np.array([[2.0, 4.0, 0.0]]))
    assert (left.objective, left.inner, left.mass, left.inverse) == (0.1875, 0.0, 0.75, 0.75)
    assert left.cost.tolist() == [[0.5, -1.0, 0.0]]
    assert left.gap(-0.5) == 0.5
    assert left.gap(0.5) == 0.0
    on_cone = left._replace(cone=True)
    assert on_cone.gap(-2.0) == 2.0 * 0.75 + 0.5 * 4.0 * 0.75
    assert on_cone.gap(2.0) == 0.0


@pytest.mark.parametrize("one_call", [12, 2])
def test_data_that_are_rum_or_will_be(one_call, rng, monkeypatch):
    monkeypatch.setattr(membership, "_ONE_CALL", one_call)
    n = 3
    orders = np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    flow = paths.flow_from_paths(paths.paths_from_orders(orders), np.array([0.5, 0.3, 0.2]))
    rho = reference.superset_sums(flow)
    same, found = membership.rum_membership(Problem(rho), 1)
    np.testing.assert_array_equal(same, rho)
    np.testing.assert_allclose(found, flow, atol=1e-15)
    # A menu that does not add up gets its surplus back by 1 / w, and is RUM then.
    weights = rng.uniform(0.5, 2.0, rho.shape)
    cells = [(x, reference.column(0b111, x)) for x in range(n)]
    moved, inverse = rho.copy(), sum(1 / weights[c] for c in cells)
    for c in cells:
        moved[c] += 0.3 / weights[c] / inverse
    mended, found = membership.rum_membership(Problem(moved, weights), 1)
    np.testing.assert_allclose(mended, rho, atol=1e-15)
    np.testing.assert_allclose(found, flow, atol=1e-14)
    equal = rho.copy()
    for c in cells:
        equal[c] -= 0.1
    np.testing.assert_allclose(membership.rum_membership(Problem(equal), 1)[0], rho, atol=1e-15)
    # A menu with a cell that was not observed stays, and incomplete data are not judged.
    weights[cells[0]] = 0.0
    left, found = membership.rum_membership(Problem(moved, weights), 1)
    np.testing.assert_array_equal(left, moved)
    assert found is None
    # Data outside RUM have no flow: item 0 is taken from {0, 1} less often than from all three.
    table = np.array(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.1, 0.9, 0], [0, 0, 1], [0.5, 0, 0.5], [0, 0.5, 0.5], [0.4, 0.3, 0.3]]
    )
    outside = reference.to_rows(table)
    assert membership.rum_membership(Problem(outside), 1)[1] is None


def test_how_much_rounding_is_forgiven():
    assert membership.inside_tolerance(4) == pytest.approx(7.2e-15)
    assert membership.inside_tolerance(1) == pytest.approx(1.8e-15 * 2**0.5)
    rho = reference.superset_sums(paths.flow_from_paths(paths.paths_from_orders(np.array([[0, 1]])), np.ones(1)))
    for off, inside in ((1e-15, True), (1e-14, False)):
        moved = rho.copy()
        moved[1, 1] -= off  # item 1 from both: a Block-Marschak polynomial of -off
        moved[0, 1] += off
        assert (membership.rum_membership(Problem(moved))[1] is not None) == inside


# Choice graphs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [RandomUtility(), SinglePeaked(range(20))])
def test_prices_of_twenty_items_in_pieces(model, monkeypatch):
    monkeypatch.setattr(graph, "_THREADED", 1)
    rng = np.random.default_rng(0)
    menus = np.zeros((3, 20), bool)
    menus[0, [0, 5, 17]] = menus[1, [5, 18, 19]] = menus[2, [0, 19]] = True
    cells = Cells(menus)
    own = model.geometry(cells)
    cost = rng.integers(-9, 10, own.shape).astype(float)
    types = [tuple(row) for row in cells.types_of_orders(np.array([rng.permutation(20) for _ in range(300)])).tolist()]
    sweeps = []
    for count in (1, 2, 3):
        sweep = graph.make_sweep(own)
        price = graph.run_sweep(own, cost, sweep, count)
        real = own.head < own.n_nodes
        sweeps.append((price, sweep.price[real].tolist(), sweep.above[:-1].tolist(), sweep.below[:-1].tolist()))
    assert sweeps[0] == sweeps[1] == sweeps[2]
    if isinstance(model, RandomUtility):
        assert sweeps[0][0] == min(sum(cost[j, c] for j, c in enumerate(row)) for row in types)
    for count in (1, 2):
        down = graph.make_sweep(own)
        assert graph.run_sweep(own, cost, down, count, up=False) == sweeps[0][0]
        assert np.isinf(down.above).all()


def test_a_choice_graph_by_hand():
    """Two menus of two cells each, decided one after the other; the second way to node 1 fills the same cells."""
    arcs = [(0, 1, [0]), (0, 1, [1]), (1, 2, [2]), (1, 2, [3])]
    own = build_graph(3, arcs, (2, 2))
    assert (own.n_nodes, own.n_arcs) == (3, 4)
    assert own.first.tolist() == [0, 2, 4, 4]
    assert own.head.tolist() == [1, 1, 2, 2]
    assert own.label.tolist() == [1, 2, 3, 4]
    assert own.parent.tolist() == [0] * 5
    assert own.cell.tolist() == [0, 0, 1, 2, 3]
    arrays = [np.asarray(a).nbytes for a in own[2:]]
    assert own.n_bytes == sum(arrays) + 8 * (5 + 4) + 28 * 3
    cost = np.array([[3.0, 1.0], [2.0, 5.0]])
    price, row = graph.cheapest_type(own, cost)
    assert (price, row.tolist()) == (3.0, [1, 0])
    assert graph.inner_point(own).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert graph.cells_of_types(np.array([[1, 0], [1, 1]]), np.array([0.25, 0.5]), (2, 2)).tolist() == [
        [0, 0.75],
        [0.25, 0.5],
    ]
    found = np.full(3, -7)
    assert graph.follow_type(own, np.array([1, 1], np.int32), found) == 2
    assert found.tolist() == [1, 3, -7]
    assert graph.follow_type(own, np.array([1, 5], np.int32), found) == -1


def test_labels_are_shared_by_arcs_that_begin_alike():
    label, parent, cell = label_arcs(np.array([0, 2, 4, 4, 5]), np.array([3, 5, 3, 6, 4]), 8)
    assert label.tolist() == [3, 4, 0, 2]
    assert parent.tolist() == [0, 0, 0, 1, 1]
    assert cell.tolist() == [0, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("nodes", "arcs", "words"),
    [
        (1, [], "at least 2 nodes, the first and the last, not 1"),
        (2, [(0, 2, [0])], r"arc 0: node 2 is not among 0 .. 1"),
        (2, [(-1, 1, [0])], r"arc 0: node -1 is not among 0 .. 1"),
        (2, [(0, 1, [4])], r"cell 4 is not among 0 .. 3"),
        (2, [(0, 1, [-1])], r"cell -1 is not among 0 .. 3"),
        (2, [(0, 1, [0, 1])], "arc 0 from node 0 to 1 decides menu 0 twice"),
        (2, [(0, 1, [2, 3])], "arc 0 from node 0 to 1 decides menu 1 twice"),
        (3, [(0, 1, [0]), (1, 2, [1, 2])], "arc 1 from node 1 to 2 decides menu 0, which a way to node 1 has decided"),
        (3, [(0, 1, [0]), (0, 1, [2]), (1, 2, [])], r"one way to node 1 decides menu 1, another does not \(arc 1"),
        (2, [(0, 1, [0])], "no path decides menu 1:"),
        (2, [(0, 1, [2])], "no path decides menu 0:"),
        (3, [(0, 2, [0, 2]), (1, 2, [])], "node 1 cannot be reached from node 0"),
        (3, [(0, 2, [0, 2]), (0, 1, [])], "node 1 leads nowhere: no way to node 2"),
        (4, [(0, 1, []), (1, 2, []), (2, 1, []), (2, 3, [0, 2])], "cycle: (1 -> 2 -> 1|2 -> 1 -> 2)"),
    ],
)
def test_what_is_wrong_with_arcs(nodes, arcs, words):
    with pytest.raises(InputError, match=words):
        build_graph(nodes, arcs, (2, 2))


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


# Budgets ----------------------------------------------------------------------------------------------------------------------


def test_two_budgets_of_two_goods_by_hand():
    """x + 2 y = 1 and 2 x + y = 1 cross at (1/3, 1/3): each has a patch below the other, and one above."""
    found = find_patches(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert found.budget.tolist() == [0, 0, 1, 1]
    assert found.signs.tolist() == [[0, -1], [0, 1], [-1, 0], [1, 0]]
    assert found.first.tolist() == [0, 2, 4, 6, 8]
    shares = [
        {tuple(np.round(c, 9)) for c in found.corners[a:b]} for a, b in zip(found.first, found.first[1:], strict=False)
    ]
    third = round(1 / 3, 9), round(2 / 3, 9)
    assert shares == [{(0.0, 1.0), third}, {(1.0, 0.0), third}, {(1.0, 0.0), third[::-1]}, {(0.0, 1.0), third[::-1]}]
    one = find_patches(np.array([[1.0, 2.0], [2.0, 1.0]]), [1])
    assert (one.budget.tolist(), one.signs.tolist()) == ([1, 1], [[-1, 0], [1, 0]])
    apart = find_patches(np.array([[1.0, 1.0], [2.0, 2.0]]))
    assert apart.signs.tolist() == [[0, 1], [-1, 0]]


def test_patches_of_random_budgets_are_the_signs_that_occur(rng):
    """Of random bundles on the budgets every sign vector is a patch, and every patch has a bundle: the mean of its corners."""
    prices = rng.uniform(0.5, 2.0, (4, 3))
    found = find_patches(prices)
    for j in range(4):
        own = found.signs[found.budget == j]
        y = rng.dirichlet(np.ones(3), 4000)
        drawn = np.sign(y / prices[j] @ prices.T - 1).astype(int)
        drawn[:, j] = 0
        assert {tuple(row) for row in drawn.tolist()} <= {tuple(row) for row in own.tolist()}
    for i, (j, signs) in enumerate(zip(found.budget, found.signs, strict=True)):
        corners = found.corners[found.first[i] : found.first[i + 1]]
        assert corners.sum(axis=1) == pytest.approx(1.0)
        assert len(corners) >= 3
        above = corners.mean(axis=0) / prices[j] @ prices.T - 1
        assert [0 if k == j else int(np.sign(v)) for k, v in enumerate(above)] == signs.tolist()


def test_equal_budgets_and_crossings_up_to_rounding(monkeypatch):
    near, far = [1.0 + 0.9e-9, 2.0], [1.0 + 1.1e-9, 2.0]
    assert merge_equal(np.array([[1.0, 2.0], [2.0, 1.0], near, [2.0, 1.0]])).tolist() == [0, 1, 0, 1]
    assert merge_equal(np.array([[1.0, 2.0], [2.0, 1.0], far, far])).tolist() == [0, 1, 2, 2]
    # A third budget through the crossing of two others makes no patch between them.
    through = np.array([[1.0, 2.0], [2.0, 1.0], [1.5, 1.5 + 1e-10]])
    assert [int((find_patches(through).budget == j).sum()) for j in range(3)] == [2, 2, 2]
    beside = np.array([[1.0, 2.0], [2.0, 1.0], [1.5, 1.6]])
    assert [int((find_patches(beside).budget == j).sum()) for j in range(3)] == [3, 3, 3]
    monkeypatch.setattr("rumflow.core.arrangement.MOST_PATCHES", 8)
    with pytest.raises(InputError, match=r"3 budgets with 2 goods have too many patches \(at most 8 are"):
        find_patches(beside)
    monkeypatch.setattr("rumflow.core.arrangement.MOST_PATCHES", 9)
    assert len(find_patches(beside).budget) == 9


def brute_force_types(signs, budget):
    """All choices of a patch from every budget without a cycle: how many, and the share that takes each patch."""
    n = signs.shape[1]
    number, taken = 0, np.zeros(len(signs))
    for chosen in product(*(np.flatnonzero(budget == j).tolist() for j in range(n))):
        ahead = {j: {k for k in range(n) if signs[chosen[j], k] < 0} for j in range(n)}
        left = set(range(n))
        while free := [j for j in left if not ahead[j] & left]:
            left -= set(free)
        if not left:
            number += 1
            taken[list(chosen)] += 1
    return number, taken / max(number, 1)


@pytest.mark.parametrize("seed", range(4))
def test_rational_types_are_counted(seed):
    prices = np.random.default_rng(seed).uniform(0.5, 2.0, (4, 3))
    found = find_patches(prices)
    number, mean = brute_force_types(found.signs, found.budget)
    counted = rational_types.count_types(found.signs, found.budget)
    assert counted.number == number
    assert counted.mean == pytest.approx(mean, abs=1e-15)


def test_groups_of_budgets_and_their_limits(monkeypatch):
    two = find_patches(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert [group.tolist() for group in rational_types.link_budgets(two.signs, two.budget)] == [[0, 1]]
    apart = find_patches(np.array([[1.0, 1.0], [2.0, 2.0]]))
    assert [group.tolist() for group in rational_types.link_budgets(apart.signs, apart.budget)] == [[0], [1]]
    assert rational_types.sets_below(np.array([[0, -1, -1], [1, 0, -1], [1, 1, 0]])).tolist() == [6, 4, 0]
    # 1 + 2 + 2 + 1 terms: at the start one patch of either budget is allowed.
    assert rational_types.count_types(two.signs, two.budget).number == 3
    assert rational_types.count_types(two.signs, two.budget, 9).number == 3
    with pytest.raises(InputError, match="2 budgets that cross each other have too many orders"):
        rational_types.count_types(two.signs, two.budget, 8)
    with pytest.raises(InputError, match="no type takes a patch from every budget without a cycle"):
        rational_types.count_types(np.array([[0, -1], [-1, 0]]), np.array([0, 1]))
    monkeypatch.setattr(rational_types, "MOST_LINKED", 2)
    assert rational_types.count_types(two.signs, two.budget).number == 3
    monkeypatch.setattr(rational_types, "MOST_LINKED", 1)
    with pytest.raises(InputError, match="2 budgets cross each other, directly or through others; at most 1"):
        rational_types.count_types(two.signs, two.budget)
