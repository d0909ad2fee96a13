"""An assortment remembers its fit, and its plot names it where there is room."""

import pytest

import rumflow as rf
from tests.reference.examples import FITS, SHOP
from tests.reference.results import assortment


def test_an_assortment_remembers_its_fit():
    found = rf.best_assortment(SHOP, {"a": 3, "b": 4}, "out")
    assert found.projection.items == ("out", "a", "b")
    assert found.notes == ()
    assert found.reason == ""
    assert 0 < found.seconds < 60
    assert rf.best_assortment(SHOP, {"a": 3, "b": 4}, "out", max_seconds=600).reason == ""
    gone = rf.diversion(FITS, "c", confidence=None)
    assert gone.projection.items == ("a", "b", "c")
    assert gone.gains.fit is gone.projection


def test_assortments_are_named_in_a_plot_where_there_is_room(monkeypatch):
    pytest.importorskip("matplotlib")
    found = assortment(2)
    names = ["past 0: {x}", "past 1: {x}"]
    for room, expected in ((11, names), (10, ["past 0", "past 1"])):
        monkeypatch.setattr("rumflow.inference.assortment_result.MOST_NAME", room)
        assert [text.get_text() for text in found.plot().get_yticklabels()] == expected
