"""Certificates of path inequalities: lower bounds hold for any multipliers, and what is no proof is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumflow.core.pair_certificate import certify_pairs, half_square, lower_bound, move_inside, pair_problem
from rumflow.core.pairs import Cycles, arc_lengths, find_short_cycles, make_pairs
from tests.reference.pairs import (
    every_cycle,
    every_path,
    nearest_mixture,
    random_pairs,
    ranking_shares,
    rows_of,
    weak_shares,
)


def tables(p, h):
    """Shares of both items, and weights that add up to h."""
    return np.stack([p, 1.0 - p], axis=1), np.stack([h / 4, 3 * h / 4], axis=1)


def test_a_pair_counts_as_the_weighted_mean_of_its_two_shares():
    rng = np.random.default_rng(0)
    target, weights = rng.random((6, 2)), rng.random((6, 2))
    weights[0, 1] = weights[1, 0] = 0.0
    weights[2] = 0.0
    used, p, h, spread, *_ = pair_problem(target, weights)
    assert used.tolist() == [0, 1, 3, 4, 5]
    x = rng.random(6)
    whole = 0.5 * (weights * (np.stack([x, 1 - x], axis=1) - target) ** 2).sum()
    assert 0.5 * (h * (x[used] - p) ** 2).sum() + spread == pytest.approx(whole)


@given(st.integers(0, 10**6), st.integers(3, 5), st.booleans())
def test_any_multipliers_bound_the_distance_from_below(seed, n, sparse):
    rng = np.random.default_rng(seed)
    a, b = random_pairs(rng, n, 0.7 if sparse else 1.0)
    p, h = rng.random(len(a)), rng.uniform(0.1, 3.0, len(a))
    cycles = every_cycle(a, b, n)
    arcs = [2 * e + (not along) for cycle in cycles for e, along in cycle] + list(range(2 * len(a)))
    sizes = [len(cycle) for cycle in cycles] + [1] * (2 * len(a))
    rows = Cycles(np.append(0, np.cumsum(sizes)), np.array(arcs, np.int32))
    lam = rng.exponential(size=len(sizes)) * (rng.random(len(sizes)) < 0.3) * rng.choice([0.01, 0.1, 1.0])
    bound = lower_bound(pair_problem(*tables(p, h)), rows, lam)
    assert bound <= 0.5 * nearest_mixture(p, h, ranking_shares(a, b, n)) ** 2 + 1e-7


@given(st.integers(0, 10**6), st.integers(3, 7))
def test_shares_moved_inside_obey_every_inequality(seed, n):
    rng = np.random.default_rng(seed)
    a, b = random_pairs(rng, n, 0.8)
    x, pairs = rng.random(len(a)), make_pairs(a, b, n)
    worst = find_short_cycles(pairs, arc_lengths(x)).worst
    inside = move_inside(x, worst)
    rows, right = rows_of(every_cycle(a, b, n), len(a))
    assert (rows @ inside >= right - 1e-12).all()
    if worst > 0:  # and no further than needed where a triangle is the worst
        assert not np.array_equal(inside, x)


class TestRefused:
    """A triangle a > b > c > a with shares .9, .9, .9 of the other way round."""

    pairs = make_pairs(np.array([0, 1, 2]), np.array([1, 2, 0]), 3)
    target, weights = tables(np.full(3, 0.1), np.full(3, 2.0))
    cycle = Cycles(np.array([0, 3]), np.array([0, 2, 4], np.int32))

    def certify(self, x=1 / 3, cycles=cycle, lam=None):
        lam = np.full(len(cycles.sizes), 14 / 30) if lam is None else np.array(lam)
        return certify_pairs(self.pairs, pair_problem(self.target, self.weights), np.full(3, x), cycles, lam)

    def test_the_proof_itself_is_accepted(self):
        found = self.certify()
        assert found.objective == pytest.approx(3 * (1 / 3 - 0.1) ** 2)
        assert found.gap == pytest.approx(0.0, abs=1e-14)
        assert found.least_flow == pytest.approx(1 / 3)

    def test_worse_multipliers_leave_a_gap(self):
        assert self.certify(lam=[0.3]).gap > 1e-3
        assert self.certify(lam=[0.6]).gap > 1e-3

    @pytest.mark.parametrize("lam", [[-0.1], [np.nan], [np.inf], [0.1, 0.1]])
    def test_a_broken_multiplier(self, lam):
        with pytest.raises(ValueError, match="multiplier"):
            self.certify(lam=lam)

    @pytest.mark.parametrize("arcs", [[0, 2, 5], [0, 4, 2], [0, 2]])
    def test_a_path_that_is_none(self, arcs):
        cycles = Cycles(np.array([0, len(arcs)]), np.array(arcs, np.int32))
        with pytest.raises(ValueError, match="follow"):
            self.certify(cycles=cycles)

    def test_an_arc_that_is_none(self):
        with pytest.raises(ValueError, match="compared"):
            self.certify(cycles=Cycles(np.array([0, 3]), np.array([0, 2, 6], np.int32)))

    def test_shares_that_violate(self):
        with pytest.raises(ValueError, match="violate a path inequality by"):
            self.certify(x=0.3)
        with pytest.raises(ValueError, match="below 0"):
            self.certify(x=1.1)


def test_with_ties_a_pair_counts_as_two_numbers():
    rng = np.random.default_rng(0)
    target, weights = rng.random((5, 3)), rng.random((5, 3))
    weights[0, 2] = weights[1, 0] = 0.0
    weights[2] = 0.0
    problem = pair_problem(target, weights)
    x = rng.random((5, 2))
    three = np.column_stack([x, 1 - x.sum(axis=1)])
    whole = 0.5 * (weights * (three - target) ** 2).sum()
    d = x[problem.used].reshape(-1) - problem.p
    assert half_square(problem.h, problem.cross, d) + problem.spread == pytest.approx(whole)


@given(st.integers(0, 10**6), st.integers(3, 4), st.booleans())
def test_with_ties_any_multipliers_bound_the_distance_to_weak_orders_from_below(seed, n, sparse):
    rng = np.random.default_rng(seed)
    a, b = random_pairs(rng, n, 0.7 if sparse else 1.0)
    target, weights = rng.dirichlet(np.ones(3), len(a)), rng.uniform(0.1, 3.0, (len(a), 3))
    rows, _ = every_path(a, b, n)
    entries = [2 * np.flatnonzero(row) + (row[np.flatnonzero(row)] < 0) for row in rows]
    entries = [np.append(own[own % 2 == 0], own[own % 2 == 1]) for own in entries]
    cycles = Cycles(np.append(0, np.cumsum([len(own) for own in entries])), np.concatenate(entries).astype(np.int32))
    lam = rng.exponential(size=len(rows)) * (rng.random(len(rows)) < 0.3) * rng.choice([0.01, 0.1, 1.0])
    types = weak_shares(a, b, n).reshape(-1, 3 * len(a))
    best = 0.5 * nearest_mixture(target.reshape(-1), weights.reshape(-1), types) ** 2
    assert lower_bound(pair_problem(target, weights), cycles, lam) <= best + 1e-7


class TestRefusedWithTies:
    """a over c .9 where a over b is .2 and b over c .1, the rest ties."""

    pairs = make_pairs(np.array([0, 1, 0]), np.array([1, 2, 2]), 3, tied=True)
    target = np.array([[0.2, 0.2, 0.6], [0.1, 0.2, 0.7], [0.9, 0.0, 0.1]])
    path = Cycles(np.array([0, 3]), np.array([0, 4, 9], np.int32))

    def certify(self, x=None, cycles=path, lam=None):
        lam = np.full(len(cycles.sizes), 0.3) if lam is None else np.array(lam)
        x = np.array([0.4, 0.0, 0.3, 0.0, 0.7, 0.0]) if x is None else np.array(x, float)
        return certify_pairs(self.pairs, pair_problem(self.target, np.ones((3, 3))), x, cycles, lam)

    def test_the_proof_itself_is_accepted(self):
        # S H^-1 S' = 3 * 2/3 and the path lacks .6
        x = pair_problem(self.target, np.ones((3, 3))).p + 0.3 * np.array([2, -1, 2, -1, -2, 1]) / 3
        found = self.certify(x)
        assert found.objective == pytest.approx(0.5 * 0.6**2 / 2)
        assert found.gap == pytest.approx(0.0, abs=1e-14)
        assert self.certify(x, lam=[0.2]).gap > 1e-3

    @pytest.mark.parametrize("lam", [[-0.1], [np.nan], [0.1, 0.1]])
    def test_a_broken_multiplier(self, lam):
        with pytest.raises(ValueError, match="multiplier"):
            self.certify(lam=lam)

    @pytest.mark.parametrize(("entries", "message"), [
        ([0, 4, 8], "neither a bound nor a path"), ([1, 5, 9], "neither"), ([0, 5], "neither"), ([1, 5], "neither"),
        ([0, 6, 9], "follow"), ([4, 0, 9], "follow"), ([0, 4, 13], "compared"),
    ])  # fmt: skip
    def test_a_path_that_is_none(self, entries, message):
        cycles = Cycles(np.array([0, len(entries)]), np.array(entries, np.int32))
        with pytest.raises(ValueError, match=message):
            self.certify(cycles=cycles)

    def test_bounds_are_rows(self):
        cycles = Cycles(np.array([0, 1, 3]), np.array([2, 1, 3], np.int32))
        assert self.certify(cycles=cycles, lam=[0.1, 0.1]).gap > 0

    @pytest.mark.parametrize(("x", "message"), [
        ([0.2, 0, 0.1, 0, 0.9, 0], "violate a path inequality by 0.6"), ([0.8, 0.3, 0.3, 0, 0.7, 0], "above 1"),
        ([0.4, -0.1, 0.3, 0, 0.7, 0], "below 0"),
    ])  # fmt: skip
    def test_shares_that_violate(self, x, message):
        with pytest.raises(ValueError, match=message):
            self.certify(x)
