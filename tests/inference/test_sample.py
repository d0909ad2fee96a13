"""How choices become slots, with their sizes, weights and remainders."""

import tracemalloc
from itertools import permutations

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.core.menus import Menus
from rumflow.data.menus import masks_of, membership_of
from rumflow.inference import rum_test
from rumflow.inference.conflicts.small import SmallConflicts
from rumflow.inference.conflicts.subsets import Sampling, Subsets, half_samples
from rumflow.inference.convention import Convention
from rumflow.inference.resample import CellSampler, generators
from rumflow.inference.sample import build_sample, inner_point
from rumflow.projection.projector import Projector
from tests.reference.examples import FIRST, SECOND


def test_inner_point_counts_behaviours_once():
    menus = np.array([0b0011, 0b0101, 0b0111, 0b1001, 0b1011, 0b1101, 0b1111])
    cells = [(m, x) for m in menus for x in range(4) if m >> x & 1]
    mask, item = np.array(cells).T
    behaviours = {
        tuple(next(y for y in order if m >> y & 1) == x for m, x in cells) for order in permutations(range(4))
    }
    offered, row = Menus.from_table(membership_of(menus, 4))[0], np.searchsorted(menus, mask)
    assert inner_point(offered, row, item, "types") == pytest.approx(np.mean(list(behaviours), axis=0), abs=1e-12)
    assert inner_point(offered, row, item, "rankings") == pytest.approx(1 / np.bitwise_count(mask))


def test_inverse_variance_is_pearson(noisy):
    result = rum_test(noisy, n_boot=9, weights="inverse-variance", seed=0)
    sample = result.sample
    fit = rf.project(noisy, "counts").rho[masks_of(sample.menus)[sample.unit_menu[sample.unit]], sample.item]
    size = np.bitwise_count(masks_of(sample.menus)[sample.unit_menu[sample.unit]])
    assert sample.weights == pytest.approx(30 / ((30 * fit + 1) / (30 + size)), rel=1e-6)
    assert sample.scale == 1


def test_weights_by_menu_beside_a_menu_without_records():
    """A menu of which nothing is known has no slot, and does not move the weights of the others."""
    inside = np.array([[True, True, False], [True, False, True], [True, True, True]])
    counts = np.array([[30.0, 70, np.nan], [np.nan, np.nan, np.nan], [60, 30, 10]])
    data = rf.ChoiceData(tuple("abc"), inside, counts, np.full(3, 100.0))
    weights = np.where(inside, np.array([[1.0], [9.0], [5.0]]), 0.0)
    assert build_sample(data, weights, Convention()).weights.tolist() == [1, 1, 5, 5, 5]


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_inverse_variances_of_a_projection_are_those_of_the_test(route):
    data = rf.simulate.random_menus(9, 6, 4, seed=1)
    fit = rf.project(data, "inverse-variance", route=route)
    near = rf.project(data, "counts", route=route).fitted
    items = data.membership.sum(axis=1, keepdims=True)
    sizes = data.totals[:, None]
    expected = np.where(data.membership, sizes / ((sizes * near + 1) / (sizes + items)), 0.0)
    assert fit.cell_weights == pytest.approx(expected, rel=1e-6)
    sample = build_sample(data, "inverse-variance", Convention(), route=route)
    own = np.zeros(data.membership.shape)
    rows = {row.tobytes(): i for i, row in enumerate(data.membership)}
    for k, u in enumerate(sample.unit):
        own[rows[sample.menus[sample.unit_menu[u]].tobytes()], sample.item[k]] = sample.weights[k]
    assert fit.cell_weights == pytest.approx(own, rel=1e-6)
    assert fit.distance**2 == pytest.approx(rum_test(data, 1, seed=0, weights="inverse-variance").statistic, rel=1e-6)
    other = rf.project(data, "inverse-variance", route="graph" if route == "lattice" else "lattice")
    assert fit.objective == pytest.approx(other.objective, rel=1e-6)


