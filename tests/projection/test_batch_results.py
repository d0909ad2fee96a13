"""Results of many projections: views, copies and derivatives equal those of the members."""

import pickle

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.transforms import moebius_adjoint, zeta
from tests.reference.stacks import same_menus, stack


def test_views_of_a_stack_are_projections():
    targets = stack(5, 3)
    batch = rf.project_many(targets)
    for i, target in enumerate(targets):
        view, alone = batch[i], rf.project(target)
        assert isinstance(view, rf.Projection)
        assert view.certificate == batch.certificates[i]
        assert np.array_equal(view.rho, batch.rho[i])
        assert np.array_equal(view.flow, batch.flow[i])
        assert view.objective == pytest.approx(alone.objective, rel=1e-12)
        assert view.observed == pytest.approx(target)
        assert view.complete
        assert [found[:2] for found in view.misfits(2)] == [found[:2] for found in alone.misfits(2)]
        t = np.where(rf.Lattice(5).membership, 1.0, 0.0) * np.arange(5)
        assert view.jvp(t) == pytest.approx(alone.jvp(t), abs=1e-8)
    assert batch.fitted.shape == (3, 26, 5)
    weights = np.where(rf.simulate.observed_menus(5, 0.5, 1), 2.0, 0.0)
    some = rf.project_many(np.where(weights > 0, targets, 0.0), weights)[0]
    assert not some.complete
    assert some.weighted
    assert np.isnan(some.observed[(weights == 0) & rf.Lattice(5).membership]).all()
    assert (some.cell_weights == weights[some.observations.masks]).all()


def test_iterables_and_copies_of_batches():
    data = same_menus(9, 5, 2)
    whole = rf.project_many(data)
    assert np.array_equal(rf.project_many(iter(data)).objective, whole.objective)
    arrays = rf.project_many(stack(4, 3))
    for batch in (whole, arrays):
        again = pickle.loads(pickle.dumps(batch))
        assert np.array_equal(again.objective, batch.objective)
        assert np.array_equal(again[1].fitted, batch[1].fitted, equal_nan=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_products_equal_those_of_the_members(weighted):
    targets = stack(4, 5)
    targets[0] = rf.simulate.mixed_logit(4, seed=0)
    inside = rf.Lattice(4).membership
    rng = np.random.default_rng(1)
    weights = np.where(inside, rng.uniform(1, 2, inside.shape), 0.0) if weighted else None
    vectors = np.where(inside, rng.normal(size=targets.shape), 0.0)
    batch = rf.project_many(targets, weights)
    forward, backward = batch.jvp(vectors), batch.vjp(vectors)
    for i, target in enumerate(targets):
        alone = rf.project(target, weights)
        assert forward[i] == pytest.approx(alone.jvp(vectors[i]), abs=1e-9)
        assert backward[i] == pytest.approx(alone.vjp(vectors[i]), abs=1e-9)


def test_derivatives_span_the_whole_face():
    """A point that is a mixture of three rankings on a larger face moves along all of it."""
    n = 4
    lattice = rf.Lattice(n)
    rng = np.random.default_rng(16)
    orders = rng.permuted(np.tile(np.arange(n), (3, 1)), axis=1)
    flow = flow_from_paths(paths_from_orders(orders), np.array([0.2, 0.3, 0.5]))
    normal = np.where(flow > 0, 0.0, rng.uniform(0.5, 1, flow.shape) * 0.02)
    data = lattice.from_internal(zeta(flow.copy()) - moebius_adjoint(normal))
    t = rng.normal(size=data.shape) * lattice.membership
    step = 1e-6
    plus, minus = rf.project_many([data + step * t, data - step * t], tol=1e-13, throw=False).rho
    expected = (plus - minus) / (2 * step)
    assert rf.project_many([data]).jvp([t])[0] == pytest.approx(expected, abs=1e-5)


def test_derivatives_on_cells_that_were_not_observed():
    """Incomplete data that fit exactly: J and its transpose belong together on all cells."""
    weights = np.where(rf.simulate.observed_menus(4, 0.5, 1), 1.0, 0.0)
    targets = np.where(weights > 0, rf.simulate.mixed_logit(4, seed=0), 0.0)[None]
    inside = rf.Lattice(4).membership
    t, g = np.where(inside, np.random.default_rng(0).normal(size=(2, *inside.shape)), 0.0)
    batch = rf.project_many(targets, weights)
    assert batch.inside[0]
    forward, backward = batch.jvp(t[None])[0], batch.vjp(g[None])[0]
    assert np.abs(forward[inside & (weights == 0)]).max() > 1e-3
    assert (forward * g).sum() == pytest.approx((t * backward).sum(), abs=1e-9)
    fit = rf.project(rf.simulate.hide(rf.simulate.mixed_logit(4, seed=0), weights > 0))
    assert (fit.jvp(t) * g).sum() == pytest.approx((t * fit.vjp(g)).sum(), abs=1e-9)


def test_derivatives_of_data_sets(rng):
    data = same_menus(9, 7, 3)
    batch = rf.project_many(data, route="graph")
    t = np.where(data[0].membership, rng.normal(size=(3, 7, 9)), 0.0)
    forward, backward = batch.jvp(t), batch.vjp(t)
    for i in range(3):
        alone = rf.project(data[i], route="graph")
        assert np.array_equal(forward[i], alone.jvp(t[i]), equal_nan=True)
        assert np.array_equal(backward[i], alone.vjp(t[i]), equal_nan=True)
    with pytest.raises(rf.InputError, match="2 vectors for 3 projections"):
        batch.jvp(t[:2])


def test_no_derivatives_on_the_cone():
    with pytest.raises(rf.InputError, match="cone"):
        rf.project_many(np.ones((1, 12)), cone=True).jvp(np.ones((1, 12)))


def test_a_view_of_a_cone_has_no_derivative_and_no_file(tmp_path):
    view = rf.project_many(stack(4, 2), cone=True)[1]
    with pytest.raises(rf.InputError, match="onto the cone"):
        view.jvp(np.zeros((16, 4)))
    with pytest.raises(rf.InputError, match="onto the cone cannot be saved"):
        view.save(tmp_path / "fit")
