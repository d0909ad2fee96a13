"""The projection: against enumeration, against known answers; starts, limits, interrupts, derivatives."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.simulate import hide, observed_cells, observed_menus
from tests.reference import lattice as reference
from tests.reference.checks import FAMILIES, assert_certified, assert_optimal, assert_rum
from tests.reference.interrupts import Interrupted


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_agrees_with_enumeration(family, n, seed):
    rho_hat = FAMILIES[family](n, seed)
    fit = rf.project(rho_hat)
    assert_certified(fit)
    rho, objective = reference.projection(rho_hat)
    assert fit.rho == pytest.approx(rho, abs=1e-8)
    assert fit.objective == pytest.approx(objective, abs=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_weighted_and_incomplete_agree_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = 4
    rho_hat = rf.simulate.dirichlet(n, seed)
    weights = np.where(observed_menus(n, 0.6, seed), rng.uniform(0.2, 5, (16, 4)), 0.0)
    fit = rf.project(hide(rho_hat, weights > 0), weights)
    assert_certified(fit)
    rho, objective = reference.projection(rho_hat, weights)
    assert fit.objective == pytest.approx(objective, abs=1e-9)
    seen = weights > 0
    assert fit.rho[seen] == pytest.approx(rho[seen], abs=1e-7)


@pytest.mark.parametrize("n", [2, 3, 5, 7, 8, 9, 10])
@pytest.mark.parametrize("dimension", [0, 1, 5, 40])
def test_known_projection_is_recovered(n, dimension):
    known = rf.simulate.known_projection(n, seed=n, dimension=dimension)
    batch = rf.project_many([known.data])
    assert batch.rho[0] == pytest.approx(known.answer, abs=1e-9)
    assert batch.distance[0] == pytest.approx(known.distance, abs=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [6, 8, 9, 10, 12])
def test_default_call_is_certified(family, n):
    fit = rf.project(FAMILIES[family](n, 7))
    assert_certified(fit)
    assert fit.gap <= 1e-9 * fit.objective


@pytest.mark.parametrize("n", [6, 8, 10, 12])
@pytest.mark.parametrize("share", [0.02, 0.2, 0.7])
@pytest.mark.parametrize("cells", [False, True])
def test_incomplete_is_certified(n, share, cells):
    mask = (observed_cells if cells else observed_menus)(n, share, n)
    fit = rf.project(hide(rf.simulate.dirichlet(n, 5), mask))
    assert_certified(fit)
    if n <= 8:
        assert_optimal(fit, mask.astype(float))


@pytest.mark.parametrize("n", [5, 8, 10])
@pytest.mark.parametrize("family", FAMILIES)
def test_weights_over_twelve_orders_of_magnitude(n, family):
    weights = 10.0 ** np.random.default_rng(n).uniform(-6, 6, (1 << n, n))
    assert_certified(rf.project(FAMILIES[family](n, 3), weights))


@pytest.mark.parametrize("n", [5, 8, 10])
def test_rationalisable_incomplete_data_have_distance_zero(n):
    rho = rf.simulate.rankings_mixture(n, 12, seed=1)
    fit = rf.project(hide(rho, observed_menus(n, 0.3, 2)))
    assert_certified(fit)
    assert fit.inside
    assert fit.distance <= 1e-12


def test_a_tiny_distance_in_large_samples():
    fit = rf.project(rf.simulate.mixed_logit(8, draws=1_000_000, seed=0))
    assert_certified(fit)
    assert 1e-8 < fit.objective < 1e-4
    assert fit.gap <= 1e-13  # some units in the last place of sum rho^2 = 60: a tolerance of 1e-9 is out of reach


@pytest.mark.parametrize("n", [2, 4, 8, 11])
def test_data_inside_are_returned_unchanged(n):
    rho = rf.simulate.mixed_logit(n, seed=3)
    fit = rf.project(rho)
    assert fit.inside
    assert fit.method == "moebius"
    assert (fit.rho == rho).all()
    assert fit.distance <= 1e-13
    assert_certified(fit)


def test_a_ranking_is_its_own_projection():
    rho = reference.choice_array([2, 0, 3, 1])
    fit = rf.project(rho)
    assert (fit.rho == rho).all()
    assert fit.rankings.orders.tolist() == [[2, 0, 3, 1]]


@pytest.mark.parametrize("n", [3, 4, 6])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_jvp_is_the_derivative(n, weighted, seed):
    rng = np.random.default_rng(seed)
    inside = rf.Lattice(n).membership
    weights = np.where(inside, rng.uniform(0.5, 2, inside.shape), 0.0) if weighted else None
    rho = rf.simulate.dirichlet(n, seed + 10)
    t = np.where(inside, rng.normal(size=inside.shape), 0.0)
    step = 1e-6
    plus, minus = rf.project_many([rho + step * t, rho - step * t], weights, tol=1e-13, throw=False).rho
    assert rf.project(rho, weights).jvp(t) == pytest.approx((plus - minus) / (2 * step), abs=1e-6)


def test_jvp_inside_restores_the_menu_sums():
    rho = rf.simulate.mixed_logit(4, seed=0)
    inside = rf.Lattice(4).membership
    t = np.where(inside, np.random.default_rng(0).normal(size=inside.shape), 0.0)
    sizes = np.maximum(inside.sum(axis=1, keepdims=True), 1)
    expected = np.where(inside, t - t.sum(axis=1, keepdims=True) / sizes, 0.0)
    fit = rf.project(rho)
    assert fit.jvp(t) == pytest.approx(expected, abs=1e-12)
    assert fit.vjp(t) == pytest.approx(expected, abs=1e-12)


def test_threads_do_not_change_a_bit():
    rho = rf.simulate.noisy_rankings(13, seed=0)
    one, three = (rf.project(rho, tol=1e-3, threads=t) for t in (1, 3))
    assert (one.flow == three.flow).all()
    assert one.gap == three.gap


def test_time_limit_returns_the_best_point_so_far():
    rho = rf.simulate.dirichlet(12, 0)
    fit = rf.project(rho, max_seconds=1e-9, throw=False)
    assert fit.status is rf.Status.MAX_SECONDS
    assert_rum(fit)
    best = rf.project(rho).objective
    assert best <= fit.objective <= best + fit.gap
    with pytest.raises(rf.NotConvergedError, match="max_seconds") as caught:
        rf.project(rho, max_seconds=1e-9)
    assert caught.value.fit.objective == fit.objective


def test_interruption_keeps_the_best_point_so_far():
    seen = []

    def interrupt(now):
        seen.append(now)
        if len(seen) == 3:
            raise KeyboardInterrupt

    fit = rf.project(rf.simulate.dirichlet(12, 0), progress=interrupt, throw=False)
    assert fit.status is rf.Status.INTERRUPTED
    assert len(seen) == 3
    assert_rum(fit)
    assert seen[0].gap > fit.gap > 0


def test_progress_line(capsys):
    rf.project(rf.simulate.dirichlet(10, 0), progress=True)
    assert "relative gap" in capsys.readouterr().err


def test_inputs_are_not_changed():
    rho = rf.simulate.dirichlet(6, 0)
    weights = np.where(rho > 0.2, 2.0, 1.0)
    before = rho.copy(), weights.copy()
    rf.project(rho, weights)
    rf.project_many(rho[None], weights)
    assert (rho == before[0]).all()
    assert (weights == before[1]).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_rounded_probabilities_of_a_rum_need_no_solver(weighted):
    rho = np.round(rf.simulate.mixed_logit(8, seed=0), 7)
    inside = rf.Lattice(8).membership
    weights = np.where(inside, np.random.default_rng(0).uniform(0.5, 2, rho.shape), 0.0) if weighted else None
    fit = rf.project(rho, weights)
    assert fit.inside
    assert fit.method == "moebius"
    assert 0 < fit.distance < 1e-5
    assert_certified(fit)
    assert fit.rho == pytest.approx(rho, abs=1e-6)


@pytest.mark.parametrize("n", [4, 7])
def test_weights_far_apart_are_certified_or_said_not_to_be(n, rng):
    inside = rf.Lattice(n).membership
    for seed in range(4):
        weights = 10 ** rng.uniform(-6, 6, (1 << n, 1)) * inside
        rho = rf.simulate.noisy_rankings(n, seed=seed)
        one, many = rf.project(rho, weights, throw=False), rf.project_many(rho[None], weights, throw=False)
        assert one.status is many.status[0]
        if one.status is rf.Status.OPTIMAL:
            least = weights[inside].min()
            assert one.gap <= max(1e-9 * one.objective, 1e-6 * least)
    with pytest.raises(rf.InputError, match=r"differ by a factor of 1e\+12"):
        rf.project(rho, 10 ** rng.uniform(-12, 12, (1 << n, 1)) * inside)


def test_an_interrupt_of_one_projection_keeps_its_point(monkeypatch):
    Interrupted(monkeypatch, 5)
    fit = rf.project(rf.simulate.noisy_rankings(9, seed=0), throw=False)
    assert fit.status is rf.Status.INTERRUPTED
    assert fit.rho.sum(axis=1)[1:] == pytest.approx(1)