def test_two_groups_as_slots():
    sample = build_sample({"x": FIRST, "y": SECOND}, None, Convention())
    assert sample.items == ("a", "b", "c")
    assert sample.names == ("x", "y")
    assert sample.n_groups == 2
    assert sample.menus.tolist() == [[True, True, False], [False, True, True], [True, True, True]]
    assert sample.unit_group.tolist() == [0, 0, 1, 1]
    assert sample.unit_menu.tolist() == [0, 1, 1, 2]
    assert sample.sizes.tolist() == [4.0, 8.0, 20.0, 10.0]
    assert sample.unit.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert sample.item.tolist() == [0, 1, 1, 2, 1, 2, 1, 2]
    assert sample.frequency.tolist() == [0.25, 0.75, 0.75, 0.25, 0.75, 0.25, 0.2, 0.4]
    assert sample.column.tolist() == [0, 1, 2, 3, 2, 3, 4, 5]
    assert sample.menu_sizes.tolist() == [2.0, 2.0, 2.0, 3.0]
    assert sample.n_observations == 42.0
    assert sample.weights.tolist() == [1.0] * 8
    assert sample.scale == 42.0
    assert sample.centre == pytest.approx([1 / 2] * 4 + [1 / 3] * 2)
    assert [sample.members(u) for u in range(4)] == [("a", "b"), ("b", "c"), ("b", "c"), ("a", "b", "c")]
    assert [sample.menu_name(u) for u in (0, 3)] == ["{a, b} of x", "{a, b, c} of y"]
    assert build_sample(FIRST, None, Convention()).menu_name(1) == "{b, c}"
    assert sample.unweighted_rest.tolist() == [3]
    assert build_sample(FIRST, None, Convention()).unweighted_rest.tolist() == []


def test_cells_of_several_groups_are_pooled():
    sample = build_sample({"x": FIRST, "y": SECOND}, None, Convention())
    p = np.array([sample.frequency, np.linspace(0.0, 0.7, 8)])
    weights = np.array([1.0, 2.0, 3.0, 0.0, 5.0, 0.0, 7.0, 8.0])
    means, spread, total = sample.pool(p, weights)
    assert total.tolist() == [1.0, 2.0, 8.0, 0.0, 7.0, 8.0]
    for row, found, rest in zip(p, means, spread, strict=True):
        middle = (3 * row[2] + 5 * row[4]) / 8
        assert found == pytest.approx([row[0], row[1], middle, 0.0, row[6], row[7]])
        assert rest == pytest.approx(3 * (row[2] - middle) ** 2 + 5 * (row[4] - middle) ** 2)
    alone = build_sample(FIRST, None, Convention())
    means, spread, total = alone.pool(alone.frequency[None], np.array([1.0, 0.0, 3.0, 4.0]))
    assert means.tolist() == [[0.25, 0.0, 0.75, 0.25]]
    assert (spread.tolist(), total.tolist()) == ([0.0], [1.0, 0.0, 3.0, 4.0])


def test_weights_of_slots():
    counts = build_sample({"x": FIRST, "y": SECOND}, "counts", Convention())
    assert counts.weights.tolist() == [4.0, 4.0, 8.0, 8.0, 20.0, 20.0, 10.0, 10.0]
    assert counts.scale == 1.0
    last = build_sample(FIRST, "counts", Convention(cells="drop-last"))
    assert last.weights.tolist() == [4.0, 0.0, 8.0, 0.0]
    by_menu = np.arange(9.0).reshape(3, 3) + 1  # menus of the data: {a}, {a, b}, {b, c}
    assert FIRST.menus == [("a",), ("a", "b"), ("b", "c")]
    assert build_sample(FIRST, by_menu, Convention()).weights.tolist() == [4.0, 5.0, 8.0, 9.0]
    everywhere = np.arange(24.0).reshape(8, 3) * rf.Lattice(3).membership
    assert build_sample(FIRST, everywhere, Convention()).weights.tolist() == [9.0, 10.0, 19.0, 20.0]
    assert build_sample(FIRST, everywhere, Convention()).scale == 12.0
    for wrong in (np.ones((2, 3)), "size"):
        with pytest.raises(rf.InputError, match=r"of shape .*\(8, 3\) or \(3, 3\)"):
            build_sample(FIRST, wrong, Convention())
    with pytest.raises(rf.InputError, match=r"array of shape \(8, 3\) is needed, not \(3, 3\)"):
        build_sample([FIRST, FIRST], np.ones((3, 3)), Convention())
    with pytest.raises(rf.InputError, match="every recorded cell has weight 0"):
        build_sample(FIRST, np.eye(8, 3, -1), Convention())  # {a} and {b} and a menu that was not observed


@pytest.mark.parametrize(
    ("scale", "value"), [(None, 42.0), ("total", 42.0), ("group", 21.0), ("smallest", 4.0), ("mean", 10.5), (3, 3.0)]
)
def test_scales_of_two_groups(scale, value):
    assert build_sample([FIRST, SECOND], None, Convention(scale=scale)).scale == value


