"""The heat map of pairs."""

import numpy as np

import rumflow as rf
from tests.inference.test_transitivity import CYCLE, round_robin


def test_cells_hold_the_shares_in_the_best_order_and_triangles_are_joined():
    found = rf.transitivity(CYCLE | {("c", "$d$"): {"c": 30, "$d$": 20}}, n_boot=9, seed=0)
    ax = found.plot()
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b", "c", "$d$"]
    assert shown[0, 1] == 0.9
    assert shown[2, 0] == 0.8
    assert np.isnan(shown[0, 3])
    assert len(ax.lines) == 1
    corners = {tuple(point) for point in ax.lines[0].get_xydata().tolist()}
    assert corners == {(1, 0), (2, 1), (0, 2)}
    assert all(shown[int(y), int(x)] > 0.5 for x, y in corners)


def test_many_items_have_no_labels():
    ax = rf.transitivity(round_robin(0, 62, 2), n_boot=1, seed=0).plot()
    assert ax.get_xlabel() == "62 items in the best order"
    assert len(ax.lines) == 3
