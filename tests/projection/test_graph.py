"""`rf.project` on choice graphs: against the lattice of all menus, enumeration, finite differences and plain certificates."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import rumflow as rf
from rumflow import simulate
from rumflow.projection.observations import Observations
from rumflow.projection.single import fit_observations
from rumflow.solvers.graph import GraphGeometry
from tests.reference.graphs import cheapest_ways, is_single_peaked, orders, projection, respects, type_of_order
from tests.reference.incomplete import some_data


def assert_same_fit(graph, lattice):
    assert graph.method == "graph"
    assert lattice.method != "graph"
    assert graph.status is lattice.status is rf.Status.OPTIMAL
    assert graph.objective == pytest.approx(lattice.objective, rel=1e-9, abs=1e-14)
    known = ~np.isnan(graph.frequencies)
    assert np.array_equal(graph.membership, lattice.membership)
    assert np.abs(graph.fitted - lattice.fitted)[known].max() < 1e-7


def assert_certified(fit):
    """Objective and gap again, from the returned types, by plain passes over the arcs."""
    types, lam = fit.mixture
    geometry, weights, target = fit.geometry, fit.geometry.weights, fit.fits.targets[fit.index]
    table = np.zeros(target.shape)
    for row, share in zip(types, lam, strict=True):
        table[np.arange(len(row)), row] += share
    assert lam.min() > 0
    assert lam.sum() == pytest.approx(1, abs=1e-12)
    assert np.abs(table - fit.fits.rho[fit.index]).max() < 1e-14
    cost = weights * (table - target)
    gap = 0.0
    for graph, menus, part in zip(geometry.graphs, geometry.menus, geometry.parts, strict=True):
        own = cost[menus, : part.width]
        gap += (own * table[menus, : part.width]).sum() - cheapest_ways(graph, own)[1][0]
    objective = 0.5 * (weights * (table - target) ** 2).sum()
    assert fit.objective == pytest.approx(objective, rel=1e-12, abs=1e-15)
    assert fit.gap == pytest.approx(max(gap, 0.0), rel=1e-6, abs=1e-13 * max(1.0, weights.max()))
    assert fit.certificate.menu_error < 1e-12


@settings(max_examples=15)
@given(
    st.integers(0, 10**6),
    st.sampled_from([9, 10]),
    st.integers(2, 40),
    st.booleans(),
    st.sampled_from([None, "counts"]),
)
def test_equal_to_the_lattice(seed, n, m, partly, weights):
    data = some_data(np.random.default_rng(seed), n, m, partly)
    if not (data.membership.sum(axis=1) > 1).any():
        return
    graph = rf.project(data, weights, route="graph")
    assert_same_fit(graph, rf.project(data, weights, route="lattice"))
    assert_certified(graph)


@pytest.mark.parametrize("seed", range(3))
def test_weights_and_arrays(seed):
    rng = np.random.default_rng(seed)
    n = 9
    data = some_data(rng, n, 30, partly=True)
    m = len(data.totals)
    w = np.where(np.isnan(data.counts), 0.0, rng.uniform(0.1, 9.0, (m, n)))
    w[rng.random((m, n)) < 0.2] = 0.0  # recorded, but of no weight
    every = np.zeros((1 << n, n))
    every[data.masks] = w
    lattice = rf.project(data, every, route="lattice")
    for given_weights in (w, every):
        graph = rf.project(data, given_weights, route="graph")
        assert graph.objective == pytest.approx(lattice.objective, rel=1e-9)
        assert np.abs(graph.fitted - lattice.fitted)[w > 0].max() < 1e-7
        assert graph.weighted
        assert_certified(graph)
    array = np.full((1 << n, n), np.nan)
    array[data.masks] = data.frequencies
    graph = rf.project(array, route="graph")
    assert_same_fit(graph, rf.project(array, route="lattice"))
    assert graph.objective == pytest.approx(rf.project(data, route="graph").objective, rel=1e-9)
    assert rf.project(array).method == "graph"


def test_the_same_bits_for_any_number_of_threads():
    data = simulate.random_menus(20, 60, 8, seed=1)
    one, two = (rf.project(data, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.fitted, two.fitted, equal_nan=True)
    assert np.array_equal(one.types, two.types)
    assert one.certificate == two.certificate
    t = np.random.default_rng(0).normal(size=data.counts.shape)
    assert np.array_equal(one.jvp(t), two.jvp(t), equal_nan=True)


def test_start_time_limit_and_progress():
    data = simulate.random_menus(18, 40, 9, seed=2)
    rounds = []
    fit = rf.project(data, progress=rounds.append)
    assert len(rounds) > 1
    assert rounds[-1].gap <= fit.gap + 1e-9
    for start in (fit, fit.rankings):
        again = rf.project(data, start=start)
        assert again.iterations < fit.iterations
        assert again.objective == pytest.approx(fit.objective, rel=1e-9)
    short = rf.project(data, max_seconds=1e-6, throw=False)
    assert short.status is rf.Status.MAX_SECONDS
    assert short.gap > fit.gap
    assert short.objective - short.gap <= fit.objective * (1 + 1e-9)  # the certificate of an early end holds
    with pytest.raises(rf.NotConvergedError) as stopped:
        rf.project(data, max_seconds=1e-6)
    assert rf.project(data, start=stopped.value.fit).status is rf.Status.OPTIMAL
    # An earlier fit on other menus of these items is a start as well.
    other = simulate.random_menus(18, 20, 9, seed=3)
    assert rf.project(data, start=rf.project(other)).objective == pytest.approx(fit.objective, rel=1e-9)


def numeric_derivative(data, fit, t, weights=None, **options):
    """Central differences of the fit, by moving the frequencies."""
    h = 1e-6
    ends = []
    for sign in (1, -1):
        moved = Observations(data)
        moved.shares = moved.shares + sign * h * t[data.membership]
        ends.append(fit_observations(moved, fit.geometry, weights, 1e-13).fitted)
    return (ends[0] - ends[1]) / (2 * h)


@pytest.mark.parametrize(
    ("partly", "weights", "model"),
    [
        (False, None, None),
        (True, "counts", None),
        (True, None, rf.RandomUtility(above=[(0, 1), (4, 2)])),
        (False, None, rf.SinglePeaked([3, 1, 0, 2, 4, 6, 5, 7])),
    ],
)
def test_derivatives_equal_finite_differences(partly, weights, model):
    rng = np.random.default_rng(7)
    data = some_data(rng, 8, 20, partly)
    fit = rf.project(data, weights, tol=1e-13, throw=False, model=model, route="graph")
    recorded = ~np.isnan(data.counts) & (data.membership.sum(axis=1, keepdims=True) > 1)
    for _ in range(3):
        t = np.where(recorded, rng.normal(size=recorded.shape), 0.0)
        g = np.where(recorded, rng.normal(size=recorded.shape), 0.0)
        forward, backward = fit.jvp(t), fit.vjp(g)
        assert np.abs(forward - numeric_derivative(data, fit, t, weights))[recorded].max() < 1e-6
        assert np.nansum(forward * g) == pytest.approx(np.nansum(t * backward), rel=1e-9, abs=1e-12)
    with pytest.raises(rf.InputError, match="like `frequencies`"):
        fit.jvp(np.zeros((3, 3)))


def test_derivatives_where_few_types_are_active_on_a_large_face():
    # Three pairs in the middle of their edge and one beyond its end: two types are enough for the fit, but its face is a cube.
    pairs = rf.ChoiceData.from_counts({(2 * i, 2 * i + 1): {2 * i: 1, 2 * i + 1: 1} for i in range(4)}, items=range(8))
    observed = Observations(pairs)
    observed.shares[-2:] = 1.3, -0.3
    fit = fit_observations(observed, GraphGeometry(rf.RandomUtility(), observed.cells))
    assert len(fit.types) == 2
    assert fit.objective == pytest.approx(0.09)
    cells = np.argwhere(pairs.membership)
    jacobian = np.empty((8, 8))
    for k, (i, x) in enumerate(cells):
        t = np.zeros((4, 8))
        t[i, x] = 1.0
        jacobian[:, k] = fit.jvp(t)[pairs.membership]
    half = np.array([[0.5, -0.5], [-0.5, 0.5]])
    expected = np.kron(np.diag([1.0, 1.0, 1.0, 0.0]), half)
    assert np.abs(jacobian - expected).max() < 1e-12
    assert np.linalg.matrix_rank(jacobian, tol=1e-9) == 3


def test_more_items_than_arrays_hold():
    data = simulate.stock_outs(70, 40, seed=0)
    fit = rf.project(data)
    assert fit.n == 70
    assert fit.status is rf.Status.OPTIMAL
    for name in ("rho", "flow"):
        with pytest.raises(rf.InputError, match="fitted"):
            getattr(fit, name)
    with pytest.raises(rf.InputError, match="need every menu"):
        fit.violations()
    assert sum(fit.probabilities(range(70)).values()) == pytest.approx(1)
    assert not rf.is_rum(data)
    assert rf.is_rum(simulate.stock_outs(70, 40, draws=None, seed=0))
    assert_certified(fit)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: rf.project(data, route="short"), "route='short': accepted are None, 'lattice', 'graph'"),
        (lambda data: rf.project(data, route="lattice", model=rf.SinglePeaked(range(12))), "leave route out"),
        (lambda data: rf.project(simulate.random_menus(30, 9, 4), route="lattice"), "at most 24 items"),
        (lambda data: rf.project(data, weights="size", route="graph"), "accepted are None, 'counts'"),
        (
            lambda data: rf.project(data, weights=np.ones((3, 3)), route="graph"),
            r"shape \(20, 12\) or \(4096, 12\) is needed, not \(3, 3\)",
        ),
        (lambda data: rf.project(data, weights=np.zeros((20, 12)), route="graph"), "every weight is 0"),
        (lambda data: rf.project(data, method="simplex", route="graph"), "method='simplex'"),
        (lambda data: rf.project(data, max_seconds=-1, route="graph"), "max_seconds=-1"),
        (lambda data: rf.project(data, tol=2, route="graph"), "tol=2"),
        (lambda data: rf.project(data, model=rf.RandomUtility(above=[("x", 0)])), "item 'x' is unknown"),
        (lambda data: rf.project(data, model=rf.SinglePeaked([0, 1])), "item 2 of the data is missing"),
        (lambda data: rf.project(data, model=rf.Types([[0, 1]])), "20 columns are needed"),
    ],
)
def test_errors(call, message):
    with pytest.raises(rf.InputError, match=message):
        call(simulate.random_menus(12, 20, 4, seed=0))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ((1.3, -0.3), "item 1: the probability is -0.3"),
        ((np.inf, 0.0), "infinite"),
        ((0.3, 0.3), "add up to 0.6"),
    ],
)
def test_arrays_are_checked_on_graphs_too(cells, message):
    array = np.full((1 << 9, 9), np.nan)
    array[3, :2] = cells
    array[7, :3] = 0.2, 0.3, 0.5
    with pytest.raises(rf.InputError, match=message):
        rf.project(array, route="graph")


def enumerated(fit, data, keep):
    cells = fit.geometry.cells
    types = sorted({type_of_order(cells, order) for order in orders(data.n, keep)})
    return projection(types, cells.shape, fit.fits.targets[fit.index], fit.geometry.weights)[1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("partly", [False, True])
def test_models_equal_enumeration(seed, partly):
    rng = np.random.default_rng(seed)
    data = some_data(rng, 5, 9, partly)
    plain = rf.project(data, route="graph")
    assert plain.objective == pytest.approx(enumerated(plain, data, lambda order: True), rel=1e-7, abs=1e-10)
    above = rf.project(data, model=rf.RandomUtility(above=[(0, 1), (1, 4)]))
    assert above.objective == pytest.approx(enumerated(above, data, respects([(0, 1), (1, 4)])), rel=1e-7, abs=1e-10)
    assert all(list(o).index(0) < list(o).index(1) < list(o).index(4) for o in above.rankings.orders)
    peaked = rf.project(data, model=rf.SinglePeaked(range(5)))
    assert peaked.objective == pytest.approx(enumerated(peaked, data, is_single_peaked), rel=1e-7, abs=1e-10)
    assert all(is_single_peaked(tuple(o)) for o in peaked.rankings.orders)
    for fit in (plain, above, peaked):
        assert_certified(fit)
        assert fit.objective >= plain.objective - fit.gap - plain.gap


def test_types_and_graphs_given_by_hand():
    data = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 6, "b": 4}, ("a", "c"): {"a": 3, "c": 7}, ("b", "c"): {"b": 9, "c": 1}}
    )
    observed = [tuple(menu) for menu in data.menus]
    rows = [["a", "a", "b"], ["b", "c", "c"], ["b", "c", "b"]]
    table = [[row[[("a", "b"), ("a", "c"), ("b", "c")].index(menu)] for menu in observed] for row in rows]
    fit = rf.project(data, model=rf.Types(table))
    arcs = [(0, 1, [(menu, item) for menu, item in zip(observed, row, strict=True)]) for row in table]
    same = rf.project(data, model=rf.ChoiceGraph(2, arcs))
    assert fit.objective == pytest.approx(same.objective, rel=1e-9)
    assert {tuple(data.items[x] for x in row) for row in fit.types} <= {tuple(row) for row in table}
    assert_certified(fit)
    assert_certified(same)
    with pytest.raises(rf.InputError, match="have no rankings"):
        _ = fit.rankings
    with pytest.raises(rf.InputError, match="at most 22 items"):
        _ = fit.rho
    assert fit.probabilities(("a", "b"))["a"] == pytest.approx(fit.fitted[observed.index(("a", "b")), 0])
    with pytest.raises(rf.InputError, match="have no rankings"):
        fit.probabilities(("a", "b", "c"))
    assert rf.project(data, model=rf.Types(table), start=fit).objective == pytest.approx(fit.objective, rel=1e-9)


def test_groups_without_a_common_item():
    rng = np.random.default_rng(0)
    one, two = some_data(rng, 5, 12), some_data(rng, 6, 14)
    m = len(one.totals)
    counts = np.full((m + len(two.totals), 11), np.nan)
    counts[:m, :5], counts[m:, 5:] = one.counts, two.counts
    member = np.zeros(counts.shape, bool)
    member[:m, :5], member[m:, 5:] = one.membership, two.membership
    both = rf.ChoiceData(tuple(range(11)), member, counts, np.concatenate([one.totals, two.totals]))
    fit = rf.project(both, "counts", route="graph")
    apart = [rf.project(part, "counts", route="lattice") for part in (one, two)]
    assert len(fit.geometry.graphs) >= 2
    assert fit.objective == pytest.approx(sum(part.objective for part in apart), rel=1e-9)
    assert_same_fit(fit, rf.project(both, "counts", route="lattice"))
    assert_certified(fit)


@pytest.mark.parametrize("seed", range(6))
def test_groups_of_menus_that_do_not_count(seed):
    """Two groups of items that share no menu, one of weight 0: as if its menus had been left out, through every function."""
    rng = np.random.default_rng(seed)
    left = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    right = [("d", "e"), ("e", "f"), ("d", "f"), ("d", "e", "f")]
    counts = {menu: dict(zip(menu, rng.integers(1, 30, len(menu)).tolist(), strict=True)) for menu in [*left, *right]}
    data = rf.ChoiceData.from_counts(counts)
    off = [seed % 2 == (menu[0] in "abc") for menu in data.menus]
    weights = np.where(data.membership, rng.uniform(0.5, 2.0, data.membership.shape), 0.0)
    weights[off] = 0.0
    kept = rf.ChoiceData.from_counts({menu: counts[menu] for menu in (right if seed % 2 else left)})
    rows = ~np.array(off)
    inside = data.membership[:, data.membership[rows].any(axis=0)][rows]
    own = weights[rows][:, data.membership[rows].any(axis=0)]
    takes = np.array(
        [
            [next(x for x in order if row[x]) == item for row in inside for item in np.flatnonzero(row)]
            for order in permutations(range(3))
        ],
        float,
    )
    w, p = own[inside], (kept.counts / kept.totals[:, None])[inside]
    heavy = 1e4
    matrix = np.vstack([np.sqrt(w)[:, None] * takes.T, np.full(6, heavy)])
    best = 0.5 * nnls(matrix, np.append(np.sqrt(w) * p, heavy))[1] ** 2
    fit = rf.project(data, weights, route="graph")
    assert fit.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert rf.project(data, weights, route="lattice").objective == pytest.approx(fit.objective, rel=1e-8, abs=1e-12)
    assert rf.project_many([data, data], weights, route="graph").objective == pytest.approx([fit.objective] * 2)
    test = rf.rum_test(data, 9, weights=weights, seed=0)
    assert test.statistic == pytest.approx(2 * fit.objective * kept.n_observations, rel=1e-6, abs=1e-9)
    assert test.pvalue == rf.rum_test(kept, 9, weights=own, seed=0).pvalue
    menu = ("a", "b") if seed % 2 else ("d", "e")
    assert rf.bounds(data, menu, weights=weights, confidence=None)[menu[0]] == pytest.approx((0.0, 1.0), abs=1e-9)
