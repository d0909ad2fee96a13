"""Stacks on the lattice: what the kernel for few items leaves is taken on by the factor."""

from dataclasses import replace

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.paths import flow_from_paths
from rumflow.core.problem import NO_WEIGHTS, Stop
from rumflow.solvers import lattice as module
from rumflow.solvers.dispatch import Dispatcher
from rumflow.solvers.geometry import USER_OPTIONS, Keep, SolveOptions
from rumflow.solvers.lattice import LatticeGeometry, plain_lattice
from rumflow.solvers.resources import Resources
from tests.reference.interrupts import Interrupted


def stack(n, count):
    return np.array([rf.Lattice(n).to_internal(rf.simulate.dirichlet(n, seed=i)) for i in range(count)])


@pytest.fixture
def calls(monkeypatch):
    """What the dispatcher was asked, and what it found."""
    seen = []

    def solve(self, target, stop, *, own=Dispatcher.solve, **options):
        found = own(self, target, stop, **options)
        seen.append((options, found))
        return found

    monkeypatch.setattr(Dispatcher, "solve", solve)
    return seen


@pytest.fixture
def rough(monkeypatch):
    """A kernel for few items that is content with half of the objective."""
    plain = module.solve_piece

    def solve_piece(*arguments):
        given = list(arguments)
        given[7] = 0.5
        return plain(*given)

    monkeypatch.setattr(module, "solve_piece", solve_piece)


def test_what_the_kernel_has_certified_is_left_alone(calls):
    fits = LatticeGeometry(6).solve(stack(6, 3), Stop(1e-9))
    assert calls == []
    assert fits.reasons == ["done"] * 3
    assert fits.methods == ["rankings"] * 3


@pytest.mark.parametrize("keep", list(Keep))
def test_what_the_kernel_leaves_goes_on_from_there(calls, rough, keep):
    targets = stack(6, 3)
    fits = LatticeGeometry(6).solve(targets, Stop(1e-9), options=SolveOptions(keep=keep), resources=Resources(2))
    assert len(calls) == 3
    for options, found in calls:
        first = options["first"]
        assert options["start"] is first.mixture
        assert len(first.mixture[1]) > 1
        assert flow_from_paths(*first.mixture) == pytest.approx(first.flow, abs=1e-14)
        assert first.certificate.gap > 1e-9 * first.certificate.objective
        assert found.certificate.gap <= 1e-9 * found.certificate.objective
        assert found.certificate.objective < first.certificate.objective
    expected = rf.project_many(np.array([rf.simulate.dirichlet(6, seed=i) for i in range(3)]), tol=1e-12)
    assert [own.gap <= 1e-9 * own.objective for own in fits.certificates] == [True] * 3
    assert fits.objective == pytest.approx(expected.objective, rel=1e-9)
    assert fits.reasons == ["done"] * 3
    for i, target in enumerate(targets):
        assert 0.5 * ((fits.rho[i] - target) ** 2).sum() == pytest.approx(fits.objective[i], rel=1e-12)
        if keep:
            assert flow_from_paths(*fits.mixtures[i]) == pytest.approx(fits.flows[i], abs=1e-13)


def test_every_caller_recovers_alike(rough):
    """Where the kernel for few items gives up, all go on with the same chain."""
    rho = rf.simulate.dirichlet(6, 0)
    fit, many = rf.project(rho), rf.project_many(rho[None])
    assert fit.status is many.status[0] is rf.Status.OPTIMAL
    assert fit.gap <= 1e-9 * fit.objective
    assert (fit.objective, fit.gap) == (many.objective[0], many.gap[0])
    assert np.array_equal(fit.rho, many.rho[0])


