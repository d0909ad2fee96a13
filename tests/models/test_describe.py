"""Labels and models that cannot be saved."""

import pytest

import rumflow as rf
from rumflow.models.open_menus import DEFAULT_LIMIT

PAIRS = {("a", "b"): {"a": 6, "b": 4}, ("a", "c"): {"a": 3, "c": 7}, ("b", "c"): {"b": 9, "c": 1}}


def test_labels_and_models_that_cannot_be_saved(tmp_path):
    fit = rf.project(rf.ChoiceData.from_counts({(1.5, "b"): {"b": 1}}))
    with pytest.raises(rf.InputError, match=r"item 1\.5: only labels that are text or whole numbers"):
        fit.save(tmp_path / "fit")
    assert not (tmp_path / "fit").exists()

    class Own(rf.Model):
        def geometry(self, cells, limit=DEFAULT_LIMIT):
            return rf.RandomUtility().geometry(cells, limit)

    fit = rf.project(rf.ChoiceData.from_counts(PAIRS), model=Own())
    with pytest.raises(rf.InputError, match="user-defined model"):
        fit.save(tmp_path / "fit")
    with pytest.raises(rf.InputError, match="there is no folder"):
        rf.project(rf.ChoiceData.from_counts(PAIRS)).save(tmp_path / "no" / "fit")
