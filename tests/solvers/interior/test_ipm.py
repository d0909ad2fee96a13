"""The interior point solver: against enumeration and the rankings solver, and when it is stopped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from rumflow.core.certificate import certify
from rumflow.core.compile import clock
from rumflow.core.lattice import Lattice
from rumflow.core.paths import uniform_flow
from rumflow.core.problem import NO_WEIGHTS, Problem, Stop
from rumflow.core.transforms import zeta
from rumflow.data.simulate import (
    dirichlet,
    known_projection,
    mixed_logit,
    noisy_rankings,
    observed_cells,
    observed_menus,
)
from rumflow.solvers.interior import ipm
from rumflow.solvers.interior.cg import apply_hessian
from rumflow.solvers.interior.ipm import solve_ipm, solve_newton
from rumflow.solvers.resources import Resources
from tests.reference import lattice as reference
from tests.reference.trees import flow_divergence

FAMILIES = {
    "dirichlet": dirichlet,
    "noisy": lambda n, seed: noisy_rankings(n, seed=seed),
    "logit": lambda n, seed: mixed_logit(n, draws=1000, seed=seed),
}
CASES = ("full", "weights", "menus", "cells")


def weights_of(case, n, seed=0):
    """(2^n, n) weights, or None."""
    if case == "full":
        return None
    if case == "weights":
        draws = 10 ** np.random.default_rng(seed).uniform(-1, 1, (1 << n, n))
        return np.where(Lattice(n).membership, draws, 0.0)
    return (observed_menus if case == "menus" else observed_cells)(n, 0.4, seed).astype(float)


def run(rho_hat, weights=None, tol=1e-9, max_seconds=None, report=None, **options):
    lattice = Lattice(rho_hat.shape[1])
    target = lattice.to_internal(rho_hat)
    w = NO_WEIGHTS if weights is None else lattice.to_internal(weights)
    deadline = None if max_seconds is None else clock() + max_seconds
    result = solve_ipm(Problem(target, w), Stop(tol), resources=Resources(1, deadline, report), **options)
    return result, target, w


def assert_unit_flow(flow):
    assert flow.min() >= 0.0
    unit = np.zeros(2 * flow.shape[1])
    unit[-1], unit[0] = 1.0, -1.0
    assert np.abs(flow_divergence(flow) - unit).max() <= 1e-13


def assert_certified(result, target, weights, tol):
    assert result.status == "optimal"
    assert_unit_flow(result.flow)
    certificate = certify(Problem(target, weights), result.flow)
    assert certificate.gap <= max(1.01 * tol * certificate.objective, 2 * certificate.floor)
    assert result.gap == pytest.approx(certificate.gap, abs=0.01 * tol * certificate.objective + 2 * certificate.floor)
    assert result.objective == pytest.approx(certificate.objective, rel=1e-9, abs=certificate.floor)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_agrees_with_enumeration(family, case, n):
    rho_hat, weights = FAMILIES[family](n, 3), weights_of(case, n)
    result, target, w = run(rho_hat, weights)
    assert_certified(result, target, w, 1e-9)
    if n > 1 or weights is None:
        _, objective = reference.projection(rho_hat, weights if weights is not None else None)
        assert result.objective == pytest.approx(objective, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", [6, 8, 9])
def test_agrees_with_the_rankings_solver(family, case, n):
    rho_hat, weights = FAMILIES[family](n, n), weights_of(case, n)
    result, target, w = run(rho_hat, weights)
    assert_certified(result, target, w, 1e-9)
    fit = rf.project(rho_hat, weights=weights, method="rankings", tol=1e-10)
    assert result.objective == pytest.approx(fit.objective, rel=1e-8, abs=fit.certificate.floor)
    rho = Lattice(n).from_internal(zeta(result.flow.copy()))
    distance = np.sqrt(((1.0 if weights is None else weights) * (rho - fit.rho) ** 2).sum())
    assert distance <= 2 * np.sqrt(result.gap + fit.gap)  # ||rho - rho*||_w^2 <= gap, twice


@given(st.integers(2, 6), st.integers(0, 1000))
def test_problems_with_a_known_answer(n, seed):
    known = known_projection(n, seed=seed, distance=0.05)
    result, target, w = run(known.data)
    assert_certified(result, target, w, 1e-9)
    rho = Lattice(n).from_internal(zeta(result.flow.copy()))
    assert np.sqrt(((rho - known.answer) ** 2).sum()) <= 1.01 * np.sqrt(result.gap) + 1e-7
    assert abs(result.objective - 0.5 * known.distance**2) <= 1.01 * result.gap + 1e-15


def test_data_inside_the_polytope():
    result, target, w = run(mixed_logit(6, seed=1))
    assert_certified(result, target, w, 1e-9)
    assert result.objective <= 1e-13


def test_what_is_not_observed_is_not_read():
    rho_hat, weights = dirichlet(5, seed=1), weights_of("cells", 5)
    clean, *_ = run(rho_hat, weights)
    dirty, *_ = run(np.where(weights > 0, rho_hat, np.nan), weights)
    assert (clean.flow == dirty.flow).all()


def test_iteration_budgets():
    """Within a quarter of what was measured: a step that loses this much has broken something."""
    result, *_ = run(dirichlet(10, seed=0), tol=1e-8)
    assert result.cg_iterations <= 1000
    result, *_ = run(mixed_logit(8, draws=30_000, seed=0), tol=1e-6)
    assert result.cg_iterations <= 2500


@pytest.mark.parametrize("case", ["full", "weights", "menus"])
def test_newton_systems_at_the_end(case):
    """`solve_newton` solves (Q + D) dk = rhs on zero-flows, so it is symmetric: the same for both directions of derivatives."""
    result, target, _ = run(dirichlet(4, seed=3), weights_of(case, 4), tol=1e-4)
    one, two = np.random.default_rng(0).standard_normal((2, *target.shape))
    dk, back = (solve_newton(result, rhs, tol=1e-12) for rhs in (one, two))
    assert np.abs(flow_divergence(dk)).max() <= 1e-13 * np.abs(dk).max()
    image = np.empty_like(dk)
    apply_hessian(result.system, dk, image)
    assert (image * back).sum() == pytest.approx((one * back).sum(), rel=1e-8)
    assert (two * dk).sum() == pytest.approx((one * back).sum(), rel=1e-8)


def test_start_from_a_flow():
    rho_hat = noisy_rankings(8, seed=4)
    cold, target, w = run(rho_hat, tol=1e-8)
    rough = rf.project(rho_hat, method="rankings", tol=1e-3)
    start = Lattice(8).to_internal(rough.flow)
    kept = start.copy()
    warm, *_ = run(rho_hat, tol=1e-8, start_flow=start)
    assert_certified(warm, target, w, 1e-8)
    assert warm.cg_iterations < cold.cg_iterations
    assert (start == kept).all()


def test_reports_and_limits():
    rho_hat = dirichlet(6, seed=0)
    seen = []
    result, *_ = run(rho_hat, report=seen.append)
    assert [one.round for one in seen] == list(range(result.iterations))
    assert [one.seconds for one in seen] == sorted(one.seconds for one in seen)
    assert all(result.objective <= one.objective + one.gap for one in seen)
    assert result.gap < seen[-1].gap < 1e-6 * seen[0].gap
    short, *_ = run(rho_hat, max_iterations=2)
    assert (short.status, short.iterations) == ("max_iterations", 2)
    assert_unit_flow(short.flow)
    none, *_ = run(rho_hat, max_seconds=0.0)
    assert none.status == "max_seconds"
    assert_unit_flow(none.flow)
    impossible, *_ = run(rho_hat, tol=1e-300, max_iterations=500)
    assert impossible.status in ("optimal", "stalled")  # rounding, said to be so by the floor or by patience


def test_interrupt_returns_the_best_flow():
    seen = []

    def stop(now):
        seen.append(now.gap)
        if now.round == 4:
            raise KeyboardInterrupt

    result, target, w = run(dirichlet(6, seed=0), report=stop)
    assert (result.status, result.iterations) == ("interrupted", 5)
    assert_unit_flow(result.flow)
    assert result.gap == pytest.approx(certify(Problem(target, w), result.flow).gap)
    assert result.gap < seen[0]


def test_inputs_are_not_changed():
    rho_hat, weights = dirichlet(5, seed=1), weights_of("weights", 5)
    lattice = Lattice(5)
    target, w = lattice.to_internal(rho_hat), lattice.to_internal(weights)
    solve_ipm(Problem(target, w), Stop(1e-9))
    assert (target == lattice.to_internal(rho_hat)).all()
    assert (w == lattice.to_internal(weights)).all()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_uniform_flow_is_all_rankings(n):
    lattice = Lattice(n)
    rankings = reference.all_rankings(n)
    rho = sum(reference.choice_array(order) for order in rankings) / len(rankings)
    assert lattice.from_internal(zeta(uniform_flow(n))) == pytest.approx(rho)


def test_threads_do_not_change_a_bit():
    target = Lattice(15).to_internal(dirichlet(15, seed=0))
    one, two = (
        solve_ipm(Problem(target), Stop(1e-9), max_iterations=1, resources=Resources(threads)) for threads in (1, 2)
    )
    assert (one.flow == two.flow).all()
    assert one.gap == two.gap
    assert_unit_flow(one.flow)


@pytest.mark.parametrize("weighted", [False, True])
def test_flows_stay_positive_and_conserved_throughout(monkeypatch, weighted):
    n = 8
    lattice = Lattice(n)
    seen = []

    def watched(flow, threads):
        least, rho = flow.min(), zeta(flow, threads)
        seen.append((least, np.abs(lattice.from_internal(rho).sum(axis=1)[1:] - 1).max()))
        return rho

    monkeypatch.setattr(ipm, "zeta", watched)  # every flow on the way is certified
    weights = np.random.default_rng(0).uniform(0, 2, lattice.internal_shape) if weighted else NO_WEIGHTS
    solve_ipm(Problem(lattice.to_internal(noisy_rankings(n, seed=0)), weights), Stop(1e-9))
    least, error = np.array(seen).T
    assert len(seen) > 5
    assert least.min() > 0
    assert error.max() <= 1e-13
