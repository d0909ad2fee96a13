"""Projections onto path inequalities against rankings by enumeration, and against a general solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumflow.core import pairs as pairs_module
from rumflow.core.compile import clock
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.core.pair_certificate import certify_pairs, half_square, move_inside, pair_problem
from rumflow.core.pairs import Cycles, arc_lengths, find_short_cycles, make_pairs
from rumflow.core.patience import OutOfTimeError
from rumflow.core.problem import Stop
from rumflow.models.triangle_inequalities import TriangleInequalities
from rumflow.solvers import resources
from rumflow.solvers.geometry import SolveOptions
from rumflow.solvers.inequalities import geometry as geometry_module
from rumflow.solvers.inequalities import kernels
from rumflow.solvers.inequalities.geometry import InequalityGeometry
from rumflow.solvers.inequalities.kernels import improve, invert, place, solve_free
from rumflow.solvers.inequalities.solve import Solved, solve_cuts
from rumflow.solvers.resources import Resources
from tests.reference.pairs import (
    every_cycle,
    every_path,
    least_distance,
    nearest_mixture,
    random_pairs,
    ranking_shares,
    rows_of,
    tied_nearest,
    weak_shares,
)


def drawn(seed, n, share, spread=1.0):
    """Pairs with shares beyond 0 and 1 now and then, and weights."""
    rng = np.random.default_rng(seed)
    a, b = random_pairs(rng, n, share)
    p = 0.5 + spread * (rng.random(len(a)) - 0.5)
    return a, b, p, 10 ** rng.uniform(-1, 1, len(a))


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([0.7, 1.0]))
@settings(max_examples=40)
def test_up_to_five_items_it_is_the_projection_onto_rankings(seed, n, share):
    a, b, p, h = drawn(seed, n, share)
    found = solve_cuts(make_pairs(a, b, n), p, h)
    distance = np.sqrt((h * (found.x - p) ** 2).sum())
    assert distance == pytest.approx(nearest_mixture(p, h, ranking_shares(a, b, n)), abs=1e-6)


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_for_six_items_it_is_no_further_than_rankings(seed):
    a, b, p, h = drawn(seed, 6, 1.0)
    found = solve_cuts(make_pairs(a, b, 6), p, h)
    distance = np.sqrt((h * (found.x - p) ** 2).sum())
    assert distance <= nearest_mixture(p, h, ranking_shares(a, b, 6)) + 1e-6


@given(st.integers(0, 10**6), st.integers(2, 7), st.sampled_from([0.5, 1.0]), st.sampled_from([1.0, 1.6]))
@settings(max_examples=60)
def test_a_general_solver_with_every_cycle_agrees(seed, n, share, spread):
    """On all pairs the triangles say everything, on fewer all cycles do; shares beyond 0 and 1 make bounds bind."""
    a, b, p, h = drawn(seed, n, share, spread)
    cycles = every_cycle(a, b, n)
    if len(a) == n * (n - 1) // 2:
        cycles = [cycle for cycle in cycles if len(cycle) == 3]
    plain = least_distance(p, h, *rows_of(cycles, len(a)))
    pairs = make_pairs(a, b, n)
    found = solve_cuts(pairs, p, h)
    assert found.reason == "done"
    assert found.x == pytest.approx(plain, abs=1e-7)
    tables = pair_problem(np.stack([p, 1 - p], axis=1), np.stack([h, np.zeros(len(h))], axis=1))
    x = move_inside(np.clip(found.x, 0, 1), found.short)
    certificate = certify_pairs(pairs, tables, x, found.cycles, found.multipliers)
    assert certificate.gap <= 1e-9 * certificate.objective + certificate.floor


def wide(seed=1, n=60, m=900):
    """A sample of few draws."""
    rng = np.random.default_rng(seed)
    every = np.argwhere(np.triu(np.ones((n, n)), 1))
    a, b = every[rng.choice(len(every), m, replace=False)].T
    worth = rng.normal(size=n)
    return make_pairs(a, b, n), rng.binomial(5, 1 / (1 + np.exp(worth[b] - worth[a]))) / 5, np.full(m, 2.0)


def test_threads_and_starts_do_not_change_the_answer():
    pairs, p, h = wide()
    one, two = solve_cuts(pairs, p, h), solve_cuts(pairs, p, h, resources=Resources(2))
    assert np.array_equal(one.x, two.x)
    assert np.array_equal(one.multipliers, two.multipliers)
    again = solve_cuts(pairs, p, h, (one.cycles, one.multipliers))
    assert again.rounds == 1
    assert again.x == pytest.approx(one.x, abs=1e-11)
    other = solve_cuts(pairs, np.roll(p, 1), h, (one.cycles, one.multipliers))
    assert other.x == pytest.approx(solve_cuts(pairs, np.roll(p, 1), h).x, abs=1e-8)


def test_time_that_is_over_leaves_multipliers_that_prove_something():
    pairs, p, h = wide()
    none = solve_cuts(pairs, p, h, resources=Resources(1, clock() - 1))
    assert (none.reason, none.short) == ("max_seconds", np.inf)
    assert np.array_equal(none.x, p)
    reports = []

    def stop(progress):
        reports.append(progress)
        if len(reports) == 2:
            raise KeyboardInterrupt

    some = solve_cuts(pairs, p, h, resources=Resources(1, None, stop))
    assert some.reason == "interrupted"
    full = 0.5 * (h * (solve_cuts(pairs, p, h).x - p) ** 2).sum()
    tables = pair_problem(np.stack([p, 1 - p], axis=1), np.ones((len(p), 2)))
    x = move_inside(np.clip(some.x, 0, 1), find_short_cycles(pairs, arc_lengths(np.clip(some.x, 0, 1))).worst)
    certificate = certify_pairs(pairs, tables, x, some.cycles, some.multipliers)
    lower = certificate.objective - certificate.gap
    assert 0 < lower <= full <= certificate.objective
    assert reports[0].rankings == 0


def test_systems_of_rows_that_depend_on_each_other_are_solved():
    cycles = Cycles(np.array([0, 3, 6, 9]), np.array([0, 2, 4, 0, 2, 4, 1, 6, 8], np.int32))
    inverse, free = np.array([1.0, 2.0, 3.0, 1.0, 1.0]), np.arange(3)
    rows = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [-1, 0, 0, 1, 1]], float)
    gram = rows * inverse @ rows.T
    right = gram @ np.array([1.0, 2.0, 3.0])
    found = solve_free(cycles, inverse, np.empty(0), gram.diagonal().copy(), free, right, 1e-14)
    assert gram @ found == pytest.approx(right)


@pytest.mark.parametrize("tied", [False, True])
def test_pieces_of_a_round_do_not_change_where_it_leads(monkeypatch, tied):
    """One step a call, with a look at the clock after each; and no clock before all is done."""
    pairs, p, h = wide()
    if tied:
        pairs, p, h = pairs._replace(tied=True), np.repeat(0.5 * p, 2), np.repeat(h, 2)
    cross = np.full(len(p) // 2 if tied else 0, 0.5)
    once = solve_cuts(pairs, p, h, cross=cross)
    rows, lam, x, looks = once.cycles, np.zeros(len(once.multipliers)), p.copy(), []
    moved = improve(rows, (h, cross), p, lam, x, 1e-13, 4, lambda: looks.append(1))
    assert not looks
    monkeypatch.setattr(kernels, "_LOOKS_A_CALL", 1)
    again, there = np.zeros(len(lam)), p.copy()
    assert improve(rows, (h, cross), p, again, there, 1e-13, 4, lambda: looks.append(1)) == moved
    assert np.array_equal(again, lam)
    assert np.array_equal(there, x)
    assert len(looks) > 20
    pieces = solve_cuts(pairs, p, h, cross=cross)
    assert np.array_equal(pieces.x, once.x)
    assert np.array_equal(pieces.multipliers, once.multipliers)


def test_a_round_that_the_clock_ends_leaves_shares_that_belong_to_its_multipliers(monkeypatch):
    pairs, p, h = wide()
    rows = solve_cuts(pairs, p, h).cycles
    inverse, across = invert(h, np.empty(0))
    monkeypatch.setattr(kernels, "_LOOKS_A_CALL", 1)
    for last in (1, 5, 20):
        lam, x, looks = np.zeros(len(rows.sizes)), p.copy(), []

        def look(looks=looks, last=last):
            looks.append(1)
            if len(looks) == last:
                raise OutOfTimeError

        with pytest.raises(OutOfTimeError):
            improve(rows, (h, np.empty(0)), p, lam, x, 1e-13, 4, look)
        assert (lam > 0).any()
        there = np.empty(len(p))
        place(*rows, p, inverse, across, lam, there)
        assert x == pytest.approx(there, abs=1e-12)


def test_a_system_ends_between_two_steps(monkeypatch):
    pairs, p, h = wide()
    rows = solve_cuts(pairs, p, h).cycles
    every, diagonal = np.arange(len(rows.sizes)), np.bincount(rows.row, 1 / h[rows.arc >> 1])
    system = rows, 1 / h, np.empty(0), diagonal, every, np.ones(len(every)), 1e-14
    once, looks = solve_free(*system), []
    monkeypatch.setattr(kernels, "_LOOKS_A_CALL", 1)
    assert np.array_equal(solve_free(*system, look=lambda: looks.append(1)), once)
    assert len(looks) > 20


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([0.6, 1.0]), st.booleans())
@settings(max_examples=40)
def test_with_ties_a_general_solver_with_every_path_agrees(seed, n, share, far):
    """Shares beyond 0 and 1 make bounds bind, too."""
    rng = np.random.default_rng(seed)
    a, b = random_pairs(rng, n, share)
    target, weights = rng.dirichlet(np.full(3, 0.6), len(a)), 10 ** rng.uniform(-1, 1, (len(a), 3))
    if far:
        target += rng.normal(size=(len(a), 1)) * [0.4, -0.4, 0.0]
    pairs, problem = make_pairs(a, b, n, tied=True), pair_problem(target, weights)
    assert problem.p == pytest.approx(target[:, :2].reshape(-1))
    found = solve_cuts(pairs, problem.p, problem.h, cross=problem.cross)
    assert found.reason == "done"
    assert found.x == pytest.approx(tied_nearest(target, weights, *every_path(a, b, n)), abs=1e-6)
    x = move_inside(np.clip(found.x, 0, 1), found.short, tied=True)
    certificate = certify_pairs(pairs, problem, x, found.cycles, found.multipliers)
    assert certificate.gap <= 1e-8 * certificate.objective + certificate.floor


def test_with_ties_it_is_no_further_than_weak_orders_and_mostly_as_far():
    equal = 0
    every = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    types = weak_shares(*every.T, 4).reshape(-1, 18)
    for seed in range(25):
        rng = np.random.default_rng(seed)
        target = np.array([rng.multinomial(5, rng.dirichlet(np.ones(3))) for _ in every]) / 5
        problem = pair_problem(target, np.ones((6, 3)))
        found = solve_cuts(make_pairs(*every.T, 4, tied=True), problem.p, problem.h, cross=problem.cross)
        square = 2 * half_square(problem.h, problem.cross, found.x - problem.p)
        exact = nearest_mixture(target.reshape(-1), np.ones(18), types)
        assert np.sqrt(square) <= exact + 1e-6
        equal += np.sqrt(square) > exact - 1e-6
    assert equal >= 13


@pytest.mark.parametrize("reason", ["max_seconds", "interrupted"])
def test_where_no_search_ends_in_time_equal_shares_are_the_answer(monkeypatch, reason):
    """3,000 pairs of which each was compared once: paths of length 0 lead everywhere."""
    rng = np.random.default_rng(0)
    ends = np.unique(np.sort(rng.integers(0, 400, (3000, 2)), axis=1), axis=0)
    ends = ends[ends[:, 0] < ends[:, 1]]
    menus, _ = Menus.from_cells(np.repeat(np.arange(len(ends)), 2), ends.reshape(-1), len(ends), 400)
    cells = Cells.of_menus(menus, None, tuple(range(400)))
    geometry = InequalityGeometry(TriangleInequalities(), cells)
    winner = rng.integers(0, 2, len(cells))
    target = np.stack([winner == 0, winner == 1], axis=1).astype(float)
    monkeypatch.setattr(resources, "_AFTER", -1.0)
    monkeypatch.setattr(resources, "_AFTER_SHARE", 0.0)
    over = Solved(target[:, 0].copy(), Cycles.none(), np.empty(0), np.inf, reason, 0)
    monkeypatch.setattr(geometry_module, "solve_cuts", lambda *args: over)
    fits = geometry.solve(target[None], Stop(1e-9), options=SolveOptions(partial=True))
    assert fits.reasons == [reason]
    assert (fits.rho[0] == 0.5).all()
    assert fits.objective[0] == pytest.approx(0.25 * len(cells))
    assert fits.gap[0] == pytest.approx(fits.objective[0])  # nothing is proven


def test_no_pair_with_a_weight():
    none = make_pairs(np.empty(0, np.int64), np.empty(0, np.int64), 3)
    assert solve_cuts(none, np.empty(0), np.empty(0)).reason == "done"


def test_pieces_of_a_search_do_not_change_what_is_found(monkeypatch):
    rng = np.random.default_rng(1)
    ends = np.unique(np.sort(rng.integers(0, 300, (4000, 2)), axis=1), axis=0)
    a, b = ends[ends[:, 0] < ends[:, 1]].T
    pairs, x = make_pairs(a, b, 300), rng.random(int((ends[:, 0] < ends[:, 1]).sum()))
    once, looks = find_short_cycles(pairs, arc_lengths(x)), []
    monkeypatch.setattr(pairs_module, "_PASSED_A_PIECE", 1)
    found = find_short_cycles(pairs, arc_lengths(x), look=lambda: looks.append(1))
    assert np.array_equal(found.cycles.arc, once.cycles.arc)
    assert found.worst == once.worst
    assert len(looks) > 50