def test_what_was_not_recorded_is_a_slot_with_inverse_variances():
    """b and c of {a, b, c} were recorded, 0.2 and 0.4 of ten; the rest of 0.4 stands for one item."""
    sample = build_sample(SECOND, "inverse-variance", Convention())
    assert sample.item.tolist() == [0, 1, 0, 1, -1]
    assert sample.unit.tolist() == [0, 0, 1, 1, 1]
    assert sample.frequency == pytest.approx([0.25, 0.75, 0.4, 0.2, 0.4])
    assert sample.unweighted_rest.tolist() == []
    # c falls from 0.25 to 0.4 of the larger menu, which no model has: the fit is the same on both, by sizes 20 and 10.
    p = sample.weights
    sizes, items = np.array([20, 20, 10, 10, 10]), np.array([2, 2, 3, 3, 3])
    fit = (sizes * (sizes + items) / p - 1) / sizes
    assert fit[:2].sum() == pytest.approx(1.0)
    assert fit[2:].sum() == pytest.approx(1.0)
    assert fit[0] == pytest.approx(fit[2])
    without = build_sample(SECOND, "inverse-variance", Convention(), remainders=False)
    assert without.item.tolist() == [0, 1, 0, 1]
    with pytest.raises(rf.InputError, match="which the lattice does not have"):
        build_sample(SECOND, "inverse-variance", Convention(), route="lattice")


def test_sizes_of_groups():
    sample = build_sample({"x": FIRST, "y": SECOND}, None, Convention(), {"x": [1, 2, 3], "y": 7})
    assert sample.sizes.tolist() == [2.0, 3.0, 7.0, 7.0]
    with pytest.raises(rf.InputError, match="group 'y' is missing; there are sizes for 'x'"):
        build_sample({"x": FIRST, "y": SECOND}, None, Convention(), {"x": 1})
    with pytest.raises(rf.InputError, match="there is no group 'z'; accepted are 'x'"):
        build_sample({"x": FIRST}, None, Convention(), {"x": 1, "z": 1})
    for wrong, words in ((0.0, r"\{a\} has 0;"), ([1, 2, np.inf], r"\{b, c\} has inf;"), ([1, 2], r"not shape \(2,\)")):
        with pytest.raises(rf.InputError, match=words):
            build_sample(FIRST, None, Convention(), wrong)


def test_the_centre_is_a_point_of_the_model():
    """All rankings: 1/|D|. Where everybody prefers a to b, nobody takes b from a menu with a, at the centre either."""
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 5, "b": 5}, ("a", "b", "c"): {"a": 3, "b": 3, "c": 4}})
    assert build_sample(data, None, Convention()).centre == pytest.approx([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3])
    known = build_sample(data, None, Convention(), model=rf.RandomUtility(above=[("a", "b")])).centre
    assert known[[1, 3]].tolist() == [0.0, 0.0]
    assert known[:2].sum() == pytest.approx(1)
    assert known[2:].sum() == pytest.approx(1)


def test_samples_and_draws_are_as_large_as_their_cells():
    """1,000 pairs of 2,000 items: a table of numbers would have 16 MB. The cells of the projector are one, nothing else is."""
    pairs = np.arange(2000).reshape(-1, 2)
    menus, _ = Menus.from_cells(np.repeat(np.arange(1000), 2), pairs.reshape(-1).astype(np.int32), 1000, 2000)
    data = rf.ChoiceData.from_cells(tuple(range(2000)), menus, np.full(2000, 5.0), np.full(1000, 10.0))
    table = np.asarray(menus.to_table(np.True_, False))

    def peak(function):
        tracemalloc.start()
        found = function()
        high = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return high, found

    alone, _ = peak(lambda: Projector(Cells(table)))
    high, sample = peak(lambda: build_sample(data, "counts", Convention()))
    assert high < alone + 4e6  # the table of truth values itself, 2 MB
    sampler = CellSampler(sample, "menu", "null")
    assert peak(lambda: sampler.draw(generators(0, (), range(10)), sample.frequency))[0] < 2e6
    assert peak(lambda: Subsets(data, None, Sampling(0.05, 39, 0, False), 1))[0] < 1e6
    assert peak(lambda: SmallConflicts(data.offered))[0] < 1e6
    assert peak(lambda: list(half_samples(data, False, 0, 1)))[0] < 1e6
