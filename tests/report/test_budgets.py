"""The page and the pictures of budgets."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.report import make_report


def test_report_and_pictures(budget_files, tmp_path):
    data = rf.BudgetData.from_csv(budget_files[0], budget_files[2])
    page = tmp_path / "page.html"
    result = make_report(data, page, n_boot=9)
    text = page.read_text(encoding="utf-8")
    assert result["distance"] == pytest.approx(rf.project(data).distance)
    assert text.count("<figure") == 2
    assert "exogenous" in text
    assert data.items[0] in text
    ax = data.plot()
    triangles = len(ax.patches)
    assert triangles == len(data.patches)
    assert len(data.plot(budgets=[1991]).patches) == (data.budget == 1).sum()
    two = rf.BudgetData.from_shares([[0.4, 0.6], [0.6, 0.4]], [0, 0, 1, 1], [[0.1, 0.9], [0.7, 0.3]] * 2)
    assert "50 %" in {text.get_text() for text in two.plot().texts}
    four = rf.BudgetData.from_shares(np.ones((1, 4)), [0], [[0.25] * 4])
    with pytest.raises(rf.InputError, match="two or three goods"):
        four.plot()
    with pytest.raises(rf.InputError, match="not known"):
        rf.BudgetData.from_patches(two.patches, two.probabilities, 10).plot()
