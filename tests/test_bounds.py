"""Bounds and shares: against linear programmes over all n! rankings."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

import rumflow as rf
from rumflow.data.menus import masks_of, membership_of
from rumflow.inference import bounds, rationalizable_share, rum_test
from rumflow.inference.confidence import BoundsOptions, Inversion, has_counts
from rumflow.inference.restricted import Restricted, find_roots, tilted_shares, uniform_joint
from rumflow.inference.sample import Convention, build_sample
from rumflow.solvers import linear_programs as programs

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def choices(n):
    """(N, n!): does the ranking choose the cell?"""
    orders = list(permutations(range(n)))
    return np.array(
        [[float(next(y for y in o if mask >> y & 1) == x) for o in orders] for mask, x in rf.Lattice(n).cells]
    )


def incomplete(n, seed, share=0.5, rational=True):
    array = rf.simulate.noisy_rankings(n, 4, 30, seed=seed) if rational else rf.simulate.dirichlet(n, seed=seed)
    return rf.simulate.hide(array, rf.simulate.observed_menus(n, share, seed))


def by_enumeration(fit, data, cost):
    n = data.shape[1]
    mask, item = rf.Lattice(n).cells.T
    seen = ~np.isnan(data[mask, item]) & (np.bitwise_count(mask) > 1)
    matrix = choices(n)
    rho = fit.rho[mask, item]
    ends = [linprog(s * (cost @ matrix), A_eq=matrix[seen], b_eq=rho[seen], options=TIGHT) for s in (1, -1)]
    return ends[0].fun, -ends[1].fun


@pytest.fixture(params=["flows", "columns"])
def method(request, monkeypatch):
    if request.param == "columns":
        monkeypatch.setattr(programs, "FLOW_ARCS", 0)
    return request.param


@pytest.mark.parametrize("rational", [True, False])
@pytest.mark.parametrize("n", [3, 4, 5])
def test_bounds_agree_with_enumeration(n, rational, method):
    lattice = rf.Lattice(n)
    for seed in range(3 if n < 5 else 1):
        data = incomplete(n, seed, rational=rational)
        fit = rf.project(data, tol=1e-12)
        hidden = [m for m in range(3, 1 << n) if m.bit_count() > 1 and np.isnan(data[m]).any()]
        for mask in hidden[:: max(1, len(hidden) // 3)]:
            menu = [x for x in range(n) if mask >> x & 1]
            found = bounds(fit, menu)
            for x in menu:
                cost = (lattice.cells == (mask, x)).all(axis=1).astype(float)
                assert found[x] == pytest.approx(by_enumeration(fit, data, cost), abs=1e-7)
            assert found.gap <= 1e-7
            inside = fit.rho[mask, menu]
            assert (found.lower <= inside + 1e-9).all()
            assert (inside <= found.upper + 1e-9).all()


@pytest.mark.parametrize("seed", range(4))
def test_functionals(seed, method):
    n = 4
    data = incomplete(n, seed)
    fit = rf.project(data, tol=1e-12)
    c = np.random.default_rng(seed).normal(size=data.shape) * rf.Lattice(n).membership
    found = bounds(fit, functional=c)
    mask, item = rf.Lattice(n).cells.T
    assert found.interval == pytest.approx(by_enumeration(fit, data, c[mask, item]), abs=1e-7)
    assert "functional" in found.summary()


def test_observed_menus_have_their_fitted_values():
    data = incomplete(5, 1)
    fit = rf.project(data)
    for mask in range(3, 32):
        menu = [x for x in range(5) if mask >> x & 1]
        if len(menu) > 1 and not np.isnan(data[mask]).any():
            found = bounds(fit, menu)
            assert (found.lower == found.upper).all()
            assert found.lower == pytest.approx(fit.rho[mask, menu], abs=1e-15)


def test_cells_that_were_not_recorded_are_not_fixed_on_the_lattice():
    """Of {a, b, c} only the share of a is known: b has anything up to the rest of it."""
    table = np.full((8, 3), np.nan)
    table[0b111, 0] = 0.25
    found = bounds(rf.project(table, route="lattice"), (0, 1, 2))
    assert np.stack([found.lower, found.upper], 1) == pytest.approx(
        np.array([[0.25, 0.25], [0, 0.75], [0, 0.75]]), abs=1e-7
    )


def test_complete_data_and_single_items():
    rho = rf.simulate.noisy_rankings(4, seed=0)
    assert bounds(rho, (0, 1, 3), 1).interval == pytest.approx((rf.project(rho).rho[0b1011, 1],) * 2)
    assert bounds(rho, (2,)).interval == (1.0, 1.0)


def test_a_cell_that_the_others_imply():
    table = np.where(rf.Lattice(3).membership, np.nan, 0.0)
    table[0b111, :2] = 0.5, 0.2
    table[0] = 0
    assert bounds(table, (0, 1, 2), 2).interval == pytest.approx((0.3, 0.3), abs=1e-9)
    low, high = bounds(table, (0, 2), 0).interval
    assert (low, high) == pytest.approx((0.5, 0.7), abs=1e-9)


def test_labels_and_errors():
    data = rf.ChoiceData.from_counts({("tea", "milk", "beer"): {"tea": 5, "milk": 3, "beer": 2}})
    found = bounds(data, ("tea", "milk"))
    assert found["tea"] == pytest.approx((0.5, 0.7))
    assert "tea" in found.summary()
    assert repr(found).startswith("Bounds(menu={tea, milk}")
    for arguments, message in [
        ({"menu": "tea"}, "a list of items is needed"),
        ({"menu": ("tea", "rum")}, "item 'rum' is unknown"),
        ({"menu": ("tea",), "item": "milk"}, "not in the menu"),
        ({"menu": ()}, "at least one item is needed"),
        ({}, "either a menu"),
        ({"functional": np.full((8, 3), np.inf)}, "finite"),
        ({"menu": ("tea", "milk"), "confidence": 2.0}, "between 0 and 1"),
        ({"menu": ("tea", "milk"), "confidence": 0.99, "n_boot": 50}, "at least 99 replicates"),
    ]:
        with pytest.raises(rf.InputError, match=message):
            bounds(data, **arguments)
    with pytest.raises(rf.InputError, match="computed for"):
        found["beer"]
    with pytest.raises(rf.InputError, match="take one by its label"):
        _ = found.interval
    with pytest.raises(rf.InputError, match="need ChoiceData with counts"):
        bounds(data.to_array(), (0, 1), confidence=0.9)


def test_larger_than_enumeration_can_do():
    """Nine items, pairs only: between the bounds of Frechet type, and attained by the flow of the solution."""
    n = 9
    pairs = (np.bitwise_count(np.arange(1 << n)) == 2)[:, None] & rf.Lattice(n).membership
    data = rf.simulate.hide(rf.simulate.noisy_rankings(n, 20, 100, seed=1), pairs)
    fit = rf.project(data, tol=1e-12)
    found = bounds(fit, range(4), 0)
    low, high = found.interval
    pair = [fit.rho[1 | 1 << x, 0] for x in (1, 2, 3)]
    assert max(0, sum(pair) - 2) - 1e-9 <= low <= high <= min(pair) + 1e-9
    assert found.gap <= 1e-8


@pytest.mark.parametrize("rational", [True, False])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_share_agrees_with_enumeration(n, rational, method):
    mask, item = rf.Lattice(n).cells.T
    for seed in range(3):
        data = incomplete(n, seed, 0.7, rational)
        values = data[mask, item]
        seen = ~np.isnan(values) & (np.bitwise_count(mask) > 1)
        matrix = choices(n)
        expected = -linprog(-np.ones(matrix.shape[1]), A_ub=matrix[seen], b_ub=values[seen], options=TIGHT).fun
        found = rationalizable_share(data)
        assert found.share == pytest.approx(expected, abs=1e-8)
        assert found.gap <= 1e-8
        assert (found.part[mask, item][seen] <= values[seen] + 1e-8).all()
        assert found.rankings.weights.sum() == pytest.approx(found.share, abs=1e-7)


def test_share_of_rational_and_of_opposite_data():
    assert rationalizable_share(rf.simulate.mixed_logit(4, seed=0)).share == pytest.approx(1, abs=1e-9)
    cycle = rf.ChoiceData.from_counts({("a", "b"): {"a": 9}, ("b", "c"): {"b": 9}, ("a", "c"): {"c": 9}})
    assert rationalizable_share(cycle).share == pytest.approx(0, abs=1e-9)
    assert rationalizable_share(rf.ChoiceData.from_counts({("a",): {"a": 1}})).share == 1


# Confidence intervals by test inversion


def test_uniform_joint():
    n = 4
    mask, item = rf.Lattice(n).cells.T
    matrix = choices(n)
    for menu, x in [(0b0111, 0), (0b1010, 3), (0b1111, 2)]:
        own = matrix[(mask == menu) & (item == x)][0]
        assert uniform_joint(membership_of([menu], n)[0], x, membership_of(mask, n), item) == pytest.approx(
            (matrix * own).mean(axis=1), abs=1e-12
        )


CELL = {(0b101, 0): 1.0}
FUNCTIONALS = {
    "cell": CELL,
    "difference": {(0b101, 0): 1.0, (0b110, 1): -1.0},
    "revenue": {(0b101, 0): 2.0, (0b101, 2): 5.0},
    "observed": {(0b011, 0): 1.0, (0b111, 1): -0.5, (0b110, 2): 3.0},
}


def restricted(sample, functional, n):
    masks = sorted({mask for mask, _ in functional})
    c = np.zeros((len(masks), n))
    for (mask, x), value in functional.items():
        c[masks.index(mask), x] = value
    return Restricted(sample, membership_of(masks, n), c)


@pytest.mark.parametrize("tau", [0.0, 0.2])
@pytest.mark.parametrize("name", list(FUNCTIONALS))
@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_projection_with_a_functional_given(name, tau, route):
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 50, "b": 30, "c": 20}, ("a", "b"): {"a": 30, "b": 10}})
    sample = build_sample(data, "counts", Convention(), route=route)
    functional = FUNCTIONALS[name]
    own = restricted(sample, functional, 3)
    matrix = choices(3)
    mask, item = rf.Lattice(3).cells.T

    def row(m, x):
        return matrix[(mask == m) & (item == x)][0]

    c = sum(value * row(*cell) for cell, value in functional.items())
    assert (own.least, own.most) == pytest.approx((c.min(), c.max()), abs=1e-6)
    rows = np.array(
        [row(m, x) for m, x in zip(masks_of(sample.menus)[sample.unit_menu[sample.unit]], sample.item, strict=True)]
    )
    root = np.sqrt(sample.weights)
    p = np.stack([sample.frequency, [0.1, 0.9, 0.3, 0.3, 0.4]])
    for part in (0.1, 0.4, 0.7):
        theta = c.min() + part * (c.max() - c.min())
        inner = own.inner(theta)[own._column]
        # The inner point is a mixture of rankings with this value.
        heavy = np.vstack([rows, 1e4 * c, np.full(6, 1e4)])
        assert nnls(heavy, np.concatenate([inner, [1e4 * theta, 1e4]]))[1] == pytest.approx(0, abs=1e-6)
        found = own.measure(p, theta, tau)
        for k in range(2):
            target = (p[k] - tau * inner) / (1 - tau)
            heavy = np.vstack([root[:, None] * rows, 1e5 * c, np.full(6, 1e5)])
            distance = nnls(heavy, np.concatenate([root * target, [1e5 * theta, 1e5]]))[1]
            expected = (1 - tau) ** 2 * distance**2
            assert found.statistic[k] == pytest.approx(expected, rel=2e-3, abs=2e-3)


def test_roots_of_many_falling_functions():
    rng = np.random.default_rng(0)
    knots = np.sort(rng.normal(size=(50, 6)), axis=1)
    slopes = 10.0 ** rng.uniform(-3, 2, size=(50, 7))
    calls = []

    def function(rows, x):
        calls.append(len(rows))
        base = np.concatenate([np.full((50, 1), -20.0), knots], axis=1)[rows]
        top = np.concatenate([knots, np.full((50, 1), 1e9)], axis=1)[rows]
        return 3.0 - (slopes[rows] * np.clip(x[:, None] - base, 0, top - base)).sum(axis=1)

    at = find_roots(function, 50, 0.1, 1e-7)
    assert np.abs(function(np.arange(50), at)).max() <= 1e-7
    assert len(calls) <= 41


def test_confidence_interval_contains_the_bounds():
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 50, "b": 30, "c": 20}, ("a", "b"): {"a": 60, "b": 40}})
    found = bounds(data, ("a", "c"), "a", confidence=0.9, n_boot=59, seed=0)
    assert found.confidence_lower[0] < found.lower[0] <= found.upper[0] < found.confidence_upper[0]
    wider = bounds(data, ("a", "c"), "a", confidence=0.98, n_boot=59, seed=0)
    assert wider.confidence_lower[0] <= found.confidence_lower[0]
    assert wider.confidence_upper[0] >= found.confidence_upper[0]
    assert "90 % confidence" in found.summary()
    assert bounds(data, ("a", "c"), "a", n_boot=59, seed=0).confidence == 0.95
    drawn = bounds(data, ("a", "c"), "a", n_boot=19)
    again = bounds(data, ("a", "c"), "a", n_boot=19, seed=drawn.seed)
    assert again.confidence_lower.tolist() == drawn.confidence_lower.tolist()
    alone = bounds(data, ("a", "c"), "a", confidence=None)
    assert alone.seed is None
    assert alone.confidence_lower is None
    assert "sampling error is not in them" in alone.summary()
    assert alone.interval == found.interval


def test_no_confidence_interval_where_random_utility_is_rejected():
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 80, "b": 10, "c": 10}, ("a", "b"): {"a": 10, "b": 90}})
    found = bounds(data, ("a", "c"), "a", confidence=0.95, n_boot=59, seed=0)
    assert np.isnan(found.confidence_lower[0])
    assert "the model itself is rejected (p = 0.0167)" in found.summary()


def test_accepted_values_beyond_the_bounds(monkeypatch):
    """No value at the three places first tried, but some near by; and the right reason where there are none."""
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 50, "b": 30, "c": 20}, ("a", "b"): {"a": 60, "b": 40}})
    test = Inversion(data, 0.95, BoundsOptions(n_boot=59, seed=0, threads=1))
    own = restricted(test.sample, CELL, 3)
    kept = (0.62, 0.66)
    monkeypatch.setattr(Inversion, "pvalue_at", lambda self, r, t, whole=True: 0.2 if kept[0] <= t <= kept[1] else 0.01)
    found = test.interval(own, 0.5, 0.6)
    assert (found.low, found.high) == pytest.approx(kept, abs=3e-3)
    assert not found.note
    kept = (0.25, 0.3)  # of a difference of shares, from -1 to 1
    difference = Restricted(test.sample, np.array([[True, True, False]]), np.array([[1.0, -1.0, 0.0]]))
    found = test.interval(difference, 0.1, 0.2)
    assert (found.low, found.high) == pytest.approx(kept, abs=6e-3)
    kept = (2.0, 3.0)
    found = test.interval(own, 0.5, 0.6)
    assert np.isnan(found.low)
    assert "although the model is not rejected (p = 1)" in found.note


def test_functionals_by_label():
    data = few_menus(4, 5, 3, draws=50, rational=True)
    menu = next(m for m in (("a", "b", "c"), ("b", "c", "d"), ("a", "b")) if m not in data.menus)
    revenue = {(menu, x): 1.0 + k for k, x in enumerate(menu)}
    mask = sum(1 << data.items.index(x) for x in menu)
    array = np.zeros((16, 4))
    for (_, x), value in revenue.items():
        array[mask, data.items.index(x)] = value
    routes = [bounds(data, functional=revenue, confidence=None, route=route) for route in ("lattice", "graph")]
    by_array = bounds(data, functional=array, confidence=None)
    for one in routes:
        assert one.interval == pytest.approx(by_array.interval, abs=1e-6)
    a, b = (bounds(data, functional=revenue, n_boot=19, confidence=0.9, seed=0, route=r) for r in ("lattice", "graph"))
    assert a.confidence_lower[0] <= a.lower[0] <= a.upper[0] <= a.confidence_upper[0]
    assert b.confidence_lower == pytest.approx(a.confidence_lower, abs=5e-3)
    assert b.confidence_upper == pytest.approx(a.confidence_upper, abs=5e-3)
    # A functional of one cell is that cell; scaled and moved it is the same interval.
    cell = bounds(data, menu, menu[0], n_boot=19, confidence=0.9, seed=0)
    scaled = bounds(
        data, functional={(menu, menu[0]): -2.0, ((menu[0],), menu[0]): 1.0}, n_boot=19, confidence=0.9, seed=0
    )
    assert 1 - 2 * cell.confidence_upper == pytest.approx(scaled.confidence_lower, abs=0.02)
    assert 1 - 2 * cell.confidence_lower == pytest.approx(scaled.confidence_upper, abs=0.02)
    for wrong, message in [
        ({}, "empty"),
        ({"a": 1.0}, "not .menu, item."),
        ({(("a", "b"), "c"): 1.0}, "not in the menu"),
    ]:
        with pytest.raises(rf.InputError, match=message):
            bounds(data, functional=wrong)


def test_confidence_for_other_models():
    data = few_menus(4, 4, 1)
    model = rf.RandomUtility(above=[("a", "b")])
    found = bounds(data, ("a", "b"), "b", confidence=0.9, n_boot=39, seed=0, model=model)
    assert found.interval == pytest.approx((0, 0), abs=1e-9)


def test_which_data_have_counts():
    assert has_counts(few_menus(4, 4, 1))
    assert has_counts(rf.ChoiceData.from_counts({("a", "b"): {"a": 1}}))
    assert not has_counts(rf.ChoiceData.from_matrix(rf.simulate.mixed_logit(3, seed=0)))
    assert not has_counts(rf.simulate.mixed_logit(3, seed=0))


def test_confidence_of_an_observed_share_is_like_a_binomial_one():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 60, "b": 40}})
    found = bounds(data, ("a", "b"), "a", confidence=0.95, n_boot=399, seed=0)
    half = 1.96 * np.sqrt(0.24 / 100)
    assert found.confidence_lower[0] == pytest.approx(0.6 - half, abs=0.03)
    assert found.confidence_upper[0] == pytest.approx(0.6 + half, abs=0.03)
    assert rum_test(data, 19, seed=0).pvalue == 1


# On choice graphs


def few_menus(n, count, seed, draws=100, rational=False):
    rng = np.random.default_rng(seed)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << n)) >= 2)
    masks = np.sort(rng.choice(masks, count, replace=False))
    membership = membership_of(masks, n)
    counts = np.full(membership.shape, np.nan)
    for row, inside in zip(counts, membership, strict=True):
        row[inside] = rng.multinomial(
            draws, np.full(inside.sum(), 1 / inside.sum()) if rational else rng.dirichlet(np.ones(inside.sum()))
        )
    return rf.ChoiceData(tuple("abcdefghij"[:n]), membership, counts, np.full(count, float(draws)))


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_graph_fits_agree_with_enumeration(seed, method):
    """With and without known preferences, from a projection on the graph: its anchor must not change the bounds."""
    n = 5
    above = [("a", "b"), ("d", "c")] if seed % 2 else []
    data = few_menus(n, 6, seed)
    model = rf.RandomUtility(above=above)
    fit = rf.project(data, tol=1e-12, model=model, route="graph")
    orders = [
        o
        for o in permutations(range(n))
        if all(o.index(data.items.index(x)) < o.index(data.items.index(y)) for x, y in above)
    ]

    def takes(mask, x):
        return [float(next(y for y in o if mask >> y & 1) == x) for o in orders]

    cells = np.argwhere(data.membership)
    matrix = np.array([takes(data.masks[j], x) for j, x in cells])
    values = fit.fitted[tuple(cells.T)]
    asked = [m for m in (0b111, 0b10110, 0b11011, 0b11000) if m not in data.masks][:2]
    for mask in asked:
        menu = [x for x in range(n) if mask >> x & 1]
        found = bounds(fit, [data.items[x] for x in menu])
        for x in menu:
            ends = [linprog(s * np.array(takes(mask, x)), A_eq=matrix, b_eq=values, options=TIGHT) for s in (1, -1)]
            assert found[data.items[x]] == pytest.approx((ends[0].fun, -ends[1].fun), abs=1e-6)
        assert found.gap <= 1e-7


def test_partly_recorded_menus_on_a_graph():
    counts = np.array([[30.0, 20, np.nan], [60, 40, np.nan]])
    membership = np.array([[True, True, True], [True, True, False]])
    data = rf.ChoiceData(("a", "b", "c"), membership[::-1], counts[::-1], np.array([100.0, 100.0]))
    for route in ("lattice", "graph"):
        fit = rf.project(data, tol=1e-12, route=route)
        assert bounds(fit, ("a", "b", "c"), "c").interval == pytest.approx((0.5, 0.5), abs=1e-9)
        low, high = bounds(fit, ("a", "c"), "a").interval
        assert low == pytest.approx(0.3, abs=1e-9)
        assert high == pytest.approx(0.5, abs=1e-9)


def test_bounds_with_many_items():
    data = rf.simulate.random_menus(30, 10, 6, seed=3)
    menu = tuple(x for x in data.items if x in data.menus[0])[:3]
    found = bounds(data, menu, confidence=None)
    assert found.gap <= 1e-8
    assert (found.lower <= found.upper + 1e-9).all()
    predicted = found.fit.probabilities(menu)
    for item in menu:
        assert found[item][0] - 1e-8 <= predicted[item] <= found[item][1] + 1e-8
    with pytest.raises(rf.InputError, match="functional"):
        bounds(rf.simulate.random_menus(40, 5, 4, seed=3), functional=np.ones((4, 2)))


def test_confidence_on_both_routes():
    data = few_menus(4, 4, 2, draws=40)
    menu = next(m for m in (("a", "b"), ("c", "d"), ("a", "d")) if m not in data.menus)
    a, b = (
        bounds(data, menu, menu[0], confidence=0.9, n_boot=39, seed=0, route=route) for route in ("lattice", "graph")
    )
    assert b.confidence_lower == pytest.approx(a.confidence_lower, abs=2e-3, nan_ok=True)
    assert b.confidence_upper == pytest.approx(a.confidence_upper, abs=2e-3, nan_ok=True)


def test_share_counts_what_was_not_recorded():
    frame = {"menu": ["a,b"] * 2 + ["a,b,c"] * 3, "item": list("ababc"), "count": [20, None, 60, None, None]}
    data = rf.ChoiceData.from_frame(frame | {"total": [100] * 5})
    assert rationalizable_share(data).share == pytest.approx(0.6, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_share_of_models_and_many_items(seed):
    data = few_menus(5, 7, seed)
    model = rf.RandomUtility(above=[("a", "b")])
    orders = [o for o in permutations(range(5)) if o.index(0) < o.index(1)]
    cells = np.argwhere(data.membership)
    matrix = np.array([[float(next(y for y in o if data.masks[j] >> y & 1) == x) for o in orders] for j, x in cells])
    limits = data.frequencies[tuple(cells.T)]
    expected = -linprog(-np.ones(len(orders)), A_ub=matrix, b_ub=limits, options=TIGHT).fun
    found = rationalizable_share(data, model=model)
    assert found.share == pytest.approx(expected, abs=1e-8)
    assert (found.fitted[data.membership] <= data.frequencies[data.membership] + 1e-8).all()
    many = rationalizable_share(rf.simulate.random_menus(40, 8, 10, seed=seed))
    assert many.gap <= 1e-8
    assert many.rankings.weights.sum() == pytest.approx(many.share, abs=1e-7)
    with pytest.raises(rf.InputError, match="take fitted"):
        many.part  # noqa: B018


def test_totals_without_empty_rows():
    """Items without a row are not recorded where the counts stay below the total; counts above it are refused."""
    frame = {"menu": ["a,b", "a,b,c"], "item": ["a", "a"], "count": [20, 60], "total": [100, 100]}
    data = rf.ChoiceData.from_frame(frame)
    assert data.totals.tolist() == [100, 100]
    assert np.isnan(data.counts).sum(axis=1).tolist() == [
        2,
        2,
    ]  # b from {a, b}, and c outside it; b and c from {a, b, c}
    assert rationalizable_share(data).share == pytest.approx(0.6, abs=1e-9)
    shares = rf.ChoiceData.from_frame(frame | {"count": [0.2, 0.6]})
    assert shares.counts[0, 0] == pytest.approx(20)
    whole = rf.ChoiceData.from_frame({"menu": ["a,b"] * 2, "item": ["a", "b"], "count": [20, 80], "total": [100] * 2})
    assert whole.counts.tolist() == [[20, 80]]
    for counts, message in [([120, 60], "add up to 120"), ([100, 101], "add up to 101")]:
        with pytest.raises(rf.InputError, match=message):
            rf.ChoiceData.from_frame(frame | {"count": counts})
    with pytest.raises(rf.InputError, match="add up to 90, but column 'total' says 100"):
        rf.ChoiceData.from_frame({"menu": ["a,b"] * 2, "item": ["a", "b"], "count": [20, 70], "total": [100] * 2})


def test_intervals_where_one_menu_is_huge():
    # What is known about c from {b, c, d} and about b and d together is the same, however many choose between a and e.
    data = rf.ChoiceData.from_counts(
        {
            ("a", "e"): {"a": 500000, "e": 500000},
            ("b", "c"): {"b": 12, "c": 28},
            ("b", "d"): {"b": 12, "d": 28},
            ("c", "d"): {"c": 36, "d": 4},
        }
    )
    how = {"n_boot": 59, "confidence": 0.9, "seed": 1}
    menu = ("b", "c", "d")
    one = rf.bounds(data, menu, "c", **how)
    others = rf.bounds(data, functional={(menu, "b"): 1, (menu, "d"): 1}, **how)
    assert others.confidence_lower[0] == pytest.approx(1 - one.confidence_upper[0], abs=0.02)
    assert others.confidence_upper[0] == pytest.approx(1 - one.confidence_lower[0], abs=0.02)


@pytest.mark.parametrize(("confidence", "n_boot"), [(0.5, 1), (0.75, 3), (0.8, 4), (0.9, 9), (0.95, 19)])
def test_intervals_need_replicates_enough_to_reject(confidence, n_boot):
    """The smallest p-value, 1 / (1 + n_boot), has to reach 1 - confidence."""
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 7, "b": 3}})
    found = bounds(data, ("a", "b"), "a", confidence=confidence, n_boot=n_boot, seed=0)
    assert found.confidence_lower[0] <= 0.7 <= found.confidence_upper[0]
    if n_boot > 1:
        with pytest.raises(
            rf.InputError, match=f"n_boot={n_boot - 1}: with confidence {confidence} at least {n_boot} "
        ):
            bounds(data, ("a", "b"), confidence=confidence, n_boot=n_boot - 1)
    for wrong in (0.0, 1.0, 1.5):
        with pytest.raises(rf.InputError, match=f"confidence={wrong}: a number between 0 and 1"):
            bounds(data, ("a", "b"), confidence=wrong, n_boot=n_boot)


def test_pvalues_at_values_that_fit_and_that_do_not():
    """All replicates are as far as the value that was observed, none as far as one at the other end."""
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 72, "b": 18}})
    test = Inversion(data, 0.9, BoundsOptions(n_boot=19, seed=3, threads=1))
    restricted = Restricted(test.sample, np.array([[True, True]]), np.array([[1.0, 0.0]]))
    assert test.pvalue_at(restricted, 0.8) == 1.0
    assert test.pvalue_at(restricted, 0.1) == 1 / 20


def test_replicates_end_when_the_decision_is_made():
    frequencies = rf.simulate.noisy_rankings(4, 6, 40, seed=1)
    data = rf.ChoiceData.from_matrix(40 * frequencies)
    test = Inversion(data, 0.9, BoundsOptions(n_boot=99, seed=3, threads=1))
    menu, c = np.array([[True, True, True, False]]), np.array([[1.0, 0.0, 0.0, 0.0]])
    restricted = Restricted(test.sample, menu, c)
    drawn = []
    measure = restricted.measure
    restricted.measure = lambda p, *rest: (drawn.append(len(p)), measure(p, *rest))[1]
    kept = []
    for theta in np.linspace(0.02, 0.98, 13):
        kept.append(test.pvalue_at(restricted, theta, whole=False) > test.level)
        assert kept[-1] == (test.pvalue_at(restricted, theta) > test.level)
    assert True in kept
    assert False in kept
    assert sum(drawn) < 13 * (99 + 99 + 4)  # some decisions came early


@pytest.mark.parametrize("values", [{"a": 1.0}, {"a": 1.0, "b": -1.0}, {"a": 1.0, "b": 2.0, "c": 3.0, "d": 3.0}])
def test_the_inner_point_has_every_ranking_and_the_value_asked_for(values):
    """Against the list of all rankings, weighed by what they choose from the menu asked for."""
    data = rf.ChoiceData.from_matrix(rf.simulate.mixed_logit(5, seed=0), items=tuple("abcde"))
    sample = build_sample(data, "counts", Convention())
    menu = np.array([True, True, True, True, False])
    c = np.array([values.get(x, 0.0) for x in "abcd"] + [0.0])
    own = Restricted(sample, menu[None], c[None])
    orders = np.array(list(permutations(range(5))))
    rank = np.argsort(orders, axis=1)
    takes = np.where(menu, rank, 9).argmin(axis=1)
    cells = own._projector
    best = np.where(cells.cells.membership[cells.menu], rank[:, None, :], 9).argmin(axis=2) == cells.item
    for theta in (own.least, own.least + 0.01, 0.3 * own.least + 0.7 * own.most, own.most):
        shares = tilted_shares(c[:4], theta)
        assert shares @ c[:4] == pytest.approx(theta)
        assert (shares > 0).all() or theta in (own.least, own.most)
        weights = shares[takes] / 30  # 120 rankings, 30 for each item chosen
        assert own.inner(theta) == pytest.approx(weights @ best)
    # Among unequal values the shares are a straight line in logarithms.
    uneven = tilted_shares(np.array([0.0, 1.0, 3.0]), 1.2)
    assert np.log(uneven[2] / uneven[0]) == pytest.approx(3 * np.log(uneven[1] / uneven[0]))
    assert tilted_shares(np.ones(3), 1.0) == pytest.approx(1 / 3)


def test_linear_programmes_are_counted(capsys):
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}, ("b", "c"): {"b": 6, "c": 4}})
    rf.bounds(data, ("a", "b", "c"), confidence=None, progress=True)
    assert "\rrumflow: 6 of 6 linear programmes, 0 s to go   \n" in capsys.readouterr().err  # both ends of three shares
