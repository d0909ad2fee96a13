"""Projections with the value of a functional given, against a general solver and by hand."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import nnls

import rumflow as rf
from rumflow.data.menus import masks_of, membership_of
from rumflow.inference import restricted
from rumflow.inference.convention import Convention
from rumflow.inference.restricted import Restricted, find_roots, tilted_shares, uniform_joint
from rumflow.inference.sample import build_sample
from tests.reference.bounds import CELL, choices, restrict
from tests.reference.examples import PAIR, TWO


def test_uniform_joint():
    n = 4
    mask, item = rf.Lattice(n).cells.T
    matrix = choices(n)
    for menu, x in [(0b0111, 0), (0b1010, 3), (0b1111, 2)]:
        own = matrix[(mask == menu) & (item == x)][0]
        assert uniform_joint(membership_of([menu], n)[0], x, membership_of(mask, n), item) == pytest.approx(
            (matrix * own).mean(axis=1), abs=1e-12
        )


FUNCTIONALS = {
    "cell": CELL,
    "difference": {(0b101, 0): 1.0, (0b110, 1): -1.0},
    "revenue": {(0b101, 0): 2.0, (0b101, 2): 5.0},
    "observed": {(0b011, 0): 1.0, (0b111, 1): -0.5, (0b110, 2): 3.0},
}


@pytest.mark.parametrize("tau", [0.0, 0.2])
@pytest.mark.parametrize("name", list(FUNCTIONALS))
@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_projection_with_a_functional_given(name, tau, route):
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 50, "b": 30, "c": 20}, ("a", "b"): {"a": 30, "b": 10}})
    sample = build_sample(data, "counts", Convention(), route=route)
    functional = FUNCTIONALS[name]
    own = restrict(sample, functional, 3)
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
        inner = own.inner(theta)[own.column]
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
    cells = own.projector
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


def test_a_pair_with_its_share_given():
    """(0.75, 0.25) against (t, 1 - t), tightened towards itself: 40 times twice the square, whatever tau."""
    sample = build_sample(PAIR, "counts", Convention())
    own = Restricted(sample, np.array([[True, True]]), np.array([[1.0, 0.0]]))
    assert (own.least, own.most) == pytest.approx((0.0, 1.0), abs=1e-7)
    p = np.array([[0.75, 0.25], [0.2, 0.8]])
    for theta in (0.1, 0.5, 0.9):
        for tau in (0.0, 0.3):
            found = own.measure(p, theta, tau)
            assert found.statistic == pytest.approx(80 * (p[:, 0] - theta) ** 2, rel=1e-3)
            assert found.nearest == pytest.approx(np.tile([theta, 1 - theta], (2, 1)), abs=1e-3)
        assert own.inner(theta) == pytest.approx([theta, 1 - theta], abs=1e-9)


@pytest.mark.parametrize("cells", [[(0, 0)], [(0, 0), (1, 2)]])
@pytest.mark.parametrize("factor", [3.0, -2.0])
def test_a_functional_times_a_number_is_the_same_question(cells, factor):
    sample = build_sample(TWO, "counts", Convention())
    menus, c = np.array([[True, False, True], [True, True, True]]), np.zeros((2, 3))
    for j, x in cells:
        c[j, x] = 1.0
    one, other = Restricted(sample, menus, c), Restricted(sample, menus, factor * c)
    ends = sorted((factor * one.least, factor * one.most))
    assert (other.least, other.most) == pytest.approx(ends, abs=1e-6)
    theta = 0.6 * one.most + 0.4 * one.least
    p = np.array([sample.frequency, [0.1, 0.9, 0.3, 0.3, 0.4]])
    left, right = one.measure(p, theta, 0.2), other.measure(p, factor * theta, 0.2)
    assert left.statistic == pytest.approx(right.statistic, rel=2e-3, abs=2e-3)
    assert one.inner(theta) @ one._c == pytest.approx(theta, abs=1e-6)
    assert other.inner(factor * theta) @ other._c == pytest.approx(factor * theta, abs=1e-5)


def test_weights_too_far_apart_have_no_intervals(monkeypatch):
    sample = build_sample(TWO, "counts", Convention())  # 40 and 100 choices: a spread of 2.5
    menu, c = np.array([[True, False, True]]), np.array([[1.0, 0.0, 0.0]])
    monkeypatch.setattr(restricted, "MOST_SPREAD", 2.5e3 + 1e-6)
    assert Restricted(sample, menu, c).cell < 0  # no room for a heavy cell
    monkeypatch.setattr(restricted, "MOST_SPREAD", 2.4e3)
    with pytest.raises(rf.InputError, match=r"differ by a factor of 2, and intervals need one below 2e\+00"):
        Restricted(sample, menu, c)
    monkeypatch.setattr(restricted, "MOST_SPREAD", 2.5 * 2e4)
    assert Restricted(sample, menu, c).cell >= 0
    with pytest.raises(rf.InputError, match="one group at a time"):
        Restricted(build_sample([TWO, TWO], None, Convention()), menu, c)


def test_roots_are_found_in_few_rounds():
    """Straight lines with the slope that was guessed: left and right end, and then the root itself."""
    calls = []

    def lines(rows, at):
        calls.append(rows.tolist())
        return np.array([2.0, -3.0, 0.0])[rows] - 0.5 * at

    found = find_roots(lines, 3, 2.0, 1e-9)
    assert found == pytest.approx([4.0, -6.0, 0.0])
    assert calls == [[0, 1, 2], [0, 1], [0, 1]]

    def bent(rows, at):
        return 1.0 - at**3

    assert find_roots(bent, 1, 0.05, 1e-9) == pytest.approx([1.0], abs=1e-8)


def test_shares_with_a_given_mean():
    c = np.array([1.0, 2.0, 4.0])
    for mean in (1.2, 7 / 3, 3.9):
        shares = tilted_shares(c, mean)
        assert shares @ c == pytest.approx(mean, abs=1e-9)
        assert shares.sum() == pytest.approx(1.0)
        assert np.log(shares[1] / shares[0]) == pytest.approx(np.log(shares[2] / shares[1]) / 2, abs=1e-9)
    assert tilted_shares(c, 1.0).tolist() == [1.0, 0.0, 0.0]
    assert tilted_shares(c, 0.0).tolist() == [1.0, 0.0, 0.0]
    assert tilted_shares(c, 4.0).tolist() == [0.0, 0.0, 1.0]
    assert tilted_shares(np.array([2.0, 2.0]), 2.0) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("item", ["a", "c", rf.TIE])
def test_pairs_with_ties_that_were_not_compared_have_intervals(item):
    # On three items the triangle inequalities with ties are what weak orders obey.
    pairs = {("a", "b", rf.TIE): {"a": 6, "b": 1, rf.TIE: 3}, ("b", "c", rf.TIE): {"b": 7, "c": 1, rf.TIE: 2}}
    data = rf.ChoiceData.from_counts(pairs)
    one, other = (
        rf.bounds(data, ("a", "c", rf.TIE), item, model=model, n_boot=39, seed=0)
        for model in (rf.TriangleInequalities(), rf.WeakOrders())
    )
    assert one[item] == pytest.approx(other[item], abs=1e-6)
    assert one.confidence_interval(item) == pytest.approx(other.confidence_interval(item), abs=5e-3)
