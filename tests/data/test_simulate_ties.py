"""Simulated pairs with ties: shares by hand, and populations of weak orders."""

import numpy as np
import pytest

import rumflow as rf
from rumflow import simulate


def test_shapes_and_seeds():
    data = simulate.tied_pairs(6, 9, draws=4, seed=3)
    assert len(data.totals) == 9
    assert (data.totals == 4).all()
    assert (data.offered.sizes == 3).all()
    assert data.equals(simulate.tied_pairs(6, 9, draws=4, seed=3))
    assert len(simulate.tied_pairs(5).totals) == 10
    assert simulate.tied_pairs(3, ties=0.0, seed=0).count.reshape(-1, 3)[:, 2].sum() == 0


@pytest.mark.parametrize(("kind", "share"), [
    ("davidson", lambda v, u, t: np.array([v, u, t * np.sqrt(v * u)]) / (v + u + t * np.sqrt(v * u))),
    ("rao-kupper", lambda v, u, t: np.array([v / (v + (1 + t) * u), u / (u + (1 + t) * v), 0])),
])  # fmt: skip
def test_shares_of_a_pair_are_those_of_the_model(kind, share):
    data = simulate.tied_pairs(3, draws=200_000, kind=kind, ties=0.7, seed=5)
    v = np.exp(np.random.default_rng(5).normal(size=3))
    for (a, b, _), row in zip(data.menus, data.shares.reshape(-1, 3), strict=True):
        want = share(v[a], v[b], 0.7)
        want[2] = 1 - want[0] - want[1]
        assert row == pytest.approx(want, abs=0.006)


def test_people_with_classes_are_weak_orders_and_others_need_not_be():
    data = simulate.tied_pairs(4, draws=200_000, ties=1.5, seed=1)
    assert data.count.reshape(-1, 3)[:, 2].min() > 10_000
    assert rf.project(data, model=rf.WeakOrders()).distance < 0.01
    other = simulate.tied_pairs(5, draws=200_000, kind="rao-kupper", ties=30.0, seed=4)
    assert rf.project(other, model=rf.TriangleInequalities()).distance > 0.03


@pytest.mark.parametrize(("wrong", "message"), [
    ({"n": 1}, "n=1"), ({"n": 4, "n_pairs": 7}, "n_pairs=7"), ({"n": 4, "kind": "elo"}, "kind='elo'"),
    ({"n": 4, "ties": -1}, "ties=-1"), ({"n": 4, "draws": 0}, "draws=0"),
])  # fmt: skip
def test_refused(wrong, message):
    with pytest.raises(rf.InputError, match=message):
        simulate.tied_pairs(**wrong)
