"""Which solver runs after which, and that they agree: the chain of attempts, with solvers that end as they are told."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.certificate import Certifier
from rumflow.core.paths import uniform_flow
from rumflow.core.problem import Problem, Stop
from rumflow.data.simulate import hide, observed_menus
from rumflow.solvers import dispatch
from rumflow.solvers.active_set.solve import Goal, Workspace, make_problem, solve_rankings
from rumflow.solvers.batch.kernels import LEFT
from rumflow.solvers.dispatch import Dispatcher, Solved, most_work
from rumflow.solvers.geometry import Keep, SolveOptions
from rumflow.solvers.lattice import LatticeGeometry
from tests.reference.checks import FAMILIES, assert_certified

FEW, RANKINGS, INTERIOR = "few_items", "rankings", "interior"


def problem(n, cone=False):
    data = rf.simulate.dirichlet(n, seed=0)
    return Problem(rf.Lattice(n).to_internal(data), cone=cone)


def solve(given, stop, **options):
    """One problem through the chain."""
    certifier = Certifier(given.n, given.weights, given.cone, 1)
    return Dispatcher(make_problem(given), certifier).solve(given.target, stop, **options)


def ended(name, given, gap, reason):
    """An attempt that ended like this; the weight of its only ranking tells whose it is."""
    flow = uniform_flow(given.n)
    certificate = Certifier(given.n, given.weights, False, 1)(flow, given.target)._replace(gap=gap, objective=1.0)
    mixture = np.zeros((1, given.n), np.int32), np.array([gap + 1.0])
    return Solved(mixture, None, certificate, name, 1, reason, flow)


def left(given, gap, reason):
    """What the kernel for few items has left, as the arguments with which its caller goes on."""
    first = ended(FEW, given, gap, reason)
    return {"first": first, "start": first.mixture}


class Script:
    """Solvers that return what is written for them, and a record of who was called with what."""

    def __init__(self, monkeypatch, **endings):
        self.calls, self.endings = [], {name: list(values) for name, values in endings.items()}
        for name in (RANKINGS, INTERIOR):
            monkeypatch.setattr(dispatch.Attempts, name, self.solver(name))

    def solver(self, name):
        def run(attempt, start, limit=None):
            self.calls.append((name, start, limit))
            return ended(name, attempt.problem._replace(target=attempt.data), *self.endings[name].pop(0))

        return run

    @property
    def order(self):
        return [name for name, _, _ in self.calls]


DONE, STUCK = (1e-12, "done"), (0.5, "stalled")


def test_the_first_certified_attempt_ends_it(monkeypatch):
    for n in (6, 9):
        script = Script(monkeypatch, rankings=[DONE])
        assert solve(problem(n), Stop(1e-9)).method == RANKINGS
        assert script.order == [RANKINGS]


def test_each_attempt_is_followed_by_a_more_stable_one_from_where_it_stopped(monkeypatch):
    script = Script(monkeypatch, rankings=[(0.2, "stalled")], interior=[DONE])
    given = problem(6)
    assert solve(given, Stop(1e-9), **left(given, *STUCK)).method == INTERIOR
    assert script.order == [RANKINGS, INTERIOR]
    assert script.calls[0][1][1] == [1.5]  # the rankings of the first attempt
    assert script.calls[1][1:] == (None, dispatch.LAST_RESORT)


@pytest.mark.parametrize("ending", ["done", "max_seconds"])
def test_weights_are_tried_with_milder_ones_first(monkeypatch, ending):
    script = Script(monkeypatch, rankings=[STUCK, DONE])
    paths, shares = np.ones((1, 9), np.int32), np.array([7.0])
    monkeypatch.setattr(dispatch.Attempts, "milder", lambda run: dispatch.Outcome(paths, shares, ending, 1))
    given = problem(9)
    weights = np.where(np.arange(given.target.size).reshape(given.target.shape) % 2, 1.0, 1e-5)
    found = solve(given._replace(weights=weights), Stop(1e-9))
    if ending == "done":
        assert script.calls[1] == (RANKINGS, (paths, shares), None)
        assert found.certificate.gap == DONE[0]
    else:
        assert script.order == [RANKINGS]
        assert found.certificate.gap == STUCK[0]  # the best point is that of the first attempt
        assert found.reason == ending


def test_milder_weights_solve_what_rounding_stops():
    # Choices from half of the menus, in the model, with weights twelve powers of ten apart.
    solved = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        inside = rf.Lattice(7).membership
        weights = np.where(inside, 10.0 ** rng.uniform(-6, 6, inside.shape), 0.0)
        weights[rng.random(len(inside)) < 0.5] = 0.0
        solved += rf.project(rf.simulate.mixed_logit(7, seed=rng), weights, throw=False).status == "optimal"
    assert solved == 4


def test_the_smallest_gap_is_returned_where_none_is_certified(monkeypatch):
    given = problem(6)
    Script(monkeypatch, rankings=[(0.2, "stalled")] * 2, interior=[(0.3, "stalled")] * 2)
    found = solve(given, Stop(1e-9), **left(given, *STUCK))
    assert (found.method, found.certificate.gap) == (RANKINGS, 0.2)
    found = solve(given, Stop(1e-9), **left(given, 0.1, "stalled"))  # what was there before is the best
    assert (found.method, found.certificate.gap) == (FEW, 0.1)


def test_a_gap_that_is_not_a_number_is_the_worst(monkeypatch):
    given = problem(6)
    Script(monkeypatch, rankings=[(0.2, "stalled")], interior=[(np.inf, "stalled")])
    assert solve(given, Stop(1e-9), **left(given, np.nan, "stalled")).certificate.gap == 0.2


def test_work_that_grows_too_large_is_handed_over_without_a_limit_and_taken_back(monkeypatch):
    script = Script(monkeypatch, rankings=[(0.5, "too_large"), DONE], interior=[(0.4, "stalled")])
    assert solve(problem(9), Stop(1e-9)).method == RANKINGS
    assert script.order == [RANKINGS, INTERIOR, RANKINGS]
    assert [limit for _, _, limit in script.calls] == [most_work(problem(9), 1e-9), None, None]
    assert script.calls[2][1][1] == [1.5]


@pytest.mark.parametrize("reason", ["max_seconds", "interrupted"])
def test_a_stop_from_outside_ends_it(monkeypatch, reason):
    script = Script(monkeypatch, rankings=[(0.5, reason)])
    assert solve(problem(6), Stop(1e-9)).reason == reason
    assert script.order == [RANKINGS]


def test_rankings_and_cones_have_no_interior_point(monkeypatch):
    script = Script(monkeypatch, rankings=[STUCK, STUCK])
    solve(problem(6), Stop(1e-9), method="rankings")
    solve(problem(6, cone=True), Stop(1e-9))
    assert script.order == 2 * [RANKINGS]
    assert [limit for _, _, limit in script.calls] == [None, None]


def test_a_row_that_stalls_is_solved_as_if_it_stood_alone():
    # Twelve powers of ten between the weights: rounding decides which of these end certified.
    rng = np.random.default_rng(3)
    inside = rf.Lattice(6).membership
    weights = np.where(inside, 10.0 ** rng.uniform(-6, 6, inside.shape), 0.0)
    stack = np.array([rf.simulate.dirichlet(6, seed=i) for i in range(12)])
    many = rf.project_many(stack, weights=weights, throw=False)
    for rho, status, gap in zip(stack, many.status, many.gap, strict=True):
        alone = rf.project(rho, weights=weights, throw=False)
        assert (alone.status, alone.gap) == (status, gap)


def test_the_interior_point_method_needs_its_memory(monkeypatch):
    monkeypatch.setattr(dispatch, "interior_bytes", lambda n, weighted: 1e18)
    script = Script(monkeypatch, rankings=[STUCK])
    assert solve(problem(9), Stop(1e-9)).reason == "stalled"
    assert script.calls == [(RANKINGS, None, None)]
    with pytest.raises(rf.InputError, match=r"method='ipm' for n = 9 items needs about .* method='rankings'"):
        rf.project(rf.simulate.dirichlet(9, seed=0), method="ipm")


def test_weights_far_apart_are_never_handed_over():
    n = 9
    given = problem(n)
    weights = np.where(np.arange(given.target.size).reshape(given.target.shape) % 2, 1.0, 1e-5)
    assert most_work(given._replace(weights=weights), 1e-9) is None
    assert most_work(given._replace(weights=np.sqrt(weights)), 1e-9) > most_work(given, 1e-9) > most_work(given, 1e-6)


def test_auto_hands_over_early_or_not_at_all():
    # Many draws from a smooth population have a large optimal face, few draws and few types a small one. What the active set has
    # done before it hands over is lost, so that it must be little of what it would have done: it costs the cube of its size.
    large = rf.simulate.mixed_logit(10, 5, 30_000, 0)
    given = Problem(rf.Lattice(10).to_internal(large))
    found = solve(given, Stop(1e-6))
    assert found.method == "ipm"
    limit = most_work(given, 1e-6)
    sizes = [
        len(solve_rankings(make_problem(given), Workspace(10), Goal(1e-6, 0.0), most_work=most).weights)
        for most in (limit, None)
    ]
    assert sizes[0] < 0.5 * sizes[1]
    for small in (rf.simulate.mixed_logit(9, 5, 300, 0), rf.simulate.noisy_rankings(9, 50, 30_000, 0)):
        assert solve(Problem(rf.Lattice(9).to_internal(small)), Stop(1e-6)).method == "rankings"


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
    monkeypatch.setattr(dispatch, "most_work", lambda problem, tol: 1e5)
    rho = rf.simulate.mixed_logit(9, draws=300, seed=0)
    fit = rf.project(rho)
    assert fit.method == "ipm"
    assert_certified(fit)
    assert fit.objective == pytest.approx(rf.project(rho, method="rankings").objective, rel=1e-8)
    assert fit.rankings.weights.sum() == pytest.approx(1)


def test_auto_turns_to_the_interior_point_method_where_rounding_stops_the_other():
    weights = np.ones((16, 4))
    weights[3], weights[15] = 1e6, 1e-6
    assert_certified(rf.project(rf.simulate.dirichlet(4, 0), weights))


def test_the_active_set_may_be_left_to_others():
    """With the method for callers that have another one: it ends where that is cheaper, and nothing else is tried."""
    rho = nearly_rational(9)
    geometry = LatticeGeometry(9)
    options = SolveOptions(keep=Keep.FACES, certify=False, leave_large=True)
    fits = geometry.solve(rho[None], Stop(1e-12, 1e-8), options=options)
    assert fits.reasons == ["too_large"]
    assert fits.kind.tolist() == [LEFT]
    assert fits.count.tolist() == [0]


def nearly_rational(n):
    rng = np.random.default_rng(0)
    lattice = rf.Lattice(n)
    scores = np.exp(rng.normal(size=n) + 1e-3 * rng.normal(size=(1 << n, n))) * lattice.membership
    scores[1:] /= scores[1:].sum(axis=1, keepdims=True)
    return lattice.to_internal(scores)
