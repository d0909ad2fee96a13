"""Isotonic regression over pairs against a general solver with every relation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumflow.core.isotonic import ascend, find_relations, raise_pairs, regress
from tests.reference.pairs import least_distance


def drawn(seed, n, part):
    rng = np.random.default_rng(seed)
    upper, lower = np.triu_indices(n, 1)
    kept = np.flatnonzero(rng.random(len(upper)) < part)
    kept = kept if len(kept) else np.arange(1)
    rng.shuffle(kept)
    return upper[kept], lower[kept], rng.random(len(kept)), 10 ** rng.uniform(-1, 1, len(kept))


def every_relation(upper, lower):
    """(below, above) wherever one pair lies inside another."""
    return [
        (e, f)
        for e in range(len(upper))
        for f in range(len(upper))
        if e != f and upper[f] <= upper[e] and lower[f] >= lower[e]
    ]


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([0.5, 1.0]))
@settings(max_examples=40)
def test_a_general_solver_with_every_relation_agrees(seed, n, part):
    upper, lower, share, weights = drawn(seed, n, part)
    rows = [np.eye(len(share))[f] - np.eye(len(share))[e] for e, f in every_relation(upper, lower)]
    rows = np.array([*rows, *np.eye(len(share))])
    right = np.append(np.zeros(len(rows) - len(share)), np.full(len(share), 0.5))
    plain = least_distance(share, weights, rows, right)
    assert regress(upper, lower, share, weights, n) == pytest.approx(plain, abs=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 9), st.sampled_from([0.3, 1.0]))
@settings(max_examples=40)
def test_the_answer_obeys_every_relation(seed, n, part):
    upper, lower, share, weights = drawn(seed, n, part)
    x = regress(upper, lower, share, weights, n)
    assert x.min() >= 0.5
    assert all(x[e] <= x[f] for e, f in every_relation(upper, lower))


@given(st.integers(0, 10**6), st.integers(2, 8))
@settings(max_examples=30)
def test_relations_next_above_imply_all_and_none_is_implied_by_others(seed, n):
    upper, lower, _, _ = drawn(seed, n, 0.6)
    order = np.lexsort((lower, upper))
    first = np.searchsorted(upper[order], np.arange(n + 1))
    found = {tuple(row) for row in find_relations(first, lower[order], order, n).tolist()}
    every = set(every_relation(upper, lower))
    covers = {(e, f) for e, f in every if not any((e, g) in every and (g, f) in every for g in range(len(upper)))}
    assert found == covers


def test_an_ascent_that_is_stopped_is_raised_until_it_obeys():
    x = np.array([0.9, 0.6, 0.7])
    relations = np.array([[0, 1], [1, 2]], np.int32)
    raise_pairs(relations, np.arange(2), x)
    assert x.tolist() == [0.9, 0.9, 0.9]
    y = np.array([0.9, 0.6, 0.6])
    assert ascend(relations, np.ones(3), y, 1000, 1e-12) <= 1e-12
    assert y == pytest.approx([0.7, 0.7, 0.7])
