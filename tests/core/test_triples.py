"""Triples against all orders of three items."""

from itertools import combinations, permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rumflow.core import triples
from rumflow.core.pairs import arc_lengths, make_pairs
from rumflow.core.triples import find_triples, orders_hold, pass_triples
from tests.reference.pairs import random_pairs


def plain(a, b, x, n):
    """Counts by definition, and the majority triangles as sets of (winner, loser)."""
    share = {}
    for u, v, p in zip(a.tolist(), b.tolist(), x.tolist(), strict=True):
        share[u, v], share[v, u] = p, 1 - p
    holds, number, cyclic = np.zeros(4, int), 0, set()
    for triple in combinations(range(n), 3):
        if not all(pair in share for pair in permutations(triple, 2)):
            continue
        number += 1
        orders = list(permutations(triple))
        holds[0] += all(share[i, k] <= share[i, j] + share[j, k] + 1e-12 for i, j, k in orders)
        along = [(share[i, j], share[j, k], share[i, k]) for i, j, k in orders]
        along = [own for own in along if min(own) >= 0.5 - 1e-12]
        holds[1] += bool(along)
        holds[2] += any(far >= min(one, two) - 1e-12 for one, two, far in along)
        holds[3] += any(far >= max(one, two) - 1e-12 for one, two, far in along)
        if not along:
            cyclic.add(frozenset(pair for pair in permutations(triple, 2) if share[pair] > 0.5))
    return number, holds, cyclic


@given(st.integers(0, 10**6), st.integers(2, 8), st.sampled_from([0.5, 1.0]), st.sampled_from([2, 10, 1000]))
def test_counts_and_majority_triangles_are_those_of_all_orders(seed, n, part, coarse):
    """Coarse shares make ties."""
    rng = np.random.default_rng(seed)
    a, b = random_pairs(rng, n, part)
    x = rng.integers(0, coarse + 1, len(a)) / coarse
    pairs = make_pairs(a, b, n)
    found = find_triples(pairs, arc_lengths(x))
    number, holds, cyclic = plain(a, b, x, n)
    assert (found.number, found.holds.tolist()) == (number, holds.tolist())
    arcs = {frozenset((int(pairs.tail[k]), int(pairs.tail[k ^ 1])) for k in row) for row in found.cyclic}
    assert arcs == cyclic
    for row in found.cyclic:  # each arc ends where the next begins
        assert (pairs.tail[row ^ 1] == pairs.tail[np.roll(row, -1)]).all()


def test_triangles_beyond_the_limit_are_counted_but_not_kept():
    n = 12
    a, b = np.triu_indices(n, 1)
    turned = (b - a) <= (n - 1) // 2  # each item beats those that follow it around a circle
    pairs, length = make_pairs(a, b, n), arc_lengths(np.where(turned, 0.9, 0.1))
    number, holds, cyclic = pass_triples(pairs, length, 5, 0, n)
    assert len(cyclic) == 5 < number - holds[1]
    assert len(find_triples(pairs, length).cyclic) == number - holds[1]


def test_a_triple_by_hand():
    assert orders_hold(0.9, 0.8, 0.1) == 7  # a over c .9, the larger of both
    assert orders_hold(0.9, 0.7, 0.2) == 3  # .8 is between
    assert orders_hold(0.9, 0.7, 0.4) == 1
    assert orders_hold(0.9, 0.7, 0.6) == 0


def test_pieces_do_not_change_what_is_found(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = random_pairs(rng, 40, 0.7)
    pairs, length, looks = make_pairs(a, b, 40), arc_lengths(rng.random(len(a))), []
    once = find_triples(pairs, length)
    monkeypatch.setattr(triples, "check_patience", lambda: looks.append(1))
    monkeypatch.setattr(triples, "_PASSED_A_PIECE", 1)
    found = find_triples(pairs, length)
    assert found.number == once.number
    assert np.array_equal(found.holds, once.holds)
    assert np.array_equal(found.cyclic, once.cyclic)
    assert len(looks) > 20
    monkeypatch.setattr(triples, "MOST_KEPT", 50)
    assert np.array_equal(find_triples(pairs, length).cyclic, once.cyclic[:50])
