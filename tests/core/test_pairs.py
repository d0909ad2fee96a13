"""Shortest cycles against all cycles of small graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumflow.core.pairs import (
    Cycles,
    arc_lengths,
    distances_from,
    find_short_cycles,
    first_of_each,
    make_pairs,
    share_range,
)
from tests.reference.pairs import (
    cycle_length,
    every_cycle,
    every_path,
    least_distance,
    random_pairs,
    rows_of,
    tied_nearest,
)


def drawn(seed, n, share, coarse=False):
    """A graph and shares on it, now and then with many equal ones."""
    rng = np.random.default_rng(seed)
    a, b = random_pairs(rng, n, share)
    return a, b, rng.integers(0, 6, len(a)) / 5 if coarse else rng.random(len(a))


def as_set(cycle):
    """A cycle as arcs."""
    return frozenset(2 * e + (not along) for e, along in cycle)


@given(st.integers(0, 10**6), st.integers(2, 7), st.sampled_from([0.4, 0.7, 1.0]), st.booleans())
def test_the_worst_cycle_is_found_and_all_found_are_cycles_without_chords(seed, n, share, coarse):
    a, b, x = drawn(seed, n, share, coarse)
    cycles = every_cycle(a, b, n)
    least = min((cycle_length(cycle, x) for cycle in cycles), default=1.0)
    pairs = make_pairs(a, b, n)
    found = find_short_cycles(pairs, arc_lengths(x), 1e-9)
    assert found.worst == pytest.approx(max(1.0 - least, 0.0), abs=1e-12)
    assert (len(found.cycles.sizes) > 0) == (least < 1.0 - 1e-9)
    known = {as_set(cycle): cycle for cycle in cycles}
    joined = {frozenset(pair) for pair in zip(a.tolist(), b.tolist(), strict=True)}
    for k in range(len(found.cycles.sizes)):
        arcs = found.cycles.arc[found.cycles.start[k] : found.cycles.start[k + 1]]
        assert cycle_length(known[frozenset(arcs.tolist())], x) < 1.0
        items = pairs.tail[arcs].tolist()
        chords = [
            (i, j)
            for i in range(len(items))
            for j in range(i + 2, len(items))
            if (i, j) != (0, len(items) - 1) and frozenset((items[i], items[j])) in joined
        ]
        assert not chords
    assert find_short_cycles(pairs, arc_lengths(x), 1e-9, keep=False).worst == found.worst


def test_any_number_of_threads_finds_the_same():
    rng = np.random.default_rng(3)
    every = np.argwhere(np.triu(np.ones((300, 300)), 1))
    a, b = every[rng.choice(len(every), 9000, replace=False)].T
    pairs, length = make_pairs(a, b, 300), arc_lengths(rng.random(9000))
    one, two = find_short_cycles(pairs, length, 0.2), find_short_cycles(pairs, length, 0.2, threads=2)
    assert len(one.cycles.sizes) > 1000
    assert np.array_equal(one.cycles.arc, two.cycles.arc)
    assert np.array_equal(one.cycles.start, two.cycles.start)
    assert one.worst == two.worst


@given(st.integers(0, 10**6), st.integers(2, 7), st.sampled_from([0.3, 0.6, 1.0]))
def test_distances_are_those_of_repeated_steps(seed, n, share):
    a, b, x = drawn(seed, n, share)
    pairs, length = make_pairs(a, b, n), arc_lengths(x)
    plain = np.full((n, n), np.inf)
    np.fill_diagonal(plain, 0.0)
    plain[pairs.tail, pairs.tail[np.arange(len(length)) ^ 1]] = length
    for k in range(n):
        plain = np.minimum(plain, plain[:, k, None] + plain[None, k])
    for u in range(n):
        assert distances_from(pairs, length, u, np.inf) == pytest.approx(plain[u])
        near = distances_from(pairs, length, u, 0.5)
        assert near == pytest.approx(np.where(plain[u] < 0.5, plain[u], np.inf))


@given(st.integers(0, 10**6), st.integers(3, 6))
def test_ranges_of_a_further_pair_are_attained_and_no_wider(seed, n):
    rng = np.random.default_rng(seed)
    a, b = random_pairs(rng, n, 0.7)
    if len(a) < 2:
        return
    rows, right = rows_of(every_cycle(a, b, n), len(a))
    x = np.clip(least_distance(rng.random(len(a)), np.ones(len(a)), rows, right), 0, 1)
    length = arc_lengths(x)
    length[:2] = np.inf
    low, high = share_range(make_pairs(a, b, n), length, int(a[0]), int(b[0]))
    ends = [-rows[:, 1:] @ x[1:] + right]
    up, down = rows[:, 0] > 0, rows[:, 0] < 0
    assert low == pytest.approx(max(ends[0][up]), abs=1e-7)
    assert high == pytest.approx(min(-ends[0][down]), abs=1e-7)


def test_cycles_are_told_apart_by_their_arcs_in_any_order():
    cycles = Cycles(np.array([0, 3, 6, 9]), np.array([0, 2, 5, 5, 0, 2, 0, 3, 5], np.int32))
    assert first_of_each(*cycles).tolist() == [True, False, True]
    rng = np.random.default_rng(0)
    rows = [rng.permutation(40)[: rng.integers(1, 4)] for _ in range(3000)]
    many = Cycles(np.append(0, np.cumsum([len(row) for row in rows])), np.concatenate(rows).astype(np.int32))
    seen: set[frozenset[int]] = set()
    for row, first in zip(rows, first_of_each(*many), strict=True):
        assert first == (frozenset(row.tolist()) not in seen)
        seen.add(frozenset(row.tolist()))
    assert cycles.take(np.array([2, 0])).arc.tolist() == [0, 3, 5, 0, 2, 5]
    assert cycles.join(Cycles.none()).start.tolist() == cycles.start.tolist()


def tied(seed, n, share):
    """A graph, and shares of a, b and ties on it."""
    rng = np.random.default_rng(seed)
    a, b = random_pairs(rng, n, share)
    return a, b, rng.dirichlet(np.full(3, 0.7), len(a))


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([0.5, 0.8, 1.0]))
def test_with_ties_the_worst_path_is_found_and_all_found_are_paths(seed, n, share):
    a, b, shares = tied(seed, n, share)
    x = np.ascontiguousarray(shares[:, :2]).reshape(-1)
    rows, right = every_path(a, b, n)
    pairs = make_pairs(a, b, n, tied=True)
    found = find_short_cycles(pairs, arc_lengths(x, True), 1e-9)
    assert found.worst == pytest.approx(max(float((right - rows @ x).max()), 0.0), abs=1e-12)
    known = {tuple(row) for row in rows.tolist()}
    for k in range(len(found.cycles.sizes)):
        entry = found.cycles.arc[found.cycles.start[k] : found.cycles.start[k + 1]]
        row = np.zeros(len(x))
        row[entry >> 1] = np.where(entry & 1, -1.0, 1.0)
        assert tuple(row) in known
        assert row @ x < -1e-9
        arcs = found.cycles.arcs_of(k, True)
        assert (pairs.tail[arcs ^ 1] == np.roll(pairs.tail[arcs], -1)).all()


@given(st.integers(0, 10**6), st.integers(3, 5))
def test_with_ties_ranges_of_a_further_pair_are_attained_and_no_wider(seed, n):
    a, b, shares = tied(seed, n, 0.8)
    rows, right = every_path(a, b, n)
    x = tied_nearest(shares, np.ones((len(a), 3)), rows, right)
    length = arc_lengths(x, True)
    length[:2] = np.inf
    low, high = share_range(make_pairs(a, b, n, tied=True), length, int(a[0]), int(b[0]))
    known = rows[:, 0] * rows[:, 1] == 0  # beside x_ab + x_ba <= 1
    left = right - rows[:, 2:] @ x[2:]
    assert low == pytest.approx(max(left[known & (rows[:, 0] > 0) & (rows[:, 1] == 0)]), abs=1e-6)
    assert high == pytest.approx(min([1.0, *-left[known & (rows[:, 0] < 0)]]), abs=1e-6)
