"""Published statistics and p-values of the test."""

import numpy as np
import pytest

from rumflow.inference import rum_test


@pytest.mark.parametrize(
    ("name", "statistic", "pvalue"), [("high", 143.76, 0.95), ("medium", 200.82, 0.55), ("low", 130.68, 0.90)]
)
def test_published_single_frames(abkk, name, statistic, pvalue):
    result = rum_test(abkk[name], n_boot=999, convention="abkk", seed=0)
    assert result.statistic == pytest.approx(statistic, abs=0.01)
    assert result.pvalue == pytest.approx(pvalue, abs=0.06)
    assert result.tau == pytest.approx(np.sqrt(np.log(112) / 112))
    assert result.failed == 0


def test_published_three_frames(abkk):
    result = rum_test(abkk, n_boot=199, convention="abkk", seed=0)
    assert result.statistic == pytest.approx(3231.59, abs=0.01)
    assert result.pvalue == 1 / 200
    assert "one distribution" in result.summary()
