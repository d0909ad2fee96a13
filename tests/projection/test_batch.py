"""Projections of stacks and data sets equal those of their members: bits, weights, cones, interrupts."""

from collections import OrderedDict

import numpy as np
import pytest
from scipy.optimize import nnls

import rumflow as rf
from rumflow.models import open_menus
from rumflow.solvers import routes
from tests.reference import lattice as reference
from tests.reference.interrupts import Interrupted
from tests.reference.stacks import random_data, same_menus, stack


@pytest.mark.parametrize("n", [3, 5, 9])
def test_a_batch_equals_its_members(n):
    targets = stack(n, 12)
    batch = rf.project_many(targets)
    for target, rho, objective, gap in zip(targets, batch.rho, batch.objective, batch.gap, strict=True):
        assert (rf.project_many([target]).rho[0] == rho).all()
        alone = rf.project(target)
        assert rho == pytest.approx(alone.rho, abs=1e-7)
        assert objective == pytest.approx(alone.objective, rel=1e-12, abs=1e-25)
        assert gap <= max(1e-9 * objective, 1e-12)


def test_any_finite_numbers():
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        batch = rf.project_many(scale * rng.normal(size=(20, 80)))
        assert batch.flow.min() >= 0
        sums = batch.lattice.from_internal(batch.lattice.cells_to_internal(batch.rho[0])).sum(axis=1)[1:]
        assert sums == pytest.approx(1, abs=1e-12)


def test_sums_other_than_one_are_not_inside():
    rho = rf.simulate.mixed_logit(4, seed=0)
    batch = rf.project_many([2 * rho, rho])
    assert batch.distance[0] > 0.1
    assert batch.distance[1] <= 1e-13
    assert batch.rho[1] == pytest.approx(rho, abs=1e-14)


