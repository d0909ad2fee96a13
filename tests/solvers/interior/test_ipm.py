"""The interior point solver: against enumeration and the rankings solver, at the smoothed point, and when it is
stopped."""

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
from rumflow.core.transforms import zeta, zeta_adjoint
from rumflow.core.tree import flow_divergence
from rumflow.data.simulate import (
    dirichlet,
    known_projection,
    mixed_logit,
    noisy_rankings,
    observed_cells,
    observed_menus,
)
from rumflow.errors import InputError
from rumflow.solvers.interior import ipm
from rumflow.solvers.interior.ipm import solve_ipm, solve_newton
from rumflow.solvers.resources import Resources
from tests.reference import lattice as reference

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
    assert len(result.trace) == result.iterations
    assert sum(record.cg_iterations for record in result.trace) == result.cg_iterations


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


@pytest.mark.parametrize(
    ("n", "worse", "better", "factor"), [(8, "tree", "tree-scaled", 1.3), (5, "none", "tree", 3.0)]
)
def test_better_preconditioners_need_fewer_iterations(n, worse, better, factor):
    used = []
    for name in (worse, better):
        result, *_ = run(noisy_rankings(n, seed=0), tol=1e-6, preconditioner=name)
        assert result.status == "optimal"
        used.append(result.cg_iterations)
    assert used[0] > factor * used[1]


@pytest.mark.parametrize("case", CASES)
def test_smoothed_point_is_on_the_central_path(case):
    """<h, grad f - mu / k> = 0 on zero-flows: the gradient minus mu / k is a difference of potentials."""
    mu = 1e-4
    result, target, w = run(dirichlet(5, seed=2), weights_of(case, 5), mu_stop=mu)
    assert result.status == "optimal"
    assert result.mu == mu
    assert_unit_flow(result.flow)
    assert result.multipliers * result.flow == pytest.approx(mu)
    rho = zeta(result.flow.copy())
    difference = np.where(w > 0, w * (rho - target), 0.0) if len(w) else rho - target
    slope = zeta_adjoint(difference) - mu / result.flow
    basis = ipm.pcg(result.system, slope, Stop(0.0), max_iterations=0)
    size = ipm.pcg(result.system, mu / result.flow, Stop(0.0), max_iterations=0)
    assert basis.error <= 1e-8 * size.error
    assert result.gap <= 1.01 * mu * result.flow.size  # lam is dual feasible there, and the gap at most <k, lam>


@pytest.mark.parametrize("case", ["full", "weights", "menus"])
def test_derivative_of_the_smoothed_point(case):
    """`solve_newton` against central differences of the whole solver, and its symmetry."""
    n, mu = 4, 1e-3
    weights = weights_of(case, n)
    result, target, w = run(dirichlet(n, seed=3), weights, mu_stop=mu)
    rng = np.random.default_rng(0)
    change = rng.standard_normal(target.shape)
    weighted = w * change if len(w) else change
    dk = solve_newton(result, zeta_adjoint(weighted.copy()), tol=1e-12)
    assert np.abs(flow_divergence(dk)).max() <= 1e-12
    h = 1e-4
    ends = [solve_ipm(Problem(target + s * h * change, w), Stop(1e-9), mu_stop=mu).flow for s in (1, -1)]
    assert dk == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-5 * np.abs(dk).max())
    other = rng.standard_normal(target.shape)
    back = solve_newton(result, other, tol=1e-12)
    forward = solve_newton(result, change, tol=1e-12)
    assert (other * forward).sum() == pytest.approx((change * back).sum(), rel=1e-8)


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


def test_reports_trace_and_limits():
    rho_hat = dirichlet(6, seed=0)
    seen = []
    result, *_ = run(rho_hat, report=seen.append)
    trace = result.trace
    reported = [(one.round, one.objective, one.gap, one.seconds) for one in seen]
    assert reported == [(record.iteration, record.objective, record.gap, record.seconds) for record in trace]
    assert [record.iteration for record in trace] == list(range(result.iterations))
    assert all(0 < record.flow_step <= 1 and 0 < record.multiplier_step <= 1 for record in trace)
    assert trace[0].rebuilt
    assert trace[-1].gap < 1e-6 * trace[0].gap
    short, *_ = run(rho_hat, max_iterations=2)
    assert (short.status, short.iterations) == ("max_iterations", 2)
    assert_unit_flow(short.flow)
    none, *_ = run(rho_hat, max_seconds=0.0)
    assert none.status == "max_seconds"
    assert_unit_flow(none.flow)
    impossible, *_ = run(rho_hat, tol=1e-300, max_iterations=500)
    assert impossible.status in ("optimal", "stalled")  # rounding, said to be so by the floor or by patience


def test_interrupt_returns_the_best_flow():
    def stop(now):
        if now.round == 4:
            raise KeyboardInterrupt

    result, target, w = run(dirichlet(6, seed=0), report=stop)
    assert (result.status, result.iterations) == ("interrupted", 5)
    assert_unit_flow(result.flow)
    assert result.gap == pytest.approx(certify(Problem(target, w), result.flow).gap)
    assert result.gap < result.trace[0].gap


def test_inputs_are_not_changed():
    rho_hat, weights = dirichlet(5, seed=1), weights_of("weights", 5)
    lattice = Lattice(5)
    target, w = lattice.to_internal(rho_hat), lattice.to_internal(weights)
    solve_ipm(Problem(target, w), Stop(1e-9))
    assert (target == lattice.to_internal(rho_hat)).all()
    assert (w == lattice.to_internal(weights)).all()


def test_rejects_nonsense():
    with pytest.raises(InputError, match="mu_stop"):
        run(dirichlet(3, seed=0), mu_stop=0.0)
    with pytest.raises(InputError, match="preconditioner"):
        run(dirichlet(3, seed=0), preconditioner="cholesky")


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
    plain = ipm._Iterate.certify

    def watched(self):
        sums = lattice.from_internal(zeta(self.flow.copy())).sum(axis=1)[1:]
        seen.append((self.flow.min(), np.abs(sums - 1).max()))
        return plain(self)

    monkeypatch.setattr(ipm._Iterate, "certify", watched)
    weights = np.random.default_rng(0).uniform(0, 2, lattice.internal_shape) if weighted else NO_WEIGHTS
    solve_ipm(Problem(lattice.to_internal(noisy_rankings(n, seed=0)), weights), Stop(1e-9))
    least, error = np.array(seen).T
    assert len(seen) > 5
    assert least.min() > 0
    assert error.max() <= 1e-13
