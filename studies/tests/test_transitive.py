"""The study of tests on pairs: its populations obey what they should, and a small one runs."""

import numpy as np
import pytest

import rumflow as rf
from studies.benchmarks import size_tables
from studies.experiments.transitive import DESIGNS, PLANTED, draw, make_population, rejections


@pytest.mark.parametrize("truth", ["bradley-terry", "thurstone", "rankings", "even"])
def test_true_populations_obey_the_inequalities(truth):
    for n, designs in {6: DESIGNS[6], 30: (60, 435)}.items():
        for m in designs:
            population = make_population(truth, n, m, np.random.default_rng(0))
            assert len(population.a) == m
            assert population.shares.sum(axis=1) == pytest.approx(1)
            huge = draw(population, 10**15, np.random.default_rng(0))
            assert rf.project(huge, model=rf.TriangleInequalities()).distance < 1e-6


def test_a_planted_cycle_is_there():
    population = make_population("planted", 6, 6, np.random.default_rng(0))
    assert (population.shares[:, 0] == PLANTED).sum() == 2
    found = rf.transitivity(draw(population, 1000, np.random.default_rng(0)), n_boot=9, seed=0)
    assert found.n_triangles == 1
    assert found.distance > 0.2


def test_rounded_utilities_tie():
    population = make_population("tied", 6, 15, np.random.default_rng(0))
    assert (population.shares[:, 2] > 0.05).all()
    data = draw(population, 10, np.random.default_rng(0))
    assert (data.offered.sizes == 3).all()
    assert data.items[-1] == rf.TIE


def test_the_table_takes_the_last_measurement():
    row = {"truth": "even", "n": 6, "pairs": 8, "draws": 5, "rejected": 0.02, "weak_rejected": 0.01}
    found = [row, row | {"rejected": 0.03}, row | {"truth": "rankings", "rejected": 0.0, "weak_rejected": ""}]
    assert "| 6 | 8 | 5 | 3.0, weak 1.0 | 0.0 |" in size_tables.transitive(found)


def test_a_small_study():
    row = rejections("planted", 6, 6, 50, 3)
    assert (row["rejected"], row["weak_rejected"], row["method"]) == (1.0, 1.0, "bootstrap")
    assert rejections("rankings", 30, 60, 5, 3)["weak_rejected"] == ""
