import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("rumflow", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("rumflow")


@pytest.fixture
def rng():
    return np.random.default_rng(12345)


@pytest.fixture
def data_folder():
    """The folder of real data, where it is."""
    folder = os.environ.get("RUMFLOW_DATA")
    if not folder:
        pytest.skip("RUMFLOW_DATA is not set: the real data sets are not here")
    return Path(folder)
