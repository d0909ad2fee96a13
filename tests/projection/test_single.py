"""The projection: against enumeration, against known answers, and by its laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import lattice as reference

import rumflow as rf
from rumflow.core.paths import orders_from_paths, paths_from_orders
from rumflow.data.simulate import hide, observed_cells, observed_menus
from rumflow.solvers import dispatch as methods

FAMILIES = {
    "dirichlet": rf.simulate.dirichlet,
    "noisy": lambda n, seed: rf.simulate.noisy_rankings(n, seed=seed),
    "logit": lambda n, seed: rf.simulate.mixed_logit(n, draws=100, seed=seed),
}


def assert_rum(fit):
    """A unit flow without a negative entry, and the mixture that belongs to it."""
    assert fit.flow.min() >= 0
    sums = fit.rho.sum(axis=1)[1:]
    assert np.abs(sums - 1).max() <= 1e-12
    assert rf.block_marschak(fit.rho) == pytest.approx(fit.flow, abs=1e-11)
    mixed = np.zeros_like(fit.rho)
    if fit.n <= 6:
        for order, weight in zip(fit.rankings.orders, fit.rankings.weights, strict=True):
            mixed += weight * reference.choice_array(order)
        assert mixed == pytest.approx(fit.rho, abs=1e-11)


def assert_certified(fit, tol=1e-9):
    assert fit.status is rf.Status.OPTIMAL
    assert fit.gap <= max(tol * fit.objective, fit.certificate.floor)
    assert_rum(fit)


def assert_optimal(fit, weights=None):
    """No ranking improves: <g, rho> <= <g, a> for random rankings a, computed without the lattice."""
    w = np.ones_like(fit.rho) if weights is None else weights
    g = np.where(w > 0, w * (fit.rho - np.nan_to_num(fit.observed)), 0.0)
    rng = np.random.default_rng(0)
    for _ in range(50):
        a = reference.choice_array(rng.permutation(fit.n))
        assert (g * (fit.rho - a)).sum() <= max(1e-9 * fit.objective, fit.certificate.floor)


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


small = st.tuples(st.integers(2, 6), st.integers(0, 10_000))


@given(small)
def test_idempotent(case):
    n, seed = case
    fit = rf.project(rf.simulate.dirichlet(n, seed))
    again = rf.project_many([fit.rho])
    assert again.distance[0] <= 1e-10
    assert again.rho[0] == pytest.approx(fit.rho, abs=1e-9)


@given(small)
def test_non_expansive(case):
    n, seed = case
    a, b = rf.simulate.dirichlet(n, seed), rf.simulate.dirichlet(n, seed + 1)
    moved = np.linalg.norm(rf.project(a).rho - rf.project(b).rho)
    assert moved <= np.linalg.norm(a - b) + 1e-9


@given(small)
def test_relabelling_items_relabels_the_answer(case):
    n, seed = case
    rho = rf.simulate.noisy_rankings(n, draws=10, seed=seed)
    order = np.random.default_rng(seed).permutation(n)
    # Item x becomes order[x].
    masks = np.array([sum(1 << order[x] for x in range(n) if mask >> x & 1) for mask in range(1 << n)])
    relabelled = np.empty_like(rho)
    relabelled[masks[:, None], order[None, :]] = rho
    expected = np.empty_like(rho)
    expected[masks[:, None], order[None, :]] = rf.project(rho).rho
    assert rf.project(relabelled).rho == pytest.approx(expected, abs=1e-8)


@given(small)
def test_no_ranking_improves(case):
    n, seed = case
    assert_optimal(rf.project(rf.simulate.dirichlet(n, seed)))


@given(small, st.booleans())
def test_derivatives_are_adjoint(case, weighted):
    n, seed = case
    rng = np.random.default_rng(seed)
    inside = rf.Lattice(n).membership
    weights = np.where(inside, rng.uniform(0.5, 2, inside.shape), 0.0) if weighted else None
    fit = rf.project(rf.simulate.dirichlet(n, seed), weights)
    t, g = np.where(inside, rng.normal(size=(2, *inside.shape)), 0.0)
    assert (fit.jvp(t) * g).sum() == pytest.approx((t * fit.vjp(g)).sum(), abs=1e-9)
    assert fit.jvp(fit.jvp(t)) == pytest.approx(fit.jvp(t), abs=1e-9)  # a projector


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


def test_warm_start_ends_at_the_same_point():
    rho = rf.simulate.noisy_rankings(9, seed=4)
    cold = rf.project(rho)
    warm = rf.project(rho, start=cold.rankings)
    assert warm.iterations <= 2
    assert warm.objective == pytest.approx(cold.objective, rel=1e-12)
    other = rf.project(rf.simulate.noisy_rankings(9, seed=5), start=cold.rankings)
    assert_certified(other)
    repeated = rf.Rankings(np.repeat(cold.rankings.orders, 2, 0), np.repeat(cold.rankings.weights, 2), cold.items)
    assert rf.project(rho, start=repeated).objective == pytest.approx(cold.objective, rel=1e-12)


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


def test_samples_and_rankings():
    fit = rf.project(rf.simulate.noisy_rankings(5, seed=1))
    drawn = fit.sample(5000, seed=0)
    assert drawn.shape == (5000, 5)
    assert (np.sort(drawn, axis=1) == np.arange(5)).all()
    first = np.bincount(drawn[:, 0], minlength=5) / 5000
    assert first == pytest.approx(fit.rho[31], abs=0.05)
    orders = fit.rankings.orders
    assert (orders_from_paths(paths_from_orders(orders)) == orders).all()
    assert (np.diff(fit.rankings.weights) <= 0).all()


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


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [2, 4, 6, 8, 10])
def test_the_two_solvers_agree(family, n):
    rho = FAMILIES[family](n, 5)
    exact, interior = rf.project(rho, method="rankings"), rf.project(rho, method="ipm")
    assert interior.method in ("ipm", "moebius")
    assert_certified(interior)
    assert interior.objective == pytest.approx(exact.objective, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("n", [5, 8])
def test_the_two_solvers_agree_on_weighted_and_incomplete_data(n):
    weights = np.where(observed_menus(n, 0.5, 1), np.random.default_rng(0).uniform(0.1, 10, (1 << n, n)), 0.0)
    rho = hide(rf.simulate.dirichlet(n, 2), weights > 0)
    exact, interior = (rf.project(rho, weights, method=method) for method in ("rankings", "ipm"))
    assert_certified(interior)
    assert interior.objective == pytest.approx(exact.objective, rel=1e-8)


def test_auto_hands_over_where_the_face_is_large(monkeypatch):
    monkeypatch.setattr(methods, "most_work", lambda problem, tol: 1e5)
    rho = rf.simulate.mixed_logit(9, draws=300, seed=0)
    fit = rf.project(rho)
    assert fit.method == "ipm"
    assert_certified(fit)
    assert fit.objective == pytest.approx(rf.project(rho, method="rankings").objective, rel=1e-8)
    assert fit.rankings.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_after_the_interior_point_method(weighted):
    rng = np.random.default_rng(3)
    inside = rf.Lattice(5).membership
    weights = np.where(inside, rng.uniform(0.5, 2, inside.shape), 0.0) if weighted else None
    rho = rf.simulate.dirichlet(5, 4)
    t, g = np.where(inside, rng.normal(size=(2, *inside.shape)), 0.0)
    exact, interior = (rf.project(rho, weights, method=method) for method in ("rankings", "ipm"))
    assert interior.jvp(t) == pytest.approx(exact.jvp(t), abs=1e-4)
    assert interior.vjp(g) == pytest.approx(exact.vjp(g), abs=1e-4)
    assert (interior.jvp(t) * g).sum() == pytest.approx((t * interior.vjp(g)).sum(), abs=1e-6)


def test_auto_turns_to_the_interior_point_method_where_rounding_stops_the_other():
    weights = np.ones((16, 4))
    weights[3], weights[15] = 1e6, 1e-6
    assert_certified(rf.project(rf.simulate.dirichlet(4, 0), weights))
