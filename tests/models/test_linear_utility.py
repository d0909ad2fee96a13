"""Linear utility: types against random directions and linear programmes, projections and bounds against general solvers."""

from itertools import combinations
from time import process_time

import numpy as np
import pytest
from scipy.optimize import linprog

import rumflow as rf
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.models.open_menus import Limit
from tests.reference.graphs import behaviour, projection, types_of
from tests.reference.linear import directions_take, is_taken


def random_case(seed, by_menu, k=None):
    """Data of a few random menus of at most 8 items, and the attributes of their cells."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 9)), int(rng.integers(1, 5)) if k is None else k
    every = [menu for size in (2, 3, 4) for menu in combinations(range(n), size)]
    menus = [every[i] for i in rng.choice(len(every), min(5, len(every)), replace=False)]
    counts = {menu: dict(zip(menu, rng.integers(1, 30, len(menu)).tolist(), strict=True)) for menu in menus}
    items = {x: rng.normal(size=k) for x in range(n)}
    attributes = {(menu, x): rng.normal(size=k) for menu in menus for x in menu} if by_menu else items
    signs = rng.integers(-1, 2, k) if seed % 2 else np.zeros(k, np.int64)
    return rf.ChoiceData.from_counts(counts, items=range(n)), attributes, signs


def cells_of(data):
    return Cells(data.membership, None, data.items)


@pytest.mark.parametrize("by_menu", [False, True])
def test_types_are_what_directions_take(by_menu):
    for seed in range(8):
        data, attributes, signs = random_case(seed, by_menu)
        model, cells = rf.LinearUtility(attributes, signs), cells_of(data)
        points = model.attributes.of(cells)
        found = types_of(model.geometry(cells))
        assert directions_take(points, cells.offered.start, signs, 5_000) <= found
        assert all(is_taken(points, cells.offered.start, signs, row) for row in found)


@pytest.mark.parametrize("by_menu", [False, True])
def test_projection_against_nonnegative_least_squares(by_menu):
    for seed in range(4):
        data, attributes, signs = random_case(seed, by_menu, 2)
        model, cells = rf.LinearUtility(attributes, signs), cells_of(data)
        types = sorted(types_of(model.geometry(cells)))
        target = cells.to_table(np.nan_to_num(data.frequencies))
        _, objective = projection(types, cells.shape, target, cells.filled.astype(float))
        fit = rf.project(data, model=model)
        assert fit.objective == pytest.approx(objective, rel=1e-6, abs=1e-9)


def test_attributes_of_items_lie_in_random_utility_and_those_of_menus_need_not():
    menus = [("a", "b"), ("a", "b", "c")]
    data = rf.ChoiceData.from_counts({menus[0]: {"a": 0, "b": 10}, menus[1]: {"a": 10, "b": 0, "c": 0}})
    assert rf.project(data).distance > 0.5
    cheap_in_one = {
        (menus[0], "a"): 9, (menus[0], "b"): 1, (menus[1], "a"): 1, (menus[1], "b"): 9, (menus[1], "c"): 5
    }  # fmt: skip
    assert rf.project(data, model=rf.LinearUtility(cheap_in_one, [-1])).distance == pytest.approx(0, abs=1e-9)
    assert rf.LinearUtility({"a": 1}).of_rankings
    assert not rf.LinearUtility(cheap_in_one).of_rankings


def test_bounds_for_new_prices_against_linear_programmes():
    """Two observed menus and one with a price that nobody has seen, as a new item."""
    attributes = {"a": (1.0, 2.0), "b": (2.0, 3.1), "c": (3.0, 3.5), "a dear": (2.5, 2.0)}
    model = rf.LinearUtility(attributes, {"attribute 0": -1})
    counts = {("a", "b"): {"a": 60, "b": 40}, ("a", "b", "c"): {"a": 55, "b": 25, "c": 20}}
    data = rf.ChoiceData.from_counts(counts)
    found = rf.bounds(data, ["a dear", "b", "c"], confidence=None, model=model)
    share = rf.bounds(data, functional={(("a dear", "b", "c"), "b"): 1.0}, confidence=None, model=model)
    assert share.interval == pytest.approx(found["b"])
    fit = rf.project(data, model=model)
    asked = np.array([[True, True, False, False], [True, True, True, False], [False, True, True, True]])
    cells = Cells(asked, None, (*data.items, "a dear"))
    types = sorted(types_of(model.geometry(cells)))
    tables = np.array([behaviour(row, cells.shape) for row in types])
    goal = cells.to_table(np.vstack([np.pad(np.nan_to_num(fit.fitted), ((0, 0), (0, 1))), np.zeros(4)]))
    matrix = tables[:, :2].reshape(len(types), -1).T
    for x, item in enumerate(("b", "c", "a dear")):
        for side, end in ((1, 0), (-1, 1)):
            solved = linprog(side * tables[:, 2, x], A_eq=matrix, b_eq=goal[:2].reshape(-1))
            assert found[item][end] == pytest.approx(side * solved.fun, abs=1e-7)
    assert found["a dear"][1] < 1


def test_too_many_types_are_counted_and_refused():
    rng = np.random.default_rng(0)
    menus = [tuple(sorted(rng.choice(40, 4, replace=False).tolist())) for _ in range(60)]
    data = rf.ChoiceData.from_counts({menu: {menu[0]: 1} for menu in menus})
    with pytest.raises(
        GraphTooLargeError, match=r"about [0-9,]+ types on \d+ menus, more than can be listed .1,000,000.; leave"
    ):
        rf.project(data, model=rf.LinearUtility({x: rng.normal(size=6) for x in range(40)}))
    wide = [tuple(sorted(rng.choice(30, 5, replace=False).tolist())) for _ in range(100)]
    more = rf.ChoiceData.from_counts({menu: {menu[0]: 1} for menu in wide})
    four = rf.LinearUtility({x: rng.normal(size=4) for x in range(30)})
    with pytest.raises(GraphTooLargeError, match=r"about [0-9,]+ types, but [0-9,]+ differences of items in 4 dim"):
        rf.project(more, model=four)
    small = rf.LinearUtility({x: rng.normal(size=3) for x in range(40)})
    with pytest.raises(GraphTooLargeError, match="about"):
        small.geometry(cells_of(data), Limit(nodes=100))
    with pytest.raises(GraphTooLargeError, match="the time was over") as fault:
        small.geometry(cells_of(data), Limit(deadline=-1.0))
    assert fault.value.late


def test_the_ideal_point_takes_the_nearest():
    rng = np.random.default_rng(0)
    positions = {x: rng.normal(size=2) for x in range(6)}
    cells = Cells(rng.random((5, 6)) < 0.7, None, range(6))
    found = types_of(rf.LinearUtility.ideal_point(positions).geometry(cells))
    ideal = 3 * rng.normal(size=(20_000, 2))
    distance = np.linalg.norm(ideal[:, None] - np.array(list(positions.values())), axis=2)
    nearest = np.where(cells.membership, distance[:, None], np.inf).argmin(axis=2)
    taken = {tuple(cells.column[np.arange(5), row].tolist()) for row in nearest}
    assert taken <= found
    assert len(taken) > 0.9 * len(found)
    line = rf.LinearUtility.ideal_point({"left": 0, "centre": 1, "right": 2})
    every = Cells([[True, True, False], [False, True, True], [True, True, True]], None, ("left", "centre", "right"))
    assert len(types_of(line.geometry(every))) == 3  # single-peaked: one cut in each pair


def test_menus_of_one_item_need_no_attributes():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 1}, ("z",): {"z": 4}})
    assert rf.project(data, model=rf.LinearUtility({"a": 1, "b": 2})).distance == pytest.approx(0, abs=1e-9)


def test_texts():
    model = rf.LinearUtility({"item": ["a", "b"], "price": [1, 2], "size": [4, 3]}, {"price": -1})
    assert repr(model) == "LinearUtility(2 items, 2 attributes, signs=[-1, 0])"
    assert model.words().people == "people whose utility is linear in price and size"
    assert rf.LinearUtility({"a": 1}).words().name == "Utility linear in attribute 0"
    assert model.known_items == ("a", "b")


def large_case(n, m, size, k, prices=False):
    """Random menus of random items, with prices of their own in every menu where asked for."""
    rng = np.random.default_rng(0)
    items, seen = rng.normal(size=(n, k)), set()
    while len(seen) < m:
        seen.add(tuple(sorted(rng.choice(n, size, replace=False).tolist())))
    menus = sorted(seen)
    counts = {menu: dict(zip(menu, rng.integers(1, 50, size).tolist(), strict=True)) for menu in menus}
    by_menu = {(menu, x): (rng.uniform(1, 5), *items[x, 1:]) for menu in menus for x in menu}
    return rf.ChoiceData.from_counts(counts), rf.LinearUtility(by_menu if prices else dict(enumerate(items)))


@pytest.mark.parametrize("case", [(30, 40, 4, 3), (12, 60, 3, 3, True), (200, 100, 5, 2)])
def test_sizes_of_experiments(case):
    """Measured: 1.1, 0.4 and 0.2 seconds of a processor, once what is compiled is loaded; here they may be compiled."""
    data, model = large_case(*case)
    rf.project(rf.ChoiceData.from_counts({("a", "b"): {"a": 1}}), model=rf.LinearUtility({"a": 1, "b": 2}))
    begin = process_time()
    fit = rf.project(data, model=model)
    assert process_time() - begin < 60
    assert fit.status is rf.Status.OPTIMAL
    assert fit.geometry.n_nodes > 400


def test_tests_explanations_likelihood_and_layers():
    """A population of linear types is not rejected and is explained whole; one outside is, and the inequality says by what."""
    model = rf.LinearUtility({"a": (1.0, 2.0), "b": (2.0, 3.1), "c": (3.0, 3.5), "d": (1.5, 1.2)}, [-1, 1])
    menus = [("a", "b"), ("a", "b", "c"), ("b", "c", "d")]
    cells = Cells([[x in menu for x in "abcd"] for menu in menus], None, tuple("abcd"))
    rows = model.rows(cells)
    shares = np.random.default_rng(0).dirichlet(np.ones(len(rows)))
    counts = {menu: dict.fromkeys(menu, 0.0) for menu in menus}
    for row, share in zip(rows, shares, strict=True):
        for j, menu in enumerate(menus):
            counts[menu][menu[row[j]]] += 300 * share
    inside = rf.ChoiceData.from_counts({m: {x: round(v) for x, v in one.items()} for m, one in counts.items()})
    assert rf.rum_test(inside, 39, seed=0, model=model).pvalue > 0.2
    likelihood = rf.fit_likelihood(inside, model=model)
    fit = rf.project(inside, model=model)
    assert (
        likelihood.loglik
        >= float((inside.counts * np.log(np.maximum(fit.fitted, 1e-12)))[inside.counts > 0].sum()) - 1e-3
    )
    outside = rf.ChoiceData.from_counts({menus[1]: {"a": 5, "b": 5, "c": 0}, menus[2]: {"b": 0, "c": 1, "d": 19}})
    found = rf.explain(outside, level=None, model=model)
    assert "with utility linear in attribute 0 and attribute 1" in found.inequality.text
    torch = pytest.importorskip("torch")
    from rumflow.torch import AxiomLayer

    layer = AxiomLayer(model, menus, items="abcd")
    z = torch.rand(3, sum(map(len, menus)), dtype=torch.float64, requires_grad=True)
    y = layer(z)
    y.square().sum().backward()
    assert z.grad.shape == z.shape
    assert y[:, :2].sum(dim=1).tolist() == pytest.approx([1, 1, 1])
