"""Errors of input are ValueErrors and ours."""

import numpy as np
import pytest

import rumflow as rf


def test_input_errors_are_value_errors_and_ours():
    with pytest.raises(ValueError, match="shape"):
        rf.project(np.zeros((3, 3)))
    assert issubclass(rf.InputError, rf.RumflowError)