def test_weights_and_unobserved_cells():
    targets = stack(5, 6)
    weights = np.where(rf.simulate.observed_menus(5, 0.5, 1), 3.0, 0.0)
    targets[:, weights == 0] = 0.0
    batch = rf.project_many(targets, weights)
    for target, objective in zip(targets, batch.objective, strict=True):
        expected = rf.project(rf.simulate.hide(target, weights > 0), weights).objective
        assert objective == pytest.approx(expected, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_cone_agrees_with_enumeration(n, weighted):
    rng = np.random.default_rng(n)
    inside = rf.Lattice(n).membership
    targets = np.where(inside, rng.normal(0.3, 0.5, (8, *inside.shape)), 0.0)
    # As in published tests: the last item of every menu dropped.
    last = np.array([int(mask).bit_length() - 1 for mask in range(1 << n)])
    dropped = inside & (np.arange(n) != last[:, None])
    weights = np.where(dropped, rng.uniform(0.5, 2, inside.shape), 0.0) if weighted else inside.astype(float)
    batch = rf.project_many(targets, weights, cone=True)
    columns = np.array([reference.choice_array(order)[weights > 0] for order in reference.all_rankings(n)]).T
    root = np.sqrt(weights[weights > 0])
    for target, objective, gap in zip(targets, batch.objective, batch.gap, strict=True):
        _, norm = nnls(root[:, None] * columns, root * target[weights > 0])
        assert objective == pytest.approx(norm**2 / 2, abs=1e-9)
        assert objective - norm**2 / 2 <= gap + 1e-9
    assert batch.flow.min() >= 0


def test_cone_of_nothing_good_is_zero():
    batch = rf.project_many(-np.ones((1, 12)), cone=True)
    assert (batch.rho == 0).all()
    assert batch.objective[0] == pytest.approx(6)


def test_far_away_data_are_projected_as_accurately_as_near_ones():
    """The distance that no RUM can change does not loosen the stopping rule."""
    rho = rf.simulate.dirichlet(4, 0)
    far = np.where(rf.Lattice(4).membership, rho + 1e3, 0.0)
    batch = rf.project_many([rho, far])
    assert batch.rho[1] == pytest.approx(batch.rho[0], abs=1e-9)


def test_tolerances():
    for tol in (5, -1.0, 0, float("nan"), "x"):
        with pytest.raises(rf.InputError, match="a number between 0 and 1"):
            rf.project_many(stack(3, 1), tol=tol)


def test_nothing_chosen_in_the_cone():
    """Data on the far side of the cone are nearest to 0, also where the factor takes the place of the inverse."""
    for weights in (None, np.r_[1e6, np.ones(11)]):
        batch = rf.project_many(-np.ones((2, 12)), weights, cone=True)
        assert not batch.rho.any()
        assert batch.objective == pytest.approx(6.0 if weights is None else 0.5 * weights.sum())


def test_an_interrupt_ends_a_stack_and_keeps_what_is_done(monkeypatch):
    stack = np.stack([rf.simulate.noisy_rankings(9, seed=s) for s in range(4)])
    whole = rf.project_many(stack, threads=1)
    Interrupted(monkeypatch, int(whole.iterations[0]) + 3)
    found = rf.project_many(stack, threads=1, throw=False)
    assert found.status == [rf.Status.OPTIMAL, *[rf.Status.INTERRUPTED] * 3]
    assert (found.rho[0] == whole.rho[0]).all()
    assert (found.gap[1:] > 0.1).all()
    Interrupted(monkeypatch, 2)
    with pytest.raises(rf.NotConvergedError, match="interrupted") as error:
        rf.project_many(stack, threads=1)
    assert error.value.interrupted


def assert_same(one, alone):
    assert one.method == alone.method
    assert one.status is alone.status
    assert one.certificate == alone.certificate
    assert np.array_equal(one.fitted, alone.fitted, equal_nan=True)
    for mine, other in zip(one.mixture, alone.mixture, strict=True):
        assert np.array_equal(mine, other)
    assert np.array_equal(one.types, alone.types)
    assert one.items == alone.items


@pytest.mark.parametrize("weights", [None, "counts", "inverse-variance"])
@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_data_sets_are_projected_as_if_alone(route, weights):
    same = same_menus(9, 6, 3)
    data = [same[0], random_data(9, 5, 7), *same[1:], random_data(9, 8, 8)]
    batch = rf.project_many(data, weights, route=route)
    assert len(batch) == 5
    alone = [rf.project(one, weights, route=route) for one in data]
    for one, own in zip([batch[i] for i in range(5)], alone, strict=True):
        assert isinstance(one, rf.Projection)
        assert_same(one, own)
    assert (batch.objective == [own.objective for own in alone]).all()
    assert (batch.gap == [own.gap for own in alone]).all()
    assert (batch.distance == [own.distance for own in alone]).all()
    assert batch.inside.tolist() == [own.inside for own in alone]
    assert (batch.iterations == [own.iterations for own in alone]).all()
    assert [len(own[1]) for own in batch.mixtures] == [len(own.fits.mixtures[0][1]) for own in alone]
    assert batch.status == [rf.Status.OPTIMAL] * 5
    assert repr(batch).startswith("ProjectionBatch(5 problems, 5 optimal")


def test_data_sets_with_the_same_menus_share_a_graph():
    batch = rf.project_many(same_menus(12, 9, 3))
    assert len({id(batch[i].geometry) for i in range(3)}) == 1
    assert [batch[i].index for i in range(3)] == [0, 1, 2]
    assert batch[0].method == "graph"
    assert batch.fitted.shape == (3, 9, 12)
    assert np.array_equal(batch.fitted[1], batch[1].fitted, equal_nan=True)
    counts = rf.project_many([*same_menus(12, 9, 2), random_data(12, 9, 0, draws=20)], "counts")
    assert counts[0].geometry is counts[1].geometry
    assert counts[2].geometry is not counts[0].geometry  # other weights
    assert counts[2].geometry.graphs is counts[0].geometry.graphs  # of the same graph
    apart = rf.project_many([random_data(12, 9, 0), random_data(12, 9, 1)])
    with pytest.raises(rf.InputError, match=r"the problems have different menus; take them one by one, batch\[i\]"):
        _ = apart.fitted


def test_one_data_set():
    data = random_data(10, 6, 2)
    batch = rf.project_many(data)
    assert len(batch) == 1
    assert_same(batch[0], rf.project(data))
    assert batch.fitted.shape == (1, 6, 10)
    with pytest.raises(IndexError):
        _ = batch[1]


@pytest.mark.parametrize(
    "options",
    [{"model": rf.SinglePeaked(range(4))}, {"route": "graph"}, {"route": "lattice"}, {"model": rf.RandomUtility()}],
)
def test_arrays_with_a_model_or_a_route(options):
    """NaN says what was not observed, as for one array."""
    arrays = stack(4, 3)
    arrays[:, 5] = np.nan
    batch = rf.project_many(arrays, **options)
    for i in range(3):
        assert_same(batch[i], rf.project(arrays[i], **options))
    assert batch.fitted.shape == (3, 10, 4)


def test_budgets_have_a_model_each():
    rng = np.random.default_rng(0)
    data = []
    for _ in range(2):
        prices = np.exp(rng.normal(0, 0.5, (3, 2)))
        data.append(rf.BudgetData.from_shares(prices, np.repeat(np.arange(3), 30), rng.dirichlet(np.ones(2), 90)))
    batch = rf.project_many(data)
    for i in range(2):
        assert_same(batch[i], rf.project(data[i]))
    assert batch[0].geometry is not batch[1].geometry


def test_data_sets_that_do_not_converge():
    data = [random_data(9, 6, i) for i in range(2)]
    with pytest.raises(rf.InputError, match="route='short'"):
        rf.project_many(data, route="short")
    rough = rf.project_many(data, tol=0.5, route="graph")
    assert (rough.gap <= 0.5 * rough.objective + 1e-12).all()


@pytest.mark.parametrize("menus", ["same", "other"])
def test_an_interrupt_ends_data_sets_and_keeps_what_is_done(monkeypatch, menus):
    data = same_menus(12, 9, 3) if menus == "same" else [random_data(12, 9, i) for i in range(3)]
    whole = rf.project_many(data, threads=1)
    Interrupted(monkeypatch, int(whole.iterations[0]) + 2)
    found = rf.project_many(data, threads=1, throw=False)
    assert found.status == [rf.Status.OPTIMAL, *[rf.Status.INTERRUPTED] * 2]
    assert np.array_equal(found[0].fitted, whole[0].fitted, equal_nan=True)
    for i in (1, 2):
        assert found.objective[i] - found.gap[i] <= whole.objective[i]  # the certificate of an early end holds
    Interrupted(monkeypatch, 2)
    with pytest.raises(rf.NotConvergedError, match="interrupted"):
        rf.project_many(data, threads=1)


def test_an_interrupt_while_a_graph_is_built_keeps_what_is_done(monkeypatch):
    data = [random_data(12, 9, i) for i in range(3)]
    plain, calls = open_menus.expand, []

    def interrupt(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(*arguments)

    whole = rf.project_many(data)
    monkeypatch.setattr(open_menus, "expand", interrupt)
    monkeypatch.setattr(routes, "_kept", OrderedDict())
    found = rf.project_many(data, throw=False)
    assert found.status == [rf.Status.OPTIMAL, *[rf.Status.INTERRUPTED] * 2]
    assert np.array_equal(found[0].fitted, whole[0].fitted, equal_nan=True)
    assert ((found.objective - found.gap)[1:] <= whole.objective[1:]).all()
    assert len(calls) == 2  # nothing is built after it
    calls.clear()
    routes._kept.clear()
    with pytest.raises(rf.NotConvergedError) as error:
        rf.project_many(data)
    assert error.value.interrupted


def test_what_data_sets_refuse():
    data = same_menus(9, 5, 2)
    for options in ({"cone": True}, {"n": 9}):
        with pytest.raises(rf.InputError, match="is for stacks of arrays on the lattice"):
            rf.project_many(data, **options)
    with pytest.raises(rf.InputError, match="start: a batch of 1 projections for 2 data sets"):
        rf.project_many(data, start=rf.project_many(data[:1]))
    with pytest.raises(rf.InputError, match="data set 1: weights: an array of shape"):
        rf.project_many([data[0], random_data(9, 6, 1)], np.ones((len(data[0].totals), 9)))
