"""Bounds: against linear programmes over all n! rankings; functionals; labels and errors."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

import rumflow as rf
from rumflow.inference import bounds, sharp
from rumflow.inference.bounds import ask_functional, ask_functionals, bound_asked, exact_fit
from rumflow.inference.confidence import BoundsOptions
from rumflow.inference.profile import Profile
from tests.reference.bounds import TIGHT, choices, few_menus, incomplete
from tests.reference.enumeration import Enumeration, random_data
from tests.reference.examples import DECOY, FITS


def by_enumeration(fit, data, cost):
    n = data.shape[1]
    mask, item = rf.Lattice(n).cells.T
    seen = ~np.isnan(data[mask, item]) & (np.bitwise_count(mask) > 1)
    matrix = choices(n)
    rho = fit.rho[mask, item]
    ends = [linprog(s * (cost @ matrix), A_eq=matrix[seen], b_eq=rho[seen], options=TIGHT) for s in (1, -1)]
    return ends[0].fun, -ends[1].fun


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


@pytest.mark.slow
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
    # One of the 19 replicates that changes sides by rounding moves an end by a hundredth.
    assert b.confidence_lower == pytest.approx(a.confidence_lower, abs=2e-2)
    assert b.confidence_upper == pytest.approx(a.confidence_upper, abs=2e-2)
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


@pytest.mark.slow
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


@pytest.mark.parametrize("n", [3, 4, 5])
def test_bounds_of_functionals(n):
    for seed in range(3):
        world = Enumeration(random_data(n, seed))
        f, everything = rf.functionals, tuple(world.items)
        asked = {
            "share": f.share(everything[1:], everything[1]),
            "change": f.change(everything, everything[1:], everything[2]),
            "revenue": f.revenue(everything[1:], {x: k + 1.0 for k, x in enumerate(everything)}),
            "chain": f.prefers(*everything[:3]),
            "pair": f.prefers(everything[2], everything[0]),
            "better": f.better_off(everything[:2], (everything[0], everything[2])),
        }
        options = BoundsOptions(confidence=None)
        together = bound_asked(world.fit, ask_functionals(everything, asked.values()), tuple(asked), options)
        for name, functional in asked.items():
            expected = world.range(world.value(functional))
            assert rf.bounds(world.fit, functional=functional).interval == pytest.approx(expected, abs=1e-7)
            assert together[name] == pytest.approx(expected, abs=1e-7)


def test_bounds_on_menus_that_are_not_linked():
    """{d, e} has nothing to do with the rest: its part of a functional is known, beside a range from elsewhere."""
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 5, "b": 3, "c": 2}, ("d", "e"): {"d": 1, "e": 3}})
    both = {(("a", "b"), "a"): 1.0, (("d", "e"), "d"): 4.0, (("e",), "e"): 10.0}
    found = rf.bounds(data, functional=both, confidence=None)
    assert found.interval == pytest.approx((0.5 + 1.0 + 10.0, 0.7 + 1.0 + 10.0), abs=1e-9)
    known = rf.bounds(data, functional={(("d", "e"), "d"): 4.0, (("a", "b", "c"), "c"): 10.0}, confidence=None)
    assert known.interval == pytest.approx((3.0, 3.0), abs=1e-9)
    assert known.gap == 0.0
    minus = rf.bounds(data, functional={(("a", "b"), "a"): -2.0}, confidence=None)
    assert minus.interval == pytest.approx((-1.4, -1.0), abs=1e-9)


@pytest.mark.parametrize(("low", "high"), [((0.5, 0.45), (-0.7, -0.8)), ((0.5, 0.4), (-0.7, -0.75))])
def test_the_gap_is_that_of_the_rougher_end(low, high, monkeypatch):
    """Programmes that end with a value and a bound: the bounds count, and the larger of what they may be off."""

    def minimise(cost):
        value, bound = low if cost.sum() > 0 else high
        return SimpleNamespace(value=value, bound=bound)

    monkeypatch.setattr(sharp, "make_programs", lambda *_: SimpleNamespace(minimise=minimise))
    found = rf.bounds(FITS, ["a", "c"], "a", confidence=None)
    assert found.gap == pytest.approx(0.1)
    assert found.interval == (low[1], -high[1])


def test_functionals_by_label_and_by_array():
    fit = exact_fit(FITS)
    table = {(("b", "a"), "a"): 2.0, (("a", "c"), "c"): -1.0, (("c",), "c"): 5.0, (("a", "b"), "a"): 1.0}
    asked = ask_functional(fit.items, table)
    assert asked.menus.tolist() == [[True, True, False], [True, False, True]]
    assert asked.coefficients.tolist() == [[[3.0, 0, 0], [0, 0, -1.0]]]
    assert asked.constant.tolist() == [5.0]
    array = np.zeros((8, 3))
    array[0b011, 0], array[0b101, 2], array[0b100, 2], array[0b001, 1] = 3.0, -1.0, 5.0, 7.0
    by_array = ask_functional(fit.items, array)  # what stands outside a menu does not count
    assert by_array.menus.tolist() == asked.menus.tolist()
    assert by_array.coefficients.tolist() == asked.coefficients.tolist()
    assert by_array.constant.tolist() == [5.0]
    several = ask_functionals(fit.items, [{(("a", "c"), "a"): 1.0, (("a",), "a"): 3.0}, {(("a", "b"), "b"): 2.0}])
    assert several.menus.tolist() == [[True, True, False], [True, False, True]]
    assert several.coefficients.tolist() == [[[0, 0, 0], [1.0, 0, 0]], [[0, 2.0, 0], [0, 0, 0]]]
    assert several.constant.tolist() == [3.0, 0.0]
    for wrong in (np.inf, np.nan):
        with pytest.raises(rf.InputError, match="a finite number is needed"):
            ask_functional(fit.items, {(("a", "b"), "a"): wrong})
        with pytest.raises(rf.InputError, match="a finite number is needed"):
            ask_functionals(fit.items, [{(("a", "b"), "a"): wrong}])


def test_fits_to_start_from():
    fit = rf.project(FITS, tol=1e-12)
    assert exact_fit(fit) is fit
    assert exact_fit(fit, None) is fit
    for options in ({"weights": "counts"}, {"model": rf.RandomUtility()}, {"route": "graph"}):
        with pytest.raises(rf.InputError, match="a Projection already has weights, model and route"):
            exact_fit(fit, **options)
    assert exact_fit(DECOY).distance == pytest.approx(np.sqrt(24 / 7))
    assert exact_fit(DECOY, None).distance == pytest.approx(np.sqrt(24 / 700))
    assert exact_fit(rf.simulate.dirichlet(3, 0)).weighted is False


def test_an_interrupt_keeps_sharp_bounds_and_the_intervals_found(monkeypatch):
    whole = rf.bounds(FITS, ["a", "c"], n_boot=39, seed=1)
    plain, calls = Profile.interval, []

    def interval(self, *given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(self, *given)

    monkeypatch.setattr(Profile, "interval", interval)
    found = rf.bounds(FITS, ["a", "c"], n_boot=39, seed=1)
    assert found.interrupted
    assert not whole.interrupted
    assert (found.lower == whole.lower).all()
    assert found.confidence_interval("a") == whole.confidence_interval("a")
    assert np.isnan(found.confidence_interval("c")).all()
    assert found.notes[1] == "no interval, because the run was interrupted"
    calls.clear()
    gains = rf.diversion(FITS, "c", n_boot=39, seed=1)
    assert gains.gains.interrupted
    assert np.isnan(gains.ratio_lower).all()
    assert (gains.gains.lower == rf.diversion(FITS, "c", confidence=None).gains.lower).all()
    assert "interrupted" in gains.summary()
