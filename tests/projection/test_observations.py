"""What was observed, whatever it came as: menus, probabilities, weights, and where they are in the layout of a geometry."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.projection.observations import Observations, lattice_positions, observe
from rumflow.solvers.graph import GraphGeometry
from rumflow.solvers.lattice import LatticeGeometry
from tests.reference.examples import FIRST, SECOND
from tests.reference.incomplete import some_data


@pytest.mark.parametrize("n", [1, 3, 5])
def test_positions_on_the_lattice(n):
    lattice = rf.Lattice(n)
    mask, item = lattice.cells.T
    assert (lattice_positions(n, mask, item) == lattice.cell_index).all()
    flat = lattice.cells_to_internal(np.arange(float(lattice.n_cells))[None])[0].reshape(-1)
    assert flat[lattice_positions(n, mask, item)].tolist() == list(range(lattice.n_cells))


def test_choices_and_arrays_are_observed_alike():
    rng = np.random.default_rng(1)
    data = some_data(rng, 5, 9, partly=True)
    array = np.where(rf.Lattice(5).membership, np.nan, 0.0)
    array[data.masks] = np.where(data.membership, data.frequencies, 0.0)
    one, two = Observations(data), Observations(array)
    assert one.sizes.tolist() == data.totals.tolist()
    assert two.sizes is None
    assert not two.whole
    seen = (~np.isnan(one.frequencies)).any(axis=1) & (one.membership.sum(axis=1) > 1)  # of arrays only such menus
    assert (one.masks[seen] == two.masks).all()
    assert (one.membership[seen] == two.membership).all()
    assert np.array_equal(one.frequencies[seen], two.frequencies, equal_nan=True)
    several = ~np.isnan(one.over_all_menus()) & (np.bitwise_count(np.arange(32)) != 1)[:, None]
    assert (one.over_all_menus()[several] == two.over_all_menus()[several]).all()
    assert Observations(rf.simulate.dirichlet(4, 0)).whole
    assert (Observations(rf.simulate.dirichlet(4, 0)).membership.sum(axis=1) >= 2).all()


def test_menus_of_one_item_leave_no_choice():
    """FIRST has {a}, {a, b} and {b, c}."""
    own = Observations(FIRST)
    assert own.rows.tolist() == [1, 2]
    assert (own.cells.membership == FIRST.membership[1:]).all()
    alone = Observations(rf.ChoiceData.from_counts({("a",): {"a": 4}, ("b",): {"b": 2}}))
    with pytest.raises(rf.InputError, match="every menu leaves no choice"):
        _ = alone.rows


def test_layouts_by_hand():
    own = Observations(FIRST)
    graph = GraphGeometry(rf.RandomUtility(), own.cells)
    target, weights = own.lay_out(graph, "counts")
    assert target.tolist() == [[0.25, 0.75], [0.75, 0.25]]
    assert weights.tolist() == [[4.0, 4.0], [8.0, 8.0]]
    lattice = rf.Lattice(3)
    target, weights = own.lay_out(LatticeGeometry(3), "counts")
    found, w = lattice.from_internal(target), lattice.from_internal(weights)
    assert found[[3, 6]].tolist() == [[0.25, 0.75, 0.0], [0.0, 0.75, 0.25]]
    assert w[[3, 6]].tolist() == [[4.0, 4.0, 0.0], [0.0, 8.0, 8.0]]
    assert not w[[5, 7]].any()
    # A menu of one item is certain: 1, at the weight of the lightest that counts, or at its own.
    assert [found[m, x] for m, x in ((1, 0), (2, 1), (4, 2))] == [1.0] * 3
    assert [w[m, x] for m, x in ((1, 0), (2, 1), (4, 2))] == [9.0, 4.0, 4.0]


@pytest.mark.parametrize("route", ["lattice", "graph"])
@pytest.mark.parametrize("partly", [False, True])
def test_weights_like_frequencies_are_those_over_all_menus(route, partly):
    rng = np.random.default_rng(4)
    data = some_data(rng, 6, 12, partly)
    own = np.where(np.isnan(data.counts), 0.0, rng.uniform(0.1, 9.0, data.counts.shape))
    every = np.zeros((64, 6))
    every[data.masks] = own
    a, b = (rf.project(data, weights, route=route) for weights in (own, every))
    assert a.method == b.method
    assert a.certificate == b.certificate
    assert np.array_equal(a.fitted, b.fitted, equal_nan=True)
    several = data.membership.sum(axis=1) > 1
    assert (a.cell_weights[several] == own[several]).all()
    with pytest.raises(rf.InputError, match=r"shape \((\d+), 6\) or \(64, 6\) is needed, not \(3, 3\)"):
        rf.project(data, np.ones((3, 3)), route=route)


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_weights_that_are_refused(route):
    """b of {b, c} has no weight -1; a of {a, b, c}, in the second data, was not recorded."""
    for weights, words in (
        (
            [[1, 0, 0], [1, 1, 0], [0, -1, 1]],
            "menu {b, c}, item 'b' has weight -1; weights must be finite and 0 or more",
        ),
        ([[1, 0, 0], [1, 1, 0], [0, np.inf, 1]], "menu {b, c}, item 'b' has weight inf"),
        (np.zeros((3, 3)), "every weight is 0"),
    ):
        with pytest.raises(rf.InputError) as caught:
            rf.project(FIRST, weights, route=route)
        assert words in str(caught.value)
    with pytest.raises(rf.InputError, match=r"menu \{c, b, a\}, item 'a' has weight 2 but was not observed"):
        rf.project(SECOND, [[1, 1, 0], [1, 1, 2]], route=route)
    with pytest.raises(rf.InputError, match=r"weights='size': accepted are None, 'counts', 'inverse-variance'"):
        rf.project(FIRST, "size", route=route)


@pytest.mark.parametrize("name", ["counts", "inverse-variance"])
@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_arrays_have_no_sample_sizes(name, route):
    with pytest.raises(rf.InputError, match=f"weights='{name}' needs ChoiceData"):
        rf.project(rf.simulate.dirichlet(4, 0), name, route=route)


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_inverse_variances_by_the_formula(route):
    """One menu fits exactly: N / ((N p + 1) / (N + items)) on its cells; menus of one item have 1."""
    data = rf.ChoiceData.from_counts({("a",): {"a": 9}, ("a", "b"): {"a": 1, "b": 3}})
    fit = rf.project(data, "inverse-variance", route=route)
    small = 4 / ((4 * 0.25 + 1) / (4 + 2)), 4 / ((4 * 0.75 + 1) / (4 + 2))
    assert fit.cell_weights == pytest.approx(np.array([[1.0, 0.0], small]))
    assert fit.weighted
    if route == "lattice":
        everywhere = rf.Lattice(2).from_internal(fit.geometry.weights)
        assert everywhere == pytest.approx(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], small]))


def test_models_of_data():
    observations, model = observe(FIRST, None)
    assert observations.data is FIRST
    assert model.all_rankings
    peaked = rf.SinglePeaked("abc")
    assert observe(FIRST, peaked)[1] is peaked
    with pytest.raises(rf.InputError, match="model"):
        observe(FIRST, "peaked")


@pytest.mark.parametrize("n", [2, 3, 4])
def test_weights_of_arrays_are_those_of_their_menus_on_every_route(n):
    rng = np.random.default_rng(n)
    array, inside = rf.simulate.dirichlet(n, seed=n), rf.Lattice(n).membership
    weights = np.where(inside, rng.uniform(0.5, 4.0, inside.shape), 7.0)
    lattice, graph = (rf.project(array, weights, route=route) for route in ("lattice", "graph"))
    assert graph.objective == pytest.approx(lattice.objective, rel=1e-9, abs=1e-12)
    assert graph.cell_weights == pytest.approx(lattice.cell_weights)
    # By hand: everybody prefers 0 to 1, so that all of the data's share of 1 is off.
    two = np.array([[0, 0], [1, 0], [0, 1], [0.65, 0.35]])
    fit = rf.project(two, [[9, 9], [1, 1], [1, 1], [1, 4.0]], model=rf.RandomUtility(above=[(0, 1)]))
    assert fit.objective == pytest.approx(0.5 * (1 + 4) * 0.35**2)


def test_a_weight_of_zero_is_not_observed(tmp_path):
    array, weights = rf.simulate.dirichlet(3, seed=0), np.ones((8, 3))
    weights[7] = 0.0
    fit = rf.project(array, weights)
    fit.save(tmp_path / "fit")
    for one in (fit, rf.load(tmp_path / "fit"), rf.project_many(array[None], weights)[0]):
        assert one.menus == [(0, 1), (0, 2), (1, 2)]
        assert np.isnan(one.observed[7]).all()
        assert not one.complete
    alone = np.zeros((8, 3))
    alone[1, 0] = 1.0
    with pytest.raises(rf.InputError, match="every weight is 0"):
        rf.project(array, alone, route="graph")
    data = rf.ChoiceData.from_counts({(0,): {0: 3}, (0, 1): {0: 1, 1: 2}})
    with pytest.raises(rf.InputError, match="every weight is 0 on the menus of two items or more"):
        rf.project(data, [[1.0, 0.0], [0.0, 0.0]], route="graph")