def test_a_start_that_is_not_finite_is_no_start(calls, monkeypatch):
    """Rounding may leave the kernel with weights that are no numbers: then the dispatcher begins anew."""
    kernel = module.solve_piece

    def solve_piece(*arguments):
        done = kernel(*arguments[:7], 0.5, *arguments[8:])
        arguments[13].weights[:] = np.nan  # those of the rankings that are kept
        return done

    monkeypatch.setattr(module, "solve_piece", solve_piece)
    fits = LatticeGeometry(5).solve(stack(5, 1), Stop(1e-9), options=SolveOptions(keep=Keep.MIXTURES))
    assert [options["start"] for options, _ in calls] == [None]
    assert fits.reasons == ["done"]


@pytest.mark.parametrize("n", [5, 9])
def test_weights_far_apart_skip_the_kernel(calls, n, rng):
    targets = stack(n, 2)
    weights = 10.0 ** rng.uniform(-3, 3, targets.shape[1:])
    weights[0, 1], weights[1, 1] = 1e-3, 1e3
    fits = LatticeGeometry(n, weights).solve(targets, Stop(1e-9))
    assert len(calls) == 2
    assert all(options["first"] is None for options, _ in calls)
    for i, own in enumerate(fits.certificates):
        assert own.gap <= max(1e-9 * own.objective, own.floor)
        expected = 0.5 * (weights * (fits.rho[i] - targets[i]) ** 2).sum()
        assert own.objective == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [4, 9])
def test_a_problem_does_not_depend_on_its_company(n):
    targets = stack(n, 5)
    geometry = LatticeGeometry(n)
    options = SolveOptions(keep=Keep.FACES)
    whole = geometry.solve(targets, Stop(1e-9), options=options, resources=Resources(2))
    for i, target in enumerate(targets):
        alone = geometry.solve(target[None], Stop(1e-9), options=options)
        assert np.array_equal(alone.rho[0], whole.rho[i])
        assert np.array_equal(alone.mixtures[0][1], whole.mixtures[i][1])
        assert alone.certificates[0] == whole.certificates[i]


def test_one_lattice_for_all_without_weights():
    plain = plain_lattice(4)
    assert plain.weighted(np.ones(plain.shape)) is plain.weighted(NO_WEIGHTS) is plain
    heavy = plain.weighted(np.full(plain.shape, 2.0))
    assert heavy is not plain
    assert (heavy.weights == 2).all()
    cone = plain_lattice(4, True)
    assert len(cone.weighted(np.ones(cone.shape)).weights) == 4  # there the sums of menus are open


def test_workspaces_of_few_items_are_shared():
    weighted = plain_lattice(4).weighted(np.full((4, 8), 2.0))
    assert weighted.small_workspaces is plain_lattice(4).small_workspaces
    assert plain_lattice(10) is not plain_lattice(10)


def test_what_an_interrupt_leaves_is_certified_as_it_is(monkeypatch, rough):
    """Ctrl-C while the dispatcher is at work: what the kernel had certified before is no certificate of what is returned."""
    monkeypatch.setattr(Dispatcher, "solve", lambda *given, first, **options: replace(first, reason="interrupted"))
    targets = stack(5, 6)
    fits = plain_lattice(5).solve(targets, Stop(1e-9), options=SolveOptions(partial=True))
    assert set(fits.reasons) == {"interrupted"}
    for certificate, flow, target in zip(fits.certificates, fits.flows, targets, strict=True):
        assert certificate == plain_lattice(5).certifier(flow, target)
    with pytest.raises(KeyboardInterrupt):
        plain_lattice(5).solve(targets, Stop(1e-9))


def test_an_interrupted_problem_is_raised_or_marked(monkeypatch):
    """Also where it stands alone: half a solution is nobody's statistic."""
    rho = rf.Lattice(9).to_internal(rf.simulate.dirichlet(9, seed=0))[None]
    geometry = plain_lattice(9)
    with monkeypatch.context() as patch:
        Interrupted(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            geometry.solve(rho, Stop(1e-9))
    with monkeypatch.context() as patch:
        Interrupted(patch, 2)
        assert geometry.solve(rho, Stop(1e-9), options=USER_OPTIONS).reasons == ["interrupted"]
