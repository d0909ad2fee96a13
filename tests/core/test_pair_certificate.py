"""Certificates of path inequalities: lower bounds hold for any multipliers, and what is no proof is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumflow.core.pair_certificate import certify_pairs, lower_bound, move_inside, pair_problem
from rumflow.core.pairs import Cycles, arc_lengths, find_short_cycles, make_pairs
from tests.reference.pairs import every_cycle, nearest_mixture, random_pairs, ranking_shares, rows_of


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
