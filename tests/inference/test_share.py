"""The rational share: against linear programmes over all rankings, and by hand."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog

import rumflow as rf
from rumflow.inference import rationalizable_share
from tests.reference.bounds import TIGHT, choices, few_menus, incomplete
from tests.reference.examples import DECOY
from tests.reference.interrupts import Interrupted


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
    with pytest.raises(rf.InputError, match="use `fitted`"):
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


def test_the_rational_part_by_hand():
    found = rf.rationalizable_share(DECOY)
    assert found.share == pytest.approx(0.8)
    assert np.nansum(found.fitted, axis=1) == pytest.approx([0.8, 0.8])
    assert (np.nan_to_num(found.fitted) <= np.nan_to_num(found.frequencies) + 1e-9).all()
    assert found.rankings.weights.sum() == pytest.approx(0.8)
    assert (np.diff(found.rankings.weights) <= 0).all()
    assert found.part[0b111].sum() == pytest.approx(0.8)
    assert found.part[0b011, 2] == 0.0
    partly = rf.ChoiceData(("a", "b", "c"), np.array([[True] * 3]), np.array([[2.0, np.nan, np.nan]]), np.array([10.0]))
    assert rf.rationalizable_share(partly).share == pytest.approx(1.0)
    alone = rf.rationalizable_share(rf.ChoiceData.from_counts({("a",): {"a": 3}}))
    assert (alone.share, alone.upper, alone.gap) == (1.0, 1.0, 0.0)
    assert alone.rankings.orders.tolist() == [[0]]
    assert alone.fitted.shape == (0, 1)


def test_an_interrupted_share_is_raised(monkeypatch):
    """Half a projection would have been a start like any other."""
    data = rf.simulate.random_menus(9, 12, 3, 5, 20, seed=0)
    Interrupted(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt, match="interrupted at the projection: there is no result yet"):
        rationalizable_share(data, route="graph")
