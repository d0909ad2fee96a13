"""The table of a fit."""

import numpy as np
import pytest

import rumflow as rf


def test_fit_table(subject_choices):
    fit = rf.project(subject_choices)
    table = fit.to_frame(subject_choices, backend="dict")
    assert len(table["menu"]) == 9
    assert sum(table["count"]) == 120
    np.testing.assert_allclose(table["observed"], np.array(table["count"]) / 30)
    frame = fit.to_frame(backend="dict", menus="observed")
    assert "count" not in frame
    pandas = pytest.importorskip("pandas")
    assert isinstance(fit.to_frame(), pandas.DataFrame)
