"""Stacks of projections equal their members: bits, starts, weights, cones, derivatives, interrupts."""

import pickle

import numpy as np
import pytest
from scipy.optimize import nnls

import rumflow as rf
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.transforms import moebius_adjoint, zeta
from tests.reference import lattice as reference
from tests.reference.interrupts import Interrupted


def stack(n, count, seed=0):
    return np.array([rf.simulate.noisy_rankings(n, draws=20, seed=seed + i) for i in range(count)])


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


def test_forms_and_threads_give_the_same_bits():
    lattice = rf.Lattice(5)
    targets = stack(5, 40)
    arrays = rf.project_many(targets, threads=1)
    cells = rf.project_many(targets[:, lattice.membership], threads=3)
    assert (cells.rho == arrays.rho[:, lattice.membership]).all()
    assert (cells.flow == arrays.flow[:, lattice.membership]).all()
    assert (cells.gap == arrays.gap).all()


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


def test_warm_start():
    targets = stack(8, 10)
    cold = rf.project_many(targets)
    moved = targets + 1e-4 * np.random.default_rng(0).normal(size=targets.shape) * (targets > 0)
    warm = rf.project_many(moved, start=cold)
    assert warm.rho == pytest.approx(rf.project_many(moved).rho, abs=1e-9)
    assert warm.iterations.sum() < 0.5 * cold.iterations.sum()
    one = rf.project(targets[0])
    assert rf.project_many(targets, start=one).objective == pytest.approx(cold.objective, rel=1e-9)


def test_weights_and_unobserved_cells():
    targets = stack(5, 6)
    weights = np.where(rf.simulate.observed_menus(5, 0.5, 1), 3.0, 0.0)
    targets[:, weights == 0] = 0.0
    batch = rf.project_many(targets, weights)
    for target, objective in zip(targets, batch.objective, strict=True):
        expected = rf.project(rf.simulate.hide(target, weights > 0), weights).objective
        assert objective == pytest.approx(expected, rel=1e-9, abs=1e-14)


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


def test_empty_batch():
    batch = rf.project_many(np.empty((0, 80)))
    assert len(batch) == 0
    assert batch.rho.shape == (0, 80)
    assert rf.project_many(np.empty((0, 8, 3))).flow.shape == (0, 8, 3)


def test_bad_input():
    targets = stack(3, 4)
    with pytest.raises(rf.InputError, match=r"shape \(B, 2\^n, n\)"):
        rf.project_many(np.zeros((2, 7)))
    targets[2, 5, 2] = np.nan
    with pytest.raises(rf.InputError, match=r"problem 2: menu \{0, 2\} \(mask 5\), item 2 is nan"):
        rf.project_many(targets)
    with pytest.raises(rf.InputError, match="3 mixtures for 4 problems"):
        rf.project_many(stack(3, 4), start=[None] * 3)
    with pytest.raises(rf.InputError, match="every weight is 0"):
        rf.project_many(stack(3, 4), np.zeros((8, 3)))


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


def test_no_derivatives_on_the_cone():
    with pytest.raises(rf.InputError, match="cone"):
        rf.project_many(np.ones((1, 12)), cone=True).jvp(np.ones((1, 12)))


def test_starts_of_other_sizes_and_broken_ones_are_refused():
    four, five = (rf.simulate.dirichlet(n, 1) for n in (4, 5))
    with pytest.raises(rf.InputError, match="a fit for n = 5 items, problems for n = 4"):
        rf.project_many(four[None], start=rf.project(five))
    paths, weights = rf.project(four).mixture
    for broken in (
        (paths[:, :3], weights),
        (paths + 8, weights),
        (np.zeros_like(paths), weights),
        (paths, -weights),
        (paths, weights[:-1]),
    ):
        with pytest.raises(rf.InputError, match="start: mixture 0 must be paths of rankings of 4 items"):
            rf.project_many(four[None], start=[broken])


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


def test_a_start_with_weights_of_zero():
    target = rf.simulate.dirichlet(4, 0)
    path = rf.project(target).mixture[0][:1]
    start = [(np.repeat(path, 2, axis=0), np.array([0.0, 1.0]))]
    assert rf.project_many([target], start=start).objective == pytest.approx(rf.project(target).objective)


def test_numbers_that_would_overflow():
    with pytest.raises(rf.InputError, match="1e\\+150"):
        rf.project_many(np.full((1, 12), 1e200))
    with pytest.raises(rf.InputError, match="1e\\+150"):
        rf.project_many(np.ones((1, 12)), np.full(12, 1e200))


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


def random_data(n, m, seed, draws=40):
    return rf.simulate.random_menus(n, m, 3, draws=draws, seed=seed)


def same_menus(n, m, count):
    """Samples of several populations from the same menus."""
    first = random_data(n, m, 0)
    rng = np.random.default_rng(1)
    found = [first]
    for _ in range(count - 1):
        counts = np.full(first.counts.shape, np.nan)
        for row, inside, total in zip(counts, first.membership, first.totals, strict=True):
            row[inside] = rng.multinomial(int(total), rng.dirichlet(np.ones(inside.sum())))
        found.append(rf.ChoiceData(first.items, first.membership, counts, first.totals))
    return found


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


def test_starts_of_data_sets():
    data = same_menus(12, 9, 3)
    cold = rf.project_many(data)
    for start in (cold, cold[0]):
        warm = rf.project_many(data, start=start)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
    assert rf.project_many(data, start=cold).iterations.sum() < cold.iterations.sum()
    with pytest.raises(rf.InputError, match="with data sets, an earlier batch or a projection is needed"):
        rf.project_many(data, start=[None] * 3)


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


def test_an_empty_stack():
    for threads in (1, 2):
        batch = rf.project_many(np.empty((0, 8, 3)), threads=threads)
        assert (len(batch), batch.rho.shape, batch.lattice.n) == (0, (0, 8, 3), 3)
        assert len(rf.project_many(np.empty((0, 8, 3)), start=batch)) == 0


def test_what_data_sets_refuse():
    data = same_menus(9, 5, 2)
    for options in ({"cone": True}, {"n": 9}):
        with pytest.raises(rf.InputError, match="is for stacks of arrays on the lattice"):
            rf.project_many(data, **options)
    with pytest.raises(rf.InputError, match="start: a batch of 1 projections for 2 data sets"):
        rf.project_many(data, start=rf.project_many(data[:1]))
    with pytest.raises(rf.InputError, match="data set 1: weights: an array of shape"):
        rf.project_many([data[0], random_data(9, 6, 1)], np.ones((len(data[0].totals), 9)))


def test_iterables_and_copies_of_batches():
    data = same_menus(9, 5, 2)
    whole = rf.project_many(data)
    assert np.array_equal(rf.project_many(iter(data)).objective, whole.objective)
    arrays = rf.project_many(stack(4, 3))
    for batch in (whole, arrays):
        again = pickle.loads(pickle.dumps(batch))
        assert np.array_equal(again.objective, batch.objective)
        assert np.array_equal(again[1].fitted, batch[1].fitted, equal_nan=True)


def test_a_view_of_a_cone_has_no_derivative_and_no_file(tmp_path):
    view = rf.project_many(stack(4, 2), cone=True)[1]
    with pytest.raises(rf.InputError, match="onto the cone"):
        view.jvp(np.zeros((16, 4)))
    with pytest.raises(rf.InputError, match="onto the cone cannot be saved"):
        view.save(tmp_path / "fit")
