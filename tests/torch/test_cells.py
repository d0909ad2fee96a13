"""Cells are projected without a layer."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

from rumflow.torch import project_cells  # noqa: E402
from rumflow.torch.cells import Cells  # noqa: E402


def test_cells_need_no_layer() -> None:
    cells = Cells(3, [[0, 1], [0, 1, 2]], None)
    y, distance = project_cells(torch.tensor([0.9, 0.1, 0.2, 0.7, 0.1]), cells, return_distance=True)
    assert y.shape == (5,)
    assert float(distance) > 0
