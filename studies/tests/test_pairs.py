"""Pairs of a population: as many as asked for, all different, and the general solver agrees with the projection."""

import numpy as np
import pytest

import rumflow as rf
from studies.benchmarks.pairs import draw, general
from studies.benchmarks.triples import triples


def test_as_many_pairs_as_asked_for():
    data = draw(50, 300, 4)
    assert len(set(data.menus)) == 300
    assert set(data.offered.sizes.tolist()) == {2}
    assert data.totals.tolist() == [4.0] * 300
    assert len(draw(6, 15, 3).menus) == 15


def test_the_general_solver_agrees():
    for seed in range(3):
        data = draw(6, 15, 3, seed)
        assert general(data) == pytest.approx(rf.project(data, model=rf.TriangleInequalities()).distance, abs=1e-7)


def test_numbers_of_draws_may_differ():
    totals = draw(20, 100, (1.0, 3.0)).totals
    assert totals.min() >= 10
    assert totals.max() <= 1000
    assert len(np.unique(totals)) > 50


def test_menus_of_three():
    data = triples(12, 20, 7)
    assert set(data.offered.sizes.tolist()) == {3}
    assert data.totals.tolist() == [7.0] * 20
    assert triples(12, 20, None).totals == pytest.approx(np.full(20, 1000.0))
