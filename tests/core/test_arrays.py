"""Masked arrays become arrays with NaN."""

import numpy as np

from rumflow.check import nan_where_masked


def test_masked_entries_become_nan():
    masked = np.ma.masked_array([[1, 2], [3, 4]], [[False, True], [False, False]])
    np.testing.assert_array_equal(nan_where_masked(masked), [[1.0, np.nan], [3.0, 4.0]])
    np.testing.assert_array_equal(nan_where_masked([masked[0], [1.0, 2.0]]), [[1.0, np.nan], [1.0, 2.0]])
    np.testing.assert_array_equal(nan_where_masked(([masked[0]],)), [[[1.0, np.nan]]])
    plain = [1.0, 2.0]
    assert nan_where_masked(plain) is plain
