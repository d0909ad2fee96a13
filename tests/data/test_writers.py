"""Labels that cannot be written."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.reference.labelled import make


def test_labels_that_cannot_be_written(tmp_path):
    for bad in ("", "  ", "a\0b", "\ud800", True, 1.5, None):
        data = ChoiceData((bad, "b"), np.array([[True, True]]), np.array([[1.0, 2.0]]), np.array([3.0]))
        with pytest.raises(rf.InputError, match="cannot be written to a text file"):
            data.to_csv(tmp_path / "a.csv")
    twins = ChoiceData((1, "1"), np.array([[True, True]]), np.array([[1.0, 2.0]]), np.array([3.0]))
    with pytest.raises(rf.InputError, match="beside another one that reads '1'"):
        twins.to_csv(tmp_path / "a.csv")
    pytest.importorskip("pyarrow")
    with pytest.raises(rf.InputError, match="one type"):
        twins.to_parquet(tmp_path / "a.parquet")
    mixed = make(("a", "b", "c"), "rows", (1, "x", 2))
    with pytest.raises(rf.InputError, match="cannot be written as Parquet"):
        mixed.to_parquet(tmp_path / "a.parquet", "rows")
    assert list(tmp_path.iterdir()) == []
