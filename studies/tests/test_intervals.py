"""The study of intervals where there are many items: its populations, and what a row says."""

import numpy as np
import pytest

import rumflow as rf
from studies.benchmarks import size_tables
from studies.experiments import intervals
from studies.experiments.intervals import DESIGNS, draw_population, make_data, measure


@pytest.mark.parametrize("design", DESIGNS)
def test_populations_are_rational_and_the_menu_asked_for_is_not_offered(design):
    n, m, size = DESIGNS[design]
    own = draw_population(design, 0)
    assert own.menus.shape == (m, n)
    assert (own.menus.sum(axis=1) == size).all()
    assert own.shares.sum(axis=1) == pytest.approx(1)
    assert (own.shares[~own.menus] == 0).all()
    assert own.item in own.asked
    asked = np.isin(np.arange(n), own.asked)
    assert not (own.menus == asked).all(axis=1).any()
    exact = make_data(own, own.shares)
    assert rf.project(exact).distance == pytest.approx(0, abs=1e-6)
    low, high = rf.bounds(exact, own.asked, own.item, confidence=None, weights=None).interval
    assert low - 1e-6 <= own.value <= high + 1e-6


def test_a_row_of_the_study(monkeypatch):
    monkeypatch.setitem(intervals.DESIGNS, "small", (5, 4, 3))
    monkeypatch.setattr(intervals, "N_BOOT", 19)
    row = measure("small", 0, "profile", 3)
    assert round(3 * row["covered"], 2) in (2, 3)
    assert (row["data_sets"], row["n_boot"]) == (3, 19)
    assert row["empty"] == 0
    assert row["width"] >= row["sharp_width"] >= 0
    assert row["shifted"] >= row["sharp_width"]
    assert {row["covered_lower"], row["covered_upper"]} <= {0, 0.3333, 0.6667, 1}
    assert measure("small", 0, "distance", 2)["interval"] == "distance"


def test_the_table_of_the_page():
    row = {"design": "menus", "interval": "distance", "data_sets": 200, "covered": 0.9, "width": 0.5}
    row |= {"covered_lower": 0.8, "covered_upper": 0.9, "identified": 0.25, "shifted": 0.4, "moves": 0.03}
    row |= {"noted": 1, "empty": 1, "seconds": 1.25}
    rows = [row, row | {"covered": 1.0, "width": 0.6}, row | {"interval": "profile"}]
    lines = size_tables.intervals(rows).splitlines()
    assert lines[2:] == [
        "| menus | profile | 200 | 90.0 (90.0) | 85.0 (80.0) | 0.500 | 0.250 | 0.400 | 0.030 | 1 | 1 | 1.2 |",
        "| menus | distance | 400 | 95.0 (90.0) | 85.0 (80.0) | 0.550 | 0.250 | 0.400 | 0.030 | 2 | 2 | 1.2 |",
    ]
